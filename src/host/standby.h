
/*
 * Copyright (C) 2026 the admission module authors
 *
 * A waiting room on standby, as a host has it, for all its workers: how many
 * visitors it may let in unseen before it asks again, and who is held up
 * meanwhile.  Steps of the room ask (lua/vwr_standby_lib.lua).  A grant ends a
 * second after the question, so that without Redis nobody passes.
 *
 * Every function takes and releases the zone's lock itself, briefly.
 */


#ifndef _NGX_ADM_HOST_STANDBY_H_INCLUDED_
#define _NGX_ADM_HOST_STANDBY_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "event.h"
#include "settings.h"
#include "zone.h"


#define NGX_ADM_STANDBY_STEP  250        /* ms between two questions, at least
                                            */
#define NGX_ADM_STANDBY_HOLD  1000       /* ms that a visitor is held up, at
                                            most */


extern ngx_adm_zone_part_t  ngx_adm_standby_part;


/* a visitor who wants in; zeroed but for activation */
typedef struct {
    int64_t          activation;         /* of the room, as known */
    int64_t          adm;                /* us, the event's clock: when let in
                                            */
    ngx_msec_t       since;              /* ms, held up since */
    unsigned         held:1;
} ngx_adm_standby_visit_t;

/*
 * NGX_OK: let in, as of adm.  NGX_AGAIN: held up, until _take() says otherwise
 * or _gone() is called.  NGX_DECLINED: the room shows, Redis is away, or the
 * visitor was held up for too long.
 */
ngx_int_t ngx_adm_standby_take(ngx_str_t *event, ngx_adm_event_conf_t *conf,
    ngx_adm_standby_visit_t *visit);
void ngx_adm_standby_gone(ngx_str_t *event, ngx_adm_standby_visit_t *visit);


/* what a step asks for; see lua/vwr_step.lua */
typedef struct {
    ngx_uint_t       wanting;
    ngx_uint_t       spare;
    ngx_uint_t       back;
    ngx_uint_t       have;
    int64_t          seen;               /* us; -1: not known */
} ngx_adm_standby_ask_t;

/* all 0, and seen -1: the event is not on standby */
void ngx_adm_standby_ask(ngx_str_t *event, ngx_adm_event_conf_t *conf,
    ngx_adm_standby_ask_t *ask);

/*
 * What a step is told, by a call that was issued then (ms): since when the
 * room shows; 0: it does not.  Returns 1 if it shows now and did not before, 0
 * if it no longer does, -1 if nothing changed.
 */
ngx_int_t ngx_adm_standby_heard(ngx_str_t *event, ngx_adm_room_t *room,
    ngx_msec_t issued, int64_t seen, ngx_uint_t granted);


/*
 * NGX_OK: the room of an event is unseen; NGX_DECLINED: it shows; NGX_ABORT:
 * the event is not on standby, or nothing is known of it.
 */
ngx_int_t ngx_adm_standby_unseen(ngx_str_t *event, ngx_adm_event_conf_t *conf);

/* the same as a member of JSON, with a comma in front; "" for NGX_ABORT */
#define NGX_ADM_STANDBY_MEMBER  (sizeof(",\"standby\":false") - 1)

const char *ngx_adm_standby_member(ngx_str_t *event,
    ngx_adm_event_conf_t *conf);


#endif /* _NGX_ADM_HOST_STANDBY_H_INCLUDED_ */
