
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Which events have a line depends on the configuration, and workers may have
 * different ones while they replace each other.  So an event is looked at
 * whenever something is heard of it, and all events are when there is a new
 * configuration.  That an event counts is memory that the event has, so that
 * the number stays right whatever else happens.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/clock.h"
#include "event_work.h"
#include "unlisted.h"


#define NGX_ADM_UNLISTED_ASKED   3000    /* ms; more than Redis's timeout: by
                                            then a join has been answered, or
                                            the schedule has learned of the
                                            event */
#define NGX_ADM_UNLISTED_LOOK    1000    /* ms in which the schedule does */
#define NGX_ADM_UNLISTED_SILENT  300000  /* ms more than a user may be silent
                                            and in: by then the schedule has
                                            looked */
#define NGX_ADM_UNLISTED_SECOND  1000    /* ms: one line of the log, and
                                            questions about ids that the host
                                            does not know, */
#define NGX_ADM_UNLISTED_ASKS    10      /* at most */
#define NGX_ADM_UNLISTED_LOOKS   65536   /* events looked at, at once */

#define NGX_ADM_UNLISTED_LEFT    600000  /* ms for which Redis keeps what an
                                            event without users leaves: of
                                            new ids 4 times as many as events
                                            may have users may be made at
                                            once, and as many as that again
                                            in this time, */
#define NGX_ADM_UNLISTED_MADE    4


/* an event that counts; in memory of its own */
struct ngx_adm_unlisted_node_s {
    ngx_queue_t            queue;
    ngx_adm_event_node_t  *event;
    ngx_msec_t             until;    /* ms, if it is asked for */
    unsigned               asked:1;  /* it is in the queue of those */
};


typedef struct {
    ngx_queue_t                 events;     /* that have users, latest heard
                                               of first */
    ngx_queue_t                 asked;      /* that somebody is about to
                                               join, latest first */
    ngx_uint_t                  n;          /* in both queues */
    ngx_uint_t                  generation; /* of the configuration by which
                                               they were counted */

    ngx_msec_t                  logged;     /* ms, the last refusal; 0: never */
    ngx_msec_t                  looked;     /* ms, since when unknown ids
                                               were asked for */
    ngx_uint_t                  looks;      /* how many of them */

    ngx_uint_t                  made;       /* new ids of late: what they
                                               leave in Redis stays for a
                                               while */
    ngx_msec_t                  made_at;    /* ms, when it was so many */
} ngx_adm_unlisted_t;


#define ngx_adm_unlisted(zone)                                                \
    ((ngx_adm_unlisted_t *)                                                   \
        ngx_adm_zone_data(zone, &ngx_adm_unlisted_part))


static void ngx_adm_unlisted_empty(ngx_adm_zone_t *zone);
static ngx_uint_t ngx_adm_unlisted_is(ngx_str_t *event,
    ngx_adm_event_node_t *en);
static void ngx_adm_unlisted_recount_locked(ngx_adm_zone_t *zone);
static void ngx_adm_unlisted_trim_locked(ngx_adm_zone_t *zone);
static ngx_int_t ngx_adm_unlisted_make_node_locked(ngx_adm_zone_t *zone,
    ngx_adm_event_node_t *en);
static void ngx_adm_unlisted_free_locked(ngx_adm_zone_t *zone,
    ngx_adm_event_node_t *en);
static ngx_int_t ngx_adm_unlisted_reserve_locked(ngx_adm_zone_t *zone,
    ngx_str_t *event);
static void ngx_adm_unlisted_release_locked(ngx_adm_zone_t *zone,
    ngx_str_t *event);
static ngx_uint_t ngx_adm_unlisted_known(ngx_adm_event_node_t *en);
static ngx_uint_t ngx_adm_unlisted_nobody_locked(ngx_adm_zone_t *zone,
    ngx_adm_event_node_t *en);
