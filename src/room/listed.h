
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The set vwr:active-events, where hosts tell each other of events whose
 * waiting room is active, or of which an operator set times.  It is not of an
 * event's slot, so commands of their own change it.
 */


#ifndef _NGX_ADM_ROOM_LISTED_H_INCLUDED_
#define _NGX_ADM_ROOM_LISTED_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "../host/args.h"


/* all of them; adds one; takes out one that turned out not to be.  As
   ngx_adm_set_call(). */
ngx_adm_redis_call_t *ngx_adm_room_listed_all(ngx_adm_redis_done_pt done,
    void *data);
ngx_adm_redis_call_t *ngx_adm_room_listed_add(ngx_str_t *event,
    ngx_adm_redis_done_pt done, void *data);
ngx_adm_redis_call_t *ngx_adm_room_listed_remove(ngx_str_t *event,
    ngx_adm_redis_done_pt done, void *data);

/*
 * Adds an event; whoever tells of it next tries again if that fails.
 * _active(): ahead of its activation, so that others know where to look should
 * this host die with the next breath; _again(): one that was taken out, and
 * counts after all; _sale(): one of which an operator set the times, active or
 * not.
 */
void ngx_adm_room_listed_active(ngx_str_t *event);
void ngx_adm_room_listed_again(ngx_str_t *event);
void ngx_adm_room_listed_sale(ngx_str_t *event);


#endif /* _NGX_ADM_ROOM_LISTED_H_INCLUDED_ */
