
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Errands: calls of the schedule that are out, each about an event, a bounded
 * number of a kind, allocated when the worker starts.
 */


#ifndef _NGX_ADM_HOST_ERRANDS_H_INCLUDED_
#define _NGX_ADM_HOST_ERRANDS_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "settings.h"


typedef struct {
    ngx_queue_t              queue;      /* of free ones */
    ngx_msec_t               issued;
    ngx_adm_event_conf_t    *conf;
    ngx_str_t                event;
    u_char                   id[NGX_ADM_EVENT_MAX];
} ngx_adm_errand_t;


typedef struct {
    ngx_queue_t                         free;
    ngx_uint_t                          nfree;
    ngx_uint_t                          more;       /* bool: there may be more
                                                       to do than were free */
} ngx_adm_errands_t;


ngx_int_t ngx_adm_errands_init(ngx_cycle_t *cycle, ngx_adm_errands_t *errands,
    ngx_uint_t n);

/* one for a call about to be issued; NULL: all are out */
ngx_adm_errand_t *ngx_adm_errand_take(ngx_adm_errands_t *errands,
    ngx_str_t *event, ngx_adm_event_conf_t *conf);

void ngx_adm_errand_free(ngx_adm_errands_t *errands, ngx_adm_errand_t *errand);


#endif /* _NGX_ADM_HOST_ERRANDS_H_INCLUDED_ */
