
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Calls of the queue scripts: their keys and arguments go out in the order
 * that lua/queue_state_lib.lua reads them.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_admission_args.h"
#include "ngx_http_admission_queue.h"
#include "ngx_http_admission_queue_reply.h"
#include "ngx_http_admission_text.h"
#include "ngx_http_admission_zone.h"


#define NGX_HTTP_ADMISSION_QUEUE_PLACES   8

#define NGX_HTTP_ADMISSION_NEWS_END       5000      /* ms between two times that
                                                       a worker has the news
                                                       expire */

/*
 * ms without users, as this host knows, after which it forgets the life of an
 * event that no operator named.  Redis does so 10 minutes after the last user,
 * and the host looks every 5 minutes at least.
 */
#define NGX_HTTP_ADMISSION_BRIEF_LIFE     240000


/* a call under way; freed with the call of the client */
typedef struct {
    ngx_http_admission_queue_done_pt   done;
    void                              *data;
    ngx_msec_t                         issued;
    unsigned                           step:1;
    unsigned                           leaves:1;
    unsigned                           beacon:1;
    unsigned                           wakes:1;     /* the schedule */
    unsigned                           tells:1;     /* other hosts */
    ngx_uint_t                         life;        /* of the zone */
    ngx_msec_t                         keep;        /* a revocation */
    ngx_str_t                          event;
    ngx_str_t                          user;        /* who leaves */
    u_char                             text[1];     /* of both */
} ngx_http_admission_queue_call_t;


static ngx_int_t ngx_http_admission_queue_begin(
    ngx_http_admission_args_t *args, ngx_str_t *event,
    ngx_http_admission_event_conf_t *conf,
    ngx_http_admission_event_state_t *state);
static int64_t ngx_http_admission_queue_pass(
    ngx_http_admission_claims_t *pass);
static ngx_http_admission_queue_call_t *ngx_http_admission_queue_call(
    ngx_str_t *event, ngx_str_t *user, ngx_http_admission_queue_done_pt done,
    void *data);
static void ngx_http_admission_queue_tell(ngx_str_t *event, int64_t now);
static void ngx_http_admission_queue_news_end(void);
static void ngx_http_admission_queue_timed(void *data, ngx_int_t rc,
    redisReply *reply);

static ngx_http_admission_redis_call_t *ngx_http_admission_queue_run(
    ngx_http_admission_args_t *args, ngx_http_admission_script_t *script,
    ngx_http_admission_queue_call_t *qc);
static void ngx_http_admission_queue_detach(void *data);
static void ngx_http_admission_queue_nobody(void *data, ngx_int_t rc,
    ngx_http_admission_queue_answer_t *answer);
static void ngx_http_admission_queue_done(void *data, ngx_int_t rc,
    redisReply *reply);
static void ngx_http_admission_queue_news(ngx_http_admission_queue_call_t *qc,
    ngx_uint_t news, ngx_msec_t restore);
static void ngx_http_admission_queue_is_active_done(void *data, ngx_int_t rc,
    redisReply *reply);
static void ngx_http_admission_queue_revoked_done(void *data, ngx_int_t rc,
    redisReply *reply);


/* in the order of KEYS in lua/queue_state_lib.lua */

static ngx_str_t  ngx_http_admission_queue_names[] = {
    ngx_string("queue"),
    ngx_string("active"),
    ngx_string("seen"),
    ngx_string("active-seen"),
    ngx_string("done"),
    ngx_string("revoked"),
    ngx_string("threshold"),
    ngx_string("epoch"),
    ngx_string("state"),
    ngx_string("admitted"),
    ngx_string("used"),
    ngx_string("cleared"),
    ngx_string("leaving"),
    ngx_string("rate"),
    ngx_string("vwr"),
    ngx_string("admissions")
};

static ngx_http_admission_keys_t  ngx_http_admission_queue_keys = {
    ngx_http_admission_queue_names,
    sizeof(ngx_http_admission_queue_names) / sizeof(ngx_str_t),
    { 0, ngx_null_string, ngx_null_string }
};


/* and in lua/queue_revoked.lua */

static ngx_str_t  ngx_http_admission_queue_revoked_names[] = {
    ngx_string("revoked"),
    ngx_string("state"),
    ngx_string("active")
};

