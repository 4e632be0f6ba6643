
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Small readers and writers, each against another one that does the same:
 *
 *   N numbers    E event id    U text and user id    J JSON string
 *   A address    S cluster slot    R return target   V breaker=
 *   D draw       B beacon, and its source
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include <jansson.h>

#include "base/address.h"
#include "base/text.h"
#include "http/return.h"
#include "redis/breaker.h"
#include "redis/slots.h"
#include "token/claims.h"
#include "token/draw.h"
#include "fuzz.h"


static void
fuzz_text_number(ngx_str_t *data, ngx_pool_t *pool)
{
    char        text[64];
    u_char     *p, *last;
    int64_t     n;
    ngx_str_t   room, s;

    n = (int64_t) fuzz_number(data, 8);
    n >>= fuzz_byte(data) % 64;

    snprintf(text, sizeof(text), "%lld", (long long) n);

    /* exactly as much room as is said to be needed */

    room.len = ngx_strlen(text);
    room.data = (u_char *) text;
    room = fuzz_copy(&room, pool);

    p = ngx_adm_put_number(room.data, n);

    fuzz_check(p == room.data + room.len
               && ngx_memcmp(room.data, text, room.len) == 0);

    if (n >= 0) {
        fuzz_check(ngx_adm_digits(n) == room.len);
    }

    s = fuzz_take(data, fuzz_byte(data), pool);

    room.len = fuzz_byte(data);
    room.data = ngx_pnalloc(pool, room.len);
    fuzz_check(room.data != NULL);

    last = room.data + room.len;
    p = ngx_adm_put(room.data, last, "%V=%L;%ui:%s", &s, n, (ngx_uint_t) n,
                    "end");
    fuzz_check(p >= room.data && p <= last);
}


static void
fuzz_text_event(ngx_str_t *id, ngx_pool_t *pool)
{
    size_t      i;
    u_char      ch;
    ngx_int_t   rc;
    ngx_str_t   lower, again;
    ngx_uint_t  right;

    right = id->len >= 1 && id->len <= 64;

    for (i = 0; i < id->len; i++) {
        ch = id->data[i];
        right &= (ch < 0x80 && isalnum(ch)) || ch == '.' || ch == '_'
                 || ch == '-';
    }

    lower.len = id->len;
    lower.data = ngx_pnalloc(pool, id->len);
    fuzz_check(lower.data != NULL);

    rc = ngx_adm_event_id(id, lower.data);

    fuzz_check(rc == (right ? NGX_OK : NGX_DECLINED));

    if (rc != NGX_OK) {
        return;
    }

    fuzz_check(ngx_strncasecmp(lower.data, id->data, id->len) == 0);

    again = fuzz_copy(&lower, pool);

    fuzz_check(ngx_adm_event_id(&again, again.data) == NGX_OK);
    fuzz_check(fuzz_same(&again, &lower));
}


/* UTF-8 of RFC 3629 without control characters */

static ngx_uint_t
fuzz_is_text(ngx_str_t *s)
{
    size_t    i, n, more;
    uint32_t  c;

    for (i = 0; i < s->len; i += more + 1) {
        c = s->data[i];

        more = c < 0x80 ? 0 : c >= 0xc2 && c < 0xe0 ? 1
               : c >= 0xe0 && c < 0xf0 ? 2 : c >= 0xf0 && c < 0xf5 ? 3 : 9;

        if (more == 9 || more >= s->len - i) {
            return 0;
        }

        c &= more ? 0x3f >> more : 0x7f;

        for (n = 1; n <= more; n++) {

            if ((s->data[i + n] & 0xc0) != 0x80) {
                return 0;
            }

            c = c << 6 | (s->data[i + n] & 0x3f);
        }

        if (c < 0x20 || (c >= 0x7f && c < 0xa0)
            || (c >= 0xd800 && c < 0xe000) || c > 0x10ffff
            || (more == 2 && c < 0x800) || (more == 3 && c < 0x10000))
        {
            return 0;
        }
    }

    return 1;
}


static void
fuzz_text_text(ngx_str_t *s)
{
    fuzz_check(ngx_adm_is_text(s) == fuzz_is_text(s));
    fuzz_check(ngx_adm_is_user_id(s)
               == (s->len && s->len <= NGX_ADM_USER_MAX && fuzz_is_text(s)));
}


static void
fuzz_text_json(ngx_str_t *s, ngx_pool_t *pool)
{
    json_t        *json;
    ngx_str_t      text;
    json_error_t   error;

    fuzz_check(ngx_adm_json_string(pool, s, &text) == NGX_OK);

    json = json_loadb((char *) text.data, text.len,
                      JSON_DECODE_ANY|JSON_ALLOW_NUL, &error);

    if (json == NULL) {
        /* which takes nothing but UTF-8 */
        fuzz_check(ngx_utf8_length(s->data, s->len) > s->len
                   || !fuzz_is_text(s));
        return;
    }

    fuzz_check(json_is_string(json)
               && json_string_length(json) == s->len
               && ngx_memcmp(json_string_value(json), s->data, s->len) == 0);

    json_decref(json);
}


