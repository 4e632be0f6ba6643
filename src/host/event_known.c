
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What was heard of is noted with each event, and of all of them by the list in
 * Redis, until the steps for that list have been answered.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/clock.h"
#include "event_known.h"
#include "event_node.h"
#include "event_work.h"


typedef struct {
    ngx_msec_t                  listed;     /* when the list was first read as
                                               a whole, or a step missed after
                                               that; 0: not yet */
    ngx_atomic_t                learned;    /* bool: all events in it have
                                               been heard of; lock-free */
} ngx_adm_known_t;


static void ngx_adm_known_empty(ngx_adm_zone_t *zone);
static void ngx_adm_known_copy(ngx_adm_zone_t *zone, ngx_adm_zone_t *ozone);


ngx_adm_zone_part_t  ngx_adm_known_part = {
    .size = sizeof(ngx_adm_known_t),
    .empty = ngx_adm_known_empty,
    .copy = ngx_adm_known_copy };


#define ngx_adm_known(zone)                                                   \
    ((ngx_adm_known_t *)                                                      \
        ngx_adm_zone_data(zone, &ngx_adm_known_part))


static void
ngx_adm_known_empty(ngx_adm_zone_t *zone)
{
    ngx_adm_known(zone)->listed = 0;
    ngx_adm_known(zone)->learned = 0;
}


static void
ngx_adm_known_copy(ngx_adm_zone_t *zone, ngx_adm_zone_t *ozone)
{
    ngx_adm_known(zone)->listed = ngx_adm_known(ozone)->listed;
    ngx_adm_known(zone)->learned = ngx_adm_known(ozone)->learned;
}


ngx_uint_t
ngx_adm_event_is_known(ngx_str_t *id)
{
    ngx_uint_t             is;
    ngx_adm_known_t       *known;
    ngx_adm_event_node_t  *en;

    known = ngx_adm_known(ngx_adm_zone);

    if (known->learned) {
        return 1;
    }

    ngx_adm_zone_lock(ngx_adm_zone);

    en = ngx_adm_event_lookup_locked(ngx_adm_zone, id);

    is = (en && en->known) || (known->listed && !(en && en->working));

    ngx_adm_zone_unlock(ngx_adm_zone);

    return is;
}


void
ngx_adm_event_known(ngx_str_t *id, ngx_uint_t life)
{
    ngx_adm_event_node_t  *en;

    ngx_adm_zone_lock(ngx_adm_zone);

    en = ngx_adm_event_lookup_locked(ngx_adm_zone, id);

    /* asked with what a zone had heard that was emptied since, it is a part */

    if (en && life == ngx_adm_zone->sh->life) {
        en->known = 1;
    }

    ngx_adm_zone_unlock(ngx_adm_zone);
}


void
ngx_adm_events_listed(ngx_uint_t life)
{
    ngx_adm_known_t  *known;

    known = ngx_adm_known(ngx_adm_zone);

    ngx_adm_zone_lock(ngx_adm_zone);

    if (known->listed == 0 && life == ngx_adm_zone->sh->life) {
        known->listed = ngx_adm_mark_now();
    }

    ngx_adm_zone_unlock(ngx_adm_zone);
}


void
ngx_adm_events_missed(void)
{
    ngx_adm_known_t  *known;

    known = ngx_adm_known(ngx_adm_zone);

    if (known->learned) {
        return;
    }

    ngx_adm_zone_lock(ngx_adm_zone);

    if (known->listed) {
        known->listed = ngx_adm_mark_now();
    }

    ngx_adm_zone_unlock(ngx_adm_zone);
}


void
ngx_adm_events_learned(ngx_msec_t ms)
{
    ngx_adm_known_t  *known;

    known = ngx_adm_known(ngx_adm_zone);

    if (known->learned
        || known->listed == 0
        || ngx_adm_since(known->listed) < ms
        || ngx_adm_schedule_lag())
    {
        return;
    }

    ngx_adm_zone_lock(ngx_adm_zone);

    /* whoever takes the lock after a worker that died with it has none of it */

    if (known->listed && ngx_adm_since(known->listed) >= ms) {
        known->learned = 1;
    }

    ngx_adm_zone_unlock(ngx_adm_zone);
}
