
/*
 * Copyright (C) 2026 the admission module authors
 *
 * A sale with a time: when an event opens, starts and closes, by its line of
 * the configuration or as an operator set it, and the phase that it is in, by
 * Redis's time.  What an operator set is in the zone; answers of the scripts of
 * both tiers bring it.
 */


#ifndef _NGX_ADM_HOST_SALE_H_INCLUDED_
#define _NGX_ADM_HOST_SALE_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "event.h"
#include "record.h"


extern ngx_adm_record_t  ngx_adm_sale_record;


/* times that an operator set; us of Redis, 0: there is none */
typedef struct {
    int64_t              version;        /* us: when they were set, or unset; 0:
                                            never */
    int64_t              opens;          /* -1: they are not set */
    int64_t              starts;
    int64_t              closes;
    unsigned             refused:1;      /* of an answer: not changed, since the
                                            lots are counted */
} ngx_adm_sale_set_t;


typedef enum {
    NGX_ADM_PHASE_NONE = 0,              /* it has no times */
    NGX_ADM_PHASE_BEFORE,
    NGX_ADM_PHASE_GATHERING,
    NGX_ADM_PHASE_OPEN,
    NGX_ADM_PHASE_CLOSED
} ngx_adm_phase_e;


/* what counts now */
typedef struct {
    ngx_adm_phase_e      phase;
    int64_t              opens;          /* as above */
    int64_t              starts;
    int64_t              closes;
    int64_t              now;            /* 0: it has no times */
    int64_t              rest;           /* s, rounded up, until it opens, or
                                            starts: before, gathering; else 0 */
    unsigned             set:1;          /* by an operator */
} ngx_adm_sale_t;


/* by ngx_adm_phase_e, as answers say it */
extern ngx_str_t  ngx_adm_phase_names[];


/* takes the lock, unless no operator set anything; conf NULL: there is none */
ngx_adm_phase_e ngx_adm_sale_get(ngx_str_t *event, ngx_adm_event_conf_t *conf,
    ngx_adm_sale_t *sale);

/* sets the phase, and the rest of it, by those times and now */
ngx_adm_phase_e ngx_adm_sale_phase(ngx_adm_sale_t *sale);

/*
 * Whether its waiting room is to be active, as the scripts see to with the next
 * call of theirs: see v.open() of lua/vwr_lib.lua.
 */
ngx_uint_t ngx_adm_sale_pending(ngx_adm_sale_t *sale,
    ngx_adm_event_conf_t *conf, ngx_adm_room_t *room);


/* what an operator set, as the host knows; all 0, and opens -1: nothing */
#define ngx_adm_sale_known(event, set)                                        \
    (ngx_memzero(set, sizeof(ngx_adm_sale_set_t)), (set)->opens = -1,         \
     (void) ngx_adm_record_get(&ngx_adm_sale_record, event, set))

/* an answer told it */
#define ngx_adm_sale_heard(event, set)                                        \
    ngx_adm_record_heard(&ngx_adm_sale_record, event, NULL, set)

/* whether an operator set those of any event, or did; lock-free */
#define ngx_adm_sale_any()  ngx_adm_record_any(&ngx_adm_sale_record)

/*
 * Lists an event with the active rooms, as ngx_adm_set_call() does, where an
 * operator sets times: a host that starts then asks about it.  Of
 * room/opening.c, as a worker starts; NULL before.
 */
extern ngx_adm_redis_call_t  *(*ngx_adm_sale_list)(ngx_str_t *event,
    ngx_adm_redis_done_pt done, void *data);

/* whether the event is to be listed with the active rooms now: once a minute;
   after a failure of that the next one tries */
ngx_uint_t ngx_adm_sale_mark(ngx_str_t *event);
void ngx_adm_sale_unmark(ngx_str_t *event);

/* the next events of which an operator set the times */
#define ngx_adm_sale_next(pool, ids, max, key)                                \
    ngx_adm_record_next(&ngx_adm_sale_record, pool, ids, max, key)


#endif /* _NGX_ADM_HOST_SALE_H_INCLUDED_ */
