
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Whether an operator holds an event: nobody is let in and, if asked for,
 * those inside do not pass the gate either.  It is in the zone, and comes with
 * the answers of the scripts of both tiers.
 */


#ifndef _NGX_ADM_HOST_HOLD_H_INCLUDED_
#define _NGX_ADM_HOST_HOLD_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "record.h"


#define NGX_ADM_HOLD_NOBODY   0
#define NGX_ADM_HOLD_OUTSIDE  1
#define NGX_ADM_HOLD_INSIDE   2          /* those inside too */


typedef struct {
    int64_t              version;        /* us: when it was held or let go; 0:
                                            never */
    int64_t              held;           /* NGX_ADM_HOLD_* */
    int64_t              since;          /* s; 0: it is not held */
} ngx_adm_hold_t;


extern ngx_adm_record_t  ngx_adm_hold_record;


/*
 * as the host knows; returns what is held; takes the lock, if any event ever
 * was
 */
#define ngx_adm_hold_get(event, hold)                                         \
    (ngx_memzero(hold, sizeof(ngx_adm_hold_t)),                               \
     (void) ngx_adm_record_get(&ngx_adm_hold_record, event, hold),            \
     (ngx_uint_t) (hold)->held)

/* what is held, as text: "outside", "inside" */
#define ngx_adm_hold_text(hold)                                               \
    ((hold)->held == NGX_ADM_HOLD_INSIDE ? "inside" : "outside")

/* an answer told it */
#define ngx_adm_hold_heard(event, conf, hold)                                 \
    ngx_adm_record_heard(&ngx_adm_hold_record, event, conf, hold)


#endif /* _NGX_ADM_HOST_HOLD_H_INCLUDED_ */
