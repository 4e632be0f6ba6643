
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What a host knows of waiting rooms, in the nodes of their events, and how
 * an answer of Redis changes that.  Answers may come out of order.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/clock.h"
#include "range.h"
#include "room_list.h"
#include "room_state.h"
#include "room_trail.h"
#include "tally.h"
#include "there.h"
#include "unlisted.h"


#define NGX_ADM_ROOM_POINT    10000000   /* us between points of the trail */

/*
 * how long the counter's rate is measured, us: over which time, from when on
 * it is told, and how much may lie between two answers for it to count
 */
#define NGX_ADM_ROOM_MEASURE  60000000
#define NGX_ADM_ROOM_FIRST    5000000
#define NGX_ADM_ROOM_GAP      3000000


static void ngx_adm_room_free_locked(ngx_adm_zone_t *zone,
    ngx_adm_event_node_t *en);
static void ngx_adm_room_copy_locked(ngx_adm_zone_t *zone,
    ngx_adm_event_node_t *en, ngx_adm_event_node_t *oen);
static ngx_int_t ngx_adm_room_make_locked(ngx_adm_zone_t *zone,
    ngx_adm_event_node_t *en);
static ngx_adm_room_news_e ngx_adm_room_news(ngx_adm_room_t *room,
    ngx_uint_t active, int64_t activation, ngx_uint_t known);
static void ngx_adm_room_merge_locked(ngx_adm_zone_t *zone,
    ngx_adm_event_node_t *en, ngx_adm_room_t *room, ngx_msec_t session_max);
static void ngx_adm_room_trail_locked(ngx_adm_zone_t *zone,
    ngx_adm_event_node_t *en, ngx_adm_room_t *room, ngx_msec_t session_max);
static void ngx_adm_room_measure_locked(ngx_adm_zone_t *zone,
    ngx_adm_event_node_t *en, ngx_adm_room_t *room);
static void ngx_adm_room_move_locked(ngx_adm_zone_t *zone,
    ngx_adm_event_node_t *en, ngx_uint_t active);
static ngx_int_t ngx_adm_room_known_locked(ngx_adm_zone_t *zone,
    ngx_adm_event_node_t *en, ngx_adm_room_t *room);
static void ngx_adm_room_unknown(ngx_adm_room_t *room);


ngx_adm_zone_part_t  ngx_adm_room_part = {
    .event_free = ngx_adm_room_free_locked,
    .event_copy = ngx_adm_room_copy_locked };


ngx_int_t
ngx_adm_room_get(ngx_str_t *event, ngx_adm_room_t *room)
{
    ngx_int_t        rc;
    ngx_adm_zone_t  *zone;

    zone = ngx_adm_zone;

    ngx_adm_zone_lock(zone);

    rc = ngx_adm_room_known_locked(zone,
                                   ngx_adm_event_lookup_locked(zone, event),
                                   room);
    ngx_adm_zone_unlock(zone);

    return rc;
}


ngx_int_t
ngx_adm_room_get_seats(ngx_str_t *event, ngx_adm_event_conf_t *conf,
    ngx_adm_room_t *room, ngx_adm_seats_e *seats)
{
    int64_t                slots, sold, inside;
    ngx_int_t              rc;
    ngx_adm_zone_t        *zone;
    ngx_adm_event_node_t  *en;

    zone = ngx_adm_zone;

    ngx_adm_zone_lock(zone);

    en = ngx_adm_event_lookup_locked(zone, event);

    slots = en ? en->state.slots : -1;
    sold = en ? en->state.sold : -1;
    inside = en ? en->state.active : 0;

    rc = ngx_adm_room_known_locked(zone, en, room);

    ngx_adm_zone_unlock(zone);

    *seats = ngx_adm_seats(conf, slots, sold, inside);

    return rc;
}


static ngx_int_t
ngx_adm_room_known_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en,
    ngx_adm_room_t *room)
{
    int64_t    since;
    ngx_int_t  rc;

    rc = NGX_OK;

    if (en && en->room) {
        *room = en->room->room;

    } else {
        ngx_adm_room_unknown(room);
        rc = NGX_DECLINED;
    }

    if (!room->active && (ngx_adm_rooms_unlisted_locked(zone, &since)
                          || rc == NGX_OK))
    {
        rc = NGX_OK;
        room->clock = ngx_max(room->clock, since);
    }

    return rc;
}


