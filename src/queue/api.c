
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The users' calls of admission_queue_api that tell how one stands: check,
 * which joins, status and heartbeat.  Each takes the same way: who calls, what
 * is shown, what tier 1 says of a join, Redis, the answer.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../base/clock.h"
#include "../base/reason.h"
#include "../base/text.h"
#include "../host/draw.h"
#include "../host/event_state.h"
#include "../host/line.h"
#include "../host/room_state.h"
#include "../http/body.h"
#include "../http/credentials.h"
#include "../http/entry.h"
#include "../http/intake.h"
#include "../http/origin.h"
#include "../http/respond.h"
#include "../http/sale.h"
#include "../http/user.h"
#include "../http/visitor.h"
#include "../stream/stream.h"
#include "answer.h"
#include "api.h"
#include "bound.h"
#include "line.h"
#include "queue.h"
#include "stream.h"
#include "together.h"
#include "view.h"


/* a call of a user under way */
typedef struct {
    ngx_adm_queue_ask_t     ask;
    ngx_adm_queue_join_t    join;        /* of a check */
    ngx_adm_queue_guest_t   guest;
    ngx_msec_t              deadline;    /* of all questions to Redis */
} ngx_adm_queue_check_t;


static ngx_int_t ngx_adm_queue_no_user(ngx_adm_api_call_t *call);
static ngx_int_t ngx_adm_queue_check(ngx_adm_api_call_t *call);
static ngx_int_t ngx_adm_queue_newcomer(ngx_adm_api_call_t *call);
static ngx_int_t ngx_adm_queue_place_match(ngx_http_request_t *r,
    ngx_adm_claims_t *claims, void *data, const char **why);
static ngx_int_t ngx_adm_queue_send(ngx_adm_api_call_t *call);
static ngx_int_t ngx_adm_queue_phase(ngx_adm_api_call_t *call,
    ngx_adm_queue_ask_t *ask);
static ngx_int_t ngx_adm_queue_tells(ngx_adm_api_call_t *call,
    ngx_adm_queue_answer_t *answer);
static ngx_int_t ngx_adm_queue_send_alone(ngx_adm_api_call_t *call);
static void ngx_adm_queue_api_done(void *data, ngx_int_t rc,
    ngx_adm_queue_answer_t *answer);
static ngx_int_t ngx_adm_queue_needs_tier1(ngx_adm_api_call_t *call,
    ngx_adm_queue_answer_t *answer);


ngx_adm_queue_join_pt  ngx_adm_queue_join;


ngx_int_t
ngx_adm_queue_check_handler(ngx_adm_api_call_t *call)
{
    ngx_int_t  rc;

    call->value = call->route->what;

    if (call->value == NGX_ADM_QUEUE_CHECK
        && ngx_adm_is_prefetch(call->request))
    {
        call->value = NGX_ADM_QUEUE_STATUS;
    }

    if (call->value == NGX_ADM_QUEUE_STATUS
        && ngx_adm_arg_flag(call->request, "away"))
    {
        call->value = NGX_ADM_QUEUE_AWAY;
    }

    rc = ngx_adm_queue_user(call, call->value == NGX_ADM_QUEUE_CHECK);
    if (rc != NGX_DECLINED) {
        return rc;
    }

    return ngx_adm_body_read(call, ngx_adm_queue_check);
}


/*
 * A stream of what status tells or, with join=1, which changes something,
 * check.
 */

ngx_int_t
ngx_adm_queue_stream_handler(ngx_adm_api_call_t *call)
{
    ngx_int_t            rc;
    ngx_uint_t           join;
    ngx_http_request_t  *r;

    r = call->request;

    join = r->method != NGX_HTTP_HEAD && ngx_adm_arg_flag(r, "join");

    if (join && !ngx_adm_same_site(r)) {
        return ngx_adm_respond_error(r, NGX_HTTP_FORBIDDEN, "CROSS_SITE",
                                     "Called from another site", NULL);
    }

    call->value = NGX_ADM_QUEUE_STATUS;

    if (join && !ngx_adm_is_prefetch(r)) {
        call->value = NGX_ADM_QUEUE_CHECK;

    } else if (ngx_adm_arg_flag(r, "away")) {
        call->value = NGX_ADM_QUEUE_AWAY;
    }

    rc = ngx_adm_queue_user(call, call->value == NGX_ADM_QUEUE_CHECK);
    if (rc != NGX_DECLINED) {
        return rc;
    }

    rc = ngx_adm_stream_full(r);
    if (rc != NGX_DECLINED) {
        return rc;
    }

    return ngx_adm_body_read(call, ngx_adm_queue_check);
}


