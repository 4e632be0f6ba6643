
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The calls of admission_queue_api: which there are, and the users'.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_admission_queue_api.h"
#include "ngx_http_admission_queue.h"
#include "ngx_http_admission_body.h"
#include "ngx_http_admission_gate.h"
#include "ngx_http_admission_intake.h"
#include "ngx_http_admission_origin.h"
#include "ngx_http_admission_queue_answer.h"
#include "ngx_http_admission_queue_bound.h"
#include "ngx_http_admission_respond.h"
#include "ngx_http_admission_tier1.h"
#include "ngx_http_admission_token.h"
#include "ngx_http_admission_user.h"
#include "ngx_http_admission_zone.h"


static ngx_int_t ngx_http_admission_queue_ask_handler(
    ngx_http_admission_api_call_t *call);
static ngx_int_t ngx_http_admission_queue_leave_handler(
    ngx_http_admission_api_call_t *call);
static ngx_int_t ngx_http_admission_queue_user(
    ngx_http_admission_api_call_t *call, ngx_uint_t make);
static ngx_int_t ngx_http_admission_queue_no_user(
    ngx_http_admission_api_call_t *call);
static ngx_int_t ngx_http_admission_queue_ask_body(
    ngx_http_admission_api_call_t *call);
static ngx_int_t ngx_http_admission_queue_newcomer(
    ngx_http_admission_api_call_t *call);
static void ngx_http_admission_queue_looked(void *data, ngx_int_t rc,
    int64_t changed, ngx_http_admission_room_t *room);
static ngx_int_t ngx_http_admission_queue_send(
    ngx_http_admission_api_call_t *call);
static ngx_int_t ngx_http_admission_queue_tier1(
    ngx_http_admission_api_call_t *call, ngx_http_admission_queue_ask_t *ask);
static ngx_int_t ngx_http_admission_queue_asks_tier1(
    ngx_http_admission_api_call_t *call);
static ngx_int_t ngx_http_admission_queue_needs_tier1(
    ngx_http_admission_api_call_t *call,
    ngx_http_admission_queue_answer_t *answer);
static ngx_int_t ngx_http_admission_queue_priority(
    ngx_http_admission_api_call_t *call, ngx_http_admission_queue_ask_t *ask,
    ngx_int_t mode);
static ngx_int_t ngx_http_admission_queue_places(
    ngx_http_admission_api_call_t *call, ngx_http_admission_queue_ask_t *ask);
static ngx_uint_t ngx_http_admission_queue_same(ngx_str_t *a, ngx_str_t *b);
static void ngx_http_admission_queue_ask_done(void *data, ngx_int_t rc,
    ngx_http_admission_queue_answer_t *answer);
static ngx_int_t ngx_http_admission_queue_leave_body(
    ngx_http_admission_api_call_t *call);
static ngx_int_t ngx_http_admission_queue_held(
    ngx_http_admission_api_call_t *call);
static void ngx_http_admission_queue_leave_done(void *data, ngx_int_t rc,
    ngx_http_admission_queue_answer_t *answer);
static ngx_int_t ngx_http_admission_queue_left(
    ngx_http_admission_api_call_t *call);
static ngx_uint_t ngx_http_admission_queue_is_beacon(ngx_http_request_t *r);


/*
 * Operators' calls and users' have locations of their own, and none answers
 * the others': what is asked of who joins is what the users' one says.
 */

static const ngx_http_admission_route_t
    ngx_http_admission_queue_admin_routes[] =
{
    { "admin/clear/*",
      NGX_HTTP_POST, "POST",
      ngx_http_admission_queue_admin_handler,
      NGX_HTTP_ADMISSION_QUEUE_CLEAR, 0 },

    { "admin/threshold/*",
      NGX_HTTP_PUT|NGX_HTTP_POST|NGX_HTTP_DELETE, "PUT, POST, DELETE",
      ngx_http_admission_queue_admin_handler,
      NGX_HTTP_ADMISSION_QUEUE_SET_THRESHOLD, 0 },

    { "admin/*",
      NGX_HTTP_GET|NGX_HTTP_HEAD, "GET, HEAD",
      ngx_http_admission_queue_admin_handler,
      NGX_HTTP_ADMISSION_QUEUE_LOOK, 0 },

    { NULL, 0, NULL, NULL, 0, 0 }
};


