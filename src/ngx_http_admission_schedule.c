
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The worker that holds the host's lease looks many times a second
 * for events that are due, and issues a step for each.  Where people wait one
 * is due every admit_interval; where nobody does, when a slot ends, and when
 * another host tells that it ended a token.  All timers are cancelable: none of
 * them keeps a leaving worker.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>
#include <ngx_http.h>

#include "ngx_http_admission_args.h"
#include "ngx_http_admission_queue.h"
#include "ngx_http_admission_redis_reply.h"
#include "ngx_http_admission_room.h"
#include "ngx_http_admission_schedule.h"
#include "ngx_http_admission_schedule_rooms.h"
#include "ngx_http_admission_slots.h"
#include "ngx_http_admission_zone.h"


#define NGX_HTTP_ADMISSION_TICK         50      /* ms */
#define NGX_HTTP_ADMISSION_STEP_MAX     500     /* ms between steps, at most,
                                                   where people wait, or news
                                                   can't be relied on */
#define NGX_HTTP_ADMISSION_STEP_IDLE    300000  /* ms, where nobody does: half
                                                   of what Redis keeps an event
                                                   without users for */
#define NGX_HTTP_ADMISSION_KEEP         120000  /* ms that an event without
                                                   users is looked after, and
                                                   token_ttl */
#define NGX_HTTP_ADMISSION_KEEP_BRIEF   600000  /* one that no operator named:
                                                   as long as Redis keeps it,
                                                   see lua/queue_lib.lua */
#define NGX_HTTP_ADMISSION_KEEP_EMPTY   5000    /* one in which there never was
                                                   anybody */
#define NGX_HTTP_ADMISSION_STEPS        256     /* out at once */
#define NGX_HTTP_ADMISSION_STEP_WAIT    2000    /* ms, for one that does not
                                                   come back */
#define NGX_HTTP_ADMISSION_LEARN        500     /* ms between looks at
                                                   queue:active-events */
#define NGX_HTTP_ADMISSION_LISTEN       250     /* ms, for news */
#define NGX_HTTP_ADMISSION_NEWS_LATE    3000000 /* us that they may come behind
                                                   others that are later */
#define NGX_HTTP_ADMISSION_NEWS_KEEP    60000000        /* us */
#define NGX_HTTP_ADMISSION_NEWS_TIME    1000    /* ms between questions for
                                                   Redis's time */
#define NGX_HTTP_ADMISSION_NEWS_TRIM    10000   /* ms between trimming them */
#define NGX_HTTP_ADMISSION_WATCHFUL     60000   /* ms, after something that says
                                                   that news can't be relied on
                                                   */
#define NGX_HTTP_ADMISSION_UNNAMED      3000    /* events that no operator
                                                   named, that are learned from
                                                   the list */


static void ngx_http_admission_schedule_tick(ngx_event_t *ev);
static void ngx_http_admission_schedule_steps(ngx_log_t *log);
static void ngx_http_admission_schedule_step(ngx_str_t *event);
static void ngx_http_admission_schedule_step_done(void *data, ngx_int_t rc,
    ngx_http_admission_queue_answer_t *answer);
static void ngx_http_admission_schedule_report(void);
static ngx_msec_t ngx_http_admission_schedule_interval(
    ngx_http_admission_event_conf_t *conf);
static ngx_msec_t ngx_http_admission_schedule_keep(
    ngx_http_admission_event_conf_t *conf,
    ngx_http_admission_queue_answer_t *answer, ngx_uint_t brief);

static void ngx_http_admission_schedule_learn(void);
static void ngx_http_admission_schedule_learned(void *data, ngx_int_t rc,
    redisReply *reply);
static void ngx_http_admission_schedule_learned_all(redisReply *reply);
static void ngx_http_admission_schedule_learned_event(redisReply *element);

