
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Calls of the queue's scripts, each with what the host knows of the event.
 * Their answers are first for the host (its memory, other hosts, the
 * counters), then for whoever has called.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/clock.h"
#include "../base/counter.h"
#include "../host/args.h"
#include "../host/event_state.h"
#include "../host/event_work.h"
#include "ngx_http_admission_names.h"
#include "../host/revoked.h"
#include "../host/sale.h"
#include "../host/schedule.h"
#include "../host/tally.h"
#include "../host/touch.h"
#include "../host/view.h"
#include "../http/credentials.h"
#include "line.h"
#include "log.h"
#include "queue.h"
#include "reply.h"


/* without this agreement of sizes here and in the scripts nothing is built */

enum {
    NGX_ADM_QUEUE_TERMS_FIT = 1 / (NGX_ADM_ARG_QUEUE_ORDER + 1
                                   - NGX_ADM_ARG_QUEUE_THRESHOLD
                                   == NGX_ADM_QUEUE_TERMS),
    NGX_ADM_QUEUE_ARGS_FIT = 1 / (NGX_ADM_ARG_QUEUE_CHECK_COUNT
                                  + NGX_ADM_CREDENTIALS
                                    * NGX_ADM_EACH_QUEUE_CHECK_COUNT
                                  <= NGX_ADM_ARGS)
};


/*
 * ms without users, as far as this host knows, after which the host forgets
 * the epoch of an event that no operator named.  Redis does so 10 minutes
 * after the last user, and the host looks every 5 minutes at least.
 */
#define NGX_ADM_BRIEF_LIFE     240000


/* a call under way; freed with the call of the Redis client */
typedef struct {
    ngx_adm_queue_done_pt   done;
    void                   *data;
    ngx_msec_t              issued;
    unsigned                step:1;
    unsigned                leaves:1;
    unsigned                completes:1;
    unsigned                beacon:1;
    unsigned                wakes:1;     /* has the schedule look */
    unsigned                tells:1;     /* has other hosts told */
    unsigned                unmarked:1;  /* the event was not marked */
    unsigned                beats:1;
    unsigned                joins:1;
    ngx_msec_t              leave;       /* ms after which a user may leave
                                            by it */
    ngx_uint_t              life;        /* of the zone, when it began */
    ngx_msec_t              keep;        /* ms to keep a revocation */
    int64_t                 revoked;     /* up to when the host knows */
    ngx_adm_queue_line_t    line;
    ngx_str_t               event;
    ngx_str_t               user;
    u_char                  text[1];     /* event and user */
} ngx_adm_queue_call_t;


static ngx_adm_queue_call_t *ngx_adm_queue_call(ngx_str_t *event,
    ngx_str_t *user, ngx_adm_queue_done_pt done, void *data);
static ngx_adm_queue_call_t *ngx_adm_queue_begin(ngx_adm_args_t *args,
    ngx_uint_t script, ngx_str_t *event, ngx_str_t *user,
    ngx_adm_event_conf_t *conf, ngx_adm_queue_done_pt done, void *data);
static ngx_adm_redis_call_t *ngx_adm_queue_run(ngx_adm_args_t *args,
    ngx_adm_queue_call_t *qc);
static void ngx_adm_queue_detach(void *data);
static void ngx_adm_queue_nobody(void *data, ngx_int_t rc,
    ngx_adm_queue_answer_t *answer);

static void ngx_adm_queue_done(void *data, ngx_int_t rc, redisReply *reply);
static void ngx_adm_queue_note(ngx_adm_queue_call_t *qc,
    ngx_adm_queue_reply_t *r);