ngx_int_t
ngx_adm_room_event_conf(ngx_adm_main_conf_t *mcf, ngx_str_t *event,
    ngx_adm_event_conf_t **conf)
{
    ngx_adm_room_t  room;

    *conf = ngx_adm_event_conf(mcf, event);

    if (*conf) {
        return NGX_OK;
    }

    *conf = &mcf->event_default;

    if (ngx_adm_room_get(event, &room) != NGX_OK) {

        /* where there is no Redis no room is ever activated */

        return mcf->redis ? NGX_AGAIN : NGX_DECLINED;
    }

    return room.activation ? NGX_OK : NGX_DECLINED;
}


ngx_adm_room_news_e
ngx_adm_room_note(ngx_str_t *event, ngx_adm_room_t *room,
    ngx_msec_t session_max)
{
    int64_t                activation;
    ngx_uint_t             active, known;
    ngx_adm_zone_t        *zone;
    ngx_adm_event_node_t  *en;
    ngx_adm_room_news_e    news;

    zone = ngx_adm_zone;
    news = NGX_ADM_ROOM_SAME;

    ngx_adm_zone_lock(zone);

    /* an event that never had a waiting room takes no memory */

    if (room->changed) {
        en = ngx_adm_event_make_locked(zone, event);

    } else {
        en = ngx_adm_room_node_locked(zone, event);
    }

    if (en && ngx_adm_room_make_locked(zone, en) == NGX_OK) {
        ngx_adm_event_mend_locked(en);

        en->state.clock = ngx_max(en->state.clock, room->clock);

        active = en->active;
        activation = en->room->room.activation;
        known = (ngx_adm_rooms_time_locked(zone) || en->room->room.changed);

        ngx_adm_sum_locked(zone, en, -1);
        ngx_adm_room_merge_locked(zone, en, room, session_max);
        ngx_adm_sum_locked(zone, en, 1);
        ngx_adm_unlisted_locked(zone, en);

        en->room->synced = ngx_current_msec;

        news = ngx_adm_room_news(&en->room->room, active, activation, known);

        if (en->active) {
            ngx_adm_name_locked(zone, en);
        }

    } else if (room->active) {
        ngx_adm_rooms_full_locked(zone);
    }

    ngx_adm_zone_unlock(zone);

    ngx_log_debug7(NGX_LOG_DEBUG_HTTP, ngx_cycle->log, 0,
                   "admission: room of event \"%V\": active %ui, activation "
                   "%L, serving %L of %L, rate %L, news %ui",
                   event, (ngx_uint_t) room->active, room->activation,
                   room->serving, room->next, room->rate, (ngx_uint_t) news);

    return news;
}


/* what an answer changed in a room, by what was known of it before */

static ngx_adm_room_news_e
ngx_adm_room_news(ngx_adm_room_t *room, ngx_uint_t active, int64_t activation,
    ngx_uint_t known)
{
    if (!room->active) {
        return active ? NGX_ADM_ROOM_DEACTIVATED : NGX_ADM_ROOM_SAME;
    }

    if (!known) {
        return NGX_ADM_ROOM_KNOWN;
    }

    if (room->activation != activation) {
        return NGX_ADM_ROOM_ACTIVATED;
    }

    return active ? NGX_ADM_ROOM_SAME : NGX_ADM_ROOM_RESUMED;
}


int64_t
ngx_adm_room_turn(ngx_str_t *event, int64_t position)
{
    int64_t                time;
    ngx_adm_zone_t        *zone;
    ngx_adm_event_node_t  *en;

    zone = ngx_adm_zone;

    ngx_adm_zone_lock(zone);

    en = ngx_adm_room_node_locked(zone, event);

    time = en ? ngx_adm_room_trail_turn_locked(en->room, position) : 0;

    ngx_adm_zone_unlock(zone);

    return time;
}


int64_t
ngx_adm_room_rate(ngx_adm_room_t *room, ngx_adm_event_conf_t *conf)
{
    int64_t  rate;

    rate = room->measured;

    if (rate <= 0) {
        rate = room->rate;
    }

    if (rate <= 0) {

        /* a paused room, as if it went on at the configured rate */

        rate = ngx_max(conf->vwr_rate, 1) * 1000;
    }

    return rate;
}


