
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What a host knows of waiting rooms, in shared memory, with the events.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_admission_zone_shm.h"


#define NGX_HTTP_ADMISSION_ROOM_FULL     2000       /* ms, several times as
                                                       long as a look comes
                                                       again */
#define NGX_HTTP_ADMISSION_ROOM_POINT    10000000   /* us between points of
                                                       the trail */

/* the rate is what passed in about the last minute, once there are 5 s */
#define NGX_HTTP_ADMISSION_ROOM_MEASURE  60000000
#define NGX_HTTP_ADMISSION_ROOM_FIRST    5000000
#define NGX_HTTP_ADMISSION_ROOM_GAP      3000000


static ngx_int_t ngx_http_admission_room_make_locked(
    ngx_http_admission_zone_t *zone, ngx_http_admission_event_node_t *en);
static ngx_http_admission_room_news_e ngx_http_admission_room_news(
    ngx_http_admission_room_t *room, ngx_uint_t active, int64_t activation,
    ngx_uint_t known);
static void ngx_http_admission_room_merge_locked(
    ngx_http_admission_zone_t *zone, ngx_http_admission_event_node_t *en,
    ngx_http_admission_room_t *room, ngx_msec_t session_max);
static void ngx_http_admission_room_trail_locked(
    ngx_http_admission_zone_t *zone, ngx_http_admission_event_node_t *en,
    ngx_http_admission_room_t *room, ngx_msec_t session_max);
static void ngx_http_admission_room_measure(
    ngx_http_admission_room_node_t *rn, ngx_http_admission_room_t *room);
static void ngx_http_admission_room_move_locked(
    ngx_http_admission_zone_t *zone, ngx_http_admission_event_node_t *en,
    ngx_uint_t active);
static void ngx_http_admission_room_unknown(ngx_http_admission_room_t *room);


ngx_int_t
ngx_http_admission_room_get(ngx_str_t *event, ngx_http_admission_room_t *room)
{
    ngx_int_t                         rc;
    ngx_http_admission_zone_t        *zone;
    ngx_http_admission_shctx_t       *sh;
    ngx_http_admission_event_node_t  *en;

    zone = ngx_http_admission_zone;
    sh = zone->sh;

    ngx_http_admission_zone_lock(zone);

    en = ngx_http_admission_room_node_locked(zone, event);

    if (en) {
        *room = en->room->room;
        rc = NGX_OK;

    } else {
        ngx_http_admission_room_unknown(room);

        rc = (sh->listed
              && (sh->rooms_full == 0
                  || ngx_http_admission_zone_since(sh->rooms_full)
                     > NGX_HTTP_ADMISSION_ROOM_FULL))
             ? NGX_OK : NGX_DECLINED;
    }

    if (rc == NGX_OK && !room->active) {
        room->clock = ngx_max(room->clock,
                              ngx_http_admission_rooms_unlisted_locked(sh));
    }

    ngx_http_admission_zone_unlock(zone);

    return rc;
}


ngx_int_t
ngx_http_admission_room_event_conf(ngx_http_admission_main_conf_t *mcf,
    ngx_str_t *event, ngx_http_admission_event_conf_t **conf)
{
    ngx_http_admission_room_t  room;

    *conf = ngx_http_admission_event_conf(mcf, event);

    if (*conf) {
        return NGX_OK;
    }

    *conf = &mcf->event_default;

    if (ngx_http_admission_room_get(event, &room) != NGX_OK) {

        /* without Redis nothing is ever activated */

        return mcf->redis ? NGX_AGAIN : NGX_DECLINED;
    }

    return room.activation ? NGX_OK : NGX_DECLINED;
}


ngx_uint_t
ngx_http_admission_event_is_named(ngx_http_admission_main_conf_t *mcf,
    ngx_str_t *event)
{
    ngx_uint_t                        named;
    ngx_http_admission_zone_t        *zone;
    ngx_http_admission_event_node_t  *en;

    if (ngx_http_admission_event_line(mcf, event)) {
        return 1;
    }

    zone = ngx_http_admission_zone;

    if (zone == NULL) {
        /* a log that asks for the event, where nothing uses the module */
        return 0;
    }

    ngx_http_admission_zone_lock(zone);

    en = ngx_http_admission_event_lookup_locked(zone, event);

    named = (en && ngx_http_admission_event_is_set_locked(en));

    ngx_http_admission_zone_unlock(zone);

    return named;
}


ngx_uint_t
ngx_http_admission_event_is_set_locked(ngx_http_admission_event_node_t *en)
{
    return en->state.threshold >= 0
           || (en->room && en->room->room.activation);
}


