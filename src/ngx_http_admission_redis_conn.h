
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Inside the Redis client: the configuration, a call, and one connection to
 * one node.  Only redis*.c include this.
 *
 * A connection is a pipeline: calls go in at one end, and each comes back
 * exactly once through its answer handler, with the reply or without.  It
 * connects when it is given a call, goes away when Redis does, and after a
 * failure finds out by itself, on a timer, when Redis is back.  While calls
 * to the node fail, its breaker keeps them from being sent.
 */


#ifndef _NGX_HTTP_ADMISSION_REDIS_CONN_H_INCLUDED_
#define _NGX_HTTP_ADMISSION_REDIS_CONN_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>
#include <ngx_event_connect.h>

#include "ngx_http_admission_redis.h"
#include "ngx_http_admission_redis_breaker.h"
#include "ngx_http_admission_redis_ssl.h"


typedef struct ngx_http_admission_redis_conn_s  ngx_http_admission_redis_conn_t;
typedef struct ngx_http_admission_redis_node_s  ngx_http_admission_redis_node_t;


/* what a URL names */
typedef struct {
    ngx_str_t                              name;     /* for the log */
    ngx_str_t                              host;     /* empty: a socket */
    in_port_t                              port;
    ngx_addr_t                            *addrs;    /* of the start */
    ngx_uint_t                             naddrs;
    unsigned                               is_name:1;
} ngx_http_admission_redis_endpoint_t;


struct ngx_http_admission_redis_conf_s {
    ngx_array_t                            endpoints;

    ngx_str_t                              unresolved; /* a URL whose host
                                                          is not found */
    ngx_str_t                              master;   /* its name; endpoints
                                                        are sentinels */
    unsigned                               cluster:1;

    ngx_str_t                              auth;     /* commands, as sent; */
    ngx_str_t                              select;   /* empty: not needed */

    ngx_http_admission_redis_ssl_t        *ssl;      /* NULL: no TLS */

    ngx_str_t                              prefix;
    ngx_msec_t                             timeout;

    ngx_http_admission_redis_breaker_conf_t  breaker;
};


/*
 * rc and reply as a completion's.  The call has left the pipeline and belongs
 * to the handler, which may send it again.
 *
 * NGX_AGAIN: its deadline has passed, no more.  It was sent late and may well
 * be answered: it stays where it is, and comes back another time.
 */
typedef void (*ngx_http_admission_redis_answer_pt)(
    ngx_http_admission_redis_call_t *call, ngx_int_t rc, redisReply *reply);


/*
 * A connection has failed, or could not be made, or has ended: its calls are
 * about to be answered.  Neither sends nor closes anything.
 */
typedef void (*ngx_http_admission_redis_failed_pt)(void *data);


struct ngx_http_admission_redis_call_s {

    /* the connection's */

    ngx_queue_t                            queue;
    ngx_msec_t                             deadline;
    ngx_msec_t                             wait;     /* ms for an answer: */
    ngx_msec_t                             limit;    /* then nobody is there */
    ngx_http_admission_redis_answer_pt     answer;

    ngx_uint_t                             nbufs;
    ngx_buf_t                              bufs[3];
    ngx_chain_t                            links[3];

    /* the client's */

    ngx_http_admission_redis_t            *redis;
    ngx_http_admission_redis_node_t       *node;     /* it was sent to */
    ngx_uint_t                             slot;     /* of a cluster */
    ngx_uint_t                             hops;
    ngx_msec_t                             again;    /* when, while held */
    ngx_http_admission_redis_script_t     *script;   /* until it was sent */
    ngx_http_admission_redis_done_pt       done;     /* NULL: cancelled */
    void                                  *data;
    void                                  *own;      /* freed with the call */
    ngx_http_admission_redis_detach_pt     detach;   /* NULL: the answer is for
                                                        the owner alone */
    ngx_uint_t                             kind;     /* it is counted as */
    uint64_t                               issued;   /* us, when */
    unsigned                               background:1;
    unsigned                               probe:1;  /* at a replica */
    unsigned                               late:1;   /* its owner was told */

    size_t                                 size;     /* of the command */
    size_t                                 count;    /* of its "*N\r\n" */
    u_char                                 command[1];
};


/*
 * It has no address: nothing may be sent before it has.  name is
 * "host[:port][/...]", for the log and to be found in the node's certificate.
 * NULL: no memory.
 */
ngx_http_admission_redis_conn_t *ngx_http_admission_redis_conn_create(
    ngx_cycle_t *cycle, ngx_http_admission_redis_conf_t *conf,
    ngx_str_t *name, ngx_http_admission_redis_failed_pt failed, void *data);

/*
 * The addresses of the node (copied), tried in turn, from the next time on
 * that it connects; NGX_ERROR: no memory.
 */
ngx_int_t ngx_http_admission_redis_conn_addrs(
    ngx_http_admission_redis_conn_t *conn, ngx_addr_t *addrs,
    ngx_uint_t naddrs);

/* whether calls are out */
ngx_uint_t ngx_http_admission_redis_conn_busy(
    ngx_http_admission_redis_conn_t *conn);

/* whether a call would go out now, as far as the connection is concerned */
ngx_uint_t ngx_http_admission_redis_conn_ready(
    ngx_http_admission_redis_conn_t *conn);

/* the worker leaves: only calls that somebody waits for hold it from now on */
void ngx_http_admission_redis_conn_leave(
    ngx_http_admission_redis_conn_t *conn);

/* whether the last attempts to connect to it failed */
ngx_uint_t ngx_http_admission_redis_conn_down(
    ngx_http_admission_redis_conn_t *conn);

/* completes what is still out with NGX_ERROR; nothing is sent after it */
void ngx_http_admission_redis_conn_close(
    ngx_http_admission_redis_conn_t *conn);

/*
 * Takes a call with its bufs, deadline, wait and answer set; wait reaches to
 * the deadline or, where it was sent before, beyond.  NGX_ERROR: not taken,
 * Redis is known to be down or no connection can be made.  Answers nothing
 * itself.
 */
ngx_int_t ngx_http_admission_redis_conn_send(
    ngx_http_admission_redis_conn_t *conn,
    ngx_http_admission_redis_call_t *call);


#endif /* _NGX_HTTP_ADMISSION_REDIS_CONN_H_INCLUDED_ */
