
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

#include "cluster.h"
#include "reply.h"
#include "survey.h"


/* most redirections of one call: with more of them it goes in a circle */
#define NGX_ADM_REDIS_HOPS      5

#define NGX_ADM_REDIS_TRYAGAIN  20        /* ms */
#define NGX_ADM_REDIS_NO_SLOT   50        /* ms */

#define NGX_ADM_REDIS_PROBE     100       /* ms between probes, at least */


struct ngx_adm_redis_cluster_s {
    ngx_adm_redis_map_t         map;
    ngx_adm_redis_survey_t      survey;
    ngx_adm_redis_parked_t     *parked;
};


typedef struct {
    ngx_uint_t                             slot;
    ngx_str_t                              host;      /* empty: the same host */
    in_port_t                              port;
} ngx_adm_redis_target_t;


static ngx_int_t ngx_adm_redis_cluster_probe(ngx_adm_redis_cluster_t *cluster,
    ngx_adm_redis_node_t *master, ngx_adm_redis_call_t *call);
static ngx_int_t ngx_adm_redis_cluster_resend(ngx_adm_redis_cluster_t *cluster,
    ngx_adm_redis_call_t *call, redisReply *reply, ngx_uint_t ask);
static ngx_int_t ngx_adm_redis_cluster_target(redisReply *reply,
    ngx_adm_redis_target_t *target);


static ngx_str_t  ngx_adm_redis_asking = ngx_string("*1\r\n$6\r\nASKING\r\n");


ngx_adm_redis_cluster_t *
ngx_adm_redis_cluster_create(ngx_cycle_t *cycle, ngx_adm_redis_nodes_t *nodes,
    ngx_adm_redis_parked_t *parked)
{
    ngx_adm_redis_cluster_t  *cluster;

    cluster = ngx_pcalloc(cycle->pool, sizeof(ngx_adm_redis_cluster_t));
    if (cluster == NULL) {
        return NULL;
    }

    cluster->parked = parked;

    cluster->map.nodes = nodes;
    cluster->map.log = cycle->log;

    ngx_adm_redis_survey_init(&cluster->survey, cycle, &cluster->map, parked);

    return cluster;
}


void
ngx_adm_redis_cluster_close(ngx_adm_redis_cluster_t *cluster)
{
    ngx_adm_redis_survey_close(&cluster->survey);
}


ngx_int_t
ngx_adm_redis_cluster_send(ngx_adm_redis_cluster_t *cluster,
    ngx_adm_redis_call_t *call)
{
    ngx_int_t              rc;
    ngx_adm_redis_node_t  *node;

    node = cluster->map.slots[call->slot];

    if (node == NULL) {
        ngx_adm_redis_survey_want(&cluster->survey);
        rc = NGX_AGAIN;

    } else {
        rc = ngx_adm_redis_node_send(node, call);
    }

    if (rc == NGX_AGAIN) {
        ngx_adm_redis_park(cluster->parked, call, NGX_ADM_REDIS_NO_SLOT);
        return NGX_OK;
    }

    if (rc == NGX_ERROR) {
        return ngx_adm_redis_cluster_probe(cluster, node, call);
    }

    return rc;
}


static ngx_int_t
ngx_adm_redis_cluster_probe(ngx_adm_redis_cluster_t *cluster,
    ngx_adm_redis_node_t *master, ngx_adm_redis_call_t *call)
{
    ngx_queue_t           *q, *nodes;
    ngx_adm_redis_node_t  *node;

    if (ngx_current_msec - master->probed_at < NGX_ADM_REDIS_PROBE) {
        return NGX_ERROR;
    }

    master->probed_at = ngx_current_msec;

    nodes = &cluster->map.nodes->queue;
    q = ngx_queue_head(nodes);

    while (q != ngx_queue_sentinel(nodes)) {
        node = ngx_queue_data(q, ngx_adm_redis_node_t, queue);
        q = ngx_queue_next(q);

        if (node->master != master) {
            continue;
        }

        /* the next probe goes to another replica */

        ngx_queue_remove(&node->queue);
        ngx_queue_insert_tail(nodes, &node->queue);

        if (ngx_adm_redis_node_send(node, call) == NGX_OK) {
            call->probe = 1;
            return NGX_OK;
        }

        break;
    }

    return NGX_ERROR;
}