ngx_int_t
ngx_adm_queue_user(ngx_adm_api_call_t *call, ngx_uint_t make)
{
    ngx_http_request_t  *r;
    ngx_adm_user_t      *user;
    ngx_adm_verifier_t  *verifiers;

    r = call->request;
    user = &call->ctx->user;
    verifiers = call->lcf->verifiers;

    if (verifiers[NGX_ADM_TOKEN_TIER2].keys == NULL
        || verifiers[NGX_ADM_TOKEN_PLACE].keys == NULL)
    {
        ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
                      "admission: no \"admission_secret tier2\" here "
                      "to sign what the queue gives out");

        return ngx_adm_api_unavailable(r);
    }

    if (call->lcf->user->source == NGX_ADM_USER_VISITOR) {

        /* of several users shown the one of this event */

        call->ctx->user_of = NULL;
    }

    if (ngx_adm_user_find(r, call->ctx) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (call->ctx->user_of->user->source == NGX_ADM_USER_VISITOR
        && user->id.len
        && ngx_adm_visitor_refresh(r, &user->id) != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (user->id.len == 0
        && !(make && call->lcf->user->source == NGX_ADM_USER_VISITOR))
    {
        return ngx_adm_queue_no_user(call);
    }

    call->who = user->id;

    return NGX_DECLINED;
}


static ngx_int_t
ngx_adm_queue_no_user(ngx_adm_api_call_t *call)
{
    ngx_str_t            uri;
    ngx_http_request_t  *r;

    r = call->request;

    ngx_str_null(&uri);

    if (call->lcf->login_uri
        && ngx_http_complex_value(r, call->lcf->login_uri, &uri) != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return ngx_adm_respond_sending(r, NGX_HTTP_UNAUTHORIZED, "USER_REQUIRED",
                                   "User required", &uri);
}


static ngx_int_t
ngx_adm_queue_check(ngx_adm_api_call_t *call)
{
    ngx_int_t               rc;
    const char             *why;
    ngx_adm_queue_check_t  *qc;

    if (call->who.len == 0) {
        rc = ngx_adm_queue_newcomer(call);

        if (rc != NGX_DECLINED) {
            return rc;
        }
    }

    qc = ngx_pcalloc(call->request->pool, sizeof(ngx_adm_queue_check_t));
    if (qc == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    call->data = qc;

    qc->ask.event = call->event;
    qc->ask.conf = call->conf;
    qc->ask.user = call->who;

    if (ngx_adm_queue_places(call, &qc->ask) != NGX_OK
        || ngx_adm_entry_find(call->request, &call->event,
                              &call->who, &qc->ask.entry, &why)
           == NGX_ERROR)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (call->value == NGX_ADM_QUEUE_CHECK) {
        return ngx_adm_queue_join(call, &qc->join, ngx_adm_queue_send);
    }

    return ngx_adm_queue_send(call);
}


/*
 * Makes a visitor, and charges the address, once the call is known to be a
 * good one.  That stands whatever becomes of the call, since the next one has
 * the cookie.  NGX_DECLINED: call->who is set; otherwise the call has been
 * answered.
 */

static ngx_int_t
ngx_adm_queue_newcomer(ngx_adm_api_call_t *call)
{
    ngx_int_t             rc;
    ngx_http_request_t   *r;
    ngx_adm_intake_t      in;

    r = call->request;

    ngx_memzero(&in, sizeof(ngx_adm_intake_t));

    in.kind = NGX_ADM_INTAKE_VISITOR;
    in.conf = call->lcf->intake;

    rc = ngx_adm_intake(r, call->ctx, &call->event, &in);

    if (rc == NGX_DECLINED) {
        return ngx_adm_respond_limited(r, in.retry);
    }

    if (rc == NGX_OK) {
        rc = ngx_adm_user_make(r, call->ctx);
        ngx_adm_intake_end(&in, rc == NGX_OK);
    }

    if (rc != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    call->who = call->ctx->user.id;

    return NGX_DECLINED;
}


ngx_int_t
ngx_adm_queue_places(ngx_adm_api_call_t *call, ngx_adm_queue_ask_t *ask)
{
    const char        *why;
    ngx_adm_claims_t  *none;

    return ngx_adm_credentials_find(call->request,
                                    NGX_ADM_TOKEN_PLACE, &call->event,
                                    ngx_adm_queue_place_match, ask, &none, &why)
           == NGX_ERROR ? NGX_ERROR : NGX_OK;
}


/* collects all places that are right, so it never says "this one" */

static ngx_int_t
ngx_adm_queue_place_match(ngx_http_request_t *r, ngx_adm_claims_t *claims,
    void *data, const char **why)
{
    ngx_adm_queue_ask_t *ask = data;

    *why = "another user's place, or one of several";

    if (!ngx_adm_str_same(&claims->sub, &ask->event)
        || !ngx_adm_str_same(&claims->uid, &ask->user))
    {
        return NGX_DECLINED;
    }

    if (ask->places == NULL) {
        ask->places = ngx_palloc(r->pool, NGX_ADM_CREDENTIALS
                                   * sizeof(ngx_adm_claims_t *));
        if (ask->places == NULL) {
            return NGX_ERROR;
        }
    }

    ask->places[ask->nplaces++] = claims;

    return NGX_DECLINED;
}


/*
 * Asks Redis even where nothing is shown that lets join: a user who is in, or
 * waits, need not join.
 */

static ngx_int_t
ngx_adm_queue_send(ngx_adm_api_call_t *call)
{
    ngx_int_t               rc;
    ngx_uint_t              full;
    ngx_adm_together_t     *join;
    ngx_adm_queue_ask_t    *ask;
    ngx_adm_queue_check_t  *qc;
    ngx_adm_queue_answer_t  answer;

    qc = call->data;
    ask = &qc->ask;

    ask->mode = qc->join.why ? NGX_ADM_QUEUE_REPORT : call->value;
    ask->tier1 = qc->join.priority;
    ask->pass = qc->join.pass;

    ask->unbound = call->lcf->dry_run;

    if (call->value == NGX_ADM_QUEUE_CHECK && !call->lcf->dry_run) {
        rc = ngx_adm_queue_phase(call, ask);

        if (rc != NGX_DECLINED) {
            return rc;
        }
    }

    ask->looks = (call->route->handler == ngx_adm_queue_stream_handler);

    if (ngx_adm_queue_line_sold(ask)) {
        return ngx_adm_api_sold_out(call, NGX_ADM_TIER_2);
    }

    full = ngx_adm_queue_line_refuses(ask);
    if (full) {
        return ngx_adm_api_full(call, full);
    }

    rc = ngx_adm_queue_bound(call, &qc->guest, ask);
    if (rc != NGX_DECLINED) {
        return rc;
    }

    if (ngx_adm_queue_view(ask, &answer) == NGX_OK) {
        ngx_adm_queue_bound_note(&qc->guest, &answer);

        return ngx_adm_queue_tells(call, &answer);
    }

    ngx_log_debug4(NGX_LOG_DEBUG_HTTP, call->request->connection->log, 0,
                   "admission: queue asked, event \"%V\", mode %d, "
                   "places %ui, entry token %d", &call->event, ask->mode,
                   ask->nplaces, ask->entry != NULL);

    if (qc->deadline == 0) {
        qc->deadline = ngx_adm_api_deadline(call);
    }

    if (ngx_adm_together_may(ask)) {
        join = ngx_adm_together(ask, ngx_adm_queue_api_done, call);

        if (join) {
            return ngx_adm_wait_content(call->request, ngx_adm_together_cancel,
                                        join);
        }
    }

    return ngx_adm_queue_send_alone(call);
}


static ngx_int_t
ngx_adm_queue_send_alone(ngx_adm_api_call_t *call)
{
    ngx_adm_redis_call_t   *pending;
    ngx_adm_queue_check_t  *qc;

    qc = call->data;

    /*
     * what was asked before, perhaps with others, has taken a part of the time
     */

    if (ngx_adm_redis) {
        ngx_adm_redis_until(ngx_adm_redis, qc->deadline);
    }

    pending = ngx_adm_queue_ask(&qc->ask, ngx_adm_queue_api_done, call);

    if (ngx_adm_redis) {
        ngx_adm_redis_until(ngx_adm_redis, 0);
    }

    if (pending == NULL && qc->guest.unlisted) {
        ngx_adm_unlisted_failed(&qc->guest.user, 0);
    }

    return ngx_adm_api_wait(call, pending);
}


/*
 * Who waits or is in need not join, and who came through the waiting room of a
 * sale that has closed since has joined.  Before a sale opens Redis need not
 * be asked about users who show neither place nor token.  NGX_DECLINED: ask
 * Redis.
 */

static ngx_int_t
ngx_adm_queue_phase(ngx_adm_api_call_t *call, ngx_adm_queue_ask_t *ask)
{
    ngx_adm_room_t          room;
    ngx_adm_sale_t          sale;
    ngx_adm_queue_check_t  *qc;

    qc = call->data;

    switch (ngx_adm_sale_get(&call->event, call->conf, &sale)) {

    case NGX_ADM_PHASE_BEFORE:

        if (ask->nplaces == 0 && ask->entry == NULL) {
            return ngx_adm_sale_refuse(call->request, &call->event, call->conf,
                                       0, NULL);
        }

        qc->join.why = ngx_adm_reason(NOT_OPEN);
        break;

    case NGX_ADM_PHASE_GATHERING:

        if (ngx_adm_order(call->conf) == NGX_ADM_ORDER_ARRIVAL) {
            return NGX_DECLINED;
        }

        /* not before the draw */

        qc->join.why = ngx_adm_reason(NOT_OPEN);
        break;

    case NGX_ADM_PHASE_CLOSED:

        if (ask->pass || ask->tier1) {
            return NGX_DECLINED;
        }

        qc->join.why = ngx_adm_reason(CLOSED);
        break;

    default:

        if (ngx_adm_order(call->conf) == NGX_ADM_ORDER_ARRIVAL
            || ask->nplaces || ask->entry)
        {
            return NGX_DECLINED;
        }

        /*
         * nor is Redis asked about each user while the draw waits for its
         * beacon
         */

        (void) ngx_adm_room_get(&call->event, &room);

        if (room.active && room.order && !ngx_adm_draw_ready(&room)) {
            return ngx_adm_sale_refuse(call->request, &call->event, call->conf,
                                       0, NULL);
        }

        return NGX_DECLINED;
    }

    ask->mode = NGX_ADM_QUEUE_REPORT;

    return NGX_DECLINED;
}


static void
ngx_adm_queue_api_done(void *data, ngx_int_t rc, ngx_adm_queue_answer_t *answer)
{
    ngx_adm_api_call_t *call = data;

    ngx_http_request_t     *r;
    ngx_adm_main_conf_t    *mcf;
    ngx_adm_queue_guest_t  *guest;
    ngx_adm_queue_check_t  *qc;

    r = call->request;
    qc = call->data;
    guest = &qc->guest;

    ngx_adm_wait_over(r);

    ngx_log_debug2(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "admission: queue answered, event \"%V\": rc %i",
                   &call->event, rc);

    if (rc == NGX_AGAIN) {
        ngx_adm_wait_finish(r, ngx_adm_queue_send_alone(call));
        return;
    }

    if (rc != NGX_OK) {

        if (guest->unlisted) {
            ngx_adm_unlisted_failed(&guest->user, 1);
        }

        ngx_adm_wait_finish(r, ngx_adm_api_unavailable(r));
        return;
    }

    ngx_adm_queue_bound_note(guest, answer);

    if (answer->state != NGX_ADM_QUEUE_NEEDS_TIER1) {
        rc = ngx_adm_queue_tells(call, answer);

    } else if (guest->bound) {
        mcf = ngx_http_get_module_main_conf(r, ngx_http_admission_module);

        /* by the answer the host may have learned that the event was named */

        rc = ngx_adm_event_is_named(mcf, &call->event)
             ? ngx_adm_queue_send(call)
             : ngx_adm_queue_over(call, guest);

    } else {
        rc = ngx_adm_queue_needs_tier1(call, answer);
    }

    ngx_adm_wait_finish(r, rc);
}


static ngx_int_t
ngx_adm_queue_tells(ngx_adm_api_call_t *call, ngx_adm_queue_answer_t *answer)
{
    ngx_adm_queue_check_t  *qc;

    qc = call->data;

    return qc->ask.looks ? ngx_adm_queue_stream(call, answer)
                         : ngx_adm_queue_answer(call, answer);
}


static ngx_int_t
ngx_adm_queue_needs_tier1(ngx_adm_api_call_t *call,
    ngx_adm_queue_answer_t *answer)
{
    ngx_log_t              *log;
    ngx_adm_queue_check_t  *qc;

    qc = call->data;
    log = call->request->connection->log;

    if (qc->join.why == NULL) {
        ngx_log_error(NGX_LOG_ERR, log, 0, "admission: a queue script got an "
                      "answer that is not its own from redis");

        return ngx_adm_api_unavailable(call->request);
    }

    call->ctx->verdict = NGX_ADM_VERDICT_TIER1;
    call->ctx->reason = qc->join.why;
    call->ctx->dry_run = call->lcf->dry_run;

    ngx_log_error(NGX_LOG_INFO, log, 0, "admission denied: %s, event \"%V\", "
                  "joining%s", qc->join.why, &call->event,
                  call->lcf->dry_run ? ", dry run" : "");

    if (qc->join.why == ngx_adm_reason(NOT_OPEN)
        || qc->join.why == ngx_adm_reason(CLOSED))
    {
        return ngx_adm_sale_refuse(call->request, &call->event, call->conf,
                                   qc->join.why == ngx_adm_reason(CLOSED),
                                   NULL);
    }

    if (!call->lcf->dry_run) {
        return ngx_adm_queue_answer(call, answer);
    }

    /* joins as if no token were needed */

    qc->join.why = NULL;

    return ngx_adm_queue_send(call);
}