static void ngx_http_admission_schedule_listen(int64_t since);
static void ngx_http_admission_schedule_heard(void *data, ngx_int_t rc,
    redisReply *reply);
static ngx_int_t ngx_http_admission_schedule_heard_event(redisReply *event,
    int64_t time);
static int64_t ngx_http_admission_schedule_time(redisReply *reply);


static ngx_http_admission_main_conf_t  *ngx_http_admission_schedule_conf;
static ngx_connection_t                 ngx_http_admission_schedule_dumb;
static ngx_event_t                      ngx_http_admission_schedule_timer;
static ngx_http_admission_slots_t       ngx_http_admission_schedule_slots;
static ngx_uint_t                       ngx_http_admission_schedule_holds;


/* reading queue:active-events */
static struct {
    ngx_msec_t                          last;
    ngx_str_t                           cursor;     /* of the next part */
    u_char                              text[NGX_INT64_LEN];
    unsigned                            out:1;
    unsigned                            first:1;    /* the first time through:
                                                       without a pause */
    unsigned                            whole:1;    /* SSCAN is refused */
} ngx_http_admission_schedule_list;


/* and news */
static struct {
    ngx_msec_t                          last;
    ngx_msec_t                          trimmed;
    ngx_msec_t                          timed;
    int64_t                             asked;      /* us, when the read under
                                                       way began, */
    int64_t                             since;      /* and from when on it is
                                                       */
    int64_t                             heard;      /* us, when the last one
                                                       that was answered
                                                       began; 0: none was */
    unsigned                            out:1;
    unsigned                            refused:1;
} ngx_http_admission_schedule_news;


