
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
 * Refuses entry tokens of a user who was let in up to time (us, the event's
 * clock), for keep ms, after which they have expired.  In a full zone the
 * oldest revocation is forgotten, and Redis is asked about tokens up to its
 * time for as long as that matters.
 */
void ngx_adm_revoke(ngx_str_t *event, ngx_str_t *user, int64_t time,
    ngx_msec_t keep);

/* how many are known; lock-free */
ngx_uint_t ngx_adm_revocations(void);

/*
 * Whether the entry token of a user let in at adm is good (NGX_OK), refused
 * (NGX_DECLINED), or has to be asked about (NGX_AGAIN), since what the host
 * had to forget may be about it; *older: it is of an earlier epoch.
 */
ngx_int_t ngx_adm_revoked(ngx_str_t *event, ngx_str_t *user, int64_t adm,
    ngx_uint_t *older);


#endif /* _NGX_ADM_HOST_REVOKED_H_INCLUDED_ */
