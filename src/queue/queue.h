
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Tier 2: the queue of an event.  What calls its scripts, whose heads in lua/
 * name their keys and arguments; it knows no request.
 *
 * All calls return, complete and cancel as ngx_adm_redis_call()
 * does: NULL is a failure without a completion.  What they are given is
 * copied.  Completions get rc NGX_OK and the answer, or NGX_ERROR and NULL:
 * Redis did not answer, or answered with an error or something that is not
 * ours (logged).  An error is never an admission.
 */


#ifndef _NGX_ADM_QUEUE_QUEUE_H_INCLUDED_
#define _NGX_ADM_QUEUE_QUEUE_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "../host/hold.h"
#include "../host/idempotency.h"
#include "../host/sale.h"
#include "../host/settings.h"
#include "../redis/script.h"
#include "../token/claims.h"


#define NGX_ADM_THRESHOLD_MAX  10000000


typedef enum {
    NGX_ADM_QUEUE_CHECK = 0,     /* joins, or reports */
    NGX_ADM_QUEUE_STATUS,        /* never joins */
    NGX_ADM_QUEUE_HEARTBEAT,     /* likewise */
    NGX_ADM_QUEUE_RESTORE,       /* gives back an entry token's session after
                                    a loss of data; no heartbeat */
    NGX_ADM_QUEUE_REPORT,        /* as CHECK, but who would join by it has to
                                    show a tier 1 token first */
    NGX_ADM_QUEUE_AWAY           /* as STATUS, of a page that nobody looks at:
                                    who was let in does not come by it */
} ngx_adm_queue_mode_e;


typedef enum {
    NGX_ADM_QUEUE_NOT_IN = 0,
    NGX_ADM_QUEUE_WAITING,
    NGX_ADM_QUEUE_ACTIVE,
    NGX_ADM_QUEUE_POSITION_USED, /* by another user */
    NGX_ADM_QUEUE_NEEDS_TIER1,   /* of REPORT */
    NGX_ADM_QUEUE_READY,         /* of AWAY: let in, and has not come */
    NGX_ADM_QUEUE_FULL,          /* would join, and there is no room, */
    NGX_ADM_QUEUE_TOO_LONG,      /* or it would be for too long */
    NGX_ADM_QUEUE_SOLD_OUT,      /* of CHECK and REPORT: and so nobody joins */
    NGX_ADM_QUEUE_NOT_HERE,      /* of a user's completion: is not in */
    NGX_ADM_QUEUE_BOUGHT,        /* likewise: has one, of an earlier session */
    NGX_ADM_QUEUE_UNDRAWN,       /* of CHECK and REPORT: not before the draw */

    NGX_ADM_QUEUE_STATES         /* so many, the last one */
} ngx_adm_queue_state_e;


/* a user's call */
typedef struct {
    ngx_str_t                 event;     /* in lower case */
    ngx_adm_event_conf_t     *conf;
    ngx_str_t                 user;
    ngx_adm_queue_mode_e      mode;
    unsigned                  unbound:1; /* joins however many wait,
                                            and though all is sold */
    unsigned                  looks:1;   /* a stream: who was let in does not
                                            come by it */

    /* verified, for this event and user; NULL and 0: none shown */
    ngx_adm_claims_t         *tier1;     /* with position, at, act and adm */
    ngx_adm_claims_t         *pass;      /* which lets join, where
                                            one is needed */
    ngx_adm_claims_t         *entry;     /* entry token */
    ngx_adm_claims_t        **places;
    ngx_uint_t                nplaces;
} ngx_adm_queue_ask_t;


