
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The Redis client of a worker: makes calls of commands, decides which
 * connection takes them, and completes them.
 *
 * All that depends on which node a call goes to, and on what an answer says
 * about where it should have gone, is in ngx_http_admission_redis_send() and
 * ngx_http_admission_redis_answer(), and what these call.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>

#include "ngx_http_admission_redis_cluster.h"
#include "ngx_http_admission_redis_conn.h"
#include "ngx_http_admission_redis_counts.h"
#include "ngx_http_admission_redis_hold.h"
#include "ngx_http_admission_redis_node.h"
#include "ngx_http_admission_redis_reply.h"
#include "ngx_http_admission_redis_sentinel.h"
#include "ngx_http_admission_redis_slots.h"
#include "ngx_http_admission_text.h"


/* most calls fit; what is larger is allocated as it comes */
#define NGX_HTTP_ADMISSION_REDIS_CALL_SIZE   2048

#define NGX_HTTP_ADMISSION_REDIS_FREE_MAX    128

/* bytes of a number as an argument */
#define NGX_HTTP_ADMISSION_REDIS_COUNT_SIZE                                   \
    (sizeof("$20" CRLF CRLF) - 1 + NGX_INT64_LEN)

/* ms until an address that is not known yet is looked for again */
#define NGX_HTTP_ADMISSION_REDIS_NO_ADDRESS  100


struct ngx_http_admission_redis_s {
    ngx_http_admission_redis_conf_t       *conf;
    ngx_http_admission_redis_nodes_t       nodes;
    ngx_http_admission_redis_hold_t        hold;
    ngx_log_t                             *log;

    /* one of them decides where a call goes */

    ngx_http_admission_redis_node_t       *node;
    ngx_http_admission_redis_cluster_t    *cluster;
    ngx_http_admission_redis_sentinel_t   *sentinel;

    ngx_queue_t                            free;
    ngx_uint_t                             nfree;

    ngx_msec_t                             error_at;
    ngx_uint_t                             unlogged;

    unsigned                               error:1;
    unsigned                               closed:1;
    unsigned                               background:1;
};


static void ngx_http_admission_redis_failed(void *data,
    ngx_http_admission_redis_node_t *node);
static void ngx_http_admission_redis_found(void *data);
static void ngx_http_admission_redis_release(
    ngx_http_admission_redis_call_t *call, ngx_uint_t late);

static ngx_http_admission_redis_call_t *ngx_http_admission_redis_evalsha(
    ngx_http_admission_redis_t *redis,
    ngx_http_admission_redis_script_t *script, ngx_uint_t n, u_char *text,
    size_t len, ngx_uint_t argc, ngx_str_t *argv);
static ngx_http_admission_redis_call_t *ngx_http_admission_redis_issue(
    ngx_http_admission_redis_t *redis, ngx_http_admission_redis_call_t *call,
    ngx_str_t *key, ngx_http_admission_redis_done_pt done, void *data);
static ngx_int_t ngx_http_admission_redis_send(
    ngx_http_admission_redis_call_t *call);
static ngx_int_t ngx_http_admission_redis_send_eval(
    ngx_http_admission_redis_call_t *call);
static void ngx_http_admission_redis_answer(
    ngx_http_admission_redis_call_t *call, ngx_int_t rc, redisReply *reply);
static void ngx_http_admission_redis_late(
    ngx_http_admission_redis_call_t *call);
static void ngx_http_admission_redis_complete(
    ngx_http_admission_redis_call_t *call, ngx_int_t rc, redisReply *reply);
static void ngx_http_admission_redis_log_error(
    ngx_http_admission_redis_t *redis, ngx_http_admission_redis_node_t *node,
    redisReply *reply);

static void ngx_http_admission_redis_set_buf(
    ngx_http_admission_redis_call_t *call, ngx_uint_t i, u_char *pos,
    u_char *last);
static ngx_http_admission_redis_call_t *ngx_http_admission_redis_alloc(
    ngx_http_admission_redis_t *redis, size_t size);
static void ngx_http_admission_redis_free(
    ngx_http_admission_redis_call_t *call);