static const ngx_http_admission_route_t  ngx_http_admission_queue_routes[] = {

    { "check/*",
      NGX_HTTP_POST, "POST",
      ngx_http_admission_queue_ask_handler,
      NGX_HTTP_ADMISSION_QUEUE_CHECK, 0 },

    { "status/*",
      NGX_HTTP_GET|NGX_HTTP_HEAD, "GET, HEAD",
      ngx_http_admission_queue_ask_handler,
      NGX_HTTP_ADMISSION_QUEUE_STATUS, 0 },

    { "heartbeat/*",
      NGX_HTTP_POST, "POST",
      ngx_http_admission_queue_ask_handler,
      NGX_HTTP_ADMISSION_QUEUE_HEARTBEAT, 0 },

    { "leave/*",
      NGX_HTTP_POST|NGX_HTTP_DELETE, "POST, DELETE",
      ngx_http_admission_queue_leave_handler,
      0, 0 },

    { NULL, 0, NULL, NULL, 0, 0 }
};


ngx_int_t
ngx_http_admission_queue_api_handler(ngx_http_request_t *r)
{
    ngx_http_admission_loc_conf_t  *lcf;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    return ngx_http_admission_api_handler(r,
                                lcf->admin
                                ? ngx_http_admission_queue_admin_routes
                                : ngx_http_admission_queue_routes);
}


static ngx_int_t
ngx_http_admission_queue_ask_handler(ngx_http_admission_api_call_t *call)
{
    ngx_int_t  rc;

    call->value = call->route->what;

    if (call->value == NGX_HTTP_ADMISSION_QUEUE_CHECK
        && ngx_http_admission_is_prefetch(call->request))
    {
        call->value = NGX_HTTP_ADMISSION_QUEUE_STATUS;
    }

    rc = ngx_http_admission_queue_user(call,
                                       call->value
                                       == NGX_HTTP_ADMISSION_QUEUE_CHECK);
    if (rc != NGX_DECLINED) {
        return rc;
    }

    return ngx_http_admission_body_read(call,
                                        ngx_http_admission_queue_ask_body);
}


static ngx_int_t
ngx_http_admission_queue_leave_handler(ngx_http_admission_api_call_t *call)
{
    ngx_int_t            rc;
    ngx_http_request_t  *r;

    r = call->request;

    rc = ngx_http_admission_queue_user(call, 0);
    if (rc != NGX_DECLINED) {
        return rc;
    }

    if (!ngx_http_admission_queue_is_beacon(r)) {
        return ngx_http_admission_body_read(call,
                                         ngx_http_admission_queue_leave_body);
    }

    /* whatever a page sends with its beacon */

    call->value = 1;

    rc = ngx_http_discard_request_body(r);
    if (rc != NGX_OK) {
        return rc;
    }

    return ngx_http_admission_queue_leave_body(call);
}


/*
 * NGX_DECLINED: the call is by call->who, or, empty, by a visitor to be made;
 * otherwise it has been answered.
 */

static ngx_int_t
ngx_http_admission_queue_user(ngx_http_admission_api_call_t *call,
    ngx_uint_t make)
{
    ngx_http_request_t             *r;
    ngx_http_admission_user_t      *user;
    ngx_http_admission_verifier_t  *verifiers;

    r = call->request;
    user = &call->ctx->user;
    verifiers = call->lcf->verifiers;

    if (verifiers[NGX_HTTP_ADMISSION_TOKEN_TIER2].keys == NULL
        || verifiers[NGX_HTTP_ADMISSION_TOKEN_PLACE].keys == NULL)
    {
        ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
                      "admission: no \"admission_secret tier2\" here "
                      "to sign what the queue gives out");

        return ngx_http_admission_api_unavailable(r);
    }

    if (ngx_http_admission_user_find(r, call->ctx) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (user->id.len == 0
        && !(make
             && call->lcf->user->source == NGX_HTTP_ADMISSION_USER_VISITOR))
    {
        return ngx_http_admission_queue_no_user(call);
    }

    call->who = user->id;

    return NGX_DECLINED;
}


