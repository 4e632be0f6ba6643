
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Tier 1: the calls of the waiting room's scripts.  The only file that knows
 * their Redis keys; it knows no request.  Calls return, complete and cancel
 * as those of queue/queue.h do.
 */


#ifndef _NGX_ADM_ROOM_CALLS_H_INCLUDED_
#define _NGX_ADM_ROOM_CALLS_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "../host/look.h"
#include "../host/room_state.h"
#include "../host/settings.h"


/*
 * rc NGX_OK: room is the state after the call, which the host's memory has as
 * well.  NGX_ERROR: no answer; room is NULL.
 */
typedef void (*ngx_adm_room_calls_done_pt)(void *data, ngx_int_t rc,
    ngx_adm_room_t *room);


/*
 * Positions.  Requests that ask in one turn of a worker's event loop, or while
 * the call before is out, share one script call, in their order.
 */
typedef struct ngx_adm_assign_s  ngx_adm_assign_t;

/*
 * position 0: the waiting room is inactive, or, full being NGX_ADM_LINE_FULL or
 * _LONG, takes no more; at: us, the ticket's time
 */
typedef void (*ngx_adm_assign_done_pt)(void *data, ngx_int_t rc,
    int64_t position, int64_t at, ngx_uint_t full, ngx_adm_room_t *room);

/*
 * Asks for a position.  Completes by the deadline (ms, of ngx_current_msec),
 * whatever the calls take; unbound: a position is given however many wait.
 * NULL: it could not be asked for, and no completion follows.  _cancel(): the
 * request goes away; not to be called after the completion.
 */
ngx_adm_assign_t *ngx_adm_room_assign(ngx_str_t *event,
    ngx_adm_event_conf_t *conf, ngx_msec_t deadline, ngx_uint_t unbound,
    ngx_adm_assign_done_pt done, void *data);
void ngx_adm_room_assign_cancel(void *assign);


/*
 * Looks at a waiting room whose state the host does not know, see host/look.h;
 * the answer is an ngx_adm_room_t.
 */
ngx_adm_look_t *ngx_adm_room_look_at(ngx_str_t *event,
    ngx_adm_event_conf_t *conf, ngx_adm_look_done_pt done, void *data);


/*
 * n positions by one call: "issued" of them, the first being "first", whose
 * ticket is of the time "at", and so on; full: why there are no more.
 */
typedef struct {
    int64_t                    first;
    int64_t                    at;
    ngx_uint_t                 issued;
    ngx_uint_t                 full;     /* NGX_ADM_LINE_* */
} ngx_adm_issued_t;

/* rc NGX_ERROR: issued and room are NULL */
typedef void (*ngx_adm_room_calls_issued_pt)(void *data, ngx_int_t rc,
    ngx_adm_issued_t *issued, ngx_adm_room_t *room);

/* user: has one lot, the same one each time; NULL: the position is no user's */
ngx_adm_redis_call_t *ngx_adm_room_calls_issue(ngx_str_t *event,
    ngx_adm_event_conf_t *conf, ngx_uint_t n, ngx_uint_t unbound,
    ngx_str_t *user, ngx_adm_room_calls_issued_pt done, void *data);


typedef enum {
    NGX_ADM_ROOM_CALL_LOOK = 0,
    NGX_ADM_ROOM_CALL_ACTIVATE,        /* begin a new activation, unless
                                          active */
    NGX_ADM_ROOM_CALL_RESTART,         /* begin one, though active */
    NGX_ADM_ROOM_CALL_RESUME,          /* go on with the last activation, or
                                          begin the first one */
    NGX_ADM_ROOM_CALL_DEACTIVATE,
    NGX_ADM_ROOM_CALL_ADVANCE,         /* move the counter by value, as far
                                          as positions are issued */
    NGX_ADM_ROOM_CALL_SET_RATE,        /* set to value a second */
    NGX_ADM_ROOM_CALL_UNSET_RATE,
    NGX_ADM_ROOM_CALL_OPEN,            /* look, by which the script activates
                                          the room if its sale is open, as
                                          any call does */
    NGX_ADM_ROOM_CALL_CONFIG_ON        /* resume if inactive; never touch a
                                          room that is active */
} ngx_adm_room_calls_what_e;

/*
 * changed: whether the call did something (0: was active already, had no more
 * to let in); of _ADVANCE by how many.
 */
typedef void (*ngx_adm_room_calls_admin_pt)(void *data, ngx_int_t rc,
    int64_t changed, ngx_adm_room_t *room);

ngx_adm_redis_call_t *ngx_adm_room_calls_admin(ngx_adm_room_calls_what_e what,
    int64_t value, ngx_str_t *event, ngx_adm_event_conf_t *conf,
    ngx_adm_room_calls_admin_pt done, void *data);

/* moves the serving counter on, by the time that has passed */
ngx_adm_redis_call_t *ngx_adm_room_calls_step(ngx_str_t *event,
    ngx_adm_event_conf_t *conf, ngx_adm_room_calls_done_pt done, void *data);


#endif /* _NGX_ADM_ROOM_CALLS_H_INCLUDED_ */
