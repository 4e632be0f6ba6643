
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What the queue scripts answer: a list of integers, as q.reply() of
 * lua/queue_state_lib.lua has them, and after a step two lists more, as
 * q.told() of lua/queue_step.lua: of revocations that are news to the host,
 * and of what the step did.
 *
 * All return NGX_ERROR, with a line in the log, for what no script answers.
 */


#ifndef _NGX_HTTP_ADMISSION_QUEUE_REPLY_H_INCLUDED_
#define _NGX_HTTP_ADMISSION_QUEUE_REPLY_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_admission_queue.h"
#include "ngx_http_admission_tally.h"


/* step: whether it is the answer of a step, which has the lists */
ngx_int_t ngx_http_admission_queue_reply(redisReply *reply,
    ngx_http_admission_queue_answer_t *answer,
    ngx_http_admission_event_state_t *state,
    ngx_http_admission_event_now_t *now,
    ngx_http_admission_tally_t *tally, ngx_uint_t step);

/*
 * Of the answer of a step that _queue_reply() has accepted: has the host
 * remember the revocations for keep ms, up to the first that is wrong;
 * *latest becomes the time of the last one (us).
 */
ngx_int_t ngx_http_admission_queue_reply_revoked(redisReply *reply,
    ngx_str_t *event, ngx_msec_t keep, int64_t *latest);

/*
 * Of the same: when the next is due, what the step did, besides, and how long
 * who got in waited.
 */
ngx_int_t ngx_http_admission_queue_reply_step(redisReply *reply,
    ngx_http_admission_queue_answer_t *answer,
    ngx_http_admission_tally_t *tally, ngx_http_admission_waits_t *waits);


#endif /* _NGX_HTTP_ADMISSION_QUEUE_REPLY_H_INCLUDED_ */
