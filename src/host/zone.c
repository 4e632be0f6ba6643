
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The memory of a zone: its lock, what lies behind the slab pool for good, and
 * what its parts do when it is made, emptied or replaced.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include <sys/wait.h>

#include "zone.h"


/* one such part of the zone, 3 KB at least, is what parts never free */
#define NGX_ADM_ZONE_KEPT  64

/*
 * elements, of some 1 us each, that are copied under one lock, and for how
 * many us others have it then: a process that sleeps has to wake up
 */
#define NGX_ADM_ZONE_STEP  128
#define NGX_ADM_ZONE_REST  50

/* tries to get the lock before the master looks who holds it */
#define NGX_ADM_ZONE_TRIES  100


/*
 * What is done inside is done while "inside" says so, as seen by whoever finds
 * this process dead.  Only the compiler could let it be seen otherwise: the
 * lock itself orders what processors do.
 */
#define ngx_adm_zone_order()                                                  \
    __atomic_signal_fence(__ATOMIC_SEQ_CST)


static void ngx_adm_zone_take(ngx_shmtx_t *mutex);
static ngx_int_t ngx_adm_zone_init(ngx_shm_zone_t *shm_zone, void *data);
static size_t ngx_adm_zone_part_size(ngx_adm_zone_part_t *part, size_t size);
static void ngx_adm_zone_make_parts(ngx_adm_zone_t *zone);
static void ngx_adm_zone_empty_locked(ngx_adm_zone_t *zone);
static void ngx_adm_zone_take_over(ngx_adm_zone_t *zone,
    ngx_shm_zone_t *shm_zone);


/* until a configuration says which there are */
static ngx_adm_zone_part_t  *ngx_adm_zone_no_parts[] = {
    NULL };


/* of copies by this process, ever */
static ngx_uint_t  ngx_adm_zone_steps;


ngx_adm_zone_t        *ngx_adm_zone;
ngx_adm_zone_part_t  **ngx_adm_zone_parts = ngx_adm_zone_no_parts;


void
ngx_adm_zone_list(ngx_adm_zone_part_t **parts)
{
    ngx_uint_t  i;

    ngx_adm_zone_parts = parts;

    for (i = 0; parts[i]; i++) {
        parts[i]->index = i;
    }
}


ngx_shm_zone_t *
ngx_adm_zone_add(ngx_conf_t *cf, ngx_str_t *name, size_t size, void *tag)
{
    ngx_shm_zone_t  *shm_zone;
    ngx_adm_zone_t  *zone;

    zone = ngx_pcalloc(cf->pool, sizeof(ngx_adm_zone_t));
    if (zone == NULL) {
        return NULL;
    }

    shm_zone = ngx_shared_memory_add(cf, name, size, tag);
    if (shm_zone == NULL) {
        return NULL;
    }

    shm_zone->init = ngx_adm_zone_init;
    shm_zone->data = zone;

    return shm_zone;
}


void
ngx_adm_zone_use(ngx_shm_zone_t *shm_zone)
{
    ngx_adm_zone_part_t  **part;

    ngx_adm_zone = shm_zone ? shm_zone->data : NULL;

    for (part = ngx_adm_zone_parts; *part; part++) {
        if ((*part)->use) {
            (*part)->use(ngx_adm_zone);
        }
    }
}


/* only free pages: others may have room for more of the same size */

size_t
ngx_adm_zone_free(void)
{
    return ngx_adm_zone->shpool->pfree * ngx_pagesize;
}


size_t
ngx_adm_zone_size(void)
{
    return ngx_adm_zone->sh->size;
}


static ngx_int_t
ngx_adm_zone_init(ngx_shm_zone_t *shm_zone, void *data)
{
    ngx_adm_zone_t  *ozone = data;

    u_char               *p;
    size_t                len, size, name;
    ngx_adm_zone_t       *zone;
    ngx_adm_shctx_t      *sh;
    ngx_adm_zone_part_t  **part;

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

    size = shm_zone->shm.size;

    name = sizeof(" in admission zone \"\"") + shm_zone->shm.name.len;

    len = sizeof(ngx_adm_shctx_t) + name + ngx_adm_zone_kept(size);

    for (part = ngx_adm_zone_parts; *part; part++) {
        len += ngx_adm_zone_part_size(*part, size);
    }

    p = shm_zone->shm.addr + size - len;
    p = (u_char *) ((uintptr_t) p & ~(uintptr_t) (NGX_ALIGNMENT - 1));

    zone->shpool->end = p;

    sh = (ngx_adm_shctx_t *) p;
    ngx_memzero(sh, sizeof(ngx_adm_shctx_t));

    sh->size = size;
    sh->kept = p + sizeof(ngx_adm_shctx_t);
    sh->end = shm_zone->shm.addr + size;

    if (ngx_adm_hash_key(&sh->hash_key) != NGX_OK) {
        ngx_log_error(NGX_LOG_EMERG, shm_zone->shm.log, 0,
                      "RAND_bytes() failed");
        return NGX_ERROR;
    }

    zone->shpool->data = sh;
    zone->sh = sh;
    zone->generation = ++sh->generation;

    ngx_adm_zone_make_parts(zone);

    sh->log_ctx = ngx_adm_zone_keep_locked(zone, name);
    if (sh->log_ctx == NULL) {
        return NGX_ERROR;
    }

    ngx_sprintf(sh->log_ctx, " in admission zone \"%V\"%Z",
                &shm_zone->shm.name);

    ngx_adm_zone_empty_locked(zone);

    ngx_adm_zone_take_over(zone, shm_zone);

    return NGX_OK;
}


