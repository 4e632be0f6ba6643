
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The set vwr:active-events, where hosts tell each other of events whose
 * waiting room is active, or whose times an operator set.  It is in another
 * cluster slot than any event, so scripts cannot change it, and commands do.
 */


#ifndef _NGX_ADM_ROOM_LISTED_H_INCLUDED_
#define _NGX_ADM_ROOM_LISTED_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "../host/args.h"


/*
 * Gets all members; adds one; removes one that is no longer to be there.
 * Return as ngx_adm_set_call() does.
 */
ngx_adm_redis_call_t *ngx_adm_room_listed_all(ngx_adm_redis_done_pt done,
    void *data);
ngx_adm_redis_call_t *ngx_adm_room_listed_add(ngx_str_t *event,
    ngx_adm_redis_done_pt done, void *data);
ngx_adm_redis_call_t *ngx_adm_room_listed_remove(ngx_str_t *event,
    ngx_adm_redis_done_pt done, void *data);

/*
 * Adds an event; if that fails, whoever tells of it next tries again.
 * _active(): before its activation, so that others know where to look should
 * this host die at once; _again(): was removed, and is to be there after all;
 * _sale(): an operator set its times, active or not.
 */
void ngx_adm_room_listed_active(ngx_str_t *event);
void ngx_adm_room_listed_again(ngx_str_t *event);
void ngx_adm_room_listed_sale(ngx_str_t *event);


#endif /* _NGX_ADM_ROOM_LISTED_H_INCLUDED_ */
