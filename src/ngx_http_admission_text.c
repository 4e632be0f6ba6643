
/*
 * Copyright (C) 2026 the admission module authors
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_admission_text.h"


static u_char *ngx_http_admission_put_text(u_char *p, u_char *last,
    const void *text, size_t len);


static const char  ngx_http_admission_pairs[] =
    "0001020304050607080910111213141516171819"
    "2021222324252627282930313233343536373839"
    "4041424344454647484950515253545556575859"
    "6061626364656667686970717273747576777879"
    "8081828384858687888990919293949596979899";


/*
 * Two at a time, from the last: the clocks of a script's arguments have
 * sixteen.
 */

u_char *
ngx_http_admission_put_digits(u_char *p, int64_t n)
{
    u_char    *end, *last;
    uint64_t   rest;

    rest = (uint64_t) n;

    if (n < 0) {
        *p++ = '-';
        rest = 0 - rest;
    }

    end = p + ngx_http_admission_digits(rest);
    last = end;

    while (rest >= 10) {
        last -= 2;
        ngx_memcpy(last, &ngx_http_admission_pairs[rest % 100 * 2], 2);
        rest /= 100;
    }

    if (last != p) {
        *p = (u_char) (rest + '0');
    }

    return end;
}


u_char *
ngx_http_admission_put(u_char *p, u_char *last, const char *format, ...)
{
    va_list  args;

    va_start(args, format);
    p = ngx_http_admission_vput(p, last, format, args);
    va_end(args);

    return p;
}


u_char *
ngx_http_admission_vput(u_char *p, u_char *last, const char *format,
    va_list args)
{
    u_char       digits[NGX_INT64_LEN], *end;
    ngx_str_t   *s;
    const char  *percent, *text;

    for ( ;; ) {
        percent = strchr(format, '%');

        if (percent == NULL) {
            return ngx_http_admission_put_text(p, last, format,
                                               ngx_strlen(format));
        }

        p = ngx_http_admission_put_text(p, last, format, percent - format);
        format = percent + 2;

        switch (percent[1]) {

        case 'V':
            s = va_arg(args, ngx_str_t *);
            p = ngx_http_admission_put_text(p, last, s->data, s->len);
            break;

        case 'L':
            end = ngx_http_admission_put_number(digits,
                                                va_arg(args, int64_t));
            p = ngx_http_admission_put_text(p, last, digits, end - digits);
            break;

        case 'u': /* "%ui" */
            format++;
            end = ngx_http_admission_put_number(digits,
                                                va_arg(args, ngx_uint_t));
            p = ngx_http_admission_put_text(p, last, digits, end - digits);
            break;

        default: /* 's' */
            text = va_arg(args, const char *);
            p = ngx_http_admission_put_text(p, last, text, ngx_strlen(text));
            break;
        }
    }
}


static u_char *
ngx_http_admission_put_text(u_char *p, u_char *last, const void *text,
    size_t len)
{
    len = ngx_min(len, (size_t) (last - p));

    return len ? ngx_cpymem(p, text, len) : p;
}
