
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
    ngx_uint_t                             calls;     /* the last ones,
                                                         looked at */
    ngx_uint_t                             percent;   /* of them fail: it
                                                         opens */
    ngx_msec_t                             pause_max; /* the longest, see
                                                         below */
    ngx_uint_t                             trials;
} ngx_adm_redis_breaker_conf_t;


typedef enum {
    ngx_adm_redis_breaker_closed = 0,
    ngx_adm_redis_breaker_open,
    ngx_adm_redis_breaker_trial } ngx_adm_redis_breaker_state_e;


typedef struct {
    ngx_adm_redis_breaker_conf_t   *conf;
    ngx_adm_redis_breaker_state_e   state;

    uint64_t                               results;   /* a bit a call, 1: it
                                                         failed; the last
                                                         call is the lowest */
    ngx_uint_t                             out;       /* calls of a trial,
                                                         not answered yet */
    ngx_uint_t                             good;
    ngx_msec_t                             pause;     /* before the next
                                                         trial */
} ngx_adm_redis_breaker_t;


/* the configuration where "breaker=" is not given */
void ngx_adm_redis_breaker_default(ngx_adm_redis_breaker_conf_t *conf);

/* reads "10/50%/30s/3"; NGX_ERROR: the value is wrong */
ngx_int_t ngx_adm_redis_breaker_parse(ngx_adm_redis_breaker_conf_t *conf,
    ngx_str_t *value);


/*
 * Asks whether a call may go.  NGX_OK: it may, and one of good, bad or neither
 * has to follow; NGX_DECLINED: it may not.
 */
ngx_int_t ngx_adm_redis_breaker_ask(ngx_adm_redis_breaker_t *breaker);

/* the call went well; 1: the breaker has closed by it */
ngx_uint_t ngx_adm_redis_breaker_good(ngx_adm_redis_breaker_t *breaker);

/* the call failed; 1: the breaker has opened by it */
ngx_uint_t ngx_adm_redis_breaker_bad(ngx_adm_redis_breaker_t *breaker);

/* what became of the call says nothing about whether the node works */
void ngx_adm_redis_breaker_neither(ngx_adm_redis_breaker_t *breaker);

/* the node has answered a PING: an open breaker goes on to the trial */
void ngx_adm_redis_breaker_answered(ngx_adm_redis_breaker_t *breaker);

/* ms of pause, without even a PING, after trials that failed; 0: none failed */
ngx_msec_t ngx_adm_redis_breaker_pause(ngx_adm_redis_breaker_t *breaker);


#endif /* _NGX_ADM_REDIS_BREAKER_H_INCLUDED_ */
