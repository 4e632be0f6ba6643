
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


/* an answer of assign; of other calls its ticket is all the JSON */
typedef struct {
    int64_t                     position;       /* 0: there is none yet, */
    int64_t                     lot;            /* but this; 0: it is none */
    ngx_adm_range_t             wait;
    int64_t                     serving;
    int64_t                     total;
    int64_t                     next_poll;
    ngx_uint_t                  paused;         /* wait is not set */

    ngx_str_t                   ticket;
    int64_t                     ticket_exp;     /* s */
    ngx_str_t                   visitor;
    int64_t                     visitor_exp;    /* s */
} ngx_adm_answer_t;


/* a call with a key */
typedef struct {
    u_char                      hash[NGX_ADM_IDEMPOTENCY_HASH];
    u_char                      body[NGX_ADM_IDEMPOTENCY_HASH];
    uint64_t                    owner;          /* 0: another one answers it */
} ngx_adm_keyed_t;


extern ngx_adm_zone_part_t  ngx_adm_answers_part;


/*
 * A hash of parts, of which their order makes a difference too: hash is what a
 * call is known by, body what has to be the same if it is repeated.
 */
void ngx_adm_idempotency_hash(u_char *hash, ngx_str_t *parts, ngx_uint_t n);

/*
 * NGX_OK: it was answered like that, strings are allocated from pool.
 * NGX_AGAIN: it is being answered.  NGX_ABORT: one with another body is, or
 * was.  NGX_DECLINED: the caller is to answer it by deadline (on the clock of
 * ngx_current_msec), and to call one of the other two then: keyed->owner says
 * so.  NGX_ERROR: no memory.  make 0: what is declined is not noted, and
 * neither of them is called.
 */
ngx_int_t ngx_adm_idempotency_begin(ngx_adm_keyed_t *keyed, ngx_pool_t *pool,
    ngx_uint_t make, ngx_msec_t deadline, ngx_adm_answer_t *answer);

void ngx_adm_idempotency_keep(ngx_adm_keyed_t *keyed, ngx_adm_answer_t *answer);

/* there is no answer: the next call like that may try */
void ngx_adm_idempotency_drop(ngx_adm_keyed_t *keyed);


#endif /* _NGX_ADM_HOST_IDEMPOTENCY_H_INCLUDED_ */
