
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Heartbeats of users whom the host told how they stand, of users who came by
 * the gate, and of users who closed a stream.  Those of an event go out with
 * one call, a moment after the first of them or when they are many.  A worker
 * that leaves sends its own first, since the timer keeps it.
 *
 * A user whom the worker has told of before, with the very same place, is told
 * of by name alone: that takes Redis much less, and most heartbeats are of
 * this kind.  Redis says which of these names are not in line any more, and
 * hears of them again with their places.  So forgetting a user costs time, and
 * nothing else.
 *
 * Of a user told of lately Redis only looks whether it is in line, which takes
 * less than noting when it was heard of; in return silent users are taken out
 * that much later.  Only the worker that told keeps this in mind: nobody is
 * believed to be noted by something that was lost with it.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>

#include "ngx_http_admission_names.h"
#include "../base/by_id.h"
#include "../base/counter.h"
#include "../host/view.h"
#include "../redis/client.h"
#include "beat.h"
#include "beat_text.h"


#define NGX_ADM_BEAT_DELAY  800          /* ms */
#define NGX_ADM_BEAT_CLOSED 20           /* of a closed stream: if the user
                                            comes by a gate of another
                                            worker, that has to be told after
                                            it */

/*
 * what Redis has to do for a heartbeat of each kind; at most, about 1 ms, for
 * a call
 */
#define NGX_ADM_BEAT_LOOK   1
#define NGX_ADM_BEAT_NOTE   2
#define NGX_ADM_BEAT_SAY    4
#define NGX_ADM_BEATS       1000

/*
 * ms between two reports by the gate about a user, who may have come by the
 * first; or _OFTEN, where users have less time to come, or may leave with a
 * stream
 */
#define NGX_ADM_BEAT_COMES  30000
#define NGX_ADM_BEAT_OFTEN  1000

/*
 * ms that a call may take, whatever the timeout: a worker that leaves stays
 * for it, and what is lost with it is said again
 */
#define NGX_ADM_BEAT_CALL   5000

/*
 * users whose last report a worker remembers; of others it reports more often
 */
#define NGX_ADM_BEAT_CAME   8192


/*
 * users told of, whom a worker remembers: rows of a table, places in a row,
 * and for how many s, since at times Redis has to look at the score
 */
#define NGX_ADM_BEAT_ROWS   65536
#define NGX_ADM_BEAT_ROW    4
#define NGX_ADM_BEAT_KNOWN  600

#define NGX_ADM_BEAT_SOON   10           /* ms, for users whom Redis did not
                                            find by name */

/* how a user was told of before; LATELY: Redis noted it not long ago */
#define NGX_ADM_BEAT_NEW     0
#define NGX_ADM_BEAT_TOLD    1
#define NGX_ADM_BEAT_LATELY  2


/* heartbeats of an event, until they are answered */
typedef struct {
    ngx_str_node_t             sn;       /* str: the id */
    ngx_adm_event_conf_t      *conf;
    ngx_pool_t                *pool;     /* of all this */
    ngx_array_t                groups;   /* ngx_str_t, arguments, */
    ngx_array_t                said;     /* ngx_msec_t, of each group */
    ngx_array_t                named;    /* ngx_adm_beat_t, and */
    ngx_array_t                lately;   /* the same, of LATELY */
    ngx_uint_t                 n;        /* in all three */
    ngx_uint_t                 weight;
    ngx_uint_t                 batch;    /* number, see below */
    ngx_uint_t                 comes;    /* how many of a kind */
    ngx_uint_t                 closes;
    ngx_msec_t                 leave;    /* the longest time after which one
                                            of them leaves; 0: nobody does */
    ngx_event_t                send;     /* timer */
} ngx_adm_beats_t;


typedef struct {
    uint64_t                   key;      /* hash of event, user and session */
    ngx_msec_t                 at;
    ngx_uint_t                 batch;
    ngx_uint_t                 nth;      /* before the nth of a batch */
} ngx_adm_came_t;


static ngx_adm_came_t *ngx_adm_beat_of(ngx_adm_event_conf_t *conf,
    ngx_adm_claims_t *entry, ngx_adm_came_t *now);
