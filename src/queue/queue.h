
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Tier 2: the queue of an event.  Calls its scripts, whose heads in lua/ name
 * their keys and arguments, and knows no request.
 *
 * All calls return, complete and cancel as ngx_adm_redis_call() does: NULL is
 * a failure without a completion.  What they are given is copied.  Completions
 * get rc NGX_OK and the answer, or NGX_ERROR and NULL: Redis did not answer,
 * or answered with an error or with something that is not ours (logged).  An
 * error is never an admission.
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
    NGX_ADM_QUEUE_RESTORE,       /* gives back the session of an entry token
                                    after a loss of data; no heartbeat */
    NGX_ADM_QUEUE_REPORT,        /* as CHECK, but who would join by it has to
                                    show a tier 1 token first */
    NGX_ADM_QUEUE_AWAY           /* as STATUS, of a page that nobody looks
                                    at: it does not count as coming */
} ngx_adm_queue_mode_e;


typedef enum {
    NGX_ADM_QUEUE_NOT_IN = 0,
    NGX_ADM_QUEUE_WAITING,
    NGX_ADM_QUEUE_ACTIVE,
    NGX_ADM_QUEUE_POSITION_USED, /* another user has used it */
    NGX_ADM_QUEUE_NEEDS_TIER1,   /* to join by REPORT */
    NGX_ADM_QUEUE_READY,         /* AWAY: let in, not come yet */
    NGX_ADM_QUEUE_FULL,          /* can't join: no room left, */
    NGX_ADM_QUEUE_TOO_LONG,      /* can't join: too long a wait */
    NGX_ADM_QUEUE_SOLD_OUT,      /* CHECK, REPORT: can't join, all is sold */
    NGX_ADM_QUEUE_NOT_HERE,      /* a user's completion: the user is not in */
    NGX_ADM_QUEUE_BOUGHT,        /* likewise: told in an earlier session */
    NGX_ADM_QUEUE_UNDRAWN,       /* CHECK, REPORT: can't join before the draw */

    NGX_ADM_QUEUE_STATES         /* how many */
} ngx_adm_queue_state_e;


/* a call of a user */
typedef struct {
    ngx_str_t                 event;     /* in lower case */
    ngx_adm_event_conf_t     *conf;
    ngx_str_t                 user;
    ngx_adm_queue_mode_e      mode;
    unsigned                  unbound:1; /* may join however many wait, and
                                            though all is sold */
    unsigned                  looks:1;   /* a stream: telling a user that it
                                            is let in does not count as
                                            coming */

    /* verified, for this event and user; NULL and 0: none is shown */
    ngx_adm_claims_t         *tier1;     /* with position, at, act and adm */
    ngx_adm_claims_t         *pass;      /* that lets join, where that takes
                                            one */
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
    int64_t                   slots;     /* set by the API; -1: none */
    int64_t                   sold;      /* -1: nobody knows */

    int64_t                   now;       /* µs, Redis's */
    int64_t                   clock;     /* µs, the event's */
    int64_t                   epoch;     /* µs */
    ngx_uint_t                life;      /* of the zone, when it was asked */
    int64_t                   score;     /* waiting */
    int64_t                   adm;       /* in: µs, event's clock */
    int64_t                   expires;   /* in, ready: ms, Redis's, when
                                            the session ends */
    int64_t                   revoked;   /* set by _revoked() alone */
    int64_t                   rate;      /* measured admissions from the line,
                                            in 1/1000 a second; -1: none yet */
    ngx_uint_t                ended;     /* bool: who left has entry tokens,
                                            which are ended */
    ngx_uint_t                counted;   /* bool: a purchase told for the
                                            first time */
    ngx_adm_claims_t         *place;     /* waiting: the shown one stays;
                                            NULL: a new one is to be made */
    redisReply               *stands;    /* _joins(): four of each, see
                                            lua/queue_join.lua */
    redisReply               *again;     /* _beat(): which users have to ask,
                                            from 0 on, */
    redisReply               *unknown;   /* and which names are not in line */

    /* set by a step */
    int64_t                   due;       /* ms until the next one */
    ngx_uint_t                mixed;     /* bool: the event is stepped by a
                                            host, too, that tells no news */
    int64_t                   notice;    /* version; 0: there is none */
    ngx_adm_sale_set_t        sale;      /* times that an operator set */
    ngx_adm_hold_t            hold;      /* that it is held */
    ngx_uint_t                more;      /* bool: there are more members to
                                            tell of */
} ngx_adm_queue_answer_t;


