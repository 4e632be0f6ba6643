
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The mathematics are done by hand, as NGINX is not linked with the C
 * library's.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "forecast.h"


#define NGX_ADM_PACE_US     10000000     /* us of an interval */
#define NGX_ADM_PACE_FADE   0.94         /* weight of an interval in the next */
#define NGX_ADM_PACE_FEW    0.0625       /* square of the spread of an
                                            interval, in place of intervals
                                            that are missing */
#define NGX_ADM_PACE_DRIFT  0.0004       /* part that changes in any case, */
#define NGX_ADM_PACE_SLOW   0.02         /* and slowly, where chance may hide
                                            it, at most */
#define NGX_ADM_PACE_LASTS  180.0        /* intervals that what wanders may last
                                            beyond those that were measured */
#define NGX_ADM_PACE_TENTH  1.28         /* spreads beyond which there is a
                                            tenth */
#define NGX_ADM_PACE_WIDE   100.0        /* square of a spread, at most */
#define NGX_ADM_PACE_STANDS 0.000001     /* people a second: fewer are nobody */
#define NGX_ADM_PACE_MAX    864000000.0  /* s */


static double ngx_adm_forecast_time(double people, double rate, double leave);
static double ngx_adm_forecast_spread(ngx_adm_pace_t *pace, double time);
static double ngx_adm_forecast_part(double lasts, double n, double ahead);
static double ngx_adm_log1(double x);
static double ngx_adm_root(double x);


void
ngx_adm_pace_note(ngx_adm_pace_t *pace, int64_t us, int64_t passed,
    int64_t left, int64_t stood)
{
    double  rate, fade, step;

    pace->us += us;
    pace->passed += passed;
    pace->left += left;
    pace->stood += (double) stood * (double) us;

    if (pace->us < NGX_ADM_PACE_US) {
        return;
    }

    fade = NGX_ADM_PACE_FADE;
    rate = (double) pace->passed * 1000 / (double) pace->us;

    step = (pace->n > 0) ? rate - pace->last : 0;

    pace->steps = pace->steps * fade + step * step;
    pace->n = pace->n * fade + 1;
    pace->sum = pace->sum * fade + rate;
    pace->squares = pace->squares * fade + rate * rate;
    pace->last = rate;
    pace->gone = pace->gone * fade + (double) pace->left;
    pace->stay = pace->stay * fade + pace->stood / 1000000;

    pace->us = 0;
    pace->passed = 0;
    pace->left = 0;
    pace->stood = 0;
}


int64_t
ngx_adm_pace_rate(ngx_adm_pace_t *pace)
{
    return (pace->n > 0) ? (int64_t) (pace->sum / pace->n * 1000 + 0.5) : 0;
}


void
ngx_adm_forecast(ngx_adm_pace_t *pace, int64_t rate, int64_t people,
    ngx_adm_range_t *range)
{
    double  n, a, time, first, leave, gone, part, spread;

    a = (double) ngx_max(rate, 1) / 1000;
    n = (double) ngx_max(people, 0);

    leave = (pace->gone > 0 && pace->stay > 0) ? pace->gone / pace->stay : 0;
    leave = ngx_min(leave, 1);

    time = ngx_adm_forecast_time(n, a, leave);
    spread = ngx_adm_forecast_spread(pace, time);

    if (leave > 0 && time > 0) {

        /* the more have left, the better it is known how many leave */

        part = ngx_adm_root(1 / (1 + pace->gone) + 0.01);

        part = 1 - ngx_adm_forecast_time(n, a, leave * (1 + part)) / time;
        spread += part * part;

        /* who of those ahead leave is left to chance */

        gone = ngx_max(n - a * time, 0);
        spread += gone / (n * n);
    }

    spread = ngx_min(spread, NGX_ADM_PACE_WIDE);
    spread = 1 + NGX_ADM_PACE_TENTH * ngx_adm_root(spread);

    /*
     * the first of them passes at any time within the next step: so the last
     * may wait for half a person less, which matters where they are few
     */

    first = ngx_adm_forecast_time(ngx_max(n - 0.5, 0), a, leave);

    range->wait = (int64_t) time;
    range->wait += ((double) range->wait < time);
    range->low = (int64_t) (first / spread);
    range->high = (int64_t) (time * spread);
    range->high += ((double) range->high < time * spread);
}