static ngx_int_t ngx_adm_beat_add(ngx_str_t *event,
    ngx_adm_event_conf_t *conf, ngx_adm_beat_t *beat, ngx_uint_t named);
static ngx_uint_t ngx_adm_beat_told(ngx_str_t *event,
    ngx_adm_event_conf_t *conf, ngx_adm_beat_t *beat);

static ngx_adm_beats_t *ngx_adm_beats(ngx_str_t *event);
static void ngx_adm_beats_within(ngx_adm_beats_t *beats, ngx_msec_t delay);
static void ngx_adm_beats_timer(ngx_event_t *ev);
static void ngx_adm_beats_send(ngx_adm_beats_t *beats);
static void ngx_adm_beats_done(void *data, ngx_int_t rc,
    ngx_adm_queue_answer_t *answer);
static void ngx_adm_beats_again(ngx_adm_beats_t *beats,
    ngx_adm_queue_answer_t *answer);


static ngx_adm_by_id_t    ngx_adm_beat_events;


static ngx_adm_came_t     ngx_adm_came[NGX_ADM_BEAT_CAME];

/* changed when a call failed: whatever it said has to be said again */
static uint64_t           ngx_adm_came_seed;

/* another number for each beats, and again when a stream was closed */
static ngx_uint_t         ngx_adm_beat_batch;


/*
 * for each user the upper 48 bits of a key, whose other bits are the row, and
 * the time, s; pages of it are used as users come
 */
static uint64_t  ngx_adm_beat_rows[NGX_ADM_BEAT_ROWS][NGX_ADM_BEAT_ROW];

/* when Redis noted last that the user was here, s */
static uint16_t  ngx_adm_beat_noted[NGX_ADM_BEAT_ROWS][NGX_ADM_BEAT_ROW];

/* changed when a call failed */
static uint64_t  ngx_adm_beat_seed;


ngx_int_t
ngx_adm_beat(ngx_str_t *event, ngx_adm_event_conf_t *conf, ngx_str_t *user,
    ngx_adm_claims_t *place, ngx_uint_t away)
{
    ngx_adm_beat_t  beat;

    beat.user = *user;
    beat.score = place->score;
    beat.n = place->at;
    beat.epoch = place->epoch;
    beat.what = away ? NGX_ADM_BEAT_AWAY : NGX_ADM_BEAT_HERE;
    beat.said = ngx_current_msec;

    return ngx_adm_beat_add(event, conf, &beat, 1);
}


ngx_uint_t
ngx_adm_beat_is_due(ngx_adm_event_conf_t *conf, ngx_adm_claims_t *entry)
{
    ngx_msec_t        often, *said;
    ngx_adm_came_t    now, *came;
    ngx_adm_beats_t  *beats;

    often = conf->leave_on_close ? NGX_ADM_BEAT_OFTEN
            : ngx_max(ngx_min(conf->claim_ttl / 4, NGX_ADM_BEAT_COMES),
                      NGX_ADM_BEAT_OFTEN);

    came = ngx_adm_beat_of(conf, entry, &now);

    if (came == NULL) {
        return 0;
    }

    if (came->key != now.key || came->batch != now.batch
        || now.at - came->at >= often)
    {
        return 1;
    }

    if (now.batch) {

        /*
         * the last report is not sent yet, and others have been told of a
         * close since
         */

        beats = ngx_adm_beats(&entry->sub);

        if (beats && came->nth < beats->said.nelts) {
            said = beats->said.elts;
            said[came->nth] = now.at;
        }
    }

    return 0;
}


void
ngx_adm_beat_come(ngx_adm_event_conf_t *conf, ngx_adm_claims_t *entry)
{
    ngx_adm_beat_t   beat;
    ngx_adm_came_t   now, *came;

    came = ngx_adm_beat_of(conf, entry, &now);

    if (came == NULL) {
        return;
    }

    beat.user = entry->uid;
    beat.score = 0;
    beat.n = entry->adm;
    beat.epoch = 0;
    beat.what = NGX_ADM_BEAT_COME;
    beat.said = ngx_current_msec;

    if (ngx_adm_beat_add(&entry->sub, conf, &beat, 0) == NGX_OK) {
        *came = now;
    }
}


/*
 * the entry for this user's last report, and what it would be now; NULL: no
 * report is due
 */

