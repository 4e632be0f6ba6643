
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The operators' calls that turn waiting rooms on and off.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_admission_admin_api.h"
#include "ngx_http_admission_admin_list.h"
#include "ngx_http_admission_body.h"
#include "ngx_http_admission_operator.h"
#include "ngx_http_admission_respond.h"
#include "ngx_http_admission_vwr.h"


#define NGX_HTTP_ADMISSION_BATCH      500           /* of advance */
#define NGX_HTTP_ADMISSION_BATCH_MAX  1000000000


/* call->value is the number that a call is about */

static ngx_int_t ngx_http_admission_admin_handler(
    ngx_http_admission_api_call_t *call);
static ngx_int_t ngx_http_admission_admin_body(
    ngx_http_admission_api_call_t *call);
static ngx_int_t ngx_http_admission_admin_activate(
    ngx_http_admission_api_call_t *call);
static ngx_int_t ngx_http_admission_admin_deactivate(
    ngx_http_admission_api_call_t *call);
static ngx_int_t ngx_http_admission_admin_set_by_config(
    ngx_http_admission_api_call_t *call, const char *text);
static ngx_int_t ngx_http_admission_admin_advance(
    ngx_http_admission_api_call_t *call);
static ngx_int_t ngx_http_admission_admin_rate(
    ngx_http_admission_api_call_t *call);
static ngx_int_t ngx_http_admission_admin_ask(
    ngx_http_admission_api_call_t *call,
    ngx_http_admission_vwr_what_e what);
static void ngx_http_admission_admin_done(void *data, ngx_int_t rc,
    int64_t changed, ngx_http_admission_room_t *room);
static ngx_int_t ngx_http_admission_admin_answer(
    ngx_http_admission_api_call_t *call, int64_t changed,
    ngx_http_admission_room_t *room);
static ngx_int_t ngx_http_admission_admin_status(
    ngx_http_admission_api_call_t *call, ngx_http_admission_room_t *room);
static void ngx_http_admission_admin_log(ngx_http_admission_api_call_t *call,
    int64_t changed, ngx_http_admission_room_t *room);
static ngx_uint_t ngx_http_admission_admin_flag(ngx_http_request_t *r,
    ngx_str_t *name);


static const ngx_http_admission_route_t  ngx_http_admission_admin_routes[] = {

    { "activate/*",
      NGX_HTTP_POST, "POST",
      ngx_http_admission_admin_handler,
      NGX_HTTP_ADMISSION_VWR_ACTIVATE, 1 },

    { "deactivate/*",
      NGX_HTTP_POST, "POST",
      ngx_http_admission_admin_handler,
      NGX_HTTP_ADMISSION_VWR_DEACTIVATE, 0 },

    { "status/*",
      NGX_HTTP_GET|NGX_HTTP_HEAD, "GET, HEAD",
      ngx_http_admission_admin_handler,
      NGX_HTTP_ADMISSION_VWR_LOOK, 0 },

    { "advance/*",
      NGX_HTTP_POST, "POST",
      ngx_http_admission_admin_handler,
      NGX_HTTP_ADMISSION_VWR_ADVANCE, 0 },

    { "rate/*",
      NGX_HTTP_PUT|NGX_HTTP_DELETE, "PUT, DELETE",
      ngx_http_admission_admin_handler,
      NGX_HTTP_ADMISSION_VWR_SET_RATE, 0 },

    { "status",
      NGX_HTTP_GET|NGX_HTTP_HEAD, "GET, HEAD",
      ngx_http_admission_admin_list,
      0, 0 },

    { NULL, 0, NULL, NULL, 0, 0 }
};


ngx_int_t
ngx_http_admission_admin_api_handler(ngx_http_request_t *r)
{
    return ngx_http_admission_api_handler(r, ngx_http_admission_admin_routes);
}


static ngx_int_t
ngx_http_admission_admin_handler(ngx_http_admission_api_call_t *call)
{
    ngx_int_t  rc;

    rc = ngx_http_admission_operator(call);
    if (rc != NGX_DECLINED) {
        return rc;
    }

    return ngx_http_admission_body_read(call, ngx_http_admission_admin_body);
}


static ngx_int_t
ngx_http_admission_admin_body(ngx_http_admission_api_call_t *call)
{
    switch (call->route->what) {

    case NGX_HTTP_ADMISSION_VWR_ACTIVATE:
        return ngx_http_admission_admin_activate(call);

    case NGX_HTTP_ADMISSION_VWR_DEACTIVATE:
        return ngx_http_admission_admin_deactivate(call);

    case NGX_HTTP_ADMISSION_VWR_ADVANCE:
        return ngx_http_admission_admin_advance(call);

    case NGX_HTTP_ADMISSION_VWR_SET_RATE:
        return ngx_http_admission_admin_rate(call);

    default: /* NGX_HTTP_ADMISSION_VWR_LOOK */
        return ngx_http_admission_admin_ask(call,
                                            NGX_HTTP_ADMISSION_VWR_LOOK);
    }
}


