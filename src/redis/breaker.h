
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The breaker of a node of Redis: whether calls may go to it, by how the
 * last ones went.  It knows no connection and has no timer.
 *
 *   CLOSED  calls go; it opens when too many of the last ones failed
 *   OPEN    none goes; somebody else finds out that the node answers again
 *   TRIAL   a few calls at a time go; it closes when as many went well, and
 *           the first one that fails opens it for longer than before
 */


#ifndef _NGX_ADM_REDIS_BREAKER_H_INCLUDED_
#define _NGX_ADM_REDIS_BREAKER_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>


typedef struct {
    ngx_uint_t                             calls;     /* looked at, the last */
    ngx_uint_t                             percent;   /* of them: it opens */
    ngx_msec_t                             pause_max; /* after failed trials */
    ngx_uint_t                             trials;
} ngx_adm_redis_breaker_conf_t;


typedef enum {
    ngx_adm_redis_breaker_closed = 0,
    ngx_adm_redis_breaker_open,
    ngx_adm_redis_breaker_trial } ngx_adm_redis_breaker_state_e;


typedef struct {
    ngx_adm_redis_breaker_conf_t   *conf;
    ngx_adm_redis_breaker_state_e   state;

    uint64_t                               results;   /* a bit a call, the last
                                                         is the lowest, 1:
                                                         failed */
    ngx_uint_t                             out;       /* of the trial */
    ngx_uint_t                             good;
    ngx_msec_t                             pause;     /* the next one's */
} ngx_adm_redis_breaker_t;


/* what there is without "breaker=" */
void ngx_adm_redis_breaker_default(ngx_adm_redis_breaker_conf_t *conf);

/* "10/50%/30s/3"; NGX_ERROR: it is wrong */
ngx_int_t ngx_adm_redis_breaker_parse(ngx_adm_redis_breaker_conf_t *conf,
    ngx_str_t *value);


/*
 * A call is to go: NGX_OK, and then one of good, bad or neither follows, or
 * NGX_DECLINED.
 */
ngx_int_t ngx_adm_redis_breaker_ask(ngx_adm_redis_breaker_t *breaker);

/* it went well; 1: this has closed the breaker */
ngx_uint_t ngx_adm_redis_breaker_good(ngx_adm_redis_breaker_t *breaker);

/* it failed; 1: this has opened the breaker */
ngx_uint_t ngx_adm_redis_breaker_bad(ngx_adm_redis_breaker_t *breaker);

/* it says nothing about whether the node works */
void ngx_adm_redis_breaker_neither(ngx_adm_redis_breaker_t *breaker);

/* the node has answered a PING: an open breaker goes on to the trial */
void ngx_adm_redis_breaker_answered(ngx_adm_redis_breaker_t *breaker);

/* ms without even a PING, after trials that failed; 0: none failed */
ngx_msec_t ngx_adm_redis_breaker_pause(ngx_adm_redis_breaker_t *breaker);


#endif /* _NGX_ADM_REDIS_BREAKER_H_INCLUDED_ */
