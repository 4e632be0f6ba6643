
/*
 * Copyright (C) 2026 the admission module authors
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_admission_deny.h"
#include "ngx_http_admission_reason.h"
#include "ngx_http_admission_respond.h"
#include "ngx_http_admission_return.h"
#include "ngx_http_admission_token.h"


static ngx_int_t ngx_http_admission_deny_unavailable(ngx_http_request_t *r);
static ngx_uint_t ngx_http_admission_deny_redirects(ngx_http_request_t *r,
    ngx_str_t *target);
static ngx_int_t ngx_http_admission_deny_redirect(ngx_http_request_t *r,
    ngx_str_t *target);
static ngx_int_t ngx_http_admission_deny_json(ngx_http_request_t *r,
    ngx_http_admission_verdict_e verdict, ngx_str_t *target);
static ngx_int_t ngx_http_admission_deny_error(ngx_http_request_t *r,
    ngx_uint_t status, const char *code, const char *text, ngx_str_t *target);
static ngx_int_t ngx_http_admission_deny_target(ngx_http_request_t *r,
    ngx_http_admission_verdict_e verdict, ngx_str_t *event,
    ngx_str_t *target);
static ngx_int_t ngx_http_admission_deny_uri(ngx_http_request_t *r,
    ngx_http_complex_value_t *value, ngx_str_t *uri);


ngx_int_t
ngx_http_admission_deny(ngx_http_request_t *r,
    ngx_http_admission_verdict_e verdict, const char *reason, ngx_str_t *event)
{
    ngx_str_t                       target;
    ngx_http_admission_loc_conf_t  *lcf;

    if (verdict == NGX_HTTP_ADMISSION_VERDICT_ERROR) {
        return ngx_http_admission_deny_unavailable(r);
    }

    /*
     * never by a bare status: the error_page for 404 of many a site is its
     * application ("error_page 404 = @app"), which the gate is there for
     */

    if (reason == ngx_http_admission_reason(BAD_EVENT)) {
        return ngx_http_admission_respond_error(r, NGX_HTTP_NOT_FOUND,
                                                "INVALID_EVENT",
                                                "Not an event id", NULL);
    }

    if (reason == ngx_http_admission_reason(UNKNOWN_EVENT)) {
        return ngx_http_admission_respond_error(r, NGX_HTTP_NOT_FOUND,
                                                "UNKNOWN_EVENT",
                                                "No such event", NULL);
    }

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    if (lcf->deny != NGX_HTTP_ADMISSION_DENY_STATUS) {

        if (ngx_http_admission_deny_target(r, verdict, event, &target)
            != NGX_OK)
        {
            return NGX_HTTP_INTERNAL_SERVER_ERROR;
        }

        if (ngx_http_admission_deny_redirects(r, &target)) {
            return ngx_http_admission_deny_redirect(r, &target);
        }
    }

    if (lcf->deny == NGX_HTTP_ADMISSION_DENY_STATUS) {

        if (verdict != NGX_HTTP_ADMISSION_VERDICT_USER) {
            return NGX_HTTP_FORBIDDEN;
        }

        return ngx_http_admission_challenge(r) == NGX_OK
               ? NGX_HTTP_UNAUTHORIZED : NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return ngx_http_admission_deny_json(r, verdict, &target);
}


