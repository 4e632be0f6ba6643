
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Heartbeats of who was told by the host how it stands, and of who came by the
 * gate, and who closed a stream: those of an event go out with one call, a
 * moment after the first or when they are many.  A worker that leaves sends its
 * own first, since their timer keeps it.
 *
 * Whom the worker has told of before, by the very same place, is told of by
 * name alone: that takes Redis much less, and most heartbeats are of such.
 * Redis says who of them is not in line any more, and hears of these with their
 * places.  So whom the worker forgets costs time, and nothing else.
 *
 * Of whom it told lately Redis only looks whether they are in line, which takes
 * it less than to note when: who is silent is taken out that much later.  It is
 * known by the worker that told, and goes with it, so nobody is believed to be
 * noted by what was lost.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>

#include "ngx_http_admission_names.h"
#include "../base/counter.h"
#include "../host/view.h"
#include "../redis/client.h"
#include "beat.h"
#include "beat_text.h"


#define NGX_ADM_BEAT_DELAY  800          /* ms */
#define NGX_ADM_BEAT_CLOSED 20           /* a stream: who comes by a gate of
                                            another worker after it must not
                                            be told of before */

/* what Redis has to do of each, and of a call, at most: about 1 ms */
#define NGX_ADM_BEAT_LOOK   1
#define NGX_ADM_BEAT_NOTE   2
#define NGX_ADM_BEAT_SAY    4
#define NGX_ADM_BEATS       1000

/* ms between two reports of the gate about a user, who may have come by the
   first; less where who waits has less time to come, or leaves with a stream */
#define NGX_ADM_BEAT_COMES  30000
#define NGX_ADM_BEAT_OFTEN  1000

/* ms that a call may take, whatever others may: a worker that leaves stays for
   it, and what is lost with it is said again */
#define NGX_ADM_BEAT_CALL   5000

/* users of whom a worker keeps when they were reported last, at most: of others
   it is said more often */
#define NGX_ADM_BEAT_CAME   8192


/* whom a worker has told of, at most, as a table of rows; and for how many s,
   at most, it keeps that in mind: a score is looked at by then */
#define NGX_ADM_BEAT_ROWS   65536
#define NGX_ADM_BEAT_ROW    4
#define NGX_ADM_BEAT_KNOWN  600

#define NGX_ADM_BEAT_SOON   10           /* ms, of whom Redis does not know */

/* how a user was told of before */
#define NGX_ADM_BEAT_NEW     0
#define NGX_ADM_BEAT_TOLD    1
#define NGX_ADM_BEAT_LATELY  2


/* those of an event, until there is an answer */
typedef struct {
    ngx_str_node_t             sn;       /* str: the id */
    ngx_adm_event_conf_t      *conf;
    ngx_pool_t                *pool;     /* of all of it */
    ngx_array_t                groups;   /* of arguments: ngx_str_t, */
    ngx_array_t                said;     /* and when, of each: ngx_msec_t */
    ngx_array_t                named;    /* ngx_adm_beat_t, by name alone, */
    ngx_array_t                lately;   /* and told of lately */
    ngx_uint_t                 n;        /* all */
    ngx_uint_t                 weight;
    ngx_uint_t                 batch;    /* which, and since which close */
    ngx_uint_t                 comes;    /* of these, and */
    ngx_uint_t                 closes;
    ngx_msec_t                 leave;    /* the longest time until one of them
                                            does; 0: nobody does */
    ngx_event_t                send;     /* timer */
} ngx_adm_beats_t;


