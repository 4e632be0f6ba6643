
/*
 * Copyright (C) 2026 the admission module authors
 *
 * One round asks the sentinels in turn until one names the master.  When that
 * is another than before, calls go there at once, and the old node leaves
 * when none of its calls is out.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>

#include "../base/timer.h"
#include "reply.h"
#include "sentinel.h"
#include "shared.h"


#define NGX_ADM_REDIS_SENTINEL_POLL   1000    /* ms */
#define NGX_ADM_REDIS_SENTINEL_RETRY  250     /* ms, in trouble */
#define NGX_ADM_REDIS_SENTINEL_WAIT   50      /* ms, no master */


struct ngx_adm_redis_sentinel_s {
    ngx_adm_redis_nodes_t      *nodes;
    ngx_adm_redis_parked_t     *parked;
    ngx_log_t                  *log;

    ngx_adm_redis_nodes_t       sentinels;
    ngx_adm_redis_conf_t        conf;     /* of connections to sentinels */
    ngx_str_t                   command;
    ngx_adm_redis_node_t       *master;   /* NULL: not known */

    ngx_event_t                 timer;
    ngx_event_t                 swept;

    ngx_uint_t                  first;    /* to be asked next */
    ngx_uint_t                  tried;    /* in this round */
    ngx_msec_t                  asked_at;
    ngx_msec_t                  logged_at;

    unsigned                    asking:1;
    unsigned                    failed:1; /* meanwhile */
    unsigned                    logged:1;
    unsigned                    closed:1;
};


static ngx_int_t ngx_adm_redis_sentinel_command(ngx_cycle_t *cycle,
    ngx_adm_redis_sentinel_t *sentinel);
static void ngx_adm_redis_sentinel_want(ngx_adm_redis_sentinel_t *sentinel);
static void ngx_adm_redis_sentinel_ask(ngx_event_t *ev);
static void ngx_adm_redis_sentinel_next(ngx_adm_redis_sentinel_t *sentinel);
static void ngx_adm_redis_sentinel_answer(ngx_adm_redis_call_t *call,
    ngx_int_t rc, redisReply *reply);
static ngx_int_t ngx_adm_redis_sentinel_set(ngx_adm_redis_sentinel_t *sentinel,
    redisReply *reply);
static void ngx_adm_redis_sentinel_sweep(ngx_event_t *ev);
static void ngx_adm_redis_sentinel_found(void *data);
static void ngx_adm_redis_sentinel_lost(void *data, ngx_adm_redis_node_t *node);
static void ngx_adm_redis_sentinel_log(ngx_adm_redis_sentinel_t *sentinel,
    ngx_adm_redis_node_t *node, const char *text);


ngx_adm_redis_sentinel_t *
ngx_adm_redis_sentinel_create(ngx_cycle_t *cycle, ngx_adm_redis_nodes_t *nodes,
    ngx_adm_redis_parked_t *parked)
{
    ngx_adm_redis_sentinel_t  *sentinel;

    sentinel = ngx_pcalloc(cycle->pool, sizeof(ngx_adm_redis_sentinel_t));
    if (sentinel == NULL) {
        return NULL;
    }

    sentinel->nodes = nodes;
    sentinel->parked = parked;
    sentinel->log = cycle->log;

    sentinel->asked_at = ngx_current_msec - NGX_ADM_REDIS_SENTINEL_RETRY;

    /* user, password and database are those of Redis */

    sentinel->conf = *nodes->conf;
    ngx_str_null(&sentinel->conf.auth);
    ngx_str_null(&sentinel->conf.select);

    if (ngx_adm_redis_sentinel_command(cycle, sentinel) != NGX_OK) {
        return NULL;
    }

    ngx_adm_redis_nodes_init(&sentinel->sentinels, cycle, &sentinel->conf);

    sentinel->sentinels.failed = ngx_adm_redis_sentinel_lost;
    sentinel->sentinels.found = ngx_adm_redis_sentinel_found;
    sentinel->sentinels.data = sentinel;

    ngx_adm_timer_init(&sentinel->timer, ngx_adm_redis_sentinel_ask,
                       cycle->log);
    sentinel->timer.cancelable = 1;

    sentinel->swept.handler = ngx_adm_redis_sentinel_sweep;
    sentinel->swept.data = sentinel;
    sentinel->swept.log = cycle->log;

    return sentinel;
}


