
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The shared memory of a host, kept over reloads.  It is made of parts, which
 * parts.c lists: each has memory of its own there, and says what becomes of
 * it when the zone is made, emptied or followed by another.  The zone knows
 * none of them by name.
 *
 * All of it is under the lock of the slab pool, but for what says so; functions
 * with _locked in their names want it held, and it is held briefly: no log, no
 * I/O and no callback inside but those of parts.  The lock is taken by
 * ngx_adm_zone_lock() alone, which finds all that is in the slab
 * pool gone if a process died with the lock: no pointer to it outlives the
 * lock.  What parts keep for good lies behind the pool and stays as it is.
 *
 * There is no version of the layout: NGINX gives a zone to the module that
 * made it alone, by its tag, and another build of the module has another tag.
 */


#ifndef _NGX_ADM_HOST_ZONE_H_INCLUDED_
#define _NGX_ADM_HOST_ZONE_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/hash.h"


#define NGX_ADM_ZONE_PARTS  36       /* at most */


typedef struct ngx_adm_event_node_s  ngx_adm_event_node_t;


/* what is in shared memory of the zone itself */
typedef struct {
    ngx_atomic_t         inside;     /* bool: somebody has the lock
                                        */
    ngx_uint_t           made_anew;  /* since somebody died with it
                                        */
    ngx_uint_t           life;       /* how often that was, ever */
    ngx_uint_t           generation; /* of the latest configuration
                                        */
    size_t               size;       /* of the zone, bytes */
    u_char              *kept;       /* free from here, for good */
    u_char              *end;
    u_char              *log_ctx;
    ngx_adm_hash_key_t   hash_key;   /* set once, without a lock */
    void                *data[NGX_ADM_ZONE_PARTS];
} ngx_adm_shctx_t;


/* a zone as a process has it, by its configuration */
typedef struct {
    ngx_adm_shctx_t     *sh;
    ngx_slab_pool_t     *shpool;
    ngx_uint_t           generation; /* of this configuration */
} ngx_adm_zone_t;


/*
 * A part.  What it does not have is 0 or NULL.  The lock is held in all of
 * them but _use() and _copy(), that of the zone before too in _event_copy().
 */
typedef struct {
    /* bytes of its structure, at first zeros, and of what follows that */
    size_t        size;
    size_t      (*more)(size_t zone);

    /* its structure, once */
    void        (*make)(ngx_adm_zone_t *zone);

    /* the slab pool is new, or all that was in there is gone */
    void        (*empty)(ngx_adm_zone_t *zone);

    /*
     * A zone of another size or name, which nobody else has yet, takes over
     * what the one before knew, that others go on with meanwhile: what of it is
     * under a lock is copied under it, by steps if it may be much.
     */
    void        (*copy)(ngx_adm_zone_t *zone, ngx_adm_zone_t *ozone);

    /* this process works with the zone; NULL: with none */
    void        (*use)(ngx_adm_zone_t *zone);

    /*
     * Gives memory of the slab pool back for what is worth more than it is;
     * returns 0 if there was none.
     */
    ngx_uint_t  (*yield)(ngx_adm_zone_t *zone);

    /* what it has of an event goes with it, or comes from another zone */
    void        (*event_free)(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en);
    void        (*event_copy)(ngx_adm_zone_t *zone,
                              ngx_adm_event_node_t *en,
                              ngx_adm_event_node_t *oen);

    /* some event is not, or no longer, known to the host */
    void        (*event_lost)(ngx_adm_zone_t *zone);

    ngx_uint_t    index;                        /* set by the zone */
} ngx_adm_zone_part_t;


/* the zone of this process's configuration; set once, before any request */
extern ngx_adm_zone_t        *ngx_adm_zone;

/* as listed; the last one is NULL */
extern ngx_adm_zone_part_t  **ngx_adm_zone_parts;


/* the structure of a part */
#define ngx_adm_zone_data(zone, part)                                         \
    ((zone)->sh->data[(part)->index])


/* which parts there are; before any zone is added */
void ngx_adm_zone_list(ngx_adm_zone_part_t **parts);

/* registers "admission_zone name:size"; NULL: failed, and said why */
ngx_shm_zone_t *ngx_adm_zone_add(ngx_conf_t *cf, ngx_str_t *name, size_t size,
    void *tag);

/* makes the zone that of this process; NULL: the module is not in use */
void ngx_adm_zone_use(ngx_shm_zone_t *zone);

void ngx_adm_zone_lock(ngx_adm_zone_t *zone);
void ngx_adm_zone_unlock(ngx_adm_zone_t *zone);

/*
 * For copies, once for each element: after so many of them others get the lock
 * for a moment, and it returns 1: any of them may have gone, come or changed.
 */
ngx_uint_t ngx_adm_zone_step_locked(ngx_adm_zone_t *zone, ngx_uint_t *n);

/* memory that is never freed, zeroed; NULL: no room */
void *ngx_adm_zone_keep_locked(ngx_adm_zone_t *zone, size_t size);

/* bytes that are there for that, but for structures of parts */
size_t ngx_adm_zone_kept(size_t size);

/* memory of the slab pool, zeroed, for which parts yield; NULL: no room */
void *ngx_adm_zone_alloc_locked(ngx_adm_zone_t *zone, size_t size);

/* bytes of the zone that are used for nothing, and all */
size_t ngx_adm_zone_free(void);
size_t ngx_adm_zone_size(void);

/*
 * How often it was made anew since a process died with its lock, once told;
 * and ever: what a host knew before it does not know now.  These take the
 * lock, and none.
 */
ngx_uint_t ngx_adm_zone_made_anew(void);


#endif /* _NGX_ADM_HOST_ZONE_H_INCLUDED_ */
