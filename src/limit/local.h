
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Sliding windows in the shared memory of a host, for when Redis does not
 * answer.  They have a share of the zone at most: when it is full, the window
 * that was unused for longest goes.
 */


#ifndef _NGX_ADM_LIMIT_LOCAL_H_INCLUDED_
#define _NGX_ADM_LIMIT_LOCAL_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "../host/zone.h"
#include "parts.h"


extern ngx_adm_zone_part_t  ngx_adm_windows_part;


/*
 * Charges a request to all n windows (NGX_ADM_LIMITS_MAX at most)
 * or, if one that is not for a trial is full, to none.  Fills left and wait.
 * In a zone that is full of other things nothing is counted, and all pass.
 * Takes the zone's lock.
 */
void ngx_adm_limit_local(ngx_adm_limit_t **limits, ngx_uint_t n);

/* takes back what was charged to a window; takes the zone's lock */
void ngx_adm_limit_local_back(ngx_adm_limit_t *limit);

/*
 * Says whether Redis answered a request.  Returns 1 for the one that is the
 * first of the host to see a change, which is to be logged.  Lock-free.
 */
ngx_uint_t ngx_adm_limit_changed(ngx_uint_t answered);

/*
 * For how long, in ms, Redis has not, from the first request that it left to
 * "fail=" to the last: this time, which is not counted yet.  *now: it still
 * does not, or nobody has found out.  Lock-free.
 */
ngx_msec_t ngx_adm_limit_alone(ngx_uint_t *now);


#endif /* _NGX_ADM_LIMIT_LOCAL_H_INCLUDED_ */
