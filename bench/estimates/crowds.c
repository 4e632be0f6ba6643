
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Crowds that wait in a line, leave and come back, and what they are told by
 * src/base/forecast.c, which is compiled into this: prints, for each tenth of
 * the line, how many of 100 whose wait was forecast waited within the range,
 * less, and more.
 *
 * Each crowd goes its own way: how many pass a second wanders about (by up to
 * 40 % and over half a minute to a quarter of an hour), some who are called do
 * not come so that others are called in their place, and people lose patience
 * after 5 minutes to 2 hours on average, or never do; up to a third of those
 * who left come back to their number.  The line moves by seconds.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/forecast.h"


#define TENTHS  10
#define WARM    240                      /* s: of the line, until it is asked */


typedef struct {
    double   rate;                       /* of those who come */
    double   wanders;                    /* standard deviation of its log */
    double   slow;                       /* s, in which it does */
    double   comes;                      /* share of those called */
    double   leaves;                     /* of those there, a second */
    double   back;                       /* of those gone, a second */
} crowd_t;


static uint64_t  state;
static long      asked[TENTHS], within[TENTHS], less[TENTHS];


static double
chance(void)
{
    uint64_t  x;

    state += 0x9e3779b97f4a7c15;
    x = state;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;

    return (double) ((x ^ (x >> 31)) >> 11) / 9007199254740992.0;
}


static double
normal(void)
{
    return sqrt(-2 * log(1 - chance())) * cos(6.283185307179586 * chance());
}


/* s, until something happens that does so often a second */

static double
until(double often)
{
    return often > 0 ? -log(1 - chance()) / often : 1e9;
}


static void
crowd(long people)
{
    char            *there;
    float           *next;
    long             i, k, t, serving, ahead, left, served, stood, tries;
    long             at[TENTHS];
    double           x, credit, f;
    crowd_t          c;
    int64_t          rate;
    ngx_adm_pace_t   pace;
    ngx_adm_range_t  range[TENTHS];

    c.rate = (double) people / (1200 + 4800 * chance());
    c.wanders = 0.1 + 0.3 * chance();
    c.slow = 30 * pow(30, chance());
    c.comes = 0.3 + 0.7 * chance();
    c.leaves = (chance() < 0.25) ? 0 : 1 / (300 * pow(24, chance()));
    c.back = c.leaves * chance() / 3;

    there = malloc((size_t) people);
    next = malloc((size_t) people * sizeof(float));

    for (i = 0; i < people; i++) {
        there[i] = 1;
        next[i] = (float) until(c.leaves);
    }

    memset(&pace, 0, sizeof(pace));

    x = c.wanders * normal();
    credit = 0;
    serving = 0;
    f = exp(-1 / c.slow);

    for (k = 0; k < TENTHS; k++) {
        at[k] = -1;
    }

    for (t = 0; serving < people; t++) {
        left = 0;
        stood = 0;
        served = 0;

        for (i = serving; i < people; i++) {
            stood += there[i];

            if (next[i] <= (float) t) {
                left += there[i] ? 1 : -1;
                there[i] = !there[i];
                next[i] = (float) (t + until(there[i] ? c.leaves : c.back));
            }
        }

        x = x * f + c.wanders * sqrt(1 - f * f) * normal();
        credit += c.rate * exp(x);

        while (credit >= 1 && serving < people) {

            if (there[serving]) {
                served++;
                credit -= (chance() < c.comes);
            }

            serving++;
        }

        ngx_adm_pace_note(&pace, 1000000, served * 1000, left, stood);

        for (k = 0; k < TENTHS; k++) {
            if (at[k] >= 0 && at[k] < serving) {
                asked[k]++;
                within[k] += (t - WARM >= range[k].low
                              && t - WARM <= range[k].high);
                less[k] += (t - WARM < range[k].low);
                at[k] = people;
            }
        }

        if (t != WARM) {
            continue;
        }

        /* the last of each tenth of those who are there */

        for (ahead = 0, i = serving; i < people; i++) {
            ahead += there[i];
        }

        for (stood = ahead, ahead = 0, k = 0, i = serving;
             i < people && k < TENTHS;
             i++)
        {
            ahead += there[i];
            tries = stood * (k + 1) / TENTHS;

            if (there[i] && ahead == tries) {
                at[k] = i;

                /* of few it may be that none passed: by the rate set, then */

                rate = ngx_adm_pace_rate(&pace);

                ngx_adm_forecast(&pace, rate ? rate : (int64_t) (c.rate * 1000),
                                 ahead, &range[k]);
                k++;
            }
        }
    }

    free(there);
    free(next);
}


int
main(int argc, char **argv)
{
    long  i, k, crowds, people;

    crowds = (argc > 1) ? atol(argv[1]) : 200;
    people = (argc > 2) ? atol(argv[2]) : 5000;
    state = (argc > 3) ? (uint64_t) atoll(argv[3]) : 1;

    for (i = 0; i < crowds; i++) {
        crowd(people);
    }

    for (k = 0; k < TENTHS; k++) {
        printf("%ld %.1f %.1f %.1f\n", k + 1,
               100.0 * (double) within[k] / (double) asked[k],
               100.0 * (double) less[k] / (double) asked[k],
               100.0 * (double) (asked[k] - within[k] - less[k])
               / (double) asked[k]);
    }

    return 0;
}
