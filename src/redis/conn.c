
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What the client calls of one connection to Redis, and its timer.
 *
 *   IDLE        no socket; the next call connects
 *   CONNECTING  the socket is on its way
 *   HANDSHAKE   so is TLS
 *   SETUP       AUTH, SELECT or PING are out; calls wait, since after a
 *               failed SELECT they would run in another database.  INFO goes
 *               with them, but nobody waits for it
 *   READY       calls go out
 *   DOWN        waits on the timer before it connects again; calls are refused
 *   CLOSED      for good, at the end of the worker
 *
 * Whether Redis works is known from what it answers to calls.  A connection
 * that ends before any such answer is a failure: the next ones come after
 * growing pauses and start with a PING, and no call has to wait for them.
 * When the breaker opens, the connection ends as well: what closes the
 * breaker begins with such a PING.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>

#include "conn.h"
#include "conn_parts.h"
#include "reply.h"


#define NGX_ADM_REDIS_PROBE_MAX     1000


static void ngx_adm_redis_timer_handler(ngx_event_t *ev);
static void ngx_adm_redis_tell_late(ngx_adm_redis_conn_t *conn);
static ngx_msec_int_t ngx_adm_redis_time_left(ngx_adm_redis_conn_t *conn,
    ngx_uint_t all);


ngx_adm_redis_conn_t *
ngx_adm_redis_conn_create(ngx_cycle_t *cycle, ngx_adm_redis_conf_t *conf,
    ngx_str_t *name, ngx_adm_redis_failed_pt failed, void *data)
{
    ngx_adm_redis_conn_t  *conn;

    conn = ngx_calloc(sizeof(ngx_adm_redis_conn_t), cycle->log);
    if (conn == NULL) {
        return NULL;
    }

    conn->conf = conf;
    conn->ident = -1;
    conn->name = name;
    conn->failed = failed;
    conn->data = data;

    conn->breaker.conf = &conf->breaker;

    conn->health = ngx_adm_redis_health(name);

    if (conn->health == NULL) {
        conn->health = &conn->own;
    }

    ngx_queue_init(&conn->calls);
    conn->last_out = &conn->out;

    conn->log = *cycle->log;
    conn->log.handler = NULL;
    conn->log.data = NULL;
    conn->log.action = NULL;

    /*
     * ngx_event_connect_peer() logs every failure, a lack of connections as
     * an alert; here all of them become one reason of being down.
     */

    conn->no_log = conn->log;
    conn->no_log.log_level = NGX_LOG_STDERR;
    conn->no_log.next = NULL;

    conn->timer.handler = ngx_adm_redis_timer_handler;
    conn->timer.data = conn;
    conn->timer.log = &conn->log;
    conn->timer.cancelable = 1;

    conn->flush.handler = ngx_adm_redis_flush_handler;
    conn->flush.data = conn;
    conn->flush.log = &conn->log;

    if (conf->ssl) {
        ngx_adm_redis_tls_init(&conn->tls, conf->ssl, name);
    }

    return conn;
}


void
ngx_adm_redis_conn_leave(ngx_adm_redis_conn_t *conn)
{
    ngx_adm_redis_queue_changed(conn);
}


void
ngx_adm_redis_conn_close(ngx_adm_redis_conn_t *conn)
{
    ngx_queue_t  lost;

    ngx_adm_redis_end(conn, &lost);

    conn->state = ngx_adm_redis_closed;

    conn->breaker.state = ngx_adm_redis_breaker_closed;
    ngx_adm_redis_breaker_changed(conn);

    ngx_adm_redis_complete_lost(&lost);

    if (conn->replies) {
        ngx_destroy_pool(conn->replies);
    }

    ngx_adm_redis_tls_cleanup(&conn->tls);

    if (conn->addrs) {
        ngx_free(conn->addrs);
    }

    if (conn->next_addrs) {
        ngx_free(conn->next_addrs);
    }

    ngx_free(conn);
}


ngx_int_t
ngx_adm_redis_conn_addrs(ngx_adm_redis_conn_t *conn, ngx_addr_t *addrs,
    ngx_uint_t naddrs)
{
    u_char      *p;
    size_t       size;
    ngx_uint_t   i;
    ngx_addr_t  *copy;

    size = naddrs * sizeof(ngx_addr_t);

    for (i = 0; i < naddrs; i++) {
        size += sizeof(ngx_sockaddr_t) + addrs[i].name.len;
    }

    copy = ngx_alloc(size, &conn->log);
    if (copy == NULL) {
        return NGX_ERROR;
    }

    /* addresses come first in the block, since they have to be aligned */

    p = (u_char *) &copy[naddrs];

    for (i = 0; i < naddrs; i++) {
        copy[i].sockaddr = (struct sockaddr *) p;
        copy[i].socklen = addrs[i].socklen;
        ngx_memcpy(p, addrs[i].sockaddr, addrs[i].socklen);
        p += sizeof(ngx_sockaddr_t);
    }

    for (i = 0; i < naddrs; i++) {
        copy[i].name.data = p;
        copy[i].name.len = addrs[i].name.len;
        p = ngx_cpymem(p, addrs[i].name.data, addrs[i].name.len);
    }

    if (conn->next_addrs) {
        ngx_free(conn->next_addrs);
    }

    conn->next_addrs = copy;
    conn->next_naddrs = naddrs;

    return NGX_OK;
}


ngx_uint_t
ngx_adm_redis_conn_busy(ngx_adm_redis_conn_t *conn)
{
    return !ngx_queue_empty(&conn->calls);
}


ngx_uint_t
ngx_adm_redis_conn_ready(ngx_adm_redis_conn_t *conn)
{
    return conn->state == ngx_adm_redis_ready;
}