static size_t ngx_http_admission_redis_args_size(ngx_uint_t argc,
    ngx_str_t *argv);
static u_char *ngx_http_admission_redis_put_args(u_char *p, ngx_uint_t argc,
    ngx_str_t *argv);
static u_char *ngx_http_admission_redis_put_count(u_char *p, ngx_uint_t n);
static u_char *ngx_http_admission_redis_put_number(u_char *p, u_char type,
    size_t n);
static size_t ngx_http_admission_redis_number_size(size_t n);


ngx_http_admission_redis_t *
ngx_http_admission_redis_create(ngx_cycle_t *cycle,
    ngx_http_admission_redis_conf_t *conf)
{
    ngx_http_admission_redis_t           *redis;
    ngx_http_admission_redis_endpoint_t  *endpoint;

    redis = ngx_pcalloc(cycle->pool, sizeof(ngx_http_admission_redis_t));
    if (redis == NULL) {
        return NULL;
    }

    redis->conf = conf;
    redis->log = cycle->log;

    ngx_queue_init(&redis->free);

    ngx_http_admission_redis_nodes_init(&redis->nodes, cycle, conf);

    redis->nodes.failed = ngx_http_admission_redis_failed;
    redis->nodes.found = ngx_http_admission_redis_found;
    redis->nodes.data = redis;

    ngx_http_admission_redis_hold_init(&redis->hold, cycle->log);

    redis->hold.release = ngx_http_admission_redis_release;

    if (conf->cluster) {
        redis->cluster = ngx_http_admission_redis_cluster_create(cycle,
                                                                 &redis->nodes,
                                                                 &redis->hold);
        return redis->cluster ? redis : NULL;
    }

    if (conf->master.len) {
        redis->sentinel = ngx_http_admission_redis_sentinel_create(cycle,
                                                                &redis->nodes,
                                                                &redis->hold);
        return redis->sentinel ? redis : NULL;
    }

    endpoint = conf->endpoints.elts;

    redis->node = ngx_http_admission_redis_node_of(&redis->nodes, endpoint);

    return redis->node ? redis : NULL;
}


void
ngx_http_admission_redis_close(ngx_http_admission_redis_t *redis)
{
    ngx_queue_t                      *q;
    ngx_http_admission_redis_call_t  *call;

    if (redis->closed) {
        return;
    }

    redis->closed = 1;

    if (redis->cluster) {
        ngx_http_admission_redis_cluster_close(redis->cluster);
    }

    if (redis->sentinel) {
        ngx_http_admission_redis_sentinel_close(redis->sentinel);
    }

    ngx_http_admission_redis_nodes_close(&redis->nodes);
    ngx_http_admission_redis_hold_close(&redis->hold);

    while (!ngx_queue_empty(&redis->free)) {
        q = ngx_queue_head(&redis->free);
        ngx_queue_remove(q);

        call = ngx_queue_data(q, ngx_http_admission_redis_call_t, queue);
        ngx_free(call);
    }

    redis->nfree = 0;
}


ngx_http_admission_redis_call_t *
ngx_http_admission_redis_call(ngx_http_admission_redis_t *redis,
    ngx_uint_t argc, ngx_str_t *argv, ngx_uint_t key,
    ngx_http_admission_redis_done_pt done, void *data)
{
    size_t                            size;
    u_char                           *p;
    ngx_http_admission_redis_call_t  *call;

    size = ngx_http_admission_redis_number_size(argc)
           + ngx_http_admission_redis_args_size(argc, argv);

    call = ngx_http_admission_redis_alloc(redis, size);
    if (call == NULL) {
        return NULL;
    }

    p = ngx_http_admission_redis_put_number(call->command, '*', argc);
    (void) ngx_http_admission_redis_put_args(p, argc, argv);

    return ngx_http_admission_redis_issue(redis, call, &argv[key], done, data);
}