typedef struct {
    ngx_adm_queue_state_e     state;

    int64_t                   position;  /* waiting: from 1 */
    int64_t                   size;      /* users waiting */
    int64_t                   active;
    int64_t                   threshold; /* in force */
    int64_t                   slots;     /* by the API; -1: it set none */
    int64_t                   sold;      /* -1: nobody knows */

    int64_t                   now;       /* µs, Redis's */
    int64_t                   clock;     /* µs, the event's */
    int64_t                   epoch;     /* µs */
    int64_t                   score;     /* waiting */
    int64_t                   adm;       /* in: µs, event's clock */
    int64_t                   expires;   /* in, ready: ms, Redis's, when
                                            the session ends */
    int64_t                   revoked;   /* of _revoked() alone */
    int64_t                   rate;      /* measured admissions from the line,
                                            in 1/1000 a second; -1: none yet */
    ngx_uint_t                ended;     /* bool: entry tokens of the user who
                                            left */
    ngx_uint_t                counted;   /* bool: a purchase, for the first
                                            time */
    ngx_adm_claims_t         *place;     /* waiting: the one that was shown does
                                            still; NULL: it gets a new one */
    redisReply               *stands;    /* of _joins() alone, of each four: as
                                            lua/queue_join.lua has them */
    redisReply               *again;     /* of _beat() alone: which of them are
                                            to ask, 0 being the first; */
    redisReply               *unknown;   /* and of those named, are not in line
                                            */

    /* of a step */
    int64_t                   due;       /* ms until the next one */
    ngx_uint_t                mixed;     /* bool: a host that tells no news
                                            steps, too */
    int64_t                   notice;    /* version; 0: there is none */
    ngx_adm_sale_set_t        sale;      /* times that an operator set */
    ngx_adm_hold_t            hold;      /* likewise, that it is held */
    ngx_uint_t                more;      /* bool: it has not told of all who are
                                            there */
} ngx_adm_queue_answer_t;


/* numbers of a user in stands: state, position, score, clock */
#define NGX_ADM_QUEUE_STANDS  4

typedef void (*ngx_adm_queue_done_pt)(void *data, ngx_int_t rc,
    ngx_adm_queue_answer_t *answer);


/* check, status, heartbeat: each is a heartbeat, each may restore a place */
ngx_adm_redis_call_t *ngx_adm_queue_ask(ngx_adm_queue_ask_t *ask,
    ngx_adm_queue_done_pt done, void *data);

/*
 * Leaves; with beacon set only after NGX_ADM_BEACON ms without
 * any heartbeat.  held: what the user shows of this event, verified.  Of one
 * who shows nothing and never was here nothing is noted.
 */
#define NGX_ADM_HELD_NOTHING  0
#define NGX_ADM_HELD_PLACE    1
#define NGX_ADM_HELD_ENTRY    2

#define NGX_ADM_BEACON  10000

ngx_adm_redis_call_t *ngx_adm_queue_leave(ngx_str_t *event,
    ngx_adm_event_conf_t *conf, ngx_str_t *user, ngx_uint_t beacon,
    ngx_uint_t held, ngx_adm_queue_done_pt done, void *data);

/*
 * A purchase is done (seats > 0), or the backend has the user leave (0): ends
 * the session of which the user was let in at adm (us; 0: the last one).  It
 * may be said again, and counts once; the answer's adm is up to when entry
 * tokens of the user are refused then.  key: what is said again with it is
 * about the same session, though the user has begun another one; empty: none.
 */
typedef enum {
    NGX_ADM_BY_BACKEND = 0,
    NGX_ADM_BY_OPERATOR,
    NGX_ADM_BY_USER                  /* state NOT_HERE, BOUGHT: in vain */
} ngx_adm_by_e;

ngx_adm_redis_call_t *ngx_adm_queue_complete(ngx_str_t *event,
    ngx_adm_event_conf_t *conf, ngx_str_t *user, int64_t adm, int64_t seats,
    ngx_adm_by_e by, ngx_str_t *key, ngx_adm_queue_done_pt done, void *data);

/* a key of parts, of NGX_ADM_QUEUE_KEY bytes */
#define NGX_ADM_QUEUE_KEY  (2 * NGX_ADM_IDEMPOTENCY_HASH)

void ngx_adm_queue_key(ngx_str_t *key, u_char *buf, ngx_str_t *parts,
    ngx_uint_t n);

/* the operator's calls: the answer has size, active, threshold and seats */
typedef enum {
    NGX_ADM_QUEUE_LOOK = 0,
    NGX_ADM_QUEUE_CLEAR,
    NGX_ADM_QUEUE_SET_THRESHOLD,     /* to value */
    NGX_ADM_QUEUE_UNSET_THRESHOLD,   /* to the configuration's */
    NGX_ADM_QUEUE_LOOK_SLOTS,
    NGX_ADM_QUEUE_SET_SLOTS,         /* to value, of which as many as given are
                                        sold at least; -1: as are known to be */
    NGX_ADM_QUEUE_UNSET_SLOTS
} ngx_adm_queue_admin_e;

ngx_adm_redis_call_t *ngx_adm_queue_admin(ngx_adm_queue_admin_e what,
    int64_t value, int64_t given, ngx_str_t *event, ngx_adm_event_conf_t *conf,
    ngx_adm_queue_done_pt done, void *data);

