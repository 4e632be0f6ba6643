
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The operators' calls about one waiting room: to turn it on and off, to move
 * its counter, to set its rate.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../host/draw.h"
#include "../host/hold.h"
#include "../host/sale.h"
#include "../host/standby.h"
#include "../host/there.h"
#include "../http/body.h"
#include "../http/follow.h"
#include "../http/operator.h"
#include "../http/respond.h"
#include "admin_api.h"
#include "admin_list.h"
#include "calls.h"


#define NGX_ADM_BATCH      500           /* of advance */
#define NGX_ADM_BATCH_MAX  1000000000


static ngx_int_t ngx_adm_admin_body(ngx_adm_api_call_t *call);
static ngx_adm_room_calls_what_e ngx_adm_admin_what(ngx_adm_api_call_t *call);
static ngx_int_t ngx_adm_admin_allowed(ngx_adm_api_call_t *call,
    ngx_adm_room_calls_what_e what);
static ngx_int_t ngx_adm_admin_value(ngx_adm_api_call_t *call,
    ngx_adm_room_calls_what_e what);
static ngx_uint_t ngx_adm_admin_gathers(ngx_adm_api_call_t *call);
static ngx_int_t ngx_adm_admin_by_config(ngx_adm_api_call_t *call,
    const char *text);
static ngx_int_t ngx_adm_admin_gathering(ngx_adm_api_call_t *call);
static int64_t ngx_adm_admin_batch(json_t *body);
static void ngx_adm_admin_done(void *data, ngx_int_t rc, int64_t changed,
    ngx_adm_room_t *room);
static ngx_int_t ngx_adm_admin_answer(ngx_adm_api_call_t *call, int64_t changed,
    ngx_adm_room_t *room);
static ngx_int_t ngx_adm_admin_status(ngx_adm_api_call_t *call,
    ngx_adm_room_t *room);
static void ngx_adm_admin_log(ngx_adm_api_call_t *call, int64_t changed,
    ngx_adm_room_t *room);


ngx_int_t
ngx_adm_admin_handler(ngx_adm_api_call_t *call)
{
    ngx_int_t  rc;

    rc = ngx_adm_operator(call);
    if (rc != NGX_DECLINED) {
        return rc;
    }

    return ngx_adm_body_read(call, ngx_adm_admin_body);
}


/* asks the waiting room for what the call says, with call->value its number */

static ngx_int_t
ngx_adm_admin_body(ngx_adm_api_call_t *call)
{
    ngx_int_t                   rc;
    ngx_adm_room_calls_what_e   what;

    what = ngx_adm_admin_what(call);

    rc = ngx_adm_admin_allowed(call, what);

    if (rc == NGX_DECLINED) {
        rc = ngx_adm_admin_value(call, what);
    }

    if (rc != NGX_DECLINED) {
        return rc;
    }

    return ngx_adm_api_wait(call,
               ngx_adm_room_calls_admin(what, call->value, &call->event,
                                        call->conf,
                                        ngx_adm_admin_done,
                                        call));
}


/* a route, by its method and arguments, may stand for more than one thing */

static ngx_adm_room_calls_what_e
ngx_adm_admin_what(ngx_adm_api_call_t *call)
{
    ngx_http_request_t  *r;

    r = call->request;

    switch (call->route->what) {

    case NGX_ADM_ROOM_CALL_ACTIVATE:

        if (ngx_adm_arg_flag(r, "restart")) {
            return NGX_ADM_ROOM_CALL_RESTART;
        }

        return ngx_adm_arg_flag(r, "resume") ? NGX_ADM_ROOM_CALL_RESUME
                                             : NGX_ADM_ROOM_CALL_ACTIVATE;

    case NGX_ADM_ROOM_CALL_SET_RATE:
        return (r->method == NGX_HTTP_DELETE) ? NGX_ADM_ROOM_CALL_UNSET_RATE
                                              : NGX_ADM_ROOM_CALL_SET_RATE;

    default:
        return call->route->what;
    }
}


/* NGX_DECLINED: neither the configuration nor the event's state forbids it */

