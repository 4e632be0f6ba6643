
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What a host has heard of numbers goes to Redis with a step of the room, and
 * the table of who is there comes back with it.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_admission_names.h"
#include "../base/clock.h"
#include "range.h"
#include "there_node.h"


#define NGX_ADM_THERE_PAUSE  900         /* ms between two steps that tell */
#define NGX_ADM_THERE_TAKEN  64          /* pages of a step, at most */


static ngx_uint_t ngx_adm_there_due_locked(ngx_adm_zone_t *zone,
    ngx_adm_room_node_t *rn);
static void ngx_adm_there_take_locked(ngx_adm_zone_t *zone,
    ngx_adm_room_node_t *rn, ngx_adm_there_batch_t *batch, ngx_uint_t max);
static ngx_adm_there_batch_t *ngx_adm_there_batch(ngx_uint_t npages);
static void ngx_adm_there_groups(ngx_adm_there_batch_t *batch);


ngx_adm_there_batch_t *
ngx_adm_there_take(ngx_str_t *event)
{
    ngx_uint_t              n;
    ngx_adm_zone_t         *zone;
    ngx_adm_event_node_t   *en;
    ngx_adm_there_batch_t  *batch;

    zone = ngx_adm_zone;

    ngx_adm_zone_lock(zone);

    en = ngx_adm_room_node_locked(zone, event);

    n = (en && en->active) ? ngx_adm_there_due_locked(zone, en->room) : 0;

    ngx_adm_zone_unlock(zone);

    if (n == 0) {
        return NULL;
    }

    batch = ngx_adm_there_batch(n - 1);
    if (batch == NULL) {
        return NULL;
    }

    ngx_adm_zone_lock(zone);

    /* the room may be gone by now */

    en = ngx_adm_room_node_locked(zone, event);

    if (en == NULL || !en->active) {
        ngx_adm_zone_unlock(zone);
        ngx_free(batch);
        return NULL;
    }

    batch->of = ngx_adm_there_of(&en->room->room);
    batch->host = ngx_adm_there(zone)->host;
    batch->blind = en->room->blind;
    en->room->blind = 0;

    if (en->room->there) {
        ngx_adm_there_take_locked(zone, en->room, batch, n - 1);
    }

    ngx_adm_zone_unlock(zone);

    ngx_adm_there_groups(batch);

    return batch;
}


/*
 * How many pages a step has to take, and one; 0: nothing is due.  While
 * somebody waits the host asks for tables, as far as it has room for one.
 */

static ngx_uint_t
ngx_adm_there_due_locked(ngx_adm_zone_t *zone, ngx_adm_room_node_t *rn)
{
    ngx_adm_there_node_t  *tn;

    tn = rn->there;

    if (tn || rn->room.next > rn->room.serving) {
        tn = ngx_adm_there_node_locked(zone, rn);
    }

    if (tn == NULL) {
        return rn->blind ? 1 : 0;
    }

    if (tn->told
        && ngx_adm_since(tn->told) < NGX_ADM_THERE_PAUSE
        && tn->npages < NGX_ADM_THERE_TAKEN)
    {
        return 0;
    }

    return ngx_min(tn->npages, NGX_ADM_THERE_TAKEN) + 1;
}


static void
ngx_adm_there_take_locked(ngx_adm_zone_t *zone, ngx_adm_room_node_t *rn,
    ngx_adm_there_batch_t *batch, ngx_uint_t max)
{
    u_char                *p;
    ngx_uint_t             n;
    ngx_adm_there_node_t  *tn;
    ngx_adm_there_page_t  *page;

    tn = rn->there;

    batch->seen = tn->table.at;
    tn->told = ngx_adm_mark_now();

    ngx_queue_remove(&tn->queue);
    ngx_queue_insert_head(&ngx_adm_there(zone)->nodes, &tn->queue);

    p = batch->bits;

    for (n = 0; n < max && tn->npages; n++) {
        page = (ngx_adm_there_page_t *) ngx_rbtree_min(tn->pages.root,
                                                       &tn->sentinel);

        batch->kinds[n] = ngx_adm_there_kind(page->node.key);
        batch->pages[n] = ngx_adm_there_index(page->node.key)
                          * NGX_ADM_THERE_PAGE;

        p = ngx_cpymem(p, page->bits, sizeof(page->bits));

        ngx_adm_there_drop_locked(zone, tn, page);
    }

    batch->npages = n;

    if (n == 0 && tn->npages == 0 && rn->room.next <= rn->room.serving) {
        /* nobody waits */
        ngx_adm_there_free_locked(zone, rn);
    }
}


/* one block of memory, with all that it points to */

static ngx_adm_there_batch_t *
ngx_adm_there_batch(ngx_uint_t npages)
{
    u_char                 *p;
    size_t                  size;
    ngx_uint_t              texts;
    ngx_adm_there_batch_t  *batch;

    texts = NGX_ADM_EACH_VWR_STEP_COUNT * npages;

    size = texts * (sizeof(ngx_str_t) + NGX_INT64_LEN)
           + npages * (sizeof(ngx_uint_t) + sizeof(int64_t)
                       + NGX_ADM_THERE_PAGE / 8);

    batch = ngx_alloc(sizeof(ngx_adm_there_batch_t) + size, ngx_cycle->log);
    if (batch == NULL) {
        return NULL;
    }

    ngx_memzero(batch, sizeof(ngx_adm_there_batch_t));

    p = (u_char *) (batch + 1);

    batch->groups = (ngx_str_t *) p;
    p += texts * sizeof(ngx_str_t);

    batch->pages = (int64_t *) p;
    p += npages * sizeof(int64_t);

    batch->kinds = (ngx_uint_t *) p;
    p += npages * sizeof(ngx_uint_t);

    batch->bits = p;

    return batch;
}


