
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The content handler of admission_page.
 *
 * What somebody who waits is sent depends on the address, the configuration,
 * and whether there is such an event, and on nothing else: no cookie is read
 * or set, and the language is the script's business.  So caches may keep it,
 * under the whole address with its query.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../base/compat.h"
#include "../host/room_state.h"
#include "../http/api.h"
#include "../http/ctx.h"
#include "../http/deny.h"
#include "../http/origin.h"
#include "../http/respond.h"
#include "../http/return.h"
#include "../http/time_wait.h"
#include "admin.h"
#include "handler.h"
#include "nojs_queue.h"
#include "nojs_room.h"
#include "nojs_text.h"
#include "page.h"


static ngx_int_t ngx_adm_page_answer(ngx_http_request_t *r, ngx_str_t *values,
    ngx_str_t *target, ngx_uint_t named);
static ngx_int_t ngx_adm_page_event(ngx_http_request_t *r, ngx_str_t *event);
static ngx_uint_t ngx_adm_page_is_nojs(ngx_http_request_t *r);
static ngx_uint_t ngx_adm_page_is_shown(ngx_http_request_t *r);
static ngx_uint_t ngx_adm_page_is_error(ngx_http_request_t *r);
static ngx_uint_t ngx_adm_page_status(ngx_http_request_t *r);
static ngx_int_t ngx_adm_page_denied(ngx_http_request_t *r);
static ngx_int_t ngx_adm_page_return(ngx_http_request_t *r, ngx_str_t *target);
static ngx_int_t ngx_adm_page_nojs_uri(ngx_http_request_t *r, ngx_str_t *target,
    ngx_str_t *uri);


