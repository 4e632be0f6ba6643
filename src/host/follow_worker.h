
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What this worker sees of backends: requests under way, and their answers.
 * The zone is told of it in a moment, of many at once: a request takes no lock.
 */


#ifndef _NGX_ADM_HOST_FOLLOW_WORKER_H_INCLUDED_
#define _NGX_ADM_HOST_FOLLOW_WORKER_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "measure.h"


/* a request under way, in memory of its own */
typedef struct {
    ngx_queue_t   queue;
    ngx_str_t     event;
    uint32_t      user;                  /* a hash of who asks */
    ngx_msec_t    since;
    unsigned      told:1;                /* the zone was, since it takes long */
} ngx_adm_follow_request_t;


/* of who asks */
uint32_t ngx_adm_follow_hash(ngx_str_t *who);

/* of its event and user; it stays where it is until it ends, which it does */
void ngx_adm_follow_begin(ngx_adm_follow_request_t *request);

/* sample NULL: with no answer, or one that tells nothing */
void ngx_adm_follow_end(ngx_adm_follow_request_t *request,
    ngx_adm_sample_t *sample);

/* tells the zone what it was not told yet */
void ngx_adm_follow_flush(void);


#endif /* _NGX_ADM_HOST_FOLLOW_WORKER_H_INCLUDED_ */
