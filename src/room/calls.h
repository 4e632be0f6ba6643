
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
 * rc NGX_OK: room is the state after it, which the host's memory has as
 * well.  NGX_ERROR: no answer; room is NULL.
 */
typedef void (*ngx_adm_room_calls_done_pt)(void *data, ngx_int_t rc,
    ngx_adm_room_t *room);


/*
 * Positions.  Those asked for by one worker in one turn of the event loop
 * (or while the call before is out) share one script call, in their order.
 */
typedef struct ngx_adm_assign_s  ngx_adm_assign_t;

/*
 * position 0: the waiting room is inactive, or, full being NGX_ADM_LINE_FULL or
 * _LONG, takes no more; at: us, the ticket's time
 */
typedef void (*ngx_adm_assign_done_pt)(void *data, ngx_int_t rc,
    int64_t position, int64_t at, ngx_uint_t full, ngx_adm_room_t *room);

/*
 * Completes by the deadline (ms, of ngx_current_msec), whatever the calls
 * take; unbound: one is given however many wait.  NULL: it could not be asked
 * for, no completion follows.  The request goes away: _cancel(); not after the
 * completion.
 */
ngx_adm_assign_t *ngx_adm_room_assign(ngx_str_t *event,
    ngx_adm_event_conf_t *conf, ngx_msec_t deadline, ngx_uint_t unbound,
    ngx_adm_assign_done_pt done, void *data);
void ngx_adm_room_assign_cancel(void *assign);


/*
 * The state of a waiting room that the host does not know, as host/look.h has
 * it; the answer is an ngx_adm_room_t.
 */
ngx_adm_look_t *ngx_adm_room_look_at(ngx_str_t *event,
    ngx_adm_event_conf_t *conf, ngx_adm_look_done_pt done, void *data);


/*
 * n positions by a call of their own: from first on, the tickets' times too, as
 * many as were issued; full is what is in the way of the others
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

/* user: whose one lot it is, the same as ever; NULL: nobody's */
ngx_adm_redis_call_t *ngx_adm_room_calls_issue(ngx_str_t *event,
    ngx_adm_event_conf_t *conf, ngx_uint_t n, ngx_uint_t unbound,
    ngx_str_t *user, ngx_adm_room_calls_issued_pt done, void *data);


typedef enum {
    NGX_ADM_ROOM_CALL_LOOK = 0,
    NGX_ADM_ROOM_CALL_ACTIVATE,        /* a new activation at 0, unless
                                          active */
    NGX_ADM_ROOM_CALL_RESTART,         /* the same, though active */
    NGX_ADM_ROOM_CALL_RESUME,          /* the last activation goes on; a new one
                                          if there was none */
    NGX_ADM_ROOM_CALL_DEACTIVATE,
    NGX_ADM_ROOM_CALL_ADVANCE,         /* by value, up to the last position
                                          issued */
    NGX_ADM_ROOM_CALL_SET_RATE,        /* to value a second */
    NGX_ADM_ROOM_CALL_UNSET_RATE,
    NGX_ADM_ROOM_CALL_OPEN,            /* looks: the script activates it if the
                                          sale is open, as any of them does */
    NGX_ADM_ROOM_CALL_CONFIG_ON        /* resumes if inactive; never touches an
                                          active event */
} ngx_adm_room_calls_what_e;

/*
 * changed: what it was about happened (0: was active already, caught up);
 * for _ADVANCE by how many.
 */
typedef void (*ngx_adm_room_calls_admin_pt)(void *data, ngx_int_t rc,
    int64_t changed, ngx_adm_room_t *room);

ngx_adm_redis_call_t *ngx_adm_room_calls_admin(ngx_adm_room_calls_what_e what,
    int64_t value, ngx_str_t *event, ngx_adm_event_conf_t *conf,
    ngx_adm_room_calls_admin_pt done, void *data);

/* moves the serving counter on, by the time passed */
ngx_adm_redis_call_t *ngx_adm_room_calls_step(ngx_str_t *event,
    ngx_adm_event_conf_t *conf, ngx_adm_room_calls_done_pt done, void *data);


#endif /* _NGX_ADM_ROOM_CALLS_H_INCLUDED_ */
