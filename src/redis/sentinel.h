
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The master of Redis as the sentinels know it: one sentinel is asked once a
 * second; while calls to the master fail, sooner, and another one each time.
 */


#ifndef _NGX_ADM_REDIS_SENTINEL_H_INCLUDED_
#define _NGX_ADM_REDIS_SENTINEL_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "parked.h"
#include "node.h"


typedef struct ngx_adm_redis_sentinel_s  ngx_adm_redis_sentinel_t;


/* NULL: no memory. parked is given the news when the master is known. */
ngx_adm_redis_sentinel_t *ngx_adm_redis_sentinel_create(ngx_cycle_t *cycle,
    ngx_adm_redis_nodes_t *nodes, ngx_adm_redis_parked_t *parked);

/* to be called before the nodes are closed */
void ngx_adm_redis_sentinel_close(ngx_adm_redis_sentinel_t *sentinel);

/*
 * Sends a call to the master, or parks it while none is known.  NGX_ERROR:
 * neither, since the master is known to be down.
 */
ngx_int_t ngx_adm_redis_sentinel_send(ngx_adm_redis_sentinel_t *sentinel,
    ngx_adm_redis_call_t *call);

/* the connection of a node failed */
void ngx_adm_redis_sentinel_failed(ngx_adm_redis_sentinel_t *sentinel,
    ngx_adm_redis_node_t *node);


#endif /* _NGX_ADM_REDIS_SENTINEL_H_INCLUDED_ */
