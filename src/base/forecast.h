
/*
 * Copyright (C) 2026 the admission module authors
 *
 * How long somebody in a line waits, by how it went in the last minutes, and
 * within which bounds: the mathematics are in docs/estimates.md.
 */


#ifndef _NGX_ADM_BASE_FORECAST_H_INCLUDED_
#define _NGX_ADM_BASE_FORECAST_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>


/* how a line went; zeroed: nothing is known */
typedef struct {
    int64_t  us;             /* of the interval that goes on */
    int64_t  passed;         /* people in that time, in 1/1000, */
    int64_t  left;           /* people who left, less those who came back */
    double   stood;          /* people times us that they were in it */

    /* sums over intervals before, later ones counting more: of intervals, */
    double   n;
    double   sum;            /* of people passed a second, */
    double   squares;
    double   steps;          /* of the squares of steps between neighbours, */
    double   last;
    double   gone;           /* people who left, */
    double   stay;           /* and people times seconds */
} ngx_adm_pace_t;


typedef struct {
    int64_t  wait;           /* s */
    int64_t  low;            /* in 1 of 10 cases it is less, */
    int64_t  high;           /* or more */
} ngx_adm_range_t;


/* "stood" people were in the line for so many us; passed in 1/1000 */
void ngx_adm_pace_note(ngx_adm_pace_t *pace, int64_t us, int64_t passed,
    int64_t left, int64_t stood);

/* people who pass a second, in 1/1000; 0: not known yet */
int64_t ngx_adm_pace_rate(ngx_adm_pace_t *pace);

/* for the last of so many people, at that rate (1/1000 a second, not 0) */
void ngx_adm_forecast(ngx_adm_pace_t *pace, int64_t rate, int64_t people,
    ngx_adm_range_t *range);


#endif /* _NGX_ADM_BASE_FORECAST_H_INCLUDED_ */
