
/*
 * Copyright (C) 2026 the admission module authors
 *
 * A node for each event that the host knows, in the zone: found by its id, in
 * a queue by use, and with what other parts have of the event.  All of it is
 * under the zone's lock.
 */


#ifndef _NGX_ADM_HOST_EVENT_NODE_H_INCLUDED_
#define _NGX_ADM_HOST_EVENT_NODE_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "event.h"
#include "zone.h"


/* of there.c */
typedef struct ngx_adm_there_node_s  ngx_adm_there_node_t;


/* the waiting room of an event that ever had one */
typedef struct {
    ngx_adm_room_t   room;
    ngx_queue_t      trail;      /* of the counter, in chunks, the
                                    oldest first */
    ngx_msec_t       due;        /* when the next step is */
    ngx_msec_t       mark;       /* when last marked */
    ngx_uint_t       round;      /* of the list, when last in it */
    int64_t          moved;      /* us, the event's clock: when the counter last
                                    did */
    int64_t          us;         /* that the counter was measured */
    int64_t          passed;     /* positions meanwhile, * 1000 */
    ngx_msec_t       synced;     /* when last heard of */
    ngx_adm_there_node_t  *there;    /* who is; NULL: nobody was heard of */
    unsigned         marked:1;
    unsigned         blind:1;    /* somebody was heard of who is not in there */

    /* of comers_late.c, in a zone with no room for more: one who comes late,
       and how many came */
    unsigned         granted:1;
    uint32_t         late_heard; /* ms, see ngx_adm_ms_since() */
    uint32_t         more;
    int64_t          late;       /* 0: nobody */
    int64_t          late_turn;
} ngx_adm_room_node_t;


/* of tally.c and unlisted.c */
typedef struct ngx_adm_name_s  ngx_adm_name_t;
typedef struct ngx_adm_unlisted_node_s  ngx_adm_unlisted_node_t;


/*
 * An event; begins at the color of its rbtree node, whose key is a hash.  With
 * an id of 36 bytes it is to fit into 256, which is what the slab pool has.
 */
struct ngx_adm_event_node_s {
    u_char                      color;
    u_char                      len;
    unsigned                    working:1;  /* in a tree of the schedule, */
    unsigned                    tree:2;     /* this one */
    unsigned                    owing:1;    /* a step is owed */
    unsigned                    untold:1;   /* other hosts are to be told */
    unsigned                    marked:1;
    unsigned                    active:1;   /* the room: lru is in rooms */
    unsigned                    restoring:1;    /* the log was told that it is
                                                   */
    unsigned                    full:2;   /* of the queue: NGX_ADM_LINE_* */
    unsigned                    noticed:1;  /* an operator has a word about it:
                                               notice.c has that, and those
                                               that ended */
    unsigned                    sale:1;   /* an operator set its times: sale.c
                                             has them, and those unset */
    unsigned                    heard:1;  /* all revocations are known, but for
                                             those that were forgotten */
    unsigned                    held:1;   /* an operator holds it: hold.c has
                                             since when, and whom */
    unsigned                    unsold:1; /* the log was told that what was
                                             sold is lost */
    unsigned                    known:1;  /* whether it is held, and who was put
                                             out, since a step told that */

    /* times in ms, see ngx_adm_ms_since() */
    uint32_t                    synced;   /* when its queue was last heard of */
    uint32_t                    mark;     /* when last marked */
    uint32_t                    owed;     /* since when a step is */
    uint32_t                    busy;     /* when it last had users */
    uint32_t                    told;     /* when other hosts last were; 0:
                                             never */
    uint32_t                    restore;  /* until when data is restored */

    uint32_t                    news;     /* what is left in 32 bits of the
                                             time, us, of the last that was
                                             heard of and looked after */

    ngx_queue_t                 lru;
    ngx_rbtree_node_t           work;     /* key: when to step next, ms */

    ngx_adm_room_node_t  *room;           /* NULL: none known */
    ngx_adm_name_t  *name;                /* NULL: it has none */
    ngx_adm_unlisted_node_t  *unlisted;  /* NULL: it does not count as such */


    ngx_adm_event_state_t  state;

    u_char                      id[1];
};


/* of all events, as known by the last answers */
typedef struct {
    int64_t                     events;
    int64_t                     waiting;    /* in queues */
    int64_t                     active;
    int64_t                     unsold;     /* those of which nobody knows what
                                               was sold */
    int64_t                     rooms;      /* active ones, */
    int64_t                     before;     /* and those who wait there */
} ngx_adm_sums_t;


