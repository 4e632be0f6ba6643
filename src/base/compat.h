
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Every difference between the NGINX versions that the module builds on
 * (1.22 to mainline) is here, behind functions; no other file tests
 * nginx_version.
 */


#ifndef _NGX_ADM_BASE_COMPAT_H_INCLUDED_
#define _NGX_ADM_BASE_COMPAT_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>


/* whether the response has a Cache-Control by now, whoever set it */
static ngx_inline ngx_uint_t
ngx_adm_has_cache_control(ngx_http_request_t *r)
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


/*
 * Makes a header that was pushed to headers_out.headers the response's only
 * Cache-Control, for whatever reads or replaces that.
 */
static ngx_inline ngx_int_t
ngx_adm_take_cache_control(ngx_http_request_t *r, ngx_table_elt_t *h)
{
#if (nginx_version >= 1023000)

    ngx_table_elt_t  *old;

    for (old = r->headers_out.cache_control; old; old = old->next) {
        old->hash = 0;
    }

    r->headers_out.cache_control = h;

    return NGX_OK;

#else

    ngx_uint_t         i;
    ngx_array_t       *cc;
    ngx_table_elt_t  **old;

    cc = &r->headers_out.cache_control;

    if (cc->elts == NULL
        && ngx_array_init(cc, r->pool, 1, sizeof(ngx_table_elt_t *)) != NGX_OK)
    {
        return NGX_ERROR;
    }

    old = cc->elts;

    for (i = 0; i < cc->nelts; i++) {
        old[i]->hash = 0;
    }

    cc->nelts = 0;

    old = ngx_array_push(cc);
    if (old == NULL) {
        return NGX_ERROR;
    }

    *old = h;

    return NGX_OK;

#endif
}


#endif /* _NGX_ADM_BASE_COMPAT_H_INCLUDED_ */