static ngx_uint_t ngx_adm_unlisted_made_locked(ngx_adm_zone_t *zone,
    ngx_uint_t limit);
static ngx_msec_t ngx_adm_unlisted_ttl(void);


ngx_adm_zone_part_t  ngx_adm_unlisted_part = {
    .size = sizeof(ngx_adm_unlisted_t),
    .empty = ngx_adm_unlisted_empty,
    .event_free = ngx_adm_unlisted_free_locked };


/* this worker's configuration; NULL: the process is no worker */
static ngx_adm_main_conf_t  *ngx_adm_unlisted_conf;
static ngx_msec_t            ngx_adm_unlisted_asked;


static void
ngx_adm_unlisted_empty(ngx_adm_zone_t *zone)
{
    ngx_adm_unlisted_t  *ul;

    ul = ngx_adm_unlisted(zone);

    ngx_queue_init(&ul->events);
    ngx_queue_init(&ul->asked);

    ul->n = 0;
    ul->made = 0;
}


void
ngx_adm_unlisted_use(ngx_adm_main_conf_t *mcf)
{
    ngx_adm_zone_t  *zone;

    zone = ngx_adm_zone;

    ngx_adm_unlisted_conf = mcf;
    ngx_adm_unlisted_asked = NGX_ADM_UNLISTED_ASKED;

    if (mcf->redis) {
        ngx_adm_unlisted_asked += mcf->redis->timeout;
    }

    ngx_adm_zone_lock(zone);

    if (ngx_adm_unlisted(zone)->generation < zone->generation) {
        ngx_adm_unlisted(zone)->generation = zone->generation;
        ngx_adm_unlisted_recount_locked(zone);
    }

    ngx_adm_zone_unlock(zone);
}


/*
 * counts anew the latest used events; others are when something is heard of
 * them
 */

static void
ngx_adm_unlisted_recount_locked(ngx_adm_zone_t *zone)
{
    ngx_uint_t             n;
    ngx_queue_t           *q;
    ngx_adm_event_node_t  *en;

    for (q = ngx_queue_head(&ngx_adm_events(zone)->lru), n = 0;
         q != ngx_queue_sentinel(&ngx_adm_events(zone)->lru)
         && n < NGX_ADM_UNLISTED_LOOKS;
         q = ngx_queue_next(q), n++)
    {
        en = ngx_adm_event_in(q);

        ngx_adm_unlisted_locked(zone, en);
    }
}


void
ngx_adm_unlisted_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en)
{
    ngx_str_t                 id;
    ngx_uint_t                users, leaves;
    ngx_adm_unlisted_node_t  *un;

    un = en->unlisted;
    users = (en->state.size + en->state.active > 0);

    /* a worker that leaves does not know which lines there are now */

    leaves = (zone->generation < ngx_adm_unlisted(zone)->generation);

    if (un == NULL && (leaves || !users)) {
        return;
    }

    id.len = en->len;
    id.data = en->id;

    if ((!users && !un->asked)
        || (leaves ? ngx_adm_event_is_set_locked(en)
                   : !ngx_adm_unlisted_is(&id, en)))
    {
        ngx_adm_unlisted_free_locked(zone, en);
        return;
    }

    if (!users) {

        /* nobody has joined yet */

        return;
    }

    if (ngx_adm_unlisted_make_node_locked(zone, en) != NGX_OK) {
        return;
    }

    un = en->unlisted;
    un->asked = 0;

    ngx_queue_remove(&un->queue);
    ngx_queue_insert_head(&ngx_adm_unlisted(zone)->events, &un->queue);
}


/*
 * Whether it is an event, and not a named one.  Without a default line there
 * are none.  The master, which has no configuration here, does not know.
 */

static ngx_uint_t
ngx_adm_unlisted_is(ngx_str_t *event, ngx_adm_event_node_t *en)
{
    return ngx_adm_unlisted_conf
           && !ngx_adm_unlisted_conf->events_listed_only
           && ngx_adm_event_line(ngx_adm_unlisted_conf, event) == NULL
           && !(en && ngx_adm_event_is_set_locked(en));
}


