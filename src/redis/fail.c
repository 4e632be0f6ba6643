
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The end of a connection to Redis, most often by a failure: what is logged
 * and counted, when it may connect again, and what becomes of its calls.  And
 * when the event loop is to come back to it.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>

#include "conn_parts.h"
#include "shared.h"


#define NGX_ADM_REDIS_PAUSE_MIN     50
#define NGX_ADM_REDIS_PAUSE_MAX     500


static void ngx_adm_redis_rest(ngx_adm_redis_conn_t *conn);


void
ngx_adm_redis_fail_lost(ngx_adm_redis_conn_t *conn, ngx_err_t err, char *what)
{
    u_char  *text;

    text = ngx_adm_redis_tls_error(&conn->tls);

    ngx_adm_redis_fail(conn, ngx_adm_redis_lost, err,
                       *text ? "%s: %s" : "%s", what, text);
}


void
ngx_adm_redis_breaker_changed(ngx_adm_redis_conn_t *conn)
{
    if (conn->counted != conn->breaker.state) {
        ngx_adm_redis_count_breaker(conn->counted, conn->breaker.state);
        conn->counted = conn->breaker.state;
    }
}


ngx_uint_t
ngx_adm_redis_bad(ngx_adm_redis_conn_t *conn)
{
    ngx_uint_t  trial;

    trial = (conn->breaker.state == ngx_adm_redis_breaker_trial);

    if (!ngx_adm_redis_breaker_bad(&conn->breaker)) {
        return 0;
    }

    ngx_adm_redis_breaker_changed(conn);

    if (!trial && ngx_adm_redis_opened(conn->health)) {
        ngx_log_error(NGX_LOG_ERR, &conn->log, 0,
                      "admission: redis %V: breaker open, %ui%% of the last "
                      "%ui calls failed", conn->name,
                      conn->conf->breaker.percent, conn->conf->breaker.calls);
    }

    return 1;
}


void
ngx_adm_redis_fail(ngx_adm_redis_conn_t *conn, ngx_adm_redis_fault_e fault,
    ngx_err_t err, const char *fmt, ...)
{
    u_char      *p, text[NGX_MAX_ERROR_STR / 4];
    va_list      args;
    ngx_uint_t   unused;
    ngx_queue_t  lost, *q;

    va_start(args, fmt);
    p = ngx_vslprintf(text, text + sizeof(text) - 1, fmt, args);
    va_end(args);

    *p = '\0';

    unused = conn->state == ngx_adm_redis_ready
             && ngx_queue_empty(&conn->calls)
             && fault == ngx_adm_redis_lost;

    ngx_adm_redis_end(conn, &lost);

    if (unused) {

        /* Redis went away, or closed what is idle: the next call will tell */

        ngx_adm_redis_count_break();

        ngx_log_error(NGX_LOG_INFO, &conn->log, err,
                      "admission: redis %V: idle %s", conn->name, text);

    } else {
        conn->failing = 1;

        ngx_adm_redis_log_fault(conn->health, conn->name,
                                &conn->log, fault, err, text);

        ngx_adm_count(NGX_ADM_COUNT_FAILURES);

        if (fault == ngx_adm_redis_timed_out) {
            ngx_adm_count(NGX_ADM_COUNT_TIMEOUTS);
        }
    }

    for (q = ngx_queue_head(&lost);
         q != ngx_queue_sentinel(&lost);
         q = ngx_queue_next(q))
    {
        if (fault == ngx_adm_redis_wrong_node) {
            ngx_adm_redis_breaker_neither(&conn->breaker);

        } else {
            (void) ngx_adm_redis_bad(conn);
        }
    }

    /* a node that does not answer is left alone until it answers a PING */

    if ((unused || conn->answered)
        && fault != ngx_adm_redis_timed_out
        && conn->breaker.state != ngx_adm_redis_breaker_open)
    {
        conn->failures = 0;
        conn->state = ngx_adm_redis_idle;

    } else {
        ngx_adm_redis_rest(conn);

        conn->failures++;
        conn->addr = (conn->addr + 1) % conn->naddrs;
    }

    conn->failed(conn->data);

    ngx_adm_redis_complete_lost(&lost);
}


