
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What the workers of a host share of Redis: its time, whether it is in touch
 * with it, and what the log was told of its nodes.
 *
 * Lock-free but for what says so.
 */


#ifndef _NGX_ADM_HOST_TOUCH_H_INCLUDED_
#define _NGX_ADM_HOST_TOUCH_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "../redis/shared.h"
#include "zone.h"


extern ngx_adm_zone_part_t  ngx_adm_touch_part;


/* what the clients of all workers share */
ngx_adm_redis_shared_t *ngx_adm_touch_shared(void);

/*
 * Takes the time that Redis said it was, us, in an answer to what was issued
 * elapsed ms ago.  NGX_DECLINED, and a line in the log now and then: it can't
 * be, and nothing of that answer is to be believed.
 */
ngx_int_t ngx_adm_time_observed(int64_t redis, ngx_msec_t elapsed);

/* whether it ever did: until then times are the host's own, right or wrong */
ngx_uint_t ngx_adm_time_is_known(void);

/*
 * For how long, ms, this host has been in touch with Redis: no call was lost or
 * refused, no clock jumped and the schedule stood still at no time; 0: it was
 * not just now.
 */
ngx_msec_t ngx_adm_in_touch(void);

/* whether it is in touch again since the lease's holder last asked */
ngx_uint_t ngx_adm_regained(void);

/*
 * ms since Redis last answered this host well; NGX_DECLINED: it never did.  age
 * may be NULL.
 */
ngx_int_t ngx_adm_heard(ngx_msec_t *age);


#endif /* _NGX_ADM_HOST_TOUCH_H_INCLUDED_ */