static ngx_int_t
ngx_http_admission_admin_activate(ngx_http_admission_api_call_t *call)
{
    static ngx_str_t  restart = ngx_string("restart");
    static ngx_str_t  resume = ngx_string("resume");

    if (call->conf->vwr == NGX_HTTP_ADMISSION_VWR_OFF) {
        return ngx_http_admission_admin_set_by_config(call,
                                    "The configuration says \\\"vwr=off\\\"");
    }

    if (ngx_http_admission_admin_flag(call->request, &restart)) {
        return ngx_http_admission_admin_ask(call,
                                            NGX_HTTP_ADMISSION_VWR_RESTART);
    }

    if (ngx_http_admission_admin_flag(call->request, &resume)) {
        return ngx_http_admission_admin_ask(call,
                                            NGX_HTTP_ADMISSION_VWR_RESUME);
    }

    return ngx_http_admission_admin_ask(call, NGX_HTTP_ADMISSION_VWR_ACTIVATE);
}


static ngx_int_t
ngx_http_admission_admin_deactivate(ngx_http_admission_api_call_t *call)
{
    if (call->conf->vwr == NGX_HTTP_ADMISSION_VWR_ON) {
        return ngx_http_admission_admin_set_by_config(call,
                                     "The configuration says \\\"vwr=on\\\"");
    }

    return ngx_http_admission_admin_ask(call,
                                        NGX_HTTP_ADMISSION_VWR_DEACTIVATE);
}


static ngx_int_t
ngx_http_admission_admin_set_by_config(ngx_http_admission_api_call_t *call,
    const char *text)
{
    return ngx_http_admission_respond_error(call->request, NGX_HTTP_CONFLICT,
                                            "SET_BY_CONFIG", text, NULL);
}


static ngx_int_t
ngx_http_admission_admin_advance(ngx_http_admission_api_call_t *call)
{
    json_t  *size;

    call->value = NGX_HTTP_ADMISSION_BATCH;

    if (call->body) {
        size = json_object_get(call->body, "batchSize");

        if (size || !json_is_object(call->body)) {
            call->value = json_is_integer(size) ? json_integer_value(size)
                                                : 0;
        }
    }

    if (call->value < 1 || call->value > NGX_HTTP_ADMISSION_BATCH_MAX) {
        return ngx_http_admission_respond_error(call->request,
                               NGX_HTTP_BAD_REQUEST, "INVALID_BATCH",
                               "The body has to be {\\\"batchSize\\\": N} with "
                               "N from 1 to 1000000000", NULL);
    }

    return ngx_http_admission_admin_ask(call, NGX_HTTP_ADMISSION_VWR_ADVANCE);
}


static ngx_int_t
ngx_http_admission_admin_rate(ngx_http_admission_api_call_t *call)
{
    ngx_int_t  n;
    ngx_str_t  value;

    if (call->request->method == NGX_HTTP_DELETE) {
        return ngx_http_admission_admin_ask(call,
                                            NGX_HTTP_ADMISSION_VWR_UNSET_RATE);
    }

    n = NGX_ERROR;

    if (ngx_http_arg(call->request, (u_char *) "rate", sizeof("rate") - 1,
                     &value)
        == NGX_OK)
    {
        n = ngx_atoi(value.data, value.len);
    }

    if (n == NGX_ERROR || n > NGX_HTTP_ADMISSION_VWR_RATE_MAX) {
        return ngx_http_admission_respond_error(call->request,
                               NGX_HTTP_BAD_REQUEST, "INVALID_RATE",
                               "rate= must be a number from 0 to 1000000",
                               NULL);
    }

    call->value = n;

    return ngx_http_admission_admin_ask(call, NGX_HTTP_ADMISSION_VWR_SET_RATE);
}


static ngx_int_t
ngx_http_admission_admin_ask(ngx_http_admission_api_call_t *call,
    ngx_http_admission_vwr_what_e what)
{
    ngx_http_admission_redis_call_t  *pending;

    pending = ngx_http_admission_vwr_admin(what, call->value, &call->event,
                                           call->conf,
                                           ngx_http_admission_admin_done,
                                           call);

    return ngx_http_admission_api_wait(call, pending);
}


static void
ngx_http_admission_admin_done(void *data, ngx_int_t rc, int64_t changed,
    ngx_http_admission_room_t *room)
{
    ngx_http_admission_api_call_t *call = data;

    ngx_http_admission_api_resume(call);

    if (rc == NGX_OK) {
        ngx_http_admission_admin_log(call, changed, room);
        rc = ngx_http_admission_admin_answer(call, changed, room);

    } else {
        rc = ngx_http_admission_api_unavailable(call->request);
    }

    ngx_http_admission_api_finish(call, rc);
}


