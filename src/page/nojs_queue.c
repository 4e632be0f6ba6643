
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The queue without JavaScript.  Joining takes a script; but somebody who is
 * in line, and shows it, is told how it stands, may leave, and goes on when it
 * is time.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../host/event_state.h"
#include "../http/headers.h"
#include "../http/respond.h"
#include "../http/sale.h"
#include "../queue/told.h"
#include "nojs.h"
#include "nojs_queue.h"
#include "nojs_text.h"


#define NGX_ADM_NOJS_SAYS  2             /* s until the browser comes again
                                            where there is nothing to tell
                                            but that */


static ngx_int_t ngx_adm_nojs_looked(ngx_adm_queue_look_t *look,
    ngx_adm_queue_answer_t *answer);
static ngx_int_t ngx_adm_nojs_stands(ngx_adm_nojs_t *nojs,
    ngx_adm_queue_answer_t *answer);
static ngx_int_t ngx_adm_nojs_outside(ngx_adm_nojs_t *nojs);
static ngx_int_t ngx_adm_nojs_page(ngx_adm_nojs_t *nojs, ngx_str_t *uri);


ngx_int_t
ngx_adm_page_needs_script(ngx_http_request_t *r, ngx_adm_event_conf_t *conf,
    ngx_str_t *values, ngx_str_t *target)
{
    ngx_int_t        rc;
    ngx_adm_nojs_t  *nojs;

    nojs = ngx_adm_nojs_create(r, conf, values, target);

    if (nojs == NULL
        || ngx_adm_nojs_page(nojs, &values[NGX_ADM_PAGE_PAGE_URI]) != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    nojs->look.call = nojs->call;
    nojs->look.done = ngx_adm_nojs_looked;
    nojs->look.data = nojs;

    rc = ngx_adm_queue_look(&nojs->look);

    return (rc == NGX_DECLINED) ? ngx_adm_nojs_outside(nojs) : rc;
}


static ngx_int_t
ngx_adm_nojs_looked(ngx_adm_queue_look_t *look,
    ngx_adm_queue_answer_t *answer)
{
    ngx_adm_nojs_t *nojs = look->data;

    ngx_http_request_t  *r;

    r = nojs->call->request;

    if (answer == NULL) {

        if (ngx_adm_retry_after(r, NGX_ADM_NOJS_RETRY) != NGX_OK) {
            return NGX_HTTP_INTERNAL_SERVER_ERROR;
        }

        return ngx_adm_nojs_send(nojs, "busy", NGX_HTTP_SERVICE_UNAVAILABLE,
                                 NGX_ADM_NOJS_RETRY);
    }

    switch (answer->state) {

    case NGX_ADM_QUEUE_WAITING:
        return ngx_adm_nojs_stands(nojs, answer);

    case NGX_ADM_QUEUE_ACTIVE:

        if (ngx_adm_queue_look_cookie(look, answer) != NGX_OK) {
            return NGX_HTTP_INTERNAL_SERVER_ERROR;
        }

        return ngx_adm_nojs_go(nojs);

    default: /* NGX_ADM_QUEUE_NOT_IN */
        return ngx_adm_nojs_outside(nojs);
    }
}


/* the page that asks whether to leave says how one stands, too */

static ngx_int_t
ngx_adm_nojs_stands(ngx_adm_nojs_t *nojs, ngx_adm_queue_answer_t *answer)
{
    int64_t                behind;
    ngx_str_t             *values, none;
    const char            *state;
    ngx_adm_sale_t         sale;
    ngx_adm_range_t        range;
    ngx_http_request_t    *r;
    ngx_adm_api_call_t    *call;
    ngx_adm_seats_e        seats;

    call = nojs->call;
    r = call->request;
    values = nojs->values;

    if (ngx_adm_queue_look_cookie(&nojs->look, answer) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (ngx_adm_nojs_says(r, "leave")) {
        ngx_str_null(&none);
        return ngx_adm_nojs_leave(nojs, &none);
    }

    seats = ngx_adm_seats(call->conf, answer->slots, answer->sold,
                          answer->active);

    (void) ngx_adm_sale_get(&call->event, call->conf, &sale);

    state = (seats == NGX_ADM_SEATS_SOLD) ? "sold"
            : (seats == NGX_ADM_SEATS_TAKEN) ? "waiting last" : "waiting";

    if (ngx_adm_queue_told_range(&call->event, call->conf, answer,
                                 sale.rest, &range) == NGX_OK)
    {
        if (ngx_adm_page_wait(r, &range, values) != NGX_OK) {
            return NGX_HTTP_INTERNAL_SERVER_ERROR;
        }

    } else if (seats == NGX_ADM_SEATS_FREE) {
        state = "waiting paused";
    }

    behind = ngx_max(answer->size - answer->position, 0);

    if (ngx_adm_page_number(r, answer->position,
                            &values[NGX_ADM_PAGE_POSITION])
        != NGX_OK
        || ngx_adm_page_number(r, answer->position - 1,
                               &values[NGX_ADM_PAGE_AHEAD])
           != NGX_OK
        || ngx_adm_page_number(r, behind, &values[NGX_ADM_PAGE_BEHIND])
           != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return ngx_adm_nojs_send(nojs, state, NGX_HTTP_OK,
                             ngx_max(ngx_adm_queue_next_poll(answer->position,
                                                             call->conf),
                                     NGX_ADM_NOJS_SAYS));
}


static ngx_int_t
ngx_adm_nojs_outside(ngx_adm_nojs_t *nojs)
{
    ngx_http_request_t  *r;

    r = nojs->call->request;

    if (ngx_adm_nojs_says(r, "left") || ngx_adm_nojs_says(r, "leave")) {
        return ngx_adm_nojs_send(nojs, "left", NGX_HTTP_OK, 0);
    }

    return ngx_adm_nojs_send(nojs,
                             ngx_adm_event_seats(&nojs->call->event,
                                                 nojs->call->conf)
                             == NGX_ADM_SEATS_SOLD ? "sold" : "script",
                             NGX_HTTP_OK, NGX_ADM_NOJS_SAYS);
}


/* the page itself; or what it is in place of, which leads to it */

static ngx_int_t
ngx_adm_nojs_page(ngx_adm_nojs_t *nojs, ngx_str_t *uri)
{
    u_char     *p;
    ngx_str_t  *target;

    target = &nojs->target;

    if (target->len && ngx_adm_page_in_place(nojs->call->request)) {
        *uri = *target;
        return NGX_OK;
    }

    p = ngx_pnalloc(nojs->call->request->pool,
                    sizeof("?return=") - 1 + target->len
                    + 2 * ngx_escape_uri(NULL, target->data, target->len,
                                         NGX_ESCAPE_URI_COMPONENT));
    if (p == NULL) {
        return NGX_ERROR;
    }

    uri->data = p;
    *p++ = '?';

    if (target->len) {
        p = ngx_cpymem(p, "return=", sizeof("return=") - 1);
        p = (u_char *) ngx_escape_uri(p, target->data, target->len,
                                      NGX_ESCAPE_URI_COMPONENT);
    }

    uri->len = p - uri->data;

    return NGX_OK;
}