ngx_uint_t
ngx_adm_redis_conn_down(ngx_adm_redis_conn_t *conn)
{
    return conn->failures != 0;
}


void
ngx_adm_redis_conn_error(ngx_adm_redis_conn_t *conn, redisReply *reply)
{
    char  text[256];

    ngx_adm_redis_log_error(conn->health, conn->name, &conn->log,
                            ngx_adm_redis_sort(reply),
                            ngx_adm_redis_text(text, sizeof(text), reply));
}


ngx_int_t
ngx_adm_redis_conn_send(ngx_adm_redis_conn_t *conn, ngx_adm_redis_call_t *call)
{
    switch (conn->state) {

    case ngx_adm_redis_connecting:
    case ngx_adm_redis_handshake:
    case ngx_adm_redis_setup:

        if (conn->failures) {
            return NGX_ERROR;
        }

        break;

    case ngx_adm_redis_idle:
    case ngx_adm_redis_ready:
        break;

    default:
        return NGX_ERROR;
    }

    if (ngx_adm_redis_breaker_ask(&conn->breaker) != NGX_OK) {
        return NGX_ERROR;
    }

    if (conn->state == ngx_adm_redis_idle
        && ngx_adm_redis_attempt(conn, conn->conf->timeout)
           != NGX_OK)
    {
        /* not a failure of this call: the next attempt counts it */

        ngx_adm_redis_breaker_neither(&conn->breaker);

        return NGX_ERROR;
    }

    call->late = 0;
    call->limit = ngx_current_msec + call->wait;

    ngx_adm_redis_arm(conn, call->deadline);

    ngx_queue_insert_tail(&conn->calls, &call->queue);
    ngx_adm_redis_queue_changed(conn);

    if (conn->state == ngx_adm_redis_ready) {
        ngx_adm_redis_push(conn, call);
    }

    return NGX_OK;
}


static void
ngx_adm_redis_timer_handler(ngx_event_t *ev)
{
    ngx_adm_redis_conn_t  *conn;

    conn = ev->data;

    switch (conn->state) {

    case ngx_adm_redis_down:

        (void) ngx_adm_redis_attempt(conn,
                                     ngx_min(conn->conf->timeout,
                                             NGX_ADM_REDIS_PROBE_MAX));
        return;

    case ngx_adm_redis_connecting:
    case ngx_adm_redis_handshake:
    case ngx_adm_redis_setup:
        break;

    case ngx_adm_redis_ready:

        if (ngx_queue_empty(&conn->calls)) {
            return;
        }

        break;

    default:
        return;
    }

    if (ngx_adm_redis_time_left(conn, 0) > 0) {
        ngx_adm_redis_tell_late(conn);
        return;
    }

    if (conn->state == ngx_adm_redis_connecting) {
        ngx_adm_redis_fail(conn, ngx_adm_redis_timed_out,
                           0, "connecting timed out");
        return;
    }

    if (conn->state == ngx_adm_redis_handshake) {
        ngx_adm_redis_fail(conn, ngx_adm_redis_timed_out,
                           0, "the TLS handshake timed out");
        return;
    }

    ngx_adm_redis_fail(conn, ngx_adm_redis_timed_out, 0,
                       "no reply within %M ms", conn->conf->timeout);
}


/*
 * Tells calls whose deadline has passed.  A call that was sent a second time
 * has an earlier deadline than those before it; that it is over says nothing
 * about the connection.
 */

static void
ngx_adm_redis_tell_late(ngx_adm_redis_conn_t *conn)
{
    ngx_msec_int_t         left;
    ngx_queue_t           *q, unsent;
    ngx_adm_redis_call_t  *call;

    ngx_queue_init(&unsent);

    q = ngx_queue_head(&conn->calls);

    while (q != ngx_queue_sentinel(&conn->calls)) {
        call = ngx_queue_data(q, ngx_adm_redis_call_t, queue);
        q = ngx_queue_next(q);

        if (call->late
            || (ngx_msec_int_t) (call->deadline - ngx_current_msec) > 0)
        {
            continue;
        }

        if (conn->state != ngx_adm_redis_ready) {
            ngx_adm_redis_breaker_neither(&conn->breaker);

            ngx_queue_remove(&call->queue);
            ngx_queue_insert_tail(&unsent, &call->queue);
            continue;
        }

        call->late = 1;
        call->answer(call, NGX_AGAIN, NULL);

        /* the handler may have added calls, but taken none out */

        q = ngx_queue_next(&call->queue);
    }

    ngx_adm_redis_queue_changed(conn);

    left = ngx_adm_redis_time_left(conn, 1);

    ngx_adm_redis_arm(conn, ngx_current_msec + ngx_max(left, 0));

    ngx_adm_redis_complete_lost(&unsent);
}


/*
 * ms until the connection ends for lack of an answer; all: or until a
 * deadline, if that is earlier
 */

static ngx_msec_int_t
ngx_adm_redis_time_left(ngx_adm_redis_conn_t *conn, ngx_uint_t all)
{
    ngx_msec_t             till;
    ngx_msec_int_t         left, min;
    ngx_queue_t           *q;
    ngx_adm_redis_call_t  *call;

    min = NGX_MAX_INT32_VALUE;

    if (conn->state != ngx_adm_redis_ready) {
        min = (ngx_msec_int_t) (conn->deadline - ngx_current_msec);
    }

    for (q = ngx_queue_head(&conn->calls);
         q != ngx_queue_sentinel(&conn->calls);
         q = ngx_queue_next(q))
    {
        call = ngx_queue_data(q, ngx_adm_redis_call_t, queue);
        till = (all && !call->late) ? call->deadline : call->limit;
        left = (ngx_msec_int_t) (till - ngx_current_msec);

        if (left < min) {
            min = left;
        }
    }

    return min;
}
