
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Sums of answers, and who waits for one.  All of it is in the zone, under its
 * lock.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/clock.h"
#include "measure.h"


#define NGX_ADM_MEASURE_WINDOW  5000     /* ms */
#define NGX_ADM_MEASURE_PART    20       /* a user is one in so many */
#define NGX_ADM_MEASURE_MOST    100      /* requests of a user in a window
                                            that count as others' */
#define NGX_ADM_MEASURE_LATE    1000     /* ms, at least */
#define NGX_ADM_MEASURE_HUNG    5000
#define NGX_ADM_MEASURE_DEAD    120000   /* ms: a worker has died with it */


#define ngx_adm_measure_add(n, max)                                           \
    if ((n) < (max)) { (n)++; }


static ngx_uint_t ngx_adm_measure_bin(ngx_msec_t ms);
static void ngx_adm_measure_roll(ngx_adm_measure_t *m);
static void ngx_adm_measure_count(ngx_adm_measure_t *m,
    ngx_adm_sample_t *sample);
static void ngx_adm_measure_top_drop(ngx_adm_measure_top_t *top);
static void ngx_adm_measure_top_begin(ngx_adm_measure_top_t *top);
static ngx_uint_t ngx_adm_measure_top_take(ngx_adm_measure_top_t *top);
static void ngx_adm_measure_waiting(ngx_adm_measure_t *m, ngx_msec_t latency);


static ngx_uint_t
ngx_adm_measure_bin(ngx_msec_t ms)
{
    uint64_t    part;
    ngx_uint_t  octave, k;

    /* 2^(k/8), in 65536ths */
    static const uint64_t  parts[] = {
        65536, 71468, 77936, 84990, 92682, 101070, 110218, 120194, 131072 };

    ms = ngx_min(ms, 65536);

    if (ms <= 1) {
        return 0;
    }

    for (octave = 0; (ms >> (octave + 1)) != 0; octave++) { /* void */ }

    part = ((uint64_t) ms << 16) >> octave;

    for (k = 0; part > parts[k]; k++) { /* void */ }

    return octave * 8 + k - 1;
}


void
ngx_adm_measure_begin_locked(ngx_adm_measure_t *m, uint32_t user,
    ngx_msec_t since)
{
    ngx_adm_measure_user_t  *mu;

    mu = &m->users[user % NGX_ADM_MEASURE_USERS];

    if (mu->open == 0) {
        mu->since = (uint32_t) since;
    }

    if (mu->open < 65535) {
        mu->open++;
        m->open++;
    }
}


/*
 * The user's other requests began at times that are not known: it counts as
 * late too late, not too early.
 */

void
ngx_adm_measure_end_locked(ngx_adm_measure_t *m, uint32_t user,
    ngx_msec_t since)
{
    ngx_adm_measure_user_t  *mu;

    mu = &m->users[user % NGX_ADM_MEASURE_USERS];

    if (mu->open) {
        mu->open--;
        m->open--;

        if (mu->since == (uint32_t) since) {
            mu->since = (uint32_t) ngx_current_msec;
        }
    }
}


void
ngx_adm_measure_add_locked(ngx_adm_measure_t *m, ngx_adm_sample_t *samples,
    ngx_uint_t n)
{
    ngx_uint_t  i;

    ngx_adm_measure_roll(m);

    for (i = 0; i < n; i++) {
        ngx_adm_measure_count(m, &samples[i]);
    }
}


void
ngx_adm_measure_deaths_locked(ngx_adm_measure_t *m, ngx_uint_t deaths)
{
    ngx_uint_t  i;

    if (m->deaths == deaths) {
        return;
    }

    m->deaths = deaths;
    m->open = 0;

    for (i = 0; i < NGX_ADM_MEASURE_USERS; i++) {
        m->users[i].open = 0;
    }
}


/* begins another window, and drops sums that nobody asked for */

static void
ngx_adm_measure_roll(ngx_adm_measure_t *m)
{
    ngx_uint_t               i;
    ngx_adm_measure_user_t  *mu;

    if (ngx_adm_since(m->taken) > NGX_ADM_MEASURE_WINDOW) {
        ngx_memzero(&m->sums, sizeof(ngx_adm_measured_t));

        m->taken = ngx_current_msec;

        ngx_adm_measure_top_drop(&m->failed);
        ngx_adm_measure_top_drop(&m->slow);
        ngx_adm_measure_top_drop(&m->retry);
    }

    if (ngx_adm_since(m->window) <= NGX_ADM_MEASURE_WINDOW) {
        return;
    }

    m->window = ngx_current_msec;
    m->requests = 0;

    ngx_adm_measure_top_begin(&m->failed);
    ngx_adm_measure_top_begin(&m->slow);
    ngx_adm_measure_top_begin(&m->retry);

    for (i = 0; i < NGX_ADM_MEASURE_USERS; i++) {
        mu = &m->users[i];

        mu->requests = 0;
        mu->counted = 0;
        mu->failed = 0;
        mu->slow = 0;
        mu->retry = 0;
    }
}


