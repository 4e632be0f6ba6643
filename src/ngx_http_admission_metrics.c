
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Everything is copied from shared memory, the little that needs the lock
 * under it, and written from the copy.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_admission_bucket.h"
#include "ngx_http_admission_counts.h"
#include "ngx_http_admission_limit_local.h"
#include "ngx_http_admission_metrics.h"
#include "ngx_http_admission_ready.h"
#include "ngx_http_admission_respond.h"
#include "ngx_http_admission_script.h"
#include "ngx_http_admission_stats.h"
#include "ngx_http_admission_token.h"
#include "ngx_http_admission_zone.h"


static ngx_uint_t ngx_http_admission_metrics_is_open(ngx_http_request_t *r);

static void ngx_http_admission_metrics_verdicts(
    ngx_http_admission_exposition_t *e, ngx_http_admission_stats_t *stats);
static void ngx_http_admission_metrics_verdict(
    ngx_http_admission_exposition_t *e, ngx_http_admission_verdict_e verdict,
    const char *reason, ngx_uint_t dry_run, ngx_atomic_uint_t n);
static void ngx_http_admission_metrics_calls(
    ngx_http_admission_exposition_t *e, ngx_http_admission_stats_t *stats);
static void ngx_http_admission_metrics_redis(
    ngx_http_admission_exposition_t *e);
static void ngx_http_admission_metrics_state(
    ngx_http_admission_exposition_t *e, ngx_http_admission_main_conf_t *mcf);
static ngx_int_t ngx_http_admission_metrics_limits(
    ngx_http_admission_exposition_t *e);
static void ngx_http_admission_metrics_intakes(
    ngx_http_admission_exposition_t *e);
static void ngx_http_admission_metrics_single(
    ngx_http_admission_exposition_t *e,
    const ngx_http_admission_family_t *family, int64_t value);


#define COUNTER    NGX_HTTP_ADMISSION_COUNTER
#define GAUGE      NGX_HTTP_ADMISSION_GAUGE
#define HISTOGRAM  NGX_HTTP_ADMISSION_HISTOGRAM


static const ngx_http_admission_family_t  ngx_http_admission_requests_family = {
    "requests", COUNTER, NULL,
    "Requests that the gate judged, by the verdict and reason that "
    "$admission_verdict and $admission_reason have (the reason of a rate limit "
    "is in rate_limit_decisions); with a dry run they went on all the same. Of "
    "this host: sum over hosts."
};

static const ngx_http_admission_family_t  ngx_http_admission_duration_family = {
    "redis_call_duration_seconds", HISTOGRAM, "seconds",
    "Time from the issue of a call to its answer, by script, or command. Of "
    "this host: sum over hosts."
};

static const ngx_http_admission_family_t  ngx_http_admission_errors_family = {
    "redis_call_errors", COUNTER, NULL,
    "Calls that Redis did not answer well: with an error, not at all (lost), "
    "or that were not sent, Redis being down. Of this host: sum over hosts."
};

static const ngx_http_admission_family_t
    ngx_http_admission_connections_family =
{
    "redis_connections", GAUGE, NULL,
    "Connections to Redis that the workers of this host have open."
};

/* by ngx_http_admission_redis_count_e */
static const ngx_http_admission_family_t  ngx_http_admission_redis_families[] =
{
    { "redis_connects", COUNTER, NULL,
      "Connections to Redis that this host made, TLS included." },
    { "redis_failures", COUNTER, NULL,
      "Connections to Redis that failed, of this host." },
    { "redis_timeouts", COUNTER, NULL,
      "Those of redis_failures that were for want of an answer." },
    { "redis_breaker_opens", COUNTER, NULL,
      "Times that a breaker opened, of any worker of this host." },
    { "redis_failovers", COUNTER, NULL,
      "Times that other nodes became the masters, as this host was told by "
      "sentinels or the cluster." }
};

static const ngx_http_admission_family_t  ngx_http_admission_breakers_family = {
    "redis_breakers", GAUGE, NULL,
    "Breakers that are open, or on trial: each worker of this host has one a "
    "node of Redis."
};

static const ngx_http_admission_family_t  ngx_http_admission_age_family = {
    "state_age_seconds", GAUGE, "seconds",
    "Time since Redis last answered this host; +Inf before the first time."
};

