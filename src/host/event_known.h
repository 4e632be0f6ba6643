
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Whether a host that has started, or whose zone is new, has heard of an event:
 * before that it knows neither whether an operator holds the event nor who was
 * put out.
 */


#ifndef _NGX_ADM_HOST_EVENT_KNOWN_H_INCLUDED_
#define _NGX_ADM_HOST_EVENT_KNOWN_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "zone.h"


extern ngx_adm_zone_part_t  ngx_adm_known_part;


/*
 * Whether the host knows what there is to know of an event: a step told it, or
 * all of the list of events in Redis was read and the event is not in it.  Once
 * all events have been heard of it takes no lock.
 */
ngx_uint_t ngx_adm_event_is_known(ngx_str_t *id);

/* a step told it that was asked in that life of the zone; takes the lock */
void ngx_adm_event_known(ngx_str_t *id, ngx_uint_t life);

/* all of the list was read, in that life of the zone; takes the lock */
void ngx_adm_events_listed(ngx_uint_t life);

/*
 * A step was not answered, maybe of an event in the list, as where one node of
 * a cluster is away: not all have been heard of.
 */
void ngx_adm_events_missed(void);

/*
 * Touch was not lost for ms: if the list was read before that, all events in it
 * have been heard of by now, and nobody asks any more.  Takes the lock, until
 * it is so.
 */
void ngx_adm_events_learned(ngx_msec_t ms);


#endif /* _NGX_ADM_HOST_EVENT_KNOWN_H_INCLUDED_ */