static ngx_int_t
ngx_http_admission_queue_no_user(ngx_http_admission_api_call_t *call)
{
    ngx_str_t            uri, json, more;
    ngx_http_request_t  *r;

    r = call->request;

    ngx_str_null(&more);

    if (call->lcf->login_uri) {

        if (ngx_http_complex_value(r, call->lcf->login_uri, &uri) != NGX_OK
            || ngx_http_admission_json_string(r->pool, &uri, &json) != NGX_OK)
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

    return ngx_http_admission_respond_error(r, NGX_HTTP_UNAUTHORIZED,
                                            "USER_REQUIRED", "User required",
                                            &more);
}


static ngx_int_t
ngx_http_admission_queue_ask_body(ngx_http_admission_api_call_t *call)
{
    ngx_int_t                         rc, mode;
    ngx_http_admission_room_t         room;
    ngx_http_admission_redis_call_t  *pending;

    if (call->who.len == 0) {
        rc = ngx_http_admission_queue_newcomer(call);

        if (rc != NGX_DECLINED) {
            return rc;
        }
    }

    if (call->value != NGX_HTTP_ADMISSION_QUEUE_CHECK) {
        return ngx_http_admission_queue_send(call);
    }

    mode = ngx_http_admission_queue_asks_tier1(call);

    if (mode == NGX_ERROR) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (mode == NGX_HTTP_ADMISSION_OFF) {
        return ngx_http_admission_queue_send(call);
    }

    if (ngx_http_admission_tier1_room(call->request, &call->event, &room)
        == NGX_OK)
    {
        if (ngx_http_admission_tier1_pending(call->conf, &room)) {
            return ngx_http_admission_api_unavailable(call->request);
        }

        return ngx_http_admission_queue_send(call);
    }

    pending = ngx_http_admission_vwr_admin(NGX_HTTP_ADMISSION_VWR_LOOK, 0,
                                           &call->event, call->conf,
                                           ngx_http_admission_queue_looked,
                                           call);

    return ngx_http_admission_api_wait(call, pending);
}


/*
 * A visitor is made, and charged, once the call is known to be a good one, and
 * is not taken back whatever becomes of it: the cookie will do for the next.
 * NGX_DECLINED: it is call->who; otherwise it has been answered.
 */

static ngx_int_t
ngx_http_admission_queue_newcomer(ngx_http_admission_api_call_t *call)
{
    ngx_int_t                     rc;
    ngx_http_request_t           *r;
    ngx_http_admission_intake_t   in;

    r = call->request;

    ngx_memzero(&in, sizeof(ngx_http_admission_intake_t));

    in.kind = NGX_HTTP_ADMISSION_INTAKE_VISITOR;
    in.conf = call->lcf->intake;

    rc = ngx_http_admission_intake(r, call->ctx, &call->event, &in);

    if (rc == NGX_DECLINED) {
        return ngx_http_admission_respond_limited(r, in.retry);
    }

    if (rc == NGX_OK) {
        rc = ngx_http_admission_user_make(r, call->ctx);
        ngx_http_admission_intake_end(&in, rc == NGX_OK);
    }

    if (rc != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    call->who = call->ctx->user.id;

    return NGX_DECLINED;
}


static void
ngx_http_admission_queue_looked(void *data, ngx_int_t rc, int64_t changed,
    ngx_http_admission_room_t *room)
{
    ngx_http_admission_api_call_t *call = data;

    ngx_http_admission_api_resume(call);

    if (rc == NGX_OK
        && !ngx_http_admission_tier1_pending(call->conf, room))
    {
        ngx_http_admission_tier1_told(call->request, room);
        rc = ngx_http_admission_queue_send(call);

    } else {
        rc = ngx_http_admission_api_unavailable(call->request);
    }

    ngx_http_admission_api_finish(call, rc);
}


static ngx_int_t
ngx_http_admission_queue_send(ngx_http_admission_api_call_t *call)
{
    ngx_int_t                         rc;
    const char                       *why;
    ngx_http_admission_queue_ask_t    ask;
    ngx_http_admission_redis_call_t  *pending;

    ngx_memzero(&ask, sizeof(ngx_http_admission_queue_ask_t));

    ask.event = call->event;
    ask.conf = call->conf;
    ask.user = call->who;
    ask.mode = call->value;
    call->why = NULL;

    if (ngx_http_admission_queue_places(call, &ask) != NGX_OK
        || ngx_http_admission_queue_tier1(call, &ask) != NGX_OK
        || ngx_http_admission_token_find(call->request,
                                         NGX_HTTP_ADMISSION_TOKEN_TIER2,
                                         &call->event, &call->who, &ask.entry,
                                         &why)
           == NGX_ERROR)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    rc = ngx_http_admission_queue_bound(call, &ask);
    if (rc != NGX_DECLINED) {
        return rc;
    }

    pending = ngx_http_admission_queue_ask(&ask,
                                           ngx_http_admission_queue_ask_done,
                                           call);
    if (pending == NULL) {
        ngx_http_admission_queue_bound_failed(call, 0);
    }

    return ngx_http_admission_api_wait(call, pending);
}


/*
 * Joining alone asks for priority, by the first token that gives any, and,
 * where tier 1 is in force, for a token at all.
 */

static ngx_int_t
ngx_http_admission_queue_tier1(ngx_http_admission_api_call_t *call,
    ngx_http_admission_queue_ask_t *ask)
{
    ngx_int_t                         rc, mode;
    const char                       *why;
    ngx_http_request_t               *r;
    ngx_http_admission_room_t         room;
    ngx_http_admission_claims_t      *claims;

    r = call->request;

    if (ask->mode != NGX_HTTP_ADMISSION_QUEUE_CHECK
        || call->lcf->verifiers[NGX_HTTP_ADMISSION_TOKEN_TIER1].keys == NULL)
    {
        return NGX_OK;
    }

    mode = ngx_http_admission_tier1_mode(r, call->conf);

    if (mode == NGX_ERROR
        || ngx_http_admission_queue_priority(call, ask, mode) != NGX_OK)
    {
        return NGX_ERROR;
    }

    mode = ngx_http_admission_queue_asks_tier1(call);

    if (mode == NGX_ERROR) {
        return NGX_ERROR;
    }

    if (mode == NGX_HTTP_ADMISSION_OFF
        || (ngx_http_admission_tier1_room(r, &call->event, &room) == NGX_OK
            && !room.active))
    {
        return NGX_OK;
    }

    rc = ngx_http_admission_tier1_find(r, &call->event, room.activation,
                                       &claims, &why);
    if (rc == NGX_ERROR) {
        return NGX_ERROR;
    }

    if (rc == NGX_DECLINED) {
        ask->mode = NGX_HTTP_ADMISSION_QUEUE_REPORT;
        call->why = why;

    } else {
        ask->pass = claims;
    }

    return NGX_OK;
}


/*
 * As ngx_http_admission_tier1_mode(), and off for whom the tiers let pass, and
 * in a dry run once it is known that who asks would have been refused.
 */

static ngx_int_t
ngx_http_admission_queue_asks_tier1(ngx_http_admission_api_call_t *call)
{
    ngx_int_t    mode, rc;
    const char  *reason;

    mode = ngx_http_admission_tier1_mode(call->request, call->conf);

    if (mode == NGX_ERROR || mode == NGX_HTTP_ADMISSION_OFF) {
        return mode;
    }

    if (call->lcf->dry_run
        && call->ctx->verdict == NGX_HTTP_ADMISSION_VERDICT_TIER1)
    {
        return NGX_HTTP_ADMISSION_OFF;
    }

    rc = ngx_http_admission_gate_bypassed(call->request, call->ctx, &reason);

    if (rc == NGX_ERROR) {
        return NGX_ERROR;
    }

    return (rc == NGX_OK) ? NGX_HTTP_ADMISSION_OFF : mode;
}


static ngx_int_t
ngx_http_admission_queue_priority(ngx_http_admission_api_call_t *call,
    ngx_http_admission_queue_ask_t *ask, ngx_int_t mode)
{
    ngx_int_t                         rc;
    ngx_uint_t                        i;
    const char                       *why;
    ngx_http_request_t               *r;
    ngx_http_admission_claims_t      *claims;
    ngx_http_admission_candidates_t   found;

    r = call->request;

    ngx_http_admission_token_candidates(r, NGX_HTTP_ADMISSION_TOKEN_TIER1,
                                        &call->event, &found);

    for (i = 0; i < found.n; i++) {

        rc = ngx_http_admission_token_verify(
                       &call->lcf->verifiers[NGX_HTTP_ADMISSION_TOKEN_TIER1],
                       &found.value[i], ngx_http_admission_now(), r->pool,
                       &claims, &why);

        if (rc == NGX_OK
            && ngx_http_admission_queue_same(&claims->sub, &call->event)
            && claims->position > 0 && claims->at > 0
            && claims->act > 0 && claims->adm > 0)
        {
            if (mode != NGX_HTTP_ADMISSION_OFF) {
                rc = ngx_http_admission_tier1_bound(r, claims);
            }

            if (rc == NGX_OK) {
                ask->tier1 = claims;
                return NGX_OK;
            }
        }

        if (rc == NGX_ERROR) {
            return NGX_ERROR;
        }
    }

    return NGX_OK;
}


/* all of them: which counts, and which is the best, Redis knows */

static ngx_int_t
ngx_http_admission_queue_places(ngx_http_admission_api_call_t *call,
    ngx_http_admission_queue_ask_t *ask)
{
    ngx_int_t                         rc;
    ngx_uint_t                        i;
    const char                       *why;
    ngx_http_request_t               *r;
    ngx_http_admission_claims_t      *claims;
    ngx_http_admission_verifier_t    *verifier;
    ngx_http_admission_candidates_t   found;

    r = call->request;
    verifier = &call->lcf->verifiers[NGX_HTTP_ADMISSION_TOKEN_PLACE];

    ngx_http_admission_token_candidates(r, NGX_HTTP_ADMISSION_TOKEN_PLACE,
                                        &call->event, &found);

    if (found.n == 0) {
        return NGX_OK;
    }

    ask->places = ngx_palloc(r->pool, found.n
                             * sizeof(ngx_http_admission_claims_t *));
    if (ask->places == NULL) {
        return NGX_ERROR;
    }

    for (i = 0; i < found.n; i++) {

        rc = ngx_http_admission_token_verify(verifier, &found.value[i],
                                             ngx_http_admission_now(),
                                             r->pool, &claims, &why);
        if (rc == NGX_ERROR) {
            return NGX_ERROR;
        }

        if (rc == NGX_OK
            && ngx_http_admission_queue_same(&claims->sub, &call->event)
            && ngx_http_admission_queue_same(&claims->uid, &call->who))
        {
            ask->places[ask->nplaces++] = claims;
        }
    }

    return NGX_OK;
}


static ngx_uint_t
ngx_http_admission_queue_same(ngx_str_t *a, ngx_str_t *b)
{
    return a->len == b->len && ngx_memcmp(a->data, b->data, a->len) == 0;
}


static void
ngx_http_admission_queue_ask_done(void *data, ngx_int_t rc,
    ngx_http_admission_queue_answer_t *answer)
{
    ngx_http_admission_api_call_t *call = data;

    ngx_http_admission_api_resume(call);

    if (rc != NGX_OK) {
        ngx_http_admission_queue_bound_failed(call, 1);
        rc = ngx_http_admission_api_unavailable(call->request);

    } else {
        ngx_http_admission_queue_bound_told(call, answer);

        if (answer->state != NGX_HTTP_ADMISSION_QUEUE_NEEDS_TIER1) {
            rc = ngx_http_admission_queue_answer(call, answer);

        } else if (call->bound) {
            rc = ngx_http_admission_queue_bound_named(call)
                 ? ngx_http_admission_queue_send(call)
                 : ngx_http_admission_queue_over(call);

        } else {
            rc = ngx_http_admission_queue_needs_tier1(call, answer);
        }
    }

    ngx_http_admission_api_finish(call, rc);
}


static ngx_int_t
ngx_http_admission_queue_needs_tier1(ngx_http_admission_api_call_t *call,
    ngx_http_admission_queue_answer_t *answer)
{
    if (call->why == NULL) {
        ngx_log_error(NGX_LOG_ERR, call->request->connection->log, 0,
                      "admission: a queue script got an answer that is not "
                      "its own from redis");

        return ngx_http_admission_api_unavailable(call->request);
    }

    call->ctx->verdict = NGX_HTTP_ADMISSION_VERDICT_TIER1;
    call->ctx->reason = call->why;
    call->ctx->dry_run = call->lcf->dry_run;

    ngx_log_error(NGX_LOG_INFO, call->request->connection->log, 0,
                  "admission denied: %s, event \"%V\", joining%s",
                  call->why, &call->event,
                  call->lcf->dry_run ? ", dry run" : "");

    return call->lcf->dry_run ? ngx_http_admission_queue_send(call)
                              : ngx_http_admission_queue_answer(call, answer);
}


static ngx_int_t
ngx_http_admission_queue_leave_body(ngx_http_admission_api_call_t *call)
{
    ngx_int_t                         held;
    ngx_http_admission_redis_call_t  *pending;

    held = ngx_http_admission_queue_held(call);

    if (held == NGX_ERROR) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    pending = ngx_http_admission_queue_leave(&call->event, call->conf,
                                          &call->who, call->value, held,
                                          ngx_http_admission_queue_leave_done,
                                          call);

    return ngx_http_admission_api_wait(call, pending);
}


/* what the user shows that was given out here; NGX_ERROR: no memory */

static ngx_int_t
ngx_http_admission_queue_held(ngx_http_admission_api_call_t *call)
{
    ngx_int_t                        rc;
    const char                      *why;
    ngx_http_admission_claims_t     *entry;
    ngx_http_admission_queue_ask_t   ask;

    rc = ngx_http_admission_token_find(call->request,
                                       NGX_HTTP_ADMISSION_TOKEN_TIER2,
                                       &call->event, &call->who, &entry,
                                       &why);
    if (rc == NGX_ERROR) {
        return NGX_ERROR;
    }

    if (rc != NGX_DECLINED) {
        /* one that may have been ended, too */
        return NGX_HTTP_ADMISSION_HELD_ENTRY;
    }

    ngx_memzero(&ask, sizeof(ngx_http_admission_queue_ask_t));

    if (ngx_http_admission_queue_places(call, &ask) != NGX_OK) {
        return NGX_ERROR;
    }

    return ask.nplaces ? NGX_HTTP_ADMISSION_HELD_PLACE
                       : NGX_HTTP_ADMISSION_HELD_NOTHING;
}


static void
ngx_http_admission_queue_leave_done(void *data, ngx_int_t rc,
    ngx_http_admission_queue_answer_t *answer)
{
    ngx_http_admission_api_call_t *call = data;

    ngx_http_admission_api_resume(call);

    if (rc == NGX_OK) {
        ngx_http_admission_queue_bound_left(call);
        rc = ngx_http_admission_queue_left(call);

    } else {
        rc = ngx_http_admission_api_unavailable(call->request);
    }

    ngx_http_admission_api_finish(call, rc);
}


static ngx_int_t
ngx_http_admission_queue_left(ngx_http_admission_api_call_t *call)
{
    ngx_http_request_t  *r;

    r = call->request;

    /* a beacon may be a refresh: the page comes back and needs its cookies */

    if (!call->value
        && (ngx_http_admission_token_clear(r, NGX_HTTP_ADMISSION_TOKEN_PLACE,
                                           &call->event)
            != NGX_OK
            || ngx_http_admission_token_clear(r,
                                              NGX_HTTP_ADMISSION_TOKEN_TIER2,
                                              &call->event)
               != NGX_OK))
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return ngx_http_admission_api_json(r, 0, "{\"message\":\"Left queue\"}");
}


static ngx_uint_t
ngx_http_admission_queue_is_beacon(ngx_http_request_t *r)
{
    ngx_str_t         value;
    ngx_table_elt_t  *h;

    h = ngx_http_admission_header(r, "sec-fetch-mode");

    if (h
        && h->value.len == sizeof("no-cors") - 1
        && ngx_strncmp(h->value.data, "no-cors", h->value.len) == 0)
    {
        return 1;
    }

    return ngx_http_arg(r, (u_char *) "beacon", sizeof("beacon") - 1, &value)
           == NGX_OK
           && value.len == 1 && value.data[0] == '1';
}
