
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Joining events that have no line of their own is bounded, see unlisted.h.
 */


#ifndef _NGX_HTTP_ADMISSION_QUEUE_BOUND_H_INCLUDED_
#define _NGX_HTTP_ADMISSION_QUEUE_BOUND_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_admission_api.h"
#include "ngx_http_admission_queue.h"


/*
 * Before Redis is asked.  NGX_DECLINED: it is to be asked, in the mode that
 * ask has then: with call->bound set who would join by it is to be answered
 * by _over().  Otherwise returns what a content handler returns.
 */
ngx_int_t ngx_http_admission_queue_bound(ngx_http_admission_api_call_t *call,
    ngx_http_admission_queue_ask_t *ask);

/* 503 TOO_MANY_EVENTS */
ngx_int_t ngx_http_admission_queue_over(ngx_http_admission_api_call_t *call);

/*
 * Whether the host has learned by the answer that an operator named the event:
 * it is to be asked again.
 */
ngx_uint_t ngx_http_admission_queue_bound_named(
    ngx_http_admission_api_call_t *call);

/* what Redis answered, or that it did not; to a leave */
void ngx_http_admission_queue_bound_told(ngx_http_admission_api_call_t *call,
    ngx_http_admission_queue_answer_t *answer);
void ngx_http_admission_queue_bound_failed(ngx_http_admission_api_call_t *call,
    ngx_uint_t sent);
void ngx_http_admission_queue_bound_left(ngx_http_admission_api_call_t *call);


#endif /* _NGX_HTTP_ADMISSION_QUEUE_BOUND_H_INCLUDED_ */
