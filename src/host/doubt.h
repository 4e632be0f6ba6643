
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Which revocations a host may have forgotten, and what Redis said when asked.
 * Redis is asked about tokens up to some time, in all events, where the table
 * of revocations had no room; and about tokens of any time of an event that
 * was itself forgotten, until that event is heard of again.
 *
 * Functions without _locked in their names take and release the zone's lock
 * themselves, briefly.
 */


#ifndef _NGX_ADM_HOST_DOUBT_H_INCLUDED_
#define _NGX_ADM_HOST_DOUBT_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "zone.h"


/* 128 bits of a hash of event and user */
typedef struct {
    uint64_t                    key;        /* the bucket: by its last bits */
    uint64_t                    rest;
} ngx_adm_revoked_hash_t;


extern ngx_adm_zone_part_t  ngx_adm_doubt_part;


#define ngx_adm_revoked_same(a, b)                                            \
    ((a)->key == (b)->key && (a)->rest == (b)->rest)

void ngx_adm_revoked_hash(ngx_adm_revoked_hash_t *hash, ngx_str_t *event,
    ngx_str_t *user);


/*
 * for how many ms a revocation matters at most, in a configuration with a
 * Redis
 */
void ngx_adm_revocations_keep(ngx_msec_t keep);

/*
 * How many revocations were forgotten too early since this was last asked; 0
 * within a second of that.  Tokens older than *age, s, are asked about.
 */
ngx_uint_t ngx_adm_revocations_lost(int64_t *age);

/*
 * What Redis said when asked at that time (ms): tokens of this user are
 * refused up to "revoked" (us; 0: none is).  Redis is not asked again for
 * NGX_ADM_REVOKED_ASK ms.
 */
#define NGX_ADM_REVOKED_ASK  1000

void ngx_adm_revoked_told(ngx_str_t *event, ngx_str_t *user, int64_t revoked,
    ngx_msec_t asked);


/* whether anything was forgotten; may be a moment late, as it takes no lock */
ngx_uint_t ngx_adm_doubt_any(ngx_adm_zone_t *zone);

/*
 * Whether what was forgotten may be about a token let in at adm; heard: the
 * host knows all revocations of its event.
 */
ngx_uint_t ngx_adm_doubt_locked(ngx_adm_zone_t *zone, int64_t adm,
    ngx_uint_t heard);

/*
 * the answer of Redis about a user of late, if there is one: as
 * ngx_adm_revoked()
 */
ngx_int_t ngx_adm_doubt_answered_locked(ngx_adm_zone_t *zone,
    ngx_adm_revoked_hash_t *hash, int64_t adm);

/* a revocation is forgotten before its time */
void ngx_adm_doubt_forget_locked(ngx_adm_zone_t *zone,
    ngx_adm_revoked_hash_t *hash, int64_t time, ngx_msec_t expire);

/* this zone has forgotten what the other one had */
void ngx_adm_doubt_add_locked(ngx_adm_zone_t *zone, ngx_adm_zone_t *ozone);


#endif /* _NGX_ADM_HOST_DOUBT_H_INCLUDED_ */