static ngx_http_admission_keys_t  ngx_http_admission_queue_revoked_keys = {
    ngx_http_admission_queue_revoked_names,
    sizeof(ngx_http_admission_queue_revoked_names) / sizeof(ngx_str_t),
    { 0, ngx_null_string, ngx_null_string }
};


static ngx_str_t  ngx_http_admission_queue_events =
    ngx_string("queue:active-events");

/* like the keys of an event, of which none has an empty id: so that whoever may
   use those may use it */
static ngx_str_t  ngx_http_admission_queue_news_key =
    ngx_string("{}:news");


ngx_http_admission_redis_call_t *
ngx_http_admission_queue_ask(ngx_http_admission_queue_ask_t *ask,
    ngx_http_admission_queue_done_pt done, void *data)
{
    int64_t                           until;
    ngx_uint_t                        i, n;
    ngx_http_admission_args_t         args;
    ngx_http_admission_claims_t      *tier1, *entry, *place;
    ngx_http_admission_event_state_t  state;

    if (ngx_http_admission_queue_begin(&args, &ask->event, ask->conf, &state)
        != NGX_OK)
    {
        return NULL;
    }

    ngx_http_admission_args_string(&args, &ask->user);
    ngx_http_admission_args_number(&args, ask->mode);

    tier1 = ask->tier1;
    until = tier1 ? tier1->adm + (int64_t) ask->conf->token_ttl * 1000 : 0;

    ngx_http_admission_args_number(&args, tier1 ? tier1->at : 0);
    ngx_http_admission_args_number(&args, tier1 ? tier1->act : 0);
    ngx_http_admission_args_number(&args, until);

    entry = ask->entry;

    ngx_http_admission_args_number(&args, entry ? entry->adm : 0);
    ngx_http_admission_args_number(&args, entry ? entry->exp : 0);

    n = ngx_min(ask->nplaces, NGX_HTTP_ADMISSION_QUEUE_PLACES);
    ngx_http_admission_args_number(&args, n);

    for (i = 0; i < n; i++) {
        place = ask->places[i];

        ngx_http_admission_args_number(&args, place->score);
        ngx_http_admission_args_number(&args, place->at);
        ngx_http_admission_args_number(&args, place->epoch);
    }

    ngx_http_admission_args_number(&args,
                                   ngx_http_admission_queue_pass(ask->pass));

    if (ask->mode == NGX_HTTP_ADMISSION_QUEUE_CHECK || n) {
        ngx_http_admission_queue_mark(&ask->event);
    }

    return ngx_http_admission_queue_run(&args,
                         &ngx_http_admission_script_queue_check,
                         ngx_http_admission_queue_call(&ask->event, NULL, done,
                                                       data));
}


/* the ticket of a tier 1 token, by its time; 0: it does not say */

static int64_t
ngx_http_admission_queue_pass(ngx_http_admission_claims_t *pass)
{
    if (pass == NULL) {
        return 0;
    }

    return pass->at ? pass->at : pass->ticket;
}


ngx_http_admission_redis_call_t *
ngx_http_admission_queue_leave(ngx_str_t *event,
    ngx_http_admission_event_conf_t *conf, ngx_str_t *user, ngx_uint_t beacon,
    ngx_uint_t held, ngx_http_admission_queue_done_pt done, void *data)
{
    ngx_http_admission_args_t          args;
    ngx_http_admission_queue_call_t   *qc;
    ngx_http_admission_event_state_t   state;

    if (ngx_http_admission_queue_begin(&args, event, conf, &state) != NGX_OK) {
        return NULL;
    }

    ngx_http_admission_args_string(&args, user);
    ngx_http_admission_args_number(&args, beacon ? 1 : 0);
    ngx_http_admission_args_number(&args, held);

    qc = ngx_http_admission_queue_call(event, user, done, data);

    if (qc && beacon) {
        qc->beacon = 1;
        qc->tells = 1;
    }

    if (qc && !beacon) {
        qc->leaves = 1;
        qc->keep = ngx_http_admission_queue_keep(conf->token_ttl);
    }

    return ngx_http_admission_queue_run(&args,
                                        &ngx_http_admission_script_queue_leave,
                                        qc);
}


