
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The calls by which a purchase is told: by an operator or a payment's
 * webhook, of any user and at any time; and by the user, where the event's
 * line has "complete=user", of one seat. (What backends say by a header is in
 * command.c.)
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../base/text.h"
#include "../http/body.h"
#include "../http/headers.h"
#include "../http/once.h"
#include "../http/operator.h"
#include "../http/respond.h"
#include "../http/token_cookie.h"
#include "api.h"


static ngx_int_t ngx_adm_complete_once(ngx_adm_api_call_t *call);
static ngx_int_t ngx_adm_complete_first(ngx_adm_once_t *once);
static void ngx_adm_complete_done(void *data, ngx_int_t rc,
    ngx_adm_queue_answer_t *answer);
static ngx_int_t ngx_adm_complete_answer(ngx_adm_once_t *once,
    ngx_adm_queue_answer_t *answer);
static ngx_int_t ngx_adm_complete_again(ngx_adm_once_t *once,
    ngx_adm_answer_t *answer);
static ngx_int_t ngx_adm_complete_seats(ngx_adm_api_call_t *call,
    ngx_int_t max);


/* a call that tells of a purchase */
typedef struct {
    ngx_adm_once_t    once;
    ngx_str_t         user;
    ngx_adm_by_e      by;
    ngx_str_t         key;           /* from the caller, or empty */
    u_char            digest[NGX_ADM_QUEUE_KEY];
} ngx_adm_complete_t;


/* call->value: how many seats */

