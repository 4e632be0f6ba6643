
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Between two points of a line users are taken to have come evenly: that is
 * off by no more than the points are apart, less than a thousandth of the line,
 * or 10.  How many were let in since the view was asked for is known from the
 * count of admissions, which every answer of Redis brings: all behind have
 * moved up by so many.
 *
 * When gone.c forgets somebody, for lack of room, the event does: places from
 * before that are asked about.
 *
 * All views together are bounded, and the one unused for longest goes first.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/clock.h"
#include "few.h"
#include "gone.h"
#include "range.h"
#include "view.h"


#define NGX_ADM_VIEW_PART      16        /* one such part of the zone is
                                            views, at most */
#define NGX_ADM_VIEW_RENEW     400       /* ms before a view is asked for
                                            again; steps come every 500 at
                                            most */
#define NGX_ADM_VIEW_WANTED    10000     /* ms after a look in which it is
                                            renewed, */
#define NGX_ADM_VIEW_KEPT      60000     /* and in which it is kept */
#define NGX_ADM_VIEW_RESUMED   30000     /* ms of absence after which it
                                            begins anew instead of asking for
                                            all who have gone meanwhile */
#define NGX_ADM_VIEW_HEAD      500       /* users, at least */

#define NGX_ADM_VIEW_USER      256       /* bytes */


typedef struct {
    ngx_rbtree_node_t           node;       /* of the event */
    ngx_queue_t                 lru;        /* latest wanted first */
    ngx_msec_t                  wanted;
    ngx_msec_t                  asked;      /* ms, last by a step */
    ngx_msec_t                  issued;     /* ms, for the view that there is */
    int64_t                     from;       /* us: who was gone before is not
                                               known; 0: nobody is */
    int64_t                     told;       /* us: who is gone is known up to
                                               then */
    ngx_uint_t                  reach;
    ngx_adm_view_news_t         news;       /* the view; npoints 0: none */
    size_t                      room;       /* bytes of its points */
} ngx_adm_view_node_t;


typedef struct {
    ngx_adm_few_t               few;
    ngx_queue_t                 lru;
    size_t                      bytes;      /* bytes of all points */
} ngx_adm_views_t;


#define ngx_adm_views_of(zone)                                                \
    ((ngx_adm_views_t *)                                                      \
        ngx_adm_zone_data(zone, &ngx_adm_view_part))


static void ngx_adm_view_empty(ngx_adm_zone_t *zone);
static ngx_uint_t ngx_adm_view_yield(ngx_adm_zone_t *zone);
static void ngx_adm_view_event_free(ngx_adm_zone_t *zone,
    ngx_adm_event_node_t *en);
static void ngx_adm_view_free_locked(ngx_adm_zone_t *zone,
    ngx_adm_view_node_t *vn);
static ngx_adm_view_node_t *ngx_adm_view_of_locked(ngx_adm_zone_t *zone,
    ngx_adm_event_node_t *en);
static ngx_adm_view_node_t *ngx_adm_view_want_locked(ngx_adm_zone_t *zone,
    ngx_adm_event_node_t *en);
static ngx_uint_t ngx_adm_view_is_good_locked(ngx_adm_event_node_t *en,
    ngx_adm_view_node_t *vn);
static int64_t ngx_adm_view_rank(ngx_adm_view_news_t *news, ngx_uint_t point);
static ngx_uint_t ngx_adm_view_reach(ngx_adm_event_conf_t *conf);
static ngx_int_t ngx_adm_view_points_locked(ngx_adm_zone_t *zone,
    ngx_adm_view_node_t *vn, ngx_adm_view_news_t *news);


ngx_adm_zone_part_t  ngx_adm_view_part = {
    .size = sizeof(ngx_adm_views_t),
    .empty = ngx_adm_view_empty,
    .yield = ngx_adm_view_yield,
    .event_free = ngx_adm_view_event_free };