static ngx_int_t
ngx_http_admission_admin_answer(ngx_http_admission_api_call_t *call,
    int64_t changed, ngx_http_admission_room_t *room)
{
    ngx_str_t           *event;
    ngx_http_request_t  *r;

    r = call->request;
    event = &call->event;

    switch (call->route->what) {

    case NGX_HTTP_ADMISSION_VWR_ACTIVATE:

        if (!changed) {
            return ngx_http_admission_respond_error(r, NGX_HTTP_CONFLICT,
                                                    "ALREADY_ACTIVE",
                                                    "Active already", NULL);
        }

        return ngx_http_admission_api_json(r, event->len,
                             "{\"eventId\":\"%V\",\"status\":\"activated\"}",
                             event);

    case NGX_HTTP_ADMISSION_VWR_DEACTIVATE:
        return ngx_http_admission_api_json(r, event->len,
                           "{\"eventId\":\"%V\",\"status\":\"deactivated\"}",
                           event);

    case NGX_HTTP_ADMISSION_VWR_ADVANCE:

        if (!changed) {
            return ngx_http_admission_api_json(r, event->len,
                             "{\"eventId\":\"%V\",\"status\":\"caught_up\"}",
                             event);
        }

        return ngx_http_admission_api_json(r, event->len,
                   "{\"eventId\":\"%V\",\"servingCounter\":%L,"
                   "\"advanced\":%L}", event, room->serving, changed);

    case NGX_HTTP_ADMISSION_VWR_SET_RATE:
        return ngx_http_admission_api_json(r, event->len,
                   "{\"eventId\":\"%V\",\"rate\":%L}", event,
                   room->rate / 1000);

    default: /* NGX_HTTP_ADMISSION_VWR_LOOK */
        return ngx_http_admission_admin_status(call, room);
    }
}


static ngx_int_t
ngx_http_admission_admin_status(ngx_http_admission_api_call_t *call,
    ngx_http_admission_room_t *room)
{
    const char  *set_by;

    if (room->activation == 0) {
        set_by = "null";

    } else {
        set_by = room->by_config ? "\"config\"" : "\"api\"";
    }

    return ngx_http_admission_api_json(call->request,
               call->event.len + sizeof("\"config\"") - 1,
               "{\"eventId\":\"%V\",\"isActive\":%s,\"nextPosition\":%L,"
               "\"servingCounter\":%L,\"waiting\":%L,\"rate\":%L,"
               "\"activation\":%L,\"setBy\":%s}",
               &call->event, room->active ? "true" : "false", room->next,
               room->serving, ngx_max(room->next - room->serving, 0),
               room->rate / 1000, room->activation, set_by);
}


static void
ngx_http_admission_admin_log(ngx_http_admission_api_call_t *call,
    int64_t changed, ngx_http_admission_room_t *room)
{
    u_char  text[sizeof("waiting room advanced by  to ")
                 + 2 * NGX_INT64_LEN];

    static ngx_str_t  resume = ngx_string("resume");

    switch (call->route->what) {

    case NGX_HTTP_ADMISSION_VWR_ACTIVATE:

        if (changed) {
            ngx_http_admission_operator_log(call,
                ngx_http_admission_admin_flag(call->request, &resume)
                ? "waiting room resumed" : "waiting room activated");
        }

        break;

    case NGX_HTTP_ADMISSION_VWR_DEACTIVATE:
        ngx_http_admission_operator_log(call, "waiting room deactivated");
        break;

    case NGX_HTTP_ADMISSION_VWR_ADVANCE:

        if (changed) {
            ngx_sprintf(text, "waiting room advanced by %L to %L%Z",
                        changed, room->serving);
            ngx_http_admission_operator_log(call, (char *) text);
        }

        break;

    case NGX_HTTP_ADMISSION_VWR_SET_RATE:

        if (call->request->method == NGX_HTTP_DELETE) {
            ngx_http_admission_operator_log(call, "rate set back");
            break;
        }

        ngx_sprintf(text, "rate set to %L%Z", call->value);
        ngx_http_admission_operator_log(call, (char *) text);
        break;

    default: /* NGX_HTTP_ADMISSION_VWR_LOOK */
        break;
    }
}


static ngx_uint_t
ngx_http_admission_admin_flag(ngx_http_request_t *r, ngx_str_t *name)
{
    ngx_str_t  value;

    return ngx_http_arg(r, name->data, name->len, &value) == NGX_OK
           && value.len == 1 && value.data[0] == '1';
}
