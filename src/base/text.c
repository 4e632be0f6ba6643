
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Texts that are written and compared at each request.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "text.h"


static u_char *ngx_adm_put_text(u_char *p, u_char *last, const void *text,
    size_t len);
static u_char ngx_adm_base64url_group(u_char *dst, u_char *src, u_char *table);


static const char  ngx_adm_pairs[] = "0001020304050607080910111213141516171819"
    "2021222324252627282930313233343536373839"
    "4041424344454647484950515253545556575859"
    "6061626364656667686970717273747576777879"
    "8081828384858687888990919293949596979899";


/*
 * Two digits at a time, from the last: clocks among a script's arguments have
 * sixteen.
 */

u_char *
ngx_adm_put_digits(u_char *p, int64_t n)
{
    u_char    *end, *last;
    uint64_t   rest;

    rest = (uint64_t) n;

    if (n < 0) {
        *p++ = '-';
        rest = 0 - rest;
    }

    end = p + ngx_adm_digits(rest);
    last = end;

    while (rest >= 10) {
        last -= 2;
        ngx_memcpy(last, &ngx_adm_pairs[rest % 100 * 2], 2);
        rest /= 100;
    }

    if (last != p) {
        *p = (u_char) (rest + '0');
    }

    return end;
}


void
ngx_adm_put_numbers(u_char *p, int64_t *number, ngx_uint_t n, ngx_str_t *text)
{
    ngx_uint_t  i;

    for (i = 0; i < n; i++) {

        if (number[i] != NGX_ADM_NO_NUMBER) {
            text[i].data = p;
            p = ngx_adm_put_number(p, number[i]);
            text[i].len = p - text[i].data;
        }
    }
}


u_char *
ngx_adm_put(u_char *p, u_char *last, const char *format, ...)
{
    va_list  args;

    va_start(args, format);
    p = ngx_adm_vput(p, last, format, args);
    va_end(args);

    return p;
}


u_char *
ngx_adm_vput(u_char *p, u_char *last, const char *format, va_list args)
{
    u_char       digits[NGX_INT64_LEN], *end;
    int64_t      n;
    ngx_str_t   *s;
    const char  *percent, *text;

    for ( ;; ) {
        percent = strchr(format, '%');

        if (percent == NULL) {
            return ngx_adm_put_text(p, last, format, ngx_strlen(format));
        }

        p = ngx_adm_put_text(p, last, format, percent - format);
        format = percent + 2;

        switch (percent[1]) {

        case 'V':
            s = va_arg(args, ngx_str_t *);
            p = ngx_adm_put_text(p, last, s->data, s->len);
            break;

        case 'L':
            end = ngx_adm_put_number(digits, va_arg(args, int64_t));
            p = ngx_adm_put_text(p, last, digits, end - digits);
            break;

        case 'N':
            n = va_arg(args, int64_t);

            if (n < 0) {
                p = ngx_adm_put_text(p, last, "null", 4);
                break;
            }

            end = ngx_adm_put_number(digits, n);
            p = ngx_adm_put_text(p, last, digits, end - digits);
            break;

        case 'u': /* "%ui" */
            format++;
            end = ngx_adm_put_number(digits, va_arg(args, ngx_uint_t));
            p = ngx_adm_put_text(p, last, digits, end - digits);
            break;

        case 's':
            text = va_arg(args, const char *);
            p = ngx_adm_put_text(p, last, text, ngx_strlen(text));
            break;

        default:

            /*
             * which arguments are left can't be known: puts the rest as it is
             */

            return ngx_adm_put_text(p, last, percent, ngx_strlen(percent));
        }
    }
}


static u_char *
ngx_adm_put_text(u_char *p, u_char *last, const void *text, size_t len)
{
    len = ngx_min(len, (size_t) (last - p));

    return len ? ngx_cpymem(p, text, len) : p;
}


ngx_int_t
ngx_adm_json_string(ngx_pool_t *pool, ngx_str_t *s, ngx_str_t *json)
{
    u_char  *p;
    size_t   escape;

    escape = (size_t) ngx_escape_json(NULL, s->data, s->len);

    p = ngx_pnalloc(pool, s->len + escape + 2);
    if (p == NULL) {
        return NGX_ERROR;
    }

    json->data = p;

    *p++ = '"';
    p = (u_char *) ngx_escape_json(p, s->data, s->len);
    *p++ = '"';

    json->len = p - json->data;

    return NGX_OK;
}


ngx_int_t
ngx_adm_base64url(u_char *dst, ngx_str_t *src, size_t *len)
{
    size_t    n;
    u_char   *p, *s, bad, last[4], bytes[3];

#define XX  0x80

    static u_char  table[] = {
        XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX,
        XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX,
        XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, 62, XX, XX,
        52, 53, 54, 55, 56, 57, 58, 59, 60, 61, XX, XX, XX, XX, XX, XX,
        XX,  0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14,
        15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, XX, XX, XX, XX, 63,
        XX, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40,
        41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, XX, XX, XX, XX, XX,

        [128 ... 255] = XX };

#undef XX

    p = dst;
    s = src->data;
    bad = 0;

    for (n = src->len; n >= 4; n -= 4) {
        bad |= ngx_adm_base64url_group(p, s, table);
        p += 3;
        s += 4;
    }

    if (n == 1) {
        return NGX_DECLINED;
    }

    if (n) {
        ngx_memset(last, 'A', 4);
        ngx_memcpy(last, s, n);

        bad |= ngx_adm_base64url_group(bytes, last, table);

        /* bits that do not fill a byte have to be 0 */

        if (bytes[n - 1]) {
            return NGX_DECLINED;
        }

        p = ngx_cpymem(p, bytes, n - 1);
    }

    *len = p - dst;

    return (bad & 0x80) ? NGX_DECLINED : NGX_OK;
}


/*
 * four characters make three bytes; returns 0x80 or more if one of them is
 * wrong
 */

static ngx_inline u_char
ngx_adm_base64url_group(u_char *dst, u_char *src, u_char *table)
{
    u_char  a, b, c, d;

    a = table[src[0]];
    b = table[src[1]];
    c = table[src[2]];
    d = table[src[3]];

    dst[0] = (u_char) (a << 2 | b >> 4);
    dst[1] = (u_char) (b << 4 | c >> 2);
    dst[2] = (u_char) (c << 6 | d);

    return a | b | c | d;
}


ngx_int_t
ngx_adm_hex(u_char *dst, ngx_str_t *src, size_t *len)
{
    size_t     i;
    ngx_int_t  byte;

    if (src->len % 2) {
        return NGX_DECLINED;
    }

    for (i = 0; i < src->len / 2; i++) {
        byte = ngx_hextoi(src->data + 2 * i, 2);

        if (byte == NGX_ERROR) {
            return NGX_DECLINED;
        }

        dst[i] = (u_char) byte;
    }

    *len = i;

    return NGX_OK;
}
