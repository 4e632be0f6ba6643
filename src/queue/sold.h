
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Joins of an event whose seats are sold: many come at once, and Redis is not
 * to be asked about each.  Who waits or is in need not join, and shows a place
 * or an entry token; one who shows neither may wait or be in all the same,
 * which only Redis knows.
 */


#ifndef _NGX_ADM_QUEUE_SOLD_H_INCLUDED_
#define _NGX_ADM_QUEUE_SOLD_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "queue.h"


/*
 * Whether a join is refused without asking: the host knows that all is sold,
 * and Redis has refused those before, of whom one in so many is asked about
 * still.
 */
ngx_uint_t ngx_adm_sold_refuse(ngx_adm_queue_ask_t *ask);

/* what Redis said of one that was asked about */
void ngx_adm_sold_answered(ngx_adm_queue_ask_t *ask,
    ngx_adm_queue_state_e state);


#endif /* _NGX_ADM_QUEUE_SOLD_H_INCLUDED_ */