/*
 * Whether the user is active now, without being a heartbeat: the answer's
 * state is ACTIVE or NOT_IN, nothing else is set.
 */
ngx_adm_redis_call_t *ngx_adm_queue_is_active(ngx_str_t *event, ngx_str_t *user,
    ngx_adm_queue_done_pt done, void *data);

/*
 * The same, and up to when entry tokens of the user are refused: the answer's
 * revoked (µs; 0: none is).
 */
ngx_adm_redis_call_t *ngx_adm_queue_revoked(ngx_str_t *event, ngx_str_t *user,
    ngx_adm_queue_done_pt done, void *data);

/*
 * What n users have to say who were told how they stand without asking Redis,
 * who came by the gate, or who closed a stream: groups of arguments, names of
 * others, told of lately or not, and for how long each has waited to be told
 * of, as lua/queue_beat.lua has them.  leave: ms after which one of them may
 * leave by that; 0: none does.
 */
ngx_adm_redis_call_t *ngx_adm_queue_beat(ngx_str_t *event,
    ngx_adm_event_conf_t *conf, ngx_str_t *names, ngx_str_t *lately,
    ngx_str_t *ages, ngx_uint_t n, ngx_str_t *groups, ngx_msec_t leave,
    ngx_adm_queue_done_pt done, void *data);

/*
 * n users join, in that order, who show nothing: how each stands is in the
 * answer's stands.
 */
ngx_adm_redis_call_t *ngx_adm_queue_joins(ngx_str_t *event,
    ngx_adm_event_conf_t *conf, ngx_uint_t unbound, ngx_uint_t n,
    ngx_str_t *users, ngx_adm_queue_done_pt done, void *data);

/*
 * One step of the schedule: admissions and clean-up, bounded.  The answer's
 * state is WAITING while there is work left in the event (anyone waiting or
 * active), position the number of users that it let in, and score is not 0
 * if it stopped at a bound, and the next step may follow at once.
 */
ngx_adm_redis_call_t *ngx_adm_queue_step(ngx_str_t *event,
    ngx_adm_event_conf_t *conf, ngx_adm_queue_done_pt done, void *data);


/*
 * The set of events with work to do, that other hosts may have added; joins
 * add to it by themselves, once a minute an event, as _mark() does.  It is read
 * in parts, by SSCAN, from "0" on; NULL: all at once, by SMEMBERS.
 */
ngx_adm_redis_call_t *ngx_adm_queue_list(ngx_str_t *cursor,
    ngx_adm_redis_done_pt done, void *data);
void ngx_adm_queue_mark(ngx_str_t *event);
void ngx_adm_queue_unlist(ngx_str_t *event);

/*
 * News: events in which something changed, most of all that entry tokens were
 * ended, and when (us, Redis's); the answer has those since then, at most
 * NGX_ADM_QUEUE_NEWS of them: an event, a time, an event, ...
 * in the order of times.  One is told by _tell(), what is older goes by
 * _forget().
 */
#define NGX_ADM_QUEUE_NEWS  1000

ngx_adm_redis_call_t *ngx_adm_queue_heard(int64_t since,
    ngx_adm_redis_done_pt done, void *data);
void ngx_adm_queue_tell(ngx_str_t *event, int64_t now);
void ngx_adm_queue_forget(int64_t before);


/*
 * Whether no operator named the event, by a line or, as the host knows, by the
 * API (named): what it leaves goes soon.
 */
#define ngx_adm_queue_is_brief(conf, named)                                   \
    ((conf)->sn.str.len == 0 && !(named))

/* ms after which the tokens that a revocation is about have expired */
#define ngx_adm_queue_keep(token_ttl)                                         \
    ((token_ttl) + 2 * NGX_ADM_LEEWAY * 1000)

/*
 * s until the next poll of one at this position; 0: in, or unknown.  It comes
 * twice at least in the time that one who is let in has to come, and in that in
 * which who waits is to be heard of: that is the most, of all who are told.
 */
ngx_uint_t ngx_adm_queue_next_poll(int64_t position,
    ngx_adm_event_conf_t *conf);
ngx_uint_t ngx_adm_queue_most_poll(ngx_adm_event_conf_t *conf);

/* s that one at this position waits, by the rate measured */
int64_t ngx_adm_queue_estimate(int64_t position, int64_t rate);


#endif /* _NGX_ADM_QUEUE_QUEUE_H_INCLUDED_ */
