
/*
 * Copyright (C) 2026 the admission module authors
 *
 * How the zone looks inside, for the files that work on it: zone.c, events.c,
 * view.c, room.c, trail.c, unlisted.c, revoked.c, idempotency.c,
 * limit_local.c, bucket.c, counts.c, stats.c, tally.c, ready.c and
 * redis_health.c.  All of it is under the lock of the slab pool, but for the
 * offset, what is of limits alone, the numbers in counts, and what says so;
 * functions with _locked in their names want it held.
 *
 * The lock is taken by ngx_http_admission_zone_lock() alone, which finds all
 * that is in the slab pool gone if a process died with the lock: no pointer
 * to it outlives the lock.  What is kept for good, the structure below, what
 * is counted, and the health of Redis's nodes, lies behind the pool and stays
 * as it is.
 *
 * There is no version of it: NGINX gives a zone to the module that made it
 * alone, by its tag, and another build of the module has another.
 */


#ifndef _NGX_HTTP_ADMISSION_ZONE_SHM_H_INCLUDED_
#define _NGX_HTTP_ADMISSION_ZONE_SHM_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_admission_bucket.h"
#include "ngx_http_admission_hash.h"
#include "ngx_http_admission_redis_counts.h"
#include "ngx_http_admission_room.h"
#include "ngx_http_admission_stats.h"
#include "ngx_http_admission_tally.h"
#include "ngx_http_admission_unlisted.h"
#include "ngx_http_admission_zone.h"


/* the waiting room of an event that ever had one */
typedef struct {
    ngx_http_admission_room_t   room;
    ngx_queue_t                 trail;      /* of the counter, in chunks, the
                                               oldest first */
    ngx_msec_t                  due;        /* when the next step is */
    ngx_msec_t                  mark;       /* when last marked */
    ngx_uint_t                  round;      /* of the list, when last in it */
    int64_t                     moved;      /* us, the event's clock: when the
                                               counter last did */
    int64_t                     us;         /* that the counter was measured */
    int64_t                     passed;     /* positions meanwhile, * 1000 */
    ngx_msec_t                  synced;     /* when last heard of */
    unsigned                    marked:1;
} ngx_http_admission_room_node_t;


/* of limit_local.c, in memory of their own */
typedef struct ngx_http_admission_windows_s  ngx_http_admission_windows_t;
typedef struct ngx_http_admission_revoked_node_s
    ngx_http_admission_revoked_node_t;
typedef struct ngx_http_admission_revoked_answer_s
    ngx_http_admission_revoked_answer_t;


/* of bucket.c, likewise */
typedef struct ngx_http_admission_buckets_s  ngx_http_admission_buckets_t;


/* of tally.c, likewise */
typedef struct ngx_http_admission_name_s  ngx_http_admission_name_t;


/* of unlisted.c, likewise */
typedef struct ngx_http_admission_unlisted_node_s
    ngx_http_admission_unlisted_node_t;
typedef struct ngx_http_admission_share_s  ngx_http_admission_share_t;


/* events that no operator named, and who is in them */
typedef struct {
    ngx_queue_t                 events;     /* that have users, latest heard
                                               of first */
    ngx_queue_t                 asked;      /* that somebody is about to join,
                                               latest first */
    ngx_uint_t                  n;          /* of both */
    ngx_uint_t                  generation; /* of the configuration that they
                                               were counted by */

    ngx_http_admission_share_t **shares;    /* a table */
    ngx_uint_t                  mask;
    ngx_queue_t                 users;      /* their shares, first to expire
                                               last */
    ngx_queue_t                 ending;     /* likewise, of those that end
                                               sooner than usual, */
    ngx_queue_t                 gone;       /* and of users who have left */
    ngx_uint_t                  nusers;
    ngx_uint_t                  max;

    uint64_t                    refused[NGX_HTTP_ADMISSION_BOUNDS];
    ngx_msec_t                  logged;     /* when a refusal last was; 0:
                                               never */
    ngx_msec_t                  looked;     /* since when ids that are not
                                               known were asked for */
    ngx_uint_t                  looks;      /* so many of them */

    ngx_uint_t                  made;       /* ids that were new of late: what
                                               they leave in Redis stays for a
                                               while */
    ngx_msec_t                  made_at;    /* as of then */
} ngx_http_admission_unlisted_t;


