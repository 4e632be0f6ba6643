
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Which events have a line is known from the configuration, which each worker
 * has its own of, while one replaces another: an event is looked at whenever
 * something is heard of it, and all of them when there is a new configuration.
 * That it counts is memory that the event has, so that the number is right
 * whatever else happens.
 *
 * A share is an event of a user or an address, told by hashes whose key
 * nobody knows.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_admission_zone_shm.h"


#define NGX_HTTP_ADMISSION_UNLISTED_ASKED   3000    /* ms, more than Redis's
                                                       timeout: a join has been
                                                       answered by then, or the
                                                       schedule has learned of
                                                       the event */
#define NGX_HTTP_ADMISSION_UNLISTED_LOOK    1000    /* ms, in which it does */
#define NGX_HTTP_ADMISSION_UNLISTED_SILENT  300000  /* ms longer than a user
                                                       can be silent and in;
                                                       the schedule has looked
                                                       by then */
#define NGX_HTTP_ADMISSION_UNLISTED_SECOND  1000    /* ms: one line of the log,
                                                       and questions to Redis
                                                       about ids that the host
                                                       does not know, */
#define NGX_HTTP_ADMISSION_UNLISTED_ASKS    10      /* at most */
#define NGX_HTTP_ADMISSION_UNLISTED_LOOKS   65536   /* at events at once */

#define NGX_HTTP_ADMISSION_UNLISTED_LEFT    600000  /* ms for which Redis keeps
                                                       what an event without
                                                       users leaves: 4 times as
                                                       many as may have users
                                                       may be made of new ids at
                                                       once, and as many as
                                                       that in this time, */
#define NGX_HTTP_ADMISSION_UNLISTED_MADE    4
#define NGX_HTTP_ADMISSION_UNLISTED_KEPT    8       /* and a user or an address
                                                       may have been in so many
                                                       times as many in this
                                                       time as at once */

#define NGX_HTTP_ADMISSION_SHARE_ROOM       1024    /* bytes of the zone for a
                                                       user's */
#define NGX_HTTP_ADMISSION_SHARES_MAX       256     /* kept of one */
#define NGX_HTTP_ADMISSION_SHARES_END       4096    /* that end at once */


/* an event that counts; in memory of its own */
struct ngx_http_admission_unlisted_node_s {
    ngx_queue_t                       queue;
    ngx_http_admission_event_node_t  *event;
    ngx_msec_t                        until;    /* of one that is asked for */
    unsigned                          asked:1;  /* its queue is asked */
};


struct ngx_http_admission_share_s {
    ngx_http_admission_share_t  *next;          /* in the bucket of who */
    uint64_t                     who;
    uint64_t                     event;

    /* of a user */
    ngx_queue_t                  queue;
    ngx_http_admission_share_t  *address;       /* where it counts; NULL: it
                                                   does not */
    ngx_msec_t                   expire;
    unsigned                     left:1;        /* the user is not in any more
                                                   */

    /* of an address */
    ngx_uint_t                   users;         /* 0: it is a user's */
    ngx_uint_t                   in;            /* of them, that have not left
                                                   */
};


/* what a guest is told by */
typedef struct {
    uint64_t                     user;
    uint64_t                     address;
    uint64_t                     event;
} ngx_http_admission_guest_hash_t;


static ngx_uint_t ngx_http_admission_unlisted_is(ngx_str_t *event,
    ngx_http_admission_event_node_t *en);
static void ngx_http_admission_unlisted_recount_locked(
    ngx_http_admission_zone_t *zone);
static void ngx_http_admission_unlisted_trim_locked(
    ngx_http_admission_zone_t *zone);
static ngx_int_t ngx_http_admission_unlisted_make_node_locked(
    ngx_http_admission_zone_t *zone, ngx_http_admission_event_node_t *en);
static ngx_int_t ngx_http_admission_unlisted_reserve_locked(
    ngx_http_admission_zone_t *zone, ngx_str_t *event);
static void ngx_http_admission_unlisted_release_locked(
    ngx_http_admission_zone_t *zone, ngx_str_t *event);

static ngx_uint_t ngx_http_admission_unlisted_known(
    ngx_http_admission_event_node_t *en);
static ngx_uint_t ngx_http_admission_unlisted_empty_locked(
    ngx_http_admission_zone_t *zone, ngx_http_admission_event_node_t *en);

