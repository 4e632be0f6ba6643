
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What a host knows of the queue of an event, in the zone, and what answers
 * say of it.
 *
 * Every function takes and releases the zone's lock itself, briefly.
 */


#ifndef _NGX_ADM_HOST_EVENT_STATE_H_INCLUDED_
#define _NGX_ADM_HOST_EVENT_STATE_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "event.h"
#include "settings.h"
#include "tally.h"


/* what the host knows of an event; does not count as a use of the event */
void ngx_adm_event_get(ngx_str_t *id, ngx_adm_event_state_t *state,
    ngx_adm_event_now_t *now);

/*
 * Takes what an answer said of an event, and counts what the call did (NULL:
 * nothing). work: the schedule has to look after it; heard: of a step, or
 * NULL.
 *
 * An event that has no data and nothing set gets no node for this.  If the
 * zone is full the event unused for longest is forgotten.  Returns what is
 * news to the host, NGX_ADM_NEWS_*, or 0.
 */
#define NGX_ADM_NEWS_LOST      1         /* Redis had lost data */
#define NGX_ADM_NEWS_RESTORE   2         /* restoring began, */
#define NGX_ADM_NEWS_RESTORED  4         /* or ended */
#define NGX_ADM_NEWS_TELL      8         /* other hosts have to be told what
                                            this one did of late */
#define NGX_ADM_NEWS_UNSOLD    16        /* what was sold is lost: nobody is
                                            let in */

ngx_uint_t ngx_adm_event_note(ngx_str_t *id, ngx_adm_event_state_t *state,
    ngx_adm_event_now_t *now, ngx_uint_t work, ngx_adm_heard_t *heard,
    ngx_adm_tally_t *tally);

/*
 * the id is no event any more: forgets its users, as nobody asks Redis about
 * them
 */
void ngx_adm_event_empty(ngx_str_t *id);

/* how many seats are left, if the event has slots= */
typedef enum {
    NGX_ADM_SEATS_FREE = 0,
    NGX_ADM_SEATS_TAKEN,         /* those left are held by people inside */
    NGX_ADM_SEATS_SOLD
} ngx_adm_seats_e;

/* slots: set by the API, -1: not; sold, -1: unknown; inside: how many are in */
static ngx_inline ngx_adm_seats_e
ngx_adm_seats(ngx_adm_event_conf_t *conf, int64_t slots, int64_t sold,
    int64_t inside)
{
    if (slots < 0) {
        slots = conf->slots;
    }

    if (slots < 0 || sold < 0 || slots > sold + inside) {
        return NGX_ADM_SEATS_FREE;
    }

    return sold < slots ? NGX_ADM_SEATS_TAKEN : NGX_ADM_SEATS_SOLD;
}

/* the same by what the host knows of the event */
ngx_adm_seats_e ngx_adm_event_seats(ngx_str_t *id, ngx_adm_event_conf_t *conf);

/*
 * Whether an event was named by an operator: by a line of its own, or, as far
 * as this host knows, by a threshold set or a waiting room activated through
 * the API.  What else is an event is one by the "default" line alone: anybody
 * may have made its id up.
 */
ngx_uint_t ngx_adm_event_is_named(ngx_adm_main_conf_t *mcf, ngx_str_t *event);


#endif /* _NGX_ADM_HOST_EVENT_STATE_H_INCLUDED_ */
