
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The shared memory of a host, kept over reloads.  It is made of parts, which
 * parts.c lists: each has memory of its own there, and says what becomes of it
 * when the zone is made, emptied or followed by another.  The zone knows no
 * part by name.
 *
 * All of it is under the lock of the slab pool, but where it says otherwise.
 * Functions with _locked in their names want it held, and it is held briefly:
 * no log, no I/O, and no callbacks but those of parts.  Only
 * ngx_adm_zone_lock() takes it: if a process died with the lock, that finds
 * all in the slab pool gone, so no pointer into the pool outlives the lock.
 * What parts keep for good lies behind the pool, and stays as it is.
 *
 * There is no version of the layout: by its tag NGINX gives a zone only to the
 * module that made it, and another build of the module has another tag.
 */


#ifndef _NGX_ADM_HOST_ZONE_H_INCLUDED_
#define _NGX_ADM_HOST_ZONE_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/hash.h"


#define NGX_ADM_ZONE_PARTS  36       /* at most */


typedef struct ngx_adm_event_node_s  ngx_adm_event_node_t;


/* what the zone itself has in shared memory */
typedef struct {
    ngx_atomic_t         inside;     /* bool: somebody has the lock
                                        */
    ngx_uint_t           made_anew;  /* since somebody died with it
                                        */
    ngx_uint_t           life;       /* how often that was, ever */
    ngx_uint_t           generation; /* of the latest configuration
                                        */
    size_t               size;       /* of the zone, bytes */
    u_char              *kept;       /* what is free, for good */
    u_char              *end;
    u_char              *log_ctx;
    ngx_adm_hash_key_t   hash_key;   /* set once, without a lock */
    void                *data[NGX_ADM_ZONE_PARTS];
} ngx_adm_shctx_t;


/* a zone as a process has it */
typedef struct {
    ngx_adm_shctx_t     *sh;
    ngx_slab_pool_t     *shpool;
    ngx_uint_t           generation; /* of the process's configuration */
} ngx_adm_zone_t;


/*
 * A part; functions that it does not have are NULL.  They are called with the
 * lock held but for use() and copy(); event_copy() with that of the zone
 * before, too.
 */
typedef struct {
    /* bytes of its structure, at first zeros, and of what follows that */
    size_t        size;
    size_t      (*more)(size_t zone);

    /* makes its structure, once */
    void        (*make)(ngx_adm_zone_t *zone);

    /* the slab pool is new, or all that was in it is gone */
    void        (*empty)(ngx_adm_zone_t *zone);

    /*
     * A zone of another size or name, which nobody else has yet, takes over
     * what the one before it knew, while others go on with that: what is under
     * a lock is copied under it, in steps if it may be much.
     */
    void        (*copy)(ngx_adm_zone_t *zone, ngx_adm_zone_t *ozone);

    /* this process works with the zone; NULL: with none */
    void        (*use)(ngx_adm_zone_t *zone);

    /*
     * Gives memory of the slab pool back for something worth more; returns 0
     * if there was none to give.
     */
    ngx_uint_t  (*yield)(ngx_adm_zone_t *zone);

    /* frees what the part has of an event; takes it over from another zone */
    void        (*event_free)(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en);
    void        (*event_copy)(ngx_adm_zone_t *zone,
                              ngx_adm_event_node_t *en,
                              ngx_adm_event_node_t *oen);

    /* the host does not know some event, or no longer does */
    void        (*event_lost)(ngx_adm_zone_t *zone);

    ngx_uint_t    index;                        /* set by the zone */
} ngx_adm_zone_part_t;


/* the zone of this process's configuration; set once, before any request */
extern ngx_adm_zone_t        *ngx_adm_zone;

/* in the order of the list; NULL is the last */
extern ngx_adm_zone_part_t  **ngx_adm_zone_parts;


/* the structure of a part */
#define ngx_adm_zone_data(zone, part)                                         \
    ((zone)->sh->data[(part)->index])


/* sets which parts there are; before any zone is added */
void ngx_adm_zone_list(ngx_adm_zone_part_t **parts);

/* registers "admission_zone name:size"; NULL: failed, with a line in the log */
ngx_shm_zone_t *ngx_adm_zone_add(ngx_conf_t *cf, ngx_str_t *name, size_t size,
    void *tag);

/* makes the zone this process's own; NULL: the module is not in use */
void ngx_adm_zone_use(ngx_shm_zone_t *zone);

void ngx_adm_zone_lock(ngx_adm_zone_t *zone);
void ngx_adm_zone_unlock(ngx_adm_zone_t *zone);

/*
 * For copies, to be called once for each element.  Now and then it lets others
 * have the lock for a moment, and returns 1: any element may be gone, new or
 * changed.
 */
ngx_uint_t ngx_adm_zone_step_locked(ngx_adm_zone_t *zone, ngx_uint_t *n);

/* zeroed memory that is never freed; NULL: no room */
void *ngx_adm_zone_keep_locked(ngx_adm_zone_t *zone, size_t size);

/* how many bytes there are for that, besides structures of parts */
size_t ngx_adm_zone_kept(size_t size);

/* zeroed memory of the slab pool, for which parts yield; NULL: no room */
void *ngx_adm_zone_alloc_locked(ngx_adm_zone_t *zone, size_t size);

/* bytes of the zone that are free, and all */
size_t ngx_adm_zone_free(void);
size_t ngx_adm_zone_size(void);

/*
 * How often the zone was made anew because a process died with its lock: since
 * this was last asked, and ever.  After it the host does not know what it knew
 * before.  The first takes the lock, the second does not.
 */
ngx_uint_t ngx_adm_zone_made_anew(void);


#endif /* _NGX_ADM_HOST_ZONE_H_INCLUDED_ */