/*
 * An event; begins at the color of its rbtree node, whose key is a hash.  With
 * an id of 36 bytes it is to fit into 256, which is what the slab pool has.
 */
typedef struct {
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
    unsigned                    heard:1;    /* all revocations are known, but
                                               for those that were forgotten */

    /* times in ms, see ngx_http_admission_ms_since() */
    uint32_t                    synced;     /* when its queue was last heard
                                               of */
    uint32_t                    mark;       /* when last marked */
    uint32_t                    owed;       /* since when a step is */
    uint32_t                    busy;       /* when it last had users */
    uint32_t                    told;       /* when other hosts last were; 0:
                                               never */
    uint32_t                    restore;    /* until when data is restored */

    uint32_t                    news;       /* what is left in 32 bits of the
                                               time, us, of the last that was
                                               heard of and looked after */

    ngx_queue_t                 lru;
    ngx_rbtree_node_t           work;       /* key: when to step next, ms */

    ngx_http_admission_room_node_t  *room;  /* NULL: none known */
    ngx_http_admission_name_t  *name;       /* NULL: it has none */
    ngx_http_admission_unlisted_node_t  *unlisted;  /* NULL: it does not count
                                                       as such */


    ngx_http_admission_event_state_t  state;

    u_char                      id[1];
} ngx_http_admission_event_node_t;


/* of the schedule: two of which one is idle, the other recalled, and */
#define NGX_HTTP_ADMISSION_URGENT  2
#define NGX_HTTP_ADMISSION_TREES   3