ngx_int_t
ngx_http_admission_schedule_start(ngx_cycle_t *cycle,
    ngx_http_admission_main_conf_t *mcf)
{
    ngx_event_t  *ev;

    ngx_http_admission_schedule_conf = mcf;

    if (ngx_http_admission_slots_init(cycle,
                                      &ngx_http_admission_schedule_slots,
                                      NGX_HTTP_ADMISSION_STEPS)
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    ev = &ngx_http_admission_schedule_timer;

    /* NGINX's debug log of timers looks at the connection of an event */

    ngx_http_admission_schedule_dumb.fd = (ngx_socket_t) -1;

    ev->handler = ngx_http_admission_schedule_tick;
    ev->data = &ngx_http_admission_schedule_dumb;
    ev->log = cycle->log;
    ev->cancelable = 1;

    ngx_add_timer(ev, NGX_HTTP_ADMISSION_TICK);

    return ngx_http_admission_schedule_rooms_start(cycle, mcf);
}


void
ngx_http_admission_schedule_stop(void)
{
    if (ngx_http_admission_schedule_timer.timer_set) {
        ngx_del_timer(&ngx_http_admission_schedule_timer);
    }

    ngx_http_admission_lease_leave();
}


static void
ngx_http_admission_schedule_tick(ngx_event_t *ev)
{
    if (ngx_exiting) {

        /* the new workers go on, without waiting for the lease to run out */

        ngx_http_admission_lease_leave();
        ngx_http_admission_redis_leave(ngx_http_admission_redis());
        return;
    }

    ngx_add_timer(ev, NGX_HTTP_ADMISSION_TICK);

    if (!ngx_http_admission_lease_take()) {
        ngx_http_admission_schedule_holds = 0;
        return;
    }

    ngx_http_admission_redis_background(ngx_http_admission_redis(), 1);

    if (!ngx_http_admission_schedule_holds) {
        ngx_http_admission_schedule_holds = 1;
        ngx_http_admission_schedule_list.first = 1;
        ngx_http_admission_schedule_news.heard = 0;
        ngx_http_admission_schedule_list.cursor.len = 0;
        ngx_http_admission_schedule_learn();
    }

    if (ngx_current_msec - ngx_http_admission_schedule_list.last
        >= NGX_HTTP_ADMISSION_LEARN)
    {
        ngx_http_admission_schedule_learn();
    }

    /* the look at the list finds out whether Redis is there */

    if (ngx_http_admission_in_touch()
        && ngx_current_msec - ngx_http_admission_schedule_news.last
           >= NGX_HTTP_ADMISSION_LISTEN)
    {
        ngx_http_admission_schedule_listen(
                              ngx_min(ngx_http_admission_schedule_news.heard,
                                      ngx_http_admission_now_us())
                              - NGX_HTTP_ADMISSION_NEWS_LATE);
    }

    /* what was missed meanwhile is told by no news */

    if (ngx_http_admission_regained()) {
        ngx_http_admission_events_recall();
    }

    ngx_http_admission_schedule_steps(ev->log);
    ngx_http_admission_schedule_rooms(ev->log);
    ngx_http_admission_schedule_report();

    ngx_http_admission_redis_background(ngx_http_admission_redis(), 0);
}


static void
ngx_http_admission_schedule_steps(ngx_log_t *log)
{
    ngx_str_t    *id;
    ngx_uint_t    i;
    ngx_pool_t   *pool;
    ngx_array_t   ids;

    if (ngx_http_admission_schedule_slots.nfree == 0) {
        return;
    }

    pool = ngx_create_pool(1024, log);
    if (pool == NULL) {
        return;
    }

    if (ngx_array_init(&ids, pool, 8, sizeof(ngx_str_t)) == NGX_OK) {

        (void) ngx_http_admission_events_due(pool, &ids,
                                     ngx_http_admission_schedule_slots.nfree,
                                     NGX_HTTP_ADMISSION_STEP_WAIT);

        id = ids.elts;

        for (i = 0; i < ids.nelts; i++) {
            ngx_http_admission_schedule_step(&id[i]);
        }
    }

    ngx_destroy_pool(pool);
}


static void
ngx_http_admission_schedule_step(ngx_str_t *event)
{
    ngx_http_admission_slot_t        *slot;
    ngx_http_admission_stepped_t      stepped;
    ngx_http_admission_event_conf_t  *conf;

    conf = ngx_http_admission_event_conf(ngx_http_admission_schedule_conf,
                                         event);
    if (conf == NULL) {

        /* no longer an event here: nobody of this host is in its queue */

        ngx_http_admission_event_empty(event);

        ngx_memzero(&stepped, sizeof(ngx_http_admission_stepped_t));

        stepped.answered = 1;
        stepped.delay = NGX_HTTP_ADMISSION_STEP_IDLE;
        stepped.keep = NGX_HTTP_ADMISSION_KEEP;

        (void) ngx_http_admission_event_next(event, &stepped);
        return;
    }

    slot = ngx_http_admission_slot_take(&ngx_http_admission_schedule_slots,
                                        event, conf);
    if (slot == NULL) {
        return;
    }

    if (ngx_http_admission_queue_step(event, conf,
                                      ngx_http_admission_schedule_step_done,
                                      slot)
        == NULL)
    {
        ngx_http_admission_slot_free(&ngx_http_admission_schedule_slots, slot);
    }
}


static void
ngx_http_admission_schedule_step_done(void *data, ngx_int_t rc,
    ngx_http_admission_queue_answer_t *answer)
{
    ngx_http_admission_slot_t  *slot = data;

    ngx_http_admission_stepped_t      stepped;
    ngx_http_admission_event_now_t    now;
    ngx_http_admission_event_state_t  state;

    ngx_memzero(&stepped, sizeof(ngx_http_admission_stepped_t));

    ngx_http_admission_event_get(&slot->event, &state, &now);

    stepped.work = 1;
    stepped.urgent = (state.size > 0);
    stepped.delay = ngx_http_admission_schedule_interval(slot->conf);

    if (rc == NGX_OK) {
        stepped.answered = 1;
        stepped.work = (answer->state != NGX_HTTP_ADMISSION_QUEUE_NOT_IN);
        stepped.urgent = (answer->size > 0 || answer->score);
        stepped.brief = ngx_http_admission_queue_is_brief(slot->conf,
                                                          now.named);
        stepped.keep = ngx_http_admission_schedule_keep(slot->conf, answer,
                                                        stepped.brief);

        if (answer->mixed) {
            ngx_http_admission_watchful(NGX_HTTP_ADMISSION_WATCHFUL);
        }

        if (answer->score) {
            stepped.delay = 0;

        } else if (stepped.urgent) {
            /* as the configuration has it */

        } else if (ngx_http_admission_is_watchful()) {
            stepped.delay = NGX_HTTP_ADMISSION_STEP_MAX;

        } else if (!stepped.work) {
            stepped.delay = NGX_HTTP_ADMISSION_STEP_IDLE;

        } else {
            stepped.delay = ngx_min(answer->due, NGX_HTTP_ADMISSION_STEP_IDLE);
            stepped.delay = ngx_max(stepped.delay, NGX_HTTP_ADMISSION_TICK);
        }

        if (state.threshold >= 0 && slot->conf->sn.str.len == 0) {

            /* that it was named is told to hosts by the list alone */

            stepped.keep = NGX_MAX_INT32_VALUE;
            ngx_http_admission_queue_mark(&slot->event);
        }
    }

    if (ngx_http_admission_event_next(&slot->event, &stepped)) {

        /* who joins now adds it again, or did so within the minute */

        ngx_http_admission_queue_unlist(&slot->event);
    }

    if (stepped.delay == 0 && !ngx_exiting) {
        ngx_http_admission_redis_background(ngx_http_admission_redis(), 1);
        ngx_http_admission_schedule_step(&slot->event);
        ngx_http_admission_redis_background(ngx_http_admission_redis(), 0);
    }

    ngx_http_admission_slot_free(&ngx_http_admission_schedule_slots, slot);
}


static void
ngx_http_admission_schedule_report(void)
{
    int64_t     age;
    ngx_uint_t  n;

    if (ngx_http_admission_zone_made_anew()) {
        ngx_log_error(NGX_LOG_ALERT, ngx_cycle->log, 0,
                      "admission: a process died while it changed the zone, "
                      "which was emptied");
    }

    n = ngx_http_admission_revocations_lost(&age);

    if (n) {
        ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                      "admission: %ui revocations were forgotten early, entry "
                      "tokens older than %L s are asked for from redis: make "
                      "\"admission_zone\" larger", n, age);
    }
}


