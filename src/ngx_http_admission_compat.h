
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Every difference between the NGINX versions that the module builds on
 * (1.22 to mainline) is here, behind functions; no other file tests
 * nginx_version.
 */


#ifndef _NGX_HTTP_ADMISSION_COMPAT_H_INCLUDED_
#define _NGX_HTTP_ADMISSION_COMPAT_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>


/*
 * The Cookie lines of a request, one after the other: an array of pointers
 * before 1.23.0, a list chained by "next" since.  NGINX's own parsers are
 * not used: what they take for the end of a value changed in 1.29.6
 * (a comma, before), and they stop at the first match.
 *
 * Start with state = NULL, *n = 0; returns NULL after the last line.
 */
static ngx_inline ngx_table_elt_t *
ngx_http_admission_next_cookie_line(ngx_http_request_t *r,
    ngx_table_elt_t *line, ngx_uint_t *n)
{
#if (nginx_version >= 1023000)

    (void) n;

    return line ? line->next : r->headers_in.cookie;

#else

    ngx_table_elt_t  **lines;

    (void) line;

    if (*n == r->headers_in.cookies.nelts) {
        return NULL;
    }

    lines = r->headers_in.cookies.elts;

    return lines[(*n)++];

#endif
}


/* whether the response has a Cache-Control already, whoever set it */
static ngx_inline ngx_uint_t
ngx_http_admission_has_cache_control(ngx_http_request_t *r)
{
#if (nginx_version >= 1023000)

    ngx_table_elt_t  *h;

    for (h = r->headers_out.cache_control; h; h = h->next) {
        if (h->hash) {
            return 1;
        }
    }

    return 0;

#else

    ngx_uint_t         i;
    ngx_table_elt_t  **h;

    h = r->headers_out.cache_control.elts;

    for (i = 0; i < r->headers_out.cache_control.nelts; i++) {
        if (h[i]->hash) {
            return 1;
        }
    }

    return 0;

#endif
}


/* takes every Cache-Control out of the response */
static ngx_inline void
ngx_http_admission_clear_cache_control(ngx_http_request_t *r)
{
#if (nginx_version >= 1023000)

    ngx_table_elt_t  *h;

    for (h = r->headers_out.cache_control; h; h = h->next) {
        h->hash = 0;
    }

    r->headers_out.cache_control = NULL;

#else

    ngx_uint_t         i;
    ngx_table_elt_t  **h;

    h = r->headers_out.cache_control.elts;

    for (i = 0; i < r->headers_out.cache_control.nelts; i++) {
        h[i]->hash = 0;
    }

    r->headers_out.cache_control.nelts = 0;

#endif
}


/*
 * Makes a header that was pushed to headers_out.headers known as the
 * response's Cache-Control, for whatever reads or replaces it.
 */
static ngx_inline ngx_int_t
ngx_http_admission_link_cache_control(ngx_http_request_t *r,
    ngx_table_elt_t *h)
{
#if (nginx_version >= 1023000)

    h->next = r->headers_out.cache_control;
    r->headers_out.cache_control = h;

    return NGX_OK;

#else

    ngx_table_elt_t  **cc;

    if (r->headers_out.cache_control.elts == NULL
        && ngx_array_init(&r->headers_out.cache_control, r->pool, 1,
                          sizeof(ngx_table_elt_t *))
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    cc = ngx_array_push(&r->headers_out.cache_control);
    if (cc == NULL) {
        return NGX_ERROR;
    }

    *cc = h;

    return NGX_OK;

#endif
}


/* headers are chained by "next" since 1.23.0 */
static ngx_inline void
ngx_http_admission_header_unchained(ngx_table_elt_t *h)
{
#if (nginx_version >= 1023000)
    h->next = NULL;
#else
    (void) h;
#endif
}


#endif /* _NGX_HTTP_ADMISSION_COMPAT_H_INCLUDED_ */
