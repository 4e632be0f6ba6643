
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The metrics of events: of all together, of each that has a name, and of the
 * others in sum, under a name that no event can have.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_admission_metrics.h"
#include "ngx_http_admission_tally.h"
#include "ngx_http_admission_unlisted.h"


/* a gauge of a named event; NGX_DECLINED: it has none */
typedef ngx_int_t (*ngx_http_admission_event_gauge_pt)(
    ngx_http_admission_named_t *named, ngx_http_admission_event_conf_t *conf,
    int64_t *value);


typedef struct {
    ngx_http_admission_family_t        family;
    ngx_http_admission_event_gauge_pt  value;
    size_t                             sum;     /* the sum of all events: an
                                                   offset in the sums; 0: there
                                                   is none */
    unsigned                           ms:1;
} ngx_http_admission_event_gauge_t;


static void ngx_http_admission_metrics_tallies(
    ngx_http_admission_exposition_t *e, ngx_http_admission_tallies_t *t);
static void ngx_http_admission_metrics_gauge(
    ngx_http_admission_exposition_t *e, ngx_http_admission_main_conf_t *mcf,
    ngx_http_admission_tallies_t *t,
    const ngx_http_admission_event_gauge_t *gauge);
static void ngx_http_admission_metrics_known(
    ngx_http_admission_exposition_t *e, ngx_http_admission_tallies_t *t);
static void ngx_http_admission_metrics_unlisted(
    ngx_http_admission_exposition_t *e);
static void ngx_http_admission_metrics_label(
    ngx_http_admission_exposition_t *e, ngx_http_admission_named_t *named,
    ngx_str_t *labels);

static ngx_int_t ngx_http_admission_gauge_waiting(
    ngx_http_admission_named_t *named, ngx_http_admission_event_conf_t *conf,
    int64_t *value);
static ngx_int_t ngx_http_admission_gauge_active(
    ngx_http_admission_named_t *named, ngx_http_admission_event_conf_t *conf,
    int64_t *value);
static ngx_int_t ngx_http_admission_gauge_threshold(
    ngx_http_admission_named_t *named, ngx_http_admission_event_conf_t *conf,
    int64_t *value);
static ngx_int_t ngx_http_admission_gauge_room(
    ngx_http_admission_named_t *named, ngx_http_admission_event_conf_t *conf,
    int64_t *value);
static ngx_int_t ngx_http_admission_gauge_before(
    ngx_http_admission_named_t *named, ngx_http_admission_event_conf_t *conf,
    int64_t *value);
static ngx_int_t ngx_http_admission_gauge_next(
    ngx_http_admission_named_t *named, ngx_http_admission_event_conf_t *conf,
    int64_t *value);
static ngx_int_t ngx_http_admission_gauge_serving(
    ngx_http_admission_named_t *named, ngx_http_admission_event_conf_t *conf,
    int64_t *value);
static ngx_int_t ngx_http_admission_gauge_rate(
    ngx_http_admission_named_t *named, ngx_http_admission_event_conf_t *conf,
    int64_t *value);
static ngx_int_t ngx_http_admission_gauge_age(
    ngx_http_admission_named_t *named, ngx_http_admission_event_conf_t *conf,
    int64_t *value);


/* by ngx_http_admission_tally_e: of all events, and of each */

#define ngx_http_admission_tally_family(name, help)                           \
    { { name, NGX_HTTP_ADMISSION_COUNTER, NULL, help " Counted on this "      \
        "host, by the calls it made: sum over hosts." },                      \
      { "event_" name, NGX_HTTP_ADMISSION_COUNTER, NULL, help " By event: "   \
        "the busiest ones, the others together. Counted on this host: sum "   \
        "over hosts." } }

static const ngx_http_admission_family_t
    ngx_http_admission_tally_families[NGX_HTTP_ADMISSION_TALLIES][2] =
{
    ngx_http_admission_tally_family("queue_joins",
        "Users who joined a queue, those let in at once too."),
    ngx_http_admission_tally_family("queue_admissions",
        "Users let in, at once or from the line."),
    ngx_http_admission_tally_family("queue_leaves",
        "Users who left, waiting or in."),
    ngx_http_admission_tally_family("queue_stale",
        "Waiting users taken out since nothing was heard of them."),
    ngx_http_admission_tally_family("queue_claims_lost",
        "Slots of users who were let in and did not come."),
    ngx_http_admission_tally_family("queue_slots_expired",
        "Slots that ran out after their users had come."),
    ngx_http_admission_tally_family("queue_duplicate_positions",
        "Users refused since another one had used their position."),
    ngx_http_admission_tally_family("queue_places_restored",
        "Users put back in line by the place that they showed."),
    ngx_http_admission_tally_family("queue_slots_restored",
        "Slots put back by an entry token after a loss of data."),
    ngx_http_admission_tally_family("queue_order_violations",
        "Steps after which somebody waited who came before one let in."),
    ngx_http_admission_tally_family("room_positions",
        "Positions issued by waiting rooms.")
};


