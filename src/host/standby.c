
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What a host has of rooms on standby, in the zone, with the events, as few
 * have one.  A new zone begins without it, and asks.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/clock.h"
#include "few.h"
#include "standby.h"


/*
 * ms for which a grant is good, from the question on; after that Redis counts
 * as away: it is not just the asking worker that has changed
 */
#define NGX_ADM_STANDBY_LIFE   1000
#define NGX_ADM_STANDBY_AWAY   3000

/*
 * Visitors who are held up are counted by when they came, in slices of so many
 * ms: what a worker that died leaves behind ends by itself.
 */
#define NGX_ADM_STANDBY_SLICE  128
#define NGX_ADM_STANDBY_SLICES  10

#define ngx_adm_standby_slice(ms)                                             \
    ((uint32_t) ((ms) / NGX_ADM_STANDBY_SLICE))


typedef struct {
    ngx_rbtree_node_t           node;           /* of the event */
    int64_t                     seen;           /* us; 0: unseen; -1: not
                                                   known */
    int64_t                     activation;     /* of the grant */
    int64_t                     clock;          /* us, the event's, of the
                                                   grant */
    ngx_msec_t                  asked;          /* when the grant was asked
                                                   for */
    uint32_t                    left;           /* of the grant */
    uint32_t                    used;           /* since the last question */
    uint32_t                    usual;          /* between questions, of late */
    uint32_t                    refused;        /* since the last question,
                                                   without being held up
                                                   first */
    unsigned                    heard:1;

    struct {
        uint32_t                slice;
        uint32_t                n;
    } held[NGX_ADM_STANDBY_SLICES];
} ngx_adm_standby_node_t;


#define ngx_adm_standbys(zone)                                                \
    ((ngx_adm_few_t *) ngx_adm_zone_data(zone, &ngx_adm_standby_part))


static void ngx_adm_standbys_empty(ngx_adm_zone_t *zone);
static void ngx_adm_standby_free_locked(ngx_adm_zone_t *zone,
    ngx_adm_event_node_t *en);
static ngx_adm_standby_node_t *ngx_adm_standby_find_locked(
    ngx_adm_zone_t *zone, ngx_str_t *event, ngx_adm_room_t **room);
static ngx_int_t ngx_adm_standby_take_locked(ngx_adm_standby_node_t *sn,
    ngx_adm_event_conf_t *conf, ngx_adm_room_t *room,
    ngx_adm_standby_visit_t *visit);
static ngx_uint_t ngx_adm_standby_good_locked(ngx_adm_standby_node_t *sn);
static ngx_uint_t ngx_adm_standby_held_locked(ngx_adm_standby_node_t *sn);
static void ngx_adm_standby_hold_locked(ngx_adm_standby_node_t *sn,
    ngx_adm_standby_visit_t *visit);
static void ngx_adm_standby_release_locked(ngx_adm_standby_node_t *sn,
    ngx_adm_standby_visit_t *visit);


/* whole visitors a second */
#define ngx_adm_standby_rate(room)  (((room)->rate + 999) / 1000)


ngx_adm_zone_part_t  ngx_adm_standby_part = {
    .size = sizeof(ngx_adm_few_t),
    .empty = ngx_adm_standbys_empty,
    .event_free = ngx_adm_standby_free_locked };


static void
ngx_adm_standbys_empty(ngx_adm_zone_t *zone)
{
    ngx_adm_few_empty(ngx_adm_standbys(zone));
}


static void
ngx_adm_standby_free_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en)
{
    ngx_adm_standby_node_t  *sn;

    sn = ngx_adm_few_of_locked(ngx_adm_standbys(zone), en);

    if (sn) {
        ngx_adm_few_free_locked(zone, ngx_adm_standbys(zone), sn);
    }
}


/*
 * What there is of an event on standby whose room the host knows, which *room
 * is set to; made if need be.
 */

static ngx_adm_standby_node_t *
ngx_adm_standby_find_locked(ngx_adm_zone_t *zone, ngx_str_t *event,
    ngx_adm_room_t **room)
{
    ngx_adm_few_t           *few;
    ngx_adm_event_node_t    *en;
    ngx_adm_standby_node_t  *sn;

    en = ngx_adm_room_node_locked(zone, event);

    if (en == NULL) {
        return NULL;
    }

    *room = &en->room->room;
    few = ngx_adm_standbys(zone);

    sn = ngx_adm_few_of_locked(few, en);

    if (sn == NULL) {
        sn = ngx_adm_event_alloc_locked(zone, sizeof(ngx_adm_standby_node_t),
                                        en);
        if (sn == NULL) {
            return NULL;
        }

        sn->seen = -1;

        ngx_adm_few_add_locked(few, sn, en);
    }

    return sn;
}