ngx_http_admission_redis_call_t *
ngx_http_admission_queue_admin(ngx_http_admission_queue_admin_e what,
    int64_t value, ngx_str_t *event, ngx_http_admission_event_conf_t *conf,
    ngx_http_admission_queue_done_pt done, void *data)
{
    ngx_http_admission_args_t          args;
    ngx_http_admission_queue_call_t   *qc;
    ngx_http_admission_event_state_t   state;

    static ngx_str_t  names[] = {
        ngx_string("look"),
        ngx_string("clear"),
        ngx_string("set"),
        ngx_string("unset")
    };

    if (ngx_http_admission_queue_begin(&args, event, conf, &state) != NGX_OK) {
        return NULL;
    }

    ngx_http_admission_args_string(&args, &names[what]);
    ngx_http_admission_args_number(&args, value);

    qc = ngx_http_admission_queue_call(event, NULL, done, data);

    if (what != NGX_HTTP_ADMISSION_QUEUE_LOOK) {
        ngx_http_admission_queue_mark(event);

        if (qc) {
            qc->wakes = 1;
            qc->tells = 1;
        }
    }

    return ngx_http_admission_queue_run(&args,
                                        &ngx_http_admission_script_queue_admin,
                                        qc);
}


ngx_http_admission_redis_call_t *
ngx_http_admission_queue_step(ngx_str_t *event,
    ngx_http_admission_event_conf_t *conf,
    ngx_http_admission_queue_done_pt done, void *data)
{
    ngx_uint_t                         life;
    ngx_http_admission_args_t          args;
    ngx_http_admission_queue_call_t   *qc;
    ngx_http_admission_event_state_t   state;

    life = ngx_http_admission_zone_life();

    if (ngx_http_admission_queue_begin(&args, event, conf, &state) != NGX_OK) {
        return NULL;
    }

    ngx_http_admission_args_number(&args, state.revoked);

    qc = ngx_http_admission_queue_call(event, NULL, done, data);

    if (qc) {
        qc->step = 1;
        qc->life = life;
        qc->keep = ngx_http_admission_queue_keep(conf->token_ttl);
    }

    return ngx_http_admission_queue_run(&args,
                                        &ngx_http_admission_script_queue_step,
                                        qc);
}


ngx_http_admission_redis_call_t *
ngx_http_admission_queue_is_active(ngx_str_t *event, ngx_str_t *user,
    ngx_http_admission_queue_done_pt done, void *data)
{
    ngx_str_t                         argv[3], active;
    ngx_http_admission_queue_call_t  *qc;
    ngx_http_admission_redis_call_t  *call;

    ngx_str_set(&active, "active");

    if (ngx_http_admission_event_key(&argv[1], event, &active) != NGX_OK) {
        return NULL;
    }

    call = NULL;
    qc = ngx_http_admission_queue_call(event, NULL, done, data);

    if (qc) {
        ngx_str_set(&argv[0], "ZSCORE");
        argv[2] = *user;

        call = ngx_http_admission_redis_call(ngx_http_admission_redis(), 3,
                                     argv, 1,
                                     ngx_http_admission_queue_is_active_done,
                                     qc);
        if (call) {
            ngx_http_admission_redis_own(call, qc);

        } else {
            ngx_free(qc);
        }
    }

    ngx_free(argv[1].data);

    return call;
}


ngx_http_admission_redis_call_t *
ngx_http_admission_queue_revoked(ngx_str_t *event, ngx_str_t *user,
    ngx_http_admission_queue_done_pt done, void *data)
{
    ngx_http_admission_args_t  args;

    if (ngx_http_admission_args_begin(&args, event,
                                      &ngx_http_admission_queue_revoked_keys)
        != NGX_OK)
    {
        return NULL;
    }

    ngx_http_admission_args_string(&args, user);

    return ngx_http_admission_args_run(&args,
                                &ngx_http_admission_script_queue_revoked,
                                ngx_http_admission_queue_revoked_done,
                                ngx_http_admission_queue_call(event, NULL,
                                                              done, data));
}


ngx_http_admission_redis_call_t *
ngx_http_admission_queue_list(ngx_str_t *cursor,
    ngx_http_admission_redis_done_pt done, void *data)
{
    ngx_str_t  argv[5];

    if (cursor == NULL) {
        return ngx_http_admission_set_call("SMEMBERS",
                                           &ngx_http_admission_queue_events,
                                           NULL, done, data);
    }

    ngx_str_set(&argv[0], "SSCAN");
    argv[1] = ngx_http_admission_queue_events;
    argv[2] = *cursor;
    ngx_str_set(&argv[3], "COUNT");
    ngx_str_set(&argv[4], "1000");

    return ngx_http_admission_key_call(5, argv, done, data);
}


