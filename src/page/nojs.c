
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The waiting room without JavaScript: each answer is the state, and has the
 * browser come again (Refresh).  The ticket is in a cookie; it is shown back
 * before anybody goes on, so that a browser without cookies is told so
 * instead of being sent round in circles with a new ticket each time.  And the
 * queue, which needs JavaScript: what there is to tell all the same.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../base/reason.h"
#include "../host/event_state.h"
#include "../host/line.h"
#include "../host/sale.h"
#include "../http/deny.h"
#include "../http/headers.h"
#include "../http/respond.h"
#include "../http/sale.h"
#include "../room/told.h"
#include "../room/visit.h"
#include "nojs_text.h"
#include "page.h"


#define NGX_ADM_NOJS_RETRY   5           /* s, with Redis gone */
#define NGX_ADM_NOJS_SPREAD  10          /* s, over the rate */
#define NGX_ADM_NOJS_SOLD    2           /* s, where all is sold */
#define NGX_ADM_NOJS_CLOSED  10          /* s, where the sale is closed */
#define NGX_ADM_NOJS_SAYS    2           /* s, where that is all to tell */


typedef struct {
    ngx_adm_visit_t   visit;
    ngx_str_t        *values;
    ngx_str_t         target;
    int64_t           ahead;         /* as it is told; 0: it is not */
    unsigned          shown:1;       /* the ticket's cookie is
                                        kept, as we saw */
} ngx_adm_nojs_t;


static ngx_adm_nojs_t *ngx_adm_nojs(ngx_http_request_t *r,
    ngx_adm_event_conf_t *conf, ngx_str_t *values, ngx_str_t *target);
static ngx_int_t ngx_adm_nojs_page(ngx_http_request_t *r, ngx_str_t *target,
    ngx_str_t *uri);
static ngx_int_t ngx_adm_nojs_done(ngx_adm_visit_t *visit, ngx_int_t rc);
static ngx_int_t ngx_adm_nojs_early(ngx_adm_nojs_t *nojs,
    ngx_adm_sale_t *sale);
static ngx_int_t ngx_adm_nojs_full(ngx_adm_nojs_t *nojs);
static ngx_int_t ngx_adm_nojs_crowded(ngx_adm_nojs_t *nojs);
static ngx_int_t ngx_adm_nojs_wait(ngx_adm_nojs_t *nojs);
static ngx_int_t ngx_adm_nojs_go(ngx_adm_nojs_t *nojs);
static ngx_int_t ngx_adm_nojs_next(ngx_http_request_t *r, ngx_str_t *event,
    ngx_str_t *target);
static ngx_int_t ngx_adm_nojs_send(ngx_adm_nojs_t *nojs, const char *state,
    ngx_uint_t status, ngx_uint_t seconds);
static ngx_int_t ngx_adm_nojs_refresh(ngx_http_request_t *r, ngx_uint_t seconds,
    ngx_str_t *uri, ngx_uint_t ticket, int64_t ahead);


