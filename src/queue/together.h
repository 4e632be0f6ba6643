
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Joins of an event that a worker gets in one turn of its event loop go out
 * with one call, in the order in which they came.
 */


#ifndef _NGX_ADM_QUEUE_TOGETHER_H_INCLUDED_
#define _NGX_ADM_QUEUE_TOGETHER_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "queue.h"


typedef struct ngx_adm_together_s  ngx_adm_together_t;


/*
 * Whether such a call will do: for a user who shows nothing, where as far as
 * the host knows there is a line.
 */
ngx_uint_t ngx_adm_together_may(ngx_adm_queue_ask_t *ask);

/*
 * Joins, or tells how the user stands, by done, once, unless cancelled. rc
 * NGX_AGAIN: the user has to ask alone, since nobody else joined at that time,
 * or since the user is in, or may enter.  NULL: no memory, or no Redis. ask is
 * copied, but for its conf.
 */
ngx_adm_together_t *ngx_adm_together(ngx_adm_queue_ask_t *ask,
    ngx_adm_queue_done_pt done, void *data);
void ngx_adm_together_cancel(void *together);


#endif /* _NGX_ADM_QUEUE_TOGETHER_H_INCLUDED_ */
