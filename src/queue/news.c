
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Hosts tell each other, in Redis, which events there is work to do in, and in
 * which something changed.  The list of events is read a part at a time, news
 * several times a second.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>

#include "../base/clock.h"
#include "../host/args.h"
#include "../host/event_known.h"
#include "../host/event_state.h"
#include "../host/event_work.h"
#include "../host/settings.h"
#include "../host/time_ask.h"
#include "../host/touch.h"
#include "../redis/reply.h"
#include "news.h"
#include "queue.h"
#include "steps.h"


#define NGX_ADM_LEARN        500     /* ms between looks at
                                        queue:active-events */
#define NGX_ADM_LISTEN       250     /* ms between reads of news */
#define NGX_ADM_NEWS_LATE    3000000 /* us that a piece of news may be
                                        written behind later ones */
#define NGX_ADM_NEWS_KEEP    60000000        /* us */
#define NGX_ADM_NEWS_TIME    1000    /* ms between questions for the time */
#define NGX_ADM_NEWS_TRIM    10000   /* ms between trims of old news */
#define NGX_ADM_NEWS_LEARNED 10000   /* ms in which all that the list had is
                                        heard of, if touch is not lost */
#define NGX_ADM_UNNAMED      3000    /* events that no operator named, taken
                                        from the list at most */


static ngx_int_t ngx_adm_news_start(ngx_cycle_t *cycle,
    ngx_adm_main_conf_t *mcf);
static void ngx_adm_news_begin(void);
static void ngx_adm_news_turn(ngx_log_t *log);
static ngx_msec_t ngx_adm_news_next(void);
static void ngx_adm_news_learn(void);
static void ngx_adm_news_learned(void *data, ngx_int_t rc, redisReply *reply);
static void ngx_adm_news_learned_all(redisReply *reply);
static void ngx_adm_news_learned_event(redisReply *element);
static void ngx_adm_news_listen(int64_t since);
static void ngx_adm_news_heard(void *data, ngx_int_t rc, redisReply *reply);
static ngx_int_t ngx_adm_news_heard_event(redisReply *event, int64_t time);
static int64_t ngx_adm_news_time(redisReply *reply);


ngx_adm_schedule_part_t  ngx_adm_queue_news_part = {
    .start = ngx_adm_news_start,
    .begin = ngx_adm_news_begin,
    .turn = ngx_adm_news_turn,
    .next = ngx_adm_news_next };


static ngx_adm_main_conf_t  *ngx_adm_news_conf;


/* the reading of queue:active-events */
static struct {
    ngx_msec_t                          last;
    ngx_str_t                           cursor;     /* of the part read next */
    u_char                              text[NGX_INT64_LEN];
    ngx_uint_t                          life;       /* of the zone, when it was
                                                       begun */
    unsigned                            out:1;
    unsigned                            first:1;    /* not read through yet:
                                                       go on without a pause */
    unsigned                            whole:1;    /* read whole: SSCAN is
                                                       refused */
} ngx_adm_queue_known;


/* the reading of news */
static struct {
    ngx_msec_t                          last;
    ngx_msec_t                          trimmed;
    ngx_msec_t                          timed;
    int64_t                             asked;      /* us, when the read that
                                                       is out began, */
    int64_t                             since;      /* us, and what it asks
                                                       from */
    int64_t                             heard;      /* us, when the last read
                                                       that was answered
                                                       began; 0: none was */
    unsigned                            out:1;
    unsigned                            refused:1;
} ngx_adm_queue_told;


static ngx_int_t
ngx_adm_news_start(ngx_cycle_t *cycle, ngx_adm_main_conf_t *mcf)
{
    ngx_adm_news_conf = mcf;

    return NGX_OK;
}


static void
ngx_adm_news_begin(void)
{
    ngx_adm_queue_told.heard = 0;
    ngx_adm_queue_known.first = 1;
    ngx_adm_queue_known.cursor.len = 0;

    ngx_adm_news_learn();
}


static void
ngx_adm_news_turn(ngx_log_t *log)
{
    if (ngx_current_msec - ngx_adm_queue_known.last >= NGX_ADM_LEARN) {
        ngx_adm_news_learn();
    }

    if (ngx_adm_in_touch() > NGX_ADM_NEWS_LEARNED) {
        ngx_adm_events_learned(NGX_ADM_NEWS_LEARNED);
    }

    /* the look at the list, not this, finds out whether Redis is there */

    if (ngx_adm_in_touch()
        && ngx_current_msec - ngx_adm_queue_told.last
           >= NGX_ADM_LISTEN)
    {
        ngx_adm_news_listen(
                            ngx_min(ngx_adm_queue_told.heard, ngx_adm_now_us())
                            - NGX_ADM_NEWS_LATE);
    }
}


