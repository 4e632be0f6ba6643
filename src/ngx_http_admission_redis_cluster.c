
/*
 * Copyright (C) 2026 the admission module authors
 *
 * A redirection says that a call has not run: it is the one thing after
 * which a call goes out again.  Within its deadline, that is, and a bounded
 * number of times.
 *
 *   MOVED        the slot is the other node's, and so it is in the map
 *   ASK          this call alone goes to the other node, after ASKING
 *   TRYAGAIN     the keys are on their way from node to node: a little later
 *   CLUSTERDOWN  a little later as well; there may be another map by then
 *
 * While the master of a slot is down, a call now and then goes to one of its
 * replicas: the first to find out that it has become the master.  Until then
 * it says MOVED.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>

#include "ngx_http_admission_redis_cluster.h"
#include "ngx_http_admission_redis_counts.h"
#include "ngx_http_admission_redis_reply.h"
#include "ngx_http_admission_redis_slots.h"


/* MOVED and ASK of one call: more of them are a circle */
#define NGX_HTTP_ADMISSION_REDIS_HOPS      5

#define NGX_HTTP_ADMISSION_REDIS_TRYAGAIN  20        /* ms */
#define NGX_HTTP_ADMISSION_REDIS_NO_SLOT   50        /* ms */

#define NGX_HTTP_ADMISSION_REDIS_PROBE     100       /* ms, at least */

#define NGX_HTTP_ADMISSION_REDIS_REFRESH   1000      /* ms, at least */
#define NGX_HTTP_ADMISSION_REDIS_RETRY     250       /* ms, nobody answered */
#define NGX_HTTP_ADMISSION_REDIS_NOW_AND_THEN  30000 /* ms */


struct ngx_http_admission_redis_cluster_s {
    ngx_http_admission_redis_nodes_t      *nodes;
    ngx_http_admission_redis_hold_t       *hold;
    ngx_log_t                             *log;

    ngx_event_t                            timer;     /* the next refresh */
    ngx_event_t                            swept;
    ngx_connection_t                       dumb;

    ngx_uint_t                             round;     /* of asking around */
    ngx_msec_t                             asked_at;
    ngx_msec_t                             interval;  /* to the next, least */
    ngx_msec_t                             logged_at;

    unsigned                               asking:1;
    unsigned                               wanted:1;  /* once more after it */
    unsigned                               logged:1;
    unsigned                               closed:1;

    ngx_http_admission_redis_node_t       *slots
                                             [NGX_HTTP_ADMISSION_REDIS_SLOTS];
};


typedef struct {
    ngx_uint_t                             slot;
    ngx_str_t                              host;      /* empty: the same */
    in_port_t                              port;
} ngx_http_admission_redis_target_t;


static void ngx_http_admission_redis_cluster_want(
    ngx_http_admission_redis_cluster_t *cluster);
static void ngx_http_admission_redis_cluster_refresh(ngx_event_t *ev);
static void ngx_http_admission_redis_cluster_next(
    ngx_http_admission_redis_cluster_t *cluster);
static ngx_int_t ngx_http_admission_redis_cluster_ask_known(
    ngx_http_admission_redis_cluster_t *cluster, ngx_uint_t ready);
static ngx_int_t ngx_http_admission_redis_cluster_ask_seeds(
    ngx_http_admission_redis_cluster_t *cluster);
static ngx_int_t ngx_http_admission_redis_cluster_ask(
    ngx_http_admission_redis_cluster_t *cluster,
    ngx_http_admission_redis_node_t *node);
static void ngx_http_admission_redis_cluster_answer(
    ngx_http_admission_redis_call_t *call, ngx_int_t rc, redisReply *reply);
static void ngx_http_admission_redis_cluster_sweep(ngx_event_t *ev);

static ngx_int_t ngx_http_admission_redis_cluster_check(redisReply *reply);
static ngx_uint_t ngx_http_admission_redis_cluster_check_node(
    redisReply *reply);