ngx_adm_redis_call_t *
ngx_adm_queue_ask(ngx_adm_queue_ask_t *ask, ngx_adm_queue_done_pt done,
    void *data)
{
    int64_t                until;
    ngx_uint_t             i, n;
    ngx_adm_args_t         args;
    ngx_adm_claims_t       none, *tier1, *entry, *pass, *place;
    ngx_adm_queue_call_t  *qc;

    qc = ngx_adm_queue_begin(&args, NGX_ADM_CALL_QUEUE_CHECK, &ask->event,
                             &ask->user, ask->conf, done, data);
    if (qc == NULL) {
        return NULL;
    }

    ngx_memzero(&none, sizeof(ngx_adm_claims_t));

    tier1 = ask->tier1 ? ask->tier1 : &none;
    entry = ask->entry ? ask->entry : &none;
    pass = ask->pass ? ask->pass : &none;
    until = 0;

    args.argv[NGX_ADM_ARG_QUEUE_CHECK_USER] = ask->user;
    args.number[NGX_ADM_ARG_QUEUE_CHECK_MODE] = ask->mode;
    args.number[NGX_ADM_ARG_QUEUE_CHECK_LOOKS] = ask->looks;

    args.number[NGX_ADM_ARG_QUEUE_CHECK_TICKET] = tier1->at;
    args.number[NGX_ADM_ARG_QUEUE_CHECK_TICKET_ACTIVATION] = tier1->act;

    if (ask->tier1) {
        until = tier1->adm + (int64_t) ask->conf->token_ttl * 1000;
    }

    args.number[NGX_ADM_ARG_QUEUE_CHECK_TICKET_UNTIL] = until;

    args.number[NGX_ADM_ARG_QUEUE_CHECK_ENTRY_ADM] = entry->adm;
    args.number[NGX_ADM_ARG_QUEUE_CHECK_ENTRY_EXP] = entry->exp;

    args.number[NGX_ADM_ARG_QUEUE_CHECK_PASS] = pass->at ? pass->at
                                                         : pass->ticket;

    args.number[NGX_ADM_ARG_QUEUE_CHECK_MAX_QUEUE] =
                                    ask->unbound ? -1 : ask->conf->max_queue;
    args.number[NGX_ADM_ARG_QUEUE_CHECK_MAX_WAIT] =
                                    ask->unbound ? 0 : ask->conf->max_wait;
    args.number[NGX_ADM_ARG_QUEUE_CHECK_UNBOUND] = ask->unbound;

    n = ngx_min(ask->nplaces, NGX_ADM_CREDENTIALS);

    for (i = 0; i < n; i++) {
        place = ask->places[i];

        args.number[args.argc + NGX_ADM_EACH_QUEUE_CHECK_SCORE] = place->score;
        args.number[args.argc + NGX_ADM_EACH_QUEUE_CHECK_AT] = place->at;
        args.number[args.argc + NGX_ADM_EACH_QUEUE_CHECK_EPOCH] = place->epoch;

        args.argc += NGX_ADM_EACH_QUEUE_CHECK_COUNT;
    }

    if (qc->unmarked && (ask->mode == NGX_ADM_QUEUE_CHECK || n)) {
        ngx_adm_queue_mark(&ask->event);
    }

    return ngx_adm_queue_run(&args, qc);
}


ngx_adm_redis_call_t *
ngx_adm_queue_leave(ngx_str_t *event, ngx_adm_event_conf_t *conf,
    ngx_str_t *user, ngx_uint_t beacon, ngx_uint_t held,
    ngx_adm_queue_done_pt done, void *data)
{
    ngx_adm_args_t         args;
    ngx_adm_queue_call_t  *qc;

    qc = ngx_adm_queue_begin(&args, NGX_ADM_CALL_QUEUE_LEAVE, event, user, conf,
                             done, data);
    if (qc == NULL) {
        return NULL;
    }

    args.argv[NGX_ADM_ARG_QUEUE_LEAVE_USER] = *user;
    args.number[NGX_ADM_ARG_QUEUE_LEAVE_BEACON] = beacon ? 1 : 0;
    args.number[NGX_ADM_ARG_QUEUE_LEAVE_HELD] = held;

    if (beacon) {
        qc->beacon = 1;
        qc->leave = NGX_ADM_BEACON;
        qc->tells = 1;

    } else {
        qc->leaves = 1;
    }

    return ngx_adm_queue_run(&args, qc);
}