static ngx_msec_t
ngx_adm_news_next(void)
{
    ngx_msec_t  rest;

    rest = ngx_adm_rest(ngx_adm_queue_known.last, NGX_ADM_LEARN);

    return ngx_adm_in_touch()
           ? ngx_min(rest, ngx_adm_rest(ngx_adm_queue_told.last,
                                        NGX_ADM_LISTEN))
           : rest;
}


/*
 * Reads what other hosts have added, a part at a time since it may be long.  A
 * host that died has left its events here.
 */

static void
ngx_adm_news_learn(void)
{
    ngx_str_t  *cursor;

    ngx_adm_queue_known.last = ngx_current_msec;

    if (ngx_adm_queue_known.out) {
        return;
    }

    cursor = &ngx_adm_queue_known.cursor;
    cursor->data = ngx_adm_queue_known.text;

    if (cursor->len == 0) {
        cursor->data[0] = '0';
        cursor->len = 1;

        ngx_adm_queue_known.life = ngx_adm_zone->sh->life;
    }

    if (ngx_adm_queue_list(ngx_adm_queue_known.whole
                           ? NULL : cursor,
                           ngx_adm_news_learned,
                           NULL)
        != NULL)
    {
        ngx_adm_queue_known.out = 1;
    }
}


static void
ngx_adm_news_learned(void *data, ngx_int_t rc, redisReply *reply)
{
    ngx_str_t   *cursor;
    redisReply  *next;

    ngx_adm_queue_known.out = 0;

    if (rc == NGX_DECLINED
        && !ngx_adm_queue_known.whole
        && ngx_adm_redis_is(reply, "NOPERM"))
    {

        /* an ACL for older versions allows SMEMBERS alone */

        ngx_adm_queue_known.whole = 1;
        ngx_adm_news_learn();
        return;
    }

    if (rc != NGX_OK || reply->type != REDIS_REPLY_ARRAY) {
        return;
    }

    if (ngx_adm_queue_known.whole) {
        ngx_adm_news_learned_all(reply);
        ngx_adm_events_listed(ngx_adm_queue_known.life);
        return;
    }

    if (reply->elements != 2
        || reply->element[0]->type != REDIS_REPLY_STRING
        || reply->element[1]->type != REDIS_REPLY_ARRAY)
    {
        return;
    }

    ngx_adm_news_learned_all(reply->element[1]);

    next = reply->element[0];
    cursor = &ngx_adm_queue_known.cursor;

    if ((size_t) next->len > sizeof(ngx_adm_queue_known.text)
        || (next->len == 1 && next->str[0] == '0'))
    {
        cursor->len = 0;
        ngx_adm_queue_known.first = 0;
        ngx_adm_events_listed(ngx_adm_queue_known.life);
        return;
    }

    cursor->len = next->len;
    ngx_memcpy(cursor->data, next->str, next->len);

    if (ngx_adm_queue_known.first && !ngx_exiting) {
        ngx_adm_news_learn();
    }
}


static void
ngx_adm_news_learned_all(redisReply *reply)
{
    size_t  i;

    for (i = 0; i < reply->elements; i++) {
        ngx_adm_news_learned_event(reply->element[i]);
    }
}


/*
 * There is no end of events that anybody may make up, but few of them have
 * users at a time.  Above a number of them, new ones wait until some have left
 * the list.
 */

static void
ngx_adm_news_learned_event(redisReply *element)
{
    u_char                buf[NGX_ADM_EVENT_MAX];
    ngx_str_t             id;
    ngx_uint_t            named;
    ngx_adm_main_conf_t  *mcf;

    mcf = ngx_adm_news_conf;

    if (ngx_adm_reply_event(element, &id, buf) != NGX_OK
        || ngx_adm_event_conf(mcf, &id) == NULL)
    {
        return;
    }

    named = ngx_adm_event_is_named(mcf, &id);

    if (!named && ngx_adm_events_working() > NGX_ADM_UNNAMED) {
        ngx_adm_event_unwatched();
        return;
    }

    if (ngx_adm_event_watch(&id, named) == NGX_OK) {
        return;
    }

    ngx_adm_event_unwatched();

    if (named && !ngx_exiting) {

        /*
         * if the zone has no room for it, it is stepped as soon as it is heard
         * of
         */

        ngx_adm_redis_background(ngx_adm_redis, 1);
        ngx_adm_queue_step_now(&id);
        ngx_adm_redis_background(ngx_adm_redis, 0);
    }
}