ngx_http_admission_room_news_e
ngx_http_admission_room_note(ngx_str_t *event, ngx_http_admission_room_t *room,
    ngx_msec_t session_max)
{
    int64_t                           activation;
    ngx_uint_t                        active, known;
    ngx_http_admission_zone_t        *zone;
    ngx_http_admission_event_node_t  *en;
    ngx_http_admission_room_news_e    news;

    zone = ngx_http_admission_zone;
    news = NGX_HTTP_ADMISSION_ROOM_SAME;

    ngx_http_admission_zone_lock(zone);

    /* an event that never had a waiting room takes no memory */

    if (room->changed) {
        en = ngx_http_admission_event_make_locked(zone, event);

    } else {
        en = ngx_http_admission_room_node_locked(zone, event);
    }

    if (en && ngx_http_admission_room_make_locked(zone, en) == NGX_OK) {
        en->state.clock = ngx_max(en->state.clock, room->clock);

        active = en->active;
        activation = en->room->room.activation;
        known = (zone->sh->listed || en->room->room.changed);

        ngx_http_admission_sum_locked(zone, en, -1);
        ngx_http_admission_room_merge_locked(zone, en, room, session_max);
        ngx_http_admission_sum_locked(zone, en, 1);
        ngx_http_admission_unlisted_locked(zone, en);

        en->room->synced = ngx_current_msec;

        news = ngx_http_admission_room_news(&en->room->room, active,
                                            activation, known);

        if (en->active) {
            ngx_http_admission_name_locked(zone, en);
        }

    } else if (room->active) {
        zone->sh->rooms_lost++;
        zone->sh->rooms_full = ngx_current_msec ? ngx_current_msec : 1;
    }

    ngx_http_admission_zone_unlock(zone);

    return news;
}


/* by what was known before */

static ngx_http_admission_room_news_e
ngx_http_admission_room_news(ngx_http_admission_room_t *room,
    ngx_uint_t active, int64_t activation, ngx_uint_t known)
{
    if (!room->active) {
        return active ? NGX_HTTP_ADMISSION_ROOM_DEACTIVATED
                      : NGX_HTTP_ADMISSION_ROOM_SAME;
    }

    if (!known) {
        return NGX_HTTP_ADMISSION_ROOM_KNOWN;
    }

    if (room->activation != activation) {
        return NGX_HTTP_ADMISSION_ROOM_ACTIVATED;
    }

    return active ? NGX_HTTP_ADMISSION_ROOM_SAME
                  : NGX_HTTP_ADMISSION_ROOM_RESUMED;
}


int64_t
ngx_http_admission_room_turn(ngx_str_t *event, int64_t position)
{
    int64_t                           time;
    ngx_http_admission_zone_t        *zone;
    ngx_http_admission_event_node_t  *en;

    zone = ngx_http_admission_zone;

    ngx_http_admission_zone_lock(zone);

    en = ngx_http_admission_room_node_locked(zone, event);

    time = en ? ngx_http_admission_trail_turn_locked(en->room, position) : 0;

    ngx_http_admission_zone_unlock(zone);

    return time;
}


ngx_uint_t
ngx_http_admission_room_paused(ngx_http_admission_room_t *room)
{
    return room->rate == 0 && room->measured <= 0;
}


int64_t
ngx_http_admission_room_estimate(ngx_http_admission_room_t *room,
    ngx_http_admission_event_conf_t *conf, int64_t ahead)
{
    int64_t  rate;

    rate = room->measured;

    if (rate <= 0) {
        rate = room->rate;
    }

    if (rate <= 0) {

        /* paused: as if it went on as configured */

        rate = ngx_max(conf->vwr_rate, 1) * 1000;
    }

    return (ahead * 1000 + rate - 1) / rate;
}


ngx_uint_t
ngx_http_admission_room_next_poll(int64_t ahead)
{
    if (ahead <= 500) {
        return 2;
    }

    if (ahead <= 2000) {
        return 5;
    }

    return ahead <= 10000 ? 10 : 15;
}


void
ngx_http_admission_room_free_locked(ngx_http_admission_zone_t *zone,
    ngx_http_admission_event_node_t *en)
{
    if (en->room == NULL) {
        return;
    }

    ngx_http_admission_trail_free_locked(zone, en->room);
    ngx_slab_free_locked(zone->shpool, en->room);
    en->room = NULL;
}