static ngx_int_t
ngx_adm_admin_allowed(ngx_adm_api_call_t *call, ngx_adm_room_calls_what_e what)
{
    ngx_adm_hold_t  hold;

    switch (what) {

    case NGX_ADM_ROOM_CALL_ACTIVATE:
    case NGX_ADM_ROOM_CALL_RESTART:
    case NGX_ADM_ROOM_CALL_RESUME:

        if (call->conf->vwr == NGX_ADM_OFF) {
            return ngx_adm_admin_by_config(call, "The configuration says "
                                           "\\\"vwr=off\\\"");
        }

        break;

    case NGX_ADM_ROOM_CALL_DEACTIVATE:

        if (ngx_adm_room_is_kept(call->conf)) {
            return ngx_adm_admin_by_config(call,
                       call->conf->vwr == NGX_ADM_ON
                       ? "The configuration says \\\"vwr=on\\\""
                       : "The configuration says \\\"vwr=standby\\\"");
        }

        break;

    default:
        break;
    }

    if ((what == NGX_ADM_ROOM_CALL_RESTART
         || what == NGX_ADM_ROOM_CALL_DEACTIVATE
         || what == NGX_ADM_ROOM_CALL_ADVANCE)
        && ngx_adm_admin_gathers(call))
    {
        return ngx_adm_admin_gathering(call);
    }

    if (what == NGX_ADM_ROOM_CALL_ADVANCE
        && ngx_adm_hold_get(&call->event, &hold))
    {
        return ngx_adm_respond_error(call->request, NGX_HTTP_CONFLICT,
                                     "ON_HOLD",
                                     "The event is held: let it go first",
                                     NULL);
    }

    return NGX_DECLINED;
}


/* NGX_DECLINED: call->value is the number that goes with the call, if any */

static ngx_int_t
ngx_adm_admin_value(ngx_adm_api_call_t *call, ngx_adm_room_calls_what_e what)
{
    switch (what) {

    case NGX_ADM_ROOM_CALL_ADVANCE:
        call->value = ngx_adm_admin_batch(call->body);

        if (call->value < 1 || call->value > NGX_ADM_BATCH_MAX) {
            return ngx_adm_respond_error(call->request, NGX_HTTP_BAD_REQUEST,
                               "INVALID_BATCH",
                               "The body has to be {\\\"batchSize\\\": N} with "
                               "N from 1 to 1000000000", NULL);
        }

        break;

    case NGX_ADM_ROOM_CALL_SET_RATE:
        call->value = ngx_adm_arg_number(call->request, "rate",
                                         NGX_ADM_ROOM_RATE_MAX);
        if (call->value < 0) {
            return ngx_adm_respond_error(call->request, NGX_HTTP_BAD_REQUEST,
                                         "INVALID_RATE",
                                         "rate= must be a number from 0 to "
                                         "1000000", NULL);
        }

        break;

    default:
        break;
    }

    return NGX_DECLINED;
}


/* whether the event's sale, as this host knows it, has not begun to let in */

static ngx_uint_t
ngx_adm_admin_gathers(ngx_adm_api_call_t *call)
{
    ngx_adm_room_t  room;
    ngx_adm_sale_t  sale;

    if (ngx_adm_sale_get(&call->event, call->conf, &sale)
        == NGX_ADM_PHASE_GATHERING)
    {
        return 1;
    }

    (void) ngx_adm_room_get(&call->event, &room);

    return room.active && room.order && !ngx_adm_draw_ready(&room);
}


static ngx_int_t
ngx_adm_admin_by_config(ngx_adm_api_call_t *call, const char *text)
{
    return ngx_adm_respond_error(call->request, NGX_HTTP_CONFLICT,
                                 "SET_BY_CONFIG", text, NULL);
}


/* tickets are out, and nobody is let in before the start: that can be moved */

static ngx_int_t
ngx_adm_admin_gathering(ngx_adm_api_call_t *call)
{
    return ngx_adm_respond_error(call->request, NGX_HTTP_CONFLICT,
                                 "GATHERING", "The sale gathers people until "
                                 "it starts", NULL);
}


/* 0: the body is not what it should be; body NULL: the request has none */

static int64_t
ngx_adm_admin_batch(json_t *body)
{
    json_t  *size;

    size = json_object_get(body, "batchSize");

    if (size == NULL && (body == NULL || json_is_object(body))) {
        return NGX_ADM_BATCH;
    }

    return json_integer_value(size);
}


static void
ngx_adm_admin_done(void *data, ngx_int_t rc, int64_t changed,
    ngx_adm_room_t *room)
{
    ngx_adm_api_call_t *call = data;

    ngx_adm_wait_over(call->request);

    if (rc == NGX_OK && changed < 0) {
        /* gathers by times that this host had not heard of */
        rc = ngx_adm_admin_gathering(call);

    } else if (rc == NGX_OK) {
        ngx_adm_admin_log(call, changed, room);
        rc = ngx_adm_admin_answer(call, changed, room);

    } else {
        rc = ngx_adm_api_unavailable(call->request);
    }

    ngx_adm_wait_finish(call->request, rc);
}