static ngx_msec_t
ngx_http_admission_schedule_interval(ngx_http_admission_event_conf_t *conf)
{
    return ngx_min(conf->admit_interval, NGX_HTTP_ADMISSION_STEP_MAX);
}


/*
 * By then no token is good that was ended in it, and hosts that start need not
 * learn of it.
 */

static ngx_msec_t
ngx_http_admission_schedule_keep(ngx_http_admission_event_conf_t *conf,
    ngx_http_admission_queue_answer_t *answer, ngx_uint_t brief)
{
    if (answer->epoch == 0) {
        return NGX_HTTP_ADMISSION_KEEP_EMPTY;
    }

    if (brief) {
        return ngx_max(NGX_HTTP_ADMISSION_KEEP_BRIEF,
                       ngx_min(conf->token_ttl
                               + NGX_HTTP_ADMISSION_LEEWAY * 1000,
                               conf->active_ttl));
    }

    return NGX_HTTP_ADMISSION_KEEP + conf->token_ttl;
}


/*
 * What other hosts have added, a part at a time, since it may be long; a host
 * that died left its events here.
 */

static void
ngx_http_admission_schedule_learn(void)
{
    ngx_str_t  *cursor;

    ngx_http_admission_schedule_list.last = ngx_current_msec;

    if (ngx_http_admission_schedule_list.out) {
        return;
    }

    cursor = &ngx_http_admission_schedule_list.cursor;
    cursor->data = ngx_http_admission_schedule_list.text;

    if (cursor->len == 0) {
        cursor->data[0] = '0';
        cursor->len = 1;
    }

    if (ngx_http_admission_queue_list(ngx_http_admission_schedule_list.whole
                                      ? NULL : cursor,
                                      ngx_http_admission_schedule_learned,
                                      NULL)
        != NULL)
    {
        ngx_http_admission_schedule_list.out = 1;
    }
}