size_t
ngx_adm_zone_kept(size_t size)
{
    return ngx_max(ngx_pagesize, size / NGX_ADM_ZONE_KEPT) / 4 * 3;
}


static size_t
ngx_adm_zone_part_size(ngx_adm_zone_part_t *part, size_t size)
{
    return ngx_align(part->size + (part->more ? part->more(size) : 0),
                     NGX_ALIGNMENT);
}


/* NGINX may have filled what the system gave as zeros: NGX_DEBUG_MALLOC */

static void
ngx_adm_zone_make_parts(ngx_adm_zone_t *zone)
{
    size_t                 size;
    ngx_adm_zone_part_t  **part;

    for (part = ngx_adm_zone_parts; *part; part++) {

        size = ngx_adm_zone_part_size(*part, zone->sh->size);

        zone->sh->data[(*part)->index] = zone->sh->kept;
        ngx_memzero(zone->sh->kept, size);
        zone->sh->kept += size;

        if ((*part)->make) {
            (*part)->make(zone);
        }
    }
}


/*
 * empties all that comes and goes: the zone is new, or what it held is of no
 * use
 */

static void
ngx_adm_zone_empty_locked(ngx_adm_zone_t *zone)
{
    ngx_adm_zone_part_t  **part;

    ngx_slab_init(zone->shpool);

    /*
     * a full zone forgets events: that is not worth a line for every
     * allocation
     */

    zone->shpool->log_nomem = 0;
    zone->shpool->log_ctx = zone->sh->log_ctx;

    for (part = ngx_adm_zone_parts; *part; part++) {
        if ((*part)->empty) {
            (*part)->empty(zone);
        }
    }
}


void *
ngx_adm_zone_keep_locked(ngx_adm_zone_t *zone, size_t size)
{
    u_char           *p;
    ngx_adm_shctx_t  *sh;

    sh = zone->sh;
    p = ngx_align_ptr(sh->kept, NGX_ALIGNMENT);

    if (p > sh->end || size > (size_t) (sh->end - p)) {
        return NULL;
    }

    sh->kept = p + size;
    ngx_memzero(p, size);

    return p;
}


void *
ngx_adm_zone_alloc_locked(ngx_adm_zone_t *zone, size_t size)
{
    void                  *p;
    ngx_adm_zone_part_t  **part;

    p = ngx_slab_calloc_locked(zone->shpool, size);

    for (part = ngx_adm_zone_parts; p == NULL && *part; part++) {
        if ((*part)->yield && (*part)->yield(zone)) {
            p = ngx_slab_calloc_locked(zone->shpool, size);
        }
    }

    return p;
}


/*
 * NGINX takes the lock away from a process that died with it, whatever that
 * had half done.  A tree or a list in such a state would have all other
 * processes run in circles, or crash one after the other; so nothing of it is
 * looked at any more, as Redis knows it all.
 */

void
ngx_adm_zone_lock(ngx_adm_zone_t *zone)
{
    if (ngx_process == NGX_PROCESS_MASTER) {
        ngx_adm_zone_take(&zone->shpool->mutex);

    } else {
        ngx_shmtx_lock(&zone->shpool->mutex);
    }

    if (zone->sh->inside) {
        zone->sh->made_anew++;
        zone->sh->life++;
        ngx_adm_zone_empty_locked(zone);
    }

    zone->sh->inside = 1;
    ngx_adm_zone_order();
}


/*
 * When a worker dies with the lock the master frees it, on the signal of that
 * death.  While it reads a configuration and copies a zone it has the signal
 * blocked, and would wait for ever for such a lock.  So it looks for itself
 * whether the holder has ended, and leaves the rest to NGINX.
 */

