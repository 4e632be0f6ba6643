
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Sliding windows in the shared memory of a host, for when Redis does not
 * answer.  They have a share of the zone at most; when that is full the window
 * goes that was unused for longest.
 */


#ifndef _NGX_ADM_LIMIT_LOCAL_H_INCLUDED_
#define _NGX_ADM_LIMIT_LOCAL_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "../host/zone.h"
#include "parts.h"


extern ngx_adm_zone_part_t  ngx_adm_windows_part;


/*
 * Charges a request to all n windows (NGX_ADM_LIMITS_MAX at most); or to none,
 * if one that is not on trial is full.  Sets left and wait.  If the zone is
 * full of other things nothing is counted, and all pass.  Takes the zone's
 * lock.
 */
void ngx_adm_limit_local(ngx_adm_limit_t **limits, ngx_uint_t n);

/* takes back what was charged to a window; takes the zone's lock */
void ngx_adm_limit_local_back(ngx_adm_limit_t *limit);


#endif /* _NGX_ADM_LIMIT_LOCAL_H_INCLUDED_ */