static ngx_int_t
ngx_adm_redis_sentinel_command(ngx_cycle_t *cycle,
    ngx_adm_redis_sentinel_t *sentinel)
{
    size_t      len;
    ngx_str_t  *name;

    static char  format[] = "*3\r\n$8\r\nSENTINEL\r\n"
                            "$23\r\nget-master-addr-by-name\r\n$%uz\r\n%V\r\n";

    name = &sentinel->conf.master;

    len = sizeof(format) + NGX_SIZE_T_LEN + name->len;

    sentinel->command.data = ngx_pnalloc(cycle->pool, len);
    if (sentinel->command.data == NULL) {
        return NGX_ERROR;
    }

    sentinel->command.len = ngx_snprintf(sentinel->command.data, len, format,
                                         name->len,
                                         name) - sentinel->command.data;

    return NGX_OK;
}


void
ngx_adm_redis_sentinel_close(ngx_adm_redis_sentinel_t *sentinel)
{
    sentinel->closed = 1;

    if (sentinel->timer.timer_set) {
        ngx_del_timer(&sentinel->timer);
    }

    if (sentinel->swept.posted) {
        ngx_delete_posted_event(&sentinel->swept);
    }

    ngx_adm_redis_nodes_close(&sentinel->sentinels);
}


ngx_int_t
ngx_adm_redis_sentinel_send(ngx_adm_redis_sentinel_t *sentinel,
    ngx_adm_redis_call_t *call)
{
    ngx_int_t  rc;

    rc = NGX_AGAIN;

    if (sentinel->master) {
        rc = ngx_adm_redis_node_send(sentinel->master, call);

    } else {
        ngx_adm_redis_sentinel_want(sentinel);
    }

    if (rc == NGX_AGAIN) {
        ngx_adm_redis_park(sentinel->parked, call,
                           NGX_ADM_REDIS_SENTINEL_WAIT);
        return NGX_OK;
    }

    return rc;
}


void
ngx_adm_redis_sentinel_failed(ngx_adm_redis_sentinel_t *sentinel,
    ngx_adm_redis_node_t *node)
{
    if (node == sentinel->master) {
        sentinel->failed = 1;
        ngx_adm_redis_sentinel_want(sentinel);
    }
}


static void
ngx_adm_redis_sentinel_want(ngx_adm_redis_sentinel_t *sentinel)
{
    ngx_msec_t  passed;

    if (sentinel->closed || sentinel->asking) {
        return;
    }

    passed = ngx_current_msec - sentinel->asked_at;

    ngx_adm_redis_timer(&sentinel->timer,
                        passed < NGX_ADM_REDIS_SENTINEL_RETRY
                        ? NGX_ADM_REDIS_SENTINEL_RETRY - passed : 0);
}


static void
ngx_adm_redis_sentinel_ask(ngx_event_t *ev)
{
    ngx_adm_redis_sentinel_t  *sentinel;

    sentinel = ngx_queue_data(ev, ngx_adm_redis_sentinel_t, timer);

    if (sentinel->asking) {
        return;
    }

    /* a sentinel that has not heard of a failover is not asked again at once */

    if (sentinel->failed
        || (sentinel->master
            && ngx_adm_redis_conn_down(sentinel->master->conn)))
    {
        sentinel->failed = 0;
        sentinel->first++;
    }

    sentinel->tried = 0;
    sentinel->asked_at = ngx_current_msec;

    ngx_adm_redis_sentinel_next(sentinel);
}


static void
ngx_adm_redis_sentinel_next(ngx_adm_redis_sentinel_t *sentinel)
{
    ngx_uint_t                 n;
    ngx_msec_t                 wait;
    ngx_adm_redis_node_t      *node;
    ngx_adm_redis_endpoint_t  *endpoint;

    endpoint = sentinel->conf.endpoints.elts;
    n = sentinel->conf.endpoints.nelts;

    /* no calls of others are on these connections: who is late is down */

    wait = ngx_min(sentinel->conf.timeout, NGX_ADM_REDIS_ASK_MAX);

    while (sentinel->tried < n) {

        node = ngx_adm_redis_node_of(&sentinel->sentinels,
                                     &endpoint[sentinel->first % n]);

        if (node
            && ngx_adm_redis_node_ask(node, &sentinel->command, wait,
                                      ngx_adm_redis_sentinel_answer,
                                      sentinel)
               == NGX_OK)
        {
            sentinel->asking = 1;
            return;
        }

        sentinel->first++;
        sentinel->tried++;
    }

    ngx_adm_redis_timer(&sentinel->timer, NGX_ADM_REDIS_SENTINEL_RETRY);
}