static void ngx_http_admission_redis_cluster_map(
    ngx_http_admission_redis_cluster_t *cluster, redisReply *reply,
    ngx_http_admission_redis_node_t *asked);
static void ngx_http_admission_redis_cluster_masters(
    ngx_http_admission_redis_cluster_t *cluster);
static ngx_http_admission_redis_node_t *ngx_http_admission_redis_cluster_node(
    ngx_http_admission_redis_cluster_t *cluster, redisReply *reply,
    ngx_http_admission_redis_node_t *asked);

static ngx_int_t ngx_http_admission_redis_cluster_probe(
    ngx_http_admission_redis_cluster_t *cluster,
    ngx_http_admission_redis_node_t *master,
    ngx_http_admission_redis_call_t *call);

static ngx_int_t ngx_http_admission_redis_cluster_follow(
    ngx_http_admission_redis_cluster_t *cluster,
    ngx_http_admission_redis_call_t *call, redisReply *reply, ngx_uint_t ask);
static ngx_int_t ngx_http_admission_redis_cluster_target(redisReply *reply,
    ngx_http_admission_redis_target_t *target);
static void ngx_http_admission_redis_cluster_asking(
    ngx_http_admission_redis_call_t *call, ngx_int_t rc, redisReply *reply);
static void ngx_http_admission_redis_cluster_log(
    ngx_http_admission_redis_cluster_t *cluster,
    ngx_http_admission_redis_node_t *node, const char *text);


static ngx_str_t  ngx_http_admission_redis_cluster_slots =
    ngx_string("*2\r\n$7\r\nCLUSTER\r\n$5\r\nSLOTS\r\n");

static ngx_str_t  ngx_http_admission_redis_asking =
    ngx_string("*1\r\n$6\r\nASKING\r\n");


ngx_http_admission_redis_cluster_t *
ngx_http_admission_redis_cluster_create(ngx_cycle_t *cycle,
    ngx_http_admission_redis_nodes_t *nodes,
    ngx_http_admission_redis_hold_t *hold)
{
    ngx_http_admission_redis_cluster_t  *cluster;

    cluster = ngx_pcalloc(cycle->pool,
                          sizeof(ngx_http_admission_redis_cluster_t));
    if (cluster == NULL) {
        return NULL;
    }

    cluster->nodes = nodes;
    cluster->hold = hold;
    cluster->log = cycle->log;

    cluster->asked_at = ngx_current_msec - NGX_HTTP_ADMISSION_REDIS_RETRY;
    cluster->interval = NGX_HTTP_ADMISSION_REDIS_RETRY;

    /* NGINX's debug log of timers looks at the connection of an event */

    cluster->dumb.fd = (ngx_socket_t) -1;
    cluster->dumb.data = cluster;

    cluster->timer.handler = ngx_http_admission_redis_cluster_refresh;
    cluster->timer.data = &cluster->dumb;
    cluster->timer.log = cycle->log;
    cluster->timer.cancelable = 1;

    cluster->swept.handler = ngx_http_admission_redis_cluster_sweep;
    cluster->swept.data = cluster;
    cluster->swept.log = cycle->log;

    return cluster;
}


void
ngx_http_admission_redis_cluster_close(
    ngx_http_admission_redis_cluster_t *cluster)
{
    cluster->closed = 1;

    if (cluster->timer.timer_set) {
        ngx_del_timer(&cluster->timer);
    }

    if (cluster->swept.posted) {
        ngx_delete_posted_event(&cluster->swept);
    }
}


