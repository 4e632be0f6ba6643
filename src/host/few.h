
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What few events have, in a part of its own: nodes that begin with one of
 * NGINX's trees, whose key is the address of the event's.
 */


#ifndef _NGX_ADM_HOST_FEW_H_INCLUDED_
#define _NGX_ADM_HOST_FEW_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "event_node.h"


typedef struct {
    ngx_uint_t           n;
    ngx_rbtree_t         tree;
    ngx_rbtree_node_t    sentinel;
} ngx_adm_few_t;


/* the event whose node this is */
#define ngx_adm_few_event(node)                                               \
    ((ngx_adm_event_node_t *) (uintptr_t)                                     \
        ((ngx_rbtree_node_t *) (node))->key)


/* forgets all, whose memory is gone */
void ngx_adm_few_empty(ngx_adm_few_t *few);

/*
 * NULL: the event has none; en may be the address of one that is gone, or NULL
 */
void *ngx_adm_few_of_locked(ngx_adm_few_t *few, ngx_adm_event_node_t *en);

/* the first one after key (0: of all), which moves on; NULL: there is none */
void *ngx_adm_few_next_locked(ngx_adm_few_t *few, ngx_rbtree_key_t *key);

void ngx_adm_few_add_locked(ngx_adm_few_t *few, void *node,
    ngx_adm_event_node_t *en);

/* takes it out, and frees it */
void ngx_adm_few_free_locked(ngx_adm_zone_t *zone, ngx_adm_few_t *few,
    void *node);

/*
 * Calls copy for each node of the zone before whose event the new zone has,
 * with that event as en and the caller's data.
 */
typedef void (*ngx_adm_few_copy_pt)(ngx_adm_zone_t *zone,
    ngx_adm_event_node_t *en, void *node, void *data);

void ngx_adm_few_copy(ngx_adm_zone_t *zone, ngx_adm_zone_t *ozone,
    ngx_adm_few_t *few, ngx_adm_few_copy_pt copy, void *data);


#endif /* _NGX_ADM_HOST_FEW_H_INCLUDED_ */
