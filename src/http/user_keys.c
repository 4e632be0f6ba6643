
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The subrequest runs in the background.  The request that started it waits as
 * the others do, for a bounded time, and does not notice that its client goes
 * before that: so nobody can have the location asked more often by going.
 * Requests that wait look at the zone, since another worker may be the one
 * that asks.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../base/clock.h"
#include "../base/reason.h"
#include "../base/timer.h"
#include "../host/keys.h"
#include "credentials.h"
#include "user_keys.h"
#include "wait.h"


#define NGX_ADM_USER_KEYS_WAIT  5000     /* ms */
#define NGX_ADM_USER_KEYS_LOOK  20


typedef struct {
    ngx_queue_t             queue;
    ngx_http_request_t     *request;
    ngx_adm_keyring_t      *keys;
    ngx_msec_t              until;
} ngx_adm_user_keys_waiter_t;


/* of such a subrequest */
typedef struct {
    ngx_adm_key_source_t   *source;
    ngx_msec_t              asked;
    ngx_uint_t              done;        /* bool */
} ngx_adm_user_keys_asker_t;


static ngx_int_t ngx_adm_user_keys_ask(ngx_http_request_t *r,
    ngx_adm_key_source_t *source, ngx_msec_t asked);
static ngx_int_t ngx_adm_user_keys_clean(ngx_http_request_t *sr);
static ngx_int_t ngx_adm_user_keys_done(ngx_http_request_t *r, void *data,
    ngx_int_t rc);
static void ngx_adm_user_keys_gone(void *data);
static ngx_int_t ngx_adm_user_keys_wait(ngx_http_request_t *r,
    ngx_adm_ctx_t *ctx, ngx_adm_keyring_t *keys, ngx_uint_t asks);
static void ngx_adm_user_keys_cancel(void *data);
static void ngx_adm_user_keys_look(ngx_event_t *ev);


static ngx_queue_t       ngx_adm_user_keys_waiters;
static ngx_event_t       ngx_adm_user_keys_event;


ngx_int_t
ngx_adm_user_keys(ngx_http_request_t *r, ngx_adm_ctx_t *ctx)
{
    ngx_int_t              rc;
    ngx_msec_t             asked;
    ngx_uint_t             i, missing, asks, wait, busy;
    ngx_adm_keyring_t     *keys;
    ngx_adm_loc_conf_t    *lcf;
    ngx_adm_key_source_t  *sources;

    missing = (ctx->user_why == ngx_adm_reason(NO_KEY));

    if (ctx->user_why && !missing) {
        return NGX_OK;
    }

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    keys = lcf->secrets[NGX_ADM_SECRET_USER];
    sources = keys->sources.elts;

    asks = 0;
    wait = 0;
    busy = 0;

    for (i = 0; i < keys->sources.nelts; i++) {

        if (!sources[i].uri) {
            continue;
        }

        rc = ngx_adm_keys_ask(&sources[i], !missing, &asked);

        if (rc == NGX_OK) {

            if (ngx_adm_user_keys_ask(r, &sources[i], asked) != NGX_OK) {
                return NGX_ERROR;
            }

            asks = 1;
            wait = 1;

        } else if (rc == NGX_AGAIN && !ctx->keys_waited) {
            wait = 1;

        } else if (rc != NGX_BUSY || !ctx->keys_waited) {
            /*
             * an answer that the request waited for and that has no such key
             * is final
             */
            busy = 1;
        }
    }

    if (!missing) {
        return NGX_OK;
    }

    if (wait) {
        return ngx_adm_user_keys_wait(r, ctx, keys, asks);
    }

    if (busy) {

        if (r->main->count > 1) {
            /* the connection is busy until the subrequest has ended */
            r->keepalive = 0;
        }

        return NGX_BUSY;
    }

    return NGX_OK;
}


static ngx_int_t
ngx_adm_user_keys_ask(ngx_http_request_t *r, ngx_adm_key_source_t *source,
    ngx_msec_t asked)
{
    ngx_http_request_t          *sr;
    ngx_pool_cleanup_t          *cln;
    ngx_adm_user_keys_asker_t   *asker;
    ngx_http_post_subrequest_t  *ps;

    cln = ngx_pool_cleanup_add(r->pool, sizeof(ngx_adm_user_keys_asker_t));
    ps = ngx_palloc(r->pool, sizeof(ngx_http_post_subrequest_t));

    if (cln == NULL || ps == NULL) {
        ngx_adm_keys_abandon(source, asked);
        return NGX_ERROR;
    }

    asker = cln->data;
    asker->source = source;
    asker->asked = asked;
    asker->done = 0;

    cln->handler = ngx_adm_user_keys_gone;

    ps->handler = ngx_adm_user_keys_done;
    ps->data = asker;

    if (ngx_http_subrequest(r, &source->name, NULL, &sr, ps,
                            NGX_HTTP_SUBREQUEST_IN_MEMORY
                            |NGX_HTTP_SUBREQUEST_BACKGROUND) != NGX_OK)
    {
        return NGX_ERROR;
    }

    ngx_log_debug1(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "admission: keys are asked for at \"%V\"", &source->name);

    return ngx_adm_user_keys_clean(sr);
}


/*
 * The subrequest goes to an identity service: that is not to get the client's
 * cookies and tokens, nor to answer with a part of the set, or "not modified".
 */

