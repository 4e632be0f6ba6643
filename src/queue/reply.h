
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What the queue's scripts answer: a list of integers, as q.reply() of
 * lua/queue_state_lib.lua makes it.  A step adds lists, as q.told() of
 * lua/queue_step.lua does: revocations that are news to the host, and what it
 * did.
 */


#ifndef _NGX_ADM_QUEUE_REPLY_H_INCLUDED_
#define _NGX_ADM_QUEUE_REPLY_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "../host/line.h"
#include "../host/tally.h"
#include "queue.h"


typedef struct {
    ngx_adm_queue_answer_t   answer;     /* for whoever has called */

    /* for the host */
    ngx_adm_event_state_t    state;
    ngx_adm_event_now_t      now;

    ngx_adm_tally_t          tally;      /* what the call did */

    /* of a step: the members of the line, and up to which scores */
    redisReply              *members;
    ngx_adm_line_scan_t      scan;

    /*
     * of a step: scores of the line, the ranks of those behind the first
     * "exact"; who is gone from it: user, time, ...
     */
    redisReply              *points;
    redisReply              *ranks;
    redisReply              *gone;
    ngx_uint_t               exact;
    int64_t                  told;
} ngx_adm_queue_reply_t;


/*
 * Reads the integers that all scripts answer, ahead of "more" elements.
 * NGX_ERROR, with a line in the log: no script answers like that.
 */
ngx_int_t ngx_adm_queue_reply(redisReply *reply, ngx_adm_queue_reply_t *r,
    ngx_uint_t more);

/*
 * Reads the same of a step.  The host remembers for keep ms the revocations
 * that it tells, of which the last is of state.revoked (us).  How long those
 * who got in had waited is counted.
 */
ngx_int_t ngx_adm_queue_reply_step(redisReply *reply, ngx_str_t *event,
    ngx_msec_t keep, ngx_adm_queue_reply_t *r);

/* reads the same of heartbeats, and sets the answer's again and unknown */
ngx_int_t ngx_adm_queue_reply_beat(redisReply *reply, ngx_adm_queue_reply_t *r);

/* reads the same of joins, and sets stands */
ngx_int_t ngx_adm_queue_reply_joins(redisReply *reply,
    ngx_adm_queue_reply_t *r);


#endif /* _NGX_ADM_QUEUE_REPLY_H_INCLUDED_ */
