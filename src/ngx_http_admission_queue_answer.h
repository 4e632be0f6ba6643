
/*
 * Copyright (C) 2026 the admission module authors
 */


#ifndef _NGX_HTTP_ADMISSION_QUEUE_ANSWER_H_INCLUDED_
#define _NGX_HTTP_ADMISSION_QUEUE_ANSWER_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_admission_api.h"
#include "ngx_http_admission_queue.h"


/*
 * Answers check, status and heartbeat with how the user stands, and with the
 * tokens that go with it.  Returns what a content handler returns.
 */
ngx_int_t ngx_http_admission_queue_answer(ngx_http_admission_api_call_t *call,
    ngx_http_admission_queue_answer_t *answer);


#endif /* _NGX_HTTP_ADMISSION_QUEUE_ANSWER_H_INCLUDED_ */
