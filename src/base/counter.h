
/*
 * Copyright (C) 2026 the admission module authors
 *
 * How things are counted. counter_list.h has what is counted.  Whoever sees it
 * happen calls ngx_adm_count(), at any time and in any process.  The process
 * has memory of its own for the numbers until it is given some that is shared.
 * Lock-free.
 */


#ifndef _NGX_ADM_BASE_COUNTER_H_INCLUDED_
#define _NGX_ADM_BASE_COUNTER_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "reason.h"


/*
 * Labels: their values in the order in which they are counted, as value(label,
 * id, text).  What intakes decide has the first of the values for rate limits.
 */

#define NGX_ADM_LABEL_NONE(value)                                             \
    value(NONE, NONE, "")

/* the bound on events that no operator named that was in the way */
#define NGX_ADM_LABEL_BOUND(value)                                            \
    value(BOUND, EVENTS, "events")                                            \
    value(BOUND, USER, "user")                                                \
    value(BOUND, ADDRESS, "address")

/* what is made anew: a ticket, or a visitor (by "check") */
#define NGX_ADM_LABEL_INTAKE(value)                                           \
    value(INTAKE, ASSIGN, "assign_rate")                                      \
    value(INTAKE, VISITOR, "visitor_rate")

#define NGX_ADM_LABEL_TAKE(value)                                             \
    value(DECISION, ALLOWED, "allowed")                                       \
    value(DECISION, LIMITED, "limited")                                       \
    value(DECISION, DRY_RUN, "dry_run")      /* would have been limited */

#define NGX_ADM_LABEL_DECISION(value)                                         \
    NGX_ADM_LABEL_TAKE(value)                                                 \
    value(DECISION, LOCAL_ALLOWED, "local_allowed")  /* by the host's own */  \
    value(DECISION, LOCAL_LIMITED, "local_limited")  /* count */              \
    value(DECISION, ERROR, "error")          /* by "fail=open|closed" */

/* whose stream: of a visitor with a ticket, or of a user */
#define NGX_ADM_LABEL_TIER(value)                                             \
    value(TIER, 1, "1")                                                       \
    value(TIER, 2, "2")

/* how a stream ends */
#define NGX_ADM_LABEL_STREAM_END(value)                                       \
    value(STREAM_END, CLIENT, "client")      /* went away */                  \
    value(STREAM_END, OVER, "over")          /* has nothing more to tell */   \
    value(STREAM_END, SLOW, "slow")          /* nothing is read */            \
    value(STREAM_END, WORKER, "worker")      /* leaves */

/* calls to Redis: a command, or a script */
#define NGX_ADM_LABEL_CALL(value)                                             \
    value(CALL, COMMAND, "command")                                           \
    value(CALL, QUEUE_CHECK, "queue_check")                                   \
    value(CALL, QUEUE_LEAVE, "queue_leave")                                   \
    value(CALL, QUEUE_STEP, "queue_step")                                     \
    value(CALL, QUEUE_ADMIN, "queue_admin")                                   \
    value(CALL, VWR_ASSIGN, "vwr_assign")                                     \
    value(CALL, VWR_STEP, "vwr_step")                                         \
    value(CALL, VWR_ADMIN, "vwr_admin")                                       \
    value(CALL, LIMIT, "limit")                                               \
    value(CALL, LIMIT_BACK, "limit_back")                                     \
    value(CALL, QUEUE_REVOKED, "queue_revoked")                               \
    value(CALL, NEEDS, "needs")                                               \
    value(CALL, NOTICE, "notice")                                             \
    value(CALL, SALE, "sale")                                                 \
    value(CALL, DRAW, "draw")                                                 \
    value(CALL, QUEUE_COMPLETE, "queue_complete")                             \
    value(CALL, QUEUE_BEAT, "queue_beat")                                     \
    value(CALL, QUEUE_JOIN, "queue_join")                                     \
    value(CALL, FOLLOW, "follow")                                             \
    value(CALL, HOLD, "hold")

/* how calls end that Redis did not answer well */
#define NGX_ADM_LABEL_CALL_END(value)                                         \
    value(CALL_END, ERROR, "reply")          /* its answer is an error */     \
    value(CALL_END, LOST, "lost")            /* sent, and no answer */        \
    value(CALL_END, UNSENT, "unsent")        /* Redis is known to be down, */ \
                                             /* or there is no connection */

/* states of a breaker, except the usual one */
#define NGX_ADM_LABEL_BREAKER(value)                                          \
    value(BREAKER, OPEN, "open")                                              \
    value(BREAKER, TRIAL, "trial")