static ngx_http_admission_bound_e ngx_http_admission_shares_bound_locked(
    ngx_http_admission_zone_t *zone, ngx_http_admission_guest_hash_t *gh,
    ngx_uint_t address);
static void ngx_http_admission_guest_hash(ngx_http_admission_guest_t *guest,
    ngx_http_admission_guest_hash_t *gh);
static ngx_http_admission_share_t **ngx_http_admission_share_lookup_locked(
    ngx_http_admission_zone_t *zone, uint64_t who, uint64_t event);
static ngx_uint_t ngx_http_admission_shares_locked(
    ngx_http_admission_zone_t *zone, uint64_t who, ngx_uint_t *in);
static void ngx_http_admission_share_left_locked(
    ngx_http_admission_zone_t *zone, ngx_http_admission_guest_hash_t *gh);
static ngx_uint_t ngx_http_admission_unlisted_made_locked(
    ngx_http_admission_zone_t *zone, ngx_uint_t limit);
static ngx_uint_t ngx_http_admission_share_use_locked(
    ngx_http_admission_zone_t *zone, ngx_http_admission_guest_hash_t *gh,
    ngx_uint_t address);
static ngx_http_admission_share_t *ngx_http_admission_share_new_locked(
    ngx_http_admission_zone_t *zone, uint64_t who, uint64_t event,
    ngx_http_admission_share_t *keep);
static void ngx_http_admission_share_shorten_locked(
    ngx_http_admission_zone_t *zone, ngx_http_admission_guest_hash_t *gh,
    ngx_msec_t left);
static void ngx_http_admission_share_delete_locked(
    ngx_http_admission_zone_t *zone, ngx_http_admission_share_t *share);
static void ngx_http_admission_shares_expire_locked(
    ngx_http_admission_zone_t *zone);
static void ngx_http_admission_shares_end_locked(
    ngx_http_admission_zone_t *zone, ngx_queue_t *shares);


/* of the configuration of this worker; NULL: it is none */
static ngx_http_admission_main_conf_t  *ngx_http_admission_unlisted_conf;
static ngx_msec_t                       ngx_http_admission_unlisted_asked;


void
ngx_http_admission_unlisted_use(ngx_http_admission_main_conf_t *mcf)
{
    ngx_http_admission_zone_t  *zone;

    zone = ngx_http_admission_zone;

    ngx_http_admission_unlisted_conf = mcf;
    ngx_http_admission_unlisted_asked = NGX_HTTP_ADMISSION_UNLISTED_ASKED;

    if (mcf->redis) {
        ngx_http_admission_unlisted_asked +=
                                ngx_http_admission_redis_timeout(mcf->redis);
    }

    ngx_http_admission_zone_lock(zone);

    if (zone->sh->unlisted.generation < zone->generation) {
        zone->sh->unlisted.generation = zone->generation;
        ngx_http_admission_unlisted_recount_locked(zone);
    }

    ngx_http_admission_zone_unlock(zone);
}


/* the latest used; others when something is heard of them */

static void
ngx_http_admission_unlisted_recount_locked(ngx_http_admission_zone_t *zone)
{
    ngx_uint_t                        n;
    ngx_queue_t                      *q;
    ngx_http_admission_event_node_t  *en;

    for (q = ngx_queue_head(&zone->sh->lru), n = 0;
         q != ngx_queue_sentinel(&zone->sh->lru)
         && n < NGX_HTTP_ADMISSION_UNLISTED_LOOKS;
         q = ngx_queue_next(q), n++)
    {
        en = ngx_queue_data(q, ngx_http_admission_event_node_t, lru);

        ngx_http_admission_unlisted_locked(zone, en);
    }
}


