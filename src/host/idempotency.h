
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Answers to calls with an Idempotency-Key, in the zone, so that a call that
 * is repeated does nothing twice.  A number that the zone's size sets is
 * kept, for 5 minutes at most; the oldest goes for a new one.
 *
 * The functions take and release the zone's lock themselves, briefly.
 */


#ifndef _NGX_ADM_HOST_IDEMPOTENCY_H_INCLUDED_
#define _NGX_ADM_HOST_IDEMPOTENCY_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/forecast.h"
#include "zone.h"


#define NGX_ADM_IDEMPOTENCY_HASH  20     /* bytes: SHA-1 */


/* an answer of assign; of other calls ticket is the whole JSON */
typedef struct {
    int64_t                     position;       /* 0: none yet, */
    int64_t                     lot;            /* but this; 0: no lot */
    ngx_adm_range_t             wait;
    int64_t                     serving;
    int64_t                     total;
    int64_t                     next_poll;
    ngx_uint_t                  paused;         /* bool: no wait is set */

    ngx_str_t                   ticket;
    int64_t                     ticket_exp;     /* s */
    ngx_str_t                   visitor;
    int64_t                     visitor_exp;    /* s */
} ngx_adm_answer_t;


/* a call with a key */
typedef struct {
    u_char                      hash[NGX_ADM_IDEMPOTENCY_HASH];
    u_char                      body[NGX_ADM_IDEMPOTENCY_HASH];
    uint64_t                    owner;          /* 0: somebody else answers */
} ngx_adm_keyed_t;


extern ngx_adm_zone_part_t  ngx_adm_answers_part;


/*
 * A hash of parts in their order.  "hash" is what a call is known by, "body"
 * what has to be the same when it is repeated.
 */
void ngx_adm_idempotency_hash(u_char *hash, ngx_str_t *parts, ngx_uint_t n);

/*
 * NGX_OK: the call was answered like this; strings are in pool.  NGX_AGAIN: it
 * is being answered.  NGX_ABORT: a call with another body is, or was,
 * answered.  NGX_DECLINED: the caller has to answer by deadline (of
 * ngx_current_msec), and then to call one of the two functions below, as
 * keyed->owner says.  NGX_ERROR: no memory. make 0: notes nothing with
 * NGX_DECLINED, and neither is called.
 */
ngx_int_t ngx_adm_idempotency_begin(ngx_adm_keyed_t *keyed, ngx_pool_t *pool,
    ngx_uint_t make, ngx_msec_t deadline, ngx_adm_answer_t *answer);

void ngx_adm_idempotency_keep(ngx_adm_keyed_t *keyed, ngx_adm_answer_t *answer);

/* there will be no answer: the next call like this may try */
void ngx_adm_idempotency_drop(ngx_adm_keyed_t *keyed);


#endif /* _NGX_ADM_HOST_IDEMPOTENCY_H_INCLUDED_ */