ngx_int_t
ngx_adm_standby_take(ngx_str_t *event, ngx_adm_event_conf_t *conf,
    ngx_adm_standby_visit_t *visit)
{
    ngx_int_t                rc;
    ngx_adm_room_t          *room;
    ngx_adm_standby_node_t  *sn;

    rc = NGX_DECLINED;

    ngx_adm_zone_lock(ngx_adm_zone);

    sn = ngx_adm_standby_find_locked(ngx_adm_zone, event, &room);

    if (sn) {
        rc = ngx_adm_standby_take_locked(sn, conf, room, visit);

        if (rc == NGX_AGAIN && !visit->held) {
            ngx_adm_standby_hold_locked(sn, visit);

        } else if (rc != NGX_AGAIN && visit->held) {
            ngx_adm_standby_release_locked(sn, visit);

        } else if (rc == NGX_DECLINED && ngx_adm_standby_good_locked(sn)) {
            sn->refused++;
        }
    }

    ngx_adm_zone_unlock(ngx_adm_zone);

    return rc;
}


static ngx_int_t
ngx_adm_standby_take_locked(ngx_adm_standby_node_t *sn,
    ngx_adm_event_conf_t *conf, ngx_adm_room_t *room,
    ngx_adm_standby_visit_t *visit)
{
    int64_t     most;
    ngx_uint_t  held, good;

    if (sn->heard && ngx_adm_since(sn->asked) >= NGX_ADM_STANDBY_AWAY) {
        return NGX_DECLINED;
    }

    good = (ngx_adm_standby_good_locked(sn)
            && sn->activation == visit->activation);

    if (sn->seen > 0 && !(visit->held && good && sn->left)) {
        /*
         * a room shows: those who came before have what is left of the last
         * grant
         */
        return NGX_DECLINED;
    }

    held = visit->held ? 0 : ngx_adm_standby_held_locked(sn);

    if (good && sn->left && held == 0) {
        sn->left--;
        sn->used++;

        visit->adm = sn->clock;

        return NGX_OK;
    }

    if (visit->held) {
        return ngx_current_msec - visit->since < NGX_ADM_STANDBY_HOLD
               ? NGX_AGAIN : NGX_DECLINED;
    }

    /* no more are held up than can be let in meanwhile */

    most = ngx_adm_standby_rate(room);

    if (conf->vwr_burst >= 0) {
        most = ngx_min(most, conf->vwr_burst);
    }

    return (int64_t) held < most ? NGX_AGAIN : NGX_DECLINED;
}


/* whether the grant, and what was told with it, is still good */

static ngx_uint_t
ngx_adm_standby_good_locked(ngx_adm_standby_node_t *sn)
{
    return sn->heard
           && ngx_adm_since(sn->asked) < NGX_ADM_STANDBY_LIFE;
}


static ngx_uint_t
ngx_adm_standby_held_locked(ngx_adm_standby_node_t *sn)
{
    uint32_t    now;
    ngx_uint_t  i, n;

    n = 0;
    now = ngx_adm_standby_slice(ngx_current_msec);

    for (i = 0; i < NGX_ADM_STANDBY_SLICES; i++) {

        if (now - sn->held[i].slice < NGX_ADM_STANDBY_SLICES) {
            n += sn->held[i].n;
        }
    }

    return n;
}


static void
ngx_adm_standby_hold_locked(ngx_adm_standby_node_t *sn,
    ngx_adm_standby_visit_t *visit)
{
    uint32_t    slice;
    ngx_uint_t  i;

    slice = ngx_adm_standby_slice(ngx_current_msec);
    i = slice % NGX_ADM_STANDBY_SLICES;

    if (sn->held[i].slice != slice) {
        sn->held[i].slice = slice;
        sn->held[i].n = 0;
    }

    sn->held[i].n++;

    visit->since = ngx_current_msec;
    visit->held = 1;
}


static void
ngx_adm_standby_release_locked(ngx_adm_standby_node_t *sn,
    ngx_adm_standby_visit_t *visit)
{
    uint32_t    slice;
    ngx_uint_t  i;

    slice = ngx_adm_standby_slice(visit->since);
    i = slice % NGX_ADM_STANDBY_SLICES;

    /* what the host knew may have been made anew */

    if (sn->held[i].slice == slice && sn->held[i].n) {
        sn->held[i].n--;
    }

    visit->held = 0;
}


