
/*
 * Copyright (C) 2026 the admission module authors
 *
 * A function for each gauge of the list, and one for those of events.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../host/bucket.h"
#include "../host/draw.h"
#include "../host/event_work.h"
#include "../host/follow.h"
#include "../host/hold.h"
#include "../host/revoked.h"
#include "../host/sale.h"
#include "../host/standby.h"
#include "../host/streams.h"
#include "../host/touch.h"
#include "../host/unlisted.h"
#include "../host/view.h"
#include "../host/zone.h"
#include "../limit/fallback.h"
#include "../redis/shared.h"
#include "exposition.h"
#include "gauges.h"
#include "ready.h"


static int64_t ngx_adm_event_gauge_seats(ngx_adm_event_gauge_e gauge,
    ngx_adm_scrape_t *s, ngx_adm_named_t *named);
static int64_t ngx_adm_event_gauge_backend(ngx_adm_event_gauge_e gauge,
    ngx_adm_named_t *named);
static int64_t ngx_adm_event_gauge_sale(ngx_adm_event_gauge_e gauge,
    ngx_adm_scrape_t *s, ngx_adm_named_t *named);
static ngx_uint_t ngx_adm_event_gauge_shows(ngx_adm_scrape_t *s,
    ngx_adm_named_t *named);


#define ngx_adm_gauge(id)                                                     \
    int64_t                                                                   \
    ngx_adm_gauge_##id(ngx_adm_scrape_t *s,                                   \
        ngx_uint_t i)


/* its labels say all there is to say */

ngx_adm_gauge(build_info)
{
    return 1;
}


ngx_adm_gauge(events)
{
    return s->tallies.sums.events;
}


ngx_adm_gauge(unlisted)
{
    return ngx_adm_unlisted_events();
}


ngx_adm_gauge(streams)
{
    return ngx_adm_streams_open();
}


ngx_adm_gauge(views)
{
    ngx_msec_t  oldest;

    return ngx_adm_views(&oldest);
}


ngx_adm_gauge(view_age)
{
    ngx_msec_t  oldest;

    (void) ngx_adm_views(&oldest);

    return oldest;
}


ngx_adm_gauge(fallback)
{
    ngx_uint_t  alone;

    (void) ngx_adm_limit_alone(&alone);

    return alone;
}


ngx_adm_gauge(one_address)
{
    return ngx_adm_bucket_alone(i);
}


ngx_adm_gauge(connections)
{
    return ngx_adm_redis_in_state(NGX_ADM_REDIS_OPEN,
                                  ngx_adm_streams_killed);
}


ngx_adm_gauge(breakers)
{
    return ngx_adm_redis_in_state(ngx_adm_redis_breaker_open + i,
                                  ngx_adm_streams_killed);
}


ngx_adm_gauge(state_age)
{
    ngx_msec_t  age;

    /* where there is no Redis none is down */

    if (s->mcf->redis == NULL) {
        return NGX_ADM_GAUGE_NONE;
    }

    return ngx_adm_heard(&age) == NGX_OK ? (int64_t) age : NGX_ADM_INFINITY;
}


ngx_adm_gauge(state_stale)
{
    return ngx_adm_is_stale();
}


ngx_adm_gauge(schedule_lag)
{
    return ngx_adm_schedule_lag();
}


ngx_adm_gauge(ready)
{
    return ngx_adm_not_ready(s->mcf) == 0;
}


ngx_adm_gauge(revocations)
{
    return ngx_adm_revocations();
}


ngx_adm_gauge(zone_size)
{
    return ngx_adm_zone_size();
}


ngx_adm_gauge(zone_free)
{
    return ngx_adm_zone_free();
}


static int64_t
ngx_adm_event_gauge_seats(ngx_adm_event_gauge_e gauge, ngx_adm_scrape_t *s,
    ngx_adm_named_t *named)
{
    int64_t                slots;
    ngx_adm_event_conf_t  *conf;

    slots = named->state.slots;

    if (slots < 0) {
        conf = ngx_adm_event_conf(s->mcf, &named->id);
        slots = conf ? conf->slots : s->mcf->event_default.slots;
    }

    if (gauge == NGX_ADM_EVENT_GAUGE_SLOTS) {
        return slots >= 0 ? slots : NGX_ADM_GAUGE_NONE;
    }

    if (gauge == NGX_ADM_EVENT_GAUGE_SOLD_LOST) {
        return (slots >= 0 || named->unsold) ? named->unsold
                                             : NGX_ADM_GAUGE_NONE;
    }

    return (slots >= 0 || named->state.sold > 0) && named->state.sold >= 0
           ? named->state.sold : NGX_ADM_GAUGE_NONE;
}


static int64_t
ngx_adm_event_gauge_sale(ngx_adm_event_gauge_e gauge, ngx_adm_scrape_t *s,
    ngx_adm_named_t *named)
{
    ngx_adm_room_t        *room;
    ngx_adm_sale_t         sale;
    ngx_adm_event_conf_t  *conf;

    if (gauge == NGX_ADM_EVENT_GAUGE_SALE_PHASE) {
        conf = ngx_adm_event_conf(s->mcf, &named->id);

        return ngx_adm_sale_get(&named->id,
                                conf ? conf : &s->mcf->event_default, &sale)
               == NGX_ADM_PHASE_NONE ? NGX_ADM_GAUGE_NONE
                                     : (int64_t) sale.phase;
    }

    room = &named->room;

    if (!named->has_room || room->order == NGX_ADM_ORDER_ARRIVAL) {
        return NGX_ADM_GAUGE_NONE;
    }

    if (gauge == NGX_ADM_EVENT_GAUGE_DRAW_MADE) {
        return ngx_adm_draw_ready(room);
    }

    return ngx_adm_draw_counted(room) ? room->lots : NGX_ADM_GAUGE_NONE;
}


