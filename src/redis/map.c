
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Reading CLUSTER SLOTS: all of it is checked before any of it counts.  The
 * nodes in it are found or made, and its masters made known to the host.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "map.h"
#include "shared.h"


static ngx_int_t ngx_adm_redis_map_check(redisReply *reply);
static ngx_uint_t ngx_adm_redis_map_check_node(redisReply *reply);
static ngx_adm_redis_node_t *ngx_adm_redis_map_node(ngx_adm_redis_map_t *map,
    redisReply *reply, ngx_adm_redis_node_t *asked);
static void ngx_adm_redis_map_masters(ngx_adm_redis_map_t *map);


ngx_int_t
ngx_adm_redis_map_read(ngx_adm_redis_map_t *map, redisReply *reply,
    ngx_adm_redis_node_t *asked)
{
    size_t                 i, n;
    ngx_queue_t           *q;
    redisReply            *range;
    ngx_adm_redis_node_t  *node, *replica;

    if (ngx_adm_redis_map_check(reply) != NGX_OK) {
        return NGX_ERROR;
    }

    for (q = ngx_queue_head(&map->nodes->queue);
         q != ngx_queue_sentinel(&map->nodes->queue);
         q = ngx_queue_next(q))
    {
        node = ngx_queue_data(q, ngx_adm_redis_node_t, queue);
        node->used = 0;
        node->has_slots = 0;
        node->master = NULL;
    }

    ngx_memzero(map->slots, sizeof(map->slots));

    for (i = 0; i < reply->elements; i++) {
        range = reply->element[i];

        node = ngx_adm_redis_map_node(map, range->element[2], asked);

        if (node) {
            node->has_slots = 1;

            for (n = range->element[0]->integer;
                 n <= (size_t) range->element[1]->integer;
                 n++)
            {
                map->slots[n] = node;
            }
        }

        for (n = 3; n < range->elements; n++) {
            replica = ngx_adm_redis_map_node(map, range->element[n], asked);
            if (replica) {
                replica->master = node;
            }
        }
    }

    ngx_adm_redis_map_masters(map);

    return NGX_OK;
}


/* [[first slot, last slot, master, replica, ...], ...] */

static ngx_int_t
ngx_adm_redis_map_check(redisReply *reply)
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
            || element[1]->integer >= NGX_ADM_REDIS_SLOTS
            || !ngx_adm_redis_map_check_node(element[2]))
        {
            return NGX_ERROR;
        }
    }

    return NGX_OK;
}


/* [host, port, id, [name, value, ...]]; the host may be nil */

static ngx_uint_t
ngx_adm_redis_map_check_node(redisReply *reply)
{
    return reply->type == REDIS_REPLY_ARRAY
           && reply->elements >= 2
           && (reply->element[0]->type == REDIS_REPLY_STRING
               || reply->element[0]->type == REDIS_REPLY_NIL)
           && reply->element[1]->type == REDIS_REPLY_INTEGER
           && reply->element[1]->integer > 0
           && reply->element[1]->integer <= 65535;
}


static ngx_adm_redis_node_t *
ngx_adm_redis_map_node(ngx_adm_redis_map_t *map, redisReply *reply,
    ngx_adm_redis_node_t *asked)
{
    size_t                 i;
    ngx_str_t              host, address;
    redisReply            *more;
    ngx_adm_redis_node_t  *node;

    if (!ngx_adm_redis_map_check_node(reply)) {
        return NULL;
    }

    host.data = (u_char *) reply->element[0]->str;
    host.len = reply->element[0]->len;

    /* the node does not know its own address: it is where it was asked */

    if (reply->element[0]->type == REDIS_REPLY_NIL
        || host.len == 0
        || (host.len == 1 && host.data[0] == '?'))
    {
        host = asked->host;
    }

    node = ngx_adm_redis_node_at(map->nodes, &host,
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

        ngx_adm_redis_node_hint(node, &address);
    }

    return node;
}


/* the hash is a sum, since nodes tell their map in any order */

static void
ngx_adm_redis_map_masters(ngx_adm_redis_map_t *map)
{
    uint32_t               hash;
    ngx_uint_t             n;
    ngx_queue_t           *q;
    ngx_adm_redis_node_t  *node;

    hash = 0;
    n = 0;

    for (q = ngx_queue_head(&map->nodes->queue);
         q != ngx_queue_sentinel(&map->nodes->queue);
         q = ngx_queue_next(q))
    {
        node = ngx_queue_data(q, ngx_adm_redis_node_t, queue);

        if (node->has_slots) {
            hash += ngx_murmur_hash2(node->name.data, node->name.len);
            n++;
        }
    }

    if (ngx_adm_redis_masters(hash) == NGX_OK) {
        ngx_log_error(NGX_LOG_NOTICE, map->log, 0, "admission: redis cluster: "
                      "other masters than before, %ui of them", n);
    }
}


void
ngx_adm_redis_map_moved(ngx_adm_redis_map_t *map, ngx_uint_t slot,
    ngx_adm_redis_node_t *node)
{
    node->used = 1;
    node->has_slots = 1;

    map->slots[slot] = node;
}


void
ngx_adm_redis_map_taken_over(ngx_adm_redis_map_t *map, ngx_uint_t slot,
    ngx_adm_redis_node_t *node)
{
    ngx_uint_t             i;
    ngx_adm_redis_node_t  *old;

    old = map->slots[slot];

    ngx_adm_redis_map_moved(map, slot, node);

    /* NULL: a map that came meanwhile says that nobody has the slot */

    for (i = 0; old && i < NGX_ADM_REDIS_SLOTS; i++) {
        if (map->slots[i] == old) {
            map->slots[i] = node;
        }
    }

    node->master = NULL;
}