/* versions, each with one value: that of this build */
#define NGX_ADM_LABEL_MODULE(value)                                           \
    value(MODULE, VERSION, NGX_ADM_VERSION)

#define NGX_ADM_LABEL_NGINX(value)                                            \
    value(NGINX, VERSION, NGINX_VERSION)


#define ngx_adm_label_id(label, id, text)                                     \
    NGX_ADM_##label##_##id,

#define ngx_adm_label_one(label, id, text)  + 1

/* how many values a label has */
#define ngx_adm_label_n(label)                                                \
    (0 NGX_ADM_LABEL_##label(ngx_adm_label_one))


typedef enum {
    NGX_ADM_LABEL_INTAKE(ngx_adm_label_id)
    NGX_ADM_INTAKES } ngx_adm_intake_e;

typedef enum {
    NGX_ADM_LABEL_DECISION(ngx_adm_label_id)
    NGX_ADM_DECISIONS } ngx_adm_decision_e;

typedef enum {
    NGX_ADM_LABEL_TIER(ngx_adm_label_id)
    NGX_ADM_TIERS } ngx_adm_tier_e;

typedef enum {
    NGX_ADM_LABEL_STREAM_END(ngx_adm_label_id)
    NGX_ADM_STREAM_ENDS } ngx_adm_stream_end_e;

typedef enum {
    NGX_ADM_LABEL_CALL(ngx_adm_label_id)
    NGX_ADM_CALLS } ngx_adm_call_e;

typedef enum {
    NGX_ADM_LABEL_CALL_END(ngx_adm_label_id)
    NGX_ADM_CALL_ENDS } ngx_adm_call_end_e;


/* of a histogram; the last has no bound, and behind it there is a sum */
#define NGX_ADM_BUCKETS  14


/* places of counters; of counters with labels, of the first one */
typedef enum {
#define ngx_adm_counters_of(id, n)                                            \
    NGX_ADM_COUNT_##id,                                                       \
    NGX_ADM_COUNT_##id##_LAST =                                               \
                                     NGX_ADM_COUNT_##id + (n) - 1,

#define counter(id, name, label1, label2, help)                               \
    ngx_adm_counters_of(id, ngx_adm_label_n(label1)                           \
                                       * ngx_adm_label_n(label2))
#define tally(id, name, help)                                                 \
    ngx_adm_counters_of(TALLY_##id, 1)
#define histogram(id, name, label, unit, help, ...)                           \
    ngx_adm_counters_of(HISTOGRAM_##id,                                       \
        ngx_adm_label_n(label) * (NGX_ADM_BUCKETS + 1))
#define requests(id, name, help)                                              \
    ngx_adm_counters_of(id, NGX_ADM_VERDICT_ROWS)

#include "counter_list.h"

    NGX_ADM_COUNTS } ngx_adm_count_e;


/*
 * of an event; in the order of those of all events, from COUNT_TALLY_JOINS on
 */
typedef enum {
#define tally(id, name, help)  NGX_ADM_TALLY_##id,

#include "counter_list.h"

    NGX_ADM_TALLIES } ngx_adm_tally_e;


typedef enum {
#define histogram(id, name, label, unit, help, ...)                           \
    NGX_ADM_HISTOGRAM_##id,

#include "counter_list.h"

    NGX_ADM_HISTOGRAMS } ngx_adm_histogram_e;


typedef struct {
    ngx_uint_t                  first;      /* its first counter */
    ngx_uint_t                  unit;       /* so many are one second */
    ngx_uint_t                  bounds[NGX_ADM_BUCKETS - 1];
} ngx_adm_histogram_t;


extern const ngx_adm_histogram_t
    ngx_adm_histograms[];


/* the counters of this process, NGX_ADM_COUNTS of them */
extern ngx_atomic_t  *ngx_adm_counters;


/*
 * Has this process count in that memory, and adds what it counted in its own;
 * NULL: it counts in its own again.
 */
void ngx_adm_counters_use(ngx_atomic_t *counters);


static ngx_inline void
ngx_adm_count_n(ngx_uint_t counter, ngx_atomic_int_t n)
{
    (void) ngx_atomic_fetch_add(&ngx_adm_counters[counter], n);
}


/* counts one */
#define ngx_adm_count(counter)                                                \
    ngx_adm_count_n(counter, 1)


/* counts a number; label: which of the histogram's, or 0 */
void ngx_adm_observe(ngx_adm_histogram_e histogram, ngx_uint_t label,
    uint64_t n);


#endif /* _NGX_ADM_BASE_COUNTER_H_INCLUDED_ */
