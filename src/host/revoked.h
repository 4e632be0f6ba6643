
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Entry tokens that ended early, as a host knows them.  Functions take and
 * release the zone's lock themselves, briefly.
 */


#ifndef _NGX_ADM_HOST_REVOKED_H_INCLUDED_
#define _NGX_ADM_HOST_REVOKED_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "zone.h"


extern ngx_adm_zone_part_t  ngx_adm_revoked_part;


/*
 * Refuses the entry tokens of a user let in up to time (µs, on the event's
 * clock) for keep ms from now, by when they have expired.  In a full zone
 * the oldest revocation goes, and tokens up to its time are to be asked about
 * from Redis for as long as it matters.
 */
void ngx_adm_revoke(ngx_str_t *event, ngx_str_t *user, int64_t time,
    ngx_msec_t keep);

/* how many are known; lock-free */
ngx_uint_t ngx_adm_revocations(void);

/*
 * Whether the entry token of a user let in at adm is good (NGX_OK), refused
 * (NGX_DECLINED), or Redis is to be asked (NGX_AGAIN), since what the host
 * had to forget may be about it; *older: it is of an earlier life of the data.
 */
ngx_int_t ngx_adm_revoked(ngx_str_t *event, ngx_str_t *user, int64_t adm,
    ngx_uint_t *older);


#endif /* _NGX_ADM_HOST_REVOKED_H_INCLUDED_ */