void
ngx_http_admission_unlisted_locked(ngx_http_admission_zone_t *zone,
    ngx_http_admission_event_node_t *en)
{
    ngx_str_t                            id;
    ngx_uint_t                           users, leaves;
    ngx_http_admission_unlisted_node_t  *un;

    un = en->unlisted;
    users = (en->state.size + en->state.active > 0);

    /* a worker that leaves does not know which lines there are now */

    leaves = (zone->generation < zone->sh->unlisted.generation);

    if (un == NULL && (leaves || !users)) {
        return;
    }

    id.len = en->len;
    id.data = en->id;

    if ((!users && !un->asked)
        || ngx_http_admission_event_is_set_locked(en)
        || (!leaves && !ngx_http_admission_unlisted_is(&id, en)))
    {
        ngx_http_admission_unlisted_free_locked(zone, en);
        return;
    }

    if (!users) {

        /* nobody has joined yet */

        return;
    }

    if (ngx_http_admission_unlisted_make_node_locked(zone, en) != NGX_OK) {
        return;
    }

    un = en->unlisted;
    un->asked = 0;

    ngx_queue_remove(&un->queue);
    ngx_queue_insert_head(&zone->sh->unlisted.events, &un->queue);
}


/*
 * An event, and not named.  Without a default line there are none.  The master,
 * which has no configuration here, does not know.
 */

static ngx_uint_t
ngx_http_admission_unlisted_is(ngx_str_t *event,
    ngx_http_admission_event_node_t *en)
{
    return ngx_http_admission_unlisted_conf
           && !ngx_http_admission_unlisted_conf->events_listed_only
           && !(en && ngx_http_admission_event_is_set_locked(en))
           && ngx_http_admission_event_line(ngx_http_admission_unlisted_conf,
                                            event)
              == NULL;
}


/* it is in some queue then */

static ngx_int_t
ngx_http_admission_unlisted_make_node_locked(ngx_http_admission_zone_t *zone,
    ngx_http_admission_event_node_t *en)
{
    ngx_http_admission_unlisted_node_t  *un;

    if (en->unlisted) {
        return NGX_OK;
    }

    un = ngx_http_admission_event_alloc_locked(zone,
                             sizeof(ngx_http_admission_unlisted_node_t), en);
    if (un == NULL) {
        return NGX_DECLINED;
    }

    un->event = en;
    en->unlisted = un;

    ngx_queue_insert_head(&zone->sh->unlisted.events, &un->queue);
    zone->sh->unlisted.n++;

    return NGX_OK;
}


void
ngx_http_admission_unlisted_free_locked(ngx_http_admission_zone_t *zone,
    ngx_http_admission_event_node_t *en)
{
    if (en->unlisted == NULL) {
        return;
    }

    ngx_queue_remove(&en->unlisted->queue);
    zone->sh->unlisted.n--;

    ngx_slab_free_locked(zone->shpool, en->unlisted);
    en->unlisted = NULL;
}


/*
 * Joins that were not answered, or not heard of, and events that the schedule
 * no longer hears of: nothing counts for ever.
 */

static void
ngx_http_admission_unlisted_trim_locked(ngx_http_admission_zone_t *zone)
{
    ngx_msec_t                           silent;
    ngx_uint_t                           n;
    ngx_queue_t                         *q;
    ngx_http_admission_event_conf_t     *conf;
    ngx_http_admission_unlisted_t       *ul;
    ngx_http_admission_unlisted_node_t  *un;

    ul = &zone->sh->unlisted;

    while (!ngx_queue_empty(&ul->asked)) {
        q = ngx_queue_last(&ul->asked);
        un = ngx_queue_data(q, ngx_http_admission_unlisted_node_t, queue);

        if ((ngx_msec_int_t) (un->until - ngx_current_msec) > 0) {
            break;
        }

        ngx_http_admission_unlisted_free_locked(zone, un->event);
    }

    conf = &ngx_http_admission_unlisted_conf->event_default;
    silent = ngx_max(conf->active_ttl, conf->seen_ttl)
             + NGX_HTTP_ADMISSION_UNLISTED_SILENT;

    for (n = 0; n < 8 && !ngx_queue_empty(&ul->events); n++) {
        q = ngx_queue_last(&ul->events);
        un = ngx_queue_data(q, ngx_http_admission_unlisted_node_t, queue);

        if (ngx_http_admission_zone_since(un->event->synced) < silent) {
            return;
        }

        ngx_http_admission_unlisted_free_locked(zone, un->event);
    }
}