static void
ngx_adm_view_empty(ngx_adm_zone_t *zone)
{
    ngx_adm_views_t  *views;

    views = ngx_adm_views_of(zone);

    ngx_adm_few_empty(&views->few);
    ngx_queue_init(&views->lru);

    views->bytes = 0;
}


static ngx_uint_t
ngx_adm_view_yield(ngx_adm_zone_t *zone)
{
    ngx_adm_views_t  *views;

    views = ngx_adm_views_of(zone);

    if (ngx_queue_empty(&views->lru)) {
        return 0;
    }

    ngx_adm_view_free_locked(zone, ngx_queue_data(ngx_queue_last(&views->lru),
                                                  ngx_adm_view_node_t, lru));
    return 1;
}


static void
ngx_adm_view_event_free(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en)
{
    ngx_adm_view_node_t  *vn;

    vn = ngx_adm_view_of_locked(zone, en);

    if (vn) {
        ngx_adm_view_free_locked(zone, vn);
    }
}


static void
ngx_adm_view_free_locked(ngx_adm_zone_t *zone, ngx_adm_view_node_t *vn)
{
    ngx_adm_views_t  *views;

    views = ngx_adm_views_of(zone);

    if (vn->news.points) {
        ngx_slab_free_locked(zone->shpool, vn->news.points);
        views->bytes -= vn->room;
    }

    ngx_queue_remove(&vn->lru);
    ngx_adm_few_free_locked(zone, &views->few, vn);
    ngx_adm_gone_unuse_locked(zone);
}


static ngx_adm_view_node_t *
ngx_adm_view_of_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en)
{
    return ngx_adm_few_of_locked(&ngx_adm_views_of(zone)->few, en);
}


/* the event's view, made if need be, as somebody asks for it; NULL: no room */

static ngx_adm_view_node_t *
ngx_adm_view_want_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en)
{
    ngx_adm_views_t      *views;
    ngx_adm_view_node_t  *vn;

    views = ngx_adm_views_of(zone);

    vn = ngx_adm_view_of_locked(zone, en);

    if (vn) {
        if (ngx_adm_since(vn->wanted) > NGX_ADM_VIEW_RENEW) {
            ngx_queue_remove(&vn->lru);
            ngx_queue_insert_head(&views->lru, &vn->lru);

            vn->wanted = ngx_current_msec;
        }

        return vn;
    }

    /* nothing is forgotten for it: the event can do without */

    if (ngx_adm_gone_use_locked(zone) != NGX_OK) {
        return NULL;
    }

    vn = ngx_slab_calloc_locked(zone->shpool, sizeof(ngx_adm_view_node_t));
    if (vn == NULL) {
        ngx_adm_gone_unuse_locked(zone);
        return NULL;
    }

    vn->wanted = ngx_current_msec;
    vn->asked = ngx_current_msec - NGX_ADM_VIEW_RENEW;

    ngx_adm_few_add_locked(&views->few, vn, en);
    ngx_queue_insert_head(&views->lru, &vn->lru);

    return vn;
}


uint64_t
ngx_adm_view_key(ngx_str_t *event, ngx_str_t *user)
{
    size_t   len;
    u_char  *p, text[NGX_ADM_EVENT_MAX + 1 + NGX_ADM_VIEW_USER];

    len = ngx_min(user->len, NGX_ADM_VIEW_USER);

    p = ngx_cpymem(text, event->data, ngx_min(event->len, NGX_ADM_EVENT_MAX));
    *p++ = ' ';
    p = ngx_cpymem(p, user->data, len);

    return ngx_adm_hash(&ngx_adm_zone->sh->hash_key, text, p - text);
}


ngx_int_t
ngx_adm_view_poll(ngx_str_t *event, ngx_adm_view_who_t *who,
    ngx_adm_view_t *view)
{
    ngx_int_t              rc;
    ngx_adm_event_node_t  *en;

    rc = NGX_AGAIN;

    ngx_adm_zone_lock(ngx_adm_zone);

    en = ngx_adm_event_lookup_locked(ngx_adm_zone, event);

    if (en && en->state.size > NGX_ADM_VIEW_HEAD) {
        rc = ngx_adm_view_look_locked(ngx_adm_zone, en, who, view);
    }

    ngx_adm_zone_unlock(ngx_adm_zone);

    return rc;
}


