
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Calls that cannot be sent now and may be soon: the address of a node, the
 * map of the cluster or the name of the master is on its way, or Redis said to
 * try again.  None stays beyond its deadline.
 */


#ifndef _NGX_ADM_REDIS_PARKED_H_INCLUDED_
#define _NGX_ADM_REDIS_PARKED_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>

#include "call.h"


typedef struct {
    ngx_queue_t                            calls;
    ngx_event_t                            timer;
    ngx_event_t                            posted;

    /* the call is no longer parked; late: its deadline has passed */
    void                                 (*release)(
                                                    ngx_adm_redis_call_t *call,
                                                    ngx_uint_t late);
} ngx_adm_redis_parked_t;


/* the caller sets release after it */
void ngx_adm_redis_parked_init(ngx_adm_redis_parked_t *parked, ngx_log_t *log);

/* parks the call until ms have passed, its deadline has, or there is news */
void ngx_adm_redis_park(ngx_adm_redis_parked_t *parked,
    ngx_adm_redis_call_t *call, ngx_msec_t ms);

/* there is news: all calls are released, in this turn of the event loop */
void ngx_adm_redis_parked_news(ngx_adm_redis_parked_t *parked);

/* all calls are released as too late, at once */
void ngx_adm_redis_parked_close(ngx_adm_redis_parked_t *parked);

/* the worker leaves: only calls that somebody waits for hold it from now on */
void ngx_adm_redis_parked_leave(ngx_adm_redis_parked_t *parked);


#endif /* _NGX_ADM_REDIS_PARKED_H_INCLUDED_ */
