
/*
 * Copyright (C) 2026 the admission module authors
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_admission_zone_shm.h"


/*
 * The share of the zone, at least a page, for what is kept of categories of
 * rate limits, 1,000 of them in 8m, and, in a part of it that those leave, of
 * Redis's nodes: that the log is told once a host is not for them to take.
 */
#define NGX_HTTP_ADMISSION_ZONE_KEPT   64
#define NGX_HTTP_ADMISSION_ZONE_NODES  4


/* ms by which Redis's clock, or this host's, jumps rather than drifts */
#define NGX_HTTP_ADMISSION_JUMP         30000

/* ms without a beat, after which the host itself stood still */
#define NGX_HTTP_ADMISSION_STOOD_STILL  5000


/*
 * What is inside happens while "inside" says so, in the eyes of whoever finds
 * that this process is dead: the compiler is all that could let it be seen
 * otherwise, since the lock itself orders what processors do.
 */
#define ngx_http_admission_zone_order()                                       \
    __atomic_signal_fence(__ATOMIC_SEQ_CST)


static ngx_int_t ngx_http_admission_zone_init(ngx_shm_zone_t *shm_zone,
    void *data);
static void ngx_http_admission_zone_make_locked(
    ngx_http_admission_zone_t *zone);
static void ngx_http_admission_zone_take_over(ngx_http_admission_zone_t *zone,
    void *tag);


ngx_http_admission_zone_t  *ngx_http_admission_zone;


ngx_shm_zone_t *
ngx_http_admission_zone_add(ngx_conf_t *cf, ngx_str_t *name, size_t size,
    void *tag)
{
    ngx_shm_zone_t             *shm_zone;
    ngx_http_admission_zone_t  *zone;

    zone = ngx_pcalloc(cf->pool, sizeof(ngx_http_admission_zone_t));
    if (zone == NULL) {
        return NULL;
    }

    shm_zone = ngx_shared_memory_add(cf, name, size, tag);
    if (shm_zone == NULL) {
        return NULL;
    }

    shm_zone->init = ngx_http_admission_zone_init;
    shm_zone->data = zone;

    return shm_zone;
}


void
ngx_http_admission_zone_use(ngx_shm_zone_t *shm_zone)
{
    ngx_http_admission_zone = shm_zone ? shm_zone->data : NULL;
}


ngx_http_admission_redis_counts_t *
ngx_http_admission_zone_redis_counts(void)
{
    return &ngx_http_admission_zone->sh->redis;
}


/* pages that are free; others may have room for more of the same size */

size_t
ngx_http_admission_zone_free(void)
{
    return ngx_http_admission_zone->shpool->pfree * ngx_pagesize;
}


size_t
ngx_http_admission_zone_size(void)
{
    return ngx_http_admission_zone->sh->size;
}


static ngx_int_t
ngx_http_admission_zone_init(ngx_shm_zone_t *shm_zone, void *data)
{
    ngx_http_admission_zone_t  *ozone = data;

    u_char                      *p;
    size_t                       len, kept;
    ngx_http_admission_zone_t   *zone;
    ngx_http_admission_shctx_t  *sh;

    zone = shm_zone->data;
    zone->shpool = (ngx_slab_pool_t *) shm_zone->shm.addr;

    if (ozone) {
        zone->sh = ozone->sh;
        zone->generation = ++zone->sh->generation;
        return NGX_OK;
    }

    if (shm_zone->shm.exists) {
        zone->sh = zone->shpool->data;
        zone->generation = ++zone->sh->generation;
        return NGX_OK;
    }

    /* the end of the zone is taken out of the slab pool */

    kept = ngx_max(ngx_pagesize,
                   shm_zone->shm.size / NGX_HTTP_ADMISSION_ZONE_KEPT);

    len = sizeof(ngx_http_admission_shctx_t)
          + ngx_http_admission_revoked_size(shm_zone->shm.size)
          + ngx_http_admission_unlisted_size(shm_zone->shm.size)
          + ngx_http_admission_stats_size(shm_zone->shm.size)
          + ngx_http_admission_buckets_size(shm_zone->shm.size)
          + kept;
    p = shm_zone->shm.addr + shm_zone->shm.size - len;
    p = (u_char *) ((uintptr_t) p & ~(uintptr_t) (NGX_ALIGNMENT - 1));

    zone->shpool->end = p;

    sh = (ngx_http_admission_shctx_t *) p;
    ngx_memzero(sh, sizeof(ngx_http_admission_shctx_t));

    sh->size = shm_zone->shm.size;
    sh->beat = ngx_current_msec;
    sh->kept = p + sizeof(ngx_http_admission_shctx_t);
    sh->end = shm_zone->shm.addr + shm_zone->shm.size;
    sh->counts_free = kept - kept / NGX_HTTP_ADMISSION_ZONE_NODES;

    if (ngx_http_admission_hash_key(&sh->hash_key) != NGX_OK) {
        ngx_log_error(NGX_LOG_EMERG, shm_zone->shm.log, 0,
                      "RAND_bytes() failed");
        return NGX_ERROR;
    }

    zone->shpool->data = sh;
    zone->sh = sh;
    zone->generation = ++sh->generation;

    ngx_http_admission_counts_init(sh);
    ngx_queue_init(&sh->nodes);

    len = sizeof(" in admission zone \"\"") + shm_zone->shm.name.len;

    sh->log_ctx = ngx_http_admission_zone_keep_locked(zone, len);
    if (sh->log_ctx == NULL) {
        return NGX_ERROR;
    }

    ngx_sprintf(sh->log_ctx, " in admission zone \"%V\"%Z",
                &shm_zone->shm.name);

    if (ngx_http_admission_revoked_make_locked(zone) != NGX_OK
        || ngx_http_admission_unlisted_make_locked(zone) != NGX_OK
        || ngx_http_admission_stats_make_locked(zone) != NGX_OK
        || ngx_http_admission_buckets_make_locked(zone) != NGX_OK)
    {
        return NGX_ERROR;
    }

    ngx_http_admission_zone_make_locked(zone);

    ngx_http_admission_zone_take_over(zone, shm_zone->tag);

    return NGX_OK;
}


