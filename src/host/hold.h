
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Whether an operator holds an event: nobody is let in, and if that was asked
 * for those inside do not pass the gate either.  It is in the zone; answers of
 * the scripts of both tiers bring it.
 */


#ifndef _NGX_ADM_HOST_HOLD_H_INCLUDED_
#define _NGX_ADM_HOST_HOLD_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "../redis/script.h"
#include "settings.h"
#include "zone.h"


#define NGX_ADM_HOLD_NOBODY   0
#define NGX_ADM_HOLD_OUTSIDE  1
#define NGX_ADM_HOLD_INSIDE   2          /* those inside too */


typedef struct {
    int64_t              version;        /* us: when it was held or let go; 0:
                                            never */
    int64_t              held;           /* NGX_ADM_HOLD_* */
    int64_t              since;          /* s; 0: it is not held */
} ngx_adm_hold_t;


extern ngx_adm_zone_part_t  ngx_adm_hold_part;


/* as the host knows; takes the lock, unless no event ever was.  Returns what is
   held */
ngx_uint_t ngx_adm_hold_get(ngx_str_t *event, ngx_adm_hold_t *hold);

/* of one that is held: "outside", "inside" */
#define ngx_adm_hold_text(hold)                                               \
    ((hold)->held == NGX_ADM_HOLD_INSIDE ? "inside" : "outside")

/*
 * Takes what Redis said: the latest stands.  Returns 1 if the host knows later
 * than Redis, which has lost it.
 */
ngx_uint_t ngx_adm_hold_note(ngx_str_t *event, ngx_adm_hold_t *hold);


/*
 * Calls of the script.  They return, complete and cancel as those of
 * queue/queue.h do: rc NGX_OK: hold is what stands, which the host remembers,
 * as of us, Redis's time.
 */
typedef enum {
    NGX_ADM_HOLD_LOOK = 0,
    NGX_ADM_HOLD_SET,
    NGX_ADM_HOLD_UNSET
} ngx_adm_hold_what_e;

typedef void (*ngx_adm_hold_done_pt)(void *data, ngx_int_t rc,
    ngx_adm_hold_t *hold, int64_t us);

ngx_adm_redis_call_t *ngx_adm_hold_call(ngx_adm_hold_what_e what,
    ngx_uint_t inside, ngx_str_t *event, ngx_adm_event_conf_t *conf,
    ngx_adm_hold_done_pt done, void *data);

/* what an answer of another script tells: if Redis lost it, it gets it back */
void ngx_adm_hold_heard(ngx_str_t *event, ngx_adm_event_conf_t *conf,
    ngx_adm_hold_t *hold);


#endif /* _NGX_ADM_HOST_HOLD_H_INCLUDED_ */