ngx_http_admission_bound_e
ngx_http_admission_unlisted_join(ngx_http_admission_guest_t *guest,
    ngx_uint_t dry_run, ngx_uint_t *empty)
{
    ngx_uint_t                        limit, known, fresh;
    ngx_http_admission_zone_t        *zone;
    ngx_http_admission_bound_e        bound;
    ngx_http_admission_event_node_t  *en;
    ngx_http_admission_guest_hash_t   gh;

    zone = ngx_http_admission_zone;
    limit = ngx_http_admission_unlisted_conf->event_default.unlisted;
    bound = NGX_HTTP_ADMISSION_BOUND_NONE;

    ngx_http_admission_guest_hash(guest, &gh);

    ngx_http_admission_zone_lock(zone);

    en = ngx_http_admission_event_lookup_locked(zone, &guest->event);

    if (!ngx_http_admission_unlisted_is(&guest->event, en)) {
        goto done;
    }

    ngx_http_admission_unlisted_trim_locked(zone);
    ngx_http_admission_shares_expire_locked(zone);

    bound = ngx_http_admission_shares_bound_locked(zone, &gh,
                                                   guest->address.len);

    known = ngx_http_admission_unlisted_known(en);

    fresh = (!known && (en == NULL || en->state.epoch == 0));

    if (bound == NGX_HTTP_ADMISSION_BOUND_NONE
        && ((!known && zone->sh->unlisted.n >= limit)
            || (fresh && ngx_http_admission_unlisted_made_locked(zone, limit)
                         >= NGX_HTTP_ADMISSION_UNLISTED_MADE * limit)))
    {
        bound = NGX_HTTP_ADMISSION_BOUND_EVENTS;
    }

    if (bound != NGX_HTTP_ADMISSION_BOUND_NONE && !dry_run) {

        *empty = ngx_http_admission_unlisted_empty_locked(zone, en);

        goto done;
    }

    if (!known) {

        if (ngx_http_admission_unlisted_reserve_locked(zone, &guest->event)
            == NGX_OK)
        {
            guest->reserved = 1;
            guest->fresh = fresh;
            zone->sh->unlisted.made += fresh;

        } else if (!dry_run) {

            /* an event that nobody would look after */

            *empty = 0;
            bound = NGX_HTTP_ADMISSION_BOUND_EVENTS;

            goto done;
        }
    }

    guest->charged = ngx_http_admission_share_use_locked(zone, &gh,
                                                         guest->address.len);

done:

    ngx_http_admission_zone_unlock(zone);

    return bound;
}


/* how many ids were new of late, the earlier the less they count */

static ngx_uint_t
ngx_http_admission_unlisted_made_locked(ngx_http_admission_zone_t *zone,
    ngx_uint_t limit)
{
    uint64_t                        n;
    ngx_http_admission_unlisted_t  *ul;

    ul = &zone->sh->unlisted;

    n = (uint64_t) ngx_http_admission_zone_since(ul->made_at) * limit
        / NGX_HTTP_ADMISSION_UNLISTED_LEFT;

    if (n) {
        ul->made -= ngx_min(ul->made, n);
        ul->made_at = ngx_current_msec;
    }

    return ul->made;
}


/* somebody is in the event, or about to be */

static ngx_uint_t
ngx_http_admission_unlisted_known(ngx_http_admission_event_node_t *en)
{
    return en && (en->unlisted || en->state.size + en->state.active > 0);
}


/*
 * An operator may have set something of an event that the host never heard of:
 * Redis is asked, but not as often as somebody makes ids up.
 */

static ngx_uint_t
ngx_http_admission_unlisted_empty_locked(ngx_http_admission_zone_t *zone,
    ngx_http_admission_event_node_t *en)
{
    ngx_http_admission_unlisted_t  *ul;

    if (ngx_http_admission_unlisted_known(en)) {
        return 0;
    }

    if (en && en->state.epoch) {
        return 1;
    }

    /* another host has told of it just now */

    if (en && en->working) {
        return 0;
    }

    ul = &zone->sh->unlisted;

    if (ul->looks == 0
        || ngx_http_admission_zone_since(ul->looked)
           >= NGX_HTTP_ADMISSION_UNLISTED_SECOND)
    {
        ul->looked = ngx_current_msec;
        ul->looks = 0;
    }

    if (ul->looks >= NGX_HTTP_ADMISSION_UNLISTED_ASKS) {
        return 1;
    }

    ul->looks++;

    return 0;
}


/* what the user has is not in the way of itself */