ngx_int_t
ngx_http_admission_redis_cluster_send(
    ngx_http_admission_redis_cluster_t *cluster,
    ngx_http_admission_redis_call_t *call)
{
    ngx_int_t                         rc;
    ngx_http_admission_redis_node_t  *node;

    node = cluster->slots[call->slot];

    if (node == NULL) {
        ngx_http_admission_redis_cluster_want(cluster);
        rc = NGX_AGAIN;

    } else {
        rc = ngx_http_admission_redis_node_send(node, call);
    }

    if (rc == NGX_AGAIN) {
        ngx_http_admission_redis_hold(cluster->hold, call,
                                      NGX_HTTP_ADMISSION_REDIS_NO_SLOT);
        return NGX_OK;
    }

    if (rc == NGX_ERROR) {
        return ngx_http_admission_redis_cluster_probe(cluster, node, call);
    }

    return rc;
}


static ngx_int_t
ngx_http_admission_redis_cluster_probe(
    ngx_http_admission_redis_cluster_t *cluster,
    ngx_http_admission_redis_node_t *master,
    ngx_http_admission_redis_call_t *call)
{
    ngx_queue_t                      *q, *nodes;
    ngx_http_admission_redis_node_t  *node;

    if (ngx_current_msec - master->probed_at
        < NGX_HTTP_ADMISSION_REDIS_PROBE)
    {
        return NGX_ERROR;
    }

    master->probed_at = ngx_current_msec;

    nodes = &cluster->nodes->queue;
    q = ngx_queue_head(nodes);

    while (q != ngx_queue_sentinel(nodes)) {
        node = ngx_queue_data(q, ngx_http_admission_redis_node_t, queue);
        q = ngx_queue_next(q);

        if (node->master != master) {
            continue;
        }

        /* the next time it is another's turn */

        ngx_queue_remove(&node->queue);
        ngx_queue_insert_tail(nodes, &node->queue);

        if (ngx_http_admission_redis_node_send(node, call) == NGX_OK) {
            call->probe = 1;
            return NGX_OK;
        }

        break;
    }

    return NGX_ERROR;
}


void
ngx_http_admission_redis_cluster_probed(
    ngx_http_admission_redis_cluster_t *cluster,
    ngx_http_admission_redis_call_t *call, ngx_int_t rc, redisReply *reply)
{
    ngx_uint_t                        i;
    ngx_http_admission_redis_node_t  *node, *old;

    call->probe = 0;

    if (rc == NGX_ERROR
        || (rc == NGX_DECLINED
            && !ngx_http_admission_redis_is(reply, "NOSCRIPT")))
    {
        return;
    }

    /* it runs calls: the slots of its master are its own now */

    node = call->node;
    old = cluster->slots[call->slot];

    cluster->slots[call->slot] = node;

    /* NULL: a map that came meanwhile says that nobody has it */

    for (i = 0; old && i < NGX_HTTP_ADMISSION_REDIS_SLOTS; i++) {
        if (cluster->slots[i] == old) {
            cluster->slots[i] = node;
        }
    }

    node->master = NULL;
    node->has_slots = 1;

    ngx_http_admission_redis_cluster_want(cluster);
}


ngx_int_t
ngx_http_admission_redis_cluster_redirect(
    ngx_http_admission_redis_cluster_t *cluster,
    ngx_http_admission_redis_call_t *call, redisReply *reply)
{
    if (ngx_http_admission_redis_is(reply, "MOVED")) {
        return ngx_http_admission_redis_cluster_follow(cluster, call, reply,
                                                       0);
    }

    if (ngx_http_admission_redis_is(reply, "ASK")) {
        return ngx_http_admission_redis_cluster_follow(cluster, call, reply,
                                                       1);
    }

    if (ngx_http_admission_redis_is(reply, "TRYAGAIN")) {
        ngx_http_admission_redis_hold(cluster->hold, call,
                                      NGX_HTTP_ADMISSION_REDIS_TRYAGAIN);
        return NGX_OK;
    }

    if (ngx_http_admission_redis_is(reply, "CLUSTERDOWN")) {
        ngx_http_admission_redis_cluster_want(cluster);
        ngx_http_admission_redis_hold(cluster->hold, call,
                                      NGX_HTTP_ADMISSION_REDIS_NO_SLOT);
        return NGX_OK;
    }

    return NGX_DECLINED;
}