/*
 * s for n people, of whom "rate" pass a second while that share of the rest
 * leaves
 */

static double
ngx_adm_forecast_time(double people, double rate, double leave)
{
    double  time;

    time = people / rate;

    if (leave * time > 1e-6) {
        time = ngx_adm_log1(leave * time) / leave;
    }

    return ngx_min(time, NGX_ADM_PACE_MAX);
}


/*
 * The square of how far the rate over that time may be from the measured one,
 * as a part of it: of what is seen to wander, of what is left to chance, and
 * of what wanders too slowly to be seen through that chance
 */

static double
ngx_adm_forecast_spread(ngx_adm_pace_t *pace, double time)
{
    double  n, ahead, mean, all, step, seen, share, chance, hidden, lasts;

    ahead = ngx_max(time * 1000000 / NGX_ADM_PACE_US, 1);

    /* as many of the same weight say as much, and one that is set */

    n = pace->n * (1 + NGX_ADM_PACE_FADE)
        / (2 - pace->n * (1 - NGX_ADM_PACE_FADE)) + 1;

    seen = 0;
    share = 0;
    chance = 0;

    if (pace->n > 1.5) {
        mean = pace->sum / pace->n;

        if (mean < NGX_ADM_PACE_STANDS) {
            return NGX_ADM_PACE_WIDE;
        }

        all = pace->squares / pace->n / (mean * mean) - 1;

        step = pace->steps * NGX_ADM_PACE_FADE / (pace->n - 1);
        step /= 2 * mean * mean;

        chance = ngx_min(1000000 / (mean * NGX_ADM_PACE_US), step);

        /* what neighbours share, beyond what they may by chance */

        share = all - step + step / n - step / ngx_adm_root(n);
        share = ngx_max(share, 0);

        seen = share + step - chance;
        share /= seen + 1e-9;

        /* they seem less alike than they are, within so few */

        share += (1 + 3 * share) / n;
    }

    /* what is not seen to end may last longer: the more of that lies ahead */

    lasts = n + ngx_min(ahead / 2, NGX_ADM_PACE_LASTS);

    if (share < 1) {
        lasts = ngx_min((1 + share) / (1 - share), lasts);
    }

    seen *= ngx_adm_forecast_part(lasts, n, ahead);

    /* what is set is taken to last as long as was measured */

    seen += NGX_ADM_PACE_FEW / n
            * ngx_adm_forecast_part(ngx_max(n - 1, 1), n, ahead);

    hidden = 2 * chance / ngx_adm_root(n) * (1 + ahead / n);
    hidden = hidden * NGX_ADM_PACE_SLOW / (hidden + NGX_ADM_PACE_SLOW);

    return seen + chance * (1 / n + 1 / ahead) + hidden + NGX_ADM_PACE_DRIFT;
}


/*
 * The same of intervals whose spread is 1, and as many of which as "lasts" are
 * worth one that is unlike its neighbours: of the mean of the next so many by
 * that of the last n
 */

static double
ngx_adm_forecast_part(double lasts, double n, double ahead)
{
    return lasts * (1 / n + (1 + lasts / n) / (ahead + lasts));
}


/* the natural logarithm of 1 + x, of x >= 0 */

static double
ngx_adm_log1(double x)
{
    double      y, z;
    ngx_uint_t  twice;

    y = 1 + x;

    for (twice = 0; y > 1.4; twice++) {
        y /= 2;
    }

    z = (y - 1) / (y + 1);
    y = z * z;

    return 2 * z * (1 + y * (1.0 / 3 + y * (1.0 / 5 + y * (1.0 / 7 + y / 9))))
           + (double) twice * 0.69314718056;
}


static double
ngx_adm_root(double x)
{
    double      root;
    ngx_uint_t  i;

    root = 1;

    for (i = 0; i < 24; i++) {
        root = (root + x / root) / 2;
    }

    return root;
}