/* all that comes and goes; the zone is new, or what it held is of no use */

static void
ngx_http_admission_zone_make_locked(ngx_http_admission_zone_t *zone)
{
    ngx_http_admission_shctx_t  *sh;

    sh = zone->sh;

    ngx_slab_init(zone->shpool);

    /* a full zone forgets events: that is no news for every allocation */

    zone->shpool->log_nomem = 0;
    zone->shpool->log_ctx = sh->log_ctx;

    ngx_http_admission_events_init(sh);
    ngx_http_admission_unlisted_init(sh);
    ngx_http_admission_revoked_init(sh);
    ngx_http_admission_buckets_init(sh);
    ngx_http_admission_answers_init(sh, sh->size);
    ngx_http_admission_tally_init(sh);

    sh->windows = NULL;

    /* which waiting rooms there are is to be asked for again */

    sh->listed = 0;
    sh->listing = 0;
    sh->configured = 0;
}


void *
ngx_http_admission_zone_keep_locked(ngx_http_admission_zone_t *zone,
    size_t size)
{
    u_char                      *p;
    ngx_http_admission_shctx_t  *sh;

    sh = zone->sh;
    p = ngx_align_ptr(sh->kept, NGX_ALIGNMENT);

    if (p > sh->end || size > (size_t) (sh->end - p)) {
        return NULL;
    }

    sh->kept = p + size;
    ngx_memzero(p, size);

    return p;
}


/*
 * NGINX takes the lock away from a process that died with it, whatever it
 * had half done.  A tree or a list in such a state would have all the other
 * processes run in circles, or crash one after the other, so nothing of it
 * is looked at any more: Redis knows it all.
 */

void
ngx_http_admission_zone_lock(ngx_http_admission_zone_t *zone)
{
    ngx_shmtx_lock(&zone->shpool->mutex);

    if (zone->sh->inside) {
        zone->sh->made_anew++;
        zone->sh->life++;
        ngx_http_admission_revoked_unheard_locked(zone);
        ngx_http_admission_zone_make_locked(zone);
    }

    zone->sh->inside = 1;
    ngx_http_admission_zone_order();
}


void
ngx_http_admission_zone_unlock(ngx_http_admission_zone_t *zone)
{
    ngx_http_admission_zone_order();
    zone->sh->inside = 0;

    ngx_shmtx_unlock(&zone->shpool->mutex);
}


ngx_uint_t
ngx_http_admission_zone_life(void)
{
    return ngx_http_admission_zone->sh->life;
}


ngx_uint_t
ngx_http_admission_zone_made_anew(void)
{
    ngx_uint_t                  n;
    ngx_http_admission_zone_t  *zone;

    zone = ngx_http_admission_zone;

    ngx_http_admission_zone_lock(zone);

    n = zone->sh->made_anew;
    zone->sh->made_anew = 0;

    ngx_http_admission_zone_unlock(zone);

    return n;
}


/*
 * A zone of another size or name begins with what the one before it knew, as
 * far as there is room: what was revoked stays so over a reload.
 */