static void
ngx_http_admission_schedule_learned(void *data, ngx_int_t rc,
    redisReply *reply)
{
    ngx_str_t   *cursor;
    redisReply  *next;

    ngx_http_admission_schedule_list.out = 0;

    if (rc == NGX_DECLINED
        && !ngx_http_admission_schedule_list.whole
        && ngx_http_admission_redis_is(reply, "NOPERM"))
    {

        /* permissions of before know SMEMBERS alone */

        ngx_http_admission_schedule_list.whole = 1;
        ngx_http_admission_schedule_learn();
        return;
    }

    if (rc != NGX_OK || reply->type != REDIS_REPLY_ARRAY) {
        return;
    }

    if (ngx_http_admission_schedule_list.whole) {
        ngx_http_admission_schedule_learned_all(reply);
        return;
    }

    if (reply->elements != 2
        || reply->element[0]->type != REDIS_REPLY_STRING
        || reply->element[1]->type != REDIS_REPLY_ARRAY)
    {
        return;
    }

    ngx_http_admission_schedule_learned_all(reply->element[1]);

    next = reply->element[0];
    cursor = &ngx_http_admission_schedule_list.cursor;

    if ((size_t) next->len > sizeof(ngx_http_admission_schedule_list.text)
        || (next->len == 1 && next->str[0] == '0'))
    {
        cursor->len = 0;
        ngx_http_admission_schedule_list.first = 0;
        return;
    }

    cursor->len = next->len;
    ngx_memcpy(cursor->data, next->str, next->len);

    if (ngx_http_admission_schedule_list.first && !ngx_exiting) {
        ngx_http_admission_schedule_learn();
    }
}


static void
ngx_http_admission_schedule_learned_all(redisReply *reply)
{
    size_t  i;

    for (i = 0; i < reply->elements; i++) {
        ngx_http_admission_schedule_learned_event(reply->element[i]);
    }
}


/*
 * There is no end of events that anybody made up, but few have users at a time:
 * the others wait until those that are known have left the list.
 */

static void
ngx_http_admission_schedule_learned_event(redisReply *element)
{
    u_char                           buf[NGX_HTTP_ADMISSION_EVENT_MAX];
    ngx_str_t                        id;
    ngx_uint_t                       named;
    ngx_http_admission_main_conf_t  *mcf;

    mcf = ngx_http_admission_schedule_conf;

    if (ngx_http_admission_reply_event(element, &id, buf) != NGX_OK
        || ngx_http_admission_event_conf(mcf, &id) == NULL)
    {
        return;
    }

    named = ngx_http_admission_event_is_named(mcf, &id);

    if (!named
        && ngx_http_admission_events_working() > NGX_HTTP_ADMISSION_UNNAMED)
    {
        ngx_http_admission_event_unwatched();
        return;
    }

    if (ngx_http_admission_event_watch(&id, named) != NGX_OK) {
        ngx_http_admission_event_unwatched();
    }
}


