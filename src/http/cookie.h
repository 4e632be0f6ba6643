
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Cookies of a request, one after the other, and of its answer: only here is
 * Set-Cookie made.
 */


#ifndef _NGX_ADM_HTTP_COOKIE_H_INCLUDED_
#define _NGX_ADM_HTTP_COOKIE_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../host/settings.h"
#include "headers.h"


/* zeroed before the first call of _next() */
typedef struct {
    ngx_str_t                   name;
    ngx_str_t                   value;      /* without quotes; not empty */

    ngx_adm_headers_pos_t       line;
    u_char                     *pos;
    u_char                     *last;
} ngx_adm_cookie_t;


/*
 * The next cookie, of any Cookie line; 0 after the last.  Its strings point
 * into the request.  Cookies without a value do not count.
 */
ngx_uint_t ngx_adm_cookie_next(ngx_http_request_t *r, ngx_adm_cookie_t *cookie);

/* the same for one line, whose rest is from pos to last */
ngx_uint_t ngx_adm_cookie_of(ngx_adm_cookie_t *cookie);

/*
 * whether the name is <name> or <name>-<suffix>; suffix is empty for the first
 */
ngx_uint_t ngx_adm_cookie_is(ngx_adm_cookie_t *cookie, ngx_str_t *name,
    ngx_str_t *suffix);

/*
 * A number, not 0, for the attributes in conf; if they change it does, too,
 * and who has the cookie gets it again with the new ones.
 */
int64_t ngx_adm_cookie_attributes(ngx_adm_cookie_conf_t *conf);

/*
 * Sets a cookie with the attributes in conf, in place of an earlier Set-Cookie
 * of that name; max_age 0 ends the cookie.  NGX_ERROR: no memory.
 */
ngx_int_t ngx_adm_cookie_set(ngx_http_request_t *r, ngx_adm_cookie_conf_t *conf,
    ngx_str_t *name, ngx_str_t *value, time_t max_age);


#endif /* _NGX_ADM_HTTP_COOKIE_H_INCLUDED_ */
