
/*
 * Copyright (C) 2026 the admission module authors
 *
 * All of it is as this host heard last; in a dry run what is in force is what
 * is set.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../base/text.h"
#include "../host/follow.h"
#include "../host/hold.h"
#include "follow.h"
#include "operator.h"
#include "respond.h"


#define NGX_ADM_FOLLOW_MEMBERS                                                \
    (sizeof(",\"effectiveRate\":,\"effectiveThreshold\":,\"limitedBy\":"      \
            "\"latency\",\"hold\":\"outside\",\"backend\":")                  \
     + 2 * NGX_INT64_LEN)

#define NGX_ADM_FOLLOW_BACKEND                                                \
    (sizeof("{\"follow\":\"dry\",\"latency\":null,\"maxLatency\":null,"       \
            "\"requests\":,\"counted\":,\"failed\":,\"maxErrors\":null,"      \
            "\"rate\":null,\"threshold\":null,\"limitedBy\":\"latency\","     \
            "\"pause\":,\"age\":}") + 10 * NGX_INT64_LEN)

#define NGX_ADM_FOLLOW_ROW                                                    \
    (sizeof(",[,,,,,,\"latency\"]") + 6 * NGX_INT64_LEN)


static u_char *ngx_adm_follow_backend(u_char *p, u_char *last,
    ngx_adm_event_conf_t *conf, ngx_adm_followed_t *followed);
static u_char *ngx_adm_follow_row(u_char *p, u_char *last,
    ngx_adm_follow_point_t *point);


/* by ngx_adm_follow_why_e */
static const char  *ngx_adm_follow_whys[] = {
    NULL, "\"latency\"", "\"errors\"", "\"paused\"" };

#define ngx_adm_follow_why(n)                                                 \
    (((n) > 0 && (n) <= NGX_ADM_FOLLOW_PAUSED) ? ngx_adm_follow_whys[n] : NULL)


ngx_int_t
ngx_adm_follow_members(ngx_pool_t *pool, ngx_str_t *event,
    ngx_adm_event_conf_t *conf, int64_t rate, int64_t threshold,
    ngx_str_t *members)
{
    size_t               size;
    u_char              *p, *last;
    int64_t              limit;
    const char          *why;
    ngx_uint_t           followed, limits;
    ngx_adm_hold_t       hold;
    ngx_adm_follow_t    *told;
    ngx_adm_followed_t   of;

    size = NGX_ADM_FOLLOW_MEMBERS + NGX_ADM_FOLLOW_BACKEND;

    p = ngx_pnalloc(pool, size);
    if (p == NULL) {
        return NGX_ERROR;
    }

    members->data = p;
    last = p + size;

    ngx_memzero(&of, sizeof(ngx_adm_followed_t));

    of.told.rate = -1;
    of.told.threshold = -1;
    of.told.latency = -1;

    followed = ngx_adm_is_followed(conf);
    limits = followed && ngx_adm_follow_get(event, &of) == NGX_OK
             && conf->backend_follow == NGX_ADM_BACKEND_ON;

    told = &of.told;
    why = NULL;

    if (limits) {
        why = ngx_adm_follow_why(told->why);

        if (told->rate >= 0) {
            /* what is less than one is not nothing */
            limit = (told->rate + 500) / 1000;
            limit = told->rate ? ngx_max(limit, 1) : 0;

            rate = ngx_min(rate, limit);
        }

        if (told->threshold >= 0) {
            threshold = ngx_min(threshold, told->threshold);
        }
    }

    if (ngx_adm_hold_get(event, &hold)) {
        rate = ngx_min(rate, 0);
        threshold = ngx_min(threshold, 0);

    } else if (!followed) {
        members->len = 0;
        return NGX_OK;
    }

    if (rate >= 0) {
        p = ngx_adm_put(p, last, ",\"effectiveRate\":%L", rate);
    }

    if (threshold >= 0) {
        p = ngx_adm_put(p, last, ",\"effectiveThreshold\":%L", threshold);
    }

    if (why) {
        p = ngx_adm_put(p, last, ",\"limitedBy\":%s", why);
    }

    if (hold.held) {
        p = ngx_adm_put(p, last, ",\"hold\":\"%s\"", ngx_adm_hold_text(&hold));
    }

    if (followed) {
        p = ngx_adm_put(p, last, ",\"backend\":");
        p = ngx_adm_follow_backend(p, last, conf, &of);
    }

    members->len = p - members->data;

    return NGX_OK;
}


