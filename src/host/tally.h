
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What calls about events did, counted by the host whose call it was, and so
 * once over all hosts; and how many wait and are in, as the host knows.
 *
 * The busiest events, as many as the configuration says, have numbers of their
 * own: they are named.  What others do is counted together.  An event is named
 * as soon as something is known of it while there is a name left.  Later it
 * takes the name of the least busy one, once a second at most, if it is more
 * than twice as busy.  What was counted under a name ends with it: an event
 * that is named again begins anew.  The sums of all events never fall, whoever
 * is named or forgotten.
 *
 * Functions without _locked in their names take and release the zone's lock
 * themselves, briefly.
 */


#ifndef _NGX_ADM_HOST_TALLY_H_INCLUDED_
#define _NGX_ADM_HOST_TALLY_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/counter.h"
#include "event_node.h"
#include "settings.h"
#include "zone.h"


#define NGX_ADM_NAMES_MAX  1000


/* what a call about an event did; or, under a name, what all calls did */
typedef struct {
    uint64_t                    n[NGX_ADM_TALLIES];
} ngx_adm_tally_t;


/* a copy of a named event */
typedef struct {
    ngx_adm_event_state_t  state;
    ngx_adm_room_t         room;
    int64_t                there;    /* how many wait in it and are there */
    ngx_adm_tally_t        tally;
    ngx_msec_t             age;      /* since the last answer */
    unsigned               queue:1;  /* it has a queue, or had */
    unsigned               has_room:1;
    unsigned               unsold:1; /* what was sold is lost */
    ngx_str_t              id;       /* in the text */
    u_char                 text[NGX_ADM_EVENT_MAX];
} ngx_adm_named_t;


typedef struct {
    ngx_adm_sums_t         sums;
    ngx_adm_tally_t        others;   /* of events without a name */
    ngx_uint_t             n;
    ngx_adm_named_t       *named;
} ngx_adm_tallies_t;


extern ngx_adm_zone_part_t  ngx_adm_tally_part;


/* sets how many events this configuration names, when a worker starts */
void ngx_adm_tally_use(ngx_uint_t names);

/* counts n, for the event as well */
void ngx_adm_tally(ngx_str_t *event, ngx_adm_tally_e what, uint64_t n);

/* copies all of it; NGX_ERROR: no memory */
ngx_int_t ngx_adm_tallies(ngx_pool_t *pool, ngx_adm_tallies_t *tallies);

/* gives the event a name, if it may have one */
void ngx_adm_name_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en);

/* counts n, for the event as well; en NULL: the event is not known */
void ngx_adm_tally_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en,
    ngx_adm_tally_t *tally);


#endif /* _NGX_ADM_HOST_TALLY_H_INCLUDED_ */