static const ngx_http_admission_family_t  ngx_http_admission_stale_family = {
    "state_stale", GAUGE, NULL,
    "1 while there is an event in which something is due, or an active waiting "
    "room, that this host has not heard of for 10 s."
};

static const ngx_http_admission_family_t  ngx_http_admission_lag_family = {
    "schedule_lag_seconds", GAUGE, "seconds",
    "Time by which this host is behind with the steps of events that are due."
};

static const ngx_http_admission_family_t  ngx_http_admission_ready_family = {
    "ready", GAUGE, NULL,
    "1 if admission_health ready says so, of this host."
};

static const ngx_http_admission_family_t  ngx_http_admission_limits_family = {
    "rate_limit_decisions", COUNTER, NULL,
    "What rate limits decided, by category: by Redis, by this host's own count "
    "while Redis did not answer (local), for a trial (dry_run), or by fail= "
    "(error). Of this host: sum over hosts."
};

static const ngx_http_admission_family_t  ngx_http_admission_alone_family = {
    "rate_limit_fallback", GAUGE, NULL,
    "1 while rate limits of this host go by fail=, since Redis does not answer."
};

static const ngx_http_admission_family_t
    ngx_http_admission_alone_time_family =
{
    "rate_limit_fallback_seconds", COUNTER, "seconds",
    "Time for which they did: from the first request that Redis did not answer "
    "to the last, each time. Of this host."
};

static const ngx_http_admission_family_t
    ngx_http_admission_revocations_family =
{
    "revocations", GAUGE, NULL,
    "Entry tokens that ended early, as this host knows of them."
};

static const ngx_http_admission_family_t
    ngx_http_admission_revocations_forgotten_family =
{
    "revocations_forgotten", COUNTER, NULL,
    "Those that this host forgot early, the zone being full: it asks Redis "
    "about tokens as old as these."
};

static const ngx_http_admission_family_t  ngx_http_admission_intake_family = {
    "address_rate_decisions", COUNTER, NULL,
    "Tickets (assign_rate) and visitors (visitor_rate) by address: made and "
    "charged (allowed), refused (limited), or made over the rate in a dry run. "
    "Of this host: sum over hosts."
};

static const ngx_http_admission_family_t
    ngx_http_admission_intake_alone_family =
{
    "address_rate_one_address", GAUGE, NULL,
    "1 while one address has over half of what was refused in this minute or "
    "the one before, of 100 or more: a proxy or CDN without realip, or one "
    "client. Of this host."
};

static const ngx_http_admission_family_t
    ngx_http_admission_intake_replaced_family =
{
    "address_rate_replaced", COUNTER, NULL,
    "Addresses that were forgotten before what they had taken had run off, for "
    "want of room. Of this host."
};

static const ngx_http_admission_family_t  ngx_http_admission_size_family = {
    "zone_size_bytes", GAUGE, "bytes",
    "The size of the zone of this host."
};

static const ngx_http_admission_family_t  ngx_http_admission_free_family = {
    "zone_free_bytes", GAUGE, "bytes",
    "The pages of it that are used for nothing."
};


/* by ngx_http_admission_count_e */
static ngx_str_t  ngx_http_admission_decisions[] = {
    ngx_string("allowed"),
    ngx_string("limited"),
    ngx_string("dry_run"),
    ngx_string("local_allowed"),
    ngx_string("local_limited"),
    ngx_string("error")
};

/* by ngx_http_admission_intake_e */
static ngx_str_t  ngx_http_admission_intakes[] = {
    ngx_string("assign_rate"),
    ngx_string("visitor_rate")
};

/* by ngx_http_admission_redis_end_e */
static ngx_str_t  ngx_http_admission_ends[] = {
    ngx_string("reply"),
    ngx_string("lost"),
    ngx_string("unsent")
};

/* by dry_run */
static ngx_str_t  ngx_http_admission_switches[] = {
    ngx_string("off"),
    ngx_string("on")
};


