
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What the gate asks Redis about the user of an entry token.  The answer is
 * for that request alone, not for the host's memory.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/clock.h"
#include "../host/args.h"
#include "ngx_http_admission_names.h"
#include "queue.h"


/* a call under way; freed with the call of the Redis client */
typedef struct {
    ngx_adm_queue_done_pt   done;
    void                   *data;
} ngx_adm_queue_asked_t;


static ngx_adm_queue_asked_t *ngx_adm_queue_asked(ngx_adm_queue_done_pt done,
    void *data);
static void ngx_adm_queue_is_active_done(void *data, ngx_int_t rc,
    redisReply *reply);
static void ngx_adm_queue_revoked_done(void *data, ngx_int_t rc,
    redisReply *reply);


ngx_adm_redis_call_t *
ngx_adm_queue_is_active(ngx_str_t *event, ngx_str_t *user,
    ngx_adm_queue_done_pt done, void *data)
{
    ngx_str_t               argv[3], active;
    ngx_adm_redis_call_t   *call;
    ngx_adm_queue_asked_t  *asked;

    ngx_str_set(&active, "active");

    if (ngx_adm_event_key(&argv[1], event, &active) != NGX_OK) {
        return NULL;
    }

    call = NULL;
    asked = ngx_adm_queue_asked(done, data);

    if (asked) {
        ngx_str_set(&argv[0], "ZSCORE");
        argv[2] = *user;

        call = ngx_adm_redis_call(ngx_adm_redis, 3, argv, 1,
                                  ngx_adm_queue_is_active_done, asked);
        if (call) {
            ngx_adm_redis_own(call, asked);

        } else {
            ngx_free(asked);
        }
    }

    ngx_free(argv[1].data);

    return call;
}


ngx_adm_redis_call_t *
ngx_adm_queue_revoked(ngx_str_t *event, ngx_str_t *user,
    ngx_adm_queue_done_pt done, void *data)
{
    ngx_adm_args_t  args;

    ngx_adm_args_begin(&args, NGX_ADM_CALL_QUEUE_REVOKED, event);
    args.argv[NGX_ADM_ARG_QUEUE_REVOKED_USER] = *user;

    return ngx_adm_args_run(&args, ngx_adm_queue_revoked_done,
                            ngx_adm_queue_asked(done, data));
}


/* NULL: no Redis is configured, or there is no memory */

static ngx_adm_queue_asked_t *
ngx_adm_queue_asked(ngx_adm_queue_done_pt done, void *data)
{
    ngx_adm_queue_asked_t  *asked;

    if (ngx_adm_redis == NULL) {
        return NULL;
    }

    asked = ngx_alloc(sizeof(ngx_adm_queue_asked_t), ngx_cycle->log);
    if (asked == NULL) {
        return NULL;
    }

    asked->done = done;
    asked->data = data;

    return asked;
}


static void
ngx_adm_queue_is_active_done(void *data, ngx_int_t rc, redisReply *reply)
{
    ngx_adm_queue_asked_t *asked = data;

    ngx_int_t               expires;
    ngx_adm_queue_answer_t  answer;

    ngx_memzero(&answer, sizeof(ngx_adm_queue_answer_t));

    answer.state = NGX_ADM_QUEUE_NOT_IN;

    if (rc != NGX_OK) {
        asked->done(asked->data, NGX_ERROR, NULL);
        return;
    }

    if (reply->type == REDIS_REPLY_STRING) {
        expires = ngx_atoi((u_char *) reply->str, reply->len);

        if (expires == NGX_ERROR) {
            ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                          "admission: an active user has a score in redis "
                          "that is not ours");
            asked->done(asked->data, NGX_ERROR, NULL);
            return;
        }

        if (expires > ngx_adm_now_us() / 1000) {
            answer.state = NGX_ADM_QUEUE_ACTIVE;
        }
    }

    asked->done(asked->data, NGX_OK, &answer);
}


static void
ngx_adm_queue_revoked_done(void *data, ngx_int_t rc, redisReply *reply)
{
    ngx_adm_queue_asked_t *asked = data;

    ngx_adm_queue_answer_t  answer;

    int64_t  v[NGX_ADM_REPLY_QUEUE_REVOKED_COUNT];

    if (rc != NGX_OK) {
        asked->done(asked->data, NGX_ERROR, NULL);
        return;
    }

    if (ngx_adm_reply_numbers(reply, v, NGX_ADM_REPLY_QUEUE_REVOKED_COUNT,
                              0) != NGX_OK)
    {
        ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0, "admission: a queue "
                      "script got an answer that is not its own from redis");
        asked->done(asked->data, NGX_ERROR, NULL);
        return;
    }

    ngx_memzero(&answer, sizeof(ngx_adm_queue_answer_t));

    answer.revoked = v[NGX_ADM_REPLY_QUEUE_REVOKED_REVOKED];
    answer.state = (v[NGX_ADM_REPLY_QUEUE_REVOKED_EXPIRES]
                    > ngx_adm_now_us() / 1000)
                   ? NGX_ADM_QUEUE_ACTIVE
                   : NGX_ADM_QUEUE_NOT_IN;

    asked->done(asked->data, NGX_OK, &answer);
}