ngx_int_t
ngx_adm_view_look_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en,
    ngx_adm_view_who_t *who, ngx_adm_view_t *view)
{
    int64_t               position, moved;
    ngx_adm_view_node_t  *vn;

    if (en == NULL || en->state.epoch == 0) {
        return NGX_AGAIN;
    }

    vn = ngx_adm_view_want_locked(zone, en);

    if (vn == NULL || !ngx_adm_view_is_good_locked(en, vn)) {
        return NGX_AGAIN;
    }

    if (who->epoch != vn->news.epoch
        || who->at < vn->from
        || who->at <= en->state.clear
        || who->at <= ngx_adm_gone_locked(zone, who->key))
    {
        return NGX_DECLINED;
    }

    position = ngx_adm_view_position(&vn->news, who->score);

    if (position == 0) {
        return NGX_AGAIN;
    }

    moved = en->state.admitted - vn->news.admitted;

    position = ngx_max(position - ngx_max(moved, 0), 1);

    view->position = position;
    view->size = ngx_max(en->state.size, position);
    view->active = en->state.active;
    view->threshold = vn->news.threshold;
    view->slots = en->state.slots;
    view->sold = en->unsold ? -1 : en->state.sold;
    view->rate = vn->news.rate;
    view->clock = vn->news.clock;
    view->age = ngx_adm_since(vn->issued);
    view->head = (position <= (int64_t) vn->reach);

    return NGX_OK;
}


static ngx_uint_t
ngx_adm_view_is_good_locked(ngx_adm_event_node_t *en, ngx_adm_view_node_t *vn)
{
    return vn->news.npoints
           && vn->news.epoch == en->state.epoch
           && ngx_adm_since(vn->issued) <= NGX_ADM_VIEW_LIFE;
}


int64_t
ngx_adm_view_position(ngx_adm_view_news_t *news, int64_t score)
{
    double      part;
    int64_t     low, high, rank, next;
    ngx_uint_t  from, to, middle;

    /* the last point that is not later */

    from = 0;
    to = news->npoints;

    while (from < to) {
        middle = (from + to) / 2;

        if (news->points[middle] <= score) {
            from = middle + 1;

        } else {
            to = middle;
        }
    }

    if (from == 0) {
        return 1;
    }

    low = news->points[from - 1];
    rank = ngx_adm_view_rank(news, from - 1);

    if (low == score) {
        return rank + 1;
    }

    if (from == news->npoints) {
        return 0;
    }

    high = news->points[from];
    next = ngx_adm_view_rank(news, from);

    if (next - rank <= 1) {
        return rank + 2;
    }

    part = (double) (score - low) / (double) (high - low);
    part *= (double) (next - rank);

    /* between the two, who are at rank + 1 and next + 1 */

    return ngx_max(ngx_min(rank + 1 + (int64_t) (part + 0.5), next), rank + 2);
}


static int64_t
ngx_adm_view_rank(ngx_adm_view_news_t *news, ngx_uint_t point)
{
    if (point < news->exact) {
        return point;
    }

    return news->ranks[point - news->exact];
}


void
ngx_adm_view_gone(ngx_str_t *event, ngx_str_t *user, int64_t time)
{
    uint64_t               key;
    ngx_adm_view_node_t   *vn;
    ngx_adm_event_node_t  *en;
    ngx_adm_gone_forgot_t  forgot;

    if (ngx_adm_views_of(ngx_adm_zone)->few.n == 0) {
        return;
    }

    key = ngx_adm_view_key(event, user);

    ngx_adm_zone_lock(ngx_adm_zone);

    en = ngx_adm_event_lookup_locked(ngx_adm_zone, event);

    /* without a view all of the event is asked about anyway */

    if (ngx_adm_view_of_locked(ngx_adm_zone, en)) {

        ngx_adm_gone_add_locked(ngx_adm_zone, key, time, en, &forgot);

        vn = ngx_adm_view_of_locked(ngx_adm_zone, forgot.event);

        if (vn) {
            vn->from = ngx_max(vn->from, forgot.time + 1);
        }
    }

    ngx_adm_zone_unlock(ngx_adm_zone);
}