static ngx_http_admission_bound_e
ngx_http_admission_shares_bound_locked(ngx_http_admission_zone_t *zone,
    ngx_http_admission_guest_hash_t *gh, ngx_uint_t address)
{
    ngx_uint_t                   all, in;
    ngx_http_admission_share_t  *share;

    share = *ngx_http_admission_share_lookup_locked(zone, gh->user, gh->event);

    if (share && !share->left) {
        return NGX_HTTP_ADMISSION_BOUND_NONE;
    }

    all = ngx_http_admission_shares_locked(zone, gh->user, &in);

    if (in >= NGX_HTTP_ADMISSION_UNLISTED_USER
        || (share == NULL && all >= NGX_HTTP_ADMISSION_UNLISTED_KEPT
                                    * NGX_HTTP_ADMISSION_UNLISTED_USER))
    {
        return NGX_HTTP_ADMISSION_BOUND_USER;
    }

    if (!address) {
        return NGX_HTTP_ADMISSION_BOUND_NONE;
    }

    share = *ngx_http_admission_share_lookup_locked(zone, gh->address,
                                                    gh->event);

    if (share && share->in) {
        return NGX_HTTP_ADMISSION_BOUND_NONE;
    }

    all = ngx_http_admission_shares_locked(zone, gh->address, &in);

    if (in >= NGX_HTTP_ADMISSION_UNLISTED_ADDRESS
        || (share == NULL && all >= NGX_HTTP_ADMISSION_UNLISTED_KEPT
                                    * NGX_HTTP_ADMISSION_UNLISTED_ADDRESS))
    {
        return NGX_HTTP_ADMISSION_BOUND_ADDRESS;
    }

    return NGX_HTTP_ADMISSION_BOUND_NONE;
}


static ngx_int_t
ngx_http_admission_unlisted_reserve_locked(ngx_http_admission_zone_t *zone,
    ngx_str_t *event)
{
    ngx_http_admission_event_node_t     *en;
    ngx_http_admission_unlisted_node_t  *un;

    en = ngx_http_admission_event_make_locked(zone, event);

    if (en == NULL
        || ngx_http_admission_unlisted_make_node_locked(zone, en) != NGX_OK)
    {
        return NGX_DECLINED;
    }

    un = en->unlisted;
    un->asked = 1;
    un->until = ngx_current_msec + ngx_http_admission_unlisted_asked;

    ngx_queue_remove(&un->queue);
    ngx_queue_insert_head(&zone->sh->unlisted.asked, &un->queue);

    /* whoever asks may not stay for the answer */

    ngx_http_admission_event_soon_locked(zone, en,
                                         NGX_HTTP_ADMISSION_UNLISTED_LOOK);

    return NGX_OK;
}


static void
ngx_http_admission_unlisted_release_locked(ngx_http_admission_zone_t *zone,
    ngx_str_t *event)
{
    ngx_http_admission_event_node_t  *en;

    en = ngx_http_admission_event_lookup_locked(zone, event);

    if (en && en->unlisted && en->unlisted->asked) {
        ngx_http_admission_unlisted_free_locked(zone, en);
    }
}


void
ngx_http_admission_unlisted_in(ngx_http_admission_guest_t *guest)
{
    ngx_http_admission_zone_t        *zone;
    ngx_http_admission_event_node_t  *en;
    ngx_http_admission_guest_hash_t   gh;

    zone = ngx_http_admission_zone;

    ngx_http_admission_guest_hash(guest, &gh);

    ngx_http_admission_zone_lock(zone);

    en = ngx_http_admission_event_lookup_locked(zone, &guest->event);

    if (ngx_http_admission_unlisted_is(&guest->event, en)) {
        (void) ngx_http_admission_share_use_locked(zone, &gh,
                                                   guest->address.len);

    } else {
        ngx_http_admission_share_shorten_locked(zone, &gh, 0);
    }

    ngx_http_admission_zone_unlock(zone);
}


void
ngx_http_admission_unlisted_out(ngx_http_admission_guest_t *guest,
    ngx_msec_t left)
{
    ngx_http_admission_zone_t        *zone;
    ngx_http_admission_guest_hash_t   gh;

    zone = ngx_http_admission_zone;

    ngx_http_admission_guest_hash(guest, &gh);

    ngx_http_admission_zone_lock(zone);

    if (left || guest->charged) {
        ngx_http_admission_share_shorten_locked(zone, &gh, left);

    } else {
        ngx_http_admission_share_left_locked(zone, &gh);
    }

    if (guest->reserved) {
        ngx_http_admission_unlisted_release_locked(zone, &guest->event);
    }

    ngx_http_admission_zone_unlock(zone);
}