ngx_adm_redis_call_t *
ngx_adm_queue_complete(ngx_str_t *event, ngx_adm_event_conf_t *conf,
    ngx_str_t *user, int64_t adm, int64_t seats, ngx_adm_by_e by,
    ngx_str_t *key, ngx_adm_queue_done_pt done, void *data)
{
    ngx_adm_args_t         args;
    ngx_adm_queue_call_t  *qc;

    qc = ngx_adm_queue_begin(&args, NGX_ADM_CALL_QUEUE_COMPLETE, event, user,
                             conf, done, data);
    if (qc == NULL) {
        return NULL;
    }

    args.argv[NGX_ADM_ARG_QUEUE_COMPLETE_USER] = *user;
    args.number[NGX_ADM_ARG_QUEUE_COMPLETE_ADM] = adm;
    args.number[NGX_ADM_ARG_QUEUE_COMPLETE_SEATS] = seats;
    args.number[NGX_ADM_ARG_QUEUE_COMPLETE_BY] = by;
    args.argv[NGX_ADM_ARG_QUEUE_COMPLETE_KEY] = *key;

    qc->completes = 1;
    qc->wakes = 1;

    if (qc->unmarked) {
        ngx_adm_queue_mark(event);
    }

    return ngx_adm_queue_run(&args, qc);
}


void
ngx_adm_queue_key(ngx_str_t *key, u_char *buf, ngx_str_t *parts, ngx_uint_t n)
{
    u_char  hash[NGX_ADM_IDEMPOTENCY_HASH];

    ngx_adm_idempotency_hash(hash, parts, n);

    key->data = buf;
    key->len = ngx_hex_dump(buf, hash, sizeof(hash)) - buf;
}


ngx_adm_redis_call_t *
ngx_adm_queue_admin(ngx_adm_queue_admin_e what, int64_t value, int64_t given,
    ngx_str_t *event, ngx_adm_event_conf_t *conf, ngx_adm_queue_done_pt done,
    void *data)
{
    ngx_adm_args_t         args;
    ngx_adm_queue_call_t  *qc;

    static ngx_str_t  names[] = {
        ngx_string("look"),
        ngx_string("clear"),
        ngx_string("set"),
        ngx_string("unset"),
        ngx_string("look"),
        ngx_string("slots"),
        ngx_string("unslots") };

    qc = ngx_adm_queue_begin(&args, NGX_ADM_CALL_QUEUE_ADMIN, event, NULL, conf,
                             done, data);
    if (qc == NULL) {
        return NULL;
    }

    args.argv[NGX_ADM_ARG_QUEUE_ADMIN_WHAT] = names[what];
    args.number[NGX_ADM_ARG_QUEUE_ADMIN_VALUE] = value;
    args.number[NGX_ADM_ARG_QUEUE_ADMIN_GIVEN] = given;

    if (what != NGX_ADM_QUEUE_LOOK && what != NGX_ADM_QUEUE_LOOK_SLOTS) {
        ngx_adm_queue_mark(event);

        qc->wakes = 1;
        qc->tells = 1;
    }

    return ngx_adm_queue_run(&args, qc);
}


ngx_adm_redis_call_t *
ngx_adm_queue_beat(ngx_str_t *event, ngx_adm_event_conf_t *conf,
    ngx_str_t *names, ngx_str_t *lately, ngx_str_t *ages, ngx_uint_t n,
    ngx_str_t *groups, ngx_msec_t leave, ngx_adm_queue_done_pt done,
    void *data)
{
    ngx_adm_args_t         args;
    ngx_adm_queue_call_t  *qc;

    qc = ngx_adm_queue_begin(&args, NGX_ADM_CALL_QUEUE_BEAT, event, NULL, conf,
                             done, data);
    if (qc == NULL) {
        return NULL;
    }

    args.argv[NGX_ADM_ARG_QUEUE_BEAT_HERE] = *names;
    args.argv[NGX_ADM_ARG_QUEUE_BEAT_LATELY] = *lately;
    args.argv[NGX_ADM_ARG_QUEUE_BEAT_AGES] = *ages;

    args.nmore = n * NGX_ADM_EACH_QUEUE_BEAT_COUNT;
    args.more = groups;

    qc->beats = 1;
    qc->leave = leave;

    if (qc->unmarked) {
        ngx_adm_queue_mark(event);
    }

    return ngx_adm_queue_run(&args, qc);
}


