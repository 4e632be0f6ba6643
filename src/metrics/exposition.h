
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Writes metrics as Prometheus's text format 0.0.4, or as OpenMetrics 1.0.0:
 * a family of them with its type, unit and help, then its samples, each behind
 * its labels.  It knows none of the metrics.
 */


#ifndef _NGX_ADM_METRICS_EXPOSITION_H_INCLUDED_
#define _NGX_ADM_METRICS_EXPOSITION_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>


typedef enum {
    NGX_ADM_COUNTER = 0,
    NGX_ADM_GAUGE,
    NGX_ADM_HISTOGRAM } ngx_adm_metric_e;


/* a value without a bound */
#define NGX_ADM_INFINITY  INT64_MAX


typedef struct {
    ngx_pool_t                    *pool;
    unsigned                       openmetrics:1;
    unsigned                       failed:1;    /* no memory */

    const char                    *name;        /* of the family */
    unsigned                       counter:1;
    unsigned                       seconds:1;   /* values are in ms */
    ngx_str_t                      labels;      /* of the next sample */

    ngx_chain_t                   *out;
    ngx_chain_t                  **last;
    ngx_buf_t                     *buf;         /* the last one */
    off_t                          size;
} ngx_adm_exposition_t;


void ngx_adm_exposition_init(ngx_adm_exposition_t *e, ngx_pool_t *pool,
    ngx_uint_t openmetrics);

/*
 * Begins a family, whose samples follow.  The name is without the prefix, and
 * without a counter's _total; if it ends in _seconds or _bytes that is the
 * unit.
 */
void ngx_adm_exposition_family(ngx_adm_exposition_t *e, const char *name,
    ngx_adm_metric_e type, const char *help);

/* adds a label to the next sample; the value is escaped */
void ngx_adm_exposition_label(ngx_adm_exposition_t *e, const char *name,
    const ngx_str_t *value);

/* puts a sample; in a family in seconds the value is in ms */
void ngx_adm_exposition_value(ngx_adm_exposition_t *e, int64_t value);

/*
 * Puts the samples of a histogram: bounds of all buckets but the last, which
 * has none; behind the buckets there is the sum of what was observed, in units
 * of which so many are a second.
 */
void ngx_adm_exposition_histogram(ngx_adm_exposition_t *e,
    ngx_atomic_uint_t *buckets, ngx_uint_t n, const ngx_uint_t *bounds,
    ngx_uint_t unit);

/* ends the text; NGX_ERROR: there was no memory for it */
ngx_int_t ngx_adm_exposition_end(ngx_adm_exposition_t *e);


#endif /* _NGX_ADM_METRICS_EXPOSITION_H_INCLUDED_ */