/* a join may have been carried out though no answer came */

void
ngx_http_admission_unlisted_failed(ngx_http_admission_guest_t *guest,
    ngx_uint_t sent)
{
    ngx_http_admission_zone_t        *zone;
    ngx_http_admission_guest_hash_t   gh;

    zone = ngx_http_admission_zone;

    ngx_http_admission_guest_hash(guest, &gh);

    ngx_http_admission_zone_lock(zone);

    if (guest->fresh && zone->sh->unlisted.made) {
        zone->sh->unlisted.made--;
    }

    if (guest->charged) {
        ngx_http_admission_share_shorten_locked(zone, &gh,
                                 sent ? ngx_http_admission_unlisted_asked : 0);
    }

    if (guest->reserved && !sent) {
        ngx_http_admission_unlisted_release_locked(zone, &guest->event);
    }

    ngx_http_admission_zone_unlock(zone);
}


ngx_uint_t
ngx_http_admission_unlisted_refused(ngx_http_admission_bound_e bound)
{
    ngx_uint_t                      log;
    ngx_http_admission_unlisted_t  *ul;

    ul = &ngx_http_admission_zone->sh->unlisted;

    ngx_http_admission_zone_lock(ngx_http_admission_zone);

    ul->refused[bound]++;

    log = (ul->logged == 0
           || ngx_http_admission_zone_since(ul->logged)
              >= NGX_HTTP_ADMISSION_UNLISTED_SECOND);

    if (log) {
        ul->logged = ngx_current_msec ? ngx_current_msec : 1;
    }

    ngx_http_admission_zone_unlock(ngx_http_admission_zone);

    return log;
}


void
ngx_http_admission_unlisted_counts(
    ngx_http_admission_unlisted_counts_t *counts)
{
    ngx_http_admission_unlisted_t  *ul;

    ul = &ngx_http_admission_zone->sh->unlisted;

    ngx_http_admission_zone_lock(ngx_http_admission_zone);

    ngx_http_admission_unlisted_trim_locked(ngx_http_admission_zone);

    counts->events = ul->n;
    ngx_memcpy(counts->refused, ul->refused, sizeof(ul->refused));

    ngx_http_admission_zone_unlock(ngx_http_admission_zone);
}


size_t
ngx_http_admission_unlisted_size(size_t size)
{
    ngx_uint_t  n;

    /* a table of a quarter of what it may hold */

    size /= 4 * NGX_HTTP_ADMISSION_SHARE_ROOM;

    for (n = 1; n < size; n *= 2) { /* void */ }

    return n * sizeof(ngx_http_admission_share_t *);
}


ngx_int_t
ngx_http_admission_unlisted_make_locked(ngx_http_admission_zone_t *zone)
{
    size_t                          size;
    ngx_http_admission_unlisted_t  *ul;

    ul = &zone->sh->unlisted;
    size = ngx_http_admission_unlisted_size(zone->sh->size);

    ul->shares = ngx_http_admission_zone_keep_locked(zone, size);
    if (ul->shares == NULL) {
        return NGX_ERROR;
    }

    ul->max = zone->sh->size / NGX_HTTP_ADMISSION_SHARE_ROOM;
    ul->mask = size / sizeof(ngx_http_admission_share_t *) - 1;

    return NGX_OK;
}


void
ngx_http_admission_unlisted_init(ngx_http_admission_shctx_t *sh)
{
    ngx_http_admission_unlisted_t  *ul;

    ul = &sh->unlisted;

    ngx_memzero(ul->shares,
                (ul->mask + 1) * sizeof(ngx_http_admission_share_t *));

    ngx_queue_init(&ul->events);
    ngx_queue_init(&ul->asked);
    ngx_queue_init(&ul->users);
    ngx_queue_init(&ul->ending);
    ngx_queue_init(&ul->gone);
    ul->made = 0;

    ul->n = 0;
    ul->nusers = 0;
}


/* events are counted again by a worker; shares have another key now */

void
ngx_http_admission_unlisted_copy(ngx_http_admission_zone_t *zone,
    ngx_http_admission_zone_t *ozone)
{
    ngx_http_admission_zone_lock(ozone);

    ngx_memcpy(zone->sh->unlisted.refused, ozone->sh->unlisted.refused,
               sizeof(zone->sh->unlisted.refused));

    ngx_http_admission_zone_unlock(ozone);
}


