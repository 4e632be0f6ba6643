
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Writing what each request has to write.  NGINX's own ngx_sprintf() goes
 * through its format byte by byte, which was much of what an answer of the
 * queue cost.
 */


#ifndef _NGX_HTTP_ADMISSION_TEXT_H_INCLUDED_
#define _NGX_HTTP_ADMISSION_TEXT_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>


u_char *ngx_http_admission_put_digits(u_char *p, int64_t n);


/* how many a number has */
static ngx_inline ngx_uint_t
ngx_http_admission_digits(uint64_t n)
{
    ngx_uint_t  digits;

    if (n < 10) {
        return 1;
    }

    for (digits = 1; n >= 10000; digits += 4) {
        n /= 10000;
    }

    return digits + (n >= 10) + (n >= 100) + (n >= 1000);
}


/* each returns where the text ends */

/* at most NGX_INT64_LEN bytes; most numbers have one digit or two */
static ngx_inline u_char *
ngx_http_admission_put_number(u_char *p, int64_t n)
{
    if ((uint64_t) n >= 100) {
        return ngx_http_admission_put_digits(p, n);
    }

    if (n >= 10) {
        *p++ = (u_char) (n / 10 + '0');
        n %= 10;
    }

    *p++ = (u_char) (n + '0');

    return p;
}

/*
 * As ngx_slprintf(), with %V, %L, %ui and %s only: what does not fit before
 * last is left out.
 */
u_char *ngx_http_admission_put(u_char *p, u_char *last, const char *format,
    ...);
u_char *ngx_http_admission_vput(u_char *p, u_char *last, const char *format,
    va_list args);


#endif /* _NGX_HTTP_ADMISSION_TEXT_H_INCLUDED_ */