static ngx_int_t
ngx_adm_admin_answer(ngx_adm_api_call_t *call, int64_t changed,
    ngx_adm_room_t *room)
{
    ngx_str_t           *event;
    ngx_http_request_t  *r;

    r = call->request;
    event = &call->event;

    switch (call->route->what) {

    case NGX_ADM_ROOM_CALL_ACTIVATE:

        if (!changed) {
            return ngx_adm_respond_error(r, NGX_HTTP_CONFLICT, "ALREADY_ACTIVE",
                                         "Active already", NULL);
        }

        return ngx_adm_api_json(r, event->len,
                                "{\"eventId\":\"%V\",\"status\":\"activated\"}",
                                event);

    case NGX_ADM_ROOM_CALL_DEACTIVATE:
        return ngx_adm_api_json(r, event->len,
                           "{\"eventId\":\"%V\",\"status\":\"deactivated\"}",
                           event);

    case NGX_ADM_ROOM_CALL_ADVANCE:

        if (!changed) {
            return ngx_adm_api_json(r, event->len,
                             "{\"eventId\":\"%V\",\"status\":\"caught_up\"}",
                             event);
        }

        return ngx_adm_api_json(r, event->len,
                   "{\"eventId\":\"%V\",\"servingCounter\":%L,"
                   "\"advanced\":%L}", event, room->serving, changed);

    case NGX_ADM_ROOM_CALL_SET_RATE:
        return ngx_adm_api_json(r, event->len,
                                "{\"eventId\":\"%V\",\"rate\":%L}", event,
                                room->rate / 1000);

    default: /* NGX_ADM_ROOM_CALL_LOOK */
        return ngx_adm_admin_status(call, room);
    }
}


static ngx_int_t
ngx_adm_admin_status(ngx_adm_api_call_t *call, ngx_adm_room_t *room)
{
    u_char           come[NGX_ADM_ROOM_COME];
    ngx_str_t        members;
    const char      *set_by;
    ngx_adm_room_t   known;

    if (ngx_adm_follow_members(call->request->pool, &call->event, call->conf,
                               room->rate / 1000, -1, &members) != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    set_by = room->by_config ? "\"config\"" : "\"api\"";

    /* the measured rate comes from the last step, and this answer is of none */

    (void) ngx_adm_room_get(&call->event, &known);
    *ngx_adm_room_come(come, come + sizeof(come) - 1, &known) = '\0';

    return ngx_adm_api_json(call->request,
               call->event.len + sizeof("\"config\"") - 1 + members.len
               + NGX_ADM_STANDBY_MEMBER + ngx_strlen(come),
               "{\"eventId\":\"%V\",\"isActive\":%s,\"nextPosition\":%L,"
               "\"servingCounter\":%L,\"waiting\":%L,\"there\":%L,"
               "\"rate\":%L,\"activation\":%L,\"setBy\":%s%V%s%s}",
               &call->event, room->active ? "true" : "false", room->next,
               room->serving, ngx_max(room->next - room->serving, 0),
               room->active ? ngx_adm_there_waiting(&call->event, room) : 0,
               room->rate / 1000, room->activation,
               room->activation ? set_by : "null", &members,
               ngx_adm_standby_member(&call->event, call->conf), come);
}


static void
ngx_adm_admin_log(ngx_adm_api_call_t *call, int64_t changed,
    ngx_adm_room_t *room)
{
    u_char  text[sizeof("waiting room advanced by  to ") + 2 * NGX_INT64_LEN];

    switch (call->route->what) {

    case NGX_ADM_ROOM_CALL_ACTIVATE:

        if (changed) {
            ngx_adm_operator_log(call,
                ngx_adm_arg_flag(call->request, "resume")
                ? "waiting room resumed" : "waiting room activated");
        }

        break;

    case NGX_ADM_ROOM_CALL_DEACTIVATE:
        ngx_adm_operator_log(call, "waiting room deactivated");
        break;

    case NGX_ADM_ROOM_CALL_ADVANCE:

        if (changed) {
            ngx_sprintf(text, "waiting room advanced by %L to %L%Z",
                        changed, room->serving);
            ngx_adm_operator_log(call, (char *) text);
        }

        break;

    case NGX_ADM_ROOM_CALL_SET_RATE:

        if (call->request->method == NGX_HTTP_DELETE) {
            ngx_adm_operator_log(call, "rate set back");
            break;
        }

        ngx_sprintf(text, "rate set to %L%Z", call->value);
        ngx_adm_operator_log(call, (char *) text);
        break;

    default: /* NGX_ADM_ROOM_CALL_LOOK */
        break;
    }
}