static void
ngx_http_admission_guest_hash(ngx_http_admission_guest_t *guest,
    ngx_http_admission_guest_hash_t *gh)
{
    ngx_http_admission_hash_key_t  *key;

    key = &ngx_http_admission_zone->sh->hash_key;

    gh->user = ngx_http_admission_hash(key, guest->user.data, guest->user.len);
    gh->event = ngx_http_admission_hash(key, guest->event.data,
                                        guest->event.len);

    /* a user may be called as an address is */

    gh->address = ~ngx_http_admission_hash(key, guest->address.data,
                                           guest->address.len);
}


/* the link to it, or the one at the end of its bucket */

static ngx_http_admission_share_t **
ngx_http_admission_share_lookup_locked(ngx_http_admission_zone_t *zone,
    uint64_t who, uint64_t event)
{
    ngx_http_admission_share_t  **link;

    link = &zone->sh->unlisted.shares[who & zone->sh->unlisted.mask];

    while (*link && ((*link)->who != who || (*link)->event != event)) {
        link = &(*link)->next;
    }

    return link;
}


/* how many a user or an address has, and of those in which they are, *in */

static ngx_uint_t
ngx_http_admission_shares_locked(ngx_http_admission_zone_t *zone,
    uint64_t who, ngx_uint_t *in)
{
    ngx_uint_t                   n;
    ngx_http_admission_share_t  *share;

    n = 0;
    *in = 0;

    for (share = zone->sh->unlisted.shares[who & zone->sh->unlisted.mask];
         share;
         share = share->next)
    {
        if (share->who != who) {
            continue;
        }

        n++;
        *in += share->users ? (share->in != 0) : !share->left;
    }

    return n;
}


/* the user's, made if need be, which is what it returns */

static ngx_uint_t
ngx_http_admission_share_use_locked(ngx_http_admission_zone_t *zone,
    ngx_http_admission_guest_hash_t *gh, ngx_uint_t address)
{
    ngx_uint_t                        new, in;
    ngx_http_admission_share_t       *share, *at;
    ngx_http_admission_unlisted_t    *ul;
    ngx_http_admission_event_conf_t  *conf;

    ul = &zone->sh->unlisted;
    conf = &ngx_http_admission_unlisted_conf->event_default;

    ngx_http_admission_shares_expire_locked(zone);

    share = *ngx_http_admission_share_lookup_locked(zone, gh->user, gh->event);
    new = (share == NULL);

    if (share) {
        ngx_queue_remove(&share->queue);

        if (share->left) {
            share->left = 0;

            if (share->address) {
                share->address->in++;
            }
        }

    } else {

        if (ngx_http_admission_shares_locked(zone, gh->user, &in)
            >= NGX_HTTP_ADMISSION_SHARES_MAX)
        {
            return 0;
        }

        share = ngx_http_admission_share_new_locked(zone, gh->user, gh->event,
                                                    NULL);
        if (share == NULL) {
            return 0;
        }

        ul->nusers++;
    }

    share->expire = ngx_current_msec
                    + ngx_max(conf->active_ttl, conf->seen_ttl);
    ngx_queue_insert_head(&ul->users, &share->queue);

    /* it goes on to count where it was joined from */

    if (!new || !address) {
        return new;
    }

    at = *ngx_http_admission_share_lookup_locked(zone, gh->address, gh->event);

    if (at == NULL
        && ngx_http_admission_shares_locked(zone, gh->address, &in)
           < NGX_HTTP_ADMISSION_SHARES_MAX)
    {
        at = ngx_http_admission_share_new_locked(zone, gh->address, gh->event,
                                                 share);
    }

    if (at) {
        at->users++;
        at->in++;
        share->address = at;
    }

    return new;
}


/* those of users first to expire go for it, but for the one to keep */

