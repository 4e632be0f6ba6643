
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What the HTTP APIs have in common (contract, 5): which call a request is,
 * what is refused whoever asks, and how a call waits for Redis.
 */


#ifndef _NGX_HTTP_ADMISSION_API_H_INCLUDED_
#define _NGX_HTTP_ADMISSION_API_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include <jansson.h>

#include "ngx_http_admission_ctx.h"
#include "ngx_http_admission_unlisted.h"


typedef struct ngx_http_admission_api_call_s  ngx_http_admission_api_call_t;

/* returns what a content handler returns */
typedef ngx_int_t (*ngx_http_admission_api_pt)(
    ngx_http_admission_api_call_t *call);


/* a table of these ends with an empty one; the first that matches counts */
typedef struct {
    /*
     * the last segments of the path; the first "*" is the event's id, a
     * second one anything; without one the call is about no event, and has
     * no conf
     */
    const char                         *path;

    ngx_uint_t                          methods;    /* mask of NGX_HTTP_* */
    const char                         *allow;      /* the same in words */
    ngx_http_admission_api_pt           handler;
    ngx_uint_t                          what;       /* the handler's own */
    ngx_uint_t                          unlisted;   /* an id will do that is
                                                       not an event yet */
} ngx_http_admission_route_t;


struct ngx_http_admission_api_call_s {
    ngx_http_request_t                 *request;
    ngx_http_admission_ctx_t           *ctx;
    ngx_http_admission_loc_conf_t      *lcf;

    const ngx_http_admission_route_t   *route;
    ngx_str_t                           event;      /* in lower case */
    ngx_str_t                           rest;       /* the second "*" */
    ngx_http_admission_event_conf_t    *conf;

    /* the body: NULL if there is none, valid until the handler returns */
    json_t                             *body;
    ngx_http_admission_api_pt           body_done;
    ngx_str_t                           body_text;

    /* the handlers' own */
    ngx_str_t                           who;
    int64_t                             value;
    const char                         *why;        /* no token of tier 1 */
    ngx_http_admission_guest_t         *guest;      /* of an event without a
                                                       line; NULL: of another */
    ngx_http_admission_bound_e          bound;      /* that the guest is over */
};


/*
 * A content handler: finds the route and the event, refuses what is to be
 * refused whoever asks, answers preflights, and runs the route's handler.
 */
ngx_int_t ngx_http_admission_api_handler(ngx_http_request_t *r,
    const ngx_http_admission_route_t *routes);

/*
 * 200 with JSON, in the format of ngx_http_admission_put(); size: bytes that
 * the strings among the arguments take
 */
ngx_int_t ngx_http_admission_api_json(ngx_http_request_t *r, size_t size,
    const char *format, ...);

/* by when it has to be answered, if Redis answers or not: ms, from now */
ngx_msec_t ngx_http_admission_api_deadline(
    ngx_http_admission_api_call_t *call);

/* 503: Redis did not answer */
ngx_int_t ngx_http_admission_api_unavailable(ngx_http_request_t *r);

/*
 * The call goes on when the Redis call completes, which is cancelled if the
 * client goes away; pending NULL: it was not issued, which is answered.
 * Returns what a content handler returns.
 */
ngx_int_t ngx_http_admission_api_wait(ngx_http_admission_api_call_t *call,
    ngx_http_admission_redis_call_t *pending);

/*
 * The same for an operation that ctx, or a cleanup of the request's pool, can
 * cancel: NGX_DONE, or an error and the operation is to be cancelled.
 */
ngx_int_t ngx_http_admission_api_suspend(ngx_http_admission_api_call_t *call);

/* a completion begins with the first and ends with the second of these */
void ngx_http_admission_api_resume(ngx_http_admission_api_call_t *call);
void ngx_http_admission_api_finish(ngx_http_admission_api_call_t *call,
    ngx_int_t rc);


#endif /* _NGX_HTTP_ADMISSION_API_H_INCLUDED_ */
