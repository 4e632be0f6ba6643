
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Measures the servers that a request came to after the gate let it pass, up
 * to the first redirect.  The time is how long the client waited for them,
 * with tries that failed; whether it failed, the last server says.  An answer
 * from a cache tells nothing of servers, and what an error page does later is
 * not what failed.
 *
 * A client that goes away tells nothing, unless it waited for longer than is
 * allowed.  The time of a 101 says nothing, nor that of another 1xx that NGINX
 * takes for the answer, nor of what it takes for HTTP/0.9.
 *
 * How long a client takes to send the body is not the backend's time, which
 * begins after it.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../base/address.h"
#include "../host/follow_worker.h"
#include "backend.h"
#include "headers.h"


#define ngx_adm_backend_states(r)                                             \
    ((r)->upstream_states ? (r)->upstream_states->nelts : 0)


#if (NGX_HTTP_CACHE)

/* a cache may keep a failure */
#define ngx_adm_backend_cached(r)                                             \
    ((r)->upstream->cache_status == NGX_HTTP_CACHE_HIT                        \
     || (r)->upstream->cache_status == NGX_HTTP_CACHE_STALE                   \
     || (r)->upstream->cache_status == NGX_HTTP_CACHE_UPDATING)

#else
#define ngx_adm_backend_cached(r)  0
#endif


struct ngx_adm_backend_s {
    ngx_adm_follow_request_t   request;
    ngx_adm_event_conf_t      *conf;
    ngx_uint_t                 states;   /* of servers tried earlier */
    unsigned                   open:1;
    unsigned                   body:1;   /* the request has one */
    unsigned                   waits:1;  /* for the body's end */
};


static ngx_uint_t ngx_adm_backend_body(ngx_http_request_t *r);
static void ngx_adm_backend_ask(ngx_adm_backend_t *backend);
static ngx_int_t ngx_adm_backend_sample(ngx_http_request_t *r,
    ngx_adm_backend_t *backend, ngx_adm_sample_t *sample);
static ngx_http_upstream_state_t *ngx_adm_backend_state(ngx_http_request_t *r,
    ngx_adm_backend_t *backend, ngx_msec_t *time);
static ngx_uint_t ngx_adm_backend_fails(ngx_adm_backend_t *backend,
    ngx_uint_t status);
static ngx_uint_t ngx_adm_backend_retry(ngx_http_request_t *r,
    ngx_http_upstream_state_t *state);
static ngx_int_t ngx_adm_backend_seconds(ngx_str_t *text);


ngx_int_t
ngx_adm_backend_begin(ngx_http_request_t *r, ngx_adm_ctx_t *ctx,
    ngx_str_t *event, ngx_adm_event_conf_t *conf, ngx_str_t *who)
{
    ngx_str_t           address;
    ngx_uint_t          states;
    ngx_adm_backend_t  *backend;

    if (r->content_handler == NULL) {
        /* no server is asked, as yet */
        return NGX_OK;
    }

    backend = ctx->backend;
    states = ngx_adm_backend_states(r);

    if (backend) {

        if (!backend->open) {
            /* it has been told already */
            return NGX_OK;
        }

        ngx_adm_backend_drop(ctx);

    } else {
        backend = ngx_palloc(r->pool, sizeof(ngx_adm_backend_t));
        if (backend == NULL) {
            return NGX_ERROR;
        }

        ctx->backend = backend;
    }

    if (who->len == 0) {

        if (ngx_adm_address(r, NGX_ADM_IPV6_PREFIX, &address) != NGX_OK) {
            return NGX_ERROR;
        }

        who = &address;
    }

    backend->request.event = *event;
    backend->request.user = ngx_adm_follow_hash(who);
    backend->conf = conf;
    backend->states = states;
    backend->open = 1;

    backend->body = ngx_adm_backend_body(r);
    backend->waits = backend->body;

    if (!backend->waits) {
        ngx_adm_backend_ask(backend);
    }

    return NGX_OK;
}