static ngx_adm_came_t *
ngx_adm_beat_of(ngx_adm_event_conf_t *conf, ngx_adm_claims_t *entry,
    ngx_adm_came_t *now)
{
    ngx_adm_beats_t     *beats;
    ngx_adm_hash_key_t  *key;

    if (entry->uid.len == 0 || entry->adm <= 0) {
        return NULL;
    }

    /* users may choose their own ids, but not those of events */

    key = &ngx_adm_zone->sh->hash_key;

    now->key = ngx_adm_hash(key, entry->uid.data, entry->uid.len);
    now->key += (uint64_t) ngx_adm_hash_quick(key, entry->sub.data,
                                              entry->sub.len) << 32;
    now->key ^= (uint64_t) entry->adm + ngx_adm_came_seed;
    now->at = ngx_current_msec;
    now->batch = 0;
    now->nth = 0;

    if (conf->leave_on_close && ngx_adm_redis) {

        /* what was sent before went ahead of a stream that was closed since */

        beats = ngx_adm_beats(&entry->sub);
        if (beats == NULL) {
            return NULL;
        }

        now->batch = beats->batch;
        now->nth = beats->said.nelts;
    }

    return &ngx_adm_came[now->key % NGX_ADM_BEAT_CAME];
}


void
ngx_adm_beat_close(ngx_str_t *event, ngx_adm_event_conf_t *conf,
    ngx_str_t *user, ngx_msec_t after)
{
    ngx_adm_beat_t  beat;

    beat.user = *user;
    beat.score = 0;
    beat.n = after;
    beat.epoch = 0;
    beat.what = NGX_ADM_BEAT_CLOSE;
    beat.said = ngx_current_msec;

    (void) ngx_adm_beat_add(event, conf, &beat, 0);
}


/* named: by name alone, if Redis was told of this user before */

static ngx_int_t
ngx_adm_beat_add(ngx_str_t *event, ngx_adm_event_conf_t *conf,
    ngx_adm_beat_t *beat, ngx_uint_t named)
{
    ngx_int_t         rc;
    ngx_uint_t        told;
    ngx_adm_beats_t  *beats;

    if (ngx_adm_redis == NULL) {
        return NGX_ERROR;
    }

    beats = ngx_adm_beats(event);
    if (beats == NULL) {
        return NGX_ERROR;
    }

    beats->conf = conf;

    /* names go ahead of all else in a call, so none may follow a close */

    told = named ? ngx_adm_beat_told(event, conf, beat) : NGX_ADM_BEAT_NEW;

    if (told == NGX_ADM_BEAT_NEW || beats->closes) {
        rc = ngx_adm_beat_group(beats->pool, &beats->groups, &beats->said,
                                beat);
        beats->weight += NGX_ADM_BEAT_SAY;

    } else if (told == NGX_ADM_BEAT_TOLD) {
        rc = ngx_adm_beat_name(beats->pool, &beats->named, beat);
        beats->weight += NGX_ADM_BEAT_NOTE;

    } else {
        rc = ngx_adm_beat_name(beats->pool, &beats->lately, beat);
        beats->weight += NGX_ADM_BEAT_LOOK;
    }

    if (rc != NGX_OK) {
        ngx_adm_beat_seed++;
        return NGX_ERROR;
    }

    beats->n++;

    if (beat->what == NGX_ADM_BEAT_COME) {
        beats->comes++;

    } else if (beat->what == NGX_ADM_BEAT_CLOSE) {
        beats->closes++;
        beats->batch = ++ngx_adm_beat_batch;
        beats->leave = ngx_max(beats->leave, (ngx_msec_t) beat->n);
    }

    if (beats->weight >= NGX_ADM_BEATS) {
        ngx_adm_beats_send(beats);

    } else if (ngx_exiting) {

        /*
         * sent with all that is said in this turn; until then the timer keeps
         * the worker
         */

        ngx_adm_beats_within(beats, 0);

    } else if (beat->what == NGX_ADM_BEAT_CLOSE) {
        ngx_adm_beats_within(beats, NGX_ADM_BEAT_CLOSED);
    }

    return NGX_OK;
}


/* how this user, with this place, was told of before; from now on it was */

