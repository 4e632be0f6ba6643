
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Events whose backend is followed, in the zone: what is measured here, what
 * Redis's script decided for all hosts, and how it went in the last 15
 * minutes.
 */


#ifndef _NGX_ADM_HOST_FOLLOW_H_INCLUDED_
#define _NGX_ADM_HOST_FOLLOW_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "follow_call.h"
#include "measure.h"
#include "settings.h"
#include "zone.h"


#define NGX_ADM_FOLLOW_POINTS  90
#define NGX_ADM_FOLLOW_POINT   10        /* s */


/* some seconds of the past */
typedef struct {
    uint32_t     number;                 /* of ngx_current_msec, in those */
    uint32_t     rate;                   /* 1/1000 a second, as are limits of
                                            the last answer in it; */
    uint32_t     threshold;
    uint16_t     latency;                /* ms, the most of its answers; _NONE:
                                            not known */
    uint16_t     errors;                 /* 1/10000, likewise */
    uint16_t     requests;               /* a second */
    uint16_t     why;                    /* the last that limited */
} ngx_adm_follow_point_t;

#define NGX_ADM_FOLLOW_NONE    65535
#define NGX_ADM_FOLLOW_FREE    0xffffffff    /* of rate, threshold: none */


/* what is shown of an event */
typedef struct {
    ngx_adm_follow_t  told;              /* the last answer */
    ngx_msec_t        age;               /* ms since then */
} ngx_adm_followed_t;


extern ngx_adm_zone_part_t  ngx_adm_follow_part;


/* whether the backend is measured */
#define ngx_adm_is_followed(conf)                                             \
    ((conf)->backend_follow == NGX_ADM_BACKEND_DRY                            \
     || ((conf)->backend_follow == NGX_ADM_BACKEND_ON                         \
         && ((conf)->backend_latency || (conf)->backend_errors)))


/* All of these take the lock. */

/*
 * Of follow_worker.c.  A request of the user, by a hash, is under way, since
 * then, and is no more; so many answers there were.  The zone may have no room,
 * which the log is told.
 */
void ngx_adm_follow_open(ngx_str_t *event, uint32_t user, ngx_msec_t since);
void ngx_adm_follow_close(ngx_str_t *event, uint32_t user, ngx_msec_t since);
void ngx_adm_follow_add(ngx_str_t *event, ngx_adm_sample_t *samples,
    ngx_uint_t n);

/* the schedule looks after the event, if it is followed: so this host hears of
   it, though others have its requests */
void ngx_adm_follow_watch(ngx_str_t *event, ngx_adm_event_conf_t *conf);

/* NGX_DECLINED: nothing was told of it for as long as limits hold */
ngx_int_t ngx_adm_follow_get(ngx_str_t *event, ngx_adm_followed_t *followed);

/* the points that there are, the oldest first; returns how many */
ngx_uint_t ngx_adm_follow_history(ngx_str_t *event,
    ngx_adm_follow_point_t *points);


/* of follow.c, for follow_steps.c */

/*
 * Events of which Redis is to be told now; ids are pushed as ngx_str_t, of
 * pool.  A few are looked at, after the one of that key, which moves on; 0: at
 * the end.
 */
void ngx_adm_follow_due(ngx_pool_t *pool, ngx_array_t *ids,
    ngx_rbtree_key_t *key);

/* what is to be told; NGX_DECLINED: the event is not followed any more */
ngx_int_t ngx_adm_follow_take(ngx_str_t *event, ngx_adm_event_conf_t *conf,
    ngx_adm_measured_t *measured, ngx_adm_follow_t *known);

/* what was told; follow NULL: nothing, and nothing limits any more */
void ngx_adm_follow_note(ngx_str_t *event, ngx_adm_follow_t *follow);


#endif /* _NGX_ADM_HOST_FOLLOW_H_INCLUDED_ */