/* whether the request has a body that is not all here */

static ngx_uint_t
ngx_adm_backend_body(ngx_http_request_t *r)
{
    if (r->request_body && r->request_body->rest == 0) {
        return 0;
    }

    return r->headers_in.content_length_n > 0 || r->headers_in.chunked;
}


static void
ngx_adm_backend_ask(ngx_adm_backend_t *backend)
{
    backend->waits = 0;

    ngx_adm_follow_begin(&backend->request);
}


void
ngx_adm_backend_sent(ngx_adm_ctx_t *ctx)
{
    ngx_adm_backend_t  *backend;

    backend = ctx->backend;

    if (backend->open && backend->waits) {
        ngx_adm_backend_ask(backend);
    }
}


void
ngx_adm_backend_drop(ngx_adm_ctx_t *ctx)
{
    ngx_adm_backend_t  *backend;

    backend = ctx->backend;

    if (backend->open && !backend->waits) {
        ngx_adm_follow_end(&backend->request, NULL);
    }

    backend->open = 0;
}


void
ngx_adm_backend_redirected(ngx_http_request_t *r, ngx_adm_ctx_t *ctx)
{
    if (ngx_adm_backend_states(r) > ctx->backend->states) {
        ngx_adm_backend_end(r, ctx);
    }
}


void
ngx_adm_backend_end(ngx_http_request_t *r, ngx_adm_ctx_t *ctx)
{
    ngx_int_t           rc;
    ngx_adm_sample_t    sample;
    ngx_adm_backend_t  *backend;

    backend = ctx->backend;

    if (backend == NULL || !backend->open) {
        return;
    }

    backend->open = 0;

    ngx_memzero(&sample, sizeof(ngx_adm_sample_t));

    rc = ngx_adm_backend_sample(r, backend, &sample);

    ngx_log_debug6(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "admission: backend of event \"%V\": counts:%d time:%M "
                   "failed:%d retry:%ui timed:%d",
                   &backend->request.event, rc == NGX_OK, sample.time,
                   (int) sample.failed, sample.retry, (int) sample.timed);

    if (backend->waits) {

        if (rc != NGX_OK) {
            return;
        }

        ngx_adm_backend_ask(backend);
    }

    sample.slow = (sample.timed
                   && backend->conf->backend_latency
                   && sample.time > backend->conf->backend_latency);

    ngx_adm_follow_end(&backend->request, rc == NGX_OK ? &sample : NULL);
}


/* NGX_DECLINED: there is nothing to tell */

static ngx_int_t
ngx_adm_backend_sample(ngx_http_request_t *r, ngx_adm_backend_t *backend,
    ngx_adm_sample_t *sample)
{
    ngx_uint_t                  status;
    ngx_http_upstream_state_t  *state;

    status = r->headers_out.status;
    state = ngx_adm_backend_state(r, backend, &sample->time);

    if (state == NULL) {

        /* the server's name was not found */

        sample->failed = (r->upstream
                          && ngx_adm_backend_states(r) == backend->states
                          && !ngx_adm_backend_cached(r)
                          && (status == NGX_HTTP_BAD_GATEWAY
                              || status == NGX_HTTP_GATEWAY_TIME_OUT));

        return sample->failed ? NGX_OK : NGX_DECLINED;
    }

    if (backend->body && !backend->waits) {
        sample->time = ngx_min(sample->time,
                               ngx_current_msec - backend->request.since);
    }

    if ((state->status && state->status < NGX_HTTP_OK)
        || (r->http_version == NGX_HTTP_VERSION_9
            && state->status == NGX_HTTP_OK))
    {
        return NGX_DECLINED;
    }

    if (state->status == 0) {

        sample->timed = (backend->conf->backend_latency
                         && !backend->waits
                         && sample->time > backend->conf->backend_latency);

        return sample->timed ? NGX_OK : NGX_DECLINED;
    }

    sample->failed = ngx_adm_backend_fails(backend, state->status);

    /* a failure at once says nothing of how quick answers are */

    sample->timed = (!backend->waits
                     && (!sample->failed
                         || state->status == NGX_HTTP_GATEWAY_TIME_OUT));

    if (state->status == NGX_HTTP_SERVICE_UNAVAILABLE) {
        sample->retry = ngx_adm_backend_retry(r, state);
    }

    return NGX_OK;
}