typedef struct {
    ngx_atomic_t                inside;     /* bool: somebody has the lock */
    ngx_uint_t                  made_anew;  /* since somebody died with it */
    ngx_uint_t                  life;       /* how often that was, ever */
    size_t                      size;       /* of the zone */
    u_char                     *kept;       /* free from here, for good */
    u_char                     *end;
    u_char                     *log_ctx;
    ngx_http_admission_hash_key_t  hash_key;    /* set once, without a lock */

    ngx_rbtree_t                events;
    ngx_rbtree_node_t           events_sentinel;
    ngx_queue_t                 lru;        /* of events, latest first, but
                                               for those with active rooms */
    ngx_rbtree_t                work[NGX_HTTP_ADMISSION_TREES];
                                            /* of those to be stepped, by due
                                               time */
    ngx_rbtree_node_t           work_sentinel;      /* of all of them */
    ngx_uint_t                  idle;       /* the tree of those in which
                                               nobody waits; the other one's
                                               are all due: recalled */
    ngx_uint_t                  recall;     /* bool: again, after that */
    ngx_uint_t                  nwork;
    ngx_msec_t                  recalled;   /* when touch with Redis began, as
                                               it was when all events were
                                               recalled last */
    ngx_msec_t                  watchful;   /* until when news from others is
                                               not relied on; 0: it is */

    ngx_queue_t                 rooms;      /* active, latest stepped last;
                                               these are never forgotten */
    ngx_uint_t                  round;      /* of reading the list of them */
    ngx_uint_t                  generation; /* of the configuration */
    ngx_uint_t                  configured; /* the one whose vwr=on was
                                               carried out */
    ngx_http_admission_unlisted_t  unlisted;

    ngx_uint_t                  rooms_lost; /* for want of room */
    ngx_msec_t                  rooms_full; /* when last, if ever */
    int64_t                     listed;     /* us, when last read; 0: never */
    int64_t                     listing;    /* since when, without a gap */

    ngx_http_admission_revoked_node_t  **revoked;       /* a table */
    ngx_uint_t                  revoked_mask;
    ngx_queue_t                 revocations;    /* latest first */
    ngx_uint_t                  nrevoked;
    ngx_uint_t                  revoked_max;

    /*
     * What was forgotten.  Tokens up to a time are to be asked about: of all
     * events where the table had no room, and up to any time those of events
     * that were forgotten themselves, until such an event is heard of.
     */
    int64_t                     forgot_time;    /* us; 0: nothing */
    ngx_msec_t                  forgot_until;   /* it matters */
    ngx_uint_t                  unheard;        /* bool */
    ngx_msec_t                  unheard_until;
    ngx_msec_t                  revoked_keep;   /* ms, the most; 0: there is
                                                   no Redis that knows more */
    uint64_t                    revoked_forgotten;  /* ever */
    ngx_uint_t                  revoked_lost;   /* since the log was told */
    ngx_msec_t                  revoked_logged; /* when it was */

    ngx_http_admission_revoked_answer_t  *revoked_answers;  /* of Redis */
    ngx_uint_t                  revoked_answers_mask;

    /* answers to calls with an Idempotency-Key */
    ngx_rbtree_t                answers;
    ngx_rbtree_node_t           answers_sentinel;
    ngx_queue_t                 answered;       /* latest first */
    ngx_uint_t                  nanswers;
    ngx_uint_t                  answers_max;

    ngx_http_admission_redis_counts_t  redis;   /* without a lock */
    ngx_queue_t                 nodes;      /* of Redis: their health, which
                                               is without a lock */
    ngx_uint_t                  nnodes;

    /* metrics */
    ngx_http_admission_stripe_t  *stripes;  /* the first is always there; read
                                               without a lock */
    ngx_uint_t                  nstripes;   /* at most */
    ngx_http_admission_sums_t   sums;
    ngx_http_admission_tally_t  all;
    ngx_http_admission_tally_t  others;     /* those not named */
    ngx_http_admission_waits_t  waits;
    ngx_uint_t                  forgotten;  /* events, for want of room */
    ngx_queue_t                 names;
    ngx_uint_t                  nnames;
    ngx_msec_t                  named;      /* when a name last changed hands,
                                               or might have */

    ngx_msec_t                  stale;      /* when an event was last seen that
                                               nothing was heard of; 0: never */

    /* rate limits */
    ngx_http_admission_windows_t  *windows; /* while Redis does not answer;
                                               NULL: none yet */
    ngx_atomic_t                limits_alone;   /* bool: it did not */
    ngx_msec_t                  limits_missed;  /* when last */
    ngx_msec_t                  limits_since;   /* and first */
    ngx_atomic_t                limits_ms;      /* in all, before that */
    ngx_queue_t                 counts;     /* of each category */
    size_t                      counts_free;    /* bytes for more of them */

    /* what addresses make anew */
    ngx_http_admission_buckets_t       *buckets;
    ngx_http_admission_intake_counts_t  intakes;    /* without a lock */

    ngx_atomic_t                offset;     /* Redis's time less the host's,
                                               ms */

    ngx_pid_t                   holder;     /* of the lease */
    ngx_msec_t                  beat;       /* its last */
} ngx_http_admission_shctx_t;


/* ms without an answer about an event, after which what is known is stale:
   as long as the scripts take for a gap */
#define NGX_HTTP_ADMISSION_STALE  10000


typedef struct {
    ngx_http_admission_shctx_t *sh;
    ngx_slab_pool_t            *shpool;
    ngx_uint_t                  generation; /* of this configuration */
} ngx_http_admission_zone_t;


/* the zone of this process's configuration; set once, before any request */
extern ngx_http_admission_zone_t  *ngx_http_admission_zone;


void ngx_http_admission_zone_lock(ngx_http_admission_zone_t *zone);
void ngx_http_admission_zone_unlock(ngx_http_admission_zone_t *zone);

/* memory that is never freed, zeroed; NULL: no room */
void *ngx_http_admission_zone_keep_locked(ngx_http_admission_zone_t *zone,
    size_t size);

