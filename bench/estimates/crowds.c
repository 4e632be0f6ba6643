
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Crowds that wait in a line, leave and come back, and what they are told by
 * src/base/forecast.c, which is compiled into this: prints, for each tenth of
 * the line, how many of 100 whose wait was forecast waited within the range,
 * less, and more, and the standard error of the first, as one of each crowd is
 * asked; then of 100 polls how many were told that 5 % more or fewer are ahead
 * than are, by how much the worst was off, in percent, and how often somebody
 * was told of no more than before only since the client tells that.
 *
 * Who counts is who hosts know of: who polled within twice the time after
 * which the next one is due, and has not said to leave, as half of those do
 * who leave.  Of fewer than 1,000 who are ahead as many as 5 % of those do not
 * matter.  t/room/there_crowd.t has it by the scripts of the module.
 *
 * Each crowd goes its own way: how many pass a second wanders about (by up to
 * 40 % and over half a minute to a quarter of an hour, or as ways[] has it),
 * some who are called do not come so that others are called in their place, and
 * people lose patience after 5 minutes to 2 hours on average, or never do; up to
 * a third of those who left come back to their number.  The line moves by
 * seconds.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/forecast.h"


#define TENTHS  10
#define WARM    240                      /* s: of the line, until it is asked,
                                            if nothing else is told */
#define KNOWN   30                       /* s, until all have polled */
#define FEW     1000


/* how the rate of a crowd wanders */
typedef struct {
    char    *name;
    double   from;                       /* s, in which it does, */
    double   to;
    enum { STEADY, DRIFTS, SWINGS } as;
} way_t;


typedef struct {
    double   rate;                       /* of those who come */
    double   wanders;                    /* standard deviation of its log */
    double   slow;                       /* s, in which it does */
    double   x;                          /* where it is */
    double   comes;                      /* share of those called */
    double   leaves;                     /* of those there, a second */
    double   back;                       /* of those gone, a second */
} crowd_t;


/* of one with a number */
typedef struct {
    float    next;                       /* s, when it leaves or comes back */
    float    poll;                       /* when it asks again */
    float    until;                      /* when it does not count any more */
    int32_t  told;                       /* how many are ahead */
    char     there;
} person_t;


static way_t  ways[] = {
    { "any", 30, 900, DRIFTS },
    { "steady", 30, 900, STEADY },
    { "quick", 10, 60, DRIFTS },
    { "middle", 60, 300, DRIFTS },
    { "slow", 600, 3600, DRIFTS },
    { "swings", 120, 7200, SWINGS }
};

static way_t    *way = ways;
static long      warm = WARM;


/* chance is apart for what happens, and for when they ask */
static uint64_t  state, polling;
static long      asked[TENTHS], within[TENTHS], less[TENTHS];
static long      polls, off, rises;
static double    worst;


static double
chance_of(uint64_t *s)
{
    uint64_t  x;

    *s += 0x9e3779b97f4a7c15;
    x = *s;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;

    return (double) ((x ^ (x >> 31)) >> 11) / 9007199254740992.0;
}


