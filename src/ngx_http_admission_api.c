
/*
 * Copyright (C) 2026 the admission module authors
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_admission_api.h"
#include "ngx_http_admission_origin.h"
#include "ngx_http_admission_respond.h"
#include "ngx_http_admission_room.h"
#include "ngx_http_admission_text.h"


#define NGX_HTTP_ADMISSION_STATE_CHANGING                                     \
    (NGX_HTTP_POST|NGX_HTTP_PUT|NGX_HTTP_DELETE)

/* that a route has at most */
#define NGX_HTTP_ADMISSION_SEGMENTS  3


static ngx_int_t ngx_http_admission_api_call(
    ngx_http_admission_api_call_t *call);
static const ngx_http_admission_route_t *ngx_http_admission_api_route(
    ngx_http_admission_api_call_t *call,
    const ngx_http_admission_route_t *routes);
static ngx_uint_t ngx_http_admission_api_segments(ngx_str_t *uri,
    ngx_str_t *segments);
static ngx_uint_t ngx_http_admission_api_match(
    ngx_http_admission_api_call_t *call, const char *path,
    ngx_str_t *segments, ngx_uint_t n);
static ngx_int_t ngx_http_admission_api_event(
    ngx_http_admission_api_call_t *call);


ngx_int_t
ngx_http_admission_api_handler(ngx_http_request_t *r,
    const ngx_http_admission_route_t *routes)
{
    ngx_http_admission_api_call_t  *call;

    if (r != r->main) {
        ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
                      "admission: an API is called by a subrequest");
        return NGX_HTTP_FORBIDDEN;
    }

    call = ngx_pcalloc(r->pool, sizeof(ngx_http_admission_api_call_t));
    if (call == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    call->request = r;
    call->lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    call->ctx = ngx_http_admission_ctx_get(r);
    if (call->ctx == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    call->ctx->api = call;

    call->route = ngx_http_admission_api_route(call, routes);
    if (call->route == NULL) {
        return ngx_http_admission_respond_error(r, NGX_HTTP_NOT_FOUND,
                                                "NOT_FOUND", "No such call",
                                                NULL);
    }

    return ngx_http_admission_api_call(call);
}


static ngx_int_t
ngx_http_admission_api_call(ngx_http_admission_api_call_t *call)
{
    ngx_int_t            rc;
    ngx_http_request_t  *r;

    r = call->request;

    if (!(r->method & call->route->methods)) {
        if (ngx_http_admission_is_preflight(r)) {
            return ngx_http_admission_respond_preflight(r,
                                                        call->route->allow);
        }

        return ngx_http_admission_respond_method(r, call->route->allow);
    }

    if (ngx_strchr(call->route->path, '*')) {
        rc = ngx_http_admission_api_event(call);
        if (rc != NGX_DECLINED) {
            return rc;
        }
    }

    if ((r->method & NGX_HTTP_ADMISSION_STATE_CHANGING)
        && !ngx_http_admission_same_site(r))
    {
        return ngx_http_admission_respond_error(r, NGX_HTTP_FORBIDDEN,
                                                "CROSS_SITE",
                                                "Called from another site",
                                                NULL);
    }

    return call->route->handler(call);
}


static const ngx_http_admission_route_t *
ngx_http_admission_api_route(ngx_http_admission_api_call_t *call,
    const ngx_http_admission_route_t *routes)
{
    ngx_str_t                          segments[NGX_HTTP_ADMISSION_SEGMENTS];
    ngx_uint_t                         n;
    const ngx_http_admission_route_t  *route;

    n = ngx_http_admission_api_segments(&call->request->uri, segments);

    for (route = routes; route->path; route++) {
        if (ngx_http_admission_api_match(call, route->path, segments, n)) {
            return route;
        }
    }

    return NULL;
}


/*
 * Those at the end, the last first, since any prefix may stand before those of
 * a route; each is behind a slash.  Returns how many.
 */

static ngx_uint_t
ngx_http_admission_api_segments(ngx_str_t *uri, ngx_str_t *segments)
{
    u_char      *p, *last;
    ngx_uint_t   i, n;

    last = uri->data + uri->len;
    n = 0;

    for (p = memchr(uri->data, '/', uri->len);
         p;
         p = memchr(p, '/', last - p))
    {
        p++;

        for (i = ngx_min(n, NGX_HTTP_ADMISSION_SEGMENTS - 1); i; i--) {
            segments[i] = segments[i - 1];
        }

        segments[0].data = p;
        n++;
    }

    n = ngx_min(n, NGX_HTTP_ADMISSION_SEGMENTS);

    for (i = 0; i < n; i++) {
        segments[i].len = last - segments[i].data;
        last = segments[i].data - 1;
    }

    return n;
}


static ngx_uint_t
ngx_http_admission_api_match(ngx_http_admission_api_call_t *call,
    const char *path, ngx_str_t *segments, ngx_uint_t n)
{
    size_t       len;
    ngx_str_t    event, rest;
    ngx_uint_t   i;
    const char  *want, *end;

    ngx_str_null(&event);
    ngx_str_null(&rest);

    end = path + ngx_strlen(path);

    for (i = 0; i < n; i++) {

        for (want = end; want > path && want[-1] != '/'; want--) {
            /* void */
        }

        len = end - want;

        if (*want == '*') {
            rest = event;
            event = segments[i];

        } else if (segments[i].len != len
                   || ngx_memcmp(segments[i].data, want, len) != 0)
        {
            return 0;
        }

        if (want == path) {
            call->event = event;
            call->rest = rest;

            return 1;
        }

        end = want - 1;
    }

    return 0;
}


/* NGX_DECLINED: the call is about an event that there is */

static ngx_int_t
ngx_http_admission_api_event(ngx_http_admission_api_call_t *call)
{
    u_char                          *id;
    ngx_int_t                        rc;
    ngx_http_request_t              *r;
    ngx_http_admission_main_conf_t  *mcf;

    r = call->request;

    /* not in place: r->uri is for others to see as it came */

    id = ngx_pnalloc(r->pool, call->event.len + 1);
    if (id == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (ngx_http_admission_event_id(&call->event, id) != NGX_OK) {
        return ngx_http_admission_respond_error(r, NGX_HTTP_BAD_REQUEST,
                                                "INVALID_EVENT",
                                                "Not an event id", NULL);
    }

    call->event.data = id;

    mcf = ngx_http_get_module_main_conf(r, ngx_http_admission_module);

    rc = ngx_http_admission_room_event_conf(mcf, &call->event, &call->conf);

    if (rc == NGX_OK) {
        return NGX_DECLINED;
    }

    if (call->route->unlisted) {
        call->conf = &mcf->event_default;
        return NGX_DECLINED;
    }

    if (rc == NGX_AGAIN) {
        return ngx_http_admission_api_unavailable(r);
    }

    return ngx_http_admission_respond_error(r, NGX_HTTP_NOT_FOUND,
                                            "UNKNOWN_EVENT", "No such event",
                                            NULL);
}


ngx_int_t
ngx_http_admission_api_json(ngx_http_request_t *r, size_t size,
    const char *format, ...)
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
    body.len = ngx_http_admission_vput(body.data, body.data + size, format,
                                       args)
               - body.data;
    va_end(args);

    return ngx_http_admission_respond_json(r, NGX_HTTP_OK, &body);
}


ngx_msec_t
ngx_http_admission_api_deadline(ngx_http_admission_api_call_t *call)
{
    ngx_http_admission_main_conf_t  *mcf;

    mcf = ngx_http_get_module_main_conf(call->request,
                                        ngx_http_admission_module);

    return ngx_current_msec
           + (mcf->redis ? ngx_http_admission_redis_timeout(mcf->redis) : 0);
}


ngx_int_t
ngx_http_admission_api_unavailable(ngx_http_request_t *r)
{
    /* those who failed together are not to come again together */

    return ngx_http_admission_respond_unavailable(r, 1 + ngx_random() % 2);
}


ngx_int_t
ngx_http_admission_api_wait(ngx_http_admission_api_call_t *call,
    ngx_http_admission_redis_call_t *pending)
{
    ngx_int_t  rc;

    if (pending == NULL) {
        return ngx_http_admission_api_unavailable(call->request);
    }

    rc = ngx_http_admission_api_suspend(call);

    if (rc == NGX_DONE) {
        call->ctx->call = pending;

    } else {
        ngx_http_admission_redis_cancel(pending);
    }

    return rc;
}


ngx_int_t
ngx_http_admission_api_suspend(ngx_http_admission_api_call_t *call)
{
    if (ngx_http_admission_watch(call->request) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    call->request->main->count++;

    return NGX_DONE;
}


void
ngx_http_admission_api_resume(ngx_http_admission_api_call_t *call)
{
    ngx_connection_t    *c;
    ngx_http_request_t  *r;

    r = call->request;
    c = r->connection;

    /* it is complete: there is nothing left to be cancelled */

    call->ctx->call = NULL;
    call->ctx->assign = NULL;

    ngx_http_set_log_request(c->log, r);
}


void
ngx_http_admission_api_finish(ngx_http_admission_api_call_t *call,
    ngx_int_t rc)
{
    ngx_connection_t  *c;

    c = call->request->connection;

    ngx_http_finalize_request(call->request, rc);

    ngx_http_run_posted_requests(c);
}
