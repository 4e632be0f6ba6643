
/*
 * Copyright (C) 2026 the admission module authors
 *
 * How a page without JavaScript is sent: its addresses, when the browser comes
 * again, and where it goes on to.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../http/headers.h"
#include "../http/respond.h"
#include "../http/return.h"
#include "nojs.h"
#include "nojs_text.h"


#define NGX_ADM_NOJS_ASKED  30           /* s for which a question stays on
                                            the page */


static ngx_int_t ngx_adm_nojs_next(ngx_http_request_t *r, ngx_str_t *event,
    ngx_str_t *target);
static ngx_int_t ngx_adm_nojs_address(ngx_adm_nojs_t *nojs, const char *what,
    ngx_str_t *uri);
static ngx_int_t ngx_adm_nojs_leaves(ngx_adm_nojs_t *nojs, ngx_str_t *ticket,
    ngx_str_t *uri);
static ngx_int_t ngx_adm_nojs_back(ngx_adm_nojs_t *nojs, ngx_str_t *uri);
static ngx_int_t ngx_adm_nojs_refresh(ngx_adm_nojs_t *nojs,
    ngx_uint_t seconds);


ngx_adm_nojs_t *
ngx_adm_nojs_create(ngx_http_request_t *r, ngx_adm_event_conf_t *conf,
    ngx_str_t *values, ngx_str_t *target)
{
    ngx_adm_nojs_t      *nojs;
    ngx_adm_api_call_t  *call;

    nojs = ngx_pcalloc(r->pool, sizeof(ngx_adm_nojs_t));
    call = ngx_pcalloc(r->pool, sizeof(ngx_adm_api_call_t));

    if (nojs == NULL || call == NULL) {
        return NULL;
    }

    call->request = r;
    call->event = values[NGX_ADM_PAGE_EVENT];
    call->conf = conf;
    call->lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    call->ctx = ngx_adm_ctx_get(r);
    if (call->ctx == NULL) {
        return NULL;
    }

    call->ctx->api = call;

    nojs->call = call;
    nojs->values = values;
    nojs->target = *target;

    return nojs;
}


ngx_uint_t
ngx_adm_nojs_says(ngx_http_request_t *r, const char *name)
{
    ngx_str_t  value;

    return ngx_http_arg(r, (u_char *) name, ngx_strlen(name), &value)
           == NGX_OK;
}


ngx_int_t
ngx_adm_nojs_send(ngx_adm_nojs_t *nojs, const char *state, ngx_uint_t status,
    ngx_uint_t seconds)
{
    ngx_str_t           *values;
    ngx_http_request_t  *r;

    r = nojs->call->request;
    values = nojs->values;

    ngx_adm_page_state(values, state);

    if (ngx_adm_page_notice(r, &nojs->call->event, values) != NGX_OK
        || (seconds && ngx_adm_nojs_refresh(nojs, seconds) != NGX_OK)
        || (values[NGX_ADM_PAGE_HELD].len == 0
            && ngx_adm_nojs_address(nojs, "&leave=1",
                                    &values[NGX_ADM_PAGE_LEAVE])
               != NGX_OK))
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return ngx_adm_page_send(r, &nojs->call->lcf->page->nojs, values, status,
                             0);
}


