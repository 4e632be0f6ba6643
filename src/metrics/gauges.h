
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Gauges, computed when somebody asks for them.
 */


#ifndef _NGX_ADM_METRICS_GAUGES_H_INCLUDED_
#define _NGX_ADM_METRICS_GAUGES_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "../host/settings.h"
#include "../host/tally.h"


/* there is no such gauge here */
#define NGX_ADM_GAUGE_NONE  INT64_MIN


/* what an answer is made from */
typedef struct {
    ngx_adm_main_conf_t  *mcf;
    ngx_adm_tallies_t     tallies;
    ngx_atomic_uint_t     counters[NGX_ADM_COUNTS];
} ngx_adm_scrape_t;


typedef enum {
#define event_gauge(id, name, help)  NGX_ADM_EVENT_GAUGE_##id,

#include "../base/counter_list.h"

    NGX_ADM_EVENT_GAUGES } ngx_adm_event_gauge_e;


/* i: pair of values of the labels, where the second label's changes first */

#define gauge(id, name, label1, label2, help)                                 \
    int64_t ngx_adm_gauge_##id(ngx_adm_scrape_t *s,                           \
        ngx_uint_t i);

#include "../base/counter_list.h"


/* a gauge of an event; the same as a sum over all events, named or not */

int64_t ngx_adm_event_gauge(ngx_adm_event_gauge_e gauge, ngx_adm_scrape_t *s,
    ngx_adm_named_t *named);
int64_t ngx_adm_event_gauge_sum(ngx_adm_event_gauge_e gauge,
    ngx_adm_sums_t *sums);


#endif /* _NGX_ADM_METRICS_GAUGES_H_INCLUDED_ */