ngx_int_t
ngx_adm_page_handler(ngx_http_request_t *r)
{
    ngx_int_t            rc;
    ngx_str_t           *values, target;
    ngx_adm_loc_conf_t  *lcf;

    if (!(r->method & (NGX_HTTP_GET|NGX_HTTP_HEAD))) {

        if (!ngx_adm_page_is_error(r)) {
            return ngx_adm_respond_method(r, "GET, HEAD");
        }

        if (!ngx_adm_is_navigation(r)) {
            return ngx_adm_page_denied(r);
        }
    }

    rc = ngx_http_discard_request_body(r);
    if (rc != NGX_OK) {
        return rc;
    }

    if (ngx_adm_page_is_nojs(r) && ngx_adm_page_is_shown(r)) {
        rc = ngx_adm_time_wait_content(r, ngx_adm_page_handler);
        if (rc != NGX_DECLINED) {
            return rc;
        }
    }

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    if (lcf->page->which == NGX_ADM_PAGE_ADMIN) {
        return ngx_adm_page_of_operators(r);
    }

    values = ngx_pcalloc(r->pool, NGX_ADM_PAGE_VALUES * sizeof(ngx_str_t));
    if (values == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    rc = ngx_adm_page_event(r, &values[NGX_ADM_PAGE_EVENT]);

    if (rc == NGX_ERROR
        || ngx_adm_page_return(r, &target) != NGX_OK
        || ngx_adm_page_nojs_uri(r, &target, &values[NGX_ADM_PAGE_NOJS_URI])
           != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (ngx_adm_page_in_place(r)) {
        values[NGX_ADM_PAGE_RETURN] = target;
    }

    return ngx_adm_page_answer(r, values, &target, rc == NGX_OK);
}


/* target: where to go on to; named: the address has an event's id */

static ngx_int_t
ngx_adm_page_answer(ngx_http_request_t *r, ngx_str_t *values,
    ngx_str_t *target, ngx_uint_t named)
{
    ngx_int_t              rc;
    ngx_uint_t             status, store;
    ngx_adm_loc_conf_t    *lcf;
    ngx_adm_main_conf_t   *mcf;
    ngx_adm_event_conf_t  *conf;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);
    mcf = ngx_http_get_module_main_conf(r, ngx_http_admission_module);

    conf = NULL;
    status = NGX_HTTP_OK;
    store = !ngx_adm_page_is_error(r);

    if (ngx_adm_page_in_place(r)
        && !(r->method & (NGX_HTTP_GET|NGX_HTTP_HEAD)))
    {
        /* not 200, or a form would look as if it had been taken */
        status = ngx_adm_page_status(r);
    }

    if (!named) {
        /* the page says so, by not having an event */
        status = NGX_HTTP_BAD_REQUEST;

    } else {
        rc = ngx_adm_room_event_conf(mcf, &values[NGX_ADM_PAGE_EVENT], &conf);

        if (rc == NGX_DECLINED) {
            /*
             * the event may have come into being since: the API tells the page
             */
            status = NGX_HTTP_NOT_FOUND;
            conf = NULL;

        } else {
            values[NGX_ADM_PAGE_TITLE] = conf->title;
            values[NGX_ADM_PAGE_ARTIST] = conf->artist;

            store = store && rc == NGX_OK;
        }
    }

    ngx_log_debug3(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "admission: page of event \"%V\": %ui, stored %ui",
                   &values[NGX_ADM_PAGE_EVENT], status, store);

    if (!ngx_adm_page_is_nojs(r)) {
        return ngx_adm_page_send(r, &lcf->page->doc, values, status,
                                 store && status == NGX_HTTP_OK);
    }

    if (!ngx_adm_page_is_shown(r)
        || (lcf->page->which == NGX_ADM_PAGE_TIER2 && conf == NULL))
    {
        /* in a cache it would keep browsers from being answered */

        return ngx_adm_page_send(r, &lcf->page->doc, values, status, 0);
    }

    if (lcf->page->which == NGX_ADM_PAGE_TIER2) {
        return ngx_adm_page_needs_script(r, conf, values, target);
    }

    if (conf) {
        return ngx_adm_page_without_script(r, conf, values, target);
    }

    ngx_adm_page_state(values, "unknown");

    return ngx_adm_page_send(r, &lcf->page->nojs, values, status, 0);
}


static ngx_uint_t
ngx_adm_page_is_nojs(ngx_http_request_t *r)
{
    ngx_str_t  value;

    return ngx_http_arg(r, (u_char *) "nojs", sizeof("nojs") - 1,
                        &value) == NGX_OK;
}


/* whether a browser shows it: not what it loads ahead, or for a page */

static ngx_uint_t
ngx_adm_page_is_shown(ngx_http_request_t *r)
{
    return r == r->main
           && r->method == NGX_HTTP_GET
           && ngx_adm_is_navigation(r)
           && !ngx_adm_is_prefetch(r);
}


/* the last segment of the path; NGX_DECLINED: that is no event's id */

static ngx_int_t
ngx_adm_page_event(ngx_http_request_t *r, ngx_str_t *event)
{
    u_char     *p, *last, *dst;
    ngx_str_t   id;

    last = r->uri.data + r->uri.len;

    for (p = last; p > r->uri.data && p[-1] != '/'; p--) { /* void */ }

    id.data = p;
    id.len = last - p;

    dst = ngx_pnalloc(r->pool, id.len + 1);
    if (dst == NULL) {
        return NGX_ERROR;
    }

    if (ngx_adm_event_id(&id, dst) != NGX_OK) {
        return NGX_DECLINED;
    }

    event->data = dst;
    event->len = id.len;

    return NGX_OK;
}


/* whether it is an error_page, whose request has the method that failed */

static ngx_uint_t
ngx_adm_page_is_error(ngx_http_request_t *r)
{
    return r->err_status || r->error_page || ngx_adm_page_in_place(r);
}


/* the status of the denial itself, where "error_page ... =" leaves it out */

static ngx_uint_t
ngx_adm_page_status(ngx_http_request_t *r)
{
    switch (ngx_adm_ctx(r)->verdict) {

    case NGX_ADM_VERDICT_USER:
        return NGX_HTTP_UNAUTHORIZED;

    case NGX_ADM_VERDICT_LIMITED:
        return NGX_HTTP_TOO_MANY_REQUESTS;

    case NGX_ADM_VERDICT_ERROR:
        return NGX_HTTP_SERVICE_UNAVAILABLE;

    default:
        return NGX_HTTP_FORBIDDEN;
    }
}


/* what a script is told instead of the page */

static ngx_int_t
ngx_adm_page_denied(ngx_http_request_t *r)
{
    ngx_int_t       retry;
    ngx_uint_t      status;
    ngx_adm_ctx_t  *ctx;

    ctx = ngx_adm_ctx(r);

    status = ngx_adm_page_in_place(r) ? ngx_adm_page_status(r) : r->err_status;

    ngx_log_debug1(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "admission: no page for a script, %ui", status);

    retry = 1;

    if (ctx && ctx->retry_after.len) {
        retry = ngx_atoi(ctx->retry_after.data, ctx->retry_after.len);
    }

    if (status == NGX_HTTP_TOO_MANY_REQUESTS) {
        return ngx_adm_respond_limited(r, ngx_max(retry, 1));
    }

    if (status == 0 || status == NGX_HTTP_SERVICE_UNAVAILABLE) {
        return ngx_adm_respond_unavailable(r, ngx_max(retry, 1));
    }

    if (status >= NGX_HTTP_INTERNAL_SERVER_ERROR) {
        return ngx_adm_respond_error(r, status, "UNAVAILABLE",
                                     "Temporarily unavailable", NULL);
    }

    if (!ngx_adm_page_in_place(r)) {
        return ngx_adm_respond_error(r, status, "FORBIDDEN", "Not allowed",
                                     NULL);
    }

    return ngx_adm_deny_script(r, ctx->verdict, ctx->reason,
                               &ctx->denied_event);
}


/*
 * Where to go on to; empty: nowhere is said, or nowhere safe.  If the page is
 * in place of something else the arguments are not the page's own, but for the
 * one with the module's own name.
 */

static ngx_int_t
ngx_adm_page_return(ngx_http_request_t *r, ngx_str_t *target)
{
    ngx_int_t  rc;

    rc = ngx_adm_arg(r, NGX_ADM_RETURN, target);

    if (rc == NGX_DECLINED
        && (!ngx_adm_page_in_place(r) || ngx_adm_page_is_nojs(r)))
    {
        rc = ngx_adm_arg(r, "return", target);
    }

    if (rc == NGX_DECLINED && ngx_adm_page_in_place(r)) {
        rc = ngx_adm_return_wanted(r, 0, target);
    }

    if (rc == NGX_ERROR) {
        return NGX_ERROR;
    }

    if (!ngx_adm_return_is_safe(target)) {
        ngx_str_null(target);
    }

    return NGX_OK;
}


/*
 * Where a browser without JavaScript goes on to.  It can not take the query
 * along by itself, so a "return" in it is put in here; and if the page is in
 * place of something else, so is the address of that.
 */

static ngx_int_t
ngx_adm_page_nojs_uri(ngx_http_request_t *r, ngx_str_t *target, ngx_str_t *uri)
{
    u_char     *p;
    size_t      len;
    ngx_str_t   path, name;

    ngx_str_null(&path);
    ngx_str_set(&name, "return");

    if (ngx_adm_page_in_place(r)) {
        path = r->uri;
        ngx_str_set(&name, NGX_ADM_RETURN);
    }

    len = path.len + 2 * ngx_escape_uri(NULL, path.data, path.len,
                                        NGX_ESCAPE_URI)
          + sizeof("?nojs=1&=") - 1 + name.len + target->len
          + 2 * ngx_escape_uri(NULL, target->data, target->len,
                               NGX_ESCAPE_URI_COMPONENT);

    p = ngx_pnalloc(r->pool, len);
    if (p == NULL) {
        return NGX_ERROR;
    }

    uri->data = p;

    p = (u_char *) ngx_escape_uri(p, path.data, path.len, NGX_ESCAPE_URI);
    p = ngx_cpymem(p, "?nojs=1", sizeof("?nojs=1") - 1);

    if (target->len) {
        p = ngx_sprintf(p, "&%V=", &name);
        p = (u_char *) ngx_escape_uri(p, target->data, target->len,
                                      NGX_ESCAPE_URI_COMPONENT);
    }

    uri->len = p - uri->data;

    return NGX_OK;
}