ngx_adm_redis_call_t *
ngx_adm_queue_joins(ngx_str_t *event, ngx_adm_event_conf_t *conf,
    ngx_uint_t unbound, ngx_uint_t n, ngx_str_t *users,
    ngx_adm_queue_done_pt done, void *data)
{
    ngx_adm_args_t         args;
    ngx_adm_queue_call_t  *qc;

    qc = ngx_adm_queue_begin(&args, NGX_ADM_CALL_QUEUE_JOIN, event, NULL, conf,
                             done, data);
    if (qc == NULL) {
        return NULL;
    }

    args.number[NGX_ADM_ARG_QUEUE_JOIN_MAX_QUEUE] = unbound ? -1
                                                            : conf->max_queue;
    args.number[NGX_ADM_ARG_QUEUE_JOIN_MAX_WAIT] = unbound ? 0
                                                           : conf->max_wait;

    args.nmore = n * NGX_ADM_EACH_QUEUE_JOIN_COUNT;
    args.more = users;

    qc->joins = 1;

    if (qc->unmarked) {
        ngx_adm_queue_mark(event);
    }

    return ngx_adm_queue_run(&args, qc);
}


ngx_adm_redis_call_t *
ngx_adm_queue_step(ngx_str_t *event, ngx_adm_event_conf_t *conf,
    ngx_adm_queue_done_pt done, void *data)
{
    ngx_adm_args_t         args;
    ngx_adm_queue_call_t  *qc;

    qc = ngx_adm_queue_begin(&args, NGX_ADM_CALL_QUEUE_STEP, event, NULL, conf,
                             done, data);
    if (qc == NULL) {
        return NULL;
    }

    ngx_adm_queue_line_step(&qc->line, event, conf, &args);

    args.number[NGX_ADM_ARG_QUEUE_STEP_SINCE] = qc->revoked;
    qc->step = 1;

    return ngx_adm_queue_run(&args, qc);
}


/*
 * user NULL: the answer is about nobody in particular.  Returns NULL if no
 * Redis is configured, or there is no memory.
 */

static ngx_adm_queue_call_t *
ngx_adm_queue_call(ngx_str_t *event, ngx_str_t *user,
    ngx_adm_queue_done_pt done, void *data)
{
    u_char                *p;
    size_t                 size;
    ngx_adm_queue_call_t  *qc;

    if (ngx_adm_redis == NULL) {
        return NULL;
    }

    size = sizeof(ngx_adm_queue_call_t) + event->len + (user ? user->len : 0);

    qc = ngx_alloc(size, ngx_cycle->log);
    if (qc == NULL) {
        return NULL;
    }

    ngx_memzero(qc, sizeof(ngx_adm_queue_call_t));

    qc->done = done;
    qc->data = data;
    qc->issued = ngx_current_msec;

    qc->event.len = event->len;
    qc->event.data = qc->text;
    p = ngx_cpymem(qc->text, event->data, event->len);

    if (user) {
        qc->user.len = user->len;
        qc->user.data = p;
        ngx_memcpy(p, user->data, user->len);
    }

    return qc;
}


/* begins a call with the arguments that all of these scripts have */

