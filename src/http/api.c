
/*
 * Copyright (C) 2026 the admission module authors
 *
 * How a request of an API gets to the handler of its call, by the routes of
 * the location (routes.c).  Here is refused what is refused whoever asks, such
 * as a wrong method, or a page of another site.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../base/text.h"
#include "../host/line.h"
#include "../host/room_state.h"
#include "../host/touch.h"
#include "api.h"
#include "headers.h"
#include "origin.h"
#include "respond.h"
#include "sale.h"
#include "time_wait.h"


#define NGX_ADM_STATE_CHANGING                                                \
    (NGX_HTTP_POST|NGX_HTTP_PUT|NGX_HTTP_DELETE)


static ngx_uint_t ngx_adm_api_match(ngx_adm_api_call_t *call, const char *path);
static ngx_int_t ngx_adm_api_event(ngx_adm_api_call_t *call);


ngx_int_t
ngx_adm_api_handler(ngx_http_request_t *r)
{
    ngx_int_t               rc;
    ngx_adm_api_call_t     *call;
    const ngx_adm_route_t  *route;

    if (r != r->main) {
        ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
                      "admission: an API is called by a subrequest");
        return NGX_HTTP_FORBIDDEN;
    }

    call = ngx_pcalloc(r->pool, sizeof(ngx_adm_api_call_t));
    if (call == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    call->request = r;
    call->lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    call->ctx = ngx_adm_ctx_get(r);
    if (call->ctx == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    call->ctx->api = call;

    for (route = call->lcf->routes; route->path; route++) {
        if (ngx_adm_api_match(call, route->path)) {
            break;
        }
    }

    if (route->path == NULL) {
        return ngx_adm_respond_error(r, NGX_HTTP_NOT_FOUND, "NOT_FOUND",
                                     "No such call", NULL);
    }

    ngx_log_debug2(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "admission: call \"%s\", event \"%V\"",
                   route->path, &call->event);

    call->route = route;

    if (!(r->method & route->methods)) {
        return (r->method == NGX_HTTP_OPTIONS && ngx_adm_is_preflight(r))
               ? ngx_adm_respond_preflight(r, route->allow)
               : ngx_adm_respond_method(r, route->allow);
    }

    if (call->event.data) {
        rc = ngx_adm_api_event(call);
        if (rc != NGX_DECLINED) {
            return rc;
        }
    }

    if ((r->method & NGX_ADM_STATE_CHANGING) && !ngx_adm_same_site(r)) {
        return ngx_adm_respond_error(r, NGX_HTTP_FORBIDDEN, "CROSS_SITE",
                                     "Called from another site", NULL);
    }

    if (!ngx_adm_time_is_known()
        && call->event.data
        && (call->rest.len || ngx_adm_time_matters(r, call->conf)))
    {
        rc = ngx_adm_time_wait_content(r, ngx_adm_api_handler);
        if (rc != NGX_DECLINED) {
            return rc;
        }

        /* the request waited as long as it may: any answer might be wrong */

        if (ngx_adm_time_is_missed(call->ctx) && !route->unlisted) {
            return ngx_adm_api_unavailable(r);
        }
    }

    return route->handler(call);
}


/*
 * Whether the path ends with the segments of a route, of which a "*" is any.
 * They are compared from the last on, since any prefix may stand before them.
 */

static ngx_uint_t
ngx_adm_api_match(ngx_adm_api_call_t *call, const char *path)
{
    u_char      *p, *first;
    ngx_str_t    event, rest;
    const char  *want;

    ngx_str_null(&event);
    ngx_str_null(&rest);

    first = call->request->uri.data;
    p = first + call->request->uri.len;

    for (want = path + ngx_strlen(path); want > path; /* void */ ) {

        if (*--want != '*') {

            if (p == first || *--p != *want) {
                return 0;
            }

            continue;
        }

        rest = event;
        event.len = 0;

        while (p > first && p[-1] != '/') {
            p--;
            event.len++;
        }

        event.data = p;
    }

    if (p == first || p[-1] != '/') {
        return 0;
    }

    call->event = event;
    call->rest = rest;

    return 1;
}


/* NGX_DECLINED: the call's event is set, and there is such an event */