/* a node that is made is in one of the queues */

static ngx_int_t
ngx_adm_unlisted_make_node_locked(ngx_adm_zone_t *zone,
    ngx_adm_event_node_t *en)
{
    ngx_adm_unlisted_node_t  *un;

    if (en->unlisted) {
        return NGX_OK;
    }

    un = ngx_adm_event_alloc_locked(zone, sizeof(ngx_adm_unlisted_node_t), en);
    if (un == NULL) {
        return NGX_DECLINED;
    }

    un->event = en;
    en->unlisted = un;

    ngx_queue_insert_head(&ngx_adm_unlisted(zone)->events, &un->queue);
    ngx_adm_unlisted(zone)->n++;

    return NGX_OK;
}


static void
ngx_adm_unlisted_free_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en)
{
    if (en->unlisted == NULL) {
        return;
    }

    ngx_queue_remove(&en->unlisted->queue);
    ngx_adm_unlisted(zone)->n--;

    ngx_slab_free_locked(zone->shpool, en->unlisted);
    en->unlisted = NULL;
}


/*
 * Drops joins that were not answered, or not heard of, and events that the
 * schedule no longer hears of: nothing counts for ever.
 */

static void
ngx_adm_unlisted_trim_locked(ngx_adm_zone_t *zone)
{
    ngx_msec_t                silent;
    ngx_uint_t                n;
    ngx_queue_t              *q;
    ngx_adm_unlisted_t       *ul;
    ngx_adm_unlisted_node_t  *un;

    ul = ngx_adm_unlisted(zone);

    while (!ngx_queue_empty(&ul->asked)) {
        q = ngx_queue_last(&ul->asked);
        un = ngx_queue_data(q, ngx_adm_unlisted_node_t, queue);

        if (!ngx_adm_is_over(un->until)) {
            break;
        }

        ngx_adm_unlisted_free_locked(zone, un->event);
    }

    silent = ngx_adm_unlisted_ttl() + NGX_ADM_UNLISTED_SILENT;

    for (n = 0; n < 8 && !ngx_queue_empty(&ul->events); n++) {
        q = ngx_queue_last(&ul->events);
        un = ngx_queue_data(q, ngx_adm_unlisted_node_t, queue);

        if (ngx_adm_ms_since(un->event->synced) < silent) {
            return;
        }

        ngx_adm_unlisted_free_locked(zone, un->event);
    }
}


/* ms for which a user may be in without being heard of */

static ngx_msec_t
ngx_adm_unlisted_ttl(void)
{
    ngx_adm_event_conf_t  *conf;

    conf = &ngx_adm_unlisted_conf->event_default;

    return ngx_max(conf->active_ttl, conf->seen_ttl);
}


