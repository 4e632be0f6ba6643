
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Inside of rate limits: the windows of a request.  Only these include this,
 * and the first calls the others:
 *
 *   limit.c          judges the request by them
 *   limit_collect.c  which they are
 *   limit_ask.c      Redis and what it says
 */


#ifndef _NGX_HTTP_ADMISSION_LIMIT_PARTS_H_INCLUDED_
#define _NGX_HTTP_ADMISSION_LIMIT_PARTS_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_admission_limit.h"


/* a script under way, which charges n of the limits asked, from the first on */
typedef struct {
    ngx_http_admission_limits_t       *limits;
    ngx_http_admission_redis_call_t   *call;
    ngx_uint_t                         first;
    ngx_uint_t                         n;
} ngx_http_admission_limit_call_t;


struct ngx_http_admission_limits_s {
    ngx_http_request_t                *request;
    ngx_array_t                        all;         /* limit_t, of each place
                                                       the request came to */
    ngx_uint_t                         first;       /* of this one */
    ngx_uint_t                         pass;        /* r->uri_changes of it */

    /* of these, those that Redis is to judge; while it does, "all" stays */
    ngx_http_admission_limit_t        *asked[NGX_HTTP_ADMISSION_LIMITS_MAX];
    ngx_uint_t                         nasked;

    ngx_http_admission_limit_call_t    calls[NGX_HTTP_ADMISSION_LIMITS_MAX];
    ngx_uint_t                         pending;
};


/*
 * Those of the request's location, of which some may be known by now; NGX_OK,
 * NGX_DECLINED: there is none, NGX_ERROR: no memory.
 */
ngx_int_t ngx_http_admission_limits_collect(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx, ngx_array_t *confs);

/*
 * Asks Redis about those to be asked about: NGX_AGAIN, and the gate is resumed
 * when it has answered or has not; NGX_OK: it can not be asked; NGX_ERROR.
 */
ngx_int_t ngx_http_admission_limits_ask(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx);

/* takes back what was charged to those from the first on */
void ngx_http_admission_limits_back_from(
    ngx_http_admission_limits_t *limits, ngx_uint_t first);


#endif /* _NGX_HTTP_ADMISSION_LIMIT_PARTS_H_INCLUDED_ */