ngx_http_admission_redis_call_t *
ngx_http_admission_queue_heard(int64_t since,
    ngx_http_admission_redis_done_pt done, void *data)
{
    u_char     buf[NGX_INT64_LEN];
    ngx_str_t  argv[8];

    ngx_str_set(&argv[0], "ZRANGEBYSCORE");
    argv[1] = ngx_http_admission_queue_news_key;
    argv[2].data = buf;
    argv[2].len = ngx_http_admission_put_number(buf, since) - buf;
    ngx_str_set(&argv[3], "+inf");
    ngx_str_set(&argv[4], "WITHSCORES");
    ngx_str_set(&argv[5], "LIMIT");
    ngx_str_set(&argv[6], "0");
    ngx_str_set(&argv[7], "1000");

    return ngx_http_admission_key_call(8, argv, done, data);
}


void
ngx_http_admission_queue_forget(int64_t before)
{
    u_char     buf[NGX_INT64_LEN];
    ngx_str_t  argv[4];

    ngx_str_set(&argv[0], "ZREMRANGEBYSCORE");
    argv[1] = ngx_http_admission_queue_news_key;
    ngx_str_set(&argv[2], "-inf");
    argv[3].data = buf;
    argv[3].len = ngx_http_admission_put_number(buf, before) - buf;

    (void) ngx_http_admission_key_call(4, argv, NULL, NULL);

    ngx_http_admission_queue_news_end();
}


void
ngx_http_admission_queue_time(void)
{
    ngx_str_t                         argv[1];
    ngx_msec_t                       *issued;
    ngx_http_admission_redis_call_t  *call;

    if (ngx_http_admission_redis() == NULL) {
        return;
    }

    issued = ngx_alloc(sizeof(ngx_msec_t), ngx_cycle->log);
    if (issued == NULL) {
        return;
    }

    *issued = ngx_current_msec;

    ngx_str_set(&argv[0], "TIME");

    call = ngx_http_admission_redis_call(ngx_http_admission_redis(), 1, argv,
                                         0, ngx_http_admission_queue_timed,
                                         issued);
    if (call) {
        ngx_http_admission_redis_own(call, issued);

    } else {
        ngx_free(issued);
    }
}


/* s and us, in text */

static void
ngx_http_admission_queue_timed(void *data, ngx_int_t rc, redisReply *reply)
{
    ngx_msec_t *issued = data;

    int64_t      s, us;
    redisReply  *text;

    if (rc != NGX_OK
        || reply->type != REDIS_REPLY_ARRAY
        || reply->elements != 2
        || reply->element[0]->type != REDIS_REPLY_STRING
        || reply->element[1]->type != REDIS_REPLY_STRING)
    {
        return;
    }

    text = reply->element[0];
    s = ngx_atoof((u_char *) text->str, text->len);

    text = reply->element[1];
    us = ngx_atoof((u_char *) text->str, text->len);

    if (s < 0 || us < 0 || s > NGX_HTTP_ADMISSION_NUMBER_MAX / 1000000 - 1) {
        return;
    }

    ngx_http_admission_time_observed(s * 1000000 + us,
                                     ngx_current_msec - *issued);
}


/*
 * Other hosts look at an event in which nobody waits when a slot ends: what
 * happened before they are told, by a key that is not of its slot.
 */

static void
ngx_http_admission_queue_tell(ngx_str_t *event, int64_t now)
{
    u_char     buf[NGX_INT64_LEN];
    ngx_str_t  argv[4];

    ngx_str_set(&argv[0], "ZADD");
    argv[1] = ngx_http_admission_queue_news_key;
    argv[2].data = buf;
    argv[2].len = ngx_http_admission_put_number(buf, now) - buf;
    argv[3] = *event;

    (void) ngx_http_admission_key_call(4, argv, NULL, NULL);

    ngx_http_admission_queue_news_end();
}


/* no host may be left to trim what this one told; the key lives for a while */

