
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The trail of a serving counter, in shared memory: chunks of points, each
 * point as what it adds to the first one of its chunk.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "room_trail.h"


#define NGX_ADM_TRAIL_POINTS  27


typedef struct {
    uint32_t                    ms;
    uint32_t                    passed;
} ngx_adm_room_trail_point_t;


/* 256 bytes, as the slab allocator has them */
typedef struct {
    ngx_queue_t                         queue;
    int64_t                             time;       /* us */
    int64_t                             position;
    ngx_uint_t                          n;
    ngx_adm_room_trail_point_t    points[NGX_ADM_TRAIL_POINTS];
} ngx_adm_room_trail_chunk_t;


static ngx_adm_room_trail_chunk_t *ngx_adm_room_trail_chunk_locked(
    ngx_adm_zone_t *zone, ngx_adm_event_node_t *en);
static int64_t ngx_adm_room_trail_between(int64_t position, int64_t time,
    int64_t passed, int64_t last_time, int64_t last_passed);


#define ngx_adm_room_trail_time(tc, i)                                        \
    ((tc)->time + (int64_t) (tc)->points[i].ms * 1000)

#define ngx_adm_room_trail_position(tc, i)                                    \
    ((tc)->position + (int64_t) (tc)->points[i].passed)


void
ngx_adm_room_trail_add_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en,
    int64_t time, int64_t position)
{
    int64_t                            ms, passed;
    ngx_queue_t                       *trail;
    ngx_adm_room_trail_chunk_t  *tc;

    trail = &en->room->trail;
    tc = NULL;
    ms = 0;
    passed = 0;

    if (!ngx_queue_empty(trail)) {
        tc = ngx_queue_data(ngx_queue_last(trail),
                            ngx_adm_room_trail_chunk_t, queue);

        ms = (time - tc->time) / 1000;
        passed = position - tc->position;

        if (tc->n == NGX_ADM_TRAIL_POINTS
            || ms < 0 || ms > NGX_MAX_UINT32_VALUE
            || passed < 0 || passed > NGX_MAX_UINT32_VALUE)
        {
            tc = NULL;
        }
    }

    if (tc == NULL) {
        tc = ngx_adm_room_trail_chunk_locked(zone, en);

        if (tc == NULL) {
            return;
        }

        tc->time = time;
        tc->position = position;
        tc->n = 0;
        ms = 0;
        passed = 0;

        ngx_queue_insert_tail(trail, &tc->queue);
    }

    tc->points[tc->n].ms = (uint32_t) ms;
    tc->points[tc->n].passed = (uint32_t) passed;
    tc->n++;
}


/* if the zone is full the trail gets shorter */

static ngx_adm_room_trail_chunk_t *
ngx_adm_room_trail_chunk_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en)
{
    ngx_queue_t                       *q;
    ngx_adm_room_trail_chunk_t  *tc;

    tc = ngx_adm_event_alloc_locked(zone, sizeof(ngx_adm_room_trail_chunk_t),
                                    en);

    if (tc == NULL && !ngx_queue_empty(&en->room->trail)) {
        q = ngx_queue_head(&en->room->trail);
        ngx_queue_remove(q);

        tc = ngx_queue_data(q, ngx_adm_room_trail_chunk_t, queue);
    }

    return tc;
}


int64_t
ngx_adm_room_trail_last_locked(ngx_adm_room_node_t *rn)
{
    ngx_adm_room_trail_chunk_t  *tc;

    if (ngx_queue_empty(&rn->trail)) {
        return 0;
    }

    tc = ngx_queue_data(ngx_queue_last(&rn->trail),
                        ngx_adm_room_trail_chunk_t, queue);

    return ngx_adm_room_trail_time(tc, tc->n - 1);
}


void
ngx_adm_room_trail_trim_locked(ngx_adm_zone_t *zone, ngx_adm_room_node_t *rn,
    int64_t from)
{
    ngx_queue_t                       *q;
    ngx_adm_room_trail_chunk_t  *tc, *next;

    for ( ;; ) {
        q = ngx_queue_head(&rn->trail);

        if (q == ngx_queue_sentinel(&rn->trail)
            || q == ngx_queue_last(&rn->trail))
        {
            return;
        }

        tc = ngx_queue_data(q, ngx_adm_room_trail_chunk_t, queue);
        next = ngx_queue_data(ngx_queue_next(q),
                              ngx_adm_room_trail_chunk_t, queue);

        /* one point before those times stays, to show that they are known */

        if (next->time > from) {
            return;
        }

        ngx_queue_remove(q);
        ngx_slab_free_locked(zone->shpool, tc);
    }
}


void
ngx_adm_room_trail_free_locked(ngx_adm_zone_t *zone, ngx_adm_room_node_t *rn)
{
    ngx_queue_t                       *q;
    ngx_adm_room_trail_chunk_t  *tc;

    while (!ngx_queue_empty(&rn->trail)) {
        q = ngx_queue_head(&rn->trail);
        ngx_queue_remove(q);

        tc = ngx_queue_data(q, ngx_adm_room_trail_chunk_t, queue);
        ngx_slab_free_locked(zone->shpool, tc);
    }
}


int64_t
ngx_adm_room_trail_turn_locked(ngx_adm_room_node_t *rn, int64_t position)
{
    int64_t                            time, passed;
    ngx_uint_t                         i;
    ngx_queue_t                       *q;
    ngx_adm_room_trail_chunk_t  *tc;

    if (position > rn->room.serving) {
        return 0;
    }

    time = rn->moved;
    passed = rn->room.serving;

    for (q = ngx_queue_last(&rn->trail);
         q != ngx_queue_sentinel(&rn->trail);
         q = ngx_queue_prev(q))
    {
        tc = ngx_queue_data(q, ngx_adm_room_trail_chunk_t, queue);

        if (tc->position >= position) {
            time = tc->time;
            passed = tc->position;
            continue;
        }

        for (i = tc->n; i > 0; i--) {

            if (ngx_adm_room_trail_position(tc, i - 1) < position) {
                break;
            }

            time = ngx_adm_room_trail_time(tc, i - 1);
            passed = ngx_adm_room_trail_position(tc, i - 1);
        }

        return ngx_adm_room_trail_between(position,
                                  ngx_adm_room_trail_time(tc, i - 1),
                                  ngx_adm_room_trail_position(tc, i - 1),
                                  time, passed);
    }

    return time;
}


/* in ms, since with us the product with positions might be too large */

static int64_t
ngx_adm_room_trail_between(int64_t position, int64_t time, int64_t passed,
    int64_t last_time, int64_t last_passed)
{
    int64_t  ms;

    ms = (last_time - time) / 1000;

    return time + ms * (position - passed) / (last_passed - passed) * 1000;
}


void
ngx_adm_room_trail_copy_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en,
    ngx_adm_room_node_t *orn)
{
    ngx_uint_t                         i;
    ngx_queue_t                       *q;
    ngx_adm_room_trail_chunk_t  *tc;

    for (q = ngx_queue_head(&orn->trail);
         q != ngx_queue_sentinel(&orn->trail);
         q = ngx_queue_next(q))
    {
        tc = ngx_queue_data(q, ngx_adm_room_trail_chunk_t, queue);

        for (i = 0; i < tc->n; i++) {
            ngx_adm_room_trail_add_locked(zone, en,
                                          ngx_adm_room_trail_time(tc, i),
                                          ngx_adm_room_trail_position(tc, i));
        }
    }
}
