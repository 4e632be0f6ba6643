
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Who came of those whose numbers a room's counter has called, as far as this
 * host knows: tickets for which a first token was made, which steps of the
 * schedule tell Redis; and tickets whose turn is over, and whose holders ask
 * for it again.
 *
 * Every function takes and releases the zone's lock itself, briefly.
 */


#ifndef _NGX_ADM_HOST_COMERS_H_INCLUDED_
#define _NGX_ADM_HOST_COMERS_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "zone.h"


/* us in which whoever was called may come without asking for it */
#define NGX_ADM_COMERS_TURN  30000000


extern ngx_adm_zone_part_t  ngx_adm_comers_part;


/*
 * For a number whose turn is over by the counter.  NGX_OK: it may go in all
 * the same; its session counts from *turn (us), which is left alone if it came
 * in time.  NGX_AGAIN: not yet; asks: the next step asks Redis for it.
 */
ngx_int_t ngx_adm_comers_late(ngx_str_t *event, int64_t activation,
    int64_t position, ngx_uint_t asks, int64_t *turn);

/* a token was made for the number; the first one is to be told */
void ngx_adm_comers_came(ngx_str_t *event, int64_t activation,
    int64_t position);


/*
 * what a step tells, see lua/vwr_step.lua; belongs to the worker, until the
 * next is taken
 */
typedef struct {
    ngx_str_t    come;
    ngx_str_t    had;                    /* as come, but told before */
    ngx_str_t    asks;
    ngx_uint_t   more;                   /* came, and had no room here */
} ngx_adm_comers_t;

void ngx_adm_comers_take(ngx_str_t *event, int64_t activation,
    ngx_adm_comers_t *comers);

/*
 * the step was answered; rc NGX_ERROR: perhaps not, and the next one tells it
 * again
 */
void ngx_adm_comers_told(ngx_str_t *event, ngx_int_t rc);

/*
 * Since when Redis has what was told, us; 0: it did not say.  If that changes,
 * it lost what it had before, and is told all of it again.
 */
void ngx_adm_comers_since(ngx_str_t *event, int64_t activation, int64_t since);

/*
 * Gaps that the counter passed over of late, n of them, each from and to:
 * steps tell them before the counter is known to be there.  And whether a
 * number is in one.
 */
#define NGX_ADM_COMERS_GAPS  16

void ngx_adm_comers_gaps(ngx_str_t *event, int64_t activation, ngx_uint_t n,
    int64_t *gaps);
ngx_uint_t ngx_adm_comers_passed(ngx_str_t *event, int64_t activation,
    int64_t position);

/*
 * a number that asked may go in: with its turn at us; 0: at the counter's time
 */
void ngx_adm_comers_turn(ngx_str_t *event, int64_t activation,
    int64_t position, int64_t turn);


#endif /* _NGX_ADM_HOST_COMERS_H_INCLUDED_ */
