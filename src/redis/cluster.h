
/*
 * Copyright (C) 2026 the admission module authors
 *
 * A cluster of Redis: calls go to the node that has their slot, and where
 * redirections say.
 */


#ifndef _NGX_ADM_REDIS_CLUSTER_H_INCLUDED_
#define _NGX_ADM_REDIS_CLUSTER_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "parked.h"
#include "node.h"


typedef struct ngx_adm_redis_cluster_s  ngx_adm_redis_cluster_t;


/* NULL: no memory. parked is given the news when there is a map. */
ngx_adm_redis_cluster_t *ngx_adm_redis_cluster_create(ngx_cycle_t *cycle,
    ngx_adm_redis_nodes_t *nodes, ngx_adm_redis_parked_t *parked);

/* to be called before the nodes are closed */
void ngx_adm_redis_cluster_close(ngx_adm_redis_cluster_t *cluster);

/*
 * Sends a call to the node of its slot, or parks it.  NGX_ERROR: neither,
 * since that node is known to be down.
 */
ngx_int_t ngx_adm_redis_cluster_send(ngx_adm_redis_cluster_t *cluster,
    ngx_adm_redis_call_t *call);

/*
 * The reply to the call is an error.  NGX_OK: it was a redirection, and the
 * call goes where it says or waits to be sent again; NGX_ERROR: so it was, but
 * nobody is there; NGX_DECLINED: the reply is final.
 */
ngx_int_t ngx_adm_redis_cluster_redirect(ngx_adm_redis_cluster_t *cluster,
    ngx_adm_redis_call_t *call, redisReply *reply);

/* any answer to a call with "probe" set; to be called before the above */
void ngx_adm_redis_cluster_probed(ngx_adm_redis_cluster_t *cluster,
    ngx_adm_redis_call_t *call, ngx_int_t rc, redisReply *reply);

/* the connection of a node failed */
void ngx_adm_redis_cluster_failed(ngx_adm_redis_cluster_t *cluster,
    ngx_adm_redis_node_t *node);


#endif /* _NGX_ADM_REDIS_CLUSTER_H_INCLUDED_ */
