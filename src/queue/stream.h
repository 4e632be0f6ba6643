
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The stream of a user: what "status" tells, when it changes.
 */


#ifndef _NGX_ADM_QUEUE_STREAM_H_INCLUDED_
#define _NGX_ADM_QUEUE_STREAM_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../http/api.h"
#include "queue.h"


/*
 * Answers the call with a stream that begins with this answer; or, if that is
 * a refusal, as ngx_adm_queue_answer() does.
 */
ngx_int_t ngx_adm_queue_stream(ngx_adm_api_call_t *call,
    ngx_adm_queue_answer_t *answer);


#endif /* _NGX_ADM_QUEUE_STREAM_H_INCLUDED_ */
