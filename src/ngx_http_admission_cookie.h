
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Cookies of a request, one after the other, and of its answer.
 */


#ifndef _NGX_HTTP_ADMISSION_COOKIE_H_INCLUDED_
#define _NGX_HTTP_ADMISSION_COOKIE_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_admission_conf.h"


/* zeroed before the first call of _next() */
typedef struct {
    ngx_str_t                   name;
    ngx_str_t                   value;      /* without quotes; not empty */

    ngx_table_elt_t            *line;
    ngx_uint_t                  n;
    u_char                     *pos;
    u_char                     *last;
} ngx_http_admission_cookie_t;


/*
 * The next cookie of any Cookie line; 0 after the last.  Its strings point
 * into the request.  Cookies without a value are none.
 */
ngx_uint_t ngx_http_admission_cookie_next(ngx_http_request_t *r,
    ngx_http_admission_cookie_t *cookie);

/*
 * A Set-Cookie with the attributes of conf, in place of an earlier one of
 * the same name; max_age 0 ends the cookie.  NGX_ERROR: no memory.
 */
ngx_int_t ngx_http_admission_cookie_set(ngx_http_request_t *r,
    ngx_http_admission_cookie_conf_t *conf, ngx_str_t *name,
    ngx_str_t *value, time_t max_age);


#endif /* _NGX_HTTP_ADMISSION_COOKIE_H_INCLUDED_ */
