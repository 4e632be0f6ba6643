
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The waiting room without JavaScript: each answer is the state, and has the
 * browser come again (Refresh).  The ticket is in a cookie; it is shown back
 * before anybody goes on, so that a browser without cookies is told so
 * instead of being sent round in circles with a new ticket each time.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../base/reason.h"
#include "../host/draw.h"
#include "../host/event_state.h"
#include "../host/line.h"
#include "../host/sale.h"
#include "../http/deny.h"
#include "../http/headers.h"
#include "../http/respond.h"
#include "../http/sale.h"
#include "../room/told.h"
#include "../room/visit.h"
#include "nojs.h"
#include "nojs_room.h"
#include "nojs_text.h"


#define NGX_ADM_NOJS_SPREAD  10          /* s, of an address over its rate */
#define NGX_ADM_NOJS_SOLD    2           /* s, where all is sold */
#define NGX_ADM_NOJS_CLOSED  10          /* s, where the sale is closed */


static ngx_int_t ngx_adm_nojs_given_up(ngx_adm_nojs_t *nojs,
    ngx_adm_claims_t *ticket);
static ngx_int_t ngx_adm_nojs_done(ngx_adm_visit_t *visit, ngx_int_t rc);
static ngx_int_t ngx_adm_nojs_early(ngx_adm_nojs_t *nojs,
    ngx_adm_sale_t *sale);
static ngx_int_t ngx_adm_nojs_full(ngx_adm_nojs_t *nojs);
static ngx_int_t ngx_adm_nojs_crowded(ngx_adm_nojs_t *nojs);
static ngx_int_t ngx_adm_nojs_wait(ngx_adm_nojs_t *nojs);
static ngx_int_t ngx_adm_nojs_commits(ngx_adm_api_call_t *call,
    ngx_adm_standing_t *standing, ngx_str_t *text);
static ngx_int_t ngx_adm_nojs_lot(ngx_http_request_t *r,
    ngx_adm_standing_t *standing, ngx_str_t *text);


ngx_int_t
ngx_adm_page_without_script(ngx_http_request_t *r, ngx_adm_event_conf_t *conf,
    ngx_str_t *values, ngx_str_t *target)
{
    ngx_int_t            rc;
    ngx_adm_sale_t       sale;
    ngx_adm_nojs_t      *nojs;
    ngx_adm_claims_t    *ticket;
    ngx_adm_api_call_t  *call;
    ngx_adm_srv_conf_t  *scf;

    scf = ngx_http_get_module_srv_conf(r, ngx_http_admission_module);

    nojs = ngx_adm_nojs_create(r, conf, values, target);
    if (nojs == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    call = nojs->call;

    nojs->visit.call = call;
    nojs->visit.done = ngx_adm_nojs_done;
    nojs->visit.data = nojs;
    nojs->visit.deadline = ngx_adm_api_deadline(call);
    nojs->visit.intake.kind = NGX_ADM_INTAKE_ASSIGN;

    /* the bucket of an address is that of the server's API */

    nojs->visit.intake.conf = scf->assign ? scf->assign
                                          : &ngx_adm_intake_default;
    if (call->lcf->secrets[NGX_ADM_SECRET_TIER1] == NULL) {
        ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
                      "admission: no \"admission_secret tier1\" here "
                      "to sign a ticket with");

        return ngx_adm_nojs_done(&nojs->visit, NGX_BUSY);
    }

    rc = ngx_adm_ticket_find(r, &call->event, &ticket);

    if (rc == NGX_ERROR) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    nojs->shown = (rc == NGX_OK);

    rc = ngx_adm_nojs_given_up(nojs, ticket);
    if (rc != NGX_DECLINED) {
        return rc;
    }

    if (!nojs->shown && ngx_adm_nojs_says(r, "again")) {
        return ngx_adm_nojs_send(nojs, "cookies", NGX_HTTP_OK, 0);
    }

    if (!call->lcf->dry_run
        && ngx_adm_event_seats(&call->event, conf) == NGX_ADM_SEATS_SOLD)
    {
        return ngx_adm_nojs_send(nojs, "sold", NGX_HTTP_OK, NGX_ADM_NOJS_SOLD);
    }

    if (ngx_adm_sale_get(&call->event, conf, &sale) == NGX_ADM_PHASE_BEFORE) {
        return ngx_adm_nojs_early(nojs, &sale);
    }

    return ngx_adm_visit(&nojs->visit);
}


/*
 * A visitor who wants to give up the ticket is asked whether that is so, and
 * the page does not come again by itself: the form's answer is a call of the
 * API.  NGX_DECLINED: the visitor does not want to, or has not done it.
 */