static ngx_uint_t
ngx_adm_event_gauge_shows(ngx_adm_scrape_t *s, ngx_adm_named_t *named)
{
    ngx_adm_event_conf_t  *conf;

    conf = ngx_adm_event_conf(s->mcf, &named->id);

    return conf == NULL || ngx_adm_standby_unseen(&named->id, conf) != NGX_OK;
}


static int64_t
ngx_adm_event_gauge_backend(ngx_adm_event_gauge_e gauge,
    ngx_adm_named_t *named)
{
    ngx_adm_hold_t      hold;
    ngx_adm_followed_t  followed;

    if (gauge == NGX_ADM_EVENT_GAUGE_HELD) {
        return ngx_adm_hold_get(&named->id, &hold);
    }

    if (ngx_adm_follow_get(&named->id, &followed) != NGX_OK) {
        return NGX_ADM_GAUGE_NONE;
    }

    if (gauge == NGX_ADM_EVENT_GAUGE_BACKEND_LIMITED) {
        return followed.told.why;
    }

    return followed.told.latency < 0 ? NGX_ADM_GAUGE_NONE
                                     : followed.told.latency / 1000;
}


int64_t
ngx_adm_event_gauge(ngx_adm_event_gauge_e gauge, ngx_adm_scrape_t *s,
    ngx_adm_named_t *named)
{
    ngx_adm_room_t        *room;
    ngx_adm_event_conf_t  *conf;

    if (gauge == NGX_ADM_EVENT_GAUGE_STATE_AGE) {
        return named->age;
    }

    if (gauge == NGX_ADM_EVENT_GAUGE_BACKEND_LATENCY
        || gauge == NGX_ADM_EVENT_GAUGE_BACKEND_LIMITED
        || gauge == NGX_ADM_EVENT_GAUGE_HELD)
    {
        return ngx_adm_event_gauge_backend(gauge, named);
    }

    if (gauge == NGX_ADM_EVENT_GAUGE_SLOTS
        || gauge == NGX_ADM_EVENT_GAUGE_SOLD
        || gauge == NGX_ADM_EVENT_GAUGE_SOLD_LOST)
    {
        return ngx_adm_event_gauge_seats(gauge, s, named);
    }

    if (gauge == NGX_ADM_EVENT_GAUGE_SALE_PHASE
        || gauge == NGX_ADM_EVENT_GAUGE_DRAW_LOTS
        || gauge == NGX_ADM_EVENT_GAUGE_DRAW_MADE)
    {
        return ngx_adm_event_gauge_sale(gauge, s, named);
    }

    if (gauge <= NGX_ADM_EVENT_GAUGE_QUEUE_THRESHOLD
        ? !named->queue : !named->has_room)
    {
        return NGX_ADM_GAUGE_NONE;
    }

    room = &named->room;

    switch (gauge) {

    case NGX_ADM_EVENT_GAUGE_QUEUE_WAITING:
        return named->state.size;

    case NGX_ADM_EVENT_GAUGE_QUEUE_ACTIVE:
        return named->state.active;

    case NGX_ADM_EVENT_GAUGE_QUEUE_THRESHOLD:

        if (named->state.threshold >= 0) {
            return named->state.threshold;
        }

        conf = ngx_adm_event_conf(s->mcf, &named->id);

        /* an event without a line was activated by the API */

        return conf ? conf->threshold : s->mcf->event_default.threshold;

    case NGX_ADM_EVENT_GAUGE_ROOM_ACTIVE:
        return room->active;

    case NGX_ADM_EVENT_GAUGE_ROOM_WAITING:
        return room->active ? ngx_max(room->next - room->serving, 0) : 0;

    case NGX_ADM_EVENT_GAUGE_ROOM_THERE:
        return named->there;

    case NGX_ADM_EVENT_GAUGE_ROOM_NEXT:
        return room->next;

    case NGX_ADM_EVENT_GAUGE_ROOM_SERVING:
        return room->serving;

    case NGX_ADM_EVENT_GAUGE_ROOM_SHOWS:
        return room->active && ngx_adm_event_gauge_shows(s, named);

    case NGX_ADM_EVENT_GAUGE_ROOM_COME:
        return (room->active && room->shows > 0) ? room->shows / 10
                                                 : NGX_ADM_GAUGE_NONE;

    default: /* NGX_ADM_EVENT_GAUGE_ROOM_RATE */
        return room->rate / 1000;
    }
}


int64_t
ngx_adm_event_gauge_sum(ngx_adm_event_gauge_e gauge, ngx_adm_sums_t *sums)
{
    switch (gauge) {

    case NGX_ADM_EVENT_GAUGE_QUEUE_WAITING:
        return sums->waiting;

    case NGX_ADM_EVENT_GAUGE_QUEUE_ACTIVE:
        return sums->active;

    case NGX_ADM_EVENT_GAUGE_SOLD_LOST:
        return sums->unsold;

    case NGX_ADM_EVENT_GAUGE_ROOM_ACTIVE:
        return sums->rooms;

    case NGX_ADM_EVENT_GAUGE_ROOM_WAITING:
        return sums->before;

    default:
        return NGX_ADM_GAUGE_NONE;
    }
}