static ngx_int_t
ngx_adm_api_event(ngx_adm_api_call_t *call)
{
    u_char               *id;
    ngx_int_t             rc;
    ngx_http_request_t   *r;
    ngx_adm_main_conf_t  *mcf;

    r = call->request;

    /* not folded in place: others are to see r->uri as it came */

    id = ngx_pnalloc(r->pool, call->event.len + 1);
    if (id == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (ngx_adm_event_id(&call->event, id) != NGX_OK) {
        return ngx_adm_respond_error(r, NGX_HTTP_BAD_REQUEST, "INVALID_EVENT",
                                     "Not an event id", NULL);
    }

    call->event.data = id;

    mcf = ngx_http_get_module_main_conf(r, ngx_http_admission_module);

    rc = ngx_adm_room_event_conf(mcf, &call->event, &call->conf);

    if (rc == NGX_OK) {
        return NGX_DECLINED;
    }

    if (call->route->unlisted) {
        call->conf = &mcf->event_default;
        return NGX_DECLINED;
    }

    if (rc == NGX_AGAIN) {
        return ngx_adm_api_unavailable(r);
    }

    return ngx_adm_respond_error(r, NGX_HTTP_NOT_FOUND, "UNKNOWN_EVENT",
                                 "No such event", NULL);
}


ngx_int_t
ngx_adm_api_json(ngx_http_request_t *r, size_t size, const char *format, ...)
{
    va_list      args;
    ngx_str_t    body;
    const char  *p;

    size += ngx_strlen(format);

    for (p = strchr(format, '%'); p; p = strchr(p + 1, '%')) {
        size += NGX_INT64_LEN;
    }

    body.data = ngx_pnalloc(r->pool, size);
    if (body.data == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    va_start(args, format);
    body.len = ngx_adm_vput(body.data, body.data + size, format,
                            args) - body.data;
    va_end(args);

    return ngx_adm_respond_json(r, NGX_HTTP_OK, &body);
}


ngx_int_t
ngx_adm_arg(ngx_http_request_t *r, const char *name, ngx_str_t *value)
{
    u_char     *src, *dst;
    ngx_str_t   arg;

    ngx_str_null(value);

    if (ngx_http_arg(r, (u_char *) name, ngx_strlen(name), &arg) != NGX_OK) {
        return NGX_DECLINED;
    }

    value->data = ngx_pnalloc(r->pool, arg.len + 1);
    if (value->data == NULL) {
        return NGX_ERROR;
    }

    src = arg.data;
    dst = value->data;

    ngx_unescape_uri(&dst, &src, arg.len, 0);

    value->len = dst - value->data;

    return NGX_OK;
}


ngx_int_t
ngx_adm_arg_number(ngx_http_request_t *r, const char *name, ngx_int_t max)
{
    ngx_int_t  n;
    ngx_str_t  value;

    if (ngx_http_arg(r, (u_char *) name, ngx_strlen(name), &value) != NGX_OK) {
        return NGX_DECLINED;
    }

    n = ngx_atoi(value.data, value.len);

    return (n == NGX_ERROR || n > max) ? NGX_ERROR : n;
}


ngx_uint_t
ngx_adm_arg_flag(ngx_http_request_t *r, const char *name)
{
    ngx_str_t  value;

    return ngx_http_arg(r, (u_char *) name, ngx_strlen(name), &value) == NGX_OK
           && value.len == 1 && value.data[0] == '1';
}


ngx_uint_t
ngx_adm_is_beacon(ngx_http_request_t *r)
{
    ngx_table_elt_t  *h;

    h = ngx_adm_header(r, "sec-fetch-mode");

    return (h && ngx_adm_str_is(&h->value, "no-cors"))
           || ngx_adm_arg_flag(r, "beacon");
}


ngx_msec_t
ngx_adm_api_deadline(ngx_adm_api_call_t *call)
{
    ngx_adm_main_conf_t  *mcf;

    mcf = ngx_http_get_module_main_conf(call->request,
                                        ngx_http_admission_module);

    return ngx_current_msec + (mcf->redis ? mcf->redis->timeout : 0);
}


ngx_int_t
ngx_adm_api_unavailable(ngx_http_request_t *r)
{
    /* those who failed together are not to come again together */

    return ngx_adm_respond_unavailable(r, 1 + ngx_random() % 2);
}


ngx_int_t
ngx_adm_api_sold_out(ngx_adm_api_call_t *call, ngx_adm_tier_e tier)
{
    ngx_str_t       notice;
    ngx_adm_sale_t  sale;

    (void) ngx_adm_sale_get(&call->event, call->conf, &sale);

    if (ngx_adm_told_member(call->request, &call->event, &sale, &notice)
        != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (notice.len) {

        /* without the comma before it */

        notice.data++;
        notice.len--;
    }

    ngx_adm_count(NGX_ADM_COUNT_SOLD_OUT + tier);

    return ngx_adm_respond_error(call->request, NGX_HTTP_CONFLICT, "SOLD_OUT",
                                 "Sold out", notice.len ? &notice : NULL);
}


ngx_int_t
ngx_adm_api_full(ngx_adm_api_call_t *call, ngx_uint_t full)
{
    ngx_str_t            more, notice;
    ngx_adm_sale_t       sale;
    ngx_http_request_t  *r;

    r = call->request;

    ngx_log_debug2(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "admission: event \"%V\" takes no more: %ui",
                   &call->event, full);

    if (full == NGX_ADM_LINE_BEFORE || full == NGX_ADM_LINE_CLOSED) {
        return ngx_adm_sale_refuse(r, &call->event, call->conf,
                                   full == NGX_ADM_LINE_CLOSED, NULL);
    }

    (void) ngx_adm_sale_get(&call->event, call->conf, &sale);

    if (ngx_adm_retry_after(r, NGX_ADM_LINE_RETRY) != NGX_OK
        || ngx_adm_told_member(r, &call->event, &sale, &notice) != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    more.data = ngx_pnalloc(r->pool, sizeof("\"retryAfter\":") - 1
                                     + NGX_INT_T_LEN + notice.len);
    if (more.data == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    more.len = ngx_sprintf(more.data, "\"retryAfter\":%d%V",
                           NGX_ADM_LINE_RETRY, &notice) - more.data;

    if (full == NGX_ADM_LINE_LONG) {
        return ngx_adm_respond_error(r, NGX_HTTP_SERVICE_UNAVAILABLE,
                                     "WAIT_TOO_LONG", "The wait is too long",
                                     &more);
    }

    return ngx_adm_respond_error(r, NGX_HTTP_SERVICE_UNAVAILABLE, "QUEUE_FULL",
                                 "The line is full", &more);
}


ngx_int_t
ngx_adm_api_wait(ngx_adm_api_call_t *call, ngx_adm_redis_call_t *pending)
{
    if (pending == NULL) {
        return ngx_adm_api_unavailable(call->request);
    }

    return ngx_adm_wait_content(call->request, ngx_adm_redis_cancel, pending);
}
