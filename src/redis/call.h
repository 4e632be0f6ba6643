
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What the parts of the Redis client hand each other: a call, which part of
 * the client has it, and how each part is told what became of it.  Code that
 * issues calls knows these types by name only.
 */


#ifndef _NGX_ADM_REDIS_CALL_H_INCLUDED_
#define _NGX_ADM_REDIS_CALL_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include <hiredis/hiredis.h>


typedef struct ngx_adm_redis_s       ngx_adm_redis_t;
typedef struct ngx_adm_redis_node_s  ngx_adm_redis_node_t;
typedef struct ngx_adm_redis_conn_s  ngx_adm_redis_conn_t;
typedef struct ngx_adm_redis_call_s  ngx_adm_redis_call_t;


/*
 * A script, and how the two commands that run it begin: EVALSHA up to and with
 * the hash, EVAL up to the script's text.  EVAL's beginning is the shorter
 * one, so that it fits where the other was.
 */
typedef struct {
    ngx_str_t                              evalsha;
    ngx_str_t                              eval;
    ngx_str_t                              lua;
    ngx_uint_t                             kind;     /* as what calls are
                                                        counted, see
                                                        counter.h */
} ngx_adm_redis_script_t;


/*
 * rc NGX_OK: the reply, which lives until the completion returns.
 * NGX_DECLINED: Redis answered with an error, which is in reply->str.
 * NGX_ERROR: no answer (deadline, connection lost, rubbish); reply is NULL.
 *
 * Called from the event loop, never from inside the function that issued
 * the call, and free to issue and cancel any calls.
 */
typedef void (*ngx_adm_redis_done_pt)(void *data, ngx_int_t rc,
    redisReply *reply);


/* the owner of the call goes away, or was told that no answer came in time */
typedef void (*ngx_adm_redis_detach_pt)(void *data);


/*
 * rc and reply are as a completion's.  The call has left the pipeline and
 * belongs to the handler, which may send it again.
 *
 * NGX_AGAIN: the call's deadline has passed, and that is all.  It may yet be
 * answered, so it stays in the pipeline, and the handler is called a second
 * time.
 */
typedef void (*ngx_adm_redis_answer_pt)(ngx_adm_redis_call_t *call,
    ngx_int_t rc, redisReply *reply);


/*
 * The connection has failed, could not be made, or has ended: its calls are
 * about to be answered.  The handler neither sends nor closes anything.
 */
typedef void (*ngx_adm_redis_failed_pt)(void *data);


/* the buffer of ASKING, which goes before those of the call's command */
#define NGX_ADM_REDIS_ASKING  3


struct ngx_adm_redis_call_s {

    /* for the connection */

    ngx_queue_t                 queue;
    ngx_msec_t                  deadline;
    ngx_msec_t                  wait;     /* ms for an answer: */
    ngx_msec_t                  limit;    /* then nobody is there */
    ngx_adm_redis_answer_pt     answer;

    ngx_uint_t                  nbufs;
    ngx_buf_t                   bufs[4];
    ngx_chain_t                 links[4];
    unsigned                    asking:1; /* ASKING was sent, and not
                                             answered */

    /* for the client */

    ngx_adm_redis_t            *redis;
    ngx_adm_redis_node_t       *node;     /* that it was sent to */
    ngx_uint_t                  slot;     /* of a cluster, of its key */
    ngx_uint_t                  hops;
    ngx_msec_t                  again;    /* to be sent again, if parked */
    ngx_adm_redis_script_t     *script;   /* NULL: it is no EVALSHA */
    ngx_adm_redis_done_pt       done;     /* NULL: cancelled */
    void                       *data;
    void                       *own;      /* freed with the call */
    ngx_adm_redis_detach_pt     detach;   /* NULL: the answer matters to the
                                             owner alone */
    ngx_uint_t                  kind;     /* as what it is counted */
    uint64_t                    issued;   /* us, monotonic */
    unsigned                    background:1;
    unsigned                    probe:1;  /* sent to a replica */
    unsigned                    late:1;   /* the owner knows it is late */

    size_t                      size;     /* of the command */
    size_t                      count;    /* of its "*N\r\n" */
    u_char                      command[1];
};


/* sets a buffer of the command anew, since a call may be sent several times */
static ngx_inline void
ngx_adm_redis_set_buf(ngx_adm_redis_call_t *call, ngx_uint_t i, u_char *pos,
    u_char *last)
{
    ngx_buf_t  *b;

    b = &call->bufs[i];

    ngx_memzero(b, sizeof(ngx_buf_t));

    b->start = pos;
    b->pos = pos;
    b->last = last;
    b->end = last;
    b->memory = 1;
}


#endif /* _NGX_ADM_REDIS_CALL_H_INCLUDED_ */