/* numbers of a user in stands: state, position, score, clock */
#define NGX_ADM_QUEUE_STANDS  4

typedef void (*ngx_adm_queue_done_pt)(void *data, ngx_int_t rc,
    ngx_adm_queue_answer_t *answer);


/*
 * check, status, heartbeat: the user was here, and a place shown may be
 * restored
 */
ngx_adm_redis_call_t *ngx_adm_queue_ask(ngx_adm_queue_ask_t *ask,
    ngx_adm_queue_done_pt done, void *data);

/*
 * Leaves; with beacon set only if nothing is heard of the user for
 * NGX_ADM_BEACON ms. held: what the user shows of this event, verified.  Of a
 * user who shows nothing, and whom Redis does not know, nothing is noted.
 */
#define NGX_ADM_HELD_NOTHING  0
#define NGX_ADM_HELD_PLACE    1
#define NGX_ADM_HELD_ENTRY    2

#define NGX_ADM_BEACON  10000

ngx_adm_redis_call_t *ngx_adm_queue_leave(ngx_str_t *event,
    ngx_adm_event_conf_t *conf, ngx_str_t *user, ngx_uint_t beacon,
    ngx_uint_t held, ngx_adm_queue_done_pt done, void *data);

/*
 * Tells of a purchase of that many seats or, seats being 0, that the backend
 * has the user leave.  Ends the session in which the user was let in at adm
 * (us; 0: the last one).  It may be told again, and counts once; the answer's
 * adm is up to when entry tokens of the user are refused from then on. key: a
 * purchase told again with it is of the same session, even if the user has
 * begun another; may be empty.
 */
typedef enum {
    NGX_ADM_BY_BACKEND = 0,
    NGX_ADM_BY_OPERATOR,
    NGX_ADM_BY_USER                  /* may end in NOT_HERE, BOUGHT */
} ngx_adm_by_e;

ngx_adm_redis_call_t *ngx_adm_queue_complete(ngx_str_t *event,
    ngx_adm_event_conf_t *conf, ngx_str_t *user, int64_t adm, int64_t seats,
    ngx_adm_by_e by, ngx_str_t *key, ngx_adm_queue_done_pt done, void *data);

/* makes a key of NGX_ADM_QUEUE_KEY bytes out of parts */
#define NGX_ADM_QUEUE_KEY  (2 * NGX_ADM_IDEMPOTENCY_HASH)

void ngx_adm_queue_key(ngx_str_t *key, u_char *buf, ngx_str_t *parts,
    ngx_uint_t n);

/* the operators' calls; answers have size, active, threshold and seats */
typedef enum {
    NGX_ADM_QUEUE_LOOK = 0,
    NGX_ADM_QUEUE_CLEAR,
    NGX_ADM_QUEUE_SET_THRESHOLD,     /* to value */
    NGX_ADM_QUEUE_UNSET_THRESHOLD,   /* to the configuration's */
    NGX_ADM_QUEUE_LOOK_SLOTS,
    NGX_ADM_QUEUE_SET_SLOTS,         /* to value; "given" is what is sold at
                                        least, -1: what is known to be */
    NGX_ADM_QUEUE_UNSET_SLOTS
} ngx_adm_queue_admin_e;

ngx_adm_redis_call_t *ngx_adm_queue_admin(ngx_adm_queue_admin_e what,
    int64_t value, int64_t given, ngx_str_t *event, ngx_adm_event_conf_t *conf,
    ngx_adm_queue_done_pt done, void *data);

/*
 * Whether the user is active now, which is no heartbeat: of the answer only
 * state is set, to ACTIVE or NOT_IN.
 */
ngx_adm_redis_call_t *ngx_adm_queue_is_active(ngx_str_t *event, ngx_str_t *user,
    ngx_adm_queue_done_pt done, void *data);

