
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The nodes of events in the zone, one for each event that the host knows: in
 * a tree by id, in a queue by use, and with what other parts have of the
 * event.  All of it is under the zone's lock.
 */


#ifndef _NGX_ADM_HOST_EVENT_NODE_H_INCLUDED_
#define _NGX_ADM_HOST_EVENT_NODE_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "event.h"
#include "zone.h"


/* defined by there.c */
typedef struct ngx_adm_there_node_s  ngx_adm_there_node_t;


/* the waiting room of an event; made once it ever had one */
typedef struct {
    ngx_adm_room_t   room;
    ngx_queue_t      trail;      /* of the counter, chunks, the oldest first */
    ngx_msec_t       due;        /* when the next step is */
    ngx_msec_t       mark;       /* when last marked */
    ngx_uint_t       round;      /* of reading the list, when last in it */
    int64_t          moved;      /* us, the event's clock: when the counter
                                    last moved */
    int64_t          us;         /* for how long the counter was measured */
    int64_t          passed;     /* positions in that time, * 1000 */
    ngx_msec_t       synced;     /* when last heard of */
    ngx_adm_there_node_t  *there;    /* NULL: nobody was heard of */
    unsigned         marked:1;
    unsigned         blind:1;    /* somebody was heard of who has no room in
                                    "there" */

    /*
     * of comers_late.c, where the zone has room for no more: one who came
     * late, and how many came
     */
    unsigned         granted:1;
    uint32_t         late_heard; /* ms, see ngx_adm_ms_since() */
    uint32_t         more;
    int64_t          late;       /* 0: nobody */
    int64_t          late_turn;
} ngx_adm_room_node_t;


/* defined by tally.c and unlisted.c */
typedef struct ngx_adm_name_s  ngx_adm_name_t;
typedef struct ngx_adm_unlisted_node_s  ngx_adm_unlisted_node_t;


/*
 * An event.  Begins at the color of its rbtree node, whose key is a hash of
 * the id.  With an id of 36 bytes it has to fit into 256 bytes, a size of the
 * slab pool's.
 */
struct ngx_adm_event_node_s {
    u_char                      color;
    u_char                      len;
    unsigned                    working:1;  /* in a tree of the schedule, */
    unsigned                    tree:2;     /* in this one */
    unsigned                    owing:1;    /* a step is owed */
    unsigned                    untold:1;   /* other hosts have to be told */
    unsigned                    marked:1;
    unsigned                    active:1;   /* its room is: lru is in rooms */
    unsigned                    restoring:1;    /* the log knows that it is */
    unsigned                    full:2;   /* its queue: NGX_ADM_LINE_* */
    unsigned                    noticed:1;  /* has a notice, or had: see
                                               notice.c */
    unsigned                    sale:1;   /* an operator set its times, or
                                             did: see sale.c */
    unsigned                    heard:1;  /* all its revocations are known,
                                             except forgotten ones */
    unsigned                    held:1;   /* an operator holds it: see hold.c */
    unsigned                    unsold:1; /* the log knows that what was sold
                                             is lost */
    unsigned                    known:1;  /* whether it is held, and who was
                                             put out, since a step told that */

    /* times in ms, see ngx_adm_ms_since() */
    uint32_t                    synced;   /* when its queue was last heard of */
    uint32_t                    mark;     /* when last marked */
    uint32_t                    owed;     /* since when a step is owed */
    uint32_t                    busy;     /* when it last had users */
    uint32_t                    told;     /* when other hosts were last told;
                                             0: never */
    uint32_t                    restore;  /* until when data is restored */

    uint32_t                    news;     /* of the last news looked after:
                                             the low 32 bits of its time, us */

    ngx_queue_t                 lru;
    ngx_rbtree_node_t           work;     /* key: when to step next, ms */

    ngx_adm_room_node_t  *room;           /* NULL: none known */
    ngx_adm_name_t  *name;                /* NULL: it has none */
    ngx_adm_unlisted_node_t  *unlisted;  /* NULL: not such an event */


    ngx_adm_event_state_t  state;

    u_char                      id[1];
};


/* sums over all events, by the last answers */
typedef struct {
    int64_t                     events;
    int64_t                     waiting;    /* in queues */
    int64_t                     active;
    int64_t                     unsold;     /* events of which nobody knows
                                               what was sold */
    int64_t                     rooms;      /* active ones, */
    int64_t                     before;     /* how many wait there */
} ngx_adm_sums_t;