static ngx_int_t
ngx_adm_user_keys_clean(ngx_http_request_t *sr)
{
    ngx_str_t                   server;
    ngx_http_core_main_conf_t  *cmcf;

    server = sr->headers_in.server;

    ngx_memzero(&sr->headers_in, sizeof(ngx_http_headers_in_t));

    sr->headers_in.server = server;
    sr->headers_in.content_length_n = -1;
    sr->headers_in.keep_alive_n = -1;

    sr->request_body = NULL;

    cmcf = ngx_http_get_module_main_conf(sr, ngx_http_core_module);

    sr->variables = ngx_pcalloc(sr->pool, cmcf->variables.nelts
                                          * sizeof(ngx_http_variable_value_t));

    if (sr->variables == NULL
        || ngx_list_init(&sr->headers_in.headers, sr->pool, 1,
                         sizeof(ngx_table_elt_t)) != NGX_OK)
    {
        return NGX_ERROR;
    }

    return NGX_OK;
}


static ngx_int_t
ngx_adm_user_keys_done(ngx_http_request_t *r, void *data, ngx_int_t rc)
{
    ngx_adm_user_keys_asker_t *asker = data;

    ngx_buf_t  *b;
    ngx_str_t   text;

    if (asker->done) {
        return NGX_OK;
    }

    asker->done = 1;

    if (rc == NGX_OK && r->headers_out.status == NGX_HTTP_OK && r->out) {
        b = r->out->buf;

        text.data = b->pos;
        text.len = b->last - b->pos;

        ngx_adm_keys_answer(asker->source, asker->asked, &text, NULL,
                            r->connection->log);

    } else {
        ngx_adm_keys_answer(asker->source, asker->asked, NULL,
                            "no whole answer of status 200",
                            r->connection->log);
    }

    /* not from here: a request that goes on may be the one this belongs to */

    if (ngx_adm_user_keys_event.handler) {
        ngx_post_event(&ngx_adm_user_keys_event, &ngx_posted_events);
    }

    /* a failure of the subrequest is not the request's */

    return NGX_OK;
}


/*
 * The request was ended by an error, such as a client that turns out to be
 * gone when the wait is over.
 */

static void
ngx_adm_user_keys_gone(void *data)
{
    ngx_adm_user_keys_asker_t *asker = data;

    if (!asker->done) {
        ngx_adm_keys_abandon(asker->source, asker->asked);
    }
}


static ngx_int_t
ngx_adm_user_keys_wait(ngx_http_request_t *r, ngx_adm_ctx_t *ctx,
    ngx_adm_keyring_t *keys, ngx_uint_t asks)
{
    ngx_int_t                    rc;
    ngx_event_t                 *ev;
    ngx_adm_user_keys_waiter_t  *waiter;

    waiter = ngx_palloc(r->pool, sizeof(ngx_adm_user_keys_waiter_t));
    if (waiter == NULL) {
        return NGX_ERROR;
    }

    ev = &ngx_adm_user_keys_event;

    if (ev->handler == NULL) {
        ngx_queue_init(&ngx_adm_user_keys_waiters);

        ngx_adm_timer_init(ev, ngx_adm_user_keys_look, ngx_cycle->log);
    }

    waiter->request = r;
    waiter->keys = keys;
    waiter->until = ngx_current_msec + NGX_ADM_USER_KEYS_WAIT;

    ngx_queue_insert_tail(&ngx_adm_user_keys_waiters, &waiter->queue);

    if (!ev->timer_set) {
        ngx_add_timer(ev, NGX_ADM_USER_KEYS_LOOK);
    }

    ctx->keys_waited = 1;

    rc = ngx_adm_wait(r, ngx_adm_user_keys_cancel, waiter);

    if (rc == NGX_AGAIN && asks && !r->discard_body) {
        r->read_event_handler = ngx_http_block_reading;
    }

    return rc;
}


static void
ngx_adm_user_keys_cancel(void *data)
{
    ngx_adm_user_keys_waiter_t *waiter = data;

    ngx_queue_remove(&waiter->queue);
}


static void
ngx_adm_user_keys_look(ngx_event_t *ev)
{
    ngx_queue_t                 *q, ready;
    ngx_adm_ctx_t               *ctx;
    ngx_http_request_t          *r;
    ngx_adm_user_keys_waiter_t  *waiter;

    /*
     * a request that goes on may end others, which leave the queue by
     * themselves
     */

    ngx_queue_init(&ready);

    if (!ngx_queue_empty(&ngx_adm_user_keys_waiters)) {
        ngx_queue_add(&ready, &ngx_adm_user_keys_waiters);
        ngx_queue_init(&ngx_adm_user_keys_waiters);
    }

    while (!ngx_queue_empty(&ready)) {

        q = ngx_queue_head(&ready);
        ngx_queue_remove(q);

        waiter = ngx_queue_data(q, ngx_adm_user_keys_waiter_t, queue);

        if (ngx_adm_keys_asking(waiter->keys)
            && !ngx_adm_is_over(waiter->until))
        {
            ngx_queue_insert_tail(&ngx_adm_user_keys_waiters, q);
            continue;
        }

        r = waiter->request;
        ctx = ngx_adm_ctx(r);

        /* the user has to be looked for again */

        ctx->user_of = NULL;
        ngx_adm_credentials_forget(ctx, NGX_ADM_TOKEN_USER);

        ngx_adm_wait_resume(r);
    }

    if (ev->timer_set) {
        ngx_del_timer(ev);
    }

    if (!ngx_queue_empty(&ngx_adm_user_keys_waiters)) {
        ngx_add_timer(ev, NGX_ADM_USER_KEYS_LOOK);
    }
}