static ngx_uint_t
ngx_adm_beat_told(ngx_str_t *event, ngx_adm_event_conf_t *conf,
    ngx_adm_beat_t *beat)
{
    int64_t      of[3];
    uint16_t     now, *noted;
    uint64_t     key, *row;
    ngx_uint_t   i, to;

    static ngx_uint_t  next;

    of[0] = beat->score;
    of[1] = beat->n;
    of[2] = beat->epoch;

    key = ngx_adm_view_key(event, &beat->user) + ngx_adm_beat_seed;

    for (i = 0; i < 3; i++) {
        key = (key ^ (uint64_t) of[i]) * 0x9e3779b97f4a7c15;
        key ^= key >> 32;
    }

    row = ngx_adm_beat_rows[key % NGX_ADM_BEAT_ROWS];
    noted = ngx_adm_beat_noted[key % NGX_ADM_BEAT_ROWS];
    now = (uint16_t) ngx_time();

    /*
     * if the row is full any entry goes: where more users come in turn than
     * there are places for, some are still there when they come again
     */

    to = next++ % NGX_ADM_BEAT_ROW;

    for (i = 0; i < NGX_ADM_BEAT_ROW; i++) {

        if ((uint16_t) (now - row[i]) >= NGX_ADM_BEAT_KNOWN || row[i] == 0) {
            to = i;

        } else if (((row[i] ^ key) >> 16) == 0) {

            /* as both times are whole seconds, up to one more has passed */

            if (((ngx_msec_t) (uint16_t) (now - noted[i]) + 1) * 1000
                <= ngx_adm_seen_late(conf))
            {
                return NGX_ADM_BEAT_LATELY;
            }

            noted[i] = now;

            return NGX_ADM_BEAT_TOLD;
        }
    }

    row[to] = (key & ~(uint64_t) 0xffff) | now;
    noted[to] = now;

    return NGX_ADM_BEAT_NEW;
}


static ngx_adm_beats_t *
ngx_adm_beats(ngx_str_t *event)
{
    ngx_pool_t       *pool;
    ngx_adm_beats_t  *beats;

    beats = ngx_adm_by_id_find(&ngx_adm_beat_events, event, 0);

    if (beats) {
        return beats;
    }

    pool = ngx_create_pool(1024, ngx_cycle->log);
    if (pool == NULL) {
        return NULL;
    }

    beats = ngx_pcalloc(pool, sizeof(ngx_adm_beats_t) + event->len);

    if (beats == NULL
        || ngx_array_init(&beats->groups, pool,
                          8 * NGX_ADM_EACH_QUEUE_BEAT_COUNT,
                          sizeof(ngx_str_t)) != NGX_OK
        || ngx_array_init(&beats->said, pool, 8, sizeof(ngx_msec_t)) != NGX_OK
        || ngx_array_init(&beats->named, pool, 8, sizeof(ngx_adm_beat_t))
           != NGX_OK
        || ngx_array_init(&beats->lately, pool, 8, sizeof(ngx_adm_beat_t))
           != NGX_OK)
    {
        ngx_destroy_pool(pool);
        return NULL;
    }

    beats->pool = pool;
    beats->batch = ++ngx_adm_beat_batch;

    beats->send.handler = ngx_adm_beats_timer;
    beats->send.data = beats;
    beats->send.log = ngx_cycle->log;

    ngx_adm_by_id_add(&ngx_adm_beat_events, &beats->sn, event, 0,
                      (u_char *) (beats + 1));
    ngx_add_timer(&beats->send, NGX_ADM_BEAT_DELAY);

    return beats;
}


/* sends the heartbeats within delay, if not before */

static void
ngx_adm_beats_within(ngx_adm_beats_t *beats, ngx_msec_t delay)
{
    if ((ngx_msec_int_t) (beats->send.timer.key - ngx_current_msec)
        > (ngx_msec_int_t) delay)
    {
        ngx_del_timer(&beats->send);
        ngx_add_timer(&beats->send, delay);
    }
}


static void
ngx_adm_beats_timer(ngx_event_t *ev)
{
    ngx_adm_beats_send(ev->data);
}


/*
 * nobody waits for the call: if it fails, one heartbeat of each user is
 * missing
 */