ngx_adm_bound_e
ngx_adm_unlisted_join(ngx_adm_guest_t *guest, ngx_uint_t dry_run,
    ngx_uint_t *empty)
{
    ngx_uint_t             limit, known, fresh;
    ngx_adm_zone_t        *zone;
    ngx_adm_bound_e        bound;
    ngx_adm_event_node_t  *en;
    ngx_adm_guest_hash_t   gh;

    zone = ngx_adm_zone;
    limit = ngx_adm_unlisted_conf->event_default.unlisted;
    bound = NGX_ADM_BOUND_NONE;

    ngx_adm_guest_hash(guest, &gh);

    ngx_adm_zone_lock(zone);

    en = ngx_adm_event_lookup_locked(zone, &guest->event);

    if (!ngx_adm_unlisted_is(&guest->event, en)) {
        goto done;
    }

    ngx_adm_unlisted_trim_locked(zone);
    ngx_adm_shares_expire_locked(zone);

    bound = ngx_adm_shares_bound_locked(zone, &gh, guest->address.len);

    known = ngx_adm_unlisted_known(en);

    fresh = (!known && (en == NULL || en->state.epoch == 0));

    if (bound == NGX_ADM_BOUND_NONE
        && ((!known && ngx_adm_unlisted(zone)->n >= limit)
            || (fresh && ngx_adm_unlisted_made_locked(zone, limit)
                         >= NGX_ADM_UNLISTED_MADE * limit)))
    {
        bound = NGX_ADM_BOUND_EVENTS;
    }

    if (bound != NGX_ADM_BOUND_NONE && !dry_run) {

        *empty = ngx_adm_unlisted_nobody_locked(zone, en);

        goto done;
    }

    if (!known) {

        if (ngx_adm_unlisted_reserve_locked(zone, &guest->event) == NGX_OK) {
            guest->reserved = 1;
            guest->fresh = fresh;
            ngx_adm_unlisted(zone)->made += fresh;

        } else if (!dry_run) {

            /* no event that the schedule would look after */

            *empty = 0;
            bound = NGX_ADM_BOUND_EVENTS;

            goto done;
        }
    }

    guest->charged = ngx_adm_share_use_locked(zone, &gh, guest->address.len,
                                              ngx_adm_unlisted_ttl());

done:

    ngx_adm_zone_unlock(zone);

    return bound;
}


/* how many ids were new of late; the older they are the less they count */

static ngx_uint_t
ngx_adm_unlisted_made_locked(ngx_adm_zone_t *zone, ngx_uint_t limit)
{
    uint64_t             n;
    ngx_adm_unlisted_t  *ul;

    ul = ngx_adm_unlisted(zone);

    n = (uint64_t) ngx_adm_since(ul->made_at) * limit / NGX_ADM_UNLISTED_LEFT;

    if (n) {
        ul->made -= ngx_min(ul->made, n);
        ul->made_at = ngx_current_msec;
    }

    return ul->made;
}


/* whether somebody is in the event, or about to be */

static ngx_uint_t
ngx_adm_unlisted_known(ngx_adm_event_node_t *en)
{
    return en && (en->unlisted || en->state.size + en->state.active > 0);
}


/*
 * An operator may have set something of an event that this host never heard
 * of: Redis is asked, but less often than somebody can make up ids.
 */

static ngx_uint_t
ngx_adm_unlisted_nobody_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en)
{
    ngx_adm_unlisted_t  *ul;

    if (ngx_adm_unlisted_known(en)) {
        return 0;
    }

    if (en && en->state.epoch) {
        return 1;
    }

    /* another host has just told of it */

    if (en && en->working) {
        return 0;
    }

    ul = ngx_adm_unlisted(zone);

    if (ul->looks == 0 || ngx_adm_since(ul->looked) >= NGX_ADM_UNLISTED_SECOND)
    {
        ul->looked = ngx_current_msec;
        ul->looks = 0;
    }

    if (ul->looks >= NGX_ADM_UNLISTED_ASKS) {
        return 1;
    }

    ul->looks++;

    return 0;
}


static ngx_int_t
ngx_adm_unlisted_reserve_locked(ngx_adm_zone_t *zone, ngx_str_t *event)
{
    ngx_adm_event_node_t     *en;
    ngx_adm_unlisted_node_t  *un;

    en = ngx_adm_event_make_locked(zone, event);

    if (en == NULL || ngx_adm_unlisted_make_node_locked(zone, en) != NGX_OK) {
        return NGX_DECLINED;
    }

    un = en->unlisted;
    un->asked = 1;
    un->until = ngx_current_msec + ngx_adm_unlisted_asked;

    ngx_queue_remove(&un->queue);
    ngx_queue_insert_head(&ngx_adm_unlisted(zone)->asked, &un->queue);

    /* whoever asks may not stay for the answer */

    ngx_adm_event_soon_locked(zone, en, NGX_ADM_UNLISTED_LOOK);

    return NGX_OK;
}


