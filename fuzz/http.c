
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What is read of a request, against other readers of the same:
 *
 *   C lines            Cookie lines
 *   Q name \n query    arguments
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "http/api.h"
#include "http/cookie.h"
#include "fuzz.h"


#define FUZZ_LINES  8


static void
fuzz_fake_request(ngx_http_request_t *r, ngx_pool_t *pool)
{
    static ngx_connection_t  c;

    ngx_memzero(r, sizeof(ngx_http_request_t));

    c.log = ngx_cycle->log;

    r->signature = NGX_HTTP_MODULE;
    r->connection = &c;
    r->main = r;
    r->pool = pool;

    fuzz_check(ngx_list_init(&r->headers_in.headers, pool, 4,
                             sizeof(ngx_table_elt_t)) == NGX_OK);
}


static void
fuzz_cookie_line(ngx_http_request_t *r, ngx_str_t *line)
{
    ngx_table_elt_t  *h;

    h = ngx_list_push(&r->headers_in.headers);
    fuzz_check(h != NULL);

    ngx_memzero(h, sizeof(ngx_table_elt_t));

    h->hash = 1;
    ngx_str_set(&h->key, "Cookie");
    h->lowcase_key = (u_char *) "cookie";
    h->value = *line;
}


static ngx_str_t
fuzz_trim(u_char *p, u_char *last)
{
    ngx_str_t  s;

    while (p < last && (*p == ' ' || *p == '\t')) {
        p++;
    }

    while (last > p && (last[-1] == ' ' || last[-1] == '\t')) {
        last--;
    }

    s.data = p;
    s.len = last - p;

    return s;
}


/* the next cookie of a line that begins at *pos; 0: there is none */

static ngx_uint_t
fuzz_cookie(ngx_str_t *line, size_t *pos, ngx_str_t *name, ngx_str_t *value)
{
    size_t  i, end, equal;

    while (*pos < line->len) {

        for (end = *pos; end < line->len && line->data[end] != ';'; end++) {
            /* void */
        }

        equal = end;

        for (i = end; i > *pos; i--) {
            if (line->data[i - 1] == '=') {
                equal = i - 1;
            }
        }

        *name = fuzz_trim(line->data + *pos, line->data + equal);

        if (equal < end) {
            *value = fuzz_trim(line->data + equal + 1, line->data + end);

            if (value->len > 1 && value->data[0] == '"'
                && value->data[value->len - 1] == '"')
            {
                value->data++;
                value->len -= 2;
            }

        } else {
            value->len = 0;
        }

        *pos = end + 1;

        if (name->len && value->len) {
            return 1;
        }
    }

    return 0;
}


static void
fuzz_http_cookies(ngx_str_t *data, ngx_pool_t *pool)
{
    size_t              pos;
    ngx_str_t           lines[FUZZ_LINES], name, value, suffix;
    ngx_uint_t          i, n;
    ngx_adm_cookie_t    cookie;
    ngx_http_request_t  r;

    static ngx_str_t  known = ngx_string("urr-vwr-token");

    fuzz_fake_request(&r, pool);

    for (n = 0; n < FUZZ_LINES && data->len; n++) {
        lines[n] = fuzz_until(data, '\n', pool);
        fuzz_cookie_line(&r, &lines[n]);
    }

    ngx_memzero(&cookie, sizeof(ngx_adm_cookie_t));

    for (i = 0; i < n; i++) {

        for (pos = 0; fuzz_cookie(&lines[i], &pos, &name, &value); ) {

            fuzz_check(ngx_adm_cookie_next(&r, &cookie));
            fuzz_check(fuzz_same(&cookie.name, &name));
            fuzz_check(fuzz_same(&cookie.value, &value));

            if (ngx_adm_cookie_is(&cookie, &known, &suffix)) {
                fuzz_check(name.len == known.len
                           + (suffix.len ? suffix.len + 1 : 0));
            }
        }
    }

    fuzz_check(!ngx_adm_cookie_next(&r, &cookie));
}


/* digits alone, which are a number up to max */

static ngx_int_t
fuzz_digits(ngx_str_t *s, ngx_int_t max)
{
    size_t     i;
    ngx_int_t  n;

    for (i = 0, n = 0; i < s->len; i++) {

        if (s->data[i] < '0' || s->data[i] > '9') {
            return NGX_ERROR;
        }

        n = n * 10 + (s->data[i] - '0');

        if (n > max) {
            return NGX_ERROR;
        }
    }

    return s->len ? n : NGX_ERROR;
}


static void
fuzz_http_args(ngx_str_t *data, ngx_pool_t *pool)
{
    char                 name[32];
    size_t               i;
    ngx_int_t            rc, n;
    ngx_str_t            s, value, arg;
    ngx_http_request_t   r;

    s = fuzz_until(data, '\n', pool);

    /* names are the module's own */

    for (i = 0; i < s.len && s.data[i] < 0x80 && isalnum(s.data[i]); i++) {
        /* void */
    }

    if (s.len == 0 || s.len >= sizeof(name) || i < s.len) {
        ngx_str_set(&s, "threshold");
    }

    ngx_memcpy(name, s.data, s.len);
    name[s.len] = '\0';

    fuzz_fake_request(&r, pool);

    /* NGINX has a byte after the request line */

    r.args = fuzz_copy_z(data, pool);

    rc = ngx_adm_arg(&r, name, &value);

    fuzz_check(rc == NGX_OK || (rc == NGX_DECLINED && value.len == 0));
    fuzz_check(value.len <= r.args.len);

    n = ngx_adm_arg_number(&r, name, 10000000);

    fuzz_check((n == NGX_DECLINED) == (rc == NGX_DECLINED));

    if (rc == NGX_OK) {
        fuzz_check(ngx_http_arg(&r, (u_char *) name, s.len, &arg) == NGX_OK);
        fuzz_check(n == fuzz_digits(&arg, 10000000));
        fuzz_check(ngx_adm_arg_flag(&r, name)
                   == (arg.len == 1 && arg.data[0] == '1'));
    }
}


static void
fuzz_http_run(ngx_str_t *data, ngx_pool_t *pool)
{
    switch (fuzz_byte(data)) {

    case 'C':
        fuzz_http_cookies(data, pool);
        break;

    default:
        fuzz_http_args(data, pool);
    }
}


fuzz_target_t  fuzz_http = { "http", NULL, NULL, fuzz_http_run };
