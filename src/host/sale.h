
/*
 * Copyright (C) 2026 the admission module authors
 *
 * A sale with times: when an event opens, starts and closes, by its line of
 * the configuration or as an operator set it, and which phase it is in, by
 * Redis's time.  What an operator set is in the zone, and comes with answers
 * of the scripts of both tiers.
 */


#ifndef _NGX_ADM_HOST_SALE_H_INCLUDED_
#define _NGX_ADM_HOST_SALE_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "event.h"
#include "record.h"


extern ngx_adm_record_t  ngx_adm_sale_record;


/* times that an operator set; us of Redis, 0: no such time */
typedef struct {
    int64_t              version;        /* us: when they were set, or unset;
                                            0: never */
    int64_t              opens;          /* -1: no times are set */
    int64_t              starts;
    int64_t              closes;
    unsigned             refused:1;      /* of an answer: not set, as lots
                                            are counted */
} ngx_adm_sale_set_t;


typedef enum {
    NGX_ADM_PHASE_NONE = 0,              /* no times */
    NGX_ADM_PHASE_BEFORE,
    NGX_ADM_PHASE_GATHERING,
    NGX_ADM_PHASE_OPEN,
    NGX_ADM_PHASE_CLOSED
} ngx_adm_phase_e;


/* the times that count now */
typedef struct {
    ngx_adm_phase_e      phase;
    int64_t              opens;          /* as in ngx_adm_sale_set_t */
    int64_t              starts;
    int64_t              closes;
    int64_t              now;            /* us; 0: no times */
    int64_t              rest;           /* s, rounded up, until it opens, or
                                            starts; 0: later than that */
    unsigned             set:1;          /* by an operator */
} ngx_adm_sale_t;


/* names of phases in answers, by ngx_adm_phase_e */
extern ngx_str_t  ngx_adm_phase_names[];


/*
 * takes the lock, if an operator set anything; conf NULL: the event has no
 * line
 */
ngx_adm_phase_e ngx_adm_sale_get(ngx_str_t *event, ngx_adm_event_conf_t *conf,
    ngx_adm_sale_t *sale);

/* sets phase and rest, by the times and now */
ngx_adm_phase_e ngx_adm_sale_phase(ngx_adm_sale_t *sale);

/*
 * Whether the event's waiting room has to be active, which any next call of
 * its scripts sees to: see v.open() of lua/vwr_lib.lua.
 */
ngx_uint_t ngx_adm_sale_pending(ngx_adm_sale_t *sale,
    ngx_adm_event_conf_t *conf, ngx_adm_room_t *room);


/* what an operator set, as the host knows; all 0, and opens -1: nothing */
#define ngx_adm_sale_known(event, set)                                        \
    (ngx_memzero(set, sizeof(ngx_adm_sale_set_t)), (set)->opens = -1,         \
     (void) ngx_adm_record_get(&ngx_adm_sale_record, event, set))

/* an answer told what is set */
#define ngx_adm_sale_heard(event, set)                                        \
    ngx_adm_record_heard(&ngx_adm_sale_record, event, NULL, set)

/* whether an operator set times of any event, or did; lock-free */
#define ngx_adm_sale_any()  ngx_adm_record_any(&ngx_adm_sale_record)

/*
 * Lists an event with the active rooms, as ngx_adm_set_call() does, when an
 * operator sets its times, so that a host that starts then asks about it.  Set
 * by room/opening.c when a worker starts; NULL before.
 */
extern ngx_adm_redis_call_t  *(*ngx_adm_sale_list)(ngx_str_t *event,
    ngx_adm_redis_done_pt done, void *data);

/*
 * whether to list the event with the active rooms now: once a minute; after a
 * failure the next caller tries
 */
ngx_uint_t ngx_adm_sale_mark(ngx_str_t *event);
void ngx_adm_sale_unmark(ngx_str_t *event);

/* the next events whose times an operator set */
#define ngx_adm_sale_next(pool, ids, max, key)                                \
    ngx_adm_record_next(&ngx_adm_sale_record, pool, ids, max, key)


#endif /* _NGX_ADM_HOST_SALE_H_INCLUDED_ */
