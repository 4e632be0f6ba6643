
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The Redis client of a worker: issues calls, decides which connection takes
 * them, and completes them.  How a command is written is in command.c.
 *
 * All that depends on which node a call goes to, and on what an answer says
 * about where it should have gone, is in ngx_adm_redis_send() and
 * ngx_adm_redis_answer(), and what these call.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>

#include "../base/clock.h"
#include "client.h"
#include "cluster.h"
#include "command.h"
#include "parked.h"
#include "node.h"
#include "reply.h"
#include "sentinel.h"
#include "shared.h"
#include "slots.h"


/* most calls fit; what is larger is allocated as it comes */
#define NGX_ADM_REDIS_CALL_SIZE   2048
#define NGX_ADM_REDIS_FREE_MAX    128

/* ms until an address that is not known yet is looked for again */
#define NGX_ADM_REDIS_NO_ADDRESS  100


struct ngx_adm_redis_s {
    ngx_adm_redis_conf_t       *conf;
    ngx_adm_redis_nodes_t       nodes;
    ngx_adm_redis_parked_t      parked;
    ngx_log_t                  *log;

    /* one of these three decides where a call goes */

    ngx_adm_redis_node_t       *node;
    ngx_adm_redis_cluster_t    *cluster;
    ngx_adm_redis_sentinel_t   *sentinel;

    ngx_queue_t                 free;
    ngx_uint_t                  nfree;

    ngx_msec_t                  until;       /* deadline of calls; 0: each
                                                has its own */

    unsigned                    closed:1;
    unsigned                    background:1;
};


static void ngx_adm_redis_failed(void *data, ngx_adm_redis_node_t *node);
static void ngx_adm_redis_found(void *data);
static void ngx_adm_redis_release(ngx_adm_redis_call_t *call, ngx_uint_t late);
static ngx_int_t ngx_adm_redis_send(ngx_adm_redis_call_t *call);
static ngx_int_t ngx_adm_redis_send_eval(ngx_adm_redis_call_t *call);
static void ngx_adm_redis_answer(ngx_adm_redis_call_t *call, ngx_int_t rc,
    redisReply *reply);
static void ngx_adm_redis_late(ngx_adm_redis_call_t *call);
static void ngx_adm_redis_complete(ngx_adm_redis_call_t *call, ngx_int_t rc,
    redisReply *reply);
static ngx_adm_redis_call_t *ngx_adm_redis_alloc(ngx_adm_redis_t *redis,
    size_t size);
static void ngx_adm_redis_free(ngx_adm_redis_call_t *call);


ngx_adm_redis_t *
ngx_adm_redis_create(ngx_cycle_t *cycle, ngx_adm_redis_conf_t *conf)
{
    ngx_adm_redis_t           *redis;
    ngx_adm_redis_endpoint_t  *endpoint;

    redis = ngx_pcalloc(cycle->pool, sizeof(ngx_adm_redis_t));
    if (redis == NULL) {
        return NULL;
    }

    redis->conf = conf;
    redis->log = cycle->log;

    ngx_queue_init(&redis->free);

    ngx_adm_redis_nodes_init(&redis->nodes, cycle, conf);

    redis->nodes.failed = ngx_adm_redis_failed;
    redis->nodes.found = ngx_adm_redis_found;
    redis->nodes.data = redis;

    ngx_adm_redis_parked_init(&redis->parked, cycle->log);

    redis->parked.release = ngx_adm_redis_release;

    if (conf->cluster) {
        redis->cluster = ngx_adm_redis_cluster_create(cycle, &redis->nodes,
                                                      &redis->parked);
        return redis->cluster ? redis : NULL;
    }

    if (conf->master.len) {
        redis->sentinel = ngx_adm_redis_sentinel_create(cycle, &redis->nodes,
                                                        &redis->parked);
        return redis->sentinel ? redis : NULL;
    }

    endpoint = conf->endpoints.elts;

    redis->node = ngx_adm_redis_node_of(&redis->nodes, endpoint);

    return redis->node ? redis : NULL;
}


void
ngx_adm_redis_close(ngx_adm_redis_t *redis)
{
    ngx_queue_t           *q;
    ngx_adm_redis_call_t  *call;

    if (redis->closed) {
        return;
    }

    redis->closed = 1;

    if (redis->cluster) {
        ngx_adm_redis_cluster_close(redis->cluster);
    }

    if (redis->sentinel) {
        ngx_adm_redis_sentinel_close(redis->sentinel);
    }

    ngx_adm_redis_nodes_close(&redis->nodes);
    ngx_adm_redis_parked_close(&redis->parked);

    while (!ngx_queue_empty(&redis->free)) {
        q = ngx_queue_head(&redis->free);
        ngx_queue_remove(q);

        call = ngx_queue_data(q, ngx_adm_redis_call_t, queue);
        ngx_free(call);
    }

    redis->nfree = 0;
}