ngx_int_t
ngx_http_admission_metrics_handler(ngx_http_request_t *r)
{
    ngx_http_admission_stats_t        stats;
    ngx_http_admission_main_conf_t   *mcf;
    ngx_http_admission_exposition_t   e;

    if (!(r->method & (NGX_HTTP_GET|NGX_HTTP_HEAD))) {
        return ngx_http_admission_respond_method(r, "GET, HEAD");
    }

    mcf = ngx_http_get_module_main_conf(r, ngx_http_admission_module);

    ngx_http_admission_exposition_init(&e, r->pool,
                                       ngx_http_admission_metrics_is_open(r));

    ngx_http_admission_stats_sum(&stats);

    ngx_http_admission_metrics_verdicts(&e, &stats);

    if (ngx_http_admission_metrics_events(&e, mcf) != NGX_OK
        || ngx_http_admission_metrics_limits(&e) != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    ngx_http_admission_metrics_intakes(&e);
    ngx_http_admission_metrics_calls(&e, &stats);
    ngx_http_admission_metrics_redis(&e);
    ngx_http_admission_metrics_state(&e, mcf);

    if (ngx_http_admission_exposition_end(&e) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return ngx_http_admission_respond_text(r,
               e.openmetrics ? "application/openmetrics-text; version=1.0.0; "
                               "charset=utf-8"
                             : "text/plain; version=0.0.4; charset=utf-8",
               e.out, e.size);
}


/* whether OpenMetrics is asked for: Prometheus prefers it where it knows it */

static ngx_uint_t
ngx_http_admission_metrics_is_open(ngx_http_request_t *r)
{
    u_char           *p, *last, *end;
    ngx_table_elt_t  *h;

    static u_char  name[] = "application/openmetrics-text";

    h = ngx_http_admission_header(r, "accept");

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

    /* "q=0" and "q=0.000" say no, "q=0.5" does not */

    for (p += sizeof("q=0") - 1; p < last; p++) {
        if (*p >= '1' && *p <= '9') {
            return 1;
        }
    }

    return 0;
}


/* of the reasons of tiers those that there were, since there are many */

static void
ngx_http_admission_metrics_verdicts(ngx_http_admission_exposition_t *e,
    ngx_http_admission_stats_t *stats)
{
    ngx_uint_t  dry, i, v;

    ngx_http_admission_exposition_family(e,
                                         &ngx_http_admission_requests_family);

    ngx_http_admission_metrics_verdict(e, NGX_HTTP_ADMISSION_VERDICT_BYPASS,
                                       ngx_http_admission_reason(EDGE), 0,
                                       stats->edge);

    for (dry = 0; dry < 2; dry++) {

        for (v = NGX_HTTP_ADMISSION_VERDICT_PASS;
             v < NGX_HTTP_ADMISSION_VERDICTS;
             v++)
        {
            if (v == NGX_HTTP_ADMISSION_VERDICT_TIER1
                || v == NGX_HTTP_ADMISSION_VERDICT_TIER2
                || (dry && stats->verdicts[1][v] == 0))
            {
                continue;
            }

            ngx_http_admission_metrics_verdict(e, v,
                v == NGX_HTTP_ADMISSION_VERDICT_USER
                    ? ngx_http_admission_reason(NO_USER)
                : v == NGX_HTTP_ADMISSION_VERDICT_ERROR
                    ? ngx_http_admission_reason(REDIS) : "",
                dry, stats->verdicts[dry][v]);
        }

        for (i = 0; i < NGX_HTTP_ADMISSION_REASONS; i++) {

            if (stats->tier1[dry][i]
                || (i == NGX_HTTP_ADMISSION_REASON_NO_TOKEN && !dry))
            {
                ngx_http_admission_metrics_verdict(e,
                                            NGX_HTTP_ADMISSION_VERDICT_TIER1,
                                            ngx_http_admission_reasons[i], dry,
                                            stats->tier1[dry][i]);
            }
        }

        for (i = 0; i < NGX_HTTP_ADMISSION_REASONS; i++) {

            if (stats->tier2[dry][i]
                || (i == NGX_HTTP_ADMISSION_REASON_NO_TOKEN && !dry))
            {
                ngx_http_admission_metrics_verdict(e,
                                            NGX_HTTP_ADMISSION_VERDICT_TIER2,
                                            ngx_http_admission_reasons[i], dry,
                                            stats->tier2[dry][i]);
            }
        }
    }
}


static void
ngx_http_admission_metrics_verdict(ngx_http_admission_exposition_t *e,
    ngx_http_admission_verdict_e verdict, const char *reason,
    ngx_uint_t dry_run, ngx_atomic_uint_t n)
{
    ngx_str_t  labels, value;

    ngx_str_null(&labels);

    value.len = ngx_strlen(reason);
    value.data = (u_char *) reason;

    ngx_http_admission_exposition_label(e, &labels, "verdict",
                                        &ngx_http_admission_verdicts[verdict]);
    ngx_http_admission_exposition_label(e, &labels, "reason", &value);
    ngx_http_admission_exposition_label(e, &labels, "dry_run",
                                        &ngx_http_admission_switches[dry_run]);

    ngx_http_admission_exposition_value(e, &labels, n);
}


static void
ngx_http_admission_metrics_calls(ngx_http_admission_exposition_t *e,
    ngx_http_admission_stats_t *stats)
{
    uint64_t                           buckets[
                                           NGX_HTTP_ADMISSION_REDIS_BUCKETS];
    ngx_str_t                          labels;
    ngx_uint_t                         i, k;
    ngx_http_admission_redis_calls_t  *calls;

    ngx_http_admission_exposition_family(e,
                                         &ngx_http_admission_duration_family);

    for (k = 0; k < NGX_HTTP_ADMISSION_REDIS_KINDS; k++) {
        calls = &stats->calls[k];

        for (i = 0; i < NGX_HTTP_ADMISSION_REDIS_BUCKETS; i++) {
            buckets[i] = calls->buckets[i];
        }

        ngx_str_null(&labels);

        ngx_http_admission_exposition_label(e, &labels, "call",
                                            &ngx_http_admission_call_names[k]);

        ngx_http_admission_exposition_histogram(e, &labels, buckets,
                                              NGX_HTTP_ADMISSION_REDIS_BUCKETS,
                                              ngx_http_admission_redis_bounds,
                                              calls->us, 1000000);
    }

    ngx_http_admission_exposition_family(e, &ngx_http_admission_errors_family);

    for (k = 0; k < NGX_HTTP_ADMISSION_REDIS_KINDS; k++) {
        for (i = 0; i < NGX_HTTP_ADMISSION_REDIS_ENDS; i++) {

            ngx_str_null(&labels);

            ngx_http_admission_exposition_label(e, &labels, "call",
                                            &ngx_http_admission_call_names[k]);
            ngx_http_admission_exposition_label(e, &labels, "kind",
                                                &ngx_http_admission_ends[i]);

            ngx_http_admission_exposition_value(e, &labels,
                                                stats->calls[k].ends[i]);
        }
    }
}


static void
ngx_http_admission_metrics_redis(ngx_http_admission_exposition_t *e)
{
    ngx_str_t                           labels;
    ngx_uint_t                          i;
    ngx_http_admission_redis_counts_t  *counts;

    static ngx_str_t  states[] = { ngx_string("open"), ngx_string("trial") };

    counts = ngx_http_admission_zone_redis_counts();

    ngx_http_admission_metrics_single(e,
                                      &ngx_http_admission_connections_family,
                                      ngx_http_admission_redis_open(counts));

    for (i = 0; i < NGX_HTTP_ADMISSION_REDIS_COUNTS; i++) {
        ngx_http_admission_metrics_single(e,
                                         &ngx_http_admission_redis_families[i],
                                         counts->n[i]);
    }

    ngx_http_admission_exposition_family(e,
                                         &ngx_http_admission_breakers_family);

    for (i = 0; i < 2; i++) {
        ngx_str_null(&labels);

        ngx_http_admission_exposition_label(e, &labels, "state", &states[i]);
        ngx_http_admission_exposition_value(e, &labels,
            ngx_http_admission_redis_breakers(counts,
                                  ngx_http_admission_redis_breaker_open + i));
    }
}


static void
ngx_http_admission_metrics_state(ngx_http_admission_exposition_t *e,
    ngx_http_admission_main_conf_t *mcf)
{
    uint64_t    forgotten;
    ngx_msec_t  age;
    ngx_uint_t  known;

    /* where there is no Redis, none is down */

    if (mcf->redis) {
        ngx_http_admission_exposition_family(e, &ngx_http_admission_age_family);

        if (ngx_http_admission_heard(&age) == NGX_OK) {
            ngx_http_admission_exposition_ms(e, NULL, age);

        } else {
            ngx_http_admission_exposition_infinity(e, NULL);
        }
    }

    ngx_http_admission_metrics_single(e, &ngx_http_admission_stale_family,
                                      ngx_http_admission_is_stale());

    ngx_http_admission_exposition_family(e, &ngx_http_admission_lag_family);
    ngx_http_admission_exposition_ms(e, NULL,
                                     ngx_http_admission_schedule_lag());

    ngx_http_admission_metrics_single(e, &ngx_http_admission_ready_family,
                                      !ngx_http_admission_not_ready(mcf));

    ngx_http_admission_revocations(&known, &forgotten);

    ngx_http_admission_metrics_single(e,
                                      &ngx_http_admission_revocations_family,
                                      known);
    ngx_http_admission_metrics_single(e,
                             &ngx_http_admission_revocations_forgotten_family,
                             forgotten);

    ngx_http_admission_metrics_single(e, &ngx_http_admission_size_family,
                                      ngx_http_admission_zone_size());
    ngx_http_admission_metrics_single(e, &ngx_http_admission_free_family,
                                      ngx_http_admission_zone_free());
}


/* categories that the configuration no longer has keep their numbers */

static ngx_int_t
ngx_http_admission_metrics_limits(ngx_http_admission_exposition_t *e)
{
    ngx_msec_t                     ms;
    ngx_str_t                      labels, name;
    ngx_uint_t                     i, k, alone;
    ngx_array_t                    list;
    ngx_http_admission_counts_t  **counts;

    if (ngx_array_init(&list, e->pool, 8,
                       sizeof(ngx_http_admission_counts_t *))
        != NGX_OK
        || ngx_http_admission_counts_list(&list) != NGX_OK)
    {
        return NGX_ERROR;
    }

    ngx_http_admission_exposition_family(e, &ngx_http_admission_limits_family);

    counts = list.elts;

    for (i = 0; i < list.nelts; i++) {

        name.len = counts[i]->len;
        name.data = counts[i]->name;

        for (k = 0; k < NGX_HTTP_ADMISSION_COUNTS; k++) {

            ngx_str_null(&labels);

            ngx_http_admission_exposition_label(e, &labels, "category", &name);
            ngx_http_admission_exposition_label(e, &labels, "decision",
                                             &ngx_http_admission_decisions[k]);

            ngx_http_admission_exposition_value(e, &labels, counts[i]->n[k]);
        }
    }

    ms = ngx_http_admission_limit_alone(&alone);

    ngx_http_admission_metrics_single(e, &ngx_http_admission_alone_family,
                                      alone);

    ngx_http_admission_exposition_family(e,
                                        &ngx_http_admission_alone_time_family);
    ngx_http_admission_exposition_ms(e, NULL, ms);

    return NGX_OK;
}


/* decisions have the names, and the order, that those of rate limits have */

static void
ngx_http_admission_metrics_intakes(ngx_http_admission_exposition_t *e)
{
    ngx_str_t                            labels;
    ngx_uint_t                           i, k;
    ngx_http_admission_intake_counts_t  *counts;

    counts = ngx_http_admission_bucket_counts();

    ngx_http_admission_exposition_family(e, &ngx_http_admission_intake_family);

    for (i = 0; i < NGX_HTTP_ADMISSION_INTAKES; i++) {
        for (k = 0; k < NGX_HTTP_ADMISSION_INTAKE_COUNTS; k++) {

            ngx_str_null(&labels);

            ngx_http_admission_exposition_label(e, &labels, "rate",
                                               &ngx_http_admission_intakes[i]);
            ngx_http_admission_exposition_label(e, &labels, "decision",
                                             &ngx_http_admission_decisions[k]);

            ngx_http_admission_exposition_value(e, &labels, counts->n[i][k]);
        }
    }

    ngx_http_admission_exposition_family(e,
                                      &ngx_http_admission_intake_alone_family);

    for (i = 0; i < NGX_HTTP_ADMISSION_INTAKES; i++) {
        ngx_str_null(&labels);

        ngx_http_admission_exposition_label(e, &labels, "rate",
                                            &ngx_http_admission_intakes[i]);
        ngx_http_admission_exposition_value(e, &labels,
                                          ngx_http_admission_bucket_alone(i));
    }

    ngx_http_admission_metrics_single(e,
                                    &ngx_http_admission_intake_replaced_family,
                                    counts->replaced);
}


static void
ngx_http_admission_metrics_single(ngx_http_admission_exposition_t *e,
    const ngx_http_admission_family_t *family, int64_t value)
{
    ngx_http_admission_exposition_family(e, family);
    ngx_http_admission_exposition_value(e, NULL, value);
}