ngx_http_admission_redis_call_t *
ngx_http_admission_redis_eval(ngx_http_admission_redis_t *redis,
    ngx_http_admission_redis_script_t *script, ngx_uint_t nkeys,
    ngx_uint_t argc, ngx_str_t *argv, ngx_http_admission_redis_done_pt done,
    void *data)
{
    u_char                           *p;
    ngx_http_admission_redis_call_t  *call;

    u_char  count[NGX_HTTP_ADMISSION_REDIS_COUNT_SIZE];

    p = ngx_http_admission_redis_put_count(count, nkeys);

    call = ngx_http_admission_redis_evalsha(redis, script, 0, count, p - count,
                                            argc, argv);
    if (call == NULL) {
        return NULL;
    }

    return ngx_http_admission_redis_issue(redis, call, argv, done, data);
}


ngx_http_admission_redis_call_t *
ngx_http_admission_redis_eval_keys(ngx_http_admission_redis_t *redis,
    ngx_http_admission_redis_script_t *script,
    ngx_http_admission_redis_keys_t *keys, ngx_uint_t argc, ngx_str_t *argv,
    ngx_http_admission_redis_done_pt done, void *data)
{
    ngx_http_admission_redis_call_t  *call;

    call = ngx_http_admission_redis_evalsha(redis, script, keys->n,
                                            keys->text.data, keys->text.len,
                                            argc, argv);
    if (call == NULL) {
        return NULL;
    }

    return ngx_http_admission_redis_issue(redis, call, &keys->first, done,
                                          data);
}


ngx_int_t
ngx_http_admission_redis_keys(ngx_http_admission_redis_keys_t *keys,
    ngx_uint_t n, ngx_str_t *argv)
{
    u_char  *p;

    if (keys->text.data) {
        ngx_free(keys->text.data);
    }

    ngx_memzero(keys, sizeof(ngx_http_admission_redis_keys_t));

    p = ngx_alloc(NGX_HTTP_ADMISSION_REDIS_COUNT_SIZE
                  + ngx_http_admission_redis_args_size(n, argv),
                  ngx_cycle->log);
    if (p == NULL) {
        return NGX_ERROR;
    }

    keys->n = n;
    keys->text.data = p;

    p = ngx_http_admission_redis_put_count(p, n);

    keys->first.data = p + ngx_http_admission_redis_number_size(argv[0].len);
    keys->first.len = argv[0].len;

    p = ngx_http_admission_redis_put_args(p, n, argv);

    keys->text.len = p - keys->text.data;

    return NGX_OK;
}


ngx_uint_t
ngx_http_admission_redis_one_node(ngx_http_admission_redis_t *redis)
{
    return redis->cluster == NULL;
}


ngx_uint_t
ngx_http_admission_redis_background(ngx_http_admission_redis_t *redis,
    ngx_uint_t on)
{
    ngx_uint_t  was;

    was = redis->background;
    redis->background = on ? 1 : 0;

    return was;
}


void
ngx_http_admission_redis_unwanted(ngx_http_admission_redis_call_t *call)
{
    call->background = 1;

    if (ngx_exiting) {
        ngx_http_admission_redis_leave(call->redis);
    }
}


void
ngx_http_admission_redis_leave(ngx_http_admission_redis_t *redis)
{
    if (!redis->closed) {
        ngx_http_admission_redis_nodes_leave(&redis->nodes);
        ngx_http_admission_redis_hold_leave(&redis->hold);
    }
}


void
ngx_http_admission_redis_on_detach(ngx_http_admission_redis_call_t *call,
    ngx_http_admission_redis_detach_pt detach)
{
    call->detach = detach;
}


void
ngx_http_admission_redis_own(ngx_http_admission_redis_call_t *call,
    void *memory)
{
    call->own = memory;
}


void
ngx_http_admission_redis_cancel(ngx_http_admission_redis_call_t *call)
{
    if (call->detach) {
        call->detach(call->data);
        call->background = 1;

    } else {
        call->done = NULL;
        call->data = NULL;
    }

    if (ngx_exiting) {
        ngx_http_admission_redis_leave(call->redis);
    }
}


static void
ngx_http_admission_redis_failed(void *data,
    ngx_http_admission_redis_node_t *node)
{
    ngx_http_admission_redis_t  *redis = data;

    if (redis->cluster) {
        ngx_http_admission_redis_cluster_failed(redis->cluster, node);
    }

    if (redis->sentinel) {
        ngx_http_admission_redis_sentinel_failed(redis->sentinel, node);
    }
}