void
ngx_adm_view_from(ngx_str_t *event, ngx_adm_event_conf_t *conf,
    ngx_adm_view_scan_t *scan)
{
    ngx_adm_zone_t        *zone;
    ngx_adm_view_node_t   *vn;
    ngx_adm_event_node_t  *en;

    ngx_memzero(scan, sizeof(ngx_adm_view_scan_t));

    scan->since = -1;
    scan->asked = ngx_current_msec;

    zone = ngx_adm_zone;

    if (ngx_adm_views_of(zone)->few.n == 0) {
        return;
    }

    ngx_adm_zone_lock(zone);

    scan->life = zone->sh->life;

    en = ngx_adm_event_lookup_locked(zone, event);
    vn = ngx_adm_view_of_locked(zone, en);

    if (vn && ngx_adm_since(vn->wanted) > NGX_ADM_VIEW_KEPT) {
        ngx_adm_view_free_locked(zone, vn);
        vn = NULL;
    }

    if (vn
        && ngx_adm_since(vn->wanted) <= NGX_ADM_VIEW_WANTED
        && ngx_adm_since(vn->asked) >= NGX_ADM_VIEW_RENEW)
    {
        vn->asked = ngx_current_msec;

        scan->reach = ngx_adm_view_reach(conf);
        scan->exact = ngx_min(scan->reach, NGX_ADM_VIEW_EXACT);

        if (vn->from
            && vn->news.epoch == en->state.epoch
            && ngx_adm_since(vn->issued) < NGX_ADM_VIEW_RESUMED)
        {
            scan->since = vn->told;
        }
    }

    ngx_adm_zone_unlock(zone);
}


/*
 * How far admissions reach during the life of a view: a batch each interval,
 * and one more, as the first comes at once.
 */

static ngx_uint_t
ngx_adm_view_reach(ngx_adm_event_conf_t *conf)
{
    int64_t  batches;

    batches = NGX_ADM_VIEW_LIFE / ngx_max(conf->admit_interval, 1) + 2;

    return ngx_max(conf->admit_batch * batches, NGX_ADM_VIEW_HEAD);
}


void
ngx_adm_view_take(ngx_str_t *event, ngx_adm_view_scan_t *scan,
    ngx_adm_view_news_t *news)
{
    ngx_adm_zone_t        *zone;
    ngx_adm_view_node_t   *vn;
    ngx_adm_event_node_t  *en;

    zone = ngx_adm_zone;

    ngx_adm_zone_lock(zone);

    en = ngx_adm_event_lookup_locked(zone, event);
    vn = ngx_adm_view_of_locked(zone, en);

    if (vn == NULL
        || scan->life != zone->sh->life
        || news->epoch != en->state.epoch
        || (news->epoch == vn->news.epoch && news->clock < vn->news.clock))
    {
        /* nobody wants it any more, or a later view came first */
        goto unlock;
    }

    if (scan->since < 0 || news->epoch != vn->news.epoch) {

        /* from now on it is known who is gone */

        vn->from = ngx_max(vn->from, news->clock);
        vn->told = news->told;

    } else {
        vn->told = ngx_max(vn->told, news->told);

        if (!scan->gathers) {
            ngx_adm_view_pace_locked(zone, en, &vn->news, news);
        }
    }

    if (news->told < news->clock) {

        /*
         * not all who are gone have been told of yet: the next step is to
         * tell, now
         */

        vn->asked = ngx_current_msec - NGX_ADM_VIEW_RENEW;
        vn->news.npoints = 0;

    } else if (ngx_adm_view_points_locked(zone, vn, news) != NGX_OK) {
        vn->news.npoints = 0;
    }

    vn->news.epoch = news->epoch;
    vn->news.clock = news->clock;
    vn->issued = scan->asked;
    vn->reach = scan->reach;

unlock:

    ngx_adm_zone_unlock(zone);
}