ngx_int_t
ngx_adm_queue_complete_handler(ngx_adm_api_call_t *call)
{
    ngx_int_t            rc;
    ngx_http_request_t  *r;
    ngx_adm_complete_t  *complete;

    r = call->request;

    complete = ngx_pcalloc(r->pool, sizeof(ngx_adm_complete_t));
    if (complete == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    call->data = complete;
    complete->by = call->route->what;

    if (complete->by == NGX_ADM_BY_OPERATOR) {

        rc = ngx_adm_operator(call);
        if (rc != NGX_DECLINED) {
            return rc;
        }

        if (ngx_adm_arg(r, "user", &complete->user) == NGX_ERROR) {
            return NGX_HTTP_INTERNAL_SERVER_ERROR;
        }

        if (!ngx_adm_is_user_id(&complete->user)) {
            return ngx_adm_respond_error(r, NGX_HTTP_BAD_REQUEST,
                                         "INVALID_USER",
                                         "user= must be the id of a user",
                                         NULL);
        }

        rc = ngx_adm_complete_seats(call, NGX_ADM_SEATS_MAX);

    } else {

        rc = ngx_adm_queue_user(call, 0);
        if (rc != NGX_DECLINED) {
            return rc;
        }

        if (call->conf->complete != NGX_ADM_ON) {
            return ngx_adm_respond_error(r, NGX_HTTP_FORBIDDEN,
                                         "COMPLETE_NOT_ALLOWED", "The event "
                                         "has no \\\"complete=user\\\"", NULL);
        }

        complete->user = call->who;

        rc = ngx_adm_complete_seats(call, 1);
    }

    return (rc == NGX_DECLINED) ? ngx_adm_body_read(call, ngx_adm_complete_once)
                                : rc;
}


/* NGX_DECLINED: the number of seats is right */

static ngx_int_t
ngx_adm_complete_seats(ngx_adm_api_call_t *call, ngx_int_t max)
{
    ngx_int_t    n;
    ngx_str_t    value;
    ngx_uint_t   level;
    const char  *text;

    n = ngx_adm_arg_number(call->request, "seats", max);

    if (n == NGX_DECLINED) {
        n = 1;
    }

    if (n >= 1) {
        call->value = n;
        return NGX_DECLINED;
    }

    if (ngx_http_arg(call->request, (u_char *) "seats", 5, &value) != NGX_OK) {
        ngx_str_null(&value);
    }

    level = (max == 1) ? NGX_LOG_INFO : NGX_LOG_WARN;

    ngx_log_error(level, call->request->connection->log, 0,
                  "admission: a purchase of \"%V\" seats of event \"%V\" is "
                  "refused", &value, &call->event);

    text = (max == 1) ? "seats= must be 1"
                      : "seats= must be a number from 1 to 10000";

    return ngx_adm_respond_error(call->request, NGX_HTTP_BAD_REQUEST,
                                 "INVALID_SEATS", text, NULL);
}


static ngx_int_t
ngx_adm_complete_once(ngx_adm_api_call_t *call)
{
    u_char               digits[NGX_INT64_LEN];
    ngx_str_t            parts[4], body[3];
    ngx_adm_complete_t  *complete;

    complete = call->data;

    complete->once.call = call;
    complete->once.deadline = ngx_adm_api_deadline(call);
    complete->once.first = ngx_adm_complete_first;
    complete->once.again = ngx_adm_complete_again;
    complete->once.data = complete;

    /* a webhook may be repeated from another address */

    ngx_str_set(&parts[1], "complete");
    parts[2] = call->event;

    if (complete->by == NGX_ADM_BY_OPERATOR) {
        ngx_str_null(&parts[3]);

    } else {
        parts[3] = call->who;
    }

    body[0] = complete->user;
    body[1].data = digits;
    body[1].len = ngx_adm_put_number(digits, call->value) - digits;
    body[2] = call->body_text;

    return ngx_adm_once(&complete->once, parts, 4, body, 3);
}


/*
 * The key goes to Redis as well, which by it knows what it has carried out
 * already though nobody was told, or another host was.
 */

static ngx_int_t
ngx_adm_complete_first(ngx_adm_once_t *once)
{
    ngx_str_t              parts[4];
    ngx_adm_api_call_t    *call;
    ngx_adm_complete_t    *complete;
    ngx_adm_redis_call_t  *pending;

    call = once->call;
    complete = once->data;

    if (once->keyed) {
        parts[0] = ngx_adm_header(call->request, "idempotency-key")->value;

        /* a user who knows a webhook's key is not to use it up */

        if (complete->by == NGX_ADM_BY_USER) {
            ngx_str_set(&parts[1], "complete=user");

        } else {
            ngx_str_set(&parts[1], "complete");
        }

        parts[2] = call->event;
        parts[3] = complete->user;

        ngx_adm_queue_key(&complete->key, complete->digest, parts, 4);
    }

    pending = ngx_adm_queue_complete(&call->event, call->conf, &complete->user,
                                     0, call->value, complete->by,
                                     &complete->key, ngx_adm_complete_done,
                                     once);
    /* if the client goes it sends another: Redis counts one of them */

    if (pending == NULL) {
        ngx_adm_once_drop(once);
    }

    return ngx_adm_api_wait(call, pending);
}


static void
ngx_adm_complete_done(void *data, ngx_int_t rc, ngx_adm_queue_answer_t *answer)
{
    ngx_adm_once_t  *once = data;

    ngx_http_request_t  *r;

    r = once->call->request;

    ngx_adm_wait_over(r);

    if (rc != NGX_OK) {
        ngx_adm_once_drop(once);
        ngx_adm_wait_finish(r, ngx_adm_api_unavailable(r));
        return;
    }

    ngx_adm_wait_finish(r, ngx_adm_complete_answer(once, answer));
}


static ngx_int_t
ngx_adm_complete_answer(ngx_adm_once_t *once, ngx_adm_queue_answer_t *answer)
{
    ngx_str_t            json;
    ngx_http_request_t  *r;
    ngx_adm_complete_t  *complete;

    r = once->call->request;
    complete = once->data;

    switch (answer->state) {

    case NGX_ADM_QUEUE_NOT_HERE:
        ngx_adm_once_drop(once);

        return ngx_adm_respond_error(r, NGX_HTTP_CONFLICT, "NOT_ACTIVE",
                                     "Only who is in can complete", NULL);

    case NGX_ADM_QUEUE_BOUGHT:
        ngx_adm_once_drop(once);

        return ngx_adm_respond_error(r, NGX_HTTP_CONFLICT, "ALREADY_COMPLETED",
                                     "A seat was bought before", NULL);

    default:
        break;
    }

    if (complete->by == NGX_ADM_BY_OPERATOR) {

        if (answer->counted) {
            ngx_adm_operator_log(once->call, "a purchase is completed");
        }

        if (ngx_adm_queue_seats_text(once->call, answer,
                                     answer->counted ? "true" : "false", &json)
            != NGX_OK)
        {
            return NGX_HTTP_INTERNAL_SERVER_ERROR;
        }

        return ngx_adm_once_json(once, &json);
    }

    ngx_str_set(&json, "{\"message\":\"Completed\"}");

    return (ngx_adm_queue_clear(once->call) == NGX_OK)
           ? ngx_adm_once_json(once, &json) : NGX_HTTP_INTERNAL_SERVER_ERROR;
}


static ngx_int_t
ngx_adm_complete_again(ngx_adm_once_t *once, ngx_adm_answer_t *answer)
{
    ngx_adm_complete_t  *complete;

    complete = once->data;

    if (complete->by == NGX_ADM_BY_USER
        && ngx_adm_queue_clear(once->call) != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return ngx_adm_once_again_json(once, answer);
}