static void
ngx_http_admission_queue_news_end(void)
{
    ngx_str_t  argv[3];

    static ngx_msec_t  last;
    static ngx_uint_t  set;

    if (set && ngx_current_msec - last < NGX_HTTP_ADMISSION_NEWS_END) {
        return;
    }

    last = ngx_current_msec;
    set = 1;

    ngx_str_set(&argv[0], "EXPIRE");
    argv[1] = ngx_http_admission_queue_news_key;
    ngx_str_set(&argv[2], "600");

    (void) ngx_http_admission_key_call(3, argv, NULL, NULL);
}


void
ngx_http_admission_queue_unlist(ngx_str_t *event)
{
    (void) ngx_http_admission_set_call("SREM",
                                       &ngx_http_admission_queue_events,
                                       event, NULL, NULL);
}


ngx_uint_t
ngx_http_admission_queue_next_poll(int64_t position)
{
    if (position == 0) {
        return 3;
    }

    if (position <= 1000) {
        return 1;
    }

    if (position <= 5000) {
        return 5;
    }

    if (position <= 10000) {
        return 10;
    }

    return position <= 100000 ? 30 : 60;
}


int64_t
ngx_http_admission_queue_estimate(int64_t position, int64_t rate)
{
    if (rate > 0) {
        return (position * 1000 + rate - 1) / rate;
    }

    return ngx_max(position / 50, 5);
}


/*
 * The keys, and the arguments that all scripts begin with; *state is what the
 * host knows of the event.
 */