#define ngx_http_admission_shared                                             \
    " The same on all hosts: take the maximum over them."

#define ngx_http_admission_sum(name)                                          \
    offsetof(ngx_http_admission_sums_t, name)


static const ngx_http_admission_event_gauge_t
    ngx_http_admission_event_gauges[] =
{
    { { "queue_waiting", NGX_HTTP_ADMISSION_GAUGE, NULL,
        "Users in line." ngx_http_admission_shared },
      ngx_http_admission_gauge_waiting, ngx_http_admission_sum(waiting), 0 },

    { { "queue_active", NGX_HTTP_ADMISSION_GAUGE, NULL,
        "Users who are in." ngx_http_admission_shared },
      ngx_http_admission_gauge_active, ngx_http_admission_sum(active), 0 },

    { { "queue_threshold", NGX_HTTP_ADMISSION_GAUGE, NULL,
        "Users who may be in at once." ngx_http_admission_shared },
      ngx_http_admission_gauge_threshold, 0, 0 },

    { { "room_active", NGX_HTTP_ADMISSION_GAUGE, NULL,
        "Whether the waiting room is active; of other events how many are."
        ngx_http_admission_shared },
      ngx_http_admission_gauge_room, ngx_http_admission_sum(rooms), 0 },

    { { "room_waiting", NGX_HTTP_ADMISSION_GAUGE, NULL,
        "Positions of an active waiting room whose turn is still to come."
        ngx_http_admission_shared },
      ngx_http_admission_gauge_before, ngx_http_admission_sum(before), 0 },

    { { "room_next", NGX_HTTP_ADMISSION_GAUGE, NULL,
        "The last position that the waiting room issued."
        ngx_http_admission_shared },
      ngx_http_admission_gauge_next, 0, 0 },

    { { "room_serving", NGX_HTTP_ADMISSION_GAUGE, NULL,
        "The serving counter of the waiting room." ngx_http_admission_shared },
      ngx_http_admission_gauge_serving, 0, 0 },

    { { "room_rate", NGX_HTTP_ADMISSION_GAUGE, NULL,
        "Positions a second by which the serving counter may advance."
        ngx_http_admission_shared },
      ngx_http_admission_gauge_rate, 0, 0 },

    { { "event_state_age_seconds", NGX_HTTP_ADMISSION_GAUGE, "seconds",
        "Time since this host last heard of an event with users or an active "
        "waiting room. Of this host." },
      ngx_http_admission_gauge_age, 0, 1 }
};

#define NGX_HTTP_ADMISSION_EVENT_GAUGES                                       \
    (sizeof(ngx_http_admission_event_gauges)                                  \
     / sizeof(ngx_http_admission_event_gauge_t))


static const ngx_http_admission_family_t  ngx_http_admission_wait_family = {
    "queue_wait_seconds", NGX_HTTP_ADMISSION_HISTOGRAM, "seconds",
    "Time from joining, or from the ticket of a waiting room, to being let "
    "in. Counted on this host, by the steps it made: sum over hosts."
};

static const ngx_http_admission_family_t  ngx_http_admission_events_family = {
    "events", NGX_HTTP_ADMISSION_GAUGE, NULL,
    "Events that this host knows something of."
};

static const ngx_http_admission_family_t
    ngx_http_admission_forgotten_family =
{
    "events_forgotten", NGX_HTTP_ADMISSION_COUNTER, NULL,
    "Events that this host forgot, the zone being full."
};


static const ngx_http_admission_family_t  ngx_http_admission_unlisted_family = {
    "unlisted_events", NGX_HTTP_ADMISSION_GAUGE, NULL,
    "Events with users that have neither a line nor an operator's setting: "
    "unlisted= bounds them." ngx_http_admission_shared
};