/*
 * The last server that was tried, with the time up to its header, or until it
 * was given up; NULL: none was.  NGINX puts an empty state between those of
 * two locations.
 */

static ngx_http_upstream_state_t *
ngx_adm_backend_state(ngx_http_request_t *r, ngx_adm_backend_t *backend,
    ngx_msec_t *time)
{
    ngx_uint_t                  i;
    ngx_http_upstream_state_t  *state, *last;

    *time = 0;

    if (r->upstream_states == NULL) {
        return NULL;
    }

    last = NULL;
    state = r->upstream_states->elts;

    for (i = backend->states; i < r->upstream_states->nelts; i++) {

        if (state[i].peer == NULL) {

            if (last) {
                break;
            }

            continue;
        }

        if (last) {
            *time += (last->response_time == (ngx_msec_t) -1)
                     ? 0 : last->response_time;
        }

        last = &state[i];
    }

    if (last == NULL) {
        return NULL;
    }

    if (last->header_time != (ngx_msec_t) -1) {
        *time += last->header_time;

    } else if (last->response_time != (ngx_msec_t) -1) {
        *time += last->response_time;

    } else {
        *time = ngx_current_msec - backend->request.since;
    }

    return last;
}


static ngx_uint_t
ngx_adm_backend_fails(ngx_adm_backend_t *backend, ngx_uint_t status)
{
    return status == NGX_HTTP_BAD_GATEWAY
           || status == NGX_HTTP_SERVICE_UNAVAILABLE
           || status == NGX_HTTP_GATEWAY_TIME_OUT
           || (backend->conf->backend_5xx == NGX_ADM_ON
               && status >= NGX_HTTP_INTERNAL_SERVER_ERROR);
}


/* s, by the Retry-After of the answer; 0: it has none */

static ngx_uint_t
ngx_adm_backend_retry(ngx_http_request_t *r, ngx_http_upstream_state_t *state)
{
    time_t                  time;
    ngx_int_t               n;
    ngx_table_elt_t        *h;
    ngx_adm_headers_pos_t   pos;

    if (r->upstream == NULL || r->upstream->state != state) {
        return 0;
    }

    ngx_memzero(&pos, sizeof(ngx_adm_headers_pos_t));

    while ((h = ngx_adm_headers_next(&r->upstream->headers_in.headers, &pos))) {

        if (!ngx_adm_header_named(h, "Retry-After")) {
            continue;
        }

        n = ngx_adm_backend_seconds(&h->value);

        if (n == NGX_ERROR) {
            time = ngx_parse_http_time(h->value.data, h->value.len);
            n = (time == NGX_ERROR) ? 0 : ngx_max(time - ngx_time(), 0);
        }

        return ngx_min(n, NGX_ADM_RETRY_MAX);
    }

    return 0;
}


/* seconds of any number of digits; NGX_ERROR: the text is no number */

static ngx_int_t
ngx_adm_backend_seconds(ngx_str_t *text)
{
    ngx_int_t   n;
    ngx_uint_t  i;

    n = (text->len == 0) ? NGX_ERROR : 0;

    for (i = 0; i < text->len; i++) {

        if (text->data[i] < '0' || text->data[i] > '9') {
            return NGX_ERROR;
        }

        n = ngx_min(n * 10 + text->data[i] - '0', NGX_ADM_RETRY_MAX);
    }

    return n;
}
