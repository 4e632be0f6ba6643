
/*
 * Copyright (C) 2026 the admission module authors
 *
 * That Redis does not answer for rate limits, and for how long.  What limits
 * go by meanwhile, local.h or "fail=" says.
 */


#ifndef _NGX_ADM_LIMIT_FALLBACK_H_INCLUDED_
#define _NGX_ADM_LIMIT_FALLBACK_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "../host/zone.h"


extern ngx_adm_zone_part_t  ngx_adm_fallback_part;


/*
 * Tells whether Redis answered a request.  Returns 1 to the first of the host
 * that sees a change, which is to be logged.  Lock-free.
 */
ngx_uint_t ngx_adm_limit_changed(ngx_uint_t answered);

/*
 * ms for which Redis has not answered this time, from the first request that
 * it left to "fail=" to the last; not counted yet. *now: it still does not, or
 * nobody has found out.  Lock-free.
 */
ngx_msec_t ngx_adm_limit_alone(ngx_uint_t *now);


#endif /* _NGX_ADM_LIMIT_FALLBACK_H_INCLUDED_ */