static void
fuzz_text_address(ngx_str_t *data, ngx_pool_t *pool)
{
    char                  text[INET6_ADDRSTRLEN], want[INET6_ADDRSTRLEN + 8];
    u_char               *p;
    ngx_str_t             address;
    ngx_uint_t            i, prefix;
    ngx_connection_t      c;
    ngx_http_request_t    r;
    struct sockaddr_in6   sin6;

    static u_char  mapped[12] = { [10] = 0xff, [11] = 0xff };
    static u_char  nat64[12] = { 0, 0x64, 0xff, 0x9b };
    static u_char  local[6] = { 0, 0x64, 0xff, 0x9b, 0, 1 };

    ngx_memzero(&c, sizeof(ngx_connection_t));
    ngx_memzero(&r, sizeof(ngx_http_request_t));
    ngx_memzero(&sin6, sizeof(struct sockaddr_in6));

    r.connection = &c;
    r.pool = pool;
    c.log = ngx_cycle->log;
    c.sockaddr = (struct sockaddr *) &sin6;
    c.socklen = sizeof(struct sockaddr_in6);
    sin6.sin6_family = AF_INET6;

    prefix = 1 + fuzz_byte(data) % 128;
    p = sin6.sin6_addr.s6_addr;

    switch (fuzz_byte(data)) {

    case 'm':
        p = ngx_cpymem(p, mapped, 12);
        break;

    case 'n':
        p = ngx_cpymem(p, nat64, 12);
        break;
    }

    while (p < sin6.sin6_addr.s6_addr + 16) {
        *p++ = fuzz_byte(data);
    }

    fuzz_check(ngx_adm_address(&r, prefix, &address) == NGX_OK);

    p = sin6.sin6_addr.s6_addr;

    if (ngx_memcmp(p, mapped, 12) == 0 || ngx_memcmp(p, nat64, 12) == 0) {

        snprintf(want, sizeof(want), "%d.%d.%d.%d", p[12], p[13], p[14],
                 p[15]);

    } else {

        if (ngx_memcmp(p, local, 6) == 0) {
            prefix = 128;
        }

        for (i = prefix; i < 128; i++) {
            p[i / 8] &= ~(0x80 >> i % 8);
        }

        /* NGINX and libc write some addresses in different ways */

        i = ngx_inet6_ntop(p, (u_char *) text, sizeof(text));
        snprintf(want, sizeof(want), "%.*s/%d", (int) i, text, (int) prefix);
        text[i] = '\0';

        fuzz_check(inet_pton(AF_INET6, text, &sin6.sin6_addr) == 1);
    }

    fuzz_check(address.len == ngx_strlen(want)
               && ngx_memcmp(address.data, want, address.len) == 0);
}


/* CRC-16/XMODEM, a bit at a time */

static void
fuzz_text_slot(ngx_str_t *key)
{
    u_char      *p, *last, *open, *close;
    uint32_t     crc;
    ngx_uint_t   n, bit;

    n = ngx_adm_redis_slot(key);

    p = key->data;
    last = p + key->len;

    open = key->len ? memchr(p, '{', key->len) : NULL;
    close = open ? memchr(open, '}', last - open) : NULL;

    if (close && close - open > 1) {
        p = open + 1;
        last = close;
    }

    for (crc = 0; p < last; p++) {
        crc ^= *p << 8;

        for (bit = 0; bit < 8; bit++) {
            crc = crc & 0x8000 ? (crc << 1 ^ 0x1021) & 0xffff : crc << 1;
        }
    }

    fuzz_check(n == crc % NGX_ADM_REDIS_SLOTS);
}


static void
fuzz_text_return(ngx_str_t *uri)
{
    size_t      i;
    ngx_int_t   rc;
    ngx_uint_t  safe;

    safe = uri->len >= 1 && uri->len <= NGX_ADM_RETURN_MAX
           && uri->data[0] == '/' && (uri->len == 1 || uri->data[1] != '/');

    for (i = 0; i < uri->len; i++) {
        safe &= uri->data[i] > 0x1f && uri->data[i] != 0x7f
                && uri->data[i] != '\\';
    }

    fuzz_check(ngx_adm_return_is_safe(uri) == safe);

    rc = ngx_adm_return_address(uri);

    fuzz_check(rc == NGX_OK || rc == NGX_AGAIN || rc == NGX_DECLINED);

    /* with more of it, what may become an address may, what is none is none */

    for (i = 0; i < uri->len && i < 32; i++) {
        ngx_str_t  less = { i, uri->data };

        switch (ngx_adm_return_address(&less)) {

        case NGX_OK:
            fuzz_check(rc == NGX_OK);
            break;

        case NGX_DECLINED:
            fuzz_check(rc == NGX_DECLINED);
            break;
        }
    }
}