static void
ngx_adm_beats_send(ngx_adm_beats_t *beats)
{
    ngx_str_t              names, lately, ages;
    ngx_adm_redis_call_t  *call;

    if (beats->send.timer_set) {
        ngx_del_timer(&beats->send);
    }

    ngx_adm_by_id_delete(&ngx_adm_beat_events, &beats->sn);

    ngx_adm_count_n(NGX_ADM_COUNT_VIEW_BEATS,
                    beats->n - beats->comes - beats->closes);
    ngx_adm_count_n(NGX_ADM_COUNT_GATE_COMES, beats->comes);
    ngx_adm_count_n(NGX_ADM_COUNT_STREAM_LEAVES, beats->closes);

    call = NULL;

    if (ngx_adm_beat_names(beats->pool, &beats->named, &names) == NGX_OK
        && ngx_adm_beat_names(beats->pool, &beats->lately, &lately) == NGX_OK
        && ngx_adm_beat_ages(beats->pool, &beats->named, &beats->lately,
                             &beats->said, &ages) == NGX_OK)
    {
        ngx_adm_redis_until(ngx_adm_redis,
                            ngx_current_msec + NGX_ADM_BEAT_CALL);

        call = ngx_adm_queue_beat(&beats->sn.str, beats->conf, &names, &lately,
                                  &ages, beats->groups.nelts
                                  / NGX_ADM_EACH_QUEUE_BEAT_COUNT,
                                  beats->groups.elts, beats->leave,
                                  ngx_adm_beats_done, beats);

        ngx_adm_redis_until(ngx_adm_redis, 0);
    }

    if (call == NULL) {
        ngx_adm_came_seed++;
        ngx_adm_beat_seed++;
        ngx_destroy_pool(beats->pool);
    }
}


static void
ngx_adm_beats_done(void *data, ngx_int_t rc, ngx_adm_queue_answer_t *answer)
{
    ngx_adm_beats_t *beats = data;

    if (rc == NGX_OK) {
        ngx_adm_beats_again(beats, answer);

    } else {
        ngx_adm_beat_seed++;

        if (beats->comes) {
            ngx_adm_came_seed++;
        }
    }

    ngx_destroy_pool(beats->pool);
}


static void
ngx_adm_beats_again(ngx_adm_beats_t *beats, ngx_adm_queue_answer_t *answer)
{
    size_t            i;
    ngx_str_t        *group;
    ngx_uint_t        n;
    redisReply       *again, *unknown;
    ngx_array_t      *of;
    ngx_adm_beat_t   *named;
    ngx_adm_beats_t  *others;

    again = answer->again;
    group = beats->groups.elts;

    for (i = 0; i < again->elements; i++) {
        n = (ngx_uint_t) again->element[i]->integer
            * NGX_ADM_EACH_QUEUE_BEAT_COUNT;

        if (n < beats->groups.nelts) {
            ngx_adm_view_gone(&beats->sn.str,
                              &group[n + NGX_ADM_EACH_QUEUE_BEAT_USER],
                              answer->clock);
        }
    }

    ngx_adm_count_n(NGX_ADM_COUNT_VIEW_AGAIN, again->elements);

    /* these are not in line: tells of them again, with their places */

    unknown = answer->unknown;

    for (i = 0; i < unknown->elements; i++) {
        n = (ngx_uint_t) unknown->element[i]->integer;
        of = &beats->named;

        if (n >= of->nelts) {
            n -= of->nelts;
            of = &beats->lately;
        }

        if (n < of->nelts) {
            named = of->elts;
            (void) ngx_adm_beat_add(&beats->sn.str, beats->conf, &named[n], 0);
        }
    }

    if (unknown->elements && !ngx_exiting) {
        others = ngx_adm_beats(&beats->sn.str);

        if (others) {
            ngx_adm_beats_within(others, NGX_ADM_BEAT_SOON);
        }
    }

    ngx_log_debug4(NGX_LOG_DEBUG_HTTP, ngx_cycle->log, 0,
                   "admission: heartbeats of event \"%V\": %ui, %uz of "
                   "them are to ask, %uz are told again", &beats->sn.str,
                   beats->n, again->elements, unknown->elements);
}