typedef struct {
    ngx_rbtree_t        tree;
    ngx_rbtree_node_t   sentinel;
    ngx_queue_t         lru;        /* latest first, but for those with active
                                       rooms */
    ngx_queue_t         rooms;      /* those, latest stepped last; they are
                                       never forgotten */
    ngx_adm_sums_t      sums;
    ngx_uint_t          forgotten;  /* of those with work to do, and not told */
    ngx_msec_t          stale;      /* when an event was last seen that nothing
                                       was heard of; 0: never */
} ngx_adm_events_t;


/* ms without an answer about an event, after which what is known is stale:
   as long as the scripts take for a gap */
#define NGX_ADM_STALE  10000


extern ngx_adm_zone_part_t  ngx_adm_events_part;

#define ngx_adm_events(zone)                                                  \
    ((ngx_adm_events_t *)                                                     \
        ngx_adm_zone_data(zone, &ngx_adm_events_part))


#define ngx_adm_event_of(node)                                                \
    ((ngx_adm_event_node_t *) &(node)->color)

#define ngx_adm_event_in(q)                                                   \
    ngx_queue_data(q, ngx_adm_event_node_t, lru)


/* the node of an event; NULL: not known */
ngx_adm_event_node_t *ngx_adm_event_lookup_locked(ngx_adm_zone_t *zone,
    ngx_str_t *id);

/* the same, made if need be, and the latest used then; NULL: no room */
ngx_adm_event_node_t *ngx_adm_event_make_locked(ngx_adm_zone_t *zone,
    ngx_str_t *id);

/*
 * The same, but no other event is forgotten for it, or if an operator named it
 * none but one in which there is nothing to do.
 */
ngx_adm_event_node_t *ngx_adm_event_add_locked(ngx_adm_zone_t *zone,
    ngx_str_t *id, ngx_uint_t named);

/*
 * The first in the order of the tree after that id, whether that is there or
 * not, or of all (id NULL); NULL: none.
 */
ngx_rbtree_node_t *ngx_adm_event_after_locked(ngx_adm_zone_t *zone,
    ngx_str_t *id);

/* what a new zone takes over of the one before */
void ngx_adm_events_copy(ngx_adm_zone_t *zone, ngx_adm_zone_t *ozone);

/* how many were forgotten in which there was something to do, since last asked;
   takes the lock */
ngx_uint_t ngx_adm_events_forgotten(void);

/* with all that parts have of it; not one with an active room */
void ngx_adm_event_free_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en);

/*
 * Memory for what belongs to an event, zeroed; other events are forgotten
 * for it.  NULL: there is none all the same.
 */
void *ngx_adm_event_alloc_locked(ngx_adm_zone_t *zone, size_t size,
    ngx_adm_event_node_t *en);

/* the event, if a waiting room of it is known; or NULL */
ngx_adm_event_node_t *ngx_adm_room_node_locked(ngx_adm_zone_t *zone,
    ngx_str_t *id);

/* adds (sign 1) the event to the sums, before and after it changes, or -1 */
void ngx_adm_sum_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en,
    ngx_int_t sign);

/* positions issued in front of an active room */
int64_t ngx_adm_before(ngx_adm_event_node_t *en);

/*
 * What few events have is found by the address of their nodes, in a tree of the
 * part that has it: it makes the others no larger.  NULL: it has none.
 */
ngx_rbtree_node_t *ngx_adm_event_find_locked(ngx_rbtree_t *tree,
    ngx_adm_event_node_t *en);
void ngx_adm_event_keep_locked(ngx_rbtree_t *tree, ngx_rbtree_node_t *node,
    ngx_adm_event_node_t *en);
ngx_rbtree_node_t *ngx_adm_event_after_key_locked(ngx_rbtree_t *tree,
    ngx_rbtree_key_t key);

/* some event is not, or no longer, known to the host: parts are told */
void ngx_adm_event_lost_locked(ngx_adm_zone_t *zone);

/* an operator set its threshold, seats, notice or times, holds it, or activated
   its room */
ngx_uint_t ngx_adm_event_is_set_locked(ngx_adm_event_node_t *en);

/* forgets times by a clock of this host that was far ahead */
void ngx_adm_event_mend_locked(ngx_adm_event_node_t *en);

/* ms for which its data is still being restored */
ngx_msec_t ngx_adm_event_restore_locked(ngx_adm_event_node_t *en);

/* pushes its id to ids (ngx_str_t), copied into pool; NGX_ERROR: no memory */
ngx_int_t ngx_adm_event_push_locked(ngx_pool_t *pool, ngx_array_t *ids,
    ngx_adm_event_node_t *en);


#endif /* _NGX_ADM_HOST_EVENT_NODE_H_INCLUDED_ */
