
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The calls of admission_queue_api (docs/api.md: Calls of users, of operators).
 */


#ifndef _NGX_ADM_QUEUE_API_H_INCLUDED_
#define _NGX_ADM_QUEUE_API_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../http/api.h"
#include "queue.h"


/* handlers of routes: of users, the first by ngx_adm_queue_mode_e */
ngx_int_t ngx_adm_queue_check_handler(ngx_adm_api_call_t *call);
ngx_int_t ngx_adm_queue_stream_handler(ngx_adm_api_call_t *call);
ngx_int_t ngx_adm_queue_leave_handler(ngx_adm_api_call_t *call);

/* and of operators, by ngx_adm_queue_admin_e */
ngx_int_t ngx_adm_queue_admin_handler(ngx_adm_api_call_t *call);


/* what tier 1 says of a join; all NULL: nothing */
typedef struct {
    ngx_adm_claims_t     *priority;  /* its position counts */
    ngx_adm_claims_t     *pass;      /* lets join, where that takes a token */
    const char           *why;       /* no token that is shown does */
} ngx_adm_queue_join_t;

/*
 * Fills join for a call, and runs done, before it returns or later; unless it
 * answers the call itself, since tier 1 is not known.  It is the gate's, which
 * knows of waiting rooms as a queue does not.  The memory of join is zeroed,
 * and lives as long as the request.  Returns what a content handler returns,
 * as done does.
 */
typedef ngx_int_t (*ngx_adm_queue_join_pt)(ngx_adm_api_call_t *call,
    ngx_adm_queue_join_t *join, ngx_adm_api_pt done);

extern ngx_adm_queue_join_pt  ngx_adm_queue_join;


/*
 * handler of purchases told by a user or an operator; call->value:
 * ngx_adm_by_e
 */
ngx_int_t ngx_adm_queue_complete_handler(ngx_adm_api_call_t *call);

/*
 * The JSON {eventId, slots, sold, inside, remaining}, with "counted" if that
 * is not NULL.  NGX_ERROR: no memory.
 */
ngx_int_t ngx_adm_queue_seats_text(ngx_adm_api_call_t *call,
    ngx_adm_queue_answer_t *answer, const char *counted, ngx_str_t *json);

/* these are for the users' calls alone */

/*
 * NGX_DECLINED: the call is by call->who or, if that is empty, by a visitor
 * that is to be made (only with make set); otherwise it has been answered.
 */
ngx_int_t ngx_adm_queue_user(ngx_adm_api_call_t *call, ngx_uint_t make);

/* clears the cookies of place and entry token; NGX_ERROR: no memory */
ngx_int_t ngx_adm_queue_clear(ngx_adm_api_call_t *call);

/*
 * All places of the event and user that the request shows: which of them
 * count, and which is the best, Redis knows.  NGX_ERROR: no memory.
 */
ngx_int_t ngx_adm_queue_places(ngx_adm_api_call_t *call,
    ngx_adm_queue_ask_t *ask);


#endif /* _NGX_ADM_QUEUE_API_H_INCLUDED_ */