static ngx_int_t
ngx_http_admission_deny_unavailable(ngx_http_request_t *r)
{
    ngx_uint_t                      seconds;
    ngx_http_admission_loc_conf_t  *lcf;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    /* spread, so that not all come back in the same second */

    seconds = 1 + ngx_random() % 2;

    if (lcf->deny != NGX_HTTP_ADMISSION_DENY_STATUS) {
        return ngx_http_admission_respond_unavailable(r, seconds);
    }

    if (ngx_http_admission_retry_after(r, seconds) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return NGX_HTTP_SERVICE_UNAVAILABLE;
}


static ngx_uint_t
ngx_http_admission_deny_redirects(ngx_http_request_t *r, ngx_str_t *target)
{
    size_t                          len;
    u_char                          ch;
    ngx_http_admission_loc_conf_t  *lcf;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    if (target->len == 0
        || lcf->deny == NGX_HTTP_ADMISSION_DENY_JSON
        || (lcf->deny == NGX_HTTP_ADMISSION_DENY_AUTO
            && !ngx_http_admission_is_navigation(r)))
    {
        return 0;
    }

    /* a gated page that denials lead to would lead to itself for ever */

    for (len = 0; len < target->len; len++) {

        ch = target->data[len];

        if (ch == '?' || ch == '#') {
            break;
        }
    }

    if (r->unparsed_uri.len < len
        || ngx_strncmp(r->unparsed_uri.data, target->data, len) != 0)
    {
        return 1;
    }

    return r->unparsed_uri.len > len && r->unparsed_uri.data[len] != '?';
}


static ngx_int_t
ngx_http_admission_deny_redirect(ngx_http_request_t *r, ngx_str_t *target)
{
    ngx_str_t   location;
    ngx_uint_t  status;

    if (ngx_http_admission_return_add(r, target, &location) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    /* 303 has the browser come with GET, whatever was denied */

    status = (r->method & (NGX_HTTP_GET|NGX_HTTP_HEAD))
             ? NGX_HTTP_MOVED_TEMPORARILY : NGX_HTTP_SEE_OTHER;

    return ngx_http_admission_respond_redirect(r, status, &location);
}


static ngx_int_t
ngx_http_admission_deny_json(ngx_http_request_t *r,
    ngx_http_admission_verdict_e verdict, ngx_str_t *target)
{
    switch (verdict) {

    case NGX_HTTP_ADMISSION_VERDICT_USER:
        return ngx_http_admission_deny_error(r, NGX_HTTP_UNAUTHORIZED,
                                             "USER_REQUIRED", "User required",
                                             target);

    case NGX_HTTP_ADMISSION_VERDICT_TIER1:
        return ngx_http_admission_deny_error(r, NGX_HTTP_FORBIDDEN,
                                             "TIER1_REQUIRED",
                                             "Waiting room token required",
                                             target);

    default: /* NGX_HTTP_ADMISSION_VERDICT_TIER2 */
        return ngx_http_admission_deny_error(r, NGX_HTTP_FORBIDDEN,
                                             "TIER2_REQUIRED",
                                             "Queue entry token required",
                                             target);
    }
}


ngx_int_t
ngx_http_admission_deny_to_waiting(ngx_http_request_t *r, const char *code,
    const char *text, ngx_str_t *event)
{
    ngx_str_t  target;

    if (ngx_http_admission_deny_target(r, NGX_HTTP_ADMISSION_VERDICT_TIER1,
                                       event, &target)
        != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return ngx_http_admission_deny_error(r, NGX_HTTP_FORBIDDEN, code, text,
                                         &target);
}


static ngx_int_t
ngx_http_admission_deny_error(ngx_http_request_t *r, ngx_uint_t status,
    const char *code, const char *text, ngx_str_t *target)
{
    ngx_str_t  json, more;

    ngx_str_null(&more);

    if (target->len) {

        if (ngx_http_admission_json_string(r->pool, target, &json)
            != NGX_OK)
        {
            return NGX_HTTP_INTERNAL_SERVER_ERROR;
        }

        more.data = ngx_pnalloc(r->pool,
                                sizeof("\"redirectTo\":") - 1 + json.len);
        if (more.data == NULL) {
            return NGX_HTTP_INTERNAL_SERVER_ERROR;
        }

        more.len = ngx_sprintf(more.data, "\"redirectTo\":%V", &json)
                   - more.data;
    }

    return ngx_http_admission_respond_error(r, status, code, text, &more);
}


/* where a denial leads to; empty: nowhere */

static ngx_int_t
ngx_http_admission_deny_target(ngx_http_request_t *r,
    ngx_http_admission_verdict_e verdict, ngx_str_t *event, ngx_str_t *target)
{
    ngx_int_t                       rc;
    ngx_str_t                       page;
    ngx_http_complex_value_t       *uri;
    ngx_http_admission_loc_conf_t  *lcf;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    if (verdict == NGX_HTTP_ADMISSION_VERDICT_USER) {
        rc = ngx_http_admission_deny_uri(r, lcf->login_uri, target);

        if (rc == NGX_DECLINED) {
            ngx_str_null(target);
            rc = NGX_OK;
        }

        return rc;
    }

    if (event->len == 0) {
        /* there is no page to wait for nothing in particular */
        ngx_str_set(target, "/");
        return NGX_OK;
    }

    if (verdict == NGX_HTTP_ADMISSION_VERDICT_TIER1) {
        uri = lcf->waiting_uri;
        ngx_str_set(&page, "/vwr/");

    } else {
        uri = lcf->queue_uri;
        ngx_str_set(&page, "/queue/");
    }

    rc = ngx_http_admission_deny_uri(r, uri, target);

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


/* NGX_DECLINED: there is none, or its variables made it none */

static ngx_int_t
ngx_http_admission_deny_uri(ngx_http_request_t *r,
    ngx_http_complex_value_t *value, ngx_str_t *uri)
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

    /* a variable such as $uri is decoded: no line feed may get in a header */

    for (i = 0; i < uri->len; i++) {

        if (uri->data[i] <= 0x20 || uri->data[i] == 0x7f) {
            ngx_log_error(NGX_LOG_INFO, r->connection->log, 0,
                          "admission: space or control character "
                          "in the target of a denial");

            return NGX_DECLINED;
        }
    }

    if (ngx_http_admission_return_address(uri) != NGX_OK) {
        ngx_log_error(NGX_LOG_INFO, r->connection->log, 0,
                      "admission: the target of a denial is neither a path "
                      "nor an address with a scheme");

        return NGX_DECLINED;
    }

    return NGX_OK;
}


ngx_uint_t
ngx_http_admission_is_navigation(ngx_http_request_t *r)
{
    ngx_table_elt_t  *h;

    h = ngx_http_admission_header(r, "sec-fetch-mode");

    if (h) {
        return h->value.len == sizeof("navigate") - 1
               && ngx_strncmp(h->value.data, "navigate", h->value.len) == 0;
    }

    h = ngx_http_admission_header(r, "accept");

    return h
           && ngx_strlcasestrn(h->value.data, h->value.data + h->value.len,
                               (u_char *) "text/html",
                               sizeof("text/html") - 2)
              != NULL;
}
