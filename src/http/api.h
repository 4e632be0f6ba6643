
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What the HTTP APIs have in common (docs/api.md): which call a request is,
 * what is refused whoever asks, and how a call waits for Redis.
 */


#ifndef _NGX_ADM_HTTP_API_H_INCLUDED_
#define _NGX_ADM_HTTP_API_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include <jansson.h>

#include "../base/counter.h"
#include "ctx.h"


typedef struct ngx_adm_api_call_s  ngx_adm_api_call_t;

/* returns what a content handler returns */
typedef ngx_int_t (*ngx_adm_api_pt)(ngx_adm_api_call_t *call);


/* a table of routes ends with an empty one; the first that matches counts */
struct ngx_adm_route_s {
    /*
     * the last segments of the path; the first "*" is the id of an event, a
     * second one anything; without any "*" the call has no event and no conf
     */
    const char              *path;

    ngx_uint_t               methods;    /* mask of NGX_HTTP_* */
    const char              *allow;      /* the same, for Allow */
    ngx_adm_api_pt           handler;
    ngx_uint_t               what;       /* for the handler */
    ngx_uint_t               unlisted;   /* bool: the id need not be that of
                                            an event yet */
};


struct ngx_adm_api_call_s {
    ngx_http_request_t      *request;
    ngx_adm_ctx_t           *ctx;
    ngx_adm_loc_conf_t      *lcf;

    const ngx_adm_route_t   *route;
    ngx_str_t                event;      /* in lower case */
    ngx_str_t                rest;       /* the second "*" */
    ngx_adm_event_conf_t    *conf;

    /* NULL: none; valid until the handler returns */
    json_t                  *body;
    ngx_adm_api_pt           body_done;
    ngx_str_t                body_text;

    /* for handlers */
    ngx_str_t                who;        /* calls */
    int64_t                  value;
    void                    *data;
};


/*
 * The content handler of the APIs.  Finds the route, among those of the
 * location, and the event; refuses what is refused whoever asks; answers
 * preflights; and runs the route's handler.
 */
ngx_int_t ngx_adm_api_handler(ngx_http_request_t *r);

/*
 * 200 with JSON, in a format of ngx_adm_put(); size: bytes of the strings
 * among the arguments.
 */
ngx_int_t ngx_adm_api_json(ngx_http_request_t *r, size_t size,
    const char *format, ...);

/*
 * An argument of the query.  Its text is unescaped, in memory of its own, or
 * empty with NGX_DECLINED: there is none; NGX_ERROR: no memory.
 */
ngx_int_t ngx_adm_arg(ngx_http_request_t *r, const char *name,
    ngx_str_t *value);

/*
 * An argument of digits only, from 0 to max; NGX_DECLINED: there is none;
 * NGX_ERROR: it is no such number.
 */
ngx_int_t ngx_adm_arg_number(ngx_http_request_t *r, const char *name,
    ngx_int_t max);

/* whether an argument is "1" */
ngx_uint_t ngx_adm_arg_flag(ngx_http_request_t *r, const char *name);

/*
 * whether a page that goes away sent it, which may come back, as after a
 * refresh
 */
ngx_uint_t ngx_adm_is_beacon(ngx_http_request_t *r);

/*
 * by when (ms, of ngx_current_msec) a call that begins now has to be answered,
 * whether Redis answers or not
 */
ngx_msec_t ngx_adm_api_deadline(ngx_adm_api_call_t *call);

/* 503: Redis did not answer */
ngx_int_t ngx_adm_api_unavailable(ngx_http_request_t *r);

/* 409: all seats are sold */
ngx_int_t ngx_adm_api_sold_out(ngx_adm_api_call_t *call, ngx_adm_tier_e tier);

/*
 * 503: the line takes no more, full is NGX_ADM_LINE_FULL or _LONG; for tickets
 * also 403, with _BEFORE and _CLOSED
 */
ngx_int_t ngx_adm_api_full(ngx_adm_api_call_t *call, ngx_uint_t full);

/*
 * Has the call wait for a Redis call, see ngx_adm_wait_content(); pending
 * NULL: that was not issued, and is answered so.  Returns what a content
 * handler returns.
 */
ngx_int_t ngx_adm_api_wait(ngx_adm_api_call_t *call,
    ngx_adm_redis_call_t *pending);


#endif /* _NGX_ADM_HTTP_API_H_INCLUDED_ */
