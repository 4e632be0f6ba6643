
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Where a denial leads depends on what was missing; how it is told, on who
 * asks: a browser that shows a page is redirected, a script gets JSON.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../base/reason.h"
#include "../base/text.h"
#include "deny.h"
#include "headers.h"
#include "hold.h"
#include "respond.h"
#include "return.h"
#include "sale.h"


static ngx_int_t ngx_adm_deny_unavailable(ngx_http_request_t *r);
static ngx_uint_t ngx_adm_deny_redirects(ngx_http_request_t *r,
    ngx_str_t *target);
static ngx_uint_t ngx_adm_deny_is_here(ngx_http_request_t *r,
    ngx_str_t *target);
static ngx_int_t ngx_adm_deny_redirect(ngx_http_request_t *r, ngx_str_t *event,
    ngx_str_t *target);
static ngx_int_t ngx_adm_deny_json(ngx_http_request_t *r,
    ngx_adm_verdict_e verdict, const char *reason, ngx_str_t *event,
    ngx_str_t *target);
static ngx_int_t ngx_adm_deny_target(ngx_http_request_t *r,
    ngx_adm_verdict_e verdict, ngx_str_t *event, ngx_str_t *target);
static ngx_int_t ngx_adm_deny_uri(ngx_http_request_t *r,
    ngx_http_complex_value_t *value, ngx_str_t *uri);


