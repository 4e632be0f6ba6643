
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The trail of a serving counter, in the zone: points that it passed, in the
 * order of time; the last one is what the room itself says.
 */


#ifndef _NGX_ADM_HOST_ROOM_TRAIL_H_INCLUDED_
#define _NGX_ADM_HOST_ROOM_TRAIL_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "event_node.h"


/* adds a point; in a full zone it takes the place of the oldest, or is lost */
void ngx_adm_room_trail_add_locked(ngx_adm_zone_t *zone,
    ngx_adm_event_node_t *en, int64_t time, int64_t position);

/* time of the last point; 0: there is none */
int64_t ngx_adm_room_trail_last_locked(ngx_adm_room_node_t *rn);

/* drops points that are not needed for times from "from" on */
void ngx_adm_room_trail_trim_locked(ngx_adm_zone_t *zone,
    ngx_adm_room_node_t *rn, int64_t from);
void ngx_adm_room_trail_free_locked(ngx_adm_zone_t *zone,
    ngx_adm_room_node_t *rn);

/* see ngx_adm_room_turn() */
int64_t ngx_adm_room_trail_turn_locked(ngx_adm_room_node_t *rn,
    int64_t position);
void ngx_adm_room_trail_copy_locked(ngx_adm_zone_t *zone,
    ngx_adm_event_node_t *en, ngx_adm_room_node_t *orn);


#endif /* _NGX_ADM_HOST_ROOM_TRAIL_H_INCLUDED_ */