void
ngx_adm_redis_cluster_probed(ngx_adm_redis_cluster_t *cluster,
    ngx_adm_redis_call_t *call, ngx_int_t rc, redisReply *reply)
{
    call->probe = 0;

    if (rc == NGX_ERROR
        || (rc == NGX_DECLINED && !ngx_adm_redis_is(reply, "NOSCRIPT")))
    {
        return;
    }

    /* the replica runs calls: the slots of its master are its own now */

    ngx_adm_redis_map_taken_over(&cluster->map, call->slot, call->node);

    ngx_adm_redis_survey_want(&cluster->survey);
}


ngx_int_t
ngx_adm_redis_cluster_redirect(ngx_adm_redis_cluster_t *cluster,
    ngx_adm_redis_call_t *call, redisReply *reply)
{
    if (ngx_adm_redis_is(reply, "MOVED")) {
        return ngx_adm_redis_cluster_resend(cluster, call, reply, 0);
    }

    if (ngx_adm_redis_is(reply, "ASK")) {
        return ngx_adm_redis_cluster_resend(cluster, call, reply, 1);
    }

    if (ngx_adm_redis_is(reply, "TRYAGAIN")) {
        ngx_adm_redis_park(cluster->parked, call, NGX_ADM_REDIS_TRYAGAIN);
        return NGX_OK;
    }

    if (ngx_adm_redis_is(reply, "CLUSTERDOWN")) {
        ngx_adm_redis_survey_want(&cluster->survey);
        ngx_adm_redis_park(cluster->parked, call, NGX_ADM_REDIS_NO_SLOT);
        return NGX_OK;
    }

    return NGX_DECLINED;
}


void
ngx_adm_redis_cluster_failed(ngx_adm_redis_cluster_t *cluster,
    ngx_adm_redis_node_t *node)
{
    if (node->has_slots) {
        ngx_adm_redis_survey_want(&cluster->survey);
    }
}


static ngx_int_t
ngx_adm_redis_cluster_resend(ngx_adm_redis_cluster_t *cluster,
    ngx_adm_redis_call_t *call, redisReply *reply, ngx_uint_t ask)
{
    ngx_int_t                rc;
    ngx_adm_redis_node_t    *node;
    ngx_adm_redis_target_t   target;

    if (ngx_adm_redis_cluster_target(reply, &target) != NGX_OK) {
        return NGX_DECLINED;
    }

    node = ngx_adm_redis_node_at(cluster->map.nodes,
                                 target.host.len ? &target.host
                                                       : &call->node->host,
                                 target.port);

    if (node && !ask) {
        ngx_adm_redis_map_moved(&cluster->map, target.slot, node);
    }

    if (!ask) {
        ngx_adm_redis_survey_want(&cluster->survey);
    }

    if (node == NULL
        || ++call->hops > NGX_ADM_REDIS_HOPS
        || (ngx_msec_int_t) (call->deadline - ngx_current_msec) <= 0)
    {
        return NGX_DECLINED;
    }

    /* one call has both, so that neither goes without the other */

    if (ask) {
        call->asking = 1;
        ngx_adm_redis_set_buf(call, NGX_ADM_REDIS_ASKING,
                              ngx_adm_redis_asking.data,
                              ngx_adm_redis_asking.data
                              + ngx_adm_redis_asking.len);
    }

    rc = ngx_adm_redis_node_send(node, call);

    if (rc != NGX_OK) {
        call->asking = 0;
    }

    if (rc == NGX_AGAIN) {
        ngx_adm_redis_park(cluster->parked, call, NGX_ADM_REDIS_NO_SLOT);
        return NGX_OK;
    }

    return rc;
}


/* "MOVED 3999 127.0.0.1:6381"; host and port are divided by the last colon */

static ngx_int_t
ngx_adm_redis_cluster_target(redisReply *reply, ngx_adm_redis_target_t *target)
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

    if (slot < 0 || slot >= NGX_ADM_REDIS_SLOTS || port < 1 || port > 65535) {
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