ngx_int_t
ngx_adm_deny(ngx_http_request_t *r, ngx_adm_verdict_e verdict,
    const char *reason, ngx_str_t *event)
{
    ngx_str_t            target;
    ngx_adm_loc_conf_t  *lcf;

    if (verdict == NGX_ADM_VERDICT_ERROR) {
        return ngx_adm_deny_unavailable(r);
    }

    /*
     * never by a bare status: on many sites the error_page for 404 is the
     * application itself ("error_page 404 = @app"), which the gate is there to
     * protect
     */

    if (reason == ngx_adm_reason(BAD_EVENT)) {
        return ngx_adm_respond_error(r, NGX_HTTP_NOT_FOUND, "INVALID_EVENT",
                                     "Not an event id", NULL);
    }

    if (reason == ngx_adm_reason(UNKNOWN_EVENT)) {
        return ngx_adm_respond_error(r, NGX_HTTP_NOT_FOUND, "UNKNOWN_EVENT",
                                     "No such event", NULL);
    }

    if (reason == ngx_adm_reason(HELD)) {
        return ngx_adm_hold_refuse(r, event);
    }

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    if (lcf->deny == NGX_ADM_DENY_STATUS) {

        if (verdict != NGX_ADM_VERDICT_USER) {
            return NGX_HTTP_FORBIDDEN;
        }

        return ngx_adm_challenge(r) == NGX_OK
               ? NGX_HTTP_UNAUTHORIZED : NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (ngx_adm_deny_target(r, verdict, event, &target) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return ngx_adm_deny_redirects(r, &target)
           ? ngx_adm_deny_redirect(r, event, &target)
           : ngx_adm_deny_json(r, verdict, reason, event, &target);
}


ngx_int_t
ngx_adm_deny_script(ngx_http_request_t *r, ngx_adm_verdict_e verdict,
    const char *reason, ngx_str_t *event)
{
    ngx_str_t  target;

    if (ngx_adm_deny_target(r, verdict, event, &target) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return ngx_adm_deny_json(r, verdict, reason, event, &target);
}


static ngx_int_t
ngx_adm_deny_unavailable(ngx_http_request_t *r)
{
    ngx_uint_t           seconds;
    ngx_adm_loc_conf_t  *lcf;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    /* spread, so that not all come back in the same second */

    seconds = 1 + ngx_random() % 2;

    if (lcf->deny != NGX_ADM_DENY_STATUS) {
        return ngx_adm_respond_unavailable(r, seconds);
    }

    if (ngx_adm_retry_after(r, seconds) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return NGX_HTTP_SERVICE_UNAVAILABLE;
}


static ngx_uint_t
ngx_adm_deny_redirects(ngx_http_request_t *r, ngx_str_t *target)
{
    ngx_adm_loc_conf_t  *lcf;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    if (target->len == 0
        || lcf->deny == NGX_ADM_DENY_JSON
        || (lcf->deny == NGX_ADM_DENY_AUTO && !ngx_adm_is_navigation(r)))
    {
        return 0;
    }

    /* to a page that is gated itself a denial would lead for ever */

    return !ngx_adm_deny_is_here(r, target);
}


/* whether the target is the client's own address, whatever their queries */

static ngx_uint_t
ngx_adm_deny_is_here(ngx_http_request_t *r, ngx_str_t *target)
{
    size_t  len;

    for (len = 0; len < target->len; len++) {
        if (target->data[len] == '?' || target->data[len] == '#') {
            break;
        }
    }

    if (r->unparsed_uri.len < len
        || ngx_strncmp(r->unparsed_uri.data, target->data, len) != 0)
    {
        return 0;
    }

    return r->unparsed_uri.len == len || r->unparsed_uri.data[len] == '?';
}


static ngx_int_t
ngx_adm_deny_redirect(ngx_http_request_t *r, ngx_str_t *event,
    ngx_str_t *target)
{
    ngx_str_t   waiting, queue, location;
    ngx_uint_t  status, ours;

    if (ngx_adm_deny_target(r, NGX_ADM_VERDICT_TIER1, event, &waiting) != NGX_OK
        || ngx_adm_deny_target(r, NGX_ADM_VERDICT_TIER2, event, &queue)
           != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    /* where the gated page would lead to is what is wanted */

    ours = event->len && (ngx_adm_deny_is_here(r, &waiting)
                          || ngx_adm_deny_is_here(r, &queue));

    if (ngx_adm_return_add(r, target, ours, &location) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    /* 303 has the browser come with GET, whatever was denied */

    status = (r->method & (NGX_HTTP_GET|NGX_HTTP_HEAD))
             ? NGX_HTTP_MOVED_TEMPORARILY : NGX_HTTP_SEE_OTHER;

    return ngx_adm_respond_redirect(r, status, &location);
}


static ngx_int_t
ngx_adm_deny_json(ngx_http_request_t *r, ngx_adm_verdict_e verdict,
    const char *reason, ngx_str_t *event, ngx_str_t *target)
{
    if (reason == ngx_adm_reason(NOT_OPEN)) {
        return ngx_adm_sale_refuse(r, event, NULL, 0, target);
    }

    switch (verdict) {

    case NGX_ADM_VERDICT_USER:
        return ngx_adm_respond_sending(r, NGX_HTTP_UNAUTHORIZED,
                                       "USER_REQUIRED",
                                       "User required", target);

    case NGX_ADM_VERDICT_TIER1:
        return ngx_adm_respond_sending(r, NGX_HTTP_FORBIDDEN, "TIER1_REQUIRED",
                                       "Waiting room token required", target);

    default: /* NGX_ADM_VERDICT_TIER2 */
        return ngx_adm_respond_sending(r, NGX_HTTP_FORBIDDEN,
                                       "TIER2_REQUIRED",
                                       "Queue entry token required",
                                       target);
    }
}


ngx_int_t
ngx_adm_deny_to_waiting(ngx_http_request_t *r, const char *code,
    const char *text, ngx_str_t *event)
{
    ngx_str_t  target;

    if (ngx_adm_deny_target(r, NGX_ADM_VERDICT_TIER1, event, &target) != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return ngx_adm_respond_sending(r, NGX_HTTP_FORBIDDEN, code, text, &target);
}


/* where a denial leads; empty: nowhere */

static ngx_int_t
ngx_adm_deny_target(ngx_http_request_t *r, ngx_adm_verdict_e verdict,
    ngx_str_t *event, ngx_str_t *target)
{
    ngx_int_t                  rc;
    ngx_str_t                  page;
    ngx_http_complex_value_t  *uri;
    ngx_adm_loc_conf_t        *lcf;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    if (verdict == NGX_ADM_VERDICT_USER) {
        rc = ngx_adm_deny_uri(r, lcf->login_uri, target);

        if (rc == NGX_DECLINED) {
            ngx_str_null(target);
            rc = NGX_OK;
        }

        return rc;
    }

    if (event->len == 0) {
        /* without an event there is no page to wait on */
        ngx_str_set(target, "/");
        return NGX_OK;
    }

    if (verdict == NGX_ADM_VERDICT_TIER1) {
        uri = lcf->waiting_uri;
        ngx_str_set(&page, "/vwr/");

    } else {
        uri = lcf->queue_uri;
        ngx_str_set(&page, "/queue/");
    }

    rc = ngx_adm_deny_uri(r, uri, target);

    if (rc != NGX_DECLINED) {
        return rc;
    }

    /* an event id has no character to escape */

    target->len = page.len + event->len;

    target->data = ngx_pnalloc(r->pool, target->len);
    if (target->data == NULL) {
        return NGX_ERROR;
    }

    ngx_sprintf(target->data, "%V%V", &page, event);

    return NGX_OK;
}


/* NGX_DECLINED: not configured, or empty by its variables */

static ngx_int_t
ngx_adm_deny_uri(ngx_http_request_t *r, ngx_http_complex_value_t *value,
    ngx_str_t *uri)
{
    size_t  i;

    if (value == NULL) {
        return NGX_DECLINED;
    }

    if (ngx_http_complex_value(r, value, uri) != NGX_OK) {
        return NGX_ERROR;
    }

    if (uri->len == 0) {
        return NGX_DECLINED;
    }

    /* variables such as $uri are decoded: no line feed may get into a header */

    for (i = 0; i < uri->len; i++) {

        if (uri->data[i] <= 0x20 || uri->data[i] == 0x7f) {
            ngx_log_error(NGX_LOG_INFO, r->connection->log, 0,
                          "admission: space or control character "
                          "in the target of a denial");

            return NGX_DECLINED;
        }
    }

    if (ngx_adm_return_address(uri) != NGX_OK) {
        ngx_log_error(NGX_LOG_INFO, r->connection->log, 0,
                      "admission: the target of a denial is neither a path "
                      "nor an address with a scheme");

        return NGX_DECLINED;
    }

    return NGX_OK;
}


/*
 * Browsers say so by Sec-Fetch-Mode; but a service worker that fetches the
 * request of a navigation sends it as "same-origin".  Where a browser does not
 * say what it fetches for, scripts are known by headers of their libraries.
 */

ngx_uint_t
ngx_adm_is_navigation(ngx_http_request_t *r)
{
    ngx_table_elt_t  *h;

    h = ngx_adm_header(r, "sec-fetch-mode");

    if (h && !ngx_adm_str_is(&h->value, "same-origin")) {
        return ngx_adm_str_is(&h->value, "navigate");
    }

    return ngx_adm_header_says(r, "accept", "text/html")
           && ngx_adm_header(r, "x-requested-with") == NULL
           && ngx_adm_header(r, "hx-request") == NULL
           && ngx_adm_header(r, "x-pjax") == NULL;
}