static void
ngx_http_admission_redis_found(void *data)
{
    ngx_http_admission_redis_t  *redis = data;

    ngx_http_admission_redis_hold_news(&redis->hold);
}


static void
ngx_http_admission_redis_release(ngx_http_admission_redis_call_t *call,
    ngx_uint_t late)
{
    if (late || ngx_http_admission_redis_send(call) != NGX_OK) {
        ngx_http_admission_redis_complete(call, NGX_ERROR, NULL);
    }
}


/* text: arguments as they are sent, their number and n others; then argv */

static ngx_http_admission_redis_call_t *
ngx_http_admission_redis_evalsha(ngx_http_admission_redis_t *redis,
    ngx_http_admission_redis_script_t *script, ngx_uint_t n, u_char *text,
    size_t len, ngx_uint_t argc, ngx_str_t *argv)
{
    size_t                            size;
    u_char                           *p;
    ngx_http_admission_redis_call_t  *call;

    /* EVALSHA, the hash and the number of keys besides */

    n += argc + 3;

    size = ngx_http_admission_redis_number_size(n) + script->evalsha.len + len
           + ngx_http_admission_redis_args_size(argc, argv);

    call = ngx_http_admission_redis_alloc(redis, size);
    if (call == NULL) {
        return NULL;
    }

    p = ngx_http_admission_redis_put_number(call->command, '*', n);

    call->count = p - call->command;
    call->script = script;
    call->kind = script->kind;

    p = ngx_cpymem(p, script->evalsha.data, script->evalsha.len);
    p = ngx_cpymem(p, text, len);
    (void) ngx_http_admission_redis_put_args(p, argc, argv);

    return call;
}


static ngx_http_admission_redis_call_t *
ngx_http_admission_redis_issue(ngx_http_admission_redis_t *redis,
    ngx_http_admission_redis_call_t *call, ngx_str_t *key,
    ngx_http_admission_redis_done_pt done, void *data)
{
    call->done = done;
    call->data = data;
    call->answer = ngx_http_admission_redis_answer;
    call->wait = redis->conf->timeout;
    call->deadline = ngx_current_msec + call->wait;
    call->issued = ngx_http_admission_redis_clock();

    call->hops = 0;
    call->probe = 0;
    call->slot = redis->cluster ? ngx_http_admission_redis_slot(key) : 0;

    call->nbufs = 1;
    ngx_http_admission_redis_set_buf(call, 0, call->command,
                                     call->command + call->size);

    if (ngx_http_admission_redis_send(call) != NGX_OK) {
        ngx_http_admission_redis_count_break();
        ngx_http_admission_redis_count_end(call->kind,
                                           NGX_HTTP_ADMISSION_REDIS_UNSENT);
        ngx_http_admission_redis_free(call);
        return NULL;
    }

    return call;
}


static ngx_int_t
ngx_http_admission_redis_send(ngx_http_admission_redis_call_t *call)
{
    ngx_int_t                    rc;
    ngx_http_admission_redis_t  *redis;

    redis = call->redis;

    if (redis->closed) {
        return NGX_ERROR;
    }

    call->bufs[call->nbufs - 1].flush = 1;

    if (redis->cluster) {
        return ngx_http_admission_redis_cluster_send(redis->cluster, call);
    }

    if (redis->sentinel) {
        return ngx_http_admission_redis_sentinel_send(redis->sentinel, call);
    }

    rc = ngx_http_admission_redis_node_send(redis->node, call);

    if (rc == NGX_AGAIN) {
        ngx_http_admission_redis_hold(&redis->hold, call,
                                      NGX_HTTP_ADMISSION_REDIS_NO_ADDRESS);
        return NGX_OK;
    }

    return rc;
}


