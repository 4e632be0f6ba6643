
/*
 * Copyright (C) 2026 the admission module authors
 *
 * How the zone looks inside, for the files that work on it: zone.c,
 * events.c and revoked.c.  All of it is under the lock of the slab pool,
 * but for the offset; functions with _locked in their names want it held.
 */


#ifndef _NGX_HTTP_ADMISSION_ZONE_SHM_H_INCLUDED_
#define _NGX_HTTP_ADMISSION_ZONE_SHM_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_admission_zone.h"


/* an event; begins at the color of its rbtree node, whose key is a hash */
typedef struct {
    u_char                      color;
    u_char                      len;
    u_char                      working;    /* in the queue of the schedule */
    u_char                      marked;

    ngx_queue_t                 lru;
    ngx_queue_t                 work;

    ngx_msec_t                  mark;       /* when last marked */
    ngx_msec_t                  due;        /* when the next step is */
    ngx_msec_t                  busy;       /* when there last was work */
    ngx_msec_t                  restore;    /* until when data is restored */

    ngx_http_admission_event_state_t  state;

    u_char                      id[1];
} ngx_http_admission_event_node_t;


typedef struct {
    ngx_rbtree_t                events;
    ngx_rbtree_node_t           events_sentinel;
    ngx_queue_t                 lru;        /* of all events, latest first */
    ngx_queue_t                 work;       /* of those to be stepped */

    ngx_rbtree_t                revoked;
    ngx_rbtree_node_t           revoked_sentinel;
    ngx_queue_t                 revocations;    /* latest first */
    ngx_uint_t                  nrevoked;
    ngx_uint_t                  revoked_max;
    ngx_uint_t                  revoked_lost;   /* for want of room */

    ngx_atomic_t                offset;     /* Redis's time less the host's,
                                               ms */

    ngx_pid_t                   holder;     /* of the lease */
    ngx_msec_t                  beat;       /* its last */
} ngx_http_admission_shctx_t;


typedef struct {
    ngx_http_admission_shctx_t *sh;
    ngx_slab_pool_t            *shpool;
} ngx_http_admission_zone_t;


/* the zone of this process's configuration; set once, before any request */
extern ngx_http_admission_zone_t  *ngx_http_admission_zone;


/* a new zone, and one that takes over from another that may be in use */
void ngx_http_admission_events_init(ngx_http_admission_shctx_t *sh);
void ngx_http_admission_events_copy(ngx_http_admission_zone_t *zone,
    ngx_http_admission_zone_t *ozone);

/* the node of an event, by ngx_crc32_short() of its id; NULL: not known */
ngx_http_admission_event_node_t *ngx_http_admission_event_lookup_locked(
    ngx_http_admission_zone_t *zone, ngx_str_t *id, uint32_t hash);

void ngx_http_admission_revoked_init(ngx_http_admission_shctx_t *sh,
    size_t size);
void ngx_http_admission_revoked_copy(ngx_http_admission_zone_t *zone,
    ngx_http_admission_zone_t *ozone);


#endif /* _NGX_HTTP_ADMISSION_ZONE_SHM_H_INCLUDED_ */