static void
ngx_adm_zone_take(ngx_shmtx_t *mutex)
{
#if (NGX_HAVE_ATOMIC_OPS)

    siginfo_t   si;
    ngx_pid_t   pid;
    ngx_uint_t  i;

    for ( ;; ) {

        for (i = 0; i < NGX_ADM_ZONE_TRIES; i++) {

            if (ngx_shmtx_trylock(mutex)) {
                return;
            }

            ngx_sched_yield();
        }

        pid = (ngx_pid_t) *mutex->lock;

        if (pid == 0) {
            continue;
        }

        si.si_pid = 0;

        if (waitid(P_PID, (id_t) pid, &si, WEXITED|WNOHANG|WNOWAIT) == 0
            ? si.si_pid == pid
            : kill(pid, 0) == -1 && ngx_errno == NGX_ESRCH)
        {
            (void) ngx_shmtx_force_unlock(mutex, pid);
        }
    }

#else

    /* a lock that is a file ends with the process that holds it */

    ngx_shmtx_lock(mutex);

#endif
}


void
ngx_adm_zone_unlock(ngx_adm_zone_t *zone)
{
    ngx_adm_zone_order();
    zone->sh->inside = 0;

    ngx_shmtx_unlock(&zone->shpool->mutex);
}


ngx_uint_t
ngx_adm_zone_step_locked(ngx_adm_zone_t *zone, ngx_uint_t *n)
{
    if (++*n < NGX_ADM_ZONE_STEP) {
        return 0;
    }

    *n = 0;
    ngx_adm_zone_steps++;

    ngx_adm_zone_unlock(zone);

    (void) usleep(NGX_ADM_ZONE_REST);

    ngx_adm_zone_lock(zone);

    return 1;
}


ngx_uint_t
ngx_adm_zone_made_anew(void)
{
    ngx_uint_t       n;
    ngx_adm_zone_t  *zone;

    zone = ngx_adm_zone;

    ngx_adm_zone_lock(zone);

    n = zone->sh->made_anew;
    zone->sh->made_anew = 0;

    ngx_adm_zone_unlock(zone);

    return n;
}


/*
 * A zone of another size or name begins with what the one before it knew, as
 * far as there is room: what was revoked stays revoked over a reload.
 *
 * Old workers go on until they are told to leave, which is after all of this.
 * So a change may come too late for the copy, be that made at once or by
 * steps.  But the change is in Redis, and the new zone learns of it as of one
 * by another host: by steps about events that the old zone looked after, which
 * are due at once and say since when it knows of revocations, by the lists,
 * and by news.
 *
 * What the old zone forgets during the copy nobody would ask about.  So events
 * are copied first, then revocations, of which there are at least those that
 * the events know of, or knew until they had to be forgotten; and last what
 * was forgotten.
 */

static void
ngx_adm_zone_take_over(ngx_adm_zone_t *zone, ngx_shm_zone_t *shm_zone)
{
    ngx_uint_t             i, life, steps;
    ngx_list_part_t       *list;
    ngx_shm_zone_t        *old;
    ngx_adm_zone_t        *ozone;
    ngx_adm_zone_part_t  **part;

    if (ngx_cycle == NULL || ngx_cycle->shared_memory.part.elts == NULL) {
        return;
    }

    list = (ngx_list_part_t *) &ngx_cycle->shared_memory.part;
    old = list->elts;

    for (i = 0; /* void */ ; i++) {

        if (i >= list->nelts) {
            if (list->next == NULL) {
                return;
            }

            list = list->next;
            old = list->elts;
            i = 0;
        }

        if (old[i].tag != shm_zone->tag || old[i].shm.addr == NULL) {
            continue;
        }

        ozone = old[i].data;

        if (ozone == zone || ozone->sh == NULL) {
            continue;
        }

        /* before the new zone hashes anything with a key of its own */

        zone->sh->hash_key = ozone->sh->hash_key;

        life = ozone->sh->life;

        for (part = ngx_adm_zone_parts; *part; part++) {
            if ((*part)->copy == NULL) {
                continue;
            }

            steps = ngx_adm_zone_steps;

            (*part)->copy(zone, ozone);

            ngx_log_debug2(NGX_LOG_DEBUG_HTTP, shm_zone->shm.log, 0,
                           "admission: zone: part %ui copied, the lock left "
                           "%ui times", (*part)->index,
                           ngx_adm_zone_steps - steps);
        }

        ngx_adm_zone_lock(ozone);

        if (life != ozone->sh->life) {
            /* half a copy is of no use, except for what was forgotten */
            ngx_adm_zone_empty_locked(zone);
        }

        ngx_adm_zone_unlock(ozone);
    }
}
