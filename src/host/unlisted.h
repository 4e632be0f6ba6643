
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Events that no operator named: neither by a line of their own nor by a
 * setting.  Anybody may make up such ids.  So only about so many of these
 * events may have users at a time ("unlisted=" of the "default" line), a user
 * may be in a few of them, and an address in some more, all as this host knows
 * it.  Only joins are bounded: who is in, or shows a place that counts, goes
 * on.
 *
 * An event counts while it has users, and from when somebody is about to join
 * it.  What users and addresses have of them is in shares, see shares.h.
 *
 * Functions without _locked in their names take and release the zone's lock
 * themselves, briefly.
 */


#ifndef _NGX_ADM_HOST_UNLISTED_H_INCLUDED_
#define _NGX_ADM_HOST_UNLISTED_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "event_node.h"
#include "settings.h"
#include "shares.h"
#include "zone.h"


extern ngx_adm_zone_part_t  ngx_adm_unlisted_part;


/* sets this worker's configuration, when it starts */
void ngx_adm_unlisted_use(ngx_adm_main_conf_t *mcf);

/*
 * Whether the guest may join the event; if so, takes from the bounds what that
 * takes (with dry_run in any case).  If not, says which bound is in the way.
 * *empty: as the host knows nobody is in the event, so neither is the guest;
 * also of ids that it does not know, but for a few a second, which an operator
 * may have named elsewhere.
 */
ngx_adm_bound_e ngx_adm_unlisted_join(ngx_adm_guest_t *guest,
    ngx_uint_t dry_run, ngx_uint_t *empty);

/*
 * What became of a call.  _in(): the guest is in, or waits; _out(): is not
 * (left is 0), or will not be in so many ms unless heard of; _failed(): nobody
 * knows, since no answer came (sent), or the call was not sent.  If the client
 * goes before the answer none of these is called, and it counts as if the
 * guest were in, until that ends by itself.
 */
void ngx_adm_unlisted_in(ngx_adm_guest_t *guest);
void ngx_adm_unlisted_out(ngx_adm_guest_t *guest, ngx_msec_t left);
void ngx_adm_unlisted_failed(ngx_adm_guest_t *guest, ngx_uint_t sent);

/* counts a refusal; returns 1 if it has to be logged: once a second */
ngx_uint_t ngx_adm_unlisted_refused(ngx_adm_bound_e bound);

/* how many of these events count */
ngx_uint_t ngx_adm_unlisted_events(void);

/*
 * Counts the event among those that no operator named, or no longer, after
 * what is known of it has changed.
 */
void ngx_adm_unlisted_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en);


#endif /* _NGX_ADM_HOST_UNLISTED_H_INCLUDED_ */
