
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What a host has heard of numbers in waiting rooms and not told Redis yet, in
 * pages of bits, and the tables that it was told, in the zone with the rooms.
 * All of it together is bounded.  Marks for which there is no room are lost;
 * Redis is told so, and counts nobody as gone for it.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/clock.h"
#include "there_node.h"


/* one such part of the zone at most */
#define NGX_ADM_THERE_SHARE  16

/* s after which marks lapse, one of these: the kind of their page */
#define NGX_ADM_THERE_LEFT   0
#define NGX_ADM_THERE_LAPSE  30          /* at most */


/* the largest number that a ticket has */
#define NGX_ADM_THERE_NUMBER_MAX  9999999999


static void ngx_adm_there_make(ngx_adm_zone_t *zone);
static void ngx_adm_there_empty(ngx_adm_zone_t *zone);
static void ngx_adm_there_copy_part(ngx_adm_zone_t *zone,
    ngx_adm_zone_t *ozone);
static ngx_uint_t ngx_adm_there_yield(ngx_adm_zone_t *zone);

static void ngx_adm_there_mark(ngx_str_t *event, int64_t of, int64_t number,
    ngx_uint_t kind);
static void ngx_adm_there_gone_note_locked(ngx_adm_zone_t *zone,
    ngx_adm_there_node_t *tn, int64_t number, ngx_uint_t left);
static ngx_adm_there_page_t *ngx_adm_there_find_locked(
    ngx_adm_there_node_t *tn, ngx_uint_t kind, int64_t page);
static void ngx_adm_there_clear_locked(ngx_adm_zone_t *zone,
    ngx_adm_there_node_t *tn);


ngx_adm_zone_part_t  ngx_adm_there_part = {
    .size = sizeof(ngx_adm_there_t),
    .make = ngx_adm_there_make,
    .empty = ngx_adm_there_empty,
    .copy = ngx_adm_there_copy_part,
    .yield = ngx_adm_there_yield };


static const ngx_uint_t  ngx_adm_there_lapses[] = { 4, 10, 20, 30 };


static void
ngx_adm_there_make(ngx_adm_zone_t *zone)
{
    uint32_t  text[4];

    text[0] = (uint32_t) ngx_random();
    text[1] = (uint32_t) ngx_pid;
    text[2] = (uint32_t) ngx_time();
    text[3] = (uint32_t) ngx_cached_time->msec;

    ngx_adm_there(zone)->host =
                        ((int64_t) (ngx_random() & 0xfffff) << 32)
                        | ngx_murmur_hash2((u_char *) text, sizeof(text));
}


static void
ngx_adm_there_empty(ngx_adm_zone_t *zone)
{
    ngx_adm_there_t  *there;

    there = ngx_adm_there(zone);

    ngx_queue_init(&there->nodes);
    there->bytes = 0;
}


/* marks stay with the old zone, whose workers still tell them */

static void
ngx_adm_there_copy_part(ngx_adm_zone_t *zone, ngx_adm_zone_t *ozone)
{
    ngx_adm_there(zone)->host = ngx_adm_there(ozone)->host;
}


static ngx_uint_t
ngx_adm_there_yield(ngx_adm_zone_t *zone)
{
    ngx_queue_t           *nodes;
    ngx_adm_there_node_t  *tn;

    nodes = &ngx_adm_there(zone)->nodes;

    if (ngx_queue_empty(nodes)) {
        return 0;
    }

    tn = ngx_queue_data(ngx_queue_last(nodes), ngx_adm_there_node_t, queue);

    if (tn->npages) {
        tn->room->blind = 1;
    }

    ngx_adm_there_free_locked(zone, tn->room);

    return 1;
}


int64_t
ngx_adm_there_of(ngx_adm_room_t *room)
{
    return (room->order && room->drawn && room->ready) ? room->drawn
                                                       : room->activation;
}


void
ngx_adm_there_heard(ngx_str_t *event, int64_t of, int64_t number,
    ngx_uint_t next_poll)
{
    ngx_uint_t  i, lapse;

    lapse = NGX_ADM_THERE_LAPSE;

    for (i = 0; i < sizeof(ngx_adm_there_lapses) / sizeof(ngx_uint_t); i++) {

        if (2 * next_poll <= ngx_adm_there_lapses[i]) {
            lapse = ngx_adm_there_lapses[i];
            break;
        }
    }

    ngx_adm_there_mark(event, of, number, lapse);
}


void
ngx_adm_there_left(ngx_str_t *event, int64_t of, int64_t number)
{
    ngx_adm_there_mark(event, of, number, NGX_ADM_THERE_LEFT);
}


