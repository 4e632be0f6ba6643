
/*
 * Copyright (C) 2026 the admission module authors
 *
 * All is copied from shared memory, the little that needs the lock under it,
 * and then written from the copy: each entry of counter_list.h by the function
 * for its kind.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>
#include <nginx.h>

#include "../base/counter.h"
#include "../base/version.h"
#include "../host/category.h"
#include "../host/stripe.h"
#include "../http/headers.h"
#include "../http/respond.h"
#include "../limit/fallback.h"
#include "exposition.h"
#include "gauges.h"
#include "metrics.h"


typedef struct {
    const char                      *name;
    ngx_uint_t                       n;
    const ngx_str_t                 *values;
} ngx_adm_label_t;


typedef struct ngx_adm_metric_s  ngx_adm_metric_t;

typedef void (*ngx_adm_metric_pt)(ngx_adm_exposition_t *e, ngx_adm_scrape_t *s,
    const ngx_adm_metric_t *metric);

typedef int64_t (*ngx_adm_gauge_pt)(ngx_adm_scrape_t *s, ngx_uint_t i);


struct ngx_adm_metric_s {
    ngx_adm_metric_pt     write;
    ngx_adm_metric_e      type;
    const char           *name;
    const char           *help;
    ngx_uint_t            first;     /* its counter; or which tally,
                                        histogram, event_gauge it is */
    const ngx_adm_label_t  *label1;
    const ngx_adm_label_t  *label2;
    ngx_adm_gauge_pt      gauge;
};


static ngx_uint_t ngx_adm_metrics_is_open(ngx_http_request_t *r);
static void ngx_adm_metrics_label(ngx_adm_exposition_t *e,
    const ngx_adm_label_t *label, ngx_uint_t i);

#define ngx_adm_metric(kind)                                                  \
    static void ngx_adm_metric_##kind(                                        \
        ngx_adm_exposition_t *e, ngx_adm_scrape_t *s,                         \
        const ngx_adm_metric_t *metric)

ngx_adm_metric(requests);
ngx_adm_metric(counter);
ngx_adm_metric(tally);
ngx_adm_metric(histogram);
ngx_adm_metric(gauge);
ngx_adm_metric(event_gauge);
ngx_adm_metric(decisions);


#define ngx_adm_label_text(label, id, text)  ngx_string(text),

#define ngx_adm_label(id, name)                                               \
    static const ngx_str_t  ngx_adm_values_##id[] = {                         \
        NGX_ADM_LABEL_##id(ngx_adm_label_text)                                \
    };                                                                        \
                                                                              \
    static const ngx_adm_label_t                                              \
        ngx_adm_label_##id =                                                  \
    {                                                                         \
        name, ngx_adm_label_n(id), ngx_adm_values_##id                        \
    };

ngx_adm_label(NONE, "")
ngx_adm_label(BOUND, "by")
ngx_adm_label(INTAKE, "rate")
ngx_adm_label(TAKE, "decision")
ngx_adm_label(DECISION, "decision")
ngx_adm_label(TIER, "tier")
ngx_adm_label(STREAM_END, "why")
ngx_adm_label(CALL, "call")
ngx_adm_label(CALL_END, "kind")
ngx_adm_label(BREAKER, "state")
ngx_adm_label(MODULE, "version")
ngx_adm_label(NGINX, "nginx")