static void
ngx_adm_measure_count(ngx_adm_measure_t *m, ngx_adm_sample_t *sample)
{
    ngx_adm_measured_t      *sums;
    ngx_adm_measure_user_t  *mu;

    sums = &m->sums;
    mu = &m->users[sample->user % NGX_ADM_MEASURE_USERS];

    ngx_adm_measure_add(sums->requests, NGX_MAX_INT32_VALUE);

    /* floods do not make room for each other */

    if (mu->requests < NGX_ADM_MEASURE_MOST) {
        mu->requests++;
        ngx_adm_measure_add(m->requests, NGX_MAX_INT32_VALUE);
    }

    /* a user counts for so much, however many requests are its own */

    if (mu->counted * NGX_ADM_MEASURE_PART > m->requests - mu->requests
        || mu->counted == 65535)
    {
        return;
    }

    sums->counted++;
    sums->users += (mu->counted++ == 0);

    if (sample->failed) {
        sums->failed++;
        sums->failed_users += (mu->failed++ == 0);
        m->failed.most = ngx_max(m->failed.most, mu->failed);
    }

    if (sample->slow) {
        mu->slow++;
        m->slow.most = ngx_max(m->slow.most, mu->slow);
    }

    if (sample->retry) {
        sums->retry++;
        sums->retry_users += (mu->retry++ == 0);
        m->retry.most = ngx_max(m->retry.most, mu->retry);
        sums->retry_seconds += ngx_min(sample->retry, NGX_ADM_RETRY_MAX);
    }

    if (sample->timed) {
        sums->bins[ngx_adm_measure_bin(sample->time)]++;
    }
}


/* drops what nobody asked for */

static void
ngx_adm_measure_top_drop(ngx_adm_measure_top_t *top)
{
    top->grown = 0;
    top->taken = top->most;
}


/* begins another window; growth in the last one is still to be told */

static void
ngx_adm_measure_top_begin(ngx_adm_measure_top_t *top)
{
    top->grown = ngx_adm_measure_top_take(top);
    top->most = 0;
    top->taken = 0;
}


static ngx_uint_t
ngx_adm_measure_top_take(ngx_adm_measure_top_t *top)
{
    ngx_uint_t  n;

    n = top->grown + top->most - top->taken;

    top->taken = top->most;
    top->grown = 0;

    return n;
}


void
ngx_adm_measure_take_locked(ngx_adm_measure_t *m, ngx_msec_t latency,
    ngx_adm_measured_t *measured)
{
    ngx_adm_measure_roll(m);
    ngx_adm_measure_waiting(m, latency);

    m->sums.failed_top = ngx_adm_measure_top_take(&m->failed);
    m->sums.slow_top = ngx_adm_measure_top_take(&m->slow);
    m->sums.retry_top = ngx_adm_measure_top_take(&m->retry);

    *measured = m->sums;

    ngx_memzero(&m->sums, sizeof(ngx_adm_measured_t));
    m->taken = ngx_current_msec;
}


static void
ngx_adm_measure_waiting(ngx_adm_measure_t *m, ngx_msec_t latency)
{
    ngx_uint_t               i, users, most;
    ngx_msec_t               age, late;
    ngx_adm_measure_user_t  *mu;

    users = 0;
    late = ngx_max(2 * latency, NGX_ADM_MEASURE_LATE);

    for (i = 0; i < NGX_ADM_MEASURE_USERS; i++) {
        mu = &m->users[i];

        if (mu->open == 0) {
            continue;
        }

        age = ngx_adm_ms_since(mu->since);

        if (age > NGX_ADM_MEASURE_DEAD) {
            m->open -= mu->open;
            mu->open = 0;
            continue;
        }

        users++;
        m->sums.late += (age > late);
        m->sums.hung += (age > NGX_ADM_MEASURE_HUNG);
    }

    /* a user counts for so many, however many it has open */

    most = users / NGX_ADM_MEASURE_PART + 1;

    for (i = 0; i < NGX_ADM_MEASURE_USERS; i++) {
        m->sums.waiting += ngx_min(m->users[i].open, most);
    }
}
