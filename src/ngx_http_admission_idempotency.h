
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Answers to calls with an Idempotency-Key, in the zone, so that a call that
 * is repeated does nothing twice.  A number that the zone's size sets is
 * kept, for 5 minutes at most; the oldest goes for a new one.
 *
 * The functions take and release the zone's lock themselves, briefly.
 */


#ifndef _NGX_HTTP_ADMISSION_IDEMPOTENCY_H_INCLUDED_
#define _NGX_HTTP_ADMISSION_IDEMPOTENCY_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>


#define NGX_HTTP_ADMISSION_IDEMPOTENCY_HASH  20     /* bytes: SHA-1 */


/* an answer of assign */
typedef struct {
    int64_t                     position;
    int64_t                     wait;
    int64_t                     serving;
    int64_t                     total;
    int64_t                     next_poll;
    ngx_uint_t                  paused;         /* wait promises nothing */

    ngx_str_t                   ticket;
    int64_t                     ticket_exp;     /* s */
    ngx_str_t                   visitor;
    int64_t                     visitor_exp;    /* s */
} ngx_http_admission_answer_t;


/*
 * What a call is known by, which parts it has and in which order makes the
 * difference.
 */
void ngx_http_admission_idempotency_hash(u_char *hash, ngx_str_t *parts,
    ngx_uint_t n);

/*
 * NGX_OK: it was answered like that, strings are allocated from pool.
 * NGX_AGAIN: it is being answered.  NGX_DECLINED: the caller is to answer
 * it, and to call one of the other two then.  NGX_ERROR: no memory.  make 0:
 * what is declined is not noted, and neither of them is called.
 */
ngx_int_t ngx_http_admission_idempotency_begin(u_char *hash, ngx_pool_t *pool,
    ngx_uint_t make, ngx_http_admission_answer_t *answer);

void ngx_http_admission_idempotency_keep(u_char *hash,
    ngx_http_admission_answer_t *answer);

/* there is no answer: the next call like that may try */
void ngx_http_admission_idempotency_drop(u_char *hash);


#endif /* _NGX_HTTP_ADMISSION_IDEMPOTENCY_H_INCLUDED_ */
