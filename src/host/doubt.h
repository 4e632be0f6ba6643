
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Which revocations a host may have forgotten, and what Redis said about those:
 * tokens up to a time are to be asked about, of all events where the table of
 * revocations had no room, and up to any time those of events that were
 * forgotten themselves, until such an event is heard of.
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
    uint64_t                    key;        /* its last bits: the bucket */
    uint64_t                    rest;
} ngx_adm_revoked_hash_t;


extern ngx_adm_zone_part_t  ngx_adm_doubt_part;


#define ngx_adm_revoked_same(a, b)                                            \
    ((a)->key == (b)->key && (a)->rest == (b)->rest)

void ngx_adm_revoked_hash(ngx_adm_revoked_hash_t *hash, ngx_str_t *event,
    ngx_str_t *user);


/* ms that a revocation matters at most, by a configuration with a Redis */
void ngx_adm_revocations_keep(ngx_msec_t keep);

/*
 * How many revocations were forgotten early since this last said so, once a
 * second at most; *age: tokens that are older, in s, are asked about.
 */
ngx_uint_t ngx_adm_revocations_lost(int64_t *age);

/*
 * Redis said, when asked at that time (ms), that tokens of this user are
 * refused up to revoked (µs; 0: none is): it is not asked again for
 * NGX_ADM_REVOKED_ASK ms.
 */
#define NGX_ADM_REVOKED_ASK  1000

void ngx_adm_revoked_told(ngx_str_t *event, ngx_str_t *user, int64_t revoked,
    ngx_msec_t asked);


/* something was forgotten; without the lock it may be so a moment ago */
ngx_uint_t ngx_adm_doubt_any(ngx_adm_zone_t *zone);

/*
 * Whether what was forgotten may be about a token let in at adm; heard: all
 * revocations of its event are known.
 */
ngx_uint_t ngx_adm_doubt_locked(ngx_adm_zone_t *zone, int64_t adm,
    ngx_uint_t heard);

/* what Redis said about it of late: as ngx_adm_revoked() */
ngx_int_t ngx_adm_doubt_answered_locked(ngx_adm_zone_t *zone,
    ngx_adm_revoked_hash_t *hash, int64_t adm);

/* a revocation goes before its time */
void ngx_adm_doubt_forget_locked(ngx_adm_zone_t *zone,
    ngx_adm_revoked_hash_t *hash, int64_t time, ngx_msec_t expire);

/* the zone forgot what the other one did */
void ngx_adm_doubt_add_locked(ngx_adm_zone_t *zone, ngx_adm_zone_t *ozone);


#endif /* _NGX_ADM_HOST_DOUBT_H_INCLUDED_ */