/* pages next to each other make one group; digits of numbers are put last */

static void
ngx_adm_there_groups(ngx_adm_there_batch_t *batch)
{
    u_char      *p;
    ngx_str_t   *group;
    ngx_uint_t   i;

    group = NULL;
    p = batch->bits + batch->npages * (NGX_ADM_THERE_PAGE / 8);

    for (i = 0; i < batch->npages; i++) {

        if (group
            && batch->kinds[i] == batch->kinds[i - 1]
            && batch->pages[i] == batch->pages[i - 1] + NGX_ADM_THERE_PAGE)
        {
            group[NGX_ADM_EACH_VWR_STEP_BITS].len += NGX_ADM_THERE_PAGE / 8;
            continue;
        }

        group = &batch->groups[batch->n++ * NGX_ADM_EACH_VWR_STEP_COUNT];

        group[NGX_ADM_EACH_VWR_STEP_LAPSE].data = p;
        p = ngx_sprintf(p, "%ui", batch->kinds[i]);
        group[NGX_ADM_EACH_VWR_STEP_LAPSE].len =
                                  p - group[NGX_ADM_EACH_VWR_STEP_LAPSE].data;

        group[NGX_ADM_EACH_VWR_STEP_FIRST].data = p;
        p = ngx_sprintf(p, "%L", batch->pages[i]);
        group[NGX_ADM_EACH_VWR_STEP_FIRST].len =
                                  p - group[NGX_ADM_EACH_VWR_STEP_FIRST].data;

        group[NGX_ADM_EACH_VWR_STEP_BITS].data =
                               batch->bits + i * (NGX_ADM_THERE_PAGE / 8);
        group[NGX_ADM_EACH_VWR_STEP_BITS].len = NGX_ADM_THERE_PAGE / 8;
    }
}


void
ngx_adm_there_told(ngx_str_t *event, ngx_adm_there_batch_t *batch,
    ngx_uint_t failed)
{
    u_char                *p;
    ngx_uint_t             i, j;
    ngx_adm_zone_t        *zone;
    ngx_adm_event_node_t  *en;
    ngx_adm_there_node_t  *tn;
    ngx_adm_there_page_t  *page;

    if (!failed) {
        ngx_free(batch);
        return;
    }

    zone = ngx_adm_zone;

    ngx_adm_zone_lock(zone);

    en = ngx_adm_room_node_locked(zone, event);

    if (en && en->active && ngx_adm_there_of(&en->room->room) == batch->of
        && (batch->npages || en->room->there))
    {
        tn = ngx_adm_there_node_locked(zone, en->room);

        for (i = 0; i < batch->npages; i++) {

            page = tn ? ngx_adm_there_page_locked(zone, tn, batch->kinds[i],
                                                  batch->pages[i]
                                                  / NGX_ADM_THERE_PAGE)
                      : NULL;

            if (page == NULL) {
                batch->blind = 1;
                break;
            }

            p = batch->bits + i * (NGX_ADM_THERE_PAGE / 8);

            for (j = 0; j < NGX_ADM_THERE_PAGE / 8; j++) {
                page->bits[j] |= p[j];
            }
        }

        if (batch->blind) {
            en->room->blind = 1;
        }
    }

    ngx_adm_zone_unlock(zone);

    ngx_free(batch);
}


ngx_int_t
ngx_adm_there_note(ngx_str_t *event, int64_t of, int64_t at, int64_t first,
    ngx_str_t *text)
{
    u_char                 *bits;
    size_t                  size;
    int64_t                 before;
    ngx_uint_t              n;
    ngx_adm_zone_t         *zone;
    ngx_adm_event_node_t   *en;
    ngx_adm_there_node_t   *tn;
    ngx_adm_there_point_t  *points, *kept;

    if (text->len > NGX_ADM_THERE_TEXT) {
        return NGX_DECLINED;
    }

    points = ngx_alloc(NGX_ADM_THERE_POINTS
                       * (sizeof(ngx_adm_there_point_t) + 1), ngx_cycle->log);
    if (points == NULL) {
        return NGX_OK;
    }

    bits = (u_char *) &points[NGX_ADM_THERE_POINTS];

    if (ngx_adm_there_read(text, points, bits, &n) != NGX_OK) {
        ngx_free(points);
        return NGX_DECLINED;
    }

    size = n * (sizeof(ngx_adm_there_point_t) + 1);
    zone = ngx_adm_zone;

    ngx_adm_zone_lock(zone);

    en = ngx_adm_room_node_locked(zone, event);
    tn = (en && en->active) ? en->room->there : NULL;

    if (tn && tn->of == of && tn->table.at != at) {

        before = tn->table.at ? ngx_adm_there_waiting_locked(en->room) : -1;

        ngx_adm_there_table_free_locked(zone, tn);

        kept = n ? ngx_adm_there_alloc_locked(zone, size) : NULL;

        /* if there is no room for a table all count as there */

        if (kept || n == 0) {
            tn->table.of = of;
            tn->table.at = at;
            tn->table.first = first;
            tn->table.n = n;
            if (n) {
                tn->table.points = kept;
                tn->table.bits = (u_char *) &kept[n];

                ngx_memcpy(kept, points,
                           n * sizeof(ngx_adm_there_point_t));
                ngx_memcpy(tn->table.bits, bits, n);
            }

            if (before >= 0 && !en->held) {
                /*
                 * as if who is no longer there had left, and who is again had
                 * come
                 */
                before -= ngx_adm_there_waiting_locked(en->room);

                ngx_adm_range_note_locked(zone, en, NGX_ADM_RANGE_ROOM, 0, 0,
                                          before, 0);
            }
        }
    }

    ngx_adm_zone_unlock(zone);

    ngx_free(points);

    return NGX_OK;
}