static ngx_int_t
ngx_http_admission_queue_begin(ngx_http_admission_args_t *args,
    ngx_str_t *event, ngx_http_admission_event_conf_t *conf,
    ngx_http_admission_event_state_t *state)
{
    ngx_uint_t                        i, brief;
    ngx_http_admission_event_now_t    now;

    if (ngx_http_admission_args_begin(args, event,
                                      &ngx_http_admission_queue_keys)
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    ngx_http_admission_event_get(event, state, &now);

    brief = ngx_http_admission_queue_is_brief(conf, now.named);

    if (brief
        && state->size + state->active == 0
        && now.idle > NGX_HTTP_ADMISSION_BRIEF_LIFE)
    {
        /* Redis may have let it go, as it should: that is no loss */
        state->epoch = 0;
    }

    ngx_http_admission_args_string(args, event);

    for (i = 0; i < NGX_HTTP_ADMISSION_QUEUE_TERMS; i++) {
        ngx_http_admission_args_string(args, &conf->terms[i]);
    }

    ngx_http_admission_args_number(args, state->epoch);
    ngx_http_admission_args_number(args, state->stored);
    ngx_http_admission_args_number(args, state->active);
    ngx_http_admission_args_number(args, state->clear);
    ngx_http_admission_args_number(args, state->threshold);

    ngx_http_admission_args_number(args, brief);

    ngx_http_admission_args_number(args, ngx_http_admission_zone_heard()
                                         ? ngx_http_admission_now_us() / 1000
                                         : 0);
    ngx_http_admission_args_number(args, ngx_http_admission_in_touch());

    return NGX_OK;
}


ngx_uint_t
ngx_http_admission_queue_is_brief(ngx_http_admission_event_conf_t *conf,
    ngx_uint_t named)
{
    return conf->sn.str.len == 0 && !named;
}


static ngx_http_admission_queue_call_t *
ngx_http_admission_queue_call(ngx_str_t *event, ngx_str_t *user,
    ngx_http_admission_queue_done_pt done, void *data)
{
    size_t                            size;
    ngx_http_admission_queue_call_t  *qc;

    size = sizeof(ngx_http_admission_queue_call_t) + event->len
           + (user ? user->len : 0);

    qc = ngx_alloc(size, ngx_cycle->log);
    if (qc == NULL) {
        return NULL;
    }

    qc->done = done;
    qc->data = data;
    qc->issued = ngx_current_msec;
    qc->step = 0;
    qc->leaves = 0;
    qc->beacon = 0;
    qc->wakes = 0;
    qc->tells = 0;
    qc->life = 0;

    qc->event.len = event->len;
    qc->event.data = qc->text;
    ngx_memcpy(qc->event.data, event->data, event->len);

    if (user) {
        qc->user.len = user->len;
        qc->user.data = qc->text + event->len;
        ngx_memcpy(qc->user.data, user->data, user->len);
    }

    return qc;
}


ngx_msec_t
ngx_http_admission_queue_keep(ngx_msec_t token_ttl)
{
    return token_ttl + 2 * NGX_HTTP_ADMISSION_LEEWAY * 1000;
}


/*
 * Other hosts learn from a set that the event has work to do.  It is not of
 * the event's slot, so a command of its own adds to it, ahead of the first
 * join: should this host die with the next breath, another one steps.
 */

void
ngx_http_admission_queue_mark(ngx_str_t *event)
{
    if (ngx_http_admission_event_mark(event)) {
        ngx_http_admission_set_add(&ngx_http_admission_queue_events, event,
                                   ngx_http_admission_event_unmark);
    }
}


/*
 * Whoever calls may go away before the answer; what it says, of who is out most
 * of all, is for this host, and for the others, all the same.
 */

static ngx_http_admission_redis_call_t *
ngx_http_admission_queue_run(ngx_http_admission_args_t *args,
    ngx_http_admission_script_t *script, ngx_http_admission_queue_call_t *qc)
{
    ngx_http_admission_redis_call_t  *call;

    call = ngx_http_admission_args_run(args, script,
                                       ngx_http_admission_queue_done, qc);
    if (call) {
        ngx_http_admission_redis_on_detach(call,
                                           ngx_http_admission_queue_detach);
    }

    return call;
}


static void
ngx_http_admission_queue_detach(void *data)
{
    ngx_http_admission_queue_call_t *qc = data;

    qc->done = ngx_http_admission_queue_nobody;
    qc->data = NULL;
}


static void
ngx_http_admission_queue_nobody(void *data, ngx_int_t rc,
    ngx_http_admission_queue_answer_t *answer)
{
    /* there is nobody to be told */
}


static void
ngx_http_admission_queue_done(void *data, ngx_int_t rc, redisReply *reply)
{
    ngx_http_admission_queue_call_t  *qc = data;

    ngx_uint_t                         i, news, any;
    ngx_http_admission_heard_t         heard;
    ngx_http_admission_tally_t         tally;
    ngx_http_admission_waits_t         waits;
    ngx_http_admission_event_now_t     now;
    ngx_http_admission_event_state_t   state;
    ngx_http_admission_queue_answer_t  answer;

    if (rc != NGX_OK
        || ngx_http_admission_queue_reply(reply, &answer, &state, &now,
                                          &tally,
                                          qc->step)
           != NGX_OK
        || (qc->step
            && (ngx_http_admission_queue_reply_revoked(reply, &qc->event,
                                                       qc->keep,
                                                       &state.revoked)
                != NGX_OK
                || ngx_http_admission_queue_reply_step(reply, &answer, &tally,
                                                       &waits)
                   != NGX_OK)))
    {
        if (!qc->step) {

            /* it may have been carried out, and nobody was told */

            ngx_http_admission_event_doubt(&qc->event);
        }

        qc->done(qc->data, NGX_ERROR, NULL);
        return;
    }

    ngx_http_admission_time_observed(answer.now,
                                     ngx_current_msec - qc->issued);

    heard.life = qc->life;
    heard.all = (answer.score == 0);

    if (answer.ended) {
        qc->tells = 1;

        if (qc->leaves) {
            ngx_http_admission_revoke(&qc->event, &qc->user, answer.clock,
                                      qc->keep);
        }
    }

    any = 0;
    news = 0;

    for (i = 0; i < NGX_HTTP_ADMISSION_TALLIES; i++) {
        any |= (tally.n[i] != 0);
    }

    if (answer.state == NGX_HTTP_ADMISSION_QUEUE_ACTIVE
        && answer.expires > answer.now / 1000)
    {
        now.ends = answer.expires - answer.now / 1000;
    }

    if (qc->beacon) {
        now.ends = NGX_HTTP_ADMISSION_BEACON + 100;
        qc->tells = (answer.size + answer.active > 0);
    }

    /* the schedule itself decides whether it goes on */

    news = ngx_http_admission_event_note(&qc->event, &state, &now,
                                         state.epoch
                                         && (qc->wakes
                                             || (!qc->step
                                                 && answer.size
                                                     + answer.active)),
                                         qc->step ? &heard : NULL,
                                         any ? &tally : NULL);
    if (news) {
        ngx_http_admission_queue_news(qc, news, now.restore);
    }

    /*
     * Who is out is out everywhere: that is told at once, ahead of the answer
     * to whoever asked, and other changes now and then.
     */

    if ((news & NGX_HTTP_ADMISSION_NEWS_TELL)
        || qc->tells
        || tally.n[NGX_HTTP_ADMISSION_TALLY_LOST]
        || tally.n[NGX_HTTP_ADMISSION_TALLY_ENDED]
        || (qc->step && tally.n[NGX_HTTP_ADMISSION_TALLY_LEAVES]))
    {
        ngx_http_admission_queue_tell(&qc->event, answer.now);
    }

    if (tally.n[NGX_HTTP_ADMISSION_TALLY_ADMISSIONS]) {

        if (!qc->step) {
            ngx_memzero(&waits, sizeof(ngx_http_admission_waits_t));
            ngx_http_admission_waited(&waits, 0);
        }

        ngx_http_admission_waits(&waits);
    }

    qc->done(qc->data, NGX_OK, &answer);
}


static void
ngx_http_admission_queue_news(ngx_http_admission_queue_call_t *qc,
    ngx_uint_t news, ngx_msec_t restore)
{
    if (news & NGX_HTTP_ADMISSION_NEWS_LOST) {
        ngx_log_error(NGX_LOG_WARN, ngx_cycle->log, 0,
                      "admission: redis had lost data of the queue of event "
                      "\"%V\"", &qc->event);
    }

    if (news & NGX_HTTP_ADMISSION_NEWS_RESTORE) {
        ngx_log_error(NGX_LOG_WARN, ngx_cycle->log, 0,
                      "admission: the queue of event \"%V\" is being restored, "
                      "nobody is let in for %M ms", &qc->event, restore);
    }

    if (news & NGX_HTTP_ADMISSION_NEWS_RESTORED) {
        ngx_log_error(NGX_LOG_NOTICE, ngx_cycle->log, 0,
                      "admission: the queue of event \"%V\" has been restored, "
                      "admission goes on", &qc->event);
    }
}


static void
ngx_http_admission_queue_is_active_done(void *data, ngx_int_t rc,
    redisReply *reply)
{
    ngx_http_admission_queue_call_t  *qc = data;

    ngx_int_t                          expires;
    ngx_http_admission_queue_answer_t  answer;

    ngx_memzero(&answer, sizeof(ngx_http_admission_queue_answer_t));

    answer.state = NGX_HTTP_ADMISSION_QUEUE_NOT_IN;

    if (rc != NGX_OK) {
        qc->done(qc->data, NGX_ERROR, NULL);
        return;
    }

    if (reply->type == REDIS_REPLY_STRING) {
        expires = ngx_atoi((u_char *) reply->str, reply->len);

        if (expires == NGX_ERROR) {
            ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                          "admission: an active user has a score in redis "
                          "that is not ours");
            qc->done(qc->data, NGX_ERROR, NULL);
            return;
        }

        if (expires > ngx_http_admission_now_us() / 1000) {
            answer.state = NGX_HTTP_ADMISSION_QUEUE_ACTIVE;
        }
    }

    qc->done(qc->data, NGX_OK, &answer);
}


static void
ngx_http_admission_queue_revoked_done(void *data, ngx_int_t rc,
    redisReply *reply)
{
    ngx_http_admission_queue_call_t  *qc = data;

    int64_t                            v[2];
    ngx_http_admission_queue_answer_t  answer;

    if (rc != NGX_OK) {
        qc->done(qc->data, NGX_ERROR, NULL);
        return;
    }

    if (ngx_http_admission_reply_numbers(reply, v, 2, 0) != NGX_OK) {
        ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                      "admission: a queue script got an answer that is not "
                      "its own from redis");
        qc->done(qc->data, NGX_ERROR, NULL);
        return;
    }

    ngx_memzero(&answer, sizeof(ngx_http_admission_queue_answer_t));

    answer.revoked = v[0];
    answer.state = (v[1] > ngx_http_admission_now_us() / 1000)
                   ? NGX_HTTP_ADMISSION_QUEUE_ACTIVE
                   : NGX_HTTP_ADMISSION_QUEUE_NOT_IN;

    qc->done(qc->data, NGX_OK, &answer);
}
