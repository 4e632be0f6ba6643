
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Inside of rate limits: the windows of a request.  Only these files include
 * this; the first calls the next two:
 *
 *   limit.c    judges the request by them
 *   collect.c  which they are
 *   ask.c      Redis and what it says
 *   answer.c   what the client is told of them
 */


#ifndef _NGX_ADM_LIMIT_PARTS_H_INCLUDED_
#define _NGX_ADM_LIMIT_PARTS_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../http/ctx.h"


/* a client's window, and how the request stands in it */
typedef struct {
    ngx_adm_limit_conf_t  *conf;
    ngx_str_t              key;      /* in Redis, with prefix */

    int64_t                left;     /* after this request; -1: full */
    int64_t                wait;     /* ms until the oldest counted leaves or,
                                        if it is full, there is room again */
    int64_t                at;       /* us, by Redis, by which it knows what
                                        it charged */
    int64_t                instead;  /* "at" of what an earlier location
                                        charged, which is taken back; 0: none */

    unsigned               redis:1;  /* Redis answered */
    unsigned               local:1;  /* this host counted; with neither
                                        nobody did */
    unsigned               charged:1;    /* charged, and not taken back */
    unsigned               trial:1;  /* the limit, or its location, has a dry
                                        run */

    /* of a limit that the request met in an earlier location */
    unsigned               again:1;  /* it was charged there */
    unsigned               known:1;  /* which is all there is to say */
    unsigned               missed:1; /* Redis was asked in vain */
} ngx_adm_limit_t;


/* a script under way: charges n of the limits in "asked", from "first" on */
typedef struct {
    ngx_adm_limits_t       *limits;
    ngx_adm_redis_call_t   *call;
    ngx_uint_t              first;
    ngx_uint_t              n;
} ngx_adm_limit_call_t;


struct ngx_adm_limits_s {
    ngx_http_request_t     *request;
    ngx_array_t             all;         /* limit_t, of each location that
                                            the request came to */
    ngx_uint_t              first;       /* of this location */
    ngx_uint_t              pass;        /* r->uri_changes in it */

    /* limits that Redis is to judge; while it does, "all" stays as it is */
    ngx_adm_limit_t        *asked[NGX_ADM_LIMITS_MAX];
    ngx_uint_t              nasked;

    ngx_adm_limit_call_t    calls[NGX_ADM_LIMITS_MAX];
    ngx_uint_t              pending;
};


/*
 * Collects the limits of the request's location, some of which may be judged
 * by now.  NGX_OK; NGX_DECLINED: there is none; NGX_ERROR: no memory.
 */
ngx_int_t ngx_adm_limits_collect(ngx_http_request_t *r, ngx_adm_ctx_t *ctx,
    ngx_array_t *confs);

/*
 * Asks Redis about the limits in "asked".  NGX_AGAIN: the request resumes when
 * it has answered, or has not; NGX_OK: it can't be asked; NGX_ERROR.
 */
ngx_int_t ngx_adm_limits_ask(ngx_http_request_t *r, ngx_adm_limits_t *limits);


#endif /* _NGX_ADM_LIMIT_PARTS_H_INCLUDED_ */