static ngx_http_admission_share_t *
ngx_http_admission_share_new_locked(ngx_http_admission_zone_t *zone,
    uint64_t who, uint64_t event, ngx_http_admission_share_t *keep)
{
    ngx_queue_t                    *q;
    ngx_http_admission_share_t     *share, **bucket;
    ngx_http_admission_unlisted_t  *ul;

    ul = &zone->sh->unlisted;

    for ( ;; ) {
        share = NULL;

        if (keep || ul->nusers < ul->max) {
            do {
                share = ngx_slab_calloc_locked(zone->shpool,
                                           sizeof(ngx_http_admission_share_t));

            } while (share == NULL
                     && ngx_http_admission_windows_yield_locked(zone));
        }

        if (share) {
            break;
        }

        q = ngx_queue_last(!ngx_queue_empty(&ul->gone) ? &ul->gone
                           : !ngx_queue_empty(&ul->ending) ? &ul->ending
                           : &ul->users);

        if (q == ngx_queue_sentinel(&ul->users)
            || (keep && q == &keep->queue))
        {
            return NULL;
        }

        ngx_http_admission_share_delete_locked(zone,
                         ngx_queue_data(q, ngx_http_admission_share_t, queue));
    }

    share->who = who;
    share->event = event;

    bucket = &ul->shares[who & ul->mask];
    share->next = *bucket;
    *bucket = share;

    return share;
}


/* it ends in so many ms, if it has not by then */

static void
ngx_http_admission_share_shorten_locked(ngx_http_admission_zone_t *zone,
    ngx_http_admission_guest_hash_t *gh, ngx_msec_t left)
{
    ngx_http_admission_share_t  *share;

    share = *ngx_http_admission_share_lookup_locked(zone, gh->user, gh->event);

    if (share == NULL) {
        return;
    }

    if (left == 0) {
        ngx_http_admission_share_delete_locked(zone, share);
        return;
    }

    share->expire = ngx_current_msec + left;

    ngx_queue_remove(&share->queue);
    ngx_queue_insert_head(&zone->sh->unlisted.ending, &share->queue);
}


/* the user was in, and is no more; what that left is kept for a while */

static void
ngx_http_admission_share_left_locked(ngx_http_admission_zone_t *zone,
    ngx_http_admission_guest_hash_t *gh)
{
    ngx_http_admission_share_t  *share;

    share = *ngx_http_admission_share_lookup_locked(zone, gh->user, gh->event);

    if (share == NULL || share->left) {
        return;
    }

    share->left = 1;

    if (share->address) {
        share->address->in--;
    }

    share->expire = ngx_current_msec + NGX_HTTP_ADMISSION_UNLISTED_LEFT;

    ngx_queue_remove(&share->queue);
    ngx_queue_insert_head(&zone->sh->unlisted.gone, &share->queue);
}


/* a user's */

static void
ngx_http_admission_share_delete_locked(ngx_http_admission_zone_t *zone,
    ngx_http_admission_share_t *share)
{
    ngx_http_admission_share_t  *at;

    at = share->address;

    if (at && !share->left) {
        at->in--;
    }

    if (at && --at->users == 0) {
        *ngx_http_admission_share_lookup_locked(zone, at->who, at->event)
                                                                    = at->next;
        ngx_slab_free_locked(zone->shpool, at);
    }

    *ngx_http_admission_share_lookup_locked(zone, share->who, share->event)
                                                                 = share->next;

    ngx_queue_remove(&share->queue);
    zone->sh->unlisted.nusers--;

    ngx_slab_free_locked(zone->shpool, share);
}


static void
ngx_http_admission_shares_expire_locked(ngx_http_admission_zone_t *zone)
{
    ngx_http_admission_shares_end_locked(zone, &zone->sh->unlisted.gone);
    ngx_http_admission_shares_end_locked(zone, &zone->sh->unlisted.ending);
    ngx_http_admission_shares_end_locked(zone, &zone->sh->unlisted.users);
}


static void
ngx_http_admission_shares_end_locked(ngx_http_admission_zone_t *zone,
    ngx_queue_t *shares)
{
    ngx_uint_t                   n;
    ngx_queue_t                 *q;
    ngx_http_admission_share_t  *share;

    for (n = 0; n < NGX_HTTP_ADMISSION_SHARES_END; n++) {
        q = ngx_queue_last(shares);

        if (q == ngx_queue_sentinel(shares)) {
            return;
        }

        share = ngx_queue_data(q, ngx_http_admission_share_t, queue);

        if ((ngx_msec_int_t) (share->expire - ngx_current_msec) > 0) {
            return;
        }

        ngx_http_admission_share_delete_locked(zone, share);
    }
}
