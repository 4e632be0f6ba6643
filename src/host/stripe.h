
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Counters in the zone.  Workers count in stripes, one for each worker's
 * number, so that they do not disturb each other.  A worker that replaces
 * another, or comes with a reload, goes on in the stripe of its number, even
 * while the old one still adds to it: nothing is lost, and nothing falls.
 * Lock-free.
 */


#ifndef _NGX_ADM_HOST_STRIPE_H_INCLUDED_
#define _NGX_ADM_HOST_STRIPE_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/counter.h"
#include "zone.h"


/* has each process that uses the zone count there */
extern ngx_adm_zone_part_t  ngx_adm_stripe_part;


/* the sum of all stripes: NGX_ADM_COUNTS numbers */
void ngx_adm_stripe_sum(ngx_atomic_uint_t *n);


#endif /* _NGX_ADM_HOST_STRIPE_H_INCLUDED_ */