void
ngx_adm_standby_gone(ngx_str_t *event, ngx_adm_standby_visit_t *visit)
{
    ngx_adm_room_t          *room;
    ngx_adm_standby_node_t  *sn;

    if (!visit->held) {
        return;
    }

    ngx_adm_zone_lock(ngx_adm_zone);

    sn = ngx_adm_standby_find_locked(ngx_adm_zone, event, &room);

    if (sn) {
        ngx_adm_standby_release_locked(sn, visit);
    }

    ngx_adm_zone_unlock(ngx_adm_zone);
}


/*
 * A host has in hand as many as it let in between two questions of late, and
 * one more, so that ordinary traffic is not held up.  What it has no use for
 * it gives back.
 */

void
ngx_adm_standby_ask(ngx_str_t *event, ngx_adm_event_conf_t *conf,
    ngx_adm_standby_ask_t *ask)
{
    ngx_uint_t               most, wanting;
    ngx_adm_room_t          *room;
    ngx_adm_standby_node_t  *sn;

    ngx_memzero(ask, sizeof(ngx_adm_standby_ask_t));

    ask->seen = -1;

    if (conf->vwr != NGX_ADM_STANDBY) {
        return;
    }

    ngx_adm_zone_lock(ngx_adm_zone);

    sn = ngx_adm_standby_find_locked(ngx_adm_zone, event, &room);

    if (sn == NULL) {
        goto unlock;
    }

    if (sn->seen > 0
        || !ngx_adm_standby_good_locked(sn)
        || sn->activation != room->activation)
    {
        sn->left = 0;
    }

    sn->usual = ngx_max(sn->used, sn->usual - (sn->usual + 3) / 4);
    sn->used = 0;

    wanting = sn->refused;
    sn->refused = 0;

    ask->seen = sn->seen;

    if (sn->seen > 0) {
        ask->wanting = wanting;
        goto unlock;
    }

    most = (ngx_uint_t) (ngx_adm_standby_rate(room) + 3) / 4;
    most = ngx_min(most, sn->usual + 1);

    if (sn->left > most) {
        ask->back = sn->left - most;
        sn->left = (uint32_t) most;
    }

    wanting += ngx_adm_standby_held_locked(sn);

    ask->have = sn->left;
    ask->wanting = (wanting > sn->left) ? wanting - sn->left : 0;
    ask->spare = most - sn->left;

unlock:

    ngx_adm_zone_unlock(ngx_adm_zone);
}


ngx_int_t
ngx_adm_standby_heard(ngx_str_t *event, ngx_adm_room_t *room,
    ngx_msec_t issued, int64_t seen, ngx_uint_t granted)
{
    ngx_int_t                rc;
    ngx_adm_room_t          *known;
    ngx_adm_standby_node_t  *sn;

    rc = -1;

    ngx_adm_zone_lock(ngx_adm_zone);

    sn = ngx_adm_standby_find_locked(ngx_adm_zone, event, &known);

    if (sn) {

        if (sn->seen >= 0 ? (sn->seen > 0) != (seen > 0) : seen > 0) {
            rc = (seen > 0);
        }

        if (sn->activation != room->activation || seen > 0) {
            sn->left = 0;
        }

        sn->left += (uint32_t) granted;
        sn->seen = seen;
        sn->activation = room->activation;
        sn->clock = room->clock;
        sn->asked = issued;
        sn->heard = 1;
    }

    ngx_adm_zone_unlock(ngx_adm_zone);

    return rc;
}


ngx_int_t
ngx_adm_standby_unseen(ngx_str_t *event, ngx_adm_event_conf_t *conf)
{
    ngx_int_t                rc;
    ngx_adm_room_t          *room;
    ngx_adm_standby_node_t  *sn;

    if (conf->vwr != NGX_ADM_STANDBY) {
        return NGX_ABORT;
    }

    rc = NGX_ABORT;

    ngx_adm_zone_lock(ngx_adm_zone);

    sn = ngx_adm_standby_find_locked(ngx_adm_zone, event, &room);

    if (sn && sn->heard && room->active) {
        rc = sn->seen ? NGX_DECLINED : NGX_OK;
    }

    ngx_adm_zone_unlock(ngx_adm_zone);

    return rc;
}


const char *
ngx_adm_standby_member(ngx_str_t *event, ngx_adm_event_conf_t *conf)
{
    switch (ngx_adm_standby_unseen(event, conf)) {

    case NGX_OK:
        return ",\"standby\":true";

    case NGX_DECLINED:
        return ",\"standby\":false";

    default: /* NGX_ABORT */
        return "";
    }
}