static const ngx_http_admission_family_t  ngx_http_admission_refused_family = {
    "unlisted_refused", NGX_HTTP_ADMISSION_COUNTER, NULL,
    "Joins of such events refused, since so many have users already (events), "
    "or the user or the address is in so many; with a dry run they went on all "
    "the same. Of this host: sum over hosts."
};


/* by ngx_http_admission_bound_e */
static ngx_str_t  ngx_http_admission_bounds[] = {
    ngx_null_string,
    ngx_string("events"),
    ngx_string("user"),
    ngx_string("address")
};


/* no event id has parentheses */
static ngx_str_t  ngx_http_admission_others = ngx_string("(other)");


ngx_int_t
ngx_http_admission_metrics_events(ngx_http_admission_exposition_t *e,
    ngx_http_admission_main_conf_t *mcf)
{
    ngx_uint_t                    i;
    ngx_str_t                     none;
    ngx_http_admission_tallies_t  t;

    if (ngx_http_admission_tallies(e->pool, &t) != NGX_OK) {
        return NGX_ERROR;
    }

    ngx_http_admission_metrics_tallies(e, &t);

    ngx_str_null(&none);

    ngx_http_admission_exposition_family(e, &ngx_http_admission_wait_family);
    ngx_http_admission_exposition_histogram(e, &none, t.waits.buckets,
                                            NGX_HTTP_ADMISSION_WAITS,
                                            ngx_http_admission_wait_bounds,
                                            t.waits.ms, 1000);

    for (i = 0; i < NGX_HTTP_ADMISSION_EVENT_GAUGES; i++) {
        ngx_http_admission_metrics_gauge(e, mcf, &t,
                                         &ngx_http_admission_event_gauges[i]);
    }

    ngx_http_admission_metrics_known(e, &t);
    ngx_http_admission_metrics_unlisted(e);

    return NGX_OK;
}


static void
ngx_http_admission_metrics_unlisted(ngx_http_admission_exposition_t *e)
{
    ngx_str_t                             labels;
    ngx_uint_t                            i;
    ngx_http_admission_unlisted_counts_t  counts;

    ngx_http_admission_unlisted_counts(&counts);

    ngx_http_admission_exposition_family(e,
                                         &ngx_http_admission_unlisted_family);
    ngx_http_admission_exposition_value(e, NULL, counts.events);

    ngx_http_admission_exposition_family(e, &ngx_http_admission_refused_family);

    for (i = NGX_HTTP_ADMISSION_BOUND_NONE + 1;
         i < NGX_HTTP_ADMISSION_BOUNDS;
         i++)
    {
        ngx_str_null(&labels);

        ngx_http_admission_exposition_label(e, &labels, "by",
                                            &ngx_http_admission_bounds[i]);
        ngx_http_admission_exposition_value(e, &labels, counts.refused[i]);
    }
}


static void
ngx_http_admission_metrics_tallies(ngx_http_admission_exposition_t *e,
    ngx_http_admission_tallies_t *t)
{
    ngx_str_t   labels;
    ngx_uint_t  i, k;

    for (k = 0; k < NGX_HTTP_ADMISSION_TALLIES; k++) {

        ngx_http_admission_exposition_family(e,
                                   &ngx_http_admission_tally_families[k][0]);
        ngx_http_admission_exposition_value(e, NULL, t->all.n[k]);

        ngx_http_admission_exposition_family(e,
                                   &ngx_http_admission_tally_families[k][1]);

        for (i = 0; i < t->n; i++) {
            ngx_http_admission_metrics_label(e, &t->named[i], &labels);
            ngx_http_admission_exposition_value(e, &labels,
                                                t->named[i].tally.n[k]);
        }

        ngx_http_admission_metrics_label(e, NULL, &labels);
        ngx_http_admission_exposition_value(e, &labels, t->others.n[k]);
    }
}


static void
ngx_http_admission_metrics_gauge(ngx_http_admission_exposition_t *e,
    ngx_http_admission_main_conf_t *mcf, ngx_http_admission_tallies_t *t,
    const ngx_http_admission_event_gauge_t *gauge)
{
    int64_t                           value, rest;
    ngx_str_t                         id, labels;
    ngx_uint_t                        i;
    ngx_http_admission_event_conf_t  *conf;

    ngx_http_admission_exposition_family(e, &gauge->family);

    rest = gauge->sum ? *(int64_t *) ((u_char *) &t->sums + gauge->sum) : 0;

    for (i = 0; i < t->n; i++) {

        id.len = t->named[i].len;
        id.data = t->named[i].id;

        conf = ngx_http_admission_event_conf(mcf, &id);

        if (conf == NULL) {
            /* not listed, and activated by the API */
            conf = &mcf->event_default;
        }

        if (gauge->value(&t->named[i], conf, &value) != NGX_OK) {
            continue;
        }

        rest -= value;

        ngx_http_admission_metrics_label(e, &t->named[i], &labels);

        if (gauge->ms) {
            ngx_http_admission_exposition_ms(e, &labels, value);

        } else {
            ngx_http_admission_exposition_value(e, &labels, value);
        }
    }

    if (gauge->sum) {
        ngx_http_admission_metrics_label(e, NULL, &labels);
        ngx_http_admission_exposition_value(e, &labels, rest);
    }
}