static u_char *
ngx_adm_follow_backend(u_char *p, u_char *last, ngx_adm_event_conf_t *conf,
    ngx_adm_followed_t *followed)
{
    const char        *why;
    ngx_adm_follow_t  *told;

    told = &followed->told;
    why = ngx_adm_follow_why(told->why);

    return ngx_adm_put(p, last,
               "{\"follow\":\"%s\",\"latency\":%N,\"maxLatency\":%N,"
               "\"requests\":%N,\"counted\":%N,\"failed\":%N,"
               "\"maxErrors\":%N,\"rate\":%N,\"threshold\":%N,"
               "\"limitedBy\":%s,\"pause\":%N,\"age\":%N}",
               conf->backend_follow == NGX_ADM_BACKEND_DRY ? "dry" : "on",
               told->latency < 0 ? -1 : told->latency / 1000,
               conf->backend_latency ? (int64_t) conf->backend_latency : -1,
               told->requests, told->counted, told->failed,
               conf->backend_errors ? conf->backend_errors : -1,
               told->rate, told->threshold, why ? why : "null",
               (told->pause + 999) / 1000,
               told->us ? (int64_t) followed->age / 1000 : -1);
}


ngx_int_t
ngx_adm_follow_handler(ngx_adm_api_call_t *call)
{
    size_t                   size;
    u_char                  *last;
    ngx_int_t                rc;
    ngx_str_t                body, members;
    ngx_uint_t               i, n;
    ngx_http_request_t      *r;
    ngx_adm_follow_point_t  *points;

    r = call->request;

    rc = ngx_adm_operator(call);
    if (rc != NGX_DECLINED) {
        return rc;
    }

    rc = ngx_http_discard_request_body(r);
    if (rc != NGX_OK) {
        return rc;
    }

    points = ngx_palloc(r->pool, NGX_ADM_FOLLOW_POINTS
                                 * sizeof(ngx_adm_follow_point_t));

    if (points == NULL
        || ngx_adm_follow_members(r->pool, &call->event, call->conf, -1, -1,
                                  &members) != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    n = ngx_adm_follow_history(&call->event, points);

    size = sizeof("{\"eventId\":\"\",\"step\":,\"points\":[]}")
           + call->event.len + members.len + NGX_INT64_LEN
           + n * NGX_ADM_FOLLOW_ROW;

    body.data = ngx_pnalloc(r->pool, size);
    if (body.data == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    last = body.data + size;

    body.len = ngx_adm_put(body.data, last,
                           "{\"eventId\":\"%V\"%V,\"step\":%ui,\"points\":[",
                           &call->event, &members,
                           (ngx_uint_t) NGX_ADM_FOLLOW_POINT)
               - body.data;

    for (i = 0; i < n; i++) {

        if (i) {
            body.data[body.len++] = ',';
        }

        body.len = ngx_adm_follow_row(body.data + body.len, last, &points[i])
                   - body.data;
    }

    body.len = ngx_adm_put(body.data + body.len, last, "]}") - body.data;

    return ngx_adm_respond_json(r, NGX_HTTP_OK, &body);
}


/* when it began, s; null: not known, or no limit */

static u_char *
ngx_adm_follow_row(u_char *p, u_char *last, ngx_adm_follow_point_t *point)
{
    uint32_t     now;
    ngx_uint_t   i;
    const char  *why;

    int64_t  n[] = {
        0,
        point->latency == NGX_ADM_FOLLOW_NONE ? -1 : point->latency,
        point->errors == NGX_ADM_FOLLOW_NONE ? -1 : point->errors,
        point->requests,
        point->rate == NGX_ADM_FOLLOW_FREE ? -1 : (int64_t) point->rate,
        point->threshold == NGX_ADM_FOLLOW_FREE ? -1
                                                : (int64_t) point->threshold };

    now = ngx_current_msec / 1000 / NGX_ADM_FOLLOW_POINT;
    n[0] = ngx_time() - ngx_time() % NGX_ADM_FOLLOW_POINT
           - (int64_t) (now - point->number) * NGX_ADM_FOLLOW_POINT;

    for (i = 0; i < sizeof(n) / sizeof(n[0]); i++) {
        p = ngx_adm_put(p, last, "%s%N", i ? "," : "[", n[i]);
    }

    why = ngx_adm_follow_why(point->why);

    return ngx_adm_put(p, last, ",%s]", why ? why : "null");
}