ngx_int_t
ngx_adm_page_without_script(ngx_http_request_t *r, ngx_adm_event_conf_t *conf,
    ngx_str_t *values, ngx_str_t *target)
{
    ngx_int_t            rc;
    ngx_str_t            again;
    ngx_adm_sale_t       sale;
    ngx_adm_nojs_t      *nojs;
    ngx_adm_claims_t    *ticket;
    ngx_adm_api_call_t  *call;
    ngx_adm_srv_conf_t  *scf;

    scf = ngx_http_get_module_srv_conf(r, ngx_http_admission_module);

    nojs = ngx_adm_nojs(r, conf, values, target);
    if (nojs == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    call = nojs->visit.call;

    nojs->visit.done = ngx_adm_nojs_done;
    nojs->visit.data = nojs;
    nojs->visit.deadline = ngx_adm_api_deadline(call);
    nojs->visit.intake.kind = NGX_ADM_INTAKE_ASSIGN;

    /* an address has the same bucket here and at the API of the server */

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

    if (!nojs->shown
        && ngx_http_arg(r, (u_char *) "again", sizeof("again") - 1, &again)
           == NGX_OK)
    {
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


ngx_int_t
ngx_adm_page_needs_script(ngx_http_request_t *r, ngx_adm_event_conf_t *conf,
    ngx_str_t *values, ngx_str_t *target)
{
    ngx_str_t         uri;
    const char       *state;
    ngx_adm_nojs_t   *nojs;

    nojs = ngx_adm_nojs(r, conf, values, target);

    if (nojs == NULL || ngx_adm_nojs_page(r, target, &uri) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    /* it comes again by the address that it came by, and goes on by another */

    if (ngx_adm_nojs_refresh(r, NGX_ADM_NOJS_SAYS,
                             &values[NGX_ADM_PAGE_NOJS_URI], 0, 0)
        != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    values[NGX_ADM_PAGE_NOJS_URI] = uri;

    state = (ngx_adm_event_seats(&nojs->visit.call->event, conf)
             == NGX_ADM_SEATS_SOLD) ? "sold" : "script";

    return ngx_adm_nojs_send(nojs, state, NGX_HTTP_OK, 0);
}


static ngx_adm_nojs_t *
ngx_adm_nojs(ngx_http_request_t *r, ngx_adm_event_conf_t *conf,
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

    nojs->visit.call = call;
    nojs->values = values;
    nojs->target = *target;

    return nojs;
}


/* the page itself; in the place of something else that, which leads to it */

static ngx_int_t
ngx_adm_nojs_page(ngx_http_request_t *r, ngx_str_t *target, ngx_str_t *uri)
{
    u_char  *p;

    if (target->len && ngx_adm_page_in_place(r)) {
        *uri = *target;
        return NGX_OK;
    }

    p = ngx_pnalloc(r->pool, sizeof("?return=") - 1 + target->len
                             + 2 * ngx_escape_uri(NULL, target->data,
                                                  target->len,
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

    /* if it is over, by the next time there is a new ticket */

    return (rc == NGX_OK) ? ngx_adm_nojs_go(nojs) : ngx_adm_nojs_wait(nojs);
}


static ngx_int_t
ngx_adm_nojs_early(ngx_adm_nojs_t *nojs, ngx_adm_sale_t *sale)
{
    if (ngx_adm_page_clock(nojs->visit.call->request, ngx_adm_sale_rest(sale),
                          &nojs->values[NGX_ADM_PAGE_LEFT]) != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return ngx_adm_nojs_send(nojs, "before", NGX_HTTP_OK,
                             ngx_adm_sale_next_poll(sale, 0, 0));
}


/* there is room when others have gone on, and not all come for it at once */

static ngx_int_t
ngx_adm_nojs_full(ngx_adm_nojs_t *nojs)
{
    ngx_adm_sale_t       sale;
    ngx_adm_api_call_t  *call;

    call = nojs->visit.call;

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

    if (ngx_adm_retry_after(nojs->visit.call->request, NGX_ADM_LINE_RETRY)
        != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return ngx_adm_nojs_send(nojs, "full", NGX_HTTP_SERVICE_UNAVAILABLE,
                             NGX_ADM_LINE_RETRY
                             + ngx_random() % NGX_ADM_LINE_RETRY);
}


/* those of an address who were refused together do not come again together */

static ngx_int_t
ngx_adm_nojs_crowded(ngx_adm_nojs_t *nojs)
{
    ngx_uint_t           retry;
    ngx_http_request_t  *r;

    r = nojs->visit.call->request;
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
    int64_t              seconds, ahead, before;
    ngx_str_t           *values;
    ngx_uint_t           poll, paused;
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

    paused = (ngx_adm_told_range(&visit->call->event, visit->call->conf,
                                 standing, ahead, 0, &range)
              != NGX_OK);

    seconds = paused ? 0 : range.wait;

    /* the visitor's own position is one of them */

    if (ngx_adm_page_number(r, ngx_max(ahead - 1, 0),
                            &values[NGX_ADM_PAGE_AHEAD])
        != NGX_OK
        || ngx_adm_page_number(r, standing->position,
                               &values[NGX_ADM_PAGE_POSITION])
           != NGX_OK
        || ngx_adm_page_number(r, standing->room.serving,
                               &values[NGX_ADM_PAGE_SERVING])
           != NGX_OK
        || ngx_adm_page_number(r, ngx_max((seconds + 59) / 60, 1),
                               &values[NGX_ADM_PAGE_MINUTES])
           != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (paused) {
        ngx_str_set(&values[NGX_ADM_PAGE_MINUTES], "-");
    }

    poll = standing->admitted ? 1 : ngx_adm_room_next_poll(standing->ahead);

    state = paused ? "waiting paused" : "waiting";

    if (ngx_adm_sale_get(&visit->call->event, visit->call->conf, &sale)
        == NGX_ADM_PHASE_GATHERING)
    {
        if (ngx_adm_page_clock(r, ngx_adm_sale_rest(&sale),
                              &values[NGX_ADM_PAGE_LEFT]) != NGX_OK)
        {
            return NGX_HTTP_INTERNAL_SERVER_ERROR;
        }

        state = "waiting gathering";
        poll = ngx_adm_sale_next_poll(&sale, poll, standing->room.next);
    }

    if (standing->undrawn) {

        if (ngx_adm_page_clock(r, ngx_adm_sale_rest(&sale),
                              &values[NGX_ADM_PAGE_LEFT]) != NGX_OK)
        {
            return NGX_HTTP_INTERNAL_SERVER_ERROR;
        }

        return ngx_adm_nojs_send(nojs, "lot", NGX_HTTP_OK, poll);
    }

    if (ngx_adm_event_seats(&visit->call->event, visit->call->conf)
        == NGX_ADM_SEATS_TAKEN)
    {
        state = "waiting last";
    }

    return ngx_adm_nojs_send(nojs, state, NGX_HTTP_OK, poll);
}


static ngx_int_t
ngx_adm_nojs_go(ngx_adm_nojs_t *nojs)
{
    size_t               len;
    ngx_str_t           *target;
    ngx_http_request_t  *r;

    r = nojs->visit.call->request;
    target = &nojs->target;

    /* not to this page again, unless it is in that one's place */

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
        if (ngx_adm_nojs_next(r, &nojs->visit.call->event, target) != NGX_OK) {
            return NGX_HTTP_INTERNAL_SERVER_ERROR;
        }
    }

    /* not with the status of the error_page that it came by */

    r->err_status = 0;

    return ngx_adm_respond_redirect(r, NGX_HTTP_MOVED_TEMPORARILY, target);
}


/* "next", with the event wherever it is named */

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


/* seconds 0: the browser is not to come again by itself */

static ngx_int_t
ngx_adm_nojs_send(ngx_adm_nojs_t *nojs, const char *state, ngx_uint_t status,
    ngx_uint_t seconds)
{
    ngx_str_t           *values;
    ngx_http_request_t  *r;

    r = nojs->visit.call->request;
    values = nojs->values;

    ngx_adm_page_state(values, state);

    if (ngx_adm_page_notice(r, &nojs->visit.call->event, values) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (seconds
        && ngx_adm_nojs_refresh(r, seconds,
                                &values[NGX_ADM_PAGE_NOJS_URI],
                                nojs->visit.ticket != NULL, nojs->ahead)
           != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return ngx_adm_page_send(r, &nojs->visit.call->lcf->page->nojs, values,
                             status, 0);
}


/*
 * ticket: the answer has one, so the next request shows it if it can.  ahead:
 * what is told, so that the next answer does not tell more.
 */

static ngx_int_t
ngx_adm_nojs_refresh(ngx_http_request_t *r, ngx_uint_t seconds, ngx_str_t *uri,
    ngx_uint_t ticket, int64_t ahead)
{
    u_char     *p;
    ngx_str_t   value;

    p = ngx_pnalloc(r->pool, NGX_INT_T_LEN + NGX_INT64_LEN
                             + sizeof("; url=&again=1&ahead=") - 1 + uri->len);
    if (p == NULL) {
        return NGX_ERROR;
    }

    value.data = p;

    p = ngx_sprintf(p, "%ui; url=%V%s", seconds, uri,
                    ticket ? "&again=1" : "");

    if (ahead) {
        p = ngx_sprintf(p, "&ahead=%L", ahead);
    }

    value.len = p - value.data;

    return ngx_adm_add_header(r, "Refresh", &value);
}
