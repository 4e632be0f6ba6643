
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What the queue scripts answer: a list of integers, as q.reply() of
 * lua/queue_state_lib.lua has them, and after a step two lists more, as
 * q.told() of lua/queue_step.lua: of revocations that are news to the host,
 * and of what the step did.
 */


#ifndef _NGX_ADM_QUEUE_REPLY_H_INCLUDED_
#define _NGX_ADM_QUEUE_REPLY_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "../host/line.h"
#include "../host/tally.h"
#include "queue.h"


typedef struct {
    ngx_adm_queue_answer_t   answer;     /* for whoever called */

    /* for the host */
    ngx_adm_event_state_t    state;
    ngx_adm_event_now_t      now;

    ngx_adm_tally_t          tally;      /* what the call did */

    /* of a step: who is there, and up to which scores */
    redisReply              *members;
    ngx_adm_line_scan_t      scan;

    /* and the line, with who is gone from it: user, time, user, time, ... */
    redisReply              *points;
    redisReply              *ranks;
    redisReply              *gone;
    ngx_uint_t               exact;
    int64_t                  told;
} ngx_adm_queue_reply_t;


/*
 * The integers that all scripts answer, ahead of "more" elements.  NGX_ERROR,
 * with a line in the log: no script answers that.
 */
ngx_int_t ngx_adm_queue_reply(redisReply *reply, ngx_adm_queue_reply_t *r,
    ngx_uint_t more);

/*
 * The same of a step.  The host comes to remember the revocations that it tells
 * for keep ms, state.revoked is the time of the last one (us); how long who got
 * in waited is counted.
 */
ngx_int_t ngx_adm_queue_reply_step(redisReply *reply, ngx_str_t *event,
    ngx_msec_t keep, ngx_adm_queue_reply_t *r);

/* the same of heartbeats: the answer's again is set */
ngx_int_t ngx_adm_queue_reply_beat(redisReply *reply, ngx_adm_queue_reply_t *r);

/* and of joins: stands is */
ngx_int_t ngx_adm_queue_reply_joins(redisReply *reply,
    ngx_adm_queue_reply_t *r);


#endif /* _NGX_ADM_QUEUE_REPLY_H_INCLUDED_ */
