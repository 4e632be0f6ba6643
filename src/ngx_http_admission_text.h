
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


/* each returns where the text ends */

/* at most NGX_INT64_LEN bytes; most numbers have one digit */
static ngx_inline u_char *
ngx_http_admission_put_number(u_char *p, int64_t n)
{
    if ((uint64_t) n < 10) {
        *p++ = (u_char) (n + '0');
        return p;
    }

    return ngx_http_admission_put_digits(p, n);
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
