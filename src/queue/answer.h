
/*
 * Copyright (C) 2026 the admission module authors
 *
 * How a user's call of the queue is answered.
 */


#ifndef _NGX_ADM_QUEUE_ANSWER_H_INCLUDED_
#define _NGX_ADM_QUEUE_ANSWER_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../http/api.h"
#include "queue.h"


/*
 * Answers check, status and heartbeat with how the user stands, and with the
 * tokens that go with it.  Returns what a content handler returns.
 */
ngx_int_t ngx_adm_queue_answer(ngx_adm_api_call_t *call,
    ngx_adm_queue_answer_t *answer);


#endif /* _NGX_ADM_QUEUE_ANSWER_H_INCLUDED_ */