/* the node is left alone until the next attempt */

static void
ngx_adm_redis_rest(ngx_adm_redis_conn_t *conn)
{
    ngx_msec_t  pause;
    ngx_uint_t  shift;

    shift = ngx_min(conn->failures, 8);
    pause = ngx_min((ngx_msec_t) NGX_ADM_REDIS_PAUSE_MIN << shift,
                    NGX_ADM_REDIS_PAUSE_MAX);
    pause = ngx_max(pause, ngx_adm_redis_breaker_pause(&conn->breaker));
    pause = pause * 3 / 4 + (ngx_msec_t) ngx_random() % (pause / 4 + 1);

    conn->state = ngx_adm_redis_down;

    ngx_add_timer(&conn->timer, pause);
}


ngx_uint_t
ngx_adm_redis_end_idle(ngx_adm_redis_conn_t *conn)
{
    ngx_queue_t  lost;

    if (!ngx_queue_empty(&conn->calls)) {
        return 0;
    }

    ngx_adm_redis_end(conn, &lost);

    /*
     * Of a worker that leaves, which may have something to tell still: no call
     * goes to a node whose breaker is open, so that only an attempt closes it.
     */

    if (conn->breaker.state == ngx_adm_redis_breaker_open) {
        ngx_adm_redis_rest(conn);

    } else {
        conn->state = ngx_adm_redis_idle;
    }

    return 1;
}


void
ngx_adm_redis_end(ngx_adm_redis_conn_t *conn, ngx_queue_t *lost)
{
    ngx_queue_init(lost);

    if (!ngx_queue_empty(&conn->calls)) {
        ngx_queue_add(lost, &conn->calls);
        ngx_queue_init(&conn->calls);
    }

    ngx_adm_redis_disconnect(conn);
    ngx_adm_redis_queue_changed(conn);

    if (conn->timer.timer_set) {
        ngx_del_timer(&conn->timer);
    }
}


void
ngx_adm_redis_disconnect(ngx_adm_redis_conn_t *conn)
{
    ngx_pool_t        *pool;
    ngx_connection_t  *c;

    conn->serial++;

    conn->out = NULL;
    conn->last_out = &conn->out;

    if (conn->flush.posted) {
        ngx_delete_posted_event(&conn->flush);
    }

    if (conn->reader) {
        redisReaderFree(conn->reader);
        conn->reader = NULL;
    }

    c = conn->connection;

    if (c == NULL) {
        return;
    }

    conn->connection = NULL;

    ngx_adm_redis_count_open(-1);

    ngx_adm_redis_tls_shutdown(&conn->tls, c);

    pool = c->pool;
    ngx_close_connection(c);
    ngx_destroy_pool(pool);

    conn->log.connection = 0;
}


void
ngx_adm_redis_complete_lost(ngx_queue_t *lost)
{
    ngx_queue_t           *q;
    ngx_adm_redis_call_t  *call;

    while (!ngx_queue_empty(lost)) {
        q = ngx_queue_head(lost);
        ngx_queue_remove(q);

        call = ngx_queue_data(q, ngx_adm_redis_call_t, queue);
        call->answer(call, NGX_ERROR, NULL);
    }
}


void
ngx_adm_redis_arm(ngx_adm_redis_conn_t *conn, ngx_msec_t deadline)
{
    ngx_msec_int_t  left;

    /* a timer that comes early sets itself again */

    if (conn->timer.timer_set) {

        if ((ngx_msec_int_t) (deadline - conn->timer.timer.key) >= 0) {
            return;
        }

        ngx_del_timer(&conn->timer);
    }

    left = (ngx_msec_int_t) (deadline - ngx_current_msec);

    ngx_add_timer(&conn->timer, (ngx_msec_t) ngx_max(left, 0));
}