/*
 * The same, and up to when entry tokens of the user are refused: the answer's
 * revoked (us; 0: none is).
 */
ngx_adm_redis_call_t *ngx_adm_queue_revoked(ngx_str_t *event, ngx_str_t *user,
    ngx_adm_queue_done_pt done, void *data);

/*
 * Heartbeats of n users: who were told how they stand without asking Redis,
 * came by the gate, or closed a stream. groups: arguments; named, lately:
 * names alone; ages: for how long each has waited to be told of; as
 * lua/queue_beat.lua has them. leave: ms after which one of them may leave by
 * it; 0: nobody does.
 */
ngx_adm_redis_call_t *ngx_adm_queue_beat(ngx_str_t *event,
    ngx_adm_event_conf_t *conf, ngx_str_t *names, ngx_str_t *lately,
    ngx_str_t *ages, ngx_uint_t n, ngx_str_t *groups, ngx_msec_t leave,
    ngx_adm_queue_done_pt done, void *data);

/*
 * n users join, in that order, who show nothing.  How each stands is in the
 * answer's stands.
 */
ngx_adm_redis_call_t *ngx_adm_queue_joins(ngx_str_t *event,
    ngx_adm_event_conf_t *conf, ngx_uint_t unbound, ngx_uint_t n,
    ngx_str_t *users, ngx_adm_queue_done_pt done, void *data);

/*
 * One step of the schedule: lets in and cleans up, bounded.  Of the answer,
 * state is WAITING while the event has users, waiting or active; position is
 * how many it let in; score is not 0 if it stopped at a bound, so that the
 * next step may follow at once.
 */
ngx_adm_redis_call_t *ngx_adm_queue_step(ngx_str_t *event,
    ngx_adm_event_conf_t *conf, ngx_adm_queue_done_pt done, void *data);


/*
 * The set of events with work to do, which other hosts add to as well.
 * _mark() adds an event; joins do so by themselves, once a minute an event.
 * _list() reads it in parts, by SSCAN, from "0" on; cursor NULL: all of it, by
 * SMEMBERS.
 */
ngx_adm_redis_call_t *ngx_adm_queue_list(ngx_str_t *cursor,
    ngx_adm_redis_done_pt done, void *data);
void ngx_adm_queue_mark(ngx_str_t *event);
void ngx_adm_queue_unlist(ngx_str_t *event);

/*
 * News: events in which something changed (most of all, entry tokens were
 * ended), and when (us, Redis's).  _news() gets those since a time, at most
 * NGX_ADM_QUEUE_NEWS of them: event, time, event, ... in the order of times.
 * _tell() adds one, _forget() drops older ones.
 */
#define NGX_ADM_QUEUE_NEWS  1000

ngx_adm_redis_call_t *ngx_adm_queue_heard(int64_t since,
    ngx_adm_redis_done_pt done, void *data);
void ngx_adm_queue_tell(ngx_str_t *event, int64_t now);
void ngx_adm_queue_forget(int64_t before);


/*
 * Whether no operator named the event: it has no line and, as far as the host
 * knows, was not named by the API.  What it leaves in Redis goes soon.
 */
#define ngx_adm_queue_is_brief(conf, named)                                   \
    ((conf)->sn.str.len == 0 && !(named))

/*
 * ms for which a revocation matters: then the tokens that it is about have
 * expired
 */
#define ngx_adm_queue_keep(token_ttl)                                         \
    ((token_ttl) + 2 * NGX_ADM_LEEWAY * 1000)

/*
 * s until the next poll of a user at this position; 0: in, or not known.
 * Nobody is told of more than half the time that is left to come once let in,
 * nor than half of that after which somebody who waits in silence is taken
 * out.
 */
ngx_uint_t ngx_adm_queue_next_poll(int64_t position,
    ngx_adm_event_conf_t *conf);
ngx_uint_t ngx_adm_queue_most_poll(ngx_adm_event_conf_t *conf);

/* s that a user at this position waits, by the measured rate */
int64_t ngx_adm_queue_estimate(int64_t position, int64_t rate);


#endif /* _NGX_ADM_QUEUE_QUEUE_H_INCLUDED_ */
