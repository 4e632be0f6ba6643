
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Writes metrics as Prometheus's text format 0.0.4, or as OpenMetrics 1.0.0:
 * a family of them with its type, unit and help, then its samples.  It knows
 * none of the metrics.
 */


#ifndef _NGX_HTTP_ADMISSION_EXPOSITION_H_INCLUDED_
#define _NGX_HTTP_ADMISSION_EXPOSITION_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>


typedef enum {
    NGX_HTTP_ADMISSION_COUNTER = 0,
    NGX_HTTP_ADMISSION_GAUGE,
    NGX_HTTP_ADMISSION_HISTOGRAM
} ngx_http_admission_metric_e;


/* name: without the prefix and without the _total of a counter */
typedef struct {
    const char                    *name;
    ngx_http_admission_metric_e    type;
    const char                    *unit;        /* NULL: none; else the end of
                                                   the name */
    const char                    *help;
} ngx_http_admission_family_t;


typedef struct {
    ngx_pool_t                    *pool;
    unsigned                       openmetrics:1;
    unsigned                       failed:1;    /* no memory */

    const ngx_http_admission_family_t  *family;

    ngx_chain_t                   *out;
    ngx_chain_t                  **last;
    ngx_buf_t                     *buf;         /* the last one */
    off_t                          size;
} ngx_http_admission_exposition_t;


void ngx_http_admission_exposition_init(ngx_http_admission_exposition_t *e,
    ngx_pool_t *pool, ngx_uint_t openmetrics);

/* a family, whose samples follow */
void ngx_http_admission_exposition_family(ngx_http_admission_exposition_t *e,
    const ngx_http_admission_family_t *family);

/*
 * A label of the next sample, *labels being empty or what this returned for
 * the label before it; the value is escaped.
 */
void ngx_http_admission_exposition_label(ngx_http_admission_exposition_t *e,
    ngx_str_t *labels, const char *name, ngx_str_t *value);

/* a sample; labels NULL: none.  The latter has so many thousandths */
void ngx_http_admission_exposition_value(ngx_http_admission_exposition_t *e,
    ngx_str_t *labels, int64_t value);
void ngx_http_admission_exposition_ms(ngx_http_admission_exposition_t *e,
    ngx_str_t *labels, uint64_t ms);
void ngx_http_admission_exposition_infinity(
    ngx_http_admission_exposition_t *e, ngx_str_t *labels);

/*
 * The samples of a histogram: bounds of all buckets but the last, which has
 * none, and the sum of what was observed, as many of them a second as unit
 * says.
 */
void ngx_http_admission_exposition_histogram(
    ngx_http_admission_exposition_t *e, ngx_str_t *labels, uint64_t *buckets,
    ngx_uint_t n, const ngx_uint_t *bounds, uint64_t sum, ngx_uint_t unit);

/* the end; NGX_ERROR: there was no memory for it */
ngx_int_t ngx_http_admission_exposition_end(
    ngx_http_admission_exposition_t *e);


#endif /* _NGX_HTTP_ADMISSION_EXPOSITION_H_INCLUDED_ */