ngx_int_t
ngx_adm_nojs_leave(ngx_adm_nojs_t *nojs, ngx_str_t *ticket)
{
    ngx_str_t  *values;

    values = nojs->values;

    if (ngx_adm_nojs_address(nojs, "", &values[NGX_ADM_PAGE_STAY]) != NGX_OK
        || ngx_adm_nojs_leaves(nojs, ticket, &values[NGX_ADM_PAGE_LEAVES])
           != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return ngx_adm_nojs_send(nojs, "leaving", NGX_HTTP_OK, NGX_ADM_NOJS_ASKED);
}


ngx_int_t
ngx_adm_nojs_go(ngx_adm_nojs_t *nojs)
{
    size_t               len;
    ngx_str_t           *target;
    ngx_http_request_t  *r;

    r = nojs->call->request;
    target = &nojs->target;

    /* not to this page again, unless it is in place of that address */

    for (len = 0; len < target->len; len++) {

        if (target->data[len] == '?' || target->data[len] == '#') {
            break;
        }
    }

    if (len == 0
        || (!ngx_adm_page_in_place(r)
            && len == r->uri.len
            && ngx_strncmp(target->data, r->uri.data, len) == 0))
    {
        if (ngx_adm_nojs_next(r, &nojs->call->event, target) != NGX_OK) {
            return NGX_HTTP_INTERNAL_SERVER_ERROR;
        }
    }

    /* not with the status of the error_page that it came by */

    r->err_status = 0;

    return ngx_adm_respond_redirect(r, NGX_HTTP_MOVED_TEMPORARILY, target);
}


/* "next", with the event in place of its placeholder */

static ngx_int_t
ngx_adm_nojs_next(ngx_http_request_t *r, ngx_str_t *event, ngx_str_t *target)
{
    u_char              *p, *mark, *last;
    size_t               len;
    ngx_str_t           *next;
    ngx_adm_loc_conf_t  *lcf;

    static ngx_str_t  name = ngx_string("{event}");

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    next = &lcf->page->next;

    len = next->len + next->len / name.len * event->len;

    target->data = ngx_pnalloc(r->pool, len);
    if (target->data == NULL) {
        return NGX_ERROR;
    }

    target->len = 0;

    p = next->data;
    last = next->data + next->len;

    for ( ;; ) {
        mark = ngx_strnstr(p, (char *) name.data, last - p);

        len = (mark ? mark : last) - p;

        ngx_memcpy(target->data + target->len, p, len);
        target->len += len;

        if (mark == NULL) {
            return NGX_OK;
        }

        ngx_memcpy(target->data + target->len, event->data, event->len);
        target->len += event->len;

        p = mark + name.len;
    }
}


/*
 * the page's own address, with how many were told to be ahead: no more are
 * next time
 */

static ngx_int_t
ngx_adm_nojs_address(ngx_adm_nojs_t *nojs, const char *what, ngx_str_t *uri)
{
    u_char     *p;
    ngx_str_t  *own;

    own = &nojs->values[NGX_ADM_PAGE_NOJS_URI];

    p = ngx_pnalloc(nojs->call->request->pool,
                    own->len + ngx_strlen(what) + sizeof("&ahead=") - 1
                    + NGX_INT64_LEN);
    if (p == NULL) {
        return NGX_ERROR;
    }

    uri->data = p;

    p = ngx_sprintf(p, "%V%s", own, what);

    if (nojs->ahead) {
        p = ngx_sprintf(p, "&ahead=%L", nojs->ahead);
    }

    uri->len = p - uri->data;

    return NGX_OK;
}


/* the call of the API, which leads back to the page */

static ngx_int_t
ngx_adm_nojs_leaves(ngx_adm_nojs_t *nojs, ngx_str_t *ticket, ngx_str_t *uri)
{
    u_char               *p;
    ngx_str_t             back;
    ngx_adm_page_conf_t  *page;

    page = nojs->call->lcf->page;

    if (ngx_adm_nojs_back(nojs, &back) != NGX_OK) {
        return NGX_ERROR;
    }

    p = ngx_pnalloc(nojs->call->request->pool,
                    page->api.len + sizeof("/leave//?return=") - 1
                    + nojs->call->event.len + ticket->len + back.len
                    + 2 * ngx_escape_uri(NULL, back.data, back.len,
                                         NGX_ESCAPE_URI_COMPONENT));
    if (p == NULL) {
        return NGX_ERROR;
    }

    uri->data = p;

    p = ngx_sprintf(p, "%V/leave/%V%s%V?return=", &page->api,
                    &nojs->call->event, ticket->len ? "/" : "", ticket);

    p = (u_char *) ngx_escape_uri(p, back.data, back.len,
                                  NGX_ESCAPE_URI_COMPONENT);

    uri->len = p - uri->data;

    return NGX_OK;
}


/*
 * The page with "left": a path of this site, as a return target has to be.  A
 * target that would make it too long is dropped.
 */

static ngx_int_t
ngx_adm_nojs_back(ngx_adm_nojs_t *nojs, ngx_str_t *uri)
{
    u_char              *p, *mark;
    size_t               len;
    ngx_str_t           *own;
    ngx_http_request_t  *r;

    r = nojs->call->request;
    own = &nojs->values[NGX_ADM_PAGE_NOJS_URI];

    p = r->unparsed_uri.data;
    len = r->unparsed_uri.len;

    if (own->data[0] == '/') {
        len = 0;

    } else {
        mark = ngx_strlchr(p, p + len, '?');
        len = mark ? (size_t) (mark - p) : len;
    }

    uri->data = ngx_pnalloc(r->pool, len + own->len + sizeof("&left=1") - 1);
    if (uri->data == NULL) {
        return NGX_ERROR;
    }

    p = ngx_cpymem(uri->data, p, len);
    p = ngx_cpymem(p, own->data, own->len);
    p = ngx_cpymem(p, "&left=1", sizeof("&left=1") - 1);

    uri->len = p - uri->data;

    if (uri->len <= NGX_ADM_RETURN_MAX) {
        return NGX_OK;
    }

    mark = ngx_strlchr(uri->data, p, '?');

    p = ngx_cpymem(mark, "?nojs=1&left=1", sizeof("?nojs=1&left=1") - 1);

    uri->len = p - uri->data;

    return NGX_OK;
}


static ngx_int_t
ngx_adm_nojs_refresh(ngx_adm_nojs_t *nojs, ngx_uint_t seconds)
{
    u_char     *p;
    ngx_str_t   value, uri;

    /* the answer has a ticket, which the next request shows if it can */

    if (ngx_adm_nojs_address(nojs, nojs->visit.ticket ? "&again=1" : "", &uri)
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    p = ngx_pnalloc(nojs->call->request->pool,
                    NGX_INT_T_LEN + sizeof("; url=") - 1 + uri.len);
    if (p == NULL) {
        return NGX_ERROR;
    }

    value.data = p;
    value.len = ngx_sprintf(p, "%ui; url=%V", seconds, &uri) - p;

    return ngx_adm_add_header(nojs->call->request, "Refresh", &value);
}