static ngx_adm_queue_call_t *
ngx_adm_queue_begin(ngx_adm_args_t *args, ngx_uint_t script, ngx_str_t *event,
    ngx_str_t *user, ngx_adm_event_conf_t *conf, ngx_adm_queue_done_pt done,
    void *data)
{
    ngx_uint_t             i, brief;
    ngx_adm_hold_t         hold;
    ngx_adm_sale_set_t     set;
    ngx_adm_event_now_t    now;
    ngx_adm_queue_call_t  *qc;
    ngx_adm_event_state_t  state;

    qc = ngx_adm_queue_call(event, user, done, data);
    if (qc == NULL) {
        return NULL;
    }

    ngx_adm_event_get(event, &state, &now);
    ngx_adm_sale_known(event, &set);
    ngx_adm_hold_get(event, &hold);

    qc->life = now.life;
    qc->keep = ngx_adm_queue_keep(conf->token_ttl);
    qc->revoked = state.revoked;
    qc->unmarked = now.unmarked;
    qc->line.max_queue = conf->max_queue;
    qc->line.max_wait = conf->max_wait;
    qc->line.seats = (state.slots >= 0 || conf->slots >= 0);

    brief = ngx_adm_queue_is_brief(conf, now.named);

    if (brief
        && state.size + state.active == 0
        && now.idle > NGX_ADM_BRIEF_LIFE)
    {
        /*
         * Redis may have let the event's keys expire, as it should: that is no
         * loss
         */
        state.epoch = 0;
    }

    ngx_adm_args_begin(args, script, event);

    args->argv[NGX_ADM_ARG_QUEUE_EVENT] = *event;

    for (i = 0; i < NGX_ADM_QUEUE_TERMS; i++) {
        args->argv[NGX_ADM_ARG_QUEUE_THRESHOLD + i] = conf->terms[i];
    }

    args->number[NGX_ADM_ARG_QUEUE_HOST_EPOCH] = state.epoch;
    args->number[NGX_ADM_ARG_QUEUE_HOST_CLOCK] = state.stored;
    args->number[NGX_ADM_ARG_QUEUE_HOST_ACTIVE] = state.active;
    args->number[NGX_ADM_ARG_QUEUE_HOST_CLEAR] = state.clear;
    args->number[NGX_ADM_ARG_QUEUE_HOST_THRESHOLD] = state.threshold;
    args->number[NGX_ADM_ARG_QUEUE_HOST_SLOTS] = state.slots;
    args->number[NGX_ADM_ARG_QUEUE_HOST_SOLD] = state.sold;
    args->number[NGX_ADM_ARG_QUEUE_HOST_HOLD] = hold.held;
    args->number[NGX_ADM_ARG_QUEUE_HOST_SALE] = set.version;
    args->number[NGX_ADM_ARG_QUEUE_HOST_STARTS] =
                          set.opens < 0 ? -1 : ngx_max(set.opens, set.starts);

    args->number[NGX_ADM_ARG_QUEUE_BRIEF] = brief;

    args->number[NGX_ADM_ARG_QUEUE_HOST_MS] = ngx_adm_time_is_known()
                                              ? ngx_adm_now_us() / 1000 : 0;
    args->number[NGX_ADM_ARG_QUEUE_IN_TOUCH] = ngx_adm_in_touch();
    args->number[NGX_ADM_ARG_QUEUE_WALL] = ngx_adm_wall();

    return qc;
}


/*
 * Runs a call whose answer is for this host and others even if the caller has
 * gone: most of all, who is out.
 */

static ngx_adm_redis_call_t *
ngx_adm_queue_run(ngx_adm_args_t *args, ngx_adm_queue_call_t *qc)
{
    ngx_adm_redis_call_t  *call;

    call = ngx_adm_args_run(args, ngx_adm_queue_done, qc);
    if (call) {
        ngx_adm_redis_on_detach(call, ngx_adm_queue_detach);
    }

    return call;
}


static void
ngx_adm_queue_detach(void *data)
{
    ngx_adm_queue_call_t *qc = data;

    qc->done = ngx_adm_queue_nobody;
    qc->data = NULL;
}


static void
ngx_adm_queue_nobody(void *data, ngx_int_t rc, ngx_adm_queue_answer_t *answer)
{
    /* nobody can be told */
}


static void
ngx_adm_queue_done(void *data, ngx_int_t rc, redisReply *reply)
{
    ngx_adm_queue_call_t  *qc = data;

    ngx_adm_queue_reply_t  r;

    if (rc == NGX_OK) {
        rc = qc->step ? ngx_adm_queue_reply_step(reply, &qc->event,
                                                 qc->keep, &r)
             : qc->beats ? ngx_adm_queue_reply_beat(reply, &r)
             : qc->joins ? ngx_adm_queue_reply_joins(reply, &r)
                         : ngx_adm_queue_reply(reply, &r, 0);
    }

    if (rc == NGX_OK) {
        rc = ngx_adm_time_observed(r.answer.now,
                                   ngx_current_msec - qc->issued);
    }

    if (rc != NGX_OK) {

        ngx_log_debug2(NGX_LOG_DEBUG_HTTP, ngx_cycle->log, 0,
                       "admission: queue of event \"%V\": no answer, %i",
                       &qc->event, rc);

        if (!qc->step) {

            /* the script may have run, and nobody was told what it did */

            ngx_adm_event_doubt(&qc->event);
        }

        qc->done(qc->data, NGX_ERROR, NULL);
        return;
    }

    ngx_log_debug4(NGX_LOG_DEBUG_HTTP, ngx_cycle->log, 0,
                   "admission: queue of event \"%V\": state %i, %L wait, %L "
                   "are in", &qc->event, (ngx_int_t) r.answer.state,
                   r.answer.size, r.answer.active);

    r.answer.life = qc->life;

    ngx_adm_queue_note(qc, &r);

    qc->done(qc->data, NGX_OK, &r.answer);
}


