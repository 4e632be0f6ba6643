
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Users who came in, left, or stand otherwise than a place of theirs has it, as
 * a host knows of late: a ring of all events, found by a hash, for view.c.  All
 * of it is under the zone's lock.
 */


#ifndef _NGX_ADM_HOST_GONE_H_INCLUDED_
#define _NGX_ADM_HOST_GONE_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "zone.h"


extern ngx_adm_zone_part_t  ngx_adm_gone_part;


/* who had to be forgotten for another one */
typedef struct {
    ngx_adm_event_node_t       *event;      /* an address alone: it may be gone;
                                               NULL: nobody had to be */
    int64_t                     time;
} ngx_adm_gone_forgot_t;


/*
 * A view needs the ring, which is made if there is none, and does not need it
 * any more.  NGX_DECLINED: there is no room for it.
 */
ngx_int_t ngx_adm_gone_use_locked(ngx_adm_zone_t *zone);
void ngx_adm_gone_unuse_locked(ngx_adm_zone_t *zone);

/*
 * These are for events with a view alone, so that there is a ring.  Places of
 * the user up to that time, us of the event's clock, are to be asked
 * about; 0: nothing is known.  The key is ngx_adm_view_key().
 */
int64_t ngx_adm_gone_locked(ngx_adm_zone_t *zone, uint64_t key);

void ngx_adm_gone_add_locked(ngx_adm_zone_t *zone, uint64_t key, int64_t time,
    ngx_adm_event_node_t *en, ngx_adm_gone_forgot_t *forgot);


#endif /* _NGX_ADM_HOST_GONE_H_INCLUDED_ */