int64_t
ngx_adm_room_estimate(ngx_adm_room_t *room, ngx_adm_event_conf_t *conf,
    int64_t ahead)
{
    int64_t  rate;

    rate = ngx_adm_room_rate(room, conf);

    return (ahead * 1000 + rate - 1) / rate;
}


static void
ngx_adm_room_free_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en)
{
    if (en->room == NULL) {
        return;
    }

    ngx_adm_there_free_locked(zone, en->room);
    ngx_adm_room_trail_free_locked(zone, en->room);
    ngx_slab_free_locked(zone->shpool, en->room);
    en->room = NULL;
}


static void
ngx_adm_room_copy_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en,
    ngx_adm_event_node_t *oen)
{
    ngx_adm_room_node_t  *rn, *orn;

    if (oen->room == NULL || ngx_adm_room_make_locked(zone, en) != NGX_OK) {
        return;
    }

    rn = en->room;
    orn = oen->room;

    rn->room = orn->room;
    rn->marked = orn->marked;
    rn->mark = orn->mark;
    rn->moved = orn->moved;
    rn->us = orn->us;
    rn->passed = orn->passed;
    rn->synced = orn->synced;

    ngx_adm_sum_locked(zone, en, -1);
    ngx_adm_room_move_locked(zone, en, oen->active);
    ngx_adm_sum_locked(zone, en, 1);

    ngx_adm_room_trail_copy_locked(zone, en, orn);
}


static ngx_int_t
ngx_adm_room_make_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en)
{
    ngx_adm_room_node_t  *rn;

    if (en->room) {
        return NGX_OK;
    }

    rn = ngx_adm_event_alloc_locked(zone, sizeof(ngx_adm_room_node_t), en);
    if (rn == NULL) {
        return NGX_DECLINED;
    }

    ngx_adm_room_unknown(&rn->room);
    ngx_queue_init(&rn->trail);

    en->room = rn;

    return NGX_OK;
}


/*
 * Answers may come out of order: the counters are those of the latest
 * activation and never go back, what was decided is the latest.  A decision
 * may give up an activation for the one before it, see lua/vwr_lib.lua.
 */

static void
ngx_adm_room_merge_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en,
    ngx_adm_room_t *room, ngx_msec_t session_max)
{
    ngx_adm_room_t       *known;
    ngx_adm_room_node_t  *rn;

    rn = en->room;
    known = &rn->room;

    if (ngx_adm_is_far_ahead(ngx_max(known->activation, known->changed))) {

        /* the room is known by a time when this host's clock was far ahead */

        known->activation = 0;
        known->changed = 0;
    }

    if (room->activation > known->activation
        ? room->changed >= known->changed
        : (room->activation && room->activation < known->activation
           && room->changed > known->changed))
    {
        ngx_adm_room_trail_free_locked(zone, rn);

        known->activation = room->activation;
        known->next = 0;
        known->serving = 0;
        known->order = 0;
        known->shows = 0;
        known->passed = 0;
        rn->late = 0;
        rn->more = 0;
        known->lots = 0;
        known->drawn = 0;
        known->base = 0;
        known->ready = 0;
        known->clock = room->clock;
    }

    if (room->passed > known->passed && !room->steps
        && known->activation == room->activation)
    {
        /*
         * only a step tells which numbers were passed over: until then the
         * counter is not past them
         */

        room->serving = ngx_min(room->serving, known->serving);
        room->passed = known->passed;
    }

    if (room->activation == known->activation) {
        ngx_adm_room_measure_locked(zone, en, room);
        ngx_adm_room_trail_locked(zone, en, room, session_max);

        known->next = ngx_max(known->next, room->next);
        known->serving = ngx_max(known->serving, room->serving);
        known->passed = ngx_max(known->passed, room->passed);
        known->clock = ngx_max(known->clock, room->clock);

        /* of two draws the earlier stands */

        if (known->drawn == 0
            || (room->drawn && room->drawn < known->drawn)
            || (room->drawn == known->drawn && known->ready == 0))
        {
            known->order = ngx_max(known->order, room->order);
            known->lots = room->lots;
            known->drawn = room->drawn;
            known->base = room->base;
            known->ready = room->ready;
        }

        known->updated = room->updated;
        known->issue = room->issue;

        if (room->shows) {
            known->shows = room->shows;
        }
    }

    if (room->changed >= known->changed) {
        known->active = room->active;
        known->by_config = room->by_config;
        known->api_rate = room->api_rate;
        known->rate = room->rate;
        known->changed = room->changed;

        ngx_adm_room_move_locked(zone, en, room->active);
    }
}


