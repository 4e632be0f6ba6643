
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Calls of the schedule that are out, each about an event: a bounded number
 * of a kind, allocated when the worker starts.
 */


#ifndef _NGX_HTTP_ADMISSION_SLOTS_H_INCLUDED_
#define _NGX_HTTP_ADMISSION_SLOTS_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_admission_conf.h"


typedef struct {
    ngx_queue_t                         queue;      /* of free ones */
    ngx_msec_t                          issued;
    ngx_http_admission_event_conf_t    *conf;
    ngx_str_t                           event;
    u_char                              id[NGX_HTTP_ADMISSION_EVENT_MAX];
} ngx_http_admission_slot_t;


typedef struct {
    ngx_queue_t                         free;
    ngx_uint_t                          nfree;
    ngx_uint_t                          more;       /* bool: there may be more
                                                       to do than were free */
} ngx_http_admission_slots_t;


ngx_int_t ngx_http_admission_slots_init(ngx_cycle_t *cycle,
    ngx_http_admission_slots_t *slots, ngx_uint_t n);

/* one for a call about to be issued; NULL: all are out */
ngx_http_admission_slot_t *ngx_http_admission_slot_take(
    ngx_http_admission_slots_t *slots, ngx_str_t *event,
    ngx_http_admission_event_conf_t *conf);

void ngx_http_admission_slot_free(ngx_http_admission_slots_t *slots,
    ngx_http_admission_slot_t *slot);


#endif /* _NGX_HTTP_ADMISSION_SLOTS_H_INCLUDED_ */
