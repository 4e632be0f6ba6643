
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Which worker of the host runs the schedule: the one that holds the lease, in
 * the zone, for as long as it keeps taking it.
 */


#ifndef _NGX_ADM_HOST_LEASE_H_INCLUDED_
#define _NGX_ADM_HOST_LEASE_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "zone.h"


#define NGX_ADM_LEASE  2000      /* ms without a beat, after which another
                                    worker takes over */


extern ngx_adm_zone_part_t  ngx_adm_lease_part;


/*
 * _take(): whether this worker runs the host's schedule for the next
 * NGX_ADM_LEASE ms; called by the holder it is a beat.  _leave(): gives the
 * lease up.  Both take the zone's lock.
 */
ngx_uint_t ngx_adm_lease_take(void);
void ngx_adm_lease_leave(void);

/* ms since the last beat; lock-free */
ngx_msec_t ngx_adm_lease_age(void);


#endif /* _NGX_ADM_HOST_LEASE_H_INCLUDED_ */