static void
ngx_adm_news_listen(int64_t since)
{
    ngx_adm_queue_told.last = ngx_current_msec;

    if (ngx_adm_queue_told.out) {
        return;
    }

    if (ngx_adm_queue_heard(ngx_max(since, 0), ngx_adm_news_heard,
                            NULL) != NULL)
    {
        ngx_adm_queue_told.out = 1;
        ngx_adm_queue_told.since = since;
        ngx_adm_queue_told.asked = ngx_adm_now_us();
    }

    /* without a cluster the time is asked for here, where no script tells it */

    if (ngx_adm_redis_one_node(ngx_adm_redis)
        && ngx_current_msec - ngx_adm_queue_told.timed
           >= NGX_ADM_NEWS_TIME)
    {
        ngx_adm_queue_told.timed = ngx_current_msec;
        ngx_adm_time_look();
    }

    if (ngx_current_msec - ngx_adm_queue_told.trimmed >= NGX_ADM_NEWS_TRIM) {
        ngx_adm_queue_told.trimmed = ngx_current_msec;
        ngx_adm_queue_forget(ngx_adm_now_us() - NGX_ADM_NEWS_KEEP);
    }
}


static void
ngx_adm_news_heard(void *data, ngx_int_t rc, redisReply *reply)
{
    size_t      i;
    int64_t     time, last;
    ngx_uint_t  fresh;

    ngx_adm_queue_told.out = 0;

    if (rc == NGX_DECLINED && !ngx_adm_redis_is_refusal(reply)) {

        if (!ngx_adm_queue_told.refused) {
            ngx_adm_queue_told.refused = 1;

            ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                          "admission: redis refuses the key \"{}:news\", all "
                          "events are asked for twice a second instead");
        }

        ngx_adm_watchful();
        return;
    }

    if (rc != NGX_OK || reply->type != REDIS_REPLY_ARRAY) {
        return;
    }

    ngx_adm_queue_told.refused = 0;
    ngx_adm_queue_told.heard = ngx_adm_queue_told.asked;

    if (reply->elements) {
        ngx_log_debug1(NGX_LOG_DEBUG_HTTP, ngx_cycle->log, 0,
                       "admission: news of other hosts, of %uz events",
                       reply->elements / 2);
    }

    last = 0;
    fresh = 0;

    for (i = 0; i + 1 < reply->elements; i += 2) {
        time = ngx_adm_news_time(reply->element[i + 1]);

        if (time < 0) {
            continue;
        }

        last = time;

        if (ngx_adm_news_heard_event(reply->element[i], time) == NGX_OK) {
            fresh = 1;
        }
    }

    ngx_adm_redis_background(ngx_adm_redis, 1);

    if (fresh && !ngx_exiting) {
        ngx_adm_queue_steps(ngx_cycle->log);
    }

    if (reply->elements == 2 * NGX_ADM_QUEUE_NEWS
        && last > ngx_adm_queue_told.since
        && !ngx_exiting)
    {
        ngx_adm_news_listen(last);
    }

    ngx_adm_redis_background(ngx_adm_redis, 0);
}


static ngx_int_t
ngx_adm_news_heard_event(redisReply *event, int64_t time)
{
    u_char     buf[NGX_ADM_EVENT_MAX];
    ngx_int_t  rc;
    ngx_str_t  id;

    if (ngx_adm_reply_event(event, &id, buf) != NGX_OK
        || ngx_adm_event_conf(ngx_adm_news_conf, &id)
           == NULL)
    {
        return NGX_DECLINED;
    }

    rc = ngx_adm_event_news(&id, time);

    if (rc == NGX_AGAIN) {
        ngx_adm_queue_step_now(&id);
        return NGX_DECLINED;
    }

    return rc;
}


/* the time of a piece of news is its score, as text; -1: it is none of ours */

static int64_t
ngx_adm_news_time(redisReply *reply)
{
    if (reply->type != REDIS_REPLY_STRING) {
        return -1;
    }

    return ngx_atoof((u_char *) reply->str, reply->len);
}
