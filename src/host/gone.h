
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Users who came in, left, or stand otherwise than a place of theirs says, as
 * a host has heard of late: a ring for all events, searched by a hash, for
 * view.c.  All of it is under the zone's lock.
 */


#ifndef _NGX_ADM_HOST_GONE_H_INCLUDED_
#define _NGX_ADM_HOST_GONE_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "zone.h"


extern ngx_adm_zone_part_t  ngx_adm_gone_part;


/* the entry that had to be forgotten */
typedef struct {
    ngx_adm_event_node_t       *event;      /* an address only: the event may
                                               be gone; NULL: nothing was
                                               forgotten */
    int64_t                     time;
} ngx_adm_gone_forgot_t;


/*
 * A view needs the ring, which is made if there is none; or needs it no
 * longer.  NGX_DECLINED: there is no room for it.
 */
ngx_int_t ngx_adm_gone_use_locked(ngx_adm_zone_t *zone);
void ngx_adm_gone_unuse_locked(ngx_adm_zone_t *zone);

/*
 * For events with a view only, so that there is a ring.  Places of the user up
 * to that time (us, the event's clock) have to be asked about; 0: nothing is
 * known. key is ngx_adm_view_key().
 */
int64_t ngx_adm_gone_locked(ngx_adm_zone_t *zone, uint64_t key);

void ngx_adm_gone_add_locked(ngx_adm_zone_t *zone, uint64_t key, int64_t time,
    ngx_adm_event_node_t *en, ngx_adm_gone_forgot_t *forgot);


#endif /* _NGX_ADM_HOST_GONE_H_INCLUDED_ */
