
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The schedule: one worker of each host, the one with the lease, does what is
 * due in turns.  What that is comes from parts that register: they step all
 * events that have work to do.  The steps themselves are atomic in Redis, so
 * that any number of hosts may run it.
 */


#ifndef _NGX_ADM_HOST_SCHEDULE_H_INCLUDED_
#define _NGX_ADM_HOST_SCHEDULE_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "settings.h"


#define NGX_ADM_TICK   50    /* ms between turns, at least, */
#define NGX_ADM_REST   250   /* and at most, of the worker that has the lease */
#define NGX_ADM_ASIDE  500   /* ms between looks of the others at whether it
                                still has */


/* a part; NULL: has no such function */
typedef struct {
    /* the worker starts; NGX_ERROR: no memory */
    ngx_int_t  (*start)(ngx_cycle_t *cycle, ngx_adm_main_conf_t *mcf);

    /* the worker has got the lease, from another one or from nobody */
    void       (*begin)(void);

    /* issues what is due; calls to Redis are in the background */
    void       (*turn)(ngx_log_t *log);

    /* ms until there is something to do again, as far as is known now */
    ngx_msec_t (*next)(void);
} ngx_adm_schedule_part_t;


/*
 * sets which parts there are, in the order of their turns, NULL being the last
 */
void ngx_adm_schedule_list(ngx_adm_schedule_part_t **parts);

/* the worker starts; NGX_ERROR: no memory */
ngx_int_t ngx_adm_schedule_start(ngx_cycle_t *cycle, ngx_adm_main_conf_t *mcf);

/* something is due in so many ms, which this worker may have to do */
void ngx_adm_schedule_soon(ngx_msec_t ms);

/* the worker leaves: another one of the host takes over soon */
void ngx_adm_schedule_stop(void);


#endif /* _NGX_ADM_HOST_SCHEDULE_H_INCLUDED_ */
