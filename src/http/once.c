
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The first call may be in another worker, so those who wait for its answer
 * look now and then.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>
#include <ngx_http.h>

#include "headers.h"
#include "once.h"
#include "respond.h"


#define NGX_ADM_IDEMPOTENCY_MIN  16
#define NGX_ADM_IDEMPOTENCY_MAX  128

#define NGX_ADM_REPEAT_INTERVAL  20      /* ms */


static ngx_int_t ngx_adm_once_try(ngx_adm_once_t *once);
static ngx_int_t ngx_adm_once_wait(ngx_adm_once_t *once);
static void ngx_adm_once_no_more(void *data);
static void ngx_adm_once_again(ngx_event_t *ev);
static void ngx_adm_once_cleanup(void *data);


ngx_int_t
ngx_adm_once(ngx_adm_once_t *once, ngx_str_t *parts, ngx_uint_t n,
    ngx_str_t *body, ngx_uint_t nbody)
{
    ngx_table_elt_t     *h;
    ngx_pool_cleanup_t  *cln;
    ngx_http_request_t  *r;

    r = once->call->request;

    h = ngx_adm_header(r, "idempotency-key");

    if (h == NULL) {
        return once->first(once);
    }

    if (h->value.len < NGX_ADM_IDEMPOTENCY_MIN
        || h->value.len > NGX_ADM_IDEMPOTENCY_MAX)
    {
        return ngx_adm_respond_error(r, NGX_HTTP_BAD_REQUEST,
                                     "INVALID_IDEMPOTENCY_KEY",
                                     "Idempotency-Key has to have 16 to 128 "
                                     "characters", NULL);
    }

    parts[0] = h->value;

    ngx_adm_idempotency_hash(once->key.hash, parts, n);
    ngx_adm_idempotency_hash(once->key.body, body, nbody);

    cln = ngx_pool_cleanup_add(r->pool, 0);
    if (cln == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    cln->handler = ngx_adm_once_cleanup;
    cln->data = once;

    once->keyed = 1;

    return ngx_adm_once_try(once);
}


/* the client went before there was an answer */

static void
ngx_adm_once_cleanup(void *data)
{
    ngx_adm_once_t *once = data;

    if (!once->sent) {
        ngx_adm_once_drop(once);
    }
}


static ngx_int_t
ngx_adm_once_try(ngx_adm_once_t *once)
{
    ngx_int_t            refused;
    ngx_http_request_t  *r;
    ngx_adm_answer_t     answer;

    r = once->call->request;

    /* a call that is going to be refused is not to push out others' answers */

    refused = once->refused ? once->refused(once) : 0;

    if (refused == NGX_ERROR) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    switch (ngx_adm_idempotency_begin(&once->key, r->pool, !refused,
                                      once->deadline, &answer))
    {
    case NGX_OK:
        return once->again(once, &answer);

    case NGX_AGAIN:
        return ngx_adm_once_wait(once);

    case NGX_ABORT:
        return ngx_adm_respond_error(r, NGX_HTTP_CONFLICT,
                                     "IDEMPOTENCY_CONFLICT", "Idempotency-Key "
                                     "was used with another body", NULL);

    case NGX_DECLINED:
        return once->first(once);

    default: /* NGX_ERROR */
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }
}


static ngx_int_t
ngx_adm_once_wait(ngx_adm_once_t *once)
{
    ngx_http_request_t  *r;

    r = once->call->request;

    if ((ngx_msec_int_t) (once->deadline - ngx_current_msec) <= 0) {
        return ngx_adm_api_unavailable(r);
    }

    once->event.handler = ngx_adm_once_again;
    once->event.data = once;
    once->event.log = r->connection->log;

    ngx_add_timer(&once->event, NGX_ADM_REPEAT_INTERVAL);

    return ngx_adm_wait_content(r, ngx_adm_once_no_more, &once->event);
}


static void
ngx_adm_once_no_more(void *data)
{
    ngx_event_t *ev = data;

    ngx_del_timer(ev);
}


static void
ngx_adm_once_again(ngx_event_t *ev)
{
    ngx_adm_once_t *once = ev->data;

    ngx_adm_wait_over(once->call->request);

    ngx_adm_wait_finish(once->call->request, ngx_adm_once_try(once));
}


void
ngx_adm_once_keep(ngx_adm_once_t *once, ngx_adm_answer_t *answer)
{
    if (once->key.owner) {
        ngx_adm_idempotency_keep(&once->key, answer);
    }
}


void
ngx_adm_once_drop(ngx_adm_once_t *once)
{
    if (once->key.owner) {
        ngx_adm_idempotency_drop(&once->key);
    }
}


ngx_int_t
ngx_adm_once_json(ngx_adm_once_t *once, ngx_str_t *json)
{
    ngx_adm_answer_t  answer;

    ngx_memzero(&answer, sizeof(ngx_adm_answer_t));

    answer.ticket = *json;
    ngx_str_set(&answer.visitor, "");

    ngx_adm_once_keep(once, &answer);

    return ngx_adm_respond_json(once->call->request, NGX_HTTP_OK, json);
}


ngx_int_t
ngx_adm_once_again_json(ngx_adm_once_t *once, ngx_adm_answer_t *answer)
{
    return ngx_adm_respond_json(once->call->request, NGX_HTTP_OK,
                                &answer->ticket);
}
