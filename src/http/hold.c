
/*
 * Copyright (C) 2026 the admission module authors
 *
 * People who are held stay where they are: the address is kept, so that what
 * they wanted is there when they are let go.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../base/text.h"
#include "ctx.h"
#include "deny.h"
#include "hold.h"
#include "notice.h"
#include "respond.h"


#define NGX_ADM_HOLD_AGAIN   10          /* s, and up to as many more: not all
                                            come back in the same second */

#define NGX_ADM_HOLD_POLICY                                                   \
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; "        \
    "form-action 'none'; frame-ancestors 'self'"


static ngx_int_t ngx_adm_hold_json(ngx_http_request_t *r, ngx_str_t *event,
    ngx_uint_t seconds);
static ngx_int_t ngx_adm_hold_page(ngx_http_request_t *r, ngx_str_t *event,
    ngx_uint_t seconds);
static ngx_int_t ngx_adm_hold_escape(ngx_pool_t *pool, ngx_str_t *text,
    ngx_str_t *html);


ngx_int_t
ngx_adm_hold_refuse(ngx_http_request_t *r, ngx_str_t *event)
{
    ngx_uint_t           seconds;
    ngx_adm_loc_conf_t  *lcf;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    seconds = NGX_ADM_HOLD_AGAIN + ngx_random() % (NGX_ADM_HOLD_AGAIN + 1);

    if (ngx_adm_retry_after(r, seconds) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (lcf->deny == NGX_ADM_DENY_STATUS) {
        return NGX_HTTP_SERVICE_UNAVAILABLE;
    }

    if (lcf->deny == NGX_ADM_DENY_REDIRECT
        || (lcf->deny == NGX_ADM_DENY_AUTO && ngx_adm_is_navigation(r)))
    {
        return ngx_adm_hold_page(r, event, seconds);
    }

    return ngx_adm_hold_json(r, event, seconds);
}


static ngx_int_t
ngx_adm_hold_json(ngx_http_request_t *r, ngx_str_t *event, ngx_uint_t seconds)
{
    size_t     size;
    ngx_str_t  notice, more;

    if (ngx_adm_notice_member(r, event, &notice) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    size = sizeof("\"retryAfter\":") - 1 + NGX_INT64_LEN + notice.len;

    more.data = ngx_pnalloc(r->pool, size);
    if (more.data == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    more.len = ngx_adm_put(more.data, more.data + size,
                           "\"retryAfter\":%ui%V", seconds, &notice)
               - more.data;

    return ngx_adm_respond_error(r, NGX_HTTP_SERVICE_UNAVAILABLE, "ON_HOLD",
                                 "Closed for maintenance, your place is kept",
                                 &more);
}


static ngx_int_t
ngx_adm_hold_page(ngx_http_request_t *r, ngx_str_t *event, ngx_uint_t seconds)
{
    size_t             size;
    ngx_str_t          body, ko, en;
    ngx_uint_t         lang;
    ngx_adm_ctx_t     *ctx;
    ngx_adm_notice_t   notice;

    static ngx_str_t  policy = ngx_string(NGX_ADM_HOLD_POLICY);

    static const char  head[] =
        "<!DOCTYPE html>\n"
        "<html lang=\"%s\"><head><meta charset=\"utf-8\">"
        "<meta name=\"viewport\" content=\"width=device-width\">"
        "<meta name=\"robots\" content=\"noindex\">"
        "<meta http-equiv=\"refresh\" content=\"%ui\">"
        "<title>%s</title>"
        "<style>body{max-width:32rem;margin:20vh auto;padding:0 1rem;"
        "font:1.1rem/1.6 system-ui,sans-serif;color-scheme:light dark}"
        "</style></head><body><main>";

    static const char  korean[] =
        "<p lang=\"ko\">잠시 점검 중입니다. "
        "자리는 그대로 유지되며, "
        "이 페이지는 자동으로 다시 시도합니다.</p>";

    static const char  english[] =
        "<p lang=\"en\">Closed for maintenance for a moment. Your place is "
        "kept, and this page tries again by itself.</p>";

    ctx = ngx_adm_ctx(r);
    lang = ngx_adm_notice_lang(r);

    ngx_str_null(&ko);
    ngx_str_null(&en);

    if (ngx_adm_notice_get(event, &notice) == NGX_OK
        && (ngx_adm_hold_escape(r->pool, &notice.ko, &ko) != NGX_OK
            || ngx_adm_hold_escape(r->pool, &notice.en, &en) != NGX_OK))
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    size = sizeof(head) + sizeof(korean) + sizeof(english) + NGX_INT64_LEN
           + sizeof("<p lang=\"ko\"><b></b></p>") * 2 + ko.len + en.len
           + sizeof("</main></body></html>\n") + 64;

    body.data = ngx_pnalloc(r->pool, size);
    if (body.data == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    body.len = ngx_slprintf(body.data, body.data + size, head,
                            lang == NGX_ADM_LANG_EN ? "en" : "ko", seconds,
                            lang == NGX_ADM_LANG_EN ? "Maintenance"
                                                    : "점검 중")
               - body.data;

#define ngx_adm_hold_add(...)                                                 \
    body.len = ngx_slprintf(body.data + body.len, body.data + size,           \
                            __VA_ARGS__) - body.data

    if (ko.len && (lang != NGX_ADM_LANG_EN || en.len == 0)) {
        ngx_adm_hold_add("<p lang=\"ko\"><b>%V</b></p>", &ko);

    } else if (en.len) {
        ngx_adm_hold_add("<p lang=\"en\"><b>%V</b></p>", &en);
    }

    if (lang != NGX_ADM_LANG_EN) {
        ngx_adm_hold_add("%s", korean);
    }

    if (lang != NGX_ADM_LANG_KO) {
        ngx_adm_hold_add("%s", english);
    }

    ngx_adm_hold_add("</main></body></html>\n");

    if (ctx) {
        ctx->policy = &policy;
    }

    return ngx_adm_respond_page(r, NGX_HTTP_SERVICE_UNAVAILABLE, &body);
}


static ngx_int_t
ngx_adm_hold_escape(ngx_pool_t *pool, ngx_str_t *text, ngx_str_t *html)
{
    html->len = text->len + ngx_escape_html(NULL, text->data, text->len);

    html->data = ngx_pnalloc(pool, html->len + 1);
    if (html->data == NULL) {
        return NGX_ERROR;
    }

    ngx_escape_html(html->data, text->data, text->len);

    return NGX_OK;
}
