
/*
 * Copyright (C) 2026 the admission module authors
 *
 * A worker's call for Redis's time, and who waits for its answer.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "../redis/client.h"
#include "args.h"
#include "settings.h"
#include "time_ask.h"
#include "touch.h"


struct ngx_adm_time_ask_s {
    ngx_queue_t             queue;
    ngx_adm_time_asked_pt   asked;
    void                   *data;
};


static void ngx_adm_time_told(void *data, ngx_int_t rc, redisReply *reply);
static void ngx_adm_time_take(redisReply *reply);


static struct {
    ngx_queue_t             waiting;
    ngx_adm_redis_call_t   *call;        /* NULL: not out */
    ngx_msec_t              issued;
} ngx_adm_time;


ngx_adm_time_ask_t *
ngx_adm_time_ask(ngx_adm_time_asked_pt asked, void *data)
{
    ngx_adm_time_ask_t  *ask;

    ask = ngx_alloc(sizeof(ngx_adm_time_ask_t), ngx_cycle->log);
    if (ask == NULL) {
        return NULL;
    }

    ngx_adm_time_look();

    if (ngx_adm_time.call == NULL) {
        ngx_free(ask);
        return NULL;
    }

    ngx_adm_redis_want(ngx_adm_time.call, 1);

    ask->asked = asked;
    ask->data = data;

    ngx_queue_insert_tail(&ngx_adm_time.waiting, &ask->queue);

    return ask;
}


void
ngx_adm_time_ask_cancel(void *data)
{
    ngx_adm_time_ask_t *ask = data;

    ngx_queue_remove(&ask->queue);
    ngx_free(ask);

    if (ngx_adm_time.call && ngx_queue_empty(&ngx_adm_time.waiting)) {
        ngx_adm_redis_want(ngx_adm_time.call, 0);
    }
}


void
ngx_adm_time_look(void)
{
    ngx_str_t  argv[1];

    if (ngx_adm_redis == NULL || ngx_adm_time.call) {
        return;
    }

    if (ngx_adm_time.waiting.next == NULL) {
        ngx_queue_init(&ngx_adm_time.waiting);
    }

    ngx_str_set(&argv[0], "TIME");

    ngx_adm_time.issued = ngx_current_msec;
    ngx_adm_time.call = ngx_adm_redis_call(ngx_adm_redis, 1, argv, 0,
                                           ngx_adm_time_told, NULL);
}


/* who is told may ask again, by another call, or cancel others, meanwhile */

static void
ngx_adm_time_told(void *data, ngx_int_t rc, redisReply *reply)
{
    ngx_queue_t            *q, told;
    ngx_adm_time_ask_t     *ask;
    ngx_adm_time_asked_pt   asked;

    ngx_adm_time.call = NULL;

    if (rc == NGX_OK) {
        ngx_adm_time_take(reply);
    }

    if (ngx_queue_empty(&ngx_adm_time.waiting)) {
        return;
    }

    ngx_queue_init(&told);
    ngx_queue_add(&told, &ngx_adm_time.waiting);
    ngx_queue_init(&ngx_adm_time.waiting);

    while (!ngx_queue_empty(&told)) {
        q = ngx_queue_head(&told);
        ngx_queue_remove(q);

        ask = ngx_queue_data(q, ngx_adm_time_ask_t, queue);

        asked = ask->asked;
        data = ask->data;
        ngx_free(ask);

        asked(data);
    }
}


/* reads s and us, in text */

static void
ngx_adm_time_take(redisReply *reply)
{
    int64_t      s, us;
    redisReply  *text;

    if (reply->type != REDIS_REPLY_ARRAY
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

    if (s < 0 || us < 0 || s > NGX_ADM_NUMBER_MAX / 1000000 - 1) {
        return;
    }

    (void) ngx_adm_time_observed(s * 1000000 + us,
                                 ngx_current_msec - ngx_adm_time.issued);
}
