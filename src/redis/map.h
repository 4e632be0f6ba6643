
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The map of a Redis cluster: which node has a slot.  It comes whole, as the
 * answer to CLUSTER SLOTS, and is put right slot by slot by what nodes say.
 */


#ifndef _NGX_ADM_REDIS_MAP_H_INCLUDED_
#define _NGX_ADM_REDIS_MAP_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "node.h"
#include "slots.h"


typedef struct {
    ngx_adm_redis_nodes_t      *nodes;
    ngx_log_t                  *log;

    /* NULL: as far as is known no node has it */
    ngx_adm_redis_node_t       *slots [NGX_ADM_REDIS_SLOTS];
} ngx_adm_redis_map_t;


/*
 * The answer of a node to CLUSTER SLOTS; nodes that are not in it are not
 * "used" from then on.  NGX_ERROR: it is no map, and nothing has changed.
 */
ngx_int_t ngx_adm_redis_map_read(ngx_adm_redis_map_t *map, redisReply *reply,
    ngx_adm_redis_node_t *asked);

/* this slot is the node's, as a redirection says */
void ngx_adm_redis_map_moved(ngx_adm_redis_map_t *map, ngx_uint_t slot,
    ngx_adm_redis_node_t *node);

/* a replica has the slot, and with it all slots of its master */
void ngx_adm_redis_map_taken_over(ngx_adm_redis_map_t *map, ngx_uint_t slot,
    ngx_adm_redis_node_t *node);


#endif /* _NGX_ADM_REDIS_MAP_H_INCLUDED_ */
