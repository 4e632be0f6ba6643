
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What the workers of a host share of Redis: its time, whether the host is in
 * touch with it, and what the log was told of its nodes.
 *
 * Lock-free but where a function says otherwise.
 */


#ifndef _NGX_ADM_HOST_TOUCH_H_INCLUDED_
#define _NGX_ADM_HOST_TOUCH_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "../redis/shared.h"
#include "zone.h"


extern ngx_adm_zone_part_t  ngx_adm_touch_part;


/* memory for what the clients of all workers share */
ngx_adm_redis_shared_t *ngx_adm_touch_shared(void);

/*
 * Takes the time (us) that Redis told in an answer to a call that was issued
 * "elapsed" ms ago.  NGX_DECLINED: it can't be, and nothing of that answer is
 * to be believed; the log is told now and then.
 */
ngx_int_t ngx_adm_time_observed(int64_t redis, ngx_msec_t elapsed);

/*
 * whether Redis ever told the time: until then times are by the host's own
 * clock
 */
ngx_uint_t ngx_adm_time_is_known(void);

/*
 * ms for which this host has been in touch with Redis: no call was lost or
 * refused, no clock jumped, the schedule never stood still; 0: something just
 * did.
 */
ngx_msec_t ngx_adm_in_touch(void);

/* whether the host came in touch again since the lease's holder last asked */
ngx_uint_t ngx_adm_regained(void);

/*
 * ms since a call to Redis was last answered well; NGX_DECLINED: none was. age
 * may be NULL.
 */
ngx_int_t ngx_adm_heard(ngx_msec_t *age);


#endif /* _NGX_ADM_HOST_TOUCH_H_INCLUDED_ */
