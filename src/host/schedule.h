
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The schedule: one worker of each host, the one with the lease, does what is
 * due in turns.  What that is comes from parts that register: they step every
 * event that has work to do; the steps themselves are atomic in Redis, so that
 * any number of hosts may run it.
 */


#ifndef _NGX_ADM_HOST_SCHEDULE_H_INCLUDED_
#define _NGX_ADM_HOST_SCHEDULE_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "settings.h"


#define NGX_ADM_TICK   50    /* ms from turn to turn, at least; */
#define NGX_ADM_REST   250   /* and at most, of the worker that has the lease */
#define NGX_ADM_ASIDE  500   /* ms between two looks of another one at whether
                                it still has */


/* what does not apply is NULL */
typedef struct {
    /* a worker starts; NGX_ERROR: no memory */
    ngx_int_t  (*start)(ngx_cycle_t *cycle, ngx_adm_main_conf_t *mcf);

    /* it has got the lease, which another one had, or nobody */
    void       (*begin)(void);

    /* issues what is due; calls to Redis are in the background */
    void       (*turn)(ngx_log_t *log);

    /* ms until the next turn has something to do, as far as is known now */
    ngx_msec_t (*next)(void);
} ngx_adm_schedule_part_t;


/* which parts there are, in the order of their turns; the last one is NULL */
void ngx_adm_schedule_list(ngx_adm_schedule_part_t **parts);

/* a worker starts; NGX_ERROR: no memory */
ngx_int_t ngx_adm_schedule_start(ngx_cycle_t *cycle, ngx_adm_main_conf_t *mcf);

/* something is due in so many ms, which this worker may have to see to */
void ngx_adm_schedule_soon(ngx_msec_t ms);

/* a worker leaves: another one of the host takes over, soon */
void ngx_adm_schedule_stop(void);


#endif /* _NGX_ADM_HOST_SCHEDULE_H_INCLUDED_ */
