
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Errands: the schedule's calls that are out, each about an event.  Of each
 * kind there is a fixed number, allocated when the worker starts.
 */


#ifndef _NGX_ADM_HOST_ERRANDS_H_INCLUDED_
#define _NGX_ADM_HOST_ERRANDS_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "settings.h"


typedef struct {
    ngx_queue_t              queue;      /* while it is free */
    ngx_msec_t               issued;
    ngx_adm_event_conf_t    *conf;
    ngx_str_t                event;
    u_char                   id[NGX_ADM_EVENT_MAX];
} ngx_adm_errand_t;


typedef struct {
    ngx_queue_t                         free;
    ngx_uint_t                          nfree;
    ngx_uint_t                          more;       /* bool: there was more
                                                       to do than were free */
} ngx_adm_errands_t;


ngx_int_t ngx_adm_errands_init(ngx_cycle_t *cycle, ngx_adm_errands_t *errands,
    ngx_uint_t n);

/* an errand for a call about to be issued; NULL: all are out */
ngx_adm_errand_t *ngx_adm_errand_take(ngx_adm_errands_t *errands,
    ngx_str_t *event, ngx_adm_event_conf_t *conf);

void ngx_adm_errand_free(ngx_adm_errands_t *errands, ngx_adm_errand_t *errand);


#endif /* _NGX_ADM_HOST_ERRANDS_H_INCLUDED_ */