typedef struct {
    uint64_t                   key;      /* of event, user and session */
    ngx_msec_t                 at;
    ngx_uint_t                 batch;
    ngx_uint_t                 nth;      /* of what is said there */
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


static ngx_rbtree_t       ngx_adm_beat_events;
static ngx_rbtree_node_t  ngx_adm_beat_sentinel;


static ngx_adm_came_t     ngx_adm_came[NGX_ADM_BEAT_CAME];

/* another one after a call failed: all that it said is to be said again */
static uint64_t           ngx_adm_came_seed;

/* another one for each beats, and after a stream was closed */
static ngx_uint_t         ngx_adm_beat_batch;


/* of each the upper 48 bits of a key, whose others are the row, and when, s;
   the memory is taken as they come */
static uint64_t  ngx_adm_beat_rows[NGX_ADM_BEAT_ROWS][NGX_ADM_BEAT_ROW];

/* and when it was noted last that the user was here, s */
static uint16_t  ngx_adm_beat_noted[NGX_ADM_BEAT_ROWS][NGX_ADM_BEAT_ROW];

/* another one after a call failed */
static uint64_t  ngx_adm_beat_seed;


ngx_int_t
ngx_adm_beat(ngx_str_t *event, ngx_adm_event_conf_t *conf, ngx_str_t *user,
    ngx_adm_claims_t *place, ngx_uint_t away)
{
    ngx_adm_beat_t  beat;

    beat.user = *user;
    beat.score = place->score;
    beat.n = place->at;
    beat.life = place->epoch;
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

        /* it is not sent yet, and by now said after what others told */

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
    beat.life = 0;
    beat.what = NGX_ADM_BEAT_COME;
    beat.said = ngx_current_msec;

    if (ngx_adm_beat_add(&entry->sub, conf, &beat, 0) == NGX_OK) {
        *came = now;
    }
}


/* where it is noted that the user came, and what is; NULL: it is not */

static ngx_adm_came_t *
ngx_adm_beat_of(ngx_adm_event_conf_t *conf, ngx_adm_claims_t *entry,
    ngx_adm_came_t *now)
{
    ngx_adm_beats_t     *beats;
    ngx_adm_hash_key_t  *key;

    if (entry->uid.len == 0 || entry->adm <= 0) {
        return NULL;
    }

    /* users choose their ids, at times, but not those of events */

    key = &ngx_adm_zone->sh->hash_key;

    now->key = ngx_adm_hash(key, entry->uid.data, entry->uid.len);
    now->key += (uint64_t) ngx_adm_hash_quick(key, entry->sub.data,
                                              entry->sub.len) << 32;
    now->key ^= (uint64_t) entry->adm + ngx_adm_came_seed;
    now->at = ngx_current_msec;
    now->batch = 0;
    now->nth = 0;

    if (conf->leave_on_close && ngx_adm_redis) {

        /* what was sent was said before a stream that is closed since */

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
    beat.life = 0;
    beat.what = NGX_ADM_BEAT_CLOSE;
    beat.said = ngx_current_msec;

    (void) ngx_adm_beat_add(event, conf, &beat, 0);
}


/* named: by name alone, if Redis was told of it before */

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

    /* names come before all that is said with them, so none after a close */

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

        /* with all that is said in this turn: the timer keeps the worker */

        ngx_adm_beats_within(beats, 0);

    } else if (beat->what == NGX_ADM_BEAT_CLOSE) {
        ngx_adm_beats_within(beats, NGX_ADM_BEAT_CLOSED);
    }

    return NGX_OK;
}


/* whether it was told by the same place of late; from now on it was */

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
    of[2] = beat->life;

    key = ngx_adm_view_key(event, &beat->user) + ngx_adm_beat_seed;

    for (i = 0; i < 3; i++) {
        key = (key ^ (uint64_t) of[i]) * 0x9e3779b97f4a7c15;
        key ^= key >> 32;
    }

    row = ngx_adm_beat_rows[key % NGX_ADM_BEAT_ROWS];
    noted = ngx_adm_beat_noted[key % NGX_ADM_BEAT_ROWS];
    now = (uint16_t) ngx_time();

    /* one of them goes, whichever: where more come in turn than there is room
       for, some are still there when they come again */

    to = next++ % NGX_ADM_BEAT_ROW;

    for (i = 0; i < NGX_ADM_BEAT_ROW; i++) {

        if ((uint16_t) (now - row[i]) >= NGX_ADM_BEAT_KNOWN || row[i] == 0) {
            to = i;

        } else if (((row[i] ^ key) >> 16) == 0) {

            /* what is left of either second counts */

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
    uint32_t          hash;
    ngx_pool_t       *pool;
    ngx_adm_beats_t  *beats;

    if (ngx_adm_beat_events.root == NULL) {
        ngx_rbtree_init(&ngx_adm_beat_events, &ngx_adm_beat_sentinel,
                        ngx_str_rbtree_insert_value);
    }

    hash = ngx_murmur_hash2(event->data, event->len);

    beats = (ngx_adm_beats_t *) ngx_str_rbtree_lookup(&ngx_adm_beat_events,
                                                      event, hash);
    if (beats) {
        return beats;
    }

    pool = ngx_create_pool(1024, ngx_cycle->log);
    if (pool == NULL) {
        return NULL;
    }

    beats = ngx_pcalloc(pool, sizeof(ngx_adm_beats_t));

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
        goto failed;
    }

    beats->pool = pool;

    beats->sn.str.len = event->len;
    beats->sn.str.data = ngx_pstrdup(pool, event);
    if (beats->sn.str.data == NULL) {
        goto failed;
    }

    beats->sn.node.key = hash;

    beats->batch = ++ngx_adm_beat_batch;

    beats->send.handler = ngx_adm_beats_timer;
    beats->send.data = beats;
    beats->send.log = ngx_cycle->log;

    ngx_rbtree_insert(&ngx_adm_beat_events, &beats->sn.node);
    ngx_add_timer(&beats->send, NGX_ADM_BEAT_DELAY);

    return beats;

failed:

    ngx_destroy_pool(pool);

    return NULL;
}


/* they go that soon, if not before */

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


/* nobody waits for it: a failure is one heartbeat less of each */

static void
ngx_adm_beats_send(ngx_adm_beats_t *beats)
{
    ngx_str_t              names, lately, ages;
    ngx_adm_redis_call_t  *call;

    if (beats->send.timer_set) {
        ngx_del_timer(&beats->send);
    }

    ngx_rbtree_delete(&ngx_adm_beat_events, &beats->sn.node);

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

    /* by their places, now */

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