static const ngx_adm_metric_t  ngx_adm_metrics[] = {

#define row(kind, type, name, help, first, label1, label2, gauge)             \
    { ngx_adm_metric_##kind, NGX_ADM_##type, name, help,                      \
      first, &ngx_adm_label_##label1,                                         \
      &ngx_adm_label_##label2, gauge },

#define requests(id, name, help)                                              \
    row(requests, COUNTER, name, help, NGX_ADM_COUNT_##id,                    \
        NONE, NONE, NULL)

#define decisions(id, name, help)                                             \
    row(decisions, COUNTER, name, help, 0, NONE, DECISION, NULL)

#define counter(id, name, label1, label2, help)                               \
    row(counter, COUNTER, name, help, NGX_ADM_COUNT_##id,                     \
        label1, label2, NULL)

#define tally(id, name, help)                                                 \
    row(counter, COUNTER, name, help " Counted on this host, by the calls it" \
        " made: sum over hosts.", NGX_ADM_COUNT_TALLY_##id,                   \
        NONE, NONE, NULL)                                                     \
    row(tally, COUNTER, "event_" name, help " By event: the busiest ones,"    \
        " the others together. Counted on this host: sum over hosts.",        \
        NGX_ADM_TALLY_##id, NONE, NONE, NULL)

#define histogram(id, name, label, unit, help, ...)                           \
    row(histogram, HISTOGRAM, name, help, NGX_ADM_HISTOGRAM_##id,             \
        label, NONE, NULL)

#define gauge(id, name, label1, label2, help)                                 \
    row(gauge, GAUGE, name, help, 0, label1, label2,                          \
        ngx_adm_gauge_##id)

#define event_gauge(id, name, help)                                           \
    row(event_gauge, GAUGE, name, help, NGX_ADM_EVENT_GAUGE_##id,             \
        NONE, NONE, NULL)

#include "../base/counter_list.h"

};


/* like no event's id, as those have no parentheses */
static const ngx_str_t  ngx_adm_others = ngx_string("(other)");


ngx_int_t
ngx_adm_metrics_handler(ngx_http_request_t *r)
{
    ngx_uint_t               i, alone;
    ngx_adm_scrape_t         s;
    ngx_adm_exposition_t     e;
    const ngx_adm_metric_t  *m;

    if (!(r->method & (NGX_HTTP_GET|NGX_HTTP_HEAD))) {
        return ngx_adm_respond_method(r, "GET, HEAD");
    }

    ngx_adm_exposition_init(&e, r->pool, ngx_adm_metrics_is_open(r));

    s.mcf = ngx_http_get_module_main_conf(r, ngx_http_admission_module);

    if (ngx_adm_tallies(r->pool, &s.tallies) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    ngx_adm_stripe_sum(s.counters);

    /* what is not over yet is counted only here */

    s.counters[NGX_ADM_COUNT_FALLBACK] += ngx_adm_limit_alone(&alone);

    for (i = 0; i < sizeof(ngx_adm_metrics) / sizeof(ngx_adm_metric_t); i++) {
        m = &ngx_adm_metrics[i];

        if (m->gauge && m->gauge(&s, 0) == NGX_ADM_GAUGE_NONE) {
            continue;
        }

        ngx_adm_exposition_family(&e, m->name, m->type, m->help);

        m->write(&e, &s, m);
    }

    if (ngx_adm_exposition_end(&e) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return ngx_adm_respond_text(r,
               e.openmetrics ? "application/openmetrics-text; version=1.0.0; "
                               "charset=utf-8"
                             : "text/plain; version=0.0.4; charset=utf-8",
               e.out, e.size);
}


/* whether OpenMetrics is asked for, which Prometheus prefers if it knows it */

static ngx_uint_t
ngx_adm_metrics_is_open(ngx_http_request_t *r)
{
    u_char           *p, *last, *end;
    ngx_table_elt_t  *h;

    static u_char  name[] = "application/openmetrics-text";

    h = ngx_adm_header(r, "accept");

    if (h == NULL) {
        return 0;
    }

    end = h->value.data + h->value.len;

    p = ngx_strlcasestrn(h->value.data, end, name, sizeof(name) - 2);

    if (p == NULL) {
        return 0;
    }

    last = ngx_strlchr(p, end, ',');

    if (last == NULL) {
        last = end;
    }

    p = ngx_strlcasestrn(p, last, (u_char *) "q=0", sizeof("q=0") - 2);

    if (p == NULL) {
        return 1;
    }

    /* "q=0" and "q=0.000" refuse it, "q=0.5" does not */

    for (p += sizeof("q=0") - 1; p < last; p++) {
        if (*p >= '1' && *p <= '9') {
            return 1;
        }
    }

    return 0;
}


/*
 * Reasons of the tiers only if they occurred, since there are many; in a dry
 * run also verdicts.
 */

ngx_adm_metric(requests)
{
    ngx_str_t           reason;
    ngx_uint_t          i, row, dry;
    ngx_atomic_uint_t   n;
    ngx_adm_reason_e    number;
    ngx_adm_verdict_e   verdict;

    static const ngx_str_t  off = ngx_string("off");
    static const ngx_str_t  on = ngx_string("on");

    for (i = 0; i < NGX_ADM_VERDICT_ROWS; i++) {
        n = s->counters[metric->first + i];
        dry = i / NGX_ADM_ROWS;
        row = i % NGX_ADM_ROWS;

        ngx_adm_row_verdict(row, &verdict, &number);

        if (row == NGX_ADM_VERDICT_TIER1
            || row == NGX_ADM_VERDICT_TIER2
            || (n == 0
                && (dry || (row >= NGX_ADM_VERDICTS
                            && number != NGX_ADM_REASON_NO_TOKEN))))
        {
            continue;
        }

        reason.data = (u_char *) ngx_adm_reasons[number];
        reason.len = ngx_strlen(reason.data);

        ngx_adm_exposition_label(e, "verdict", &ngx_adm_verdicts[verdict]);
        ngx_adm_exposition_label(e, "reason", &reason);
        ngx_adm_exposition_label(e, "dry_run", dry ? &on : &off);
        ngx_adm_exposition_value(e, n);
    }
}


ngx_adm_metric(counter)
{
    ngx_uint_t  i, k, counter;

    counter = metric->first;

    for (i = 0; i < metric->label1->n; i++) {
        for (k = 0; k < metric->label2->n; k++) {
            ngx_adm_metrics_label(e, metric->label1, i);
            ngx_adm_metrics_label(e, metric->label2, k);
            ngx_adm_exposition_value(e, s->counters[counter++]);
        }
    }
}


ngx_adm_metric(tally)
{
    ngx_uint_t        i;
    ngx_adm_named_t  *named;

    for (i = 0; i < s->tallies.n; i++) {
        named = &s->tallies.named[i];

        ngx_adm_exposition_label(e, "event", &named->id);
        ngx_adm_exposition_value(e, named->tally.n[metric->first]);
    }

    ngx_adm_exposition_label(e, "event", &ngx_adm_others);
    ngx_adm_exposition_value(e, s->tallies.others.n[metric->first]);
}


ngx_adm_metric(histogram)
{
    ngx_uint_t                  i;
    const ngx_adm_histogram_t  *h;

    h = &ngx_adm_histograms[metric->first];

    for (i = 0; i < metric->label1->n; i++) {
        ngx_adm_metrics_label(e, metric->label1, i);
        ngx_adm_exposition_histogram(e,
                &s->counters[h->first + i * (NGX_ADM_BUCKETS + 1)],
                NGX_ADM_BUCKETS, h->bounds, h->unit);
    }
}


ngx_adm_metric(gauge)
{
    ngx_uint_t  i, k, n;

    n = 0;

    for (i = 0; i < metric->label1->n; i++) {
        for (k = 0; k < metric->label2->n; k++) {
            ngx_adm_metrics_label(e, metric->label1, i);
            ngx_adm_metrics_label(e, metric->label2, k);
            ngx_adm_exposition_value(e, metric->gauge(s, n++));
        }
    }
}


ngx_adm_metric(event_gauge)
{
    int64_t           value, rest;
    ngx_uint_t        i;
    ngx_adm_named_t  *named;

    rest = ngx_adm_event_gauge_sum(metric->first, &s->tallies.sums);

    for (i = 0; i < s->tallies.n; i++) {
        named = &s->tallies.named[i];
        value = ngx_adm_event_gauge(metric->first, s, named);

        if (value == NGX_ADM_GAUGE_NONE) {
            continue;
        }

        if (rest != NGX_ADM_GAUGE_NONE) {
            rest -= value;
        }

        ngx_adm_exposition_label(e, "event", &named->id);
        ngx_adm_exposition_value(e, value);
    }

    if (rest != NGX_ADM_GAUGE_NONE) {
        ngx_adm_exposition_label(e, "event", &ngx_adm_others);
        ngx_adm_exposition_value(e, rest);
    }
}


ngx_adm_metric(decisions)
{
    ngx_uint_t         i;
    ngx_adm_counts_t  *counts;

    for (counts = ngx_adm_categories(); counts; counts = counts->next) {
        for (i = 0; i < metric->label2->n; i++) {
            ngx_adm_exposition_label(e, "category", &counts->name);
            ngx_adm_metrics_label(e, metric->label2, i);
            ngx_adm_exposition_value(e, counts->n[i]);
        }
    }
}


static void
ngx_adm_metrics_label(ngx_adm_exposition_t *e, const ngx_adm_label_t *label,
    ngx_uint_t i)
{
    if (label->name[0]) {
        ngx_adm_exposition_label(e, label->name, &label->values[i]);
    }
}