void
ngx_http_admission_redis_cluster_failed(
    ngx_http_admission_redis_cluster_t *cluster,
    ngx_http_admission_redis_node_t *node)
{
    if (node->has_slots) {
        ngx_http_admission_redis_cluster_want(cluster);
    }
}


static void
ngx_http_admission_redis_cluster_want(
    ngx_http_admission_redis_cluster_t *cluster)
{
    ngx_msec_t  passed;

    if (cluster->closed) {
        return;
    }

    if (cluster->asking) {
        cluster->wanted = 1;
        return;
    }

    passed = ngx_current_msec - cluster->asked_at;

    ngx_http_admission_redis_timer(&cluster->timer,
                                   passed < cluster->interval
                                   ? cluster->interval - passed : 0);
}


static void
ngx_http_admission_redis_cluster_refresh(ngx_event_t *ev)
{
    ngx_connection_t                    *c;
    ngx_http_admission_redis_cluster_t  *cluster;

    c = ev->data;
    cluster = c->data;

    if (cluster->asking) {
        return;
    }

    cluster->round++;
    cluster->wanted = 0;
    cluster->asked_at = ngx_current_msec;
    cluster->interval = NGX_HTTP_ADMISSION_REDIS_RETRY;

    ngx_http_admission_redis_cluster_next(cluster);
}


/* the next one that can be asked: those with slots and a connection first */

static void
ngx_http_admission_redis_cluster_next(
    ngx_http_admission_redis_cluster_t *cluster)
{
    if (ngx_http_admission_redis_cluster_ask_known(cluster, 1) == NGX_OK
        || ngx_http_admission_redis_cluster_ask_known(cluster, 0) == NGX_OK
        || ngx_http_admission_redis_cluster_ask_seeds(cluster) == NGX_OK)
    {
        cluster->asking = 1;
        return;
    }

    /* no one was asked but those that did not answer */

    ngx_http_admission_redis_timer(&cluster->timer,
                                   NGX_HTTP_ADMISSION_REDIS_RETRY);
}


static ngx_int_t
ngx_http_admission_redis_cluster_ask_known(
    ngx_http_admission_redis_cluster_t *cluster, ngx_uint_t ready)
{
    ngx_queue_t                      *q, *nodes;
    ngx_http_admission_redis_node_t  *node;

    nodes = &cluster->nodes->queue;
    q = ngx_queue_head(nodes);

    while (q != ngx_queue_sentinel(nodes)) {
        node = ngx_queue_data(q, ngx_http_admission_redis_node_t, queue);
        q = ngx_queue_next(q);

        if (node->round == cluster->round
            || (ready
                && (!node->has_slots
                    || !ngx_http_admission_redis_conn_ready(node->conn))))
        {
            continue;
        }

        /* the next time it is another's turn */

        ngx_queue_remove(&node->queue);
        ngx_queue_insert_tail(nodes, &node->queue);

        if (ngx_http_admission_redis_cluster_ask(cluster, node) == NGX_OK) {
            return NGX_OK;
        }
    }

    return NGX_DECLINED;
}


static ngx_int_t
ngx_http_admission_redis_cluster_ask_seeds(
    ngx_http_admission_redis_cluster_t *cluster)
{
    ngx_uint_t                            i;
    ngx_http_admission_redis_node_t      *node;
    ngx_http_admission_redis_endpoint_t  *seed;

    seed = cluster->nodes->conf->endpoints.elts;

    for (i = 0; i < cluster->nodes->conf->endpoints.nelts; i++) {

        node = ngx_http_admission_redis_node_of(cluster->nodes, &seed[i]);

        if (node
            && node->round != cluster->round
            && ngx_http_admission_redis_cluster_ask(cluster, node) == NGX_OK)
        {
            return NGX_OK;
        }
    }

    return NGX_DECLINED;
}


