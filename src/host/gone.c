
/*
 * Copyright (C) 2026 the admission module authors
 *
 * A new entry takes the place of the oldest, so that it is known from when on
 * all is remembered.  The ring is made for the first view, as large as there
 * is room for, and freed after the last.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "gone.h"


#define NGX_ADM_GONE_PART  16            /* of the zone, one part, at most */
#define NGX_ADM_GONE_MOST  262144        /* elements: they are cleared under the
                                            lock */
#define NGX_ADM_GONE_LEAST 64


/* an element of the ring, in the chain of a bucket */
typedef struct {
    uint64_t                    key;
    int64_t                     time;       /* us; 0: free */
    ngx_adm_event_node_t       *event;      /* an address only: it may be
                                               gone */
    uint32_t                    next;       /* in the chain, from 1; 0: its
                                               end */
    uint32_t                    first;      /* of the chain of the bucket that
                                               has this element's number */
} ngx_adm_gone_one_t;


typedef struct {
    ngx_uint_t                  max;        /* a power of 2 */
    ngx_uint_t                  last;       /* where the next goes */
    ngx_uint_t                  views;      /* views that need the ring */
    ngx_adm_gone_one_t         *ring;       /* NULL: there is none */
} ngx_adm_gone_t;


#define ngx_adm_gone_of(zone)                                                 \
    ((ngx_adm_gone_t *)                                                       \
        ngx_adm_zone_data(zone, &ngx_adm_gone_part))


static void ngx_adm_gone_empty(ngx_adm_zone_t *zone);
static ngx_uint_t ngx_adm_gone_yield(ngx_adm_zone_t *zone);
static uint32_t *ngx_adm_gone_find(ngx_adm_gone_t *gone, uint64_t key);
static void ngx_adm_gone_forget(ngx_adm_gone_t *gone, ngx_adm_gone_one_t *one);


ngx_adm_zone_part_t  ngx_adm_gone_part = {
    .size = sizeof(ngx_adm_gone_t),
    .empty = ngx_adm_gone_empty,
    .yield = ngx_adm_gone_yield };


static void
ngx_adm_gone_empty(ngx_adm_zone_t *zone)
{
    ngx_adm_gone_of(zone)->ring = NULL;
    ngx_adm_gone_of(zone)->views = 0;
}


static ngx_uint_t
ngx_adm_gone_yield(ngx_adm_zone_t *zone)
{
    ngx_adm_gone_t  *gone;

    gone = ngx_adm_gone_of(zone);

    if (gone->ring == NULL || gone->views) {
        return 0;
    }

    ngx_slab_free_locked(zone->shpool, gone->ring);
    gone->ring = NULL;

    return 1;
}


ngx_int_t
ngx_adm_gone_use_locked(ngx_adm_zone_t *zone)
{
    size_t           most;
    ngx_uint_t       n;
    ngx_adm_gone_t  *gone;

    gone = ngx_adm_gone_of(zone);

    if (gone->ring) {
        gone->views++;
        return NGX_OK;
    }

    most = zone->sh->size / NGX_ADM_GONE_PART / sizeof(ngx_adm_gone_one_t);

    for (n = NGX_ADM_GONE_MOST; n >= NGX_ADM_GONE_LEAST; n /= 2) {

        if (n > most) {
            continue;
        }

        gone->ring = ngx_slab_calloc_locked(zone->shpool,
                                            n * sizeof(ngx_adm_gone_one_t));
        if (gone->ring) {
            gone->max = n;
            gone->last = 0;
            gone->views++;

            return NGX_OK;
        }
    }

    return NGX_DECLINED;
}


void
ngx_adm_gone_unuse_locked(ngx_adm_zone_t *zone)
{
    ngx_adm_gone_of(zone)->views--;
}


int64_t
ngx_adm_gone_locked(ngx_adm_zone_t *zone, uint64_t key)
{
    uint32_t         found;
    ngx_adm_gone_t  *gone;

    gone = ngx_adm_gone_of(zone);

    found = *ngx_adm_gone_find(gone, key);

    return found ? gone->ring[found - 1].time : 0;
}


void
ngx_adm_gone_add_locked(ngx_adm_zone_t *zone, uint64_t key, int64_t time,
    ngx_adm_event_node_t *en, ngx_adm_gone_forgot_t *forgot)
{
    uint32_t            *link;
    ngx_adm_gone_t      *gone;
    ngx_adm_gone_one_t  *one;

    gone = ngx_adm_gone_of(zone);

    forgot->event = NULL;
    forgot->time = 0;

    link = ngx_adm_gone_find(gone, key);

    if (*link) {
        one = &gone->ring[*link - 1];

        if (one->time >= time) {
            return;
        }

        ngx_adm_gone_forget(gone, one);
    }

    one = &gone->ring[gone->last];

    if (one->time) {
        forgot->event = one->event;
        forgot->time = one->time;

        ngx_adm_gone_forget(gone, one);
    }

    one->key = key;
    one->time = time;
    one->event = en;

    link = &gone->ring[key & (gone->max - 1)].first;

    one->next = *link;
    *link = (uint32_t) (gone->last + 1);

    gone->last = (gone->last + 1) & (gone->max - 1);
}


/* the link to the element; it is 0 where there is none */

static uint32_t *
ngx_adm_gone_find(ngx_adm_gone_t *gone, uint64_t key)
{
    uint32_t  *link;

    link = &gone->ring[key & (gone->max - 1)].first;

    while (*link && gone->ring[*link - 1].key != key) {
        link = &gone->ring[*link - 1].next;
    }

    return link;
}


static void
ngx_adm_gone_forget(ngx_adm_gone_t *gone, ngx_adm_gone_one_t *one)
{
    uint32_t  *link;

    link = ngx_adm_gone_find(gone, one->key);

    *link = one->next;

    one->key = 0;
    one->time = 0;
}