static ngx_int_t
ngx_adm_nojs_given_up(ngx_adm_nojs_t *nojs, ngx_adm_claims_t *ticket)
{
    ngx_uint_t           left;
    ngx_http_request_t  *r;
    ngx_adm_api_call_t  *call;
    ngx_adm_standing_t   standing;

    call = nojs->call;
    r = call->request;

    left = ngx_adm_nojs_says(r, "left");

    if (!left && !ngx_adm_nojs_says(r, "leave")) {
        return NGX_DECLINED;
    }

    if (!nojs->shown
        || ngx_adm_ticket_standing(call->lcf, ticket, call->conf, 0, &standing)
           == NGX_DECLINED)
    {
        return ngx_adm_nojs_send(nojs, "left", NGX_HTTP_OK, 0);
    }

    if (left) {
        /* a ticket that still stands was not given up */
        return NGX_DECLINED;
    }

    nojs->ahead = ngx_max(ngx_adm_told_before(r), 0);

    return ngx_adm_nojs_leave(nojs, &ticket->token);
}


static ngx_int_t
ngx_adm_nojs_done(ngx_adm_visit_t *visit, ngx_int_t rc)
{
    ngx_adm_nojs_t *nojs = visit->data;

    ngx_str_t            token;
    ngx_http_request_t  *r;

    r = visit->call->request;

    switch (rc) {

    case NGX_OK:
        break;

    case NGX_DECLINED:
        return ngx_adm_nojs_go(nojs);

    case NGX_HTTP_UNAUTHORIZED:
        return ngx_adm_deny(r, NGX_ADM_VERDICT_USER, ngx_adm_reason(NO_USER),
                            &visit->call->event);

    case NGX_AGAIN:
        return ngx_adm_nojs_full(nojs);

    case NGX_BUSY:
        if (ngx_adm_retry_after(r, NGX_ADM_NOJS_RETRY) != NGX_OK) {
            return NGX_HTTP_INTERNAL_SERVER_ERROR;
        }

        return ngx_adm_nojs_send(nojs, "busy", NGX_HTTP_SERVICE_UNAVAILABLE,
                                 NGX_ADM_NOJS_RETRY);

    case NGX_ABORT:
        return ngx_adm_nojs_crowded(nojs);

    default: /* NGX_ERROR */
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (!visit->standing.admitted || !nojs->shown) {
        return ngx_adm_nojs_wait(nojs);
    }

    rc = ngx_adm_visit_token(visit, &token);

    if (rc == NGX_ERROR) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    /* a turn that is over: when the browser comes again it has a new ticket */

    return (rc == NGX_OK) ? ngx_adm_nojs_go(nojs) : ngx_adm_nojs_wait(nojs);
}


static ngx_int_t
ngx_adm_nojs_early(ngx_adm_nojs_t *nojs, ngx_adm_sale_t *sale)
{
    if (ngx_adm_page_clock(nojs->call->request, sale->rest,
                          &nojs->values[NGX_ADM_PAGE_LEFT]) != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return ngx_adm_nojs_send(nojs, "before", NGX_HTTP_OK,
                             ngx_adm_sale_early_poll(&nojs->call->event, sale));
}


/*
 * The line has room again when others have gone on; browsers that were refused
 * do not all come for it at once.
 */

static ngx_int_t
ngx_adm_nojs_full(ngx_adm_nojs_t *nojs)
{
    ngx_adm_sale_t       sale;
    ngx_adm_api_call_t  *call;

    call = nojs->call;

    switch (nojs->visit.full) {

    case NGX_ADM_LINE_BEFORE:
        (void) ngx_adm_sale_get(&call->event, call->conf, &sale);
        return ngx_adm_nojs_early(nojs, &sale);

    case NGX_ADM_LINE_CLOSED:
        return ngx_adm_nojs_send(nojs, "closed", NGX_HTTP_OK,
                                 NGX_ADM_NOJS_CLOSED);

    default:
        break;
    }

    if (ngx_adm_retry_after(nojs->call->request, NGX_ADM_LINE_RETRY)
        != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return ngx_adm_nojs_send(nojs, "full", NGX_HTTP_SERVICE_UNAVAILABLE,
                             NGX_ADM_LINE_RETRY
                             + ngx_random() % NGX_ADM_LINE_RETRY);
}


/* browsers of an address that were refused together do not return together */

static ngx_int_t
ngx_adm_nojs_crowded(ngx_adm_nojs_t *nojs)
{
    ngx_uint_t           retry;
    ngx_http_request_t  *r;

    r = nojs->call->request;
    retry = nojs->visit.intake.retry;

    if (ngx_adm_retry_after(r, retry) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return ngx_adm_nojs_send(nojs, "crowded", NGX_HTTP_TOO_MANY_REQUESTS,
                             retry + ngx_random() % NGX_ADM_NOJS_SPREAD);
}


static ngx_int_t
ngx_adm_nojs_wait(ngx_adm_nojs_t *nojs)
{
    int64_t              ahead, before;
    ngx_str_t           *values;
    ngx_uint_t           poll;
    const char          *state;
    ngx_http_request_t  *r;
    ngx_adm_sale_t       sale;
    ngx_adm_range_t      range;
    ngx_adm_visit_t     *visit;
    ngx_adm_standing_t  *standing;

    visit = &nojs->visit;
    standing = &visit->standing;
    values = nojs->values;
    r = visit->call->request;
    ahead = standing->ahead;

    before = ngx_adm_told_before(r);

    if (before >= 0 && !standing->undrawn) {
        ahead = ngx_min(ahead, before);
    }

    nojs->ahead = standing->undrawn ? 0 : ahead;

    state = (ahead > 1) ? "waiting" : "waiting first";

    if (ngx_adm_told_range(&visit->call->event, visit->call->conf, standing,
                           ahead, 0, &range)
        != NGX_OK)
    {
        state = "waiting paused";

    } else if (ngx_adm_page_wait(r, &range, values) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    /* ahead has the visitor's own position, too */

    if (ngx_adm_page_number(r, ngx_max(ahead - 1, 0),
                            &values[NGX_ADM_PAGE_AHEAD])
        != NGX_OK
        || ngx_adm_page_number(r, standing->position,
                               &values[NGX_ADM_PAGE_POSITION])
           != NGX_OK
        || ngx_adm_page_number(r, standing->room.serving,
                               &values[NGX_ADM_PAGE_SERVING])
           != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    poll = standing->admitted ? 1 : ngx_adm_room_next_poll(standing->ahead);

    if (ngx_adm_sale_get(&visit->call->event, visit->call->conf, &sale)
        == NGX_ADM_PHASE_GATHERING)
    {
        state = "waiting gathering";
        poll = ngx_adm_sale_next_poll(&sale, poll, standing->room.next);
    }

    if (ngx_adm_page_clock(r, sale.rest, &values[NGX_ADM_PAGE_LEFT])
        != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (ngx_adm_nojs_lot(r, standing, &values[NGX_ADM_PAGE_NUMBER]) != NGX_OK
        || ngx_adm_nojs_commits(visit->call, standing,
                                &values[NGX_ADM_PAGE_COMMITMENT]) != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (standing->undrawn) {
        return ngx_adm_nojs_send(nojs,
                                 sale.rest ? "lot gathering" : "lot drawing",
                                 NGX_HTTP_OK, poll);
    }

    if (ngx_adm_event_seats(&visit->call->event, visit->call->conf)
        == NGX_ADM_SEATS_TAKEN)
    {
        state = "waiting last";
    }

    return ngx_adm_nojs_send(nojs, state, NGX_HTTP_OK, poll);
}


/* the lot's number, of how many once it is drawn; empty: a ticket is no lot */

static ngx_int_t
ngx_adm_nojs_lot(ngx_http_request_t *r, ngx_adm_standing_t *standing,
    ngx_str_t *text)
{
    ngx_str_t  lot, lots;

    if (standing->lot == 0) {

        if (standing->undrawn) {
            /* whether the ticket is a lot is not known yet */
            ngx_str_set(text, "\xe2\x80\x93");
        }

        return NGX_OK;
    }

    if (standing->undrawn) {
        return ngx_adm_page_number(r, standing->lot, text);
    }

    if (ngx_adm_page_number(r, standing->lot, &lot) != NGX_OK
        || ngx_adm_page_number(r, standing->room.lots, &lots) != NGX_OK)
    {
        return NGX_ERROR;
    }

    text->data = ngx_pnalloc(r->pool, lot.len + sizeof(" / ") - 1 + lots.len);
    if (text->data == NULL) {
        return NGX_ERROR;
    }

    text->len = ngx_sprintf(text->data, "%V / %V", &lot, &lots) - text->data;

    return NGX_OK;
}


/* what a lot's draw commits to, and the source of its beacon: to be noted */

static ngx_int_t
ngx_adm_nojs_commits(ngx_adm_api_call_t *call, ngx_adm_standing_t *standing,
    ngx_str_t *text)
{
    u_char           *p;
    ngx_adm_drawn_t   drawn;

    if (standing->lot == 0) {
        return NGX_OK;
    }

    ngx_adm_draw_known(&call->event, standing->room.activation, &drawn);

    p = ngx_pnalloc(call->request->pool, 2 * (size_t) drawn.commitment
                                         + sizeof(" ()") - 1 + drawn.source);
    if (p == NULL) {
        return NGX_ERROR;
    }

    text->data = p;

    p = ngx_hex_dump(p, drawn.commitment_text, drawn.commitment);

    if (drawn.source) {
        *p++ = ' ';
        *p++ = '(';
        p = ngx_cpymem(p, drawn.source_text, drawn.source);
        *p++ = ')';
    }

    text->len = p - text->data;

    return NGX_OK;
}