static ngx_int_t
ngx_http_admission_redis_cluster_ask(
    ngx_http_admission_redis_cluster_t *cluster,
    ngx_http_admission_redis_node_t *node)
{
    node->round = cluster->round;

    return ngx_http_admission_redis_node_ask(node,
                                     &ngx_http_admission_redis_cluster_slots,
                                     ngx_http_admission_redis_cluster_answer,
                                     cluster);
}


static void
ngx_http_admission_redis_cluster_answer(ngx_http_admission_redis_call_t *call,
    ngx_int_t rc, redisReply *reply)
{
    char                                 text[128];
    ngx_http_admission_redis_node_t     *node;
    ngx_http_admission_redis_cluster_t  *cluster;

    cluster = call->data;
    node = call->node;

    ngx_free(call);

    cluster->asking = 0;

    if (cluster->closed) {
        return;
    }

    if (rc == NGX_OK
        && ngx_http_admission_redis_cluster_check(reply) == NGX_OK)
    {
        ngx_http_admission_redis_cluster_map(cluster, reply, node);

        cluster->interval = NGX_HTTP_ADMISSION_REDIS_REFRESH;

        /* not here: the node whose answer this is may have left */

        ngx_post_event(&cluster->swept, &ngx_posted_events);

        ngx_http_admission_redis_hold_news(cluster->hold);

        ngx_http_admission_redis_timer(&cluster->timer,
                                   NGX_HTTP_ADMISSION_REDIS_NOW_AND_THEN);

        if (cluster->wanted) {
            ngx_http_admission_redis_cluster_want(cluster);
        }

        return;
    }

    if (rc == NGX_OK) {
        ngx_http_admission_redis_cluster_log(cluster, node,
                                             "it knows of no slots");

    } else if (rc == NGX_DECLINED) {
        ngx_http_admission_redis_cluster_log(cluster, node,
                   ngx_http_admission_redis_text(text, sizeof(text), reply));
    }

    ngx_http_admission_redis_cluster_next(cluster);
}


static void
ngx_http_admission_redis_cluster_sweep(ngx_event_t *ev)
{
    ngx_http_admission_redis_cluster_t  *cluster;

    cluster = ev->data;

    ngx_http_admission_redis_nodes_sweep(cluster->nodes);
}


/* [[first slot, last slot, master, replica, ...], ...] */

static ngx_int_t
ngx_http_admission_redis_cluster_check(redisReply *reply)
{
    size_t       i;
    redisReply  *range, **element;

    if (reply->type != REDIS_REPLY_ARRAY || reply->elements == 0) {
        return NGX_ERROR;
    }

    for (i = 0; i < reply->elements; i++) {
        range = reply->element[i];

        if (range->type != REDIS_REPLY_ARRAY || range->elements < 3) {
            return NGX_ERROR;
        }

        element = range->element;

        if (element[0]->type != REDIS_REPLY_INTEGER
            || element[1]->type != REDIS_REPLY_INTEGER
            || element[0]->integer < 0
            || element[0]->integer > element[1]->integer
            || element[1]->integer >= NGX_HTTP_ADMISSION_REDIS_SLOTS
            || !ngx_http_admission_redis_cluster_check_node(element[2]))
        {
            return NGX_ERROR;
        }
    }

    return NGX_OK;
}


/* [host, port, id, [name, value, ...]]; the host may be nil */

static ngx_uint_t
ngx_http_admission_redis_cluster_check_node(redisReply *reply)
{
    return reply->type == REDIS_REPLY_ARRAY
           && reply->elements >= 2
           && (reply->element[0]->type == REDIS_REPLY_STRING
               || reply->element[0]->type == REDIS_REPLY_NIL)
           && reply->element[1]->type == REDIS_REPLY_INTEGER
           && reply->element[1]->integer > 0
           && reply->element[1]->integer <= 65535;
}


