
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Tier 1: what a host knows of the waiting room of an event, in shared
 * memory.  Polls are answered from here; the schedule and every answer of
 * Redis bring it up to date.
 *
 * Every function takes and releases the zone's lock itself, briefly.
 */


#ifndef _NGX_ADM_HOST_ROOM_STATE_H_INCLUDED_
#define _NGX_ADM_HOST_ROOM_STATE_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "event.h"
#include "event_state.h"
#include "settings.h"
#include "zone.h"


extern ngx_adm_zone_part_t  ngx_adm_room_part;


/*
 * What the host knows.  NGX_OK: known, from Redis, at some time (an event
 * that is in no list of active ones is known to be inactive as soon as the
 * list has been read once; its activation may be 0 then, though it was
 * active once).  NGX_DECLINED: nothing is known yet.  Then, and of an event
 * never heard of, *room is all 0, but for api_rate and measured, -1, and for
 * clock: of an event that is not active it is the last time as of which that
 * is certain.
 */
ngx_int_t ngx_adm_room_get(ngx_str_t *event, ngx_adm_room_t *room);

/* the same, and what there is of seats, as event_seats() says */
ngx_int_t ngx_adm_room_get_seats(ngx_str_t *event, ngx_adm_event_conf_t *conf,
    ngx_adm_room_t *room, ngx_adm_seats_e *seats);

/*
 * What the configuration says of an event.  One that is not listed, without
 * a default, is an event if the API once activated it.  NGX_DECLINED: it is
 * none; NGX_AGAIN: not known yet, *conf is what it would have.
 */
ngx_int_t ngx_adm_room_event_conf(ngx_adm_main_conf_t *mcf, ngx_str_t *event,
    ngx_adm_event_conf_t **conf);

/* what became of a room, for the log */
typedef enum {
    NGX_ADM_ROOM_SAME = 0,
    NGX_ADM_ROOM_KNOWN,              /* active, and unknown before */
    NGX_ADM_ROOM_ACTIVATED,          /* a new activation */
    NGX_ADM_ROOM_RESUMED,
    NGX_ADM_ROOM_DEACTIVATED } ngx_adm_room_news_e;

/*
 * Takes what an answer said: within an activation no counter goes back, and
 * an older activation changes nothing.  session_max (ms) is how long the
 * counter's trail is kept.  Returns what is news to the host.
 */
ngx_adm_room_news_e ngx_adm_room_note(ngx_str_t *event, ngx_adm_room_t *room,
    ngx_msec_t session_max);

/*
 * When the counter passed a position, us on the event's clock, by its trail
 * (a point every 10 s, between them in proportion); the latest time known
 * if the trail does not go back so far; 0: it has not passed it.
 */
int64_t ngx_adm_room_turn(ngx_str_t *event, int64_t position);


/*
 * In 1/1000 a second: as measured, else as it is set; if paused, as it would
 * be, went it on.
 */
int64_t ngx_adm_room_rate(ngx_adm_room_t *room, ngx_adm_event_conf_t *conf);

/* s that one with so many ahead waits; if paused, it would, went it on */
int64_t ngx_adm_room_estimate(ngx_adm_room_t *room, ngx_adm_event_conf_t *conf,
    int64_t ahead);

/* s until the next poll of one with so many ahead */
static ngx_inline ngx_uint_t
ngx_adm_room_next_poll(int64_t ahead)
{
    if (ahead <= 500) {
        return 2;
    }

    if (ahead <= 2000) {
        return 5;
    }

    return ahead <= 10000 ? 10 : 15;
}


#endif /* _NGX_ADM_HOST_ROOM_STATE_H_INCLUDED_ */