static double
chance(void)
{
    return chance_of(&state);
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


/* as ngx_adm_room_next_poll() */

static long
next_poll(long ahead)
{
    return ahead <= 500 ? 2 : ahead <= 2000 ? 5 : ahead <= 10000 ? 10 : 15;
}


/* one asks: so many count ahead, and that many are */

static void
ask(person_t *p, long t, long known, long are)
{
    long    next;
    double  error;

    next = next_poll(known);

    if (p->told && known > p->told) {
        rises++;
        known = p->told;
    }

    if (t > KNOWN) {
        error = labs(known - are) / (double) ngx_max(are, FEW);
        worst = ngx_max(worst, error);

        polls++;
        off += (error > 0.05);
    }

    p->told = (int32_t) known;
    p->poll = (float) (t + next);
    p->until = (float) (t + 2 * next);
}


/* a second of those who wait; how many of them count */

static long
second(crowd_t *c, person_t *line, long serving, long people, long t)
{
    long       i, known, are;
    person_t  *p;

    known = 0;
    are = 0;

    for (i = serving; i < people; i++) {
        p = &line[i];

        if (p->next <= (float) t) {
            p->there = !p->there;
            p->next = (float) (t + until(p->there ? c->leaves : c->back));
            p->poll = (float) t;

            if (!p->there && chance_of(&polling) < 0.5) {
                p->until = (float) t;
            }
        }

        if (p->there && p->poll <= (float) t) {
            known += (p->until > (float) t);
            ask(p, t, known + (p->until <= (float) t), are + 1);

        } else {
            known += (p->until > (float) t);
        }

        are += p->there;
    }

    return known;
}


static void
begin(crowd_t *c, long people)
{
    c->rate = (double) people / (1200 + 4800 * chance());
    c->wanders = 0.1 + 0.3 * chance();
    c->slow = way->from * pow(way->to / way->from, chance());
    c->comes = 0.3 + 0.7 * chance();
    c->leaves = (chance() < 0.25) ? 0 : 1 / (300 * pow(24, chance()));
    c->back = c->leaves * chance() / 3;

    c->wanders *= (way->as != STEADY);
}


/* how many come in that second */

static double
come(crowd_t *c, long t)
{
    double  f;

    if (way->as == SWINGS) {
        f = 6.283185307179586 * ((double) t / c->slow + c->x);

        return c->rate * exp(1.414213562373095 * c->wanders * sin(f));
    }

    f = exp(-1 / c->slow);
    c->x = c->x * f + c->wanders * sqrt(1 - f * f) * normal();

    return c->rate * exp(c->x);
}


static void
crowd(long people)
{
    long             i, k, t, serving, served, ahead, known, left, stood;
    long             tries;
    long             at[TENTHS];
    double           credit;
    crowd_t          c;
    int64_t          rate;
    person_t        *line;
    ngx_adm_pace_t   pace;
    ngx_adm_range_t  range[TENTHS];

    begin(&c, people);

    line = calloc((size_t) people, sizeof(person_t));

    for (i = 0; i < people; i++) {
        line[i].there = 1;
        line[i].next = (float) until(c.leaves);
        line[i].poll = (float) (chance_of(&polling) * next_poll(i + 1));
        line[i].until = (float) (2 * next_poll(i + 1));
    }

    memset(&pace, 0, sizeof(pace));

    c.x = (way->as == SWINGS) ? chance() : c.wanders * normal();
    credit = 0;
    serving = 0;
    stood = people;

    for (k = 0; k < TENTHS; k++) {
        at[k] = -1;
    }

    for (t = 0; serving < people; t++) {
        served = 0;
        known = second(&c, line, serving, people, t);
        left = stood - known;
        stood = known;

        credit += come(&c, t);

        while (credit >= 1 && serving < people) {

            if (line[serving].there) {
                credit -= (chance() < c.comes);
            }

            served += (line[serving].until > (float) t);

            serving++;
        }

        ngx_adm_pace_note(&pace, 1000000, served * 1000, left, stood);
        stood -= served;

        for (k = 0; k < TENTHS; k++) {
            if (at[k] >= 0 && at[k] < serving) {
                asked[k]++;
                within[k] += (t - warm >= range[k].low
                              && t - warm <= range[k].high);
                less[k] += (t - warm < range[k].low);
                at[k] = people;
            }
        }

        if (t != warm) {
            continue;
        }

        /* the last of each tenth of those who are there */

        for (tries = 0, i = serving; i < people; i++) {
            tries += line[i].there;
        }

        for (known = 0, ahead = 0, k = 0, i = serving;
             i < people && k < TENTHS;
             i++)
        {
            ahead += line[i].there;
            known += (line[i].until > (float) t);

            if (line[i].there && ahead == tries * (k + 1) / TENTHS) {
                at[k] = i;

                /* of few it may be that none passed: by the rate set, then */

                rate = ngx_adm_pace_rate(&pace);

                ngx_adm_forecast(&pace, rate ? rate : (int64_t) (c.rate * 1000),
                                 known, &range[k]);
                k++;
            }
        }
    }

    free(line);
}


int
main(int argc, char **argv)
{
    long    i, k, crowds, people;
    double  p;

    crowds = (argc > 1) ? atol(argv[1]) : 200;
    people = (argc > 2) ? atol(argv[2]) : 5000;
    state = (argc > 3) ? (uint64_t) atoll(argv[3]) : 1;
    warm = (argc > 5) ? atol(argv[5]) : WARM;

    while (argc > 4 && strcmp(way->name, argv[4]) != 0) {
        if (++way == ways + sizeof(ways) / sizeof(way_t)) {
            return 2;
        }
    }

    for (i = 0; i < crowds; i++) {
        crowd(people);
    }

    for (k = 0; k < TENTHS; k++) {
        p = (double) within[k] / (double) asked[k];

        printf("%ld %.1f %.1f %.1f %.1f\n", k + 1, 100 * p,
               100.0 * (double) less[k] / (double) asked[k],
               100.0 * (double) (asked[k] - within[k] - less[k])
               / (double) asked[k],
               100 * sqrt(p * (1 - p) / (double) asked[k]));
    }

    printf("ahead %.3f %.1f %ld\n", 100.0 * (double) off / (double) polls,
           100 * worst, rises);

    return 0;
}