static void
ngx_http_admission_redis_cluster_map(
    ngx_http_admission_redis_cluster_t *cluster, redisReply *reply,
    ngx_http_admission_redis_node_t *asked)
{
    size_t                            i, n;
    ngx_queue_t                      *q;
    redisReply                       *range;
    ngx_http_admission_redis_node_t  *node, *replica;

    for (q = ngx_queue_head(&cluster->nodes->queue);
         q != ngx_queue_sentinel(&cluster->nodes->queue);
         q = ngx_queue_next(q))
    {
        node = ngx_queue_data(q, ngx_http_admission_redis_node_t, queue);
        node->used = 0;
        node->has_slots = 0;
        node->master = NULL;
    }

    ngx_memzero(cluster->slots, sizeof(cluster->slots));

    for (i = 0; i < reply->elements; i++) {
        range = reply->element[i];

        node = ngx_http_admission_redis_cluster_node(cluster,
                                                     range->element[2], asked);

        if (node) {
            node->has_slots = 1;

            for (n = range->element[0]->integer;
                 n <= (size_t) range->element[1]->integer;
                 n++)
            {
                cluster->slots[n] = node;
            }
        }

        for (n = 3; n < range->elements; n++) {
            replica = ngx_http_admission_redis_cluster_node(cluster,
                                                            range->element[n],
                                                            asked);
            if (replica) {
                replica->master = node;
            }
        }
    }

    ngx_http_admission_redis_cluster_masters(cluster);
}


/* nodes tell their map in any order */

static void
ngx_http_admission_redis_cluster_masters(
    ngx_http_admission_redis_cluster_t *cluster)
{
    uint32_t                          hash;
    ngx_uint_t                        n;
    ngx_queue_t                      *q;
    ngx_http_admission_redis_node_t  *node;

    hash = 0;
    n = 0;

    for (q = ngx_queue_head(&cluster->nodes->queue);
         q != ngx_queue_sentinel(&cluster->nodes->queue);
         q = ngx_queue_next(q))
    {
        node = ngx_queue_data(q, ngx_http_admission_redis_node_t, queue);

        if (node->has_slots) {
            hash += ngx_murmur_hash2(node->name.data, node->name.len);
            n++;
        }
    }

    if (ngx_http_admission_redis_masters(hash) == NGX_OK) {
        ngx_log_error(NGX_LOG_NOTICE, cluster->log, 0,
                      "admission: redis cluster: other masters than before, "
                      "%ui of them", n);
    }
}


static ngx_http_admission_redis_node_t *
ngx_http_admission_redis_cluster_node(
    ngx_http_admission_redis_cluster_t *cluster, redisReply *reply,
    ngx_http_admission_redis_node_t *asked)
{
    size_t                            i;
    ngx_str_t                         host, address;
    redisReply                       *more;
    ngx_http_admission_redis_node_t  *node;

    if (!ngx_http_admission_redis_cluster_check_node(reply)) {
        return NULL;
    }

    host.data = (u_char *) reply->element[0]->str;
    host.len = reply->element[0]->len;

    /* it does not know its own address, or host name: it is where it is */

    if (reply->element[0]->type == REDIS_REPLY_NIL
        || host.len == 0
        || (host.len == 1 && host.data[0] == '?'))
    {
        host = asked->host;
    }

    node = ngx_http_admission_redis_node_at(cluster->nodes, &host,
                                      (in_port_t) reply->element[1]->integer);
    if (node == NULL) {
        return NULL;
    }

    node->used = 1;

    more = reply->elements > 3 ? reply->element[3] : NULL;

    if (more == NULL || more->type != REDIS_REPLY_ARRAY) {
        return node;
    }

    for (i = 0; i + 1 < more->elements; i += 2) {

        if (more->element[i]->type != REDIS_REPLY_STRING
            || more->element[i + 1]->type != REDIS_REPLY_STRING
            || ngx_strcmp(more->element[i]->str, "ip") != 0)
        {
            continue;
        }

        address.data = (u_char *) more->element[i + 1]->str;
        address.len = more->element[i + 1]->len;

        ngx_http_admission_redis_node_hint(node, &address);
    }

    return node;
}