typedef struct {
    ngx_rbtree_t        tree;
    ngx_rbtree_node_t   sentinel;
    ngx_queue_t         lru;        /* latest first; none with active rooms */
    ngx_queue_t         rooms;      /* events with active rooms, latest
                                       stepped last; never forgotten */
    ngx_adm_sums_t      sums;
    ngx_uint_t          forgotten;  /* events with work to do, not told of
                                       yet */
    ngx_msec_t          stale;      /* when an event was last seen of which
                                       nothing was heard; 0: never */
} ngx_adm_events_t;


/*
 * ms without an answer after which what is known of an event is stale: the
 * same as what the scripts call a gap
 */
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

/* the same, made if need be, and now the latest used; NULL: no room */
ngx_adm_event_node_t *ngx_adm_event_make_locked(ngx_adm_zone_t *zone,
    ngx_str_t *id);

/*
 * The same, but for an event that no operator named no other is forgotten, and
 * for one that was, none with work to do.
 */
ngx_adm_event_node_t *ngx_adm_event_add_locked(ngx_adm_zone_t *zone,
    ngx_str_t *id, ngx_uint_t named);

/*
 * The first event after that id in the order of the tree, whether the id is
 * there or not; id NULL: of all.  NULL: there is none.
 */
ngx_rbtree_node_t *ngx_adm_event_after_locked(ngx_adm_zone_t *zone,
    ngx_str_t *id);

/* takes over the events of the zone before this one */
void ngx_adm_events_copy(ngx_adm_zone_t *zone, ngx_adm_zone_t *ozone);

/*
 * how many events with work to do were forgotten since this was last asked;
 * takes the lock
 */
ngx_uint_t ngx_adm_events_forgotten(void);

/* frees the event, with what all parts have of it; not if its room is active */
void ngx_adm_event_free_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en);

/*
 * Zeroed memory for something that belongs to an event; other events are
 * forgotten for it.  NULL: even so there is none.
 */
void *ngx_adm_event_alloc_locked(ngx_adm_zone_t *zone, size_t size,
    ngx_adm_event_node_t *en);

/* the event, if its waiting room is known; else NULL */
ngx_adm_event_node_t *ngx_adm_room_node_locked(ngx_adm_zone_t *zone,
    ngx_str_t *id);

/*
 * adds an event to the sums (sign 1), after a change, or takes it out (-1),
 * before
 */
void ngx_adm_sum_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en,
    ngx_int_t sign);

/* how many positions are issued and not called, if the room is active */
int64_t ngx_adm_before(ngx_adm_event_node_t *en);

/*
 * What few events have is kept in a tree of the part that has it, by the
 * address of the event's node, so that other nodes are not larger for it.
 * NULL: this event has none.
 */
ngx_rbtree_node_t *ngx_adm_event_find_locked(ngx_rbtree_t *tree,
    ngx_adm_event_node_t *en);
void ngx_adm_event_keep_locked(ngx_rbtree_t *tree, ngx_rbtree_node_t *node,
    ngx_adm_event_node_t *en);
ngx_rbtree_node_t *ngx_adm_event_after_key_locked(ngx_rbtree_t *tree,
    ngx_rbtree_key_t key);

/* has parts told that the host does not know some event, or no longer does */
void ngx_adm_event_lost_locked(ngx_adm_zone_t *zone);

/*
 * whether an operator set its threshold, seats, notice or times, holds it, or
 * activated its room
 */
ngx_uint_t ngx_adm_event_is_set_locked(ngx_adm_event_node_t *en);

/* drops times that come from a clock that was far ahead */
void ngx_adm_event_mend_locked(ngx_adm_event_node_t *en);

/* ms for which the event's data is still being restored */
ngx_msec_t ngx_adm_event_restore_locked(ngx_adm_event_node_t *en);

/*
 * pushes the event's id to ids (ngx_str_t), copied into pool; NGX_ERROR: no
 * memory
 */
ngx_int_t ngx_adm_event_push_locked(ngx_pool_t *pool, ngx_array_t *ids,
    ngx_adm_event_node_t *en);


#endif /* _NGX_ADM_HOST_EVENT_NODE_H_INCLUDED_ */