static ngx_int_t
ngx_http_admission_redis_send_eval(ngx_http_admission_redis_call_t *call)
{
    u_char                             *p, *rest;
    ngx_http_admission_redis_script_t  *script;

    script = call->script;
    call->script = NULL;

    if ((ngx_msec_int_t) (call->deadline - ngx_current_msec) <= 0) {
        return NGX_ERROR;
    }

    /*
     * The command was sent and answered, so that its beginning can change.
     * The line end of the hash becomes that of the script.
     */

    p = call->command + call->count;
    rest = p + script->evalsha.len - (sizeof(CRLF) - 1);

    p = ngx_cpymem(p, script->eval.data, script->eval.len);

    call->nbufs = 3;
    ngx_http_admission_redis_set_buf(call, 0, call->command, p);
    ngx_http_admission_redis_set_buf(call, 1, script->lua.data,
                                     script->lua.data + script->lua.len);
    ngx_http_admission_redis_set_buf(call, 2, rest,
                                     call->command + call->size);

    return ngx_http_admission_redis_send(call);
}


static void
ngx_http_admission_redis_answer(ngx_http_admission_redis_call_t *call,
    ngx_int_t rc, redisReply *reply)
{
    ngx_http_admission_redis_t  *redis;

    if (rc == NGX_AGAIN) {
        ngx_http_admission_redis_late(call);
        return;
    }

    redis = call->redis;

    if (call->probe) {
        ngx_http_admission_redis_cluster_probed(redis->cluster, call, rc,
                                                reply);
    }

    if (rc == NGX_DECLINED && redis->cluster && !redis->closed) {

        switch (ngx_http_admission_redis_cluster_redirect(redis->cluster, call,
                                                          reply))
        {
        case NGX_OK:
            return;

        case NGX_ERROR:
            rc = NGX_ERROR;
            reply = NULL;
            break;

        default: /* NGX_DECLINED */
            break;
        }
    }

    if (rc == NGX_DECLINED) {

        if (call->script && ngx_http_admission_redis_is(reply, "NOSCRIPT")) {

            if (ngx_http_admission_redis_send_eval(call) == NGX_OK) {
                return;
            }

            rc = NGX_ERROR;
            reply = NULL;

        } else {
            if (ngx_http_admission_redis_is_refusal(reply)) {
                ngx_http_admission_redis_count_break();
            }

            ngx_http_admission_redis_log_error(redis, call->node, reply);
        }
    }

    ngx_http_admission_redis_complete(call, rc, reply);
}


/* the answer is dropped when it comes */

static void
ngx_http_admission_redis_late(ngx_http_admission_redis_call_t *call)
{
    void                              *data;
    ngx_http_admission_redis_done_pt   done;

    done = call->done;
    data = call->data;

    if (call->detach == NULL) {
        call->done = NULL;
        call->data = NULL;
    }

    ngx_http_admission_redis_count_break();

    if (done) {
        done(data, NGX_ERROR, NULL);
    }

    if (call->detach) {
        call->detach(data);
        call->background = 1;
    }
}


static void
ngx_http_admission_redis_complete(ngx_http_admission_redis_call_t *call,
    ngx_int_t rc, redisReply *reply)
{
    void                              *data, *own;
    ngx_http_admission_redis_done_pt   done;

    done = call->done;
    data = call->data;
    own = call->own;

    if (rc == NGX_ERROR) {
        ngx_http_admission_redis_count_break();
        ngx_http_admission_redis_count_end(call->kind,
                                           NGX_HTTP_ADMISSION_REDIS_LOST);
    } else {
        ngx_http_admission_redis_count_answer(call->kind, call->issued,
                                              rc == NGX_OK);
    }

    ngx_http_admission_redis_free(call);

    if (done) {
        done(data, rc, reply);
    }

    if (own) {
        ngx_free(own);
    }
}


static void
ngx_http_admission_redis_log_error(ngx_http_admission_redis_t *redis,
    ngx_http_admission_redis_node_t *node, redisReply *reply)
{
    char  text[256];

    if (redis->error && ngx_current_msec - redis->error_at < 1000) {
        redis->unlogged++;
        return;
    }

    ngx_http_admission_redis_text(text, sizeof(text), reply);

    if (redis->unlogged) {
        ngx_log_error(NGX_LOG_ERR, redis->log, 0,
                      "admission: redis %V replied with an error: %s "
                      "(and %ui more since the last line)",
                      &node->name, text, redis->unlogged);

    } else {
        ngx_log_error(NGX_LOG_ERR, redis->log, 0,
                      "admission: redis %V replied with an error: %s",
                      &node->name, text);
    }

    redis->error = 1;
    redis->error_at = ngx_current_msec;
    redis->unlogged = 0;
}


