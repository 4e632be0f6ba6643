
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Inside the Redis client: one connection to one node.
 *
 * A connection is a pipeline: calls go in at one end, and each comes back
 * exactly once through its answer handler, with the reply or without.  It
 * connects when it is given a call, goes away when Redis does, and after a
 * failure finds out by itself, on a timer, when Redis is back.  While calls
 * to the node fail, its breaker keeps them from being sent.
 */


#ifndef _NGX_ADM_REDIS_CONN_H_INCLUDED_
#define _NGX_ADM_REDIS_CONN_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "call.h"
#include "settings.h"


/*
 * A connection without addresses: nothing may be sent before it has some.
 * name is "host[:port][/...]", for the log and to be found in the node's
 * certificate.  NULL: no memory.
 */
ngx_adm_redis_conn_t *ngx_adm_redis_conn_create(ngx_cycle_t *cycle,
    ngx_adm_redis_conf_t *conf, ngx_str_t *name, ngx_adm_redis_failed_pt failed,
    void *data);

/*
 * Sets the addresses of the node (copied), which are tried in turn from the
 * next attempt to connect on; NGX_ERROR: no memory.
 */
ngx_int_t ngx_adm_redis_conn_addrs(ngx_adm_redis_conn_t *conn,
    ngx_addr_t *addrs, ngx_uint_t naddrs);

/* whether calls are out on the connection */
ngx_uint_t ngx_adm_redis_conn_busy(ngx_adm_redis_conn_t *conn);

/* whether a call would go out at once, as far as the connection is concerned */
ngx_uint_t ngx_adm_redis_conn_ready(ngx_adm_redis_conn_t *conn);

/* the worker leaves: only calls that somebody waits for hold it from now on */
void ngx_adm_redis_conn_leave(ngx_adm_redis_conn_t *conn);

/* whether the last attempts to connect failed */
ngx_uint_t ngx_adm_redis_conn_down(ngx_adm_redis_conn_t *conn);

/* tells the log that a call was answered with this error */
void ngx_adm_redis_conn_error(ngx_adm_redis_conn_t *conn, redisReply *reply);

/* completes the calls that are out with NGX_ERROR; nothing is sent after it */
void ngx_adm_redis_conn_close(ngx_adm_redis_conn_t *conn);

/*
 * Takes a call with its bufs, deadline, wait and answer set; wait reaches to
 * the deadline or, where the call was sent before, beyond.  NGX_ERROR: not
 * taken, since Redis is known to be down or no connection can be made.
 * Answers no call by itself.
 */
ngx_int_t ngx_adm_redis_conn_send(ngx_adm_redis_conn_t *conn,
    ngx_adm_redis_call_t *call);


#endif /* _NGX_ADM_REDIS_CONN_H_INCLUDED_ */