/* of somebody who left and came back the last one counts */

static void
ngx_adm_there_mark(ngx_str_t *event, int64_t of, int64_t number,
    ngx_uint_t kind)
{
    u_char                 bit;
    int64_t                index;
    ngx_uint_t             i, byte;
    ngx_adm_zone_t        *zone;
    ngx_adm_event_node_t  *en;
    ngx_adm_there_node_t  *tn;
    ngx_adm_there_page_t  *page;

    if (number < 1 || number > NGX_ADM_THERE_NUMBER_MAX) {
        return;
    }

    index = number / NGX_ADM_THERE_PAGE;
    byte = number % NGX_ADM_THERE_PAGE / 8;
    bit = 0x80 >> (number % 8);

    zone = ngx_adm_zone;

    ngx_adm_zone_lock(zone);

    en = ngx_adm_room_node_locked(zone, event);

    if (en == NULL
        || !en->active
        || ngx_adm_there_of(&en->room->room) != of)
    {
        goto unlock;
    }

    tn = ngx_adm_there_node_locked(zone, en->room);

    page = tn ? ngx_adm_there_page_locked(zone, tn, kind, index) : NULL;

    if (page == NULL) {
        en->room->blind = 1;
        goto unlock;
    }

    page->bits[byte] |= bit;

    ngx_adm_there_gone_note_locked(zone, tn, number,
                                   kind == NGX_ADM_THERE_LEFT);

    if (kind != NGX_ADM_THERE_LEFT) {
        page = ngx_adm_there_find_locked(tn, NGX_ADM_THERE_LEFT, index);

        if (page) {
            page->bits[byte] &= ~bit;
        }

        goto unlock;
    }

    for (i = 0; i < sizeof(ngx_adm_there_lapses) / sizeof(ngx_uint_t); i++) {
        page = ngx_adm_there_find_locked(tn, ngx_adm_there_lapses[i], index);

        if (page) {
            page->bits[byte] &= ~bit;
        }
    }

unlock:

    ngx_adm_zone_unlock(zone);
}


static void
ngx_adm_there_gone_note_locked(ngx_adm_zone_t *zone, ngx_adm_there_node_t *tn,
    int64_t number, ngx_uint_t left)
{
    ngx_int_t              place;
    ngx_uint_t             i;
    ngx_adm_there_gone_t  *gone;

    if (tn->gone == NULL && left) {
        tn->gone = ngx_adm_there_alloc_locked(zone,
                                              sizeof(ngx_adm_there_gone_t));
    }

    gone = tn->gone;

    if (gone == NULL
        || (!left && ngx_adm_since(gone->last) >= NGX_ADM_THERE_GONE_LIFE))
    {
        return;
    }

    place = -1;

    for (i = 0; i < NGX_ADM_THERE_GONE; i++) {

        if (gone->who[i].number == number) {
            gone->who[i].number = 0;
        }

        if (gone->who[i].number == 0
            || ngx_adm_since(gone->who[i].at) >= NGX_ADM_THERE_GONE_LIFE)
        {
            place = i;
        }
    }

    if (left && place >= 0) {
        gone->who[place].number = number;
        gone->who[place].at = ngx_current_msec;
        gone->last = ngx_current_msec;
    }
}


/*
 * by a table that knows of it, it is not counted any more; without one all are
 */

int64_t
ngx_adm_there_gone_locked(ngx_adm_there_node_t *tn, int64_t from, int64_t to)
{
    int64_t                n, number;
    ngx_uint_t             i, told;
    ngx_adm_there_gone_t  *gone;

    n = 0;
    gone = tn->gone;
    told = (tn->table.at && tn->table.of == tn->of);

    if (gone == NULL || ngx_adm_since(gone->last) >= NGX_ADM_THERE_GONE_LIFE) {
        return 0;
    }

    for (i = 0; i < NGX_ADM_THERE_GONE; i++) {
        number = gone->who[i].number;

        if (number > from && number <= to
            && ngx_adm_since(gone->who[i].at) < NGX_ADM_THERE_GONE_LIFE
            && (!told
                || ngx_adm_there_sum(&tn->table, number)
                   > ngx_adm_there_sum(&tn->table, number - 1)))
        {
            n++;
        }
    }

    return n;
}


/* what there is of an active room, for the numbers that it has now */