static void
ngx_http_admission_schedule_listen(int64_t since)
{
    ngx_http_admission_schedule_news.last = ngx_current_msec;

    if (ngx_http_admission_schedule_news.out) {
        return;
    }

    if (ngx_http_admission_queue_heard(ngx_max(since, 0),
                                       ngx_http_admission_schedule_heard, NULL)
        != NULL)
    {
        ngx_http_admission_schedule_news.out = 1;
        ngx_http_admission_schedule_news.since = since;
        ngx_http_admission_schedule_news.asked = ngx_http_admission_now_us();
    }

    /* where no script is run nobody else tells what Redis's clock does */

    if (ngx_http_admission_redis_one_node(ngx_http_admission_redis())
        && ngx_current_msec - ngx_http_admission_schedule_news.timed
           >= NGX_HTTP_ADMISSION_NEWS_TIME)
    {
        ngx_http_admission_schedule_news.timed = ngx_current_msec;
        ngx_http_admission_queue_time();
    }

    if (ngx_current_msec - ngx_http_admission_schedule_news.trimmed
        >= NGX_HTTP_ADMISSION_NEWS_TRIM)
    {
        ngx_http_admission_schedule_news.trimmed = ngx_current_msec;
        ngx_http_admission_queue_forget(ngx_http_admission_now_us()
                                        - NGX_HTTP_ADMISSION_NEWS_KEEP);
    }
}


static void
ngx_http_admission_schedule_heard(void *data, ngx_int_t rc, redisReply *reply)
{
    size_t      i;
    int64_t     time, last;
    ngx_uint_t  fresh;

    ngx_http_admission_schedule_news.out = 0;

    if (rc == NGX_DECLINED && !ngx_http_admission_redis_is_refusal(reply)) {

        if (!ngx_http_admission_schedule_news.refused) {
            ngx_http_admission_schedule_news.refused = 1;

            ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                          "admission: redis refuses the key \"{}:news\", all "
                          "events are asked for twice a second instead");
        }

        ngx_http_admission_watchful(NGX_HTTP_ADMISSION_WATCHFUL);
        return;
    }

    if (rc != NGX_OK || reply->type != REDIS_REPLY_ARRAY) {
        return;
    }

    ngx_http_admission_schedule_news.refused = 0;
    ngx_http_admission_schedule_news.heard =
                                       ngx_http_admission_schedule_news.asked;

    last = 0;
    fresh = 0;

    for (i = 0; i + 1 < reply->elements; i += 2) {
        time = ngx_http_admission_schedule_time(reply->element[i + 1]);

        if (time < 0) {
            continue;
        }

        last = time;

        if (ngx_http_admission_schedule_heard_event(reply->element[i], time)
            == NGX_OK)
        {
            fresh = 1;
        }
    }

    ngx_http_admission_redis_background(ngx_http_admission_redis(), 1);

    if (fresh && !ngx_exiting) {
        ngx_http_admission_schedule_steps(ngx_cycle->log);
    }

    if (reply->elements == 2 * NGX_HTTP_ADMISSION_QUEUE_NEWS
        && last > ngx_http_admission_schedule_news.since
        && !ngx_exiting)
    {
        ngx_http_admission_schedule_listen(last);
    }

    ngx_http_admission_redis_background(ngx_http_admission_redis(), 0);
}


static ngx_int_t
ngx_http_admission_schedule_heard_event(redisReply *event, int64_t time)
{
    u_char     buf[NGX_HTTP_ADMISSION_EVENT_MAX];
    ngx_int_t  rc;
    ngx_str_t  id;

    if (ngx_http_admission_reply_event(event, &id, buf) != NGX_OK
        || ngx_http_admission_event_conf(ngx_http_admission_schedule_conf, &id)
           == NULL)
    {
        return NGX_DECLINED;
    }

    rc = ngx_http_admission_event_news(&id, time);

    if (rc == NGX_AGAIN) {
        ngx_http_admission_schedule_step(&id);
        return NGX_DECLINED;
    }

    return rc;
}


/* a score, as Redis has one: a number, in text; -1: it is none of ours */

static int64_t
ngx_http_admission_schedule_time(redisReply *reply)
{
    if (reply->type != REDIS_REPLY_STRING) {
        return -1;
    }

    return ngx_atoof((u_char *) reply->str, reply->len);
}