/*
 * Keeps the points.  Memory for them is allocated by pages, so that mostly it
 * is there already.  NGX_DECLINED: there is none.
 */

static ngx_int_t
ngx_adm_view_points_locked(ngx_adm_zone_t *zone, ngx_adm_view_node_t *vn,
    ngx_adm_view_news_t *news)
{
    size_t            size, behind;
    int64_t          *points;
    ngx_queue_t      *last;
    ngx_adm_views_t  *views;

    views = ngx_adm_views_of(zone);

    behind = (news->npoints - news->exact) * sizeof(uint32_t);
    size = news->npoints * sizeof(int64_t) + behind;
    points = vn->news.points;

    if (size > vn->room) {

        if (points) {
            ngx_slab_free_locked(zone->shpool, points);
            views->bytes -= vn->room;

            vn->news.points = NULL;
            vn->room = 0;
        }

        size = ngx_align(size, ngx_pagesize);

        while (views->bytes + size > zone->sh->size / NGX_ADM_VIEW_PART
               || (points = ngx_slab_alloc_locked(zone->shpool, size)) == NULL)
        {
            last = ngx_queue_last(&views->lru);

            if (last == &vn->lru) {
                return NGX_DECLINED;
            }

            ngx_adm_view_free_locked(zone, ngx_queue_data(last,
                                                          ngx_adm_view_node_t,
                                                          lru));
        }

        views->bytes += size;
        vn->room = size;
    }

    if (news->npoints) {
        ngx_memcpy(points, news->points, news->npoints * sizeof(int64_t));
        ngx_memcpy(&points[news->npoints], news->ranks, behind);
    }

    vn->news = *news;
    vn->news.points = points;
    vn->news.ranks = points ? (uint32_t *) &points[news->npoints] : NULL;

    return NGX_OK;
}


ngx_uint_t
ngx_adm_views(ngx_msec_t *oldest)
{
    ngx_uint_t            n;
    ngx_queue_t          *q;
    ngx_adm_views_t      *views;
    ngx_adm_view_node_t  *vn;

    n = 0;
    *oldest = 0;
    views = ngx_adm_views_of(ngx_adm_zone);

    ngx_adm_zone_lock(ngx_adm_zone);

    for (q = ngx_queue_head(&views->lru);
         q != ngx_queue_sentinel(&views->lru);
         q = ngx_queue_next(q))
    {
        vn = ngx_queue_data(q, ngx_adm_view_node_t, lru);

        if (ngx_adm_since(vn->wanted) > NGX_ADM_VIEW_WANTED) {
            break;
        }

        if (vn->news.npoints
            && ngx_adm_since(vn->issued) <= NGX_ADM_VIEW_LIFE)
        {
            n++;
            *oldest = ngx_max(*oldest, ngx_adm_since(vn->issued));
        }
    }

    ngx_adm_zone_unlock(ngx_adm_zone);

    return n;
}


ngx_int_t
ngx_adm_view_age(ngx_str_t *event)
{
    ngx_int_t              age;
    ngx_adm_view_node_t   *vn;
    ngx_adm_event_node_t  *en;

    age = -1;

    ngx_adm_zone_lock(ngx_adm_zone);

    en = ngx_adm_event_lookup_locked(ngx_adm_zone, event);
    vn = ngx_adm_view_of_locked(ngx_adm_zone, en);

    if (vn && ngx_adm_view_is_good_locked(en, vn)) {
        age = (ngx_int_t) ngx_adm_since(vn->issued);
    }

    ngx_adm_zone_unlock(ngx_adm_zone);

    return age;
}
