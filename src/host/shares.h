
/*
 * Copyright (C) 2026 the admission module authors
 *
 * In which events that no operator named a user is, and how many of them were
 * joined from an address: shares, in the zone, known by hashes with a secret
 * key.  A user's share lasts for as long as the user may be in the event
 * without being heard of, and counts in the share of the address from which it
 * was joined.  If there are too many, those unused for longest go: the bound
 * on all events still holds then.
 *
 * All functions want the zone's lock held, but for the one that hashes a
 * guest.
 */


#ifndef _NGX_ADM_HOST_SHARES_H_INCLUDED_
#define _NGX_ADM_HOST_SHARES_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/counter.h"
#include "zone.h"


#define NGX_ADM_UNLISTED_USER     4      /* most events of a user, */
#define NGX_ADM_UNLISTED_ADDRESS  16     /* and of an address */


/* the bound that is in the way */
typedef enum {
    NGX_ADM_BOUND_NONE = 0,
    NGX_ADM_LABEL_BOUND(ngx_adm_label_id)
} ngx_adm_bound_e;


/* a user who calls about an event that has no line of its own */
typedef struct {
    ngx_str_t                   event;
    ngx_str_t                   user;
    ngx_str_t                   address;    /* empty: none */

    /* taken by ngx_adm_unlisted_join(), and to be given back */
    unsigned                    charged:1;
    unsigned                    fresh:1;    /* the id was new */
    unsigned                    reserved:1;
} ngx_adm_guest_t;


/* hashes by which a guest is known */
typedef struct {
    uint64_t                    user;
    uint64_t                    address;
    uint64_t                    event;
} ngx_adm_guest_hash_t;


extern ngx_adm_zone_part_t  ngx_adm_shares_part;


void ngx_adm_guest_hash(ngx_adm_guest_t *guest, ngx_adm_guest_hash_t *gh);

/* which bound is in the way of a user, or of the address (0: there is none) */
ngx_adm_bound_e ngx_adm_shares_bound_locked(ngx_adm_zone_t *zone,
    ngx_adm_guest_hash_t *gh, ngx_uint_t address);

/* the user is in, for ttl ms; returns whether there was no share before */
ngx_uint_t ngx_adm_share_use_locked(ngx_adm_zone_t *zone,
    ngx_adm_guest_hash_t *gh, ngx_uint_t address, ngx_msec_t ttl);

/* the share ends in so many ms at the latest; 0: now */
void ngx_adm_share_shorten_locked(ngx_adm_zone_t *zone,
    ngx_adm_guest_hash_t *gh, ngx_msec_t left);

/* the user is no longer in; what was left behind is kept for ms */
void ngx_adm_share_left_locked(ngx_adm_zone_t *zone, ngx_adm_guest_hash_t *gh,
    ngx_msec_t ms);

void ngx_adm_shares_expire_locked(ngx_adm_zone_t *zone);


#endif /* _NGX_ADM_HOST_SHARES_H_INCLUDED_ */