/*
 * Where the counter stood for a while, the trail has the beginning and the
 * end of that time: those whose turn came before it have had it since then.
 */

static void
ngx_adm_room_trail_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en,
    ngx_adm_room_t *room, ngx_msec_t session_max)
{
    int64_t              last;
    ngx_adm_room_t      *known;
    ngx_adm_room_node_t  *rn;

    rn = en->room;
    known = &rn->room;

    last = ngx_adm_room_trail_last_locked(rn);

    if (last == 0) {
        ngx_adm_room_trail_add_locked(zone, en, room->clock, room->serving);
        rn->moved = room->clock;
        return;
    }

    if (room->serving <= known->serving) {
        return;
    }

    /* those ahead of what is passed over had their turn before those behind */

    if (room->clock - last >= NGX_ADM_ROOM_POINT
        || room->passed > known->passed)
    {

        if (rn->moved > last) {
            ngx_adm_room_trail_add_locked(zone, en, rn->moved, known->serving);
        }

        if (known->clock > ngx_max(last, rn->moved)) {
            ngx_adm_room_trail_add_locked(zone, en, known->clock,
                                          known->serving);
        }

        ngx_adm_room_trail_trim_locked(zone, rn,
                            room->clock - (int64_t) session_max * 1000);

        if (room->passed > known->passed) {
            ngx_adm_room_trail_add_locked(zone, en, room->clock, room->passed);
        }
    }

    rn->moved = room->clock;
}


/*
 * The rate is measured while somebody waits, nobody holds the event and the
 * room is not paused, and as no more than the set rate lets pass: where an
 * operator moves the counter by hand, that is no measure of what comes.
 */

static void
ngx_adm_room_measure_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en,
    ngx_adm_room_t *room)
{
    int64_t               us, passed, rate, people;
    ngx_adm_room_t       *known;
    ngx_adm_room_node_t  *rn;

    rn = en->room;
    known = &rn->room;
    rate = room->rate;

    if (known->shows > 0) {
        /* numbers are called for those, too, who do not come */
        rate = rate * 1000 / known->shows;
    }

    if (room->rate != known->rate) {
        rn->us = 0;
        rn->passed = 0;

        ngx_adm_range_reset_locked(zone, en, NGX_ADM_RANGE_ROOM);
    }

    us = room->updated - known->updated;
    passed = (room->serving - known->serving) * 1000;

    if (known->active && room->rate && !room->gathers && !en->held
        && known->serving < known->next
        && us > 0 && us <= NGX_ADM_ROOM_GAP && passed >= 0)
    {
        rn->us += us;
        rn->passed += ngx_min(passed, rate * us / 1000000 + 1000);

        people = ngx_adm_there_passing_locked(rn, room->serving) * 1000;

        ngx_adm_range_note_locked(zone, en, NGX_ADM_RANGE_ROOM, us,
                                ngx_min(people, rate * us / 1000000 + 1000),
                                0, ngx_adm_there_waiting_locked(rn));
    }

    if (rn->us > NGX_ADM_ROOM_MEASURE) {
        rn->us /= 2;
        rn->passed /= 2;
    }

    known->measured = (rn->us >= NGX_ADM_ROOM_FIRST)
                      ? rn->passed * 1000000 / rn->us : -1;
}


static void
ngx_adm_room_move_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en,
    ngx_uint_t active)
{
    ngx_adm_events_t  *events;

    if (en->active == active) {
        return;
    }

    en->active = (u_char) active;
    events = ngx_adm_events(zone);

    ngx_queue_remove(&en->lru);

    if (active) {
        en->room->marked = 0;
        en->room->due = ngx_current_msec;

        ngx_queue_insert_head(&events->rooms, &en->lru);

    } else {
        ngx_adm_there_free_locked(zone, en->room);

        ngx_queue_insert_head(&events->lru, &en->lru);
    }
}


static void
ngx_adm_room_unknown(ngx_adm_room_t *room)
{
    ngx_memzero(room, sizeof(ngx_adm_room_t));

    room->api_rate = -1;
    room->measured = -1;
}
