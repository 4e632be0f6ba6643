
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Who came of those whom a room's counter called, as far as this host knows:
 * the first tokens of tickets, which steps of the schedule tell Redis, and
 * those who come when their turn is over and ask for it again.
 *
 * Every function takes and releases the zone's lock itself, briefly.
 */


#ifndef _NGX_ADM_HOST_COMERS_H_INCLUDED_
#define _NGX_ADM_HOST_COMERS_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "zone.h"


/* us: for so long whoever is called may come without being asked for */
#define NGX_ADM_COMERS_TURN  30000000


extern ngx_adm_zone_part_t  ngx_adm_comers_part;


/*
 * A number whose turn is over by the counter.  NGX_OK: it may go in all the
 * same; *turn (us) is what its session counts from, unchanged where it came in
 * time.  NGX_AGAIN: not yet, and if it asks, the next step does so for it.
 */
ngx_int_t ngx_adm_comers_late(ngx_str_t *event, int64_t activation,
    int64_t position, ngx_uint_t asks, int64_t *turn);

/* a token was made for it: the first one is told */
void ngx_adm_comers_came(ngx_str_t *event, int64_t activation,
    int64_t position);


/* what a step tells, as lua/vwr_step.lua wants it; of the worker, until the
   next one is taken */
typedef struct {
    ngx_str_t    come;
    ngx_str_t    had;                    /* as come, and told before */
    ngx_str_t    asks;
    ngx_uint_t   more;                   /* who came, and could not be kept */
} ngx_adm_comers_t;

void ngx_adm_comers_take(ngx_str_t *event, int64_t activation,
    ngx_adm_comers_t *comers);

/* it was told; rc NGX_ERROR: perhaps not, so that the next step does */
void ngx_adm_comers_told(ngx_str_t *event, ngx_int_t rc);

/* since when Redis has it, us, 0: it did not say: if that changed it lost what
   it had before, and is told all of it again */
void ngx_adm_comers_since(ngx_str_t *event, int64_t activation, int64_t since);

/*
 * What the counter passed over of late, n of them, from and to: so does a step
 * tell, ahead of where the counter is.  And whether a number is among it.
 */
#define NGX_ADM_COMERS_GAPS  16

void ngx_adm_comers_gaps(ngx_str_t *event, int64_t activation, ngx_uint_t n,
    int64_t *gaps);
ngx_uint_t ngx_adm_comers_passed(ngx_str_t *event, int64_t activation,
    int64_t position);

/* one that asked may go in: as of that time, us; 0: of the counter's */
void ngx_adm_comers_turn(ngx_str_t *event, int64_t activation,
    int64_t position, int64_t turn);


#endif /* _NGX_ADM_HOST_COMERS_H_INCLUDED_ */