ngx_adm_redis_call_t *
ngx_adm_redis_call(ngx_adm_redis_t *redis, ngx_uint_t argc, ngx_str_t *argv,
    ngx_uint_t key, ngx_adm_redis_done_pt done, void *data)
{
    ngx_adm_redis_keys_t  keys;

    keys.n = 0;
    ngx_str_set(&keys.text, "");
    keys.first = argv[key];

    return ngx_adm_redis_issue(redis, NULL, &keys, argc, argv, done, data);
}


ngx_adm_redis_call_t *
ngx_adm_redis_eval(ngx_adm_redis_t *redis, ngx_adm_redis_script_t *script,
    ngx_uint_t nkeys, ngx_uint_t argc, ngx_str_t *argv,
    ngx_adm_redis_done_pt done, void *data)
{
    ngx_adm_redis_keys_t  keys;

    u_char  count[NGX_ADM_REDIS_COUNT_SIZE];

    keys.n = 0;
    keys.text.data = count;
    keys.text.len = ngx_adm_redis_put_count(count, nkeys) - count;
    keys.first = argv[0];

    return ngx_adm_redis_issue(redis, script, &keys, argc, argv, done, data);
}


ngx_adm_redis_call_t *
ngx_adm_redis_issue(ngx_adm_redis_t *redis, ngx_adm_redis_script_t *script,
    ngx_adm_redis_keys_t *keys, ngx_uint_t argc, ngx_str_t *argv,
    ngx_adm_redis_done_pt done, void *data)
{
    size_t                 size;
    ngx_adm_redis_call_t  *call;

    if (redis->until
        && (ngx_msec_int_t) (redis->until - ngx_current_msec) <= 0)
    {
        return NULL;
    }

    size = ngx_adm_redis_command_size(script, keys, argc, argv);

    call = ngx_adm_redis_alloc(redis, size);
    if (call == NULL) {
        return NULL;
    }

    ngx_adm_redis_command_put(call, script, keys, argc, argv);

    call->script = script;
    call->kind = script ? script->kind : 0;

    call->done = done;
    call->data = data;
    call->answer = ngx_adm_redis_answer;
    call->wait = redis->conf->timeout;
    call->deadline = ngx_current_msec + call->wait;

    if (redis->until
        && (ngx_msec_int_t) (redis->until - call->deadline) < 0)
    {
        call->deadline = redis->until;
    }

    call->issued = ngx_adm_monotonic_us();

    call->hops = 0;
    call->probe = 0;
    call->asking = 0;
    call->slot = redis->cluster ? ngx_adm_redis_slot(&keys->first) : 0;

    if (ngx_adm_redis_send(call) != NGX_OK) {
        ngx_adm_redis_count_failed(call->kind, NGX_ADM_CALL_END_UNSENT);
        ngx_adm_redis_free(call);
        return NULL;
    }

    return call;
}


ngx_uint_t
ngx_adm_redis_one_node(ngx_adm_redis_t *redis)
{
    return redis->cluster == NULL;
}


void
ngx_adm_redis_until(ngx_adm_redis_t *redis, ngx_msec_t deadline)
{
    redis->until = deadline;
}


ngx_uint_t
ngx_adm_redis_background(ngx_adm_redis_t *redis, ngx_uint_t on)
{
    ngx_uint_t  was;

    was = redis->background;
    redis->background = on ? 1 : 0;

    return was;
}


void
ngx_adm_redis_want(ngx_adm_redis_call_t *call, ngx_uint_t wanted)
{
    call->background = !wanted;

    if (ngx_exiting) {
        ngx_adm_redis_leave(call->redis);
    }
}


void
ngx_adm_redis_leave(ngx_adm_redis_t *redis)
{
    if (!redis->closed) {
        ngx_adm_redis_nodes_leave(&redis->nodes);
        ngx_adm_redis_parked_leave(&redis->parked);
    }
}


void
ngx_adm_redis_on_detach(ngx_adm_redis_call_t *call,
    ngx_adm_redis_detach_pt detach)
{
    call->detach = detach;
}


void
ngx_adm_redis_own(ngx_adm_redis_call_t *call, void *memory)
{
    call->own = memory;
}


void
ngx_adm_redis_cancel(void *data)
{
    ngx_adm_redis_call_t *call = data;

    if (call->detach) {
        call->detach(call->data);
        call->background = 1;

    } else {
        call->done = NULL;
        call->data = NULL;
    }

    if (ngx_exiting) {
        ngx_adm_redis_leave(call->redis);
    }
}


static void
ngx_adm_redis_failed(void *data, ngx_adm_redis_node_t *node)
{
    ngx_adm_redis_t  *redis = data;

    if (redis->cluster) {
        ngx_adm_redis_cluster_failed(redis->cluster, node);
    }

    if (redis->sentinel) {
        ngx_adm_redis_sentinel_failed(redis->sentinel, node);
    }
}


static void
ngx_adm_redis_found(void *data)
{
    ngx_adm_redis_t  *redis = data;

    ngx_adm_redis_parked_news(&redis->parked);
}


static void
ngx_adm_redis_release(ngx_adm_redis_call_t *call, ngx_uint_t late)
{
    if (late || ngx_adm_redis_send(call) != NGX_OK) {
        ngx_adm_redis_complete(call, NGX_ERROR, NULL);
    }
}


