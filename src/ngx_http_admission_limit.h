
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Rate limits (contract, 7): what the gate asks, and how the answer tells.
 *
 * A request is charged to a client's window of a category once, however many
 * locations it comes through, and judged by the terms of each.
 */


#ifndef _NGX_HTTP_ADMISSION_LIMIT_H_INCLUDED_
#define _NGX_HTTP_ADMISSION_LIMIT_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_admission_ctx.h"


/* a client's window, and how a request stands in it */
typedef struct {
    ngx_http_admission_limit_conf_t  *conf;
    ngx_str_t                         key;      /* in Redis, with prefix */

    int64_t                           left;     /* requests after this one;
                                                   -1: it is full */
    int64_t                           wait;     /* ms until the oldest counted
                                                   leaves or, if it is full,
                                                   there is room again */
    int64_t                           at;       /* us, by Redis: what was
                                                   charged is known by it */
    int64_t                           instead;  /* the same of what an earlier
                                                   place charged, which is
                                                   taken back; 0: nothing */

    unsigned                          redis:1;  /* Redis answered */
    unsigned                          local:1;  /* this host counted; neither:
                                                   nobody did */
    unsigned                          charged:1;    /* and it stands */
    unsigned                          trial:1;  /* it, or its place, has a dry
                                                   run */

    /* of one that the request met at an earlier place */
    unsigned                          again:1;  /* it was charged there */
    unsigned                          known:1;  /* that says all */
    unsigned                          missed:1; /* Redis has had its time */
} ngx_http_admission_limit_t;


/*
 * The limits of the request's location: NGX_OK, NGX_AGAIN, NGX_ABORT (it is
 * refused, as ctx says) or NGX_ERROR, as the parts of the gate return.
 */
ngx_int_t ngx_http_admission_gate_limits(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx);

/* takes back all that a request was charged: it is refused all the same */
void ngx_http_admission_limits_back(ngx_http_admission_limits_t *limits);

/*
 * The key of the request's window, with prefix, from its pool; NGX_DECLINED:
 * nobody is limited.
 */
ngx_int_t ngx_http_admission_limit_key(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx, ngx_http_admission_limit_conf_t *conf,
    ngx_str_t *key);

/* the request goes away while Redis is asked */
void ngx_http_admission_limits_cancel(ngx_http_admission_limits_t *limits);

/* the window that says most about what the client may do; NULL: none */
ngx_http_admission_limit_t *ngx_http_admission_limit_told(
    ngx_http_admission_ctx_t *ctx);


/* tells a refusal; returns what to finalize the request with */
ngx_int_t ngx_http_admission_limit_deny(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx);

/*
 * RateLimit-Policy and RateLimit of the answer, in the place of those that a
 * backend set; NGX_ERROR: no memory.
 */
ngx_int_t ngx_http_admission_limit_headers(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx);


#endif /* _NGX_HTTP_ADMISSION_LIMIT_H_INCLUDED_ */