static void
ngx_adm_redis_sentinel_answer(ngx_adm_redis_call_t *call, ngx_int_t rc,
    redisReply *reply)
{
    char                       text[128];
    ngx_adm_redis_node_t      *node;
    ngx_adm_redis_sentinel_t  *sentinel;

    sentinel = call->data;
    node = call->node;

    ngx_free(call);

    sentinel->asking = 0;

    if (sentinel->closed) {
        return;
    }

    if (rc == NGX_OK && ngx_adm_redis_sentinel_set(sentinel, reply) == NGX_OK) {
        /* the old master is forgotten when its calls have ended */

        ngx_post_event(&sentinel->swept, &ngx_posted_events);

        ngx_adm_redis_timer(&sentinel->timer,
                            ngx_adm_redis_conn_down(sentinel->master->conn)
                            ? NGX_ADM_REDIS_SENTINEL_RETRY
                            : NGX_ADM_REDIS_SENTINEL_POLL);
        return;
    }

    if (rc == NGX_OK) {
        ngx_adm_redis_sentinel_log(sentinel, node, "it knows no such master");

    } else if (rc == NGX_DECLINED) {
        ngx_adm_redis_sentinel_log(sentinel, node,
                   ngx_adm_redis_text(text, sizeof(text), reply));
    }

    sentinel->first++;
    sentinel->tried++;

    ngx_adm_redis_sentinel_next(sentinel);
}


/* [host, port], both as text */

static ngx_int_t
ngx_adm_redis_sentinel_set(ngx_adm_redis_sentinel_t *sentinel,
    redisReply *reply)
{
    ngx_int_t              port;
    ngx_str_t              host;
    ngx_adm_redis_node_t  *node;

    if (reply->type != REDIS_REPLY_ARRAY
        || reply->elements != 2
        || reply->element[0]->type != REDIS_REPLY_STRING
        || reply->element[1]->type != REDIS_REPLY_STRING)
    {
        return NGX_ERROR;
    }

    host.data = (u_char *) reply->element[0]->str;
    host.len = reply->element[0]->len;

    port = ngx_atoi((u_char *) reply->element[1]->str, reply->element[1]->len);

    if (port < 1 || port > 65535) {
        return NGX_ERROR;
    }

    node = ngx_adm_redis_node_at(sentinel->nodes, &host, (in_port_t) port);
    if (node == NULL) {
        return NGX_ERROR;
    }

    if (node == sentinel->master) {
        return NGX_OK;
    }

    if (ngx_adm_redis_masters(ngx_murmur_hash2(node->name.data,
                                               node->name.len))
        != NGX_DECLINED)
    {
        ngx_log_error(NGX_LOG_NOTICE, sentinel->log, 0,
                      "admission: redis \"%V\" is at %V, by its sentinels",
                      &sentinel->conf.master, &node->name);
    }

    if (sentinel->master) {
        sentinel->master->used = 0;
    }

    node->used = 1;

    sentinel->master = node;
    sentinel->failed = 0;

    ngx_adm_redis_parked_news(sentinel->parked);

    return NGX_OK;
}


static void
ngx_adm_redis_sentinel_sweep(ngx_event_t *ev)
{
    ngx_adm_redis_sentinel_t  *sentinel;

    sentinel = ev->data;

    ngx_adm_redis_nodes_sweep(sentinel->nodes);
}


static void
ngx_adm_redis_sentinel_found(void *data)
{
    ngx_adm_redis_sentinel_t  *sentinel = data;

    ngx_adm_redis_sentinel_want(sentinel);
}


/* a question that was out has been answered, with NGX_ERROR */

static void
ngx_adm_redis_sentinel_lost(void *data, ngx_adm_redis_node_t *node)
{
}


static void
ngx_adm_redis_sentinel_log(ngx_adm_redis_sentinel_t *sentinel,
    ngx_adm_redis_node_t *node, const char *text)
{
    if (sentinel->logged && ngx_current_msec - sentinel->logged_at < 1000) {
        return;
    }

    sentinel->logged = 1;
    sentinel->logged_at = ngx_current_msec;

    ngx_log_error(NGX_LOG_ERR, sentinel->log, 0,
                  "admission: redis sentinel %V about \"%V\": %s",
                  &node->name, &sentinel->conf.master, text);
}