static ngx_int_t
ngx_adm_redis_send(ngx_adm_redis_call_t *call)
{
    ngx_int_t         rc;
    ngx_adm_redis_t  *redis;

    redis = call->redis;

    if (redis->closed) {
        return NGX_ERROR;
    }

    if (redis->cluster) {
        return ngx_adm_redis_cluster_send(redis->cluster, call);
    }

    if (redis->sentinel) {
        return ngx_adm_redis_sentinel_send(redis->sentinel, call);
    }

    rc = ngx_adm_redis_node_send(redis->node, call);

    if (rc == NGX_AGAIN) {
        ngx_adm_redis_park(&redis->parked, call, NGX_ADM_REDIS_NO_ADDRESS);
        return NGX_OK;
    }

    return rc;
}


static ngx_int_t
ngx_adm_redis_send_eval(ngx_adm_redis_call_t *call)
{
    ngx_adm_redis_script_t  *script;

    script = call->script;
    call->script = NULL;

    if ((ngx_msec_int_t) (call->deadline - ngx_current_msec) <= 0) {
        return NGX_ERROR;
    }

    ngx_adm_redis_command_eval(call, script);

    return ngx_adm_redis_send(call);
}


static void
ngx_adm_redis_answer(ngx_adm_redis_call_t *call, ngx_int_t rc,
    redisReply *reply)
{
    ngx_adm_redis_t  *redis;

    if (rc == NGX_AGAIN) {
        ngx_adm_redis_late(call);
        return;
    }

    redis = call->redis;

    if (call->probe) {
        ngx_adm_redis_cluster_probed(redis->cluster, call, rc, reply);
    }

    if (rc == NGX_DECLINED && redis->cluster && !redis->closed) {

        switch (ngx_adm_redis_cluster_redirect(redis->cluster, call, reply)) {
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

        if (call->script && ngx_adm_redis_is(reply, "NOSCRIPT")) {

            if (ngx_adm_redis_send_eval(call) == NGX_OK) {
                return;
            }

            rc = NGX_ERROR;
            reply = NULL;

        } else {
            if (ngx_adm_redis_is_refusal(reply)) {
                ngx_adm_redis_count_break();
            }

            if (!ngx_adm_redis_shared->refused) {
                ngx_adm_redis_shared->refused = 1;
            }

            ngx_adm_redis_conn_error(call->node->conn, reply);
        }
    }

    ngx_adm_redis_complete(call, rc, reply);
}


/* tells the owner; an answer that comes yet is dropped, or for detached data */

static void
ngx_adm_redis_late(ngx_adm_redis_call_t *call)
{
    void                   *data;
    ngx_adm_redis_done_pt   done;

    done = call->done;
    data = call->data;

    if (call->detach == NULL) {
        call->done = NULL;
        call->data = NULL;
    }

    ngx_adm_redis_count_break();

    if (done) {
        done(data, NGX_ERROR, NULL);
    }

    if (call->detach) {
        call->detach(data);
        call->background = 1;
    }
}


static void
ngx_adm_redis_complete(ngx_adm_redis_call_t *call, ngx_int_t rc,
    redisReply *reply)
{
    void                   *data, *own;
    ngx_adm_redis_done_pt   done;

    done = call->done;
    data = call->data;
    own = call->own;

    if (rc == NGX_ERROR) {
        ngx_adm_redis_count_failed(call->kind, NGX_ADM_CALL_END_LOST);
    } else {
        ngx_adm_redis_count_answer(call->kind, call->issued, rc == NGX_OK);
    }

    ngx_adm_redis_free(call);

    if (done) {
        done(data, rc, reply);
    }

    if (own) {
        ngx_free(own);
    }
}


static ngx_adm_redis_call_t *
ngx_adm_redis_alloc(ngx_adm_redis_t *redis, size_t size)
{
    size_t                 total;
    ngx_queue_t           *q;
    ngx_adm_redis_call_t  *call;

    total = offsetof(ngx_adm_redis_call_t, command) + size;

    if (total <= NGX_ADM_REDIS_CALL_SIZE && redis->nfree) {
        q = ngx_queue_head(&redis->free);
        ngx_queue_remove(q);
        redis->nfree--;

        call = ngx_queue_data(q, ngx_adm_redis_call_t, queue);

    } else {
        call = ngx_alloc(ngx_max(total, NGX_ADM_REDIS_CALL_SIZE), redis->log);
        if (call == NULL) {
            return NULL;
        }
    }

    call->redis = redis;
    call->own = NULL;
    call->detach = NULL;
    call->background = redis->background;
    call->size = size;

    return call;
}


static void
ngx_adm_redis_free(ngx_adm_redis_call_t *call)
{
    size_t            total;
    ngx_adm_redis_t  *redis;

    redis = call->redis;
    total = offsetof(ngx_adm_redis_call_t, command) + call->size;

    if (total > NGX_ADM_REDIS_CALL_SIZE
        || redis->nfree >= NGX_ADM_REDIS_FREE_MAX)
    {
        ngx_free(call);
        return;
    }

    ngx_queue_insert_head(&redis->free, &call->queue);
    redis->nfree++;
}