static void
fuzz_text_breaker(ngx_str_t *data, ngx_pool_t *pool)
{
    ngx_str_t                     value;
    ngx_adm_redis_breaker_conf_t  conf;

    value = fuzz_copy_z(data, pool);

    ngx_memset(&conf, 0xff, sizeof(conf));

    if (ngx_adm_redis_breaker_parse(&conf, &value) != NGX_OK) {
        return;
    }

    fuzz_check(conf.calls >= 1 && conf.calls <= 64);
    fuzz_check(conf.percent >= 1 && conf.percent <= 100);
    fuzz_check(conf.pause_max >= 1000 && conf.pause_max <= 3600000);
    fuzz_check(conf.trials >= 1 && conf.trials <= 64);
}


/* whatever the seed, no two lots have one position, and none is outside */

static void
fuzz_text_draw(ngx_str_t *data, ngx_pool_t *pool)
{
    u_char           seed[NGX_ADM_DRAW_SIZE], seen[256];
    int64_t          lots, lot, position;
    ngx_str_t        s;
    ngx_adm_draw_t   draw;

    lots = (int64_t) fuzz_number(data, 8);
    lots >>= fuzz_byte(data) % 64;

    s = fuzz_take(data, NGX_ADM_DRAW_SIZE, pool);

    ngx_memzero(seed, sizeof(seed));
    ngx_memcpy(seed, s.data, s.len);

    if (ngx_adm_draw_init(&draw, seed, lots) != NGX_OK) {
        fuzz_check(lots <= 0 || lots > NGX_ADM_DRAW_LOTS_MAX);
        return;
    }

    fuzz_check(lots > 0 && lots <= NGX_ADM_DRAW_LOTS_MAX);
    fuzz_check(ngx_adm_draw_position(&draw, 0) == 0);
    fuzz_check(ngx_adm_draw_position(&draw, lots + 1) == 0);

    lot = 1 + (int64_t) (fuzz_number(data, 8) % (uint64_t) lots);
    position = ngx_adm_draw_position(&draw, lot);

    fuzz_check(position >= 1 && position <= lots);

    if (lots >= (int64_t) sizeof(seen)) {
        return;
    }

    ngx_memzero(seen, sizeof(seen));

    for (lot = 1; lot <= lots; lot++) {
        position = ngx_adm_draw_position(&draw, lot);

        fuzz_check(position >= 1 && position <= lots && !seen[position]);

        seen[position] = 1;
    }
}


static void
fuzz_text_beacon(ngx_str_t *s)
{
    size_t      i, len;
    u_char      beacon[NGX_ADM_DRAW_BEACON_MAX], again[3];
    ngx_uint_t  source;

    source = s->len > 0 && s->len <= NGX_ADM_DRAW_SOURCE_MAX
             && s->data[0] != ' ' && s->data[s->len - 1] != ' ';

    for (i = 0; source && i < s->len; i++) {
        source = isascii(s->data[i]) && isprint(s->data[i]);
    }

    fuzz_check(ngx_adm_draw_is_source(s) == source);

    if (ngx_adm_draw_beacon(s, beacon, &len) == NGX_OK) {
        fuzz_check(len >= NGX_ADM_DRAW_BEACON_MIN
                   && len <= NGX_ADM_DRAW_BEACON_MAX && 2 * len == s->len);

        for (i = 0; i < len; i++) {
            snprintf((char *) again, sizeof(again), "%02x", beacon[i]);
            fuzz_check(ngx_strncasecmp(again, s->data + 2 * i, 2) == 0);
        }

        return;
    }

    len = s->len;

    for (i = 0; i < s->len && isxdigit(s->data[i]); i++) { /* void */ }

    fuzz_check(i < len || len % 2 || len < 2 * NGX_ADM_DRAW_BEACON_MIN
               || len > 2 * NGX_ADM_DRAW_BEACON_MAX);
}


static void
fuzz_text_run(ngx_str_t *data, ngx_pool_t *pool)
{
    ngx_str_t  s;
    u_char     what;

    what = fuzz_byte(data);
    s = fuzz_copy(data, pool);

    switch (what) {

    case 'N':
        fuzz_text_number(data, pool);
        break;

    case 'E':
        fuzz_text_event(&s, pool);
        break;

    case 'U':
        fuzz_text_text(&s);
        break;

    case 'J':
        fuzz_text_json(&s, pool);
        break;

    case 'A':
        fuzz_text_address(data, pool);
        break;

    case 'S':
        fuzz_text_slot(&s);
        break;

    case 'V':
        fuzz_text_breaker(data, pool);
        break;

    case 'D':
        fuzz_text_draw(data, pool);
        break;

    case 'B':
        fuzz_text_beacon(&s);
        break;

    default:
        fuzz_text_return(&s);
    }
}


fuzz_target_t  fuzz_text = { "text", NULL, NULL, fuzz_text_run };