static void
ngx_http_admission_zone_take_over(ngx_http_admission_zone_t *zone, void *tag)
{
    ngx_uint_t                  i;
    ngx_list_part_t            *part;
    ngx_shm_zone_t             *old;
    ngx_http_admission_zone_t  *ozone;

    if (ngx_cycle == NULL || ngx_cycle->shared_memory.part.elts == NULL) {
        return;
    }

    part = (ngx_list_part_t *) &ngx_cycle->shared_memory.part;
    old = part->elts;

    for (i = 0; /* void */ ; i++) {

        if (i >= part->nelts) {
            if (part->next == NULL) {
                return;
            }

            part = part->next;
            old = part->elts;
            i = 0;
        }

        if (old[i].tag != tag || old[i].shm.addr == NULL) {
            continue;
        }

        ozone = old[i].data;

        if (ozone == zone || ozone->sh == NULL) {
            continue;
        }

        /* before anything is hashed with its own */

        zone->sh->hash_key = ozone->sh->hash_key;

        zone->sh->offset = ozone->sh->offset;
        zone->sh->beat = ozone->sh->beat;
        zone->sh->redis.heard = ozone->sh->redis.heard;
        zone->sh->redis.since = ozone->sh->redis.since;
        zone->sh->recalled = ozone->sh->recalled;
        zone->sh->redis.masters = ozone->sh->redis.masters;
        zone->sh->revoked_keep = ozone->sh->revoked_keep;

        ngx_memcpy((void *) zone->sh->redis.n, (void *) ozone->sh->redis.n,
                   sizeof(ozone->sh->redis.n));

        ngx_http_admission_events_copy(zone, ozone);
        ngx_http_admission_unlisted_copy(zone, ozone);
        ngx_http_admission_revoked_copy(zone, ozone);
        ngx_http_admission_counts_copy(zone, ozone);
        ngx_http_admission_limits_copy(zone, ozone);
        ngx_http_admission_stats_copy(zone, ozone);
        ngx_http_admission_tally_copy(zone, ozone);
        ngx_http_admission_buckets_copy(zone, ozone);
    }
}


ngx_msec_t
ngx_http_admission_zone_since(ngx_msec_t time)
{
    ngx_msec_int_t  ms;

    ms = (ngx_msec_int_t) (ngx_current_msec - time);

    return ngx_max(ms, 0);
}


int64_t
ngx_http_admission_now_us(void)
{
    int64_t      now;
    ngx_time_t  *tp;

    tp = ngx_timeofday();
    now = (int64_t) tp->sec * 1000 + tp->msec;

    if (ngx_http_admission_zone) {
        now += (ngx_atomic_int_t) ngx_http_admission_zone->sh->offset;
    }

    return now * 1000;
}


time_t
ngx_http_admission_now(void)
{
    return (time_t) (ngx_http_admission_now_us() / 1000000);
}


/*
 * Redis looked at its clock at some time between the call and the answer, so
 * the offset lies between two bounds.  One that agrees with them is kept:
 * it is not shaken by answers that took their time.
 */

void
ngx_http_admission_time_observed(int64_t redis, ngx_msec_t elapsed)
{
    int64_t            host;
    ngx_time_t        *tp;
    ngx_atomic_int_t   low, high, offset;

    if (ngx_http_admission_zone == NULL) {
        return;
    }

    tp = ngx_timeofday();
    host = (int64_t) tp->sec * 1000 + tp->msec;

    low = (ngx_atomic_int_t) (redis / 1000 - host);
    high = low + (ngx_atomic_int_t) elapsed;

    offset = (ngx_atomic_int_t) ngx_http_admission_zone->sh->offset;

    if (offset < low) {
        offset = low;

    } else if (offset > high) {
        offset = high;

    } else {
        return;
    }

    if (ngx_abs(offset
                - (ngx_atomic_int_t) ngx_http_admission_zone->sh->offset)
        > NGX_HTTP_ADMISSION_JUMP)
    {
        ngx_http_admission_redis_count_break();
    }

    ngx_http_admission_zone->sh->offset = (ngx_atomic_t) offset;
}


ngx_msec_t
ngx_http_admission_in_touch(void)
{
    ngx_msec_t  since;

    since = ngx_http_admission_zone->sh->redis.since;

    return since ? ngx_http_admission_zone_since(since) + 1 : 0;
}


ngx_uint_t
ngx_http_admission_zone_heard(void)
{
    return ngx_http_admission_zone->sh->redis.heard != 0;
}


ngx_uint_t
ngx_http_admission_regained(void)
{
    ngx_msec_t                   since;
    ngx_http_admission_shctx_t  *sh;

    sh = ngx_http_admission_zone->sh;
    since = sh->redis.since;

    if (since == 0 || since == sh->recalled) {
        return 0;
    }

    sh->recalled = since;

    return 1;
}


ngx_uint_t
ngx_http_admission_lease_take(void)
{
    ngx_uint_t                   held;
    ngx_http_admission_shctx_t  *sh;

    sh = ngx_http_admission_zone->sh;

    ngx_http_admission_zone_lock(ngx_http_admission_zone);

    held = (sh->holder == ngx_pid
            || sh->holder == 0
            || (ngx_msec_int_t) (ngx_current_msec - sh->beat)
               > NGX_HTTP_ADMISSION_LEASE);

    if (held) {

        if (ngx_http_admission_zone_since(sh->beat)
            > NGX_HTTP_ADMISSION_STOOD_STILL)
        {
            ngx_http_admission_redis_count_break();
        }

        sh->holder = ngx_pid;
        sh->beat = ngx_current_msec;
    }

    ngx_http_admission_zone_unlock(ngx_http_admission_zone);

    return held;
}


void
ngx_http_admission_lease_leave(void)
{
    ngx_http_admission_shctx_t  *sh;

    sh = ngx_http_admission_zone->sh;

    ngx_http_admission_zone_lock(ngx_http_admission_zone);

    if (sh->holder == ngx_pid) {
        sh->holder = 0;
    }

    ngx_http_admission_zone_unlock(ngx_http_admission_zone);
}