static void
ngx_http_admission_metrics_known(ngx_http_admission_exposition_t *e,
    ngx_http_admission_tallies_t *t)
{
    ngx_http_admission_exposition_family(e, &ngx_http_admission_events_family);
    ngx_http_admission_exposition_value(e, NULL, t->sums.events);

    ngx_http_admission_exposition_family(e,
                                         &ngx_http_admission_forgotten_family);
    ngx_http_admission_exposition_value(e, NULL, t->forgotten);
}


/* named NULL: the others */

static void
ngx_http_admission_metrics_label(ngx_http_admission_exposition_t *e,
    ngx_http_admission_named_t *named, ngx_str_t *labels)
{
    ngx_str_t  id;

    ngx_str_null(labels);

    if (named == NULL) {
        ngx_http_admission_exposition_label(e, labels, "event",
                                            &ngx_http_admission_others);
        return;
    }

    id.len = named->len;
    id.data = named->id;

    ngx_http_admission_exposition_label(e, labels, "event", &id);
}


static ngx_int_t
ngx_http_admission_gauge_waiting(ngx_http_admission_named_t *named,
    ngx_http_admission_event_conf_t *conf, int64_t *value)
{
    *value = named->state.size;

    return named->queue ? NGX_OK : NGX_DECLINED;
}


static ngx_int_t
ngx_http_admission_gauge_active(ngx_http_admission_named_t *named,
    ngx_http_admission_event_conf_t *conf, int64_t *value)
{
    *value = named->state.active;

    return named->queue ? NGX_OK : NGX_DECLINED;
}


static ngx_int_t
ngx_http_admission_gauge_threshold(ngx_http_admission_named_t *named,
    ngx_http_admission_event_conf_t *conf, int64_t *value)
{
    *value = (named->state.threshold >= 0) ? named->state.threshold
                                           : conf->threshold;

    return named->queue ? NGX_OK : NGX_DECLINED;
}


static ngx_int_t
ngx_http_admission_gauge_room(ngx_http_admission_named_t *named,
    ngx_http_admission_event_conf_t *conf, int64_t *value)
{
    if (!named->has_room) {
        return NGX_DECLINED;
    }

    *value = named->room.active;

    return NGX_OK;
}


static ngx_int_t
ngx_http_admission_gauge_before(ngx_http_admission_named_t *named,
    ngx_http_admission_event_conf_t *conf, int64_t *value)
{
    if (!named->has_room) {
        return NGX_DECLINED;
    }

    *value = named->room.active
             ? ngx_max(named->room.next - named->room.serving, 0) : 0;

    return NGX_OK;
}


static ngx_int_t
ngx_http_admission_gauge_next(ngx_http_admission_named_t *named,
    ngx_http_admission_event_conf_t *conf, int64_t *value)
{
    if (!named->has_room) {
        return NGX_DECLINED;
    }

    *value = named->room.next;

    return NGX_OK;
}


static ngx_int_t
ngx_http_admission_gauge_serving(ngx_http_admission_named_t *named,
    ngx_http_admission_event_conf_t *conf, int64_t *value)
{
    if (!named->has_room) {
        return NGX_DECLINED;
    }

    *value = named->room.serving;

    return NGX_OK;
}


static ngx_int_t
ngx_http_admission_gauge_rate(ngx_http_admission_named_t *named,
    ngx_http_admission_event_conf_t *conf, int64_t *value)
{
    if (!named->has_room) {
        return NGX_DECLINED;
    }

    *value = named->room.rate / 1000;

    return NGX_OK;
}


static ngx_int_t
ngx_http_admission_gauge_age(ngx_http_admission_named_t *named,
    ngx_http_admission_event_conf_t *conf, int64_t *value)
{
    *value = named->age;

    return NGX_OK;
}
