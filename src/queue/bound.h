
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


/* whoever calls about an event that has no line */
typedef struct {
    ngx_adm_guest_t    user;
    unsigned           unlisted:1;   /* it has none; 0: it has, and nothing is
                                        bounded */
    ngx_adm_bound_e    bound;        /* that is in the way of a join */
} ngx_adm_queue_guest_t;


/*
 * Before Redis is asked.  NGX_DECLINED: it is to be asked, in the mode that
 * ask has then: with guest->bound set who would join by it is to be answered
 * by _over().  Otherwise returns what a content handler returns.
 */
ngx_int_t ngx_adm_queue_bound(ngx_adm_api_call_t *call,
    ngx_adm_queue_guest_t *guest, ngx_adm_queue_ask_t *ask);

/* what an answer says of it */
void ngx_adm_queue_bound_note(ngx_adm_queue_guest_t *guest,
    ngx_adm_queue_answer_t *answer);

/* 503 TOO_MANY_EVENTS */
ngx_int_t ngx_adm_queue_over(ngx_adm_api_call_t *call,
    ngx_adm_queue_guest_t *guest);


#endif /* _NGX_ADM_QUEUE_BOUND_H_INCLUDED_ */
