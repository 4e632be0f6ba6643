
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Joining events that have no line of their own is bounded, see unlisted.h.
 */


#ifndef _NGX_ADM_QUEUE_BOUND_H_INCLUDED_
#define _NGX_ADM_QUEUE_BOUND_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "../host/unlisted.h"
#include "../http/api.h"
#include "queue.h"


/* somebody who calls about an event that may have no line of its own */
typedef struct {
    ngx_adm_guest_t    user;
    unsigned           unlisted:1;   /* 0: it has one, and nothing is bounded */
    ngx_adm_bound_e    bound;        /* that is in the way of a join */
} ngx_adm_queue_guest_t;


/*
 * To be called before Redis is asked.  NGX_DECLINED: ask it, in the mode that
 * ask has by then; with guest->bound set, answer a user who would join by that
 * with _over().  Otherwise returns what a content handler returns.
 */
ngx_int_t ngx_adm_queue_bound(ngx_adm_api_call_t *call,
    ngx_adm_queue_guest_t *guest, ngx_adm_queue_ask_t *ask);

/* notes what an answer says of the user */
void ngx_adm_queue_bound_note(ngx_adm_queue_guest_t *guest,
    ngx_adm_queue_answer_t *answer);

/* answers 503 TOO_MANY_EVENTS */
ngx_int_t ngx_adm_queue_over(ngx_adm_api_call_t *call,
    ngx_adm_queue_guest_t *guest);


#endif /* _NGX_ADM_QUEUE_BOUND_H_INCLUDED_ */