ngx_adm_there_node_t *
ngx_adm_there_node_locked(ngx_adm_zone_t *zone, ngx_adm_room_node_t *rn)
{
    int64_t                of;
    ngx_adm_there_node_t  *tn;

    of = ngx_adm_there_of(&rn->room);
    tn = rn->there;

    if (tn == NULL) {
        tn = ngx_adm_there_alloc_locked(zone, sizeof(ngx_adm_there_node_t));
        if (tn == NULL) {
            return NULL;
        }

        ngx_rbtree_init(&tn->pages, &tn->sentinel, ngx_rbtree_insert_value);
        ngx_queue_insert_head(&ngx_adm_there(zone)->nodes, &tn->queue);

        tn->of = of;
        tn->room = rn;
        rn->there = tn;
    }

    if (tn->of != of) {
        ngx_adm_there_clear_locked(zone, tn);

        tn->of = of;
        rn->blind = 0;
    }

    return tn;
}


/* no other part yields memory for it */

void *
ngx_adm_there_alloc_locked(ngx_adm_zone_t *zone, size_t size)
{
    void             *p;
    ngx_adm_there_t  *there;

    there = ngx_adm_there(zone);

    if (there->bytes + size > zone->sh->size / NGX_ADM_THERE_SHARE) {
        return NULL;
    }

    p = ngx_slab_calloc_locked(zone->shpool, size);

    if (p) {
        there->bytes += size;
    }

    return p;
}


static ngx_adm_there_page_t *
ngx_adm_there_find_locked(ngx_adm_there_node_t *tn, ngx_uint_t kind,
    int64_t index)
{
    ngx_rbtree_key_t    key;
    ngx_rbtree_node_t  *node;

    key = ngx_adm_there_key(kind, index);
    node = tn->pages.root;

    while (node != &tn->sentinel) {

        if (key == node->key) {
            return (ngx_adm_there_page_t *) node;
        }

        node = (key < node->key) ? node->left : node->right;
    }

    return NULL;
}


ngx_adm_there_page_t *
ngx_adm_there_page_locked(ngx_adm_zone_t *zone, ngx_adm_there_node_t *tn,
    ngx_uint_t kind, int64_t index)
{
    ngx_adm_there_page_t  *page;

    page = ngx_adm_there_find_locked(tn, kind, index);

    if (page) {
        return page;
    }

    page = ngx_adm_there_alloc_locked(zone, sizeof(ngx_adm_there_page_t));

    if (page) {
        page->node.key = ngx_adm_there_key(kind, index);

        ngx_rbtree_insert(&tn->pages, &page->node);
        tn->npages++;
    }

    return page;
}


void
ngx_adm_there_drop_locked(ngx_adm_zone_t *zone, ngx_adm_there_node_t *tn,
    ngx_adm_there_page_t *page)
{
    ngx_rbtree_delete(&tn->pages, &page->node);
    tn->npages--;

    ngx_adm_there(zone)->bytes -= sizeof(ngx_adm_there_page_t);
    ngx_slab_free_locked(zone->shpool, page);
}


static void
ngx_adm_there_clear_locked(ngx_adm_zone_t *zone, ngx_adm_there_node_t *tn)
{
    while (tn->npages) {
        ngx_adm_there_drop_locked(zone, tn,
                                  (ngx_adm_there_page_t *) tn->pages.root);
    }

    if (tn->gone) {
        ngx_adm_there(zone)->bytes -= sizeof(ngx_adm_there_gone_t);
        ngx_slab_free_locked(zone->shpool, tn->gone);
        tn->gone = NULL;
    }

    ngx_adm_there_table_free_locked(zone, tn);
}


void
ngx_adm_there_table_free_locked(ngx_adm_zone_t *zone, ngx_adm_there_node_t *tn)
{
    ngx_adm_there_t  *there;

    there = ngx_adm_there(zone);

    if (tn->table.points) {
        there->bytes -= tn->table.n * (sizeof(ngx_adm_there_point_t) + 1);
        ngx_slab_free_locked(zone->shpool, tn->table.points);
    }

    ngx_memzero(&tn->table, sizeof(ngx_adm_there_table_t));
}


void
ngx_adm_there_free_locked(ngx_adm_zone_t *zone, ngx_adm_room_node_t *rn)
{
    ngx_adm_there_node_t  *tn;

    tn = rn->there;

    if (tn == NULL) {
        return;
    }

    ngx_adm_there_clear_locked(zone, tn);

    ngx_queue_remove(&tn->queue);
    ngx_adm_there(zone)->bytes -= sizeof(ngx_adm_there_node_t);
    ngx_slab_free_locked(zone->shpool, tn);

    rn->there = NULL;
}
