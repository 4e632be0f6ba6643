
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What hosts tell each other about events, by two keys that are in no event's
 * cluster slot: the set of events with work to do, so that another host steps
 * them should this one die, and the news, so that others look at an event in
 * which nobody waits.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/text.h"
#include "../host/args.h"
#include "../host/event_work.h"
#include "queue.h"


#define NGX_ADM_NEWS_END       5000      /* ms after which a worker renews
                                            how long the news live */


static void ngx_adm_queue_news(ngx_uint_t argc, ngx_str_t *argv);


static ngx_str_t  ngx_adm_queue_events = ngx_string("queue:active-events");

/*
 * named like a key of an event with an empty id, which there is not: whoever
 * may use keys of events may use it
 */
static ngx_str_t  ngx_adm_queue_news_key = ngx_string("{}:news");


/*
 * To be called before the first join, by a command of its own: should this
 * host die at once, another one steps the event.
 */

void
ngx_adm_queue_mark(ngx_str_t *event)
{
    if (ngx_adm_event_mark(event)) {
        ngx_adm_set_add(&ngx_adm_queue_events, event, ngx_adm_event_unmark);
    }
}


void
ngx_adm_queue_unlist(ngx_str_t *event)
{
    (void) ngx_adm_set_call("SREM", &ngx_adm_queue_events, event, NULL, NULL);
}


ngx_adm_redis_call_t *
ngx_adm_queue_list(ngx_str_t *cursor, ngx_adm_redis_done_pt done, void *data)
{
    ngx_str_t  argv[5];

    if (cursor == NULL) {
        return ngx_adm_set_call("SMEMBERS", &ngx_adm_queue_events, NULL, done,
                                data);
    }

    ngx_str_set(&argv[0], "SSCAN");
    argv[1] = ngx_adm_queue_events;
    argv[2] = *cursor;
    ngx_str_set(&argv[3], "COUNT");
    ngx_str_set(&argv[4], "1000");

    return ngx_adm_key_call(5, argv, done, data);
}


ngx_adm_redis_call_t *
ngx_adm_queue_heard(int64_t since, ngx_adm_redis_done_pt done, void *data)
{
    u_char     buf[NGX_INT64_LEN];
    ngx_str_t  argv[8];

    ngx_str_set(&argv[0], "ZRANGEBYSCORE");
    argv[1] = ngx_adm_queue_news_key;
    argv[2].data = buf;
    argv[2].len = ngx_adm_put_number(buf, since) - buf;
    ngx_str_set(&argv[3], "+inf");
    ngx_str_set(&argv[4], "WITHSCORES");
    ngx_str_set(&argv[5], "LIMIT");
    ngx_str_set(&argv[6], "0");
    ngx_str_set(&argv[7], "1000");

    return ngx_adm_key_call(8, argv, done, data);
}


void
ngx_adm_queue_tell(ngx_str_t *event, int64_t now)
{
    u_char     buf[NGX_INT64_LEN];
    ngx_str_t  argv[4];

    ngx_str_set(&argv[0], "ZADD");
    argv[2].data = buf;
    argv[2].len = ngx_adm_put_number(buf, now) - buf;
    argv[3] = *event;

    ngx_adm_queue_news(4, argv);
}


void
ngx_adm_queue_forget(int64_t before)
{
    u_char     buf[NGX_INT64_LEN];
    ngx_str_t  argv[4];

    ngx_str_set(&argv[0], "ZREMRANGEBYSCORE");
    ngx_str_set(&argv[2], "-inf");
    argv[3].data = buf;
    argv[3].len = ngx_adm_put_number(buf, before) - buf;

    ngx_adm_queue_news(4, argv);
}


/*
 * the key expires by itself, in case no host is left to trim what this one
 * told
 */

static void
ngx_adm_queue_news(ngx_uint_t argc, ngx_str_t *argv)
{
    ngx_str_t  expire[3];

    static ngx_msec_t  last;
    static ngx_uint_t  set;

    argv[1] = ngx_adm_queue_news_key;

    (void) ngx_adm_key_call(argc, argv, NULL, NULL);

    if (set && ngx_current_msec - last < NGX_ADM_NEWS_END) {
        return;
    }

    last = ngx_current_msec;
    set = 1;

    ngx_str_set(&expire[0], "EXPIRE");
    expire[1] = ngx_adm_queue_news_key;
    ngx_str_set(&expire[2], "600");

    (void) ngx_adm_key_call(3, expire, NULL, NULL);
}
