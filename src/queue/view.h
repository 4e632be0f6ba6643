
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Polls that ask nobody: users in line who are told how they stand from the
 * host's view of the line, and what Redis is told of them, many in one call.
 */


#ifndef _NGX_ADM_QUEUE_VIEW_H_INCLUDED_
#define _NGX_ADM_QUEUE_VIEW_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "queue.h"


/*
 * How the user stands who asks; Redis is told within a second that it was here.
 * NGX_DECLINED: Redis is to be asked.
 */
ngx_int_t ngx_adm_queue_view(ngx_adm_queue_ask_t *ask,
    ngx_adm_queue_answer_t *answer);


#endif /* _NGX_ADM_QUEUE_VIEW_H_INCLUDED_ */
