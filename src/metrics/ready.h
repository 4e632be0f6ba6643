
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Whether the host is able to decide: what admission_health answers, by shared
 * memory alone.
 */


#ifndef _NGX_ADM_METRICS_READY_H_INCLUDED_
#define _NGX_ADM_METRICS_READY_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../host/settings.h"


/* why it is not ready, as bits; texts are in ready.c */
#define NGX_ADM_READY_NEVER        0x01  /* Redis never answered */
#define NGX_ADM_READY_UNREACHABLE  0x02  /* Redis does not answer of late */
#define NGX_ADM_READY_BREAKER      0x04  /* and a breaker is open */
#define NGX_ADM_READY_SCHEDULE     0x08  /* no worker runs it */
#define NGX_ADM_READY_STALE        0x10  /* nothing was heard of some event */
#define NGX_ADM_READY_REFUSES      0x40  /* Redis refuses something that is
                                            needed */
#define NGX_ADM_READY_LAG          0x20  /* the schedule is late */


/* content handlers */
ngx_int_t ngx_adm_live_handler(ngx_http_request_t *r);
ngx_int_t ngx_adm_ready_handler(ngx_http_request_t *r);

/*
 * 0: ready; without Redis in the configuration always, unless some location is
 * of no use without it
 */
ngx_uint_t ngx_adm_not_ready(ngx_adm_main_conf_t *mcf);

/* whether the state of some event is stale */
ngx_uint_t ngx_adm_is_stale(void);


#endif /* _NGX_ADM_METRICS_READY_H_INCLUDED_ */