/* a new zone, and one that takes over from another that may be in use */
void ngx_http_admission_events_init(ngx_http_admission_shctx_t *sh);
void ngx_http_admission_events_copy(ngx_http_admission_zone_t *zone,
    ngx_http_admission_zone_t *ozone);

/* ms since a time of an event, which is right for 49 days */
ngx_msec_t ngx_http_admission_ms_since(uint32_t time);

/* ms for which its data is still being restored */
ngx_msec_t ngx_http_admission_event_restore_locked(
    ngx_http_admission_event_node_t *en);

/* the node of an event; NULL: not known */
ngx_http_admission_event_node_t *ngx_http_admission_event_lookup_locked(
    ngx_http_admission_zone_t *zone, ngx_str_t *id);

/* the same, made if need be; NULL: no room */
ngx_http_admission_event_node_t *ngx_http_admission_event_make_locked(
    ngx_http_admission_zone_t *zone, ngx_str_t *id);

/*
 * Memory for what belongs to an event, zeroed; other events are forgotten
 * for it.  NULL: there is none all the same.
 */
void *ngx_http_admission_event_alloc_locked(ngx_http_admission_zone_t *zone,
    size_t size, ngx_http_admission_event_node_t *en);

/* the schedule looks after the event, and at it in so many ms at the latest */
void ngx_http_admission_event_soon_locked(ngx_http_admission_zone_t *zone,
    ngx_http_admission_event_node_t *en, ngx_msec_t delay);

/* NULL: no waiting room of it is known */
ngx_http_admission_event_node_t *ngx_http_admission_room_node_locked(
    ngx_http_admission_zone_t *zone, ngx_str_t *event);

/* an operator set its threshold, or activated its waiting room */
ngx_uint_t ngx_http_admission_event_is_set_locked(
    ngx_http_admission_event_node_t *en);

/*
 * Since when an event that no list had is not active for certain (us); 0: not
 * known.  Where Redis lost the list, its hosts are to have had the time to add
 * to it.
 */
int64_t ngx_http_admission_rooms_unlisted_locked(
    ngx_http_admission_shctx_t *sh);

/* the room of an event goes with it, and comes with it from another zone */
void ngx_http_admission_room_free_locked(ngx_http_admission_zone_t *zone,
    ngx_http_admission_event_node_t *en);
void ngx_http_admission_room_copy_locked(ngx_http_admission_zone_t *zone,
    ngx_http_admission_event_node_t *en,
    ngx_http_admission_event_node_t *oen);


/* adds (sign 1) the event to the sums, before and after it changes, or -1 */
void ngx_http_admission_sum_locked(ngx_http_admission_zone_t *zone,
    ngx_http_admission_event_node_t *en, ngx_int_t sign);

/*
 * Whether the event counts among those that no operator named, after what is
 * known of it has changed; and it does no longer.
 */
void ngx_http_admission_unlisted_locked(ngx_http_admission_zone_t *zone,
    ngx_http_admission_event_node_t *en);
void ngx_http_admission_unlisted_free_locked(ngx_http_admission_zone_t *zone,
    ngx_http_admission_event_node_t *en);

/* bytes of the table for a zone of this size; the table; and emptied */
size_t ngx_http_admission_unlisted_size(size_t size);
ngx_int_t ngx_http_admission_unlisted_make_locked(
    ngx_http_admission_zone_t *zone);
void ngx_http_admission_unlisted_init(ngx_http_admission_shctx_t *sh);
void ngx_http_admission_unlisted_copy(ngx_http_admission_zone_t *zone,
    ngx_http_admission_zone_t *ozone);

/* the event gets a name, if it may; and gives it back */
void ngx_http_admission_name_locked(ngx_http_admission_zone_t *zone,
    ngx_http_admission_event_node_t *en);
void ngx_http_admission_unname_locked(ngx_http_admission_zone_t *zone,
    ngx_http_admission_event_node_t *en);

/* adds to the host's, and to the event's; en is NULL if it is not known */
void ngx_http_admission_tally_locked(ngx_http_admission_zone_t *zone,
    ngx_http_admission_event_node_t *en, ngx_http_admission_tally_t *tally);