static ngx_int_t
ngx_http_admission_redis_cluster_follow(
    ngx_http_admission_redis_cluster_t *cluster,
    ngx_http_admission_redis_call_t *call, redisReply *reply, ngx_uint_t ask)
{
    ngx_int_t                           rc;
    ngx_http_admission_redis_node_t    *node;
    ngx_http_admission_redis_target_t   target;

    if (ngx_http_admission_redis_cluster_target(reply, &target) != NGX_OK) {
        return NGX_DECLINED;
    }

    node = ngx_http_admission_redis_node_at(cluster->nodes,
                                            target.host.len ? &target.host
                                                       : &call->node->host,
                                            target.port);

    if (node && !ask) {
        node->used = 1;
        node->has_slots = 1;

        cluster->slots[target.slot] = node;
    }

    if (!ask) {
        ngx_http_admission_redis_cluster_want(cluster);
    }

    if (node == NULL
        || ++call->hops > NGX_HTTP_ADMISSION_REDIS_HOPS
        || (ngx_msec_int_t) (call->deadline - ngx_current_msec) <= 0)
    {
        return NGX_DECLINED;
    }

    rc = NGX_OK;

    if (ask) {
        rc = ngx_http_admission_redis_node_ask(node,
                                     &ngx_http_admission_redis_asking,
                                     ngx_http_admission_redis_cluster_asking,
                                     NULL);
    }

    if (rc == NGX_OK) {
        rc = ngx_http_admission_redis_node_send(node, call);
    }

    if (rc == NGX_AGAIN) {
        ngx_http_admission_redis_hold(cluster->hold, call,
                                      NGX_HTTP_ADMISSION_REDIS_NO_SLOT);
        return NGX_OK;
    }

    return rc;
}


/* "MOVED 3999 127.0.0.1:6381"; host and port are divided by the last colon */

static ngx_int_t
ngx_http_admission_redis_cluster_target(redisReply *reply,
    ngx_http_admission_redis_target_t *target)
{
    u_char     *p, *last, *space, *colon;
    ngx_int_t   slot, port;

    p = (u_char *) reply->str;
    last = p + reply->len;

    p = ngx_strlchr(p, last, ' ');
    if (p == NULL) {
        return NGX_ERROR;
    }

    p++;

    space = ngx_strlchr(p, last, ' ');
    if (space == NULL) {
        return NGX_ERROR;
    }

    slot = ngx_atoi(p, space - p);

    p = space + 1;

    for (colon = last - 1; colon >= p && *colon != ':'; colon--) {
        /* void */
    }

    if (colon < p) {
        return NGX_ERROR;
    }

    port = ngx_atoi(colon + 1, last - colon - 1);

    if (slot < 0 || slot >= NGX_HTTP_ADMISSION_REDIS_SLOTS
        || port < 1 || port > 65535)
    {
        return NGX_ERROR;
    }

    target->slot = slot;
    target->port = (in_port_t) port;
    target->host.data = p;
    target->host.len = colon - p;

    if (target->host.len == 1 && *p == '?') {
        target->host.len = 0;
    }

    return NGX_OK;
}


/* the call that comes after it tells what went wrong, if anything did */

static void
ngx_http_admission_redis_cluster_asking(ngx_http_admission_redis_call_t *call,
    ngx_int_t rc, redisReply *reply)
{
    ngx_free(call);
}


static void
ngx_http_admission_redis_cluster_log(
    ngx_http_admission_redis_cluster_t *cluster,
    ngx_http_admission_redis_node_t *node, const char *text)
{
    if (cluster->logged && ngx_current_msec - cluster->logged_at < 1000) {
        return;
    }

    cluster->logged = 1;
    cluster->logged_at = ngx_current_msec;

    ngx_log_error(NGX_LOG_ERR, cluster->log, 0,
                  "admission: redis %V: no map of the cluster: %s",
                  &node->name, text);
}