void
ngx_http_admission_room_copy_locked(ngx_http_admission_zone_t *zone,
    ngx_http_admission_event_node_t *en, ngx_http_admission_event_node_t *oen)
{
    ngx_http_admission_room_node_t  *rn, *orn;

    if (ngx_http_admission_room_make_locked(zone, en) != NGX_OK) {
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

    ngx_http_admission_sum_locked(zone, en, -1);
    ngx_http_admission_room_move_locked(zone, en, oen->active);
    ngx_http_admission_sum_locked(zone, en, 1);

    ngx_http_admission_trail_copy_locked(zone, en, orn);
}


/* the event, if it has a room */

ngx_http_admission_event_node_t *
ngx_http_admission_room_node_locked(ngx_http_admission_zone_t *zone,
    ngx_str_t *event)
{
    ngx_http_admission_event_node_t  *en;

    en = ngx_http_admission_event_lookup_locked(zone, event);

    return (en && en->room) ? en : NULL;
}


static ngx_int_t
ngx_http_admission_room_make_locked(ngx_http_admission_zone_t *zone,
    ngx_http_admission_event_node_t *en)
{
    ngx_http_admission_room_node_t  *rn;

    if (en->room) {
        return NGX_OK;
    }

    rn = ngx_http_admission_event_alloc_locked(zone,
                                 sizeof(ngx_http_admission_room_node_t), en);
    if (rn == NULL) {
        return NGX_DECLINED;
    }

    ngx_http_admission_room_unknown(&rn->room);
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
ngx_http_admission_room_merge_locked(ngx_http_admission_zone_t *zone,
    ngx_http_admission_event_node_t *en, ngx_http_admission_room_t *room,
    ngx_msec_t session_max)
{
    ngx_http_admission_room_t       *known;
    ngx_http_admission_room_node_t  *rn;

    rn = en->room;
    known = &rn->room;

    if (room->activation > known->activation
        ? room->changed >= known->changed
        : (room->activation && room->activation < known->activation
           && room->changed > known->changed))
    {
        ngx_http_admission_trail_free_locked(zone, rn);

        known->activation = room->activation;
        known->next = 0;
        known->serving = 0;
        known->clock = room->clock;
    }

    if (room->activation == known->activation) {
        ngx_http_admission_room_measure(rn, room);
        ngx_http_admission_room_trail_locked(zone, en, room, session_max);

        known->next = ngx_max(known->next, room->next);
        known->serving = ngx_max(known->serving, room->serving);
        known->clock = ngx_max(known->clock, room->clock);
        known->updated = room->updated;
        known->issue = room->issue;
    }

    if (room->changed >= known->changed) {
        known->active = room->active;
        known->by_config = room->by_config;
        known->api_rate = room->api_rate;
        known->rate = room->rate;
        known->changed = room->changed;

        ngx_http_admission_room_move_locked(zone, en, room->active);
    }
}


/*
 * Where the counter stood for a while, the trail has the beginning and the
 * end of that time: those whose turn came before it have had it since then.
 */

static void
ngx_http_admission_room_trail_locked(ngx_http_admission_zone_t *zone,
    ngx_http_admission_event_node_t *en, ngx_http_admission_room_t *room,
    ngx_msec_t session_max)
{
    int64_t                         last;
    ngx_http_admission_room_t      *known;
    ngx_http_admission_room_node_t  *rn;

    rn = en->room;
    known = &rn->room;

    last = ngx_http_admission_trail_last_locked(rn);

    if (last == 0) {
        ngx_http_admission_trail_add_locked(zone, en, room->clock,
                                            room->serving);
        rn->moved = room->clock;
        return;
    }

    if (room->serving <= known->serving) {
        return;
    }

    if (room->clock - last >= NGX_HTTP_ADMISSION_ROOM_POINT) {

        if (rn->moved > last) {
            ngx_http_admission_trail_add_locked(zone, en, rn->moved,
                                                known->serving);
        }

        if (known->clock > ngx_max(last, rn->moved)) {
            ngx_http_admission_trail_add_locked(zone, en, known->clock,
                                                known->serving);
        }

        ngx_http_admission_trail_trim_locked(zone, rn,
                            room->clock - (int64_t) session_max * 1000);
    }

    rn->moved = room->clock;
}


/*
 * Only time in which somebody waits counts, and no more than the rate lets
 * pass: what an operator moves by hand is no measure of what comes.
 */

static void
ngx_http_admission_room_measure(ngx_http_admission_room_node_t *rn,
    ngx_http_admission_room_t *room)
{
    int64_t                     us, passed;
    ngx_http_admission_room_t  *known;

    known = &rn->room;

    if (room->rate != known->rate) {
        rn->us = 0;
        rn->passed = 0;
    }

    us = room->updated - known->updated;
    passed = (room->serving - known->serving) * 1000;

    if (known->active && known->serving < known->next
        && us > 0 && us <= NGX_HTTP_ADMISSION_ROOM_GAP && passed >= 0)
    {
        rn->us += us;
        rn->passed += room->rate ? ngx_min(passed,
                                           room->rate * us / 1000000 + 1000)
                                 : passed;
    }

    if (rn->us > NGX_HTTP_ADMISSION_ROOM_MEASURE) {
        rn->us /= 2;
        rn->passed /= 2;
    }

    known->measured = (rn->us >= NGX_HTTP_ADMISSION_ROOM_FIRST)
                      ? rn->passed * 1000000 / rn->us : -1;
}


static void
ngx_http_admission_room_move_locked(ngx_http_admission_zone_t *zone,
    ngx_http_admission_event_node_t *en, ngx_uint_t active)
{
    if (en->active == active) {
        return;
    }

    en->active = (u_char) active;

    ngx_queue_remove(&en->lru);

    if (active) {
        en->room->marked = 0;
        en->room->due = ngx_current_msec;

        ngx_queue_insert_head(&zone->sh->rooms, &en->lru);

    } else {
        ngx_queue_insert_head(&zone->sh->lru, &en->lru);
    }
}


static void
ngx_http_admission_room_unknown(ngx_http_admission_room_t *room)
{
    ngx_memzero(room, sizeof(ngx_http_admission_room_t));

    room->api_rate = -1;
    room->measured = -1;
}