/* takes what an answer says to this host and to others, whoever has called */

static void
ngx_adm_queue_note(ngx_adm_queue_call_t *qc, ngx_adm_queue_reply_t *r)
{
    uint64_t                *n;
    ngx_uint_t               i, news, any, busy;
    ngx_adm_heard_t          heard;
    ngx_adm_queue_answer_t  *answer;

    answer = &r->answer;

    if (answer->ended) {
        qc->tells = 1;

        if (qc->leaves) {
            ngx_adm_revoke(&qc->event, &qc->user, answer->clock, qc->keep);

        } else if (qc->completes) {
            ngx_adm_revoke(&qc->event, &qc->user, answer->adm, qc->keep);
        }
    }

    n = r->tally.n;
    any = 0;

    for (i = 0; i < NGX_ADM_TALLIES; i++) {
        any |= (n[i] != 0);
    }

    if (any) {
        ngx_log_debug6(NGX_LOG_DEBUG_HTTP, ngx_cycle->log, 0,
                       "admission: queue of event \"%V\": %uL joined, %uL let "
                       "in, %uL left, %uL did not come, %uL ran out",
                       &qc->event, n[NGX_ADM_TALLY_JOINS],
                       n[NGX_ADM_TALLY_ADMISSIONS], n[NGX_ADM_TALLY_LEAVES],
                       n[NGX_ADM_TALLY_LOST], n[NGX_ADM_TALLY_ENDED]);
    }

    if ((answer->state == NGX_ADM_QUEUE_ACTIVE
         || answer->state == NGX_ADM_QUEUE_READY)
        && answer->expires > answer->now / 1000)
    {
        r->now.ends = answer->expires - answer->now / 1000;
    }

    busy = (answer->size + answer->active > 0);

    if (qc->leave) {
        r->now.ends = qc->leave + 100;
        qc->tells = busy;
    }

    ngx_adm_queue_line_note(&qc->line, &qc->event, &qc->user, r);

    heard.life = qc->life;
    heard.all = (answer->score == 0);

    /* after a step the schedule itself decides whether there is a next */

    news = ngx_adm_event_note(&qc->event, &r->state, &r->now,
                              r->state.epoch
                              && (qc->wakes || (!qc->step && busy)),
                              qc->step ? &heard : NULL,
                              any ? &r->tally : NULL);
    if (qc->leaves || qc->completes || qc->beacon) {
        ngx_adm_view_gone(&qc->event, &qc->user, answer->clock);
    }

    ngx_adm_queue_line_view(&qc->line, &qc->event, &qc->user, r);

    if (n[NGX_ADM_TALLY_SETTLES]) {
        ngx_adm_queue_log_settle(&qc->event);
    }

    if (!qc->step) {
        ngx_adm_schedule_soon(0);
    }

    if (news) {
        ngx_adm_queue_log(&qc->event, news, r->now.restore);
    }

    /*
     * That somebody is out is told to other hosts at once, ahead of the answer
     * to whoever has called; other changes are told now and then.
     */

    if ((news & NGX_ADM_NEWS_TELL)
        || qc->tells
        || n[NGX_ADM_TALLY_LOST]
        || n[NGX_ADM_TALLY_ENDED]
        || answer->counted
        || (qc->step && n[NGX_ADM_TALLY_LEAVES]))
    {
        ngx_adm_queue_tell(&qc->event, answer->now);
    }

    if (n[NGX_ADM_TALLY_ADMISSIONS] && !qc->step) {
        ngx_adm_observe(NGX_ADM_HISTOGRAM_QUEUE_WAIT, 0, 0);
    }
}
