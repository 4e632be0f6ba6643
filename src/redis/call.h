
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What the parts of the Redis client hand each other: a call, whom it belongs
 * to on its way, and how each of them is told what became of it.  Those who
 * issue calls know them by their names only.
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
 * A script, and the first arguments of the two commands as they are sent:
 * EVALSHA with its hash, and the longer of the two; EVAL up to the script.
 */
typedef struct {
    ngx_str_t                              evalsha;
    ngx_str_t                              eval;
    ngx_str_t                              lua;
    ngx_uint_t                             kind;     /* it is counted as, see
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


/* the owner of a call goes away, or was told that there is no answer in time */
typedef void (*ngx_adm_redis_detach_pt)(void *data);


/*
 * rc and reply as a completion's.  The call has left the pipeline and belongs
 * to the handler, which may send it again.
 *
 * NGX_AGAIN: its deadline has passed, no more.  It was sent late and may well
 * be answered: it stays where it is, and comes back another time.
 */
typedef void (*ngx_adm_redis_answer_pt)(ngx_adm_redis_call_t *call,
    ngx_int_t rc, redisReply *reply);


/*
 * A connection has failed, or could not be made, or has ended: its calls are
 * about to be answered.  Neither sends nor closes anything.
 */
typedef void (*ngx_adm_redis_failed_pt)(void *data);


/* the buffer that goes before the others, of a call that is to be asked */
#define NGX_ADM_REDIS_ASKING  3


struct ngx_adm_redis_call_s {

    /* the connection's */

    ngx_queue_t                 queue;
    ngx_msec_t                  deadline;
    ngx_msec_t                  wait;     /* ms for an answer: */
    ngx_msec_t                  limit;    /* then nobody is there */
    ngx_adm_redis_answer_pt     answer;

    ngx_uint_t                  nbufs;
    ngx_buf_t                   bufs[4];
    ngx_chain_t                 links[4];
    unsigned                    asking:1; /* the next reply is that to it */

    /* the client's */

    ngx_adm_redis_t            *redis;
    ngx_adm_redis_node_t       *node;     /* it was sent to */
    ngx_uint_t                  slot;     /* of a cluster */
    ngx_uint_t                  hops;
    ngx_msec_t                  again;    /* when, while parked */
    ngx_adm_redis_script_t     *script;   /* until it was sent */
    ngx_adm_redis_done_pt       done;     /* NULL: cancelled */
    void                       *data;
    void                       *own;      /* freed with the call */
    ngx_adm_redis_detach_pt     detach;   /* NULL: the answer is for the owner
                                             alone */
    ngx_uint_t                  kind;     /* it is counted as */
    uint64_t                    issued;   /* us, when */
    unsigned                    background:1;
    unsigned                    probe:1;  /* at a replica */
    unsigned                    late:1;   /* its owner was told */

    size_t                      size;     /* of the command */
    size_t                      count;    /* of its "*N\r\n" */
    u_char                      command[1];
};


/* a part of the command; calls may be sent several times */
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