/* the name that it had in another zone, with what was counted under it */
void ngx_http_admission_name_inherit_locked(ngx_http_admission_zone_t *zone,
    ngx_http_admission_event_node_t *en,
    ngx_http_admission_event_node_t *oen);

void ngx_http_admission_tally_init(ngx_http_admission_shctx_t *sh);
void ngx_http_admission_tally_copy(ngx_http_admission_zone_t *zone,
    ngx_http_admission_zone_t *ozone);

/* bytes of all stripes of such a zone; the first one.  NGX_ERROR: no room */
size_t ngx_http_admission_stats_size(size_t size);
ngx_int_t ngx_http_admission_stats_make_locked(
    ngx_http_admission_zone_t *zone);
void ngx_http_admission_stats_copy(ngx_http_admission_zone_t *zone,
    ngx_http_admission_zone_t *ozone);


/*
 * The trail of a counter: points that it passed, in the order of time, and
 * as the last one what the room itself says.
 */
void ngx_http_admission_trail_add_locked(ngx_http_admission_zone_t *zone,
    ngx_http_admission_event_node_t *en, int64_t time, int64_t position);

/* the time of the last point; 0: there is none */
int64_t ngx_http_admission_trail_last_locked(
    ngx_http_admission_room_node_t *rn);

/* drops what is not needed for times from then on */
void ngx_http_admission_trail_trim_locked(ngx_http_admission_zone_t *zone,
    ngx_http_admission_room_node_t *rn, int64_t from);
void ngx_http_admission_trail_free_locked(ngx_http_admission_zone_t *zone,
    ngx_http_admission_room_node_t *rn);

/* see ngx_http_admission_room_turn() */
int64_t ngx_http_admission_trail_turn_locked(
    ngx_http_admission_room_node_t *rn, int64_t position);
void ngx_http_admission_trail_copy_locked(ngx_http_admission_zone_t *zone,
    ngx_http_admission_event_node_t *en,
    ngx_http_admission_room_node_t *orn);


void ngx_http_admission_answers_init(ngx_http_admission_shctx_t *sh,
    size_t size);

/*
 * Gives the memory of all windows of rate limits back, for what is worth more
 * than they are; returns 0 if there was none.
 */
ngx_uint_t ngx_http_admission_windows_yield_locked(
    ngx_http_admission_zone_t *zone);

/* for how long limits have gone by "fail=", and whether they do */
void ngx_http_admission_limits_copy(ngx_http_admission_zone_t *zone,
    ngx_http_admission_zone_t *ozone);

void ngx_http_admission_counts_init(ngx_http_admission_shctx_t *sh);
void ngx_http_admission_counts_copy(ngx_http_admission_zone_t *zone,
    ngx_http_admission_zone_t *ozone);

/* bytes of the tables for a zone of this size; the tables; and emptied */
size_t ngx_http_admission_revoked_size(size_t size);
ngx_int_t ngx_http_admission_revoked_make_locked(
    ngx_http_admission_zone_t *zone);
void ngx_http_admission_revoked_init(ngx_http_admission_shctx_t *sh);
void ngx_http_admission_revoked_copy(ngx_http_admission_zone_t *zone,
    ngx_http_admission_zone_t *ozone);

/*
 * An event is not, or no longer, known to the host: until it is heard of again
 * its entry tokens are to be asked about.
 */
void ngx_http_admission_revoked_unheard_locked(
    ngx_http_admission_zone_t *zone);

/* likewise what addresses make anew */
size_t ngx_http_admission_buckets_size(size_t size);
ngx_int_t ngx_http_admission_buckets_make_locked(
    ngx_http_admission_zone_t *zone);
void ngx_http_admission_buckets_init(ngx_http_admission_shctx_t *sh);
void ngx_http_admission_buckets_copy(ngx_http_admission_zone_t *zone,
    ngx_http_admission_zone_t *ozone);


#endif /* _NGX_HTTP_ADMISSION_ZONE_SHM_H_INCLUDED_ */