static void
ngx_adm_unlisted_release_locked(ngx_adm_zone_t *zone, ngx_str_t *event)
{
    ngx_adm_event_node_t  *en;

    en = ngx_adm_event_lookup_locked(zone, event);

    if (en && en->unlisted && en->unlisted->asked) {
        ngx_adm_unlisted_free_locked(zone, en);
    }
}


void
ngx_adm_unlisted_in(ngx_adm_guest_t *guest)
{
    ngx_adm_zone_t        *zone;
    ngx_adm_event_node_t  *en;
    ngx_adm_guest_hash_t   gh;

    zone = ngx_adm_zone;

    ngx_adm_guest_hash(guest, &gh);

    ngx_adm_zone_lock(zone);

    en = ngx_adm_event_lookup_locked(zone, &guest->event);

    if (ngx_adm_unlisted_is(&guest->event, en)) {
        (void) ngx_adm_share_use_locked(zone, &gh, guest->address.len,
                                        ngx_adm_unlisted_ttl());

    } else {
        ngx_adm_share_shorten_locked(zone, &gh, 0);
    }

    ngx_adm_zone_unlock(zone);
}


void
ngx_adm_unlisted_out(ngx_adm_guest_t *guest, ngx_msec_t left)
{
    ngx_adm_zone_t        *zone;
    ngx_adm_guest_hash_t   gh;

    zone = ngx_adm_zone;

    ngx_adm_guest_hash(guest, &gh);

    ngx_adm_zone_lock(zone);

    if (left || guest->charged) {
        ngx_adm_share_shorten_locked(zone, &gh, left);

    } else {
        ngx_adm_share_left_locked(zone, &gh, NGX_ADM_UNLISTED_LEFT);
    }

    if (guest->reserved) {
        ngx_adm_unlisted_release_locked(zone, &guest->event);
    }

    ngx_adm_zone_unlock(zone);
}


/* without an answer a join may have been carried out all the same */

void
ngx_adm_unlisted_failed(ngx_adm_guest_t *guest, ngx_uint_t sent)
{
    ngx_adm_zone_t        *zone;
    ngx_adm_guest_hash_t   gh;

    zone = ngx_adm_zone;

    ngx_adm_guest_hash(guest, &gh);

    ngx_adm_zone_lock(zone);

    if (guest->fresh && ngx_adm_unlisted(zone)->made) {
        ngx_adm_unlisted(zone)->made--;
    }

    if (guest->charged) {
        ngx_adm_share_shorten_locked(zone, &gh,
                                     sent ? ngx_adm_unlisted_asked : 0);
    }

    if (guest->reserved && !sent) {
        ngx_adm_unlisted_release_locked(zone, &guest->event);
    }

    ngx_adm_zone_unlock(zone);
}


ngx_uint_t
ngx_adm_unlisted_refused(ngx_adm_bound_e bound)
{
    ngx_uint_t           log;
    ngx_adm_unlisted_t  *ul;

    ul = ngx_adm_unlisted(ngx_adm_zone);

    ngx_adm_count(NGX_ADM_COUNT_UNLISTED_REFUSED
                  + bound - NGX_ADM_BOUND_EVENTS);

    ngx_adm_zone_lock(ngx_adm_zone);

    log = (ul->logged == 0
           || ngx_adm_since(ul->logged)
              >= NGX_ADM_UNLISTED_SECOND);

    if (log) {
        ul->logged = ngx_adm_mark_now();
    }

    ngx_adm_zone_unlock(ngx_adm_zone);

    return log;
}


ngx_uint_t
ngx_adm_unlisted_events(void)
{
    ngx_uint_t  n;

    ngx_adm_zone_lock(ngx_adm_zone);

    ngx_adm_unlisted_trim_locked(ngx_adm_zone);

    n = ngx_adm_unlisted(ngx_adm_zone)->n;

    ngx_adm_zone_unlock(ngx_adm_zone);

    return n;
}