static void
ngx_http_admission_redis_set_buf(ngx_http_admission_redis_call_t *call,
    ngx_uint_t i, u_char *pos, u_char *last)
{
    ngx_buf_t  *b;

    b = &call->bufs[i];

    ngx_memzero(b, sizeof(ngx_buf_t));

    b->start = pos;
    b->pos = pos;
    b->last = last;
    b->end = last;
    b->memory = 1;
}


static ngx_http_admission_redis_call_t *
ngx_http_admission_redis_alloc(ngx_http_admission_redis_t *redis, size_t size)
{
    size_t                            total;
    ngx_queue_t                      *q;
    ngx_http_admission_redis_call_t  *call;

    total = offsetof(ngx_http_admission_redis_call_t, command) + size;

    if (total <= NGX_HTTP_ADMISSION_REDIS_CALL_SIZE && redis->nfree) {
        q = ngx_queue_head(&redis->free);
        ngx_queue_remove(q);
        redis->nfree--;

        call = ngx_queue_data(q, ngx_http_admission_redis_call_t, queue);

    } else {
        call = ngx_alloc(ngx_max(total, NGX_HTTP_ADMISSION_REDIS_CALL_SIZE),
                         redis->log);
        if (call == NULL) {
            return NULL;
        }
    }

    call->redis = redis;
    call->script = NULL;
    call->own = NULL;
    call->detach = NULL;
    call->kind = 0;
    call->background = redis->background;
    call->size = size;

    return call;
}


static void
ngx_http_admission_redis_free(ngx_http_admission_redis_call_t *call)
{
    size_t                       total;
    ngx_http_admission_redis_t  *redis;

    redis = call->redis;
    total = offsetof(ngx_http_admission_redis_call_t, command) + call->size;

    if (total > NGX_HTTP_ADMISSION_REDIS_CALL_SIZE
        || redis->nfree >= NGX_HTTP_ADMISSION_REDIS_FREE_MAX)
    {
        ngx_free(call);
        return;
    }

    ngx_queue_insert_head(&redis->free, &call->queue);
    redis->nfree++;
}


static size_t
ngx_http_admission_redis_args_size(ngx_uint_t argc, ngx_str_t *argv)
{
    size_t      size;
    ngx_uint_t  i;

    size = 0;

    for (i = 0; i < argc; i++) {
        size += ngx_http_admission_redis_number_size(argv[i].len)
                + argv[i].len + sizeof(CRLF) - 1;
    }

    return size;
}


static u_char *
ngx_http_admission_redis_put_args(u_char *p, ngx_uint_t argc, ngx_str_t *argv)
{
    ngx_uint_t  i;

    for (i = 0; i < argc; i++) {
        p = ngx_http_admission_redis_put_number(p, '$', argv[i].len);

        if (argv[i].len) {
            p = ngx_cpymem(p, argv[i].data, argv[i].len);
        }

        *p++ = CR;
        *p++ = LF;
    }

    return p;
}


/* the argument that says how many keys follow */

static u_char *
ngx_http_admission_redis_put_count(u_char *p, ngx_uint_t n)
{
    ngx_str_t  count;
    u_char     digits[NGX_INT64_LEN];

    count.data = digits;
    count.len = ngx_http_admission_put_number(digits, n) - digits;

    return ngx_http_admission_redis_put_args(p, 1, &count);
}


/* not ngx_sprintf(): this is most of what a call costs here */

static u_char *
ngx_http_admission_redis_put_number(u_char *p, u_char type, size_t n)
{
    *p++ = type;
    p = ngx_http_admission_put_number(p, n);
    *p++ = CR;
    *p++ = LF;

    return p;
}


static size_t
ngx_http_admission_redis_number_size(size_t n)
{
    return 1 + ngx_http_admission_digits(n) + sizeof(CRLF) - 1;
}
