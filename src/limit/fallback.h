
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Rate limits while Redis does not answer for them: that it does not, and for
 * how long.  By what they go then is local.h's, or "fail=" says it.
 */


#ifndef _NGX_ADM_LIMIT_FALLBACK_H_INCLUDED_
#define _NGX_ADM_LIMIT_FALLBACK_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "../host/zone.h"


extern ngx_adm_zone_part_t  ngx_adm_fallback_part;


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


#endif /* _NGX_ADM_LIMIT_FALLBACK_H_INCLUDED_ */
