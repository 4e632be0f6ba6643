
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Nodes by the addresses of events' nodes: events that have none pay nothing.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "few.h"


void
ngx_adm_few_empty(ngx_adm_few_t *few)
{
    few->n = 0;

    ngx_rbtree_init(&few->tree, &few->sentinel, ngx_rbtree_insert_value);
}


void *
ngx_adm_few_of_locked(ngx_adm_few_t *few, ngx_adm_event_node_t *en)
{
    return (en && few->n) ? ngx_adm_event_find_locked(&few->tree, en) : NULL;
}


void *
ngx_adm_few_next_locked(ngx_adm_few_t *few, ngx_rbtree_key_t *key)
{
    ngx_rbtree_node_t  *node;

    node = ngx_adm_event_after_key_locked(&few->tree, *key);

    if (node) {
        *key = node->key;
    }

    return node;
}


void
ngx_adm_few_add_locked(ngx_adm_few_t *few, void *node,
    ngx_adm_event_node_t *en)
{
    few->n++;

    ngx_adm_event_keep_locked(&few->tree, node, en);
}


void
ngx_adm_few_free_locked(ngx_adm_zone_t *zone, ngx_adm_few_t *few, void *node)
{
    few->n--;

    ngx_rbtree_delete(&few->tree, node);
    ngx_slab_free_locked(zone->shpool, node);
}


/* while others have the lock any of these may go or come */

void
ngx_adm_few_copy(ngx_adm_zone_t *zone, ngx_adm_zone_t *ozone,
    ngx_adm_few_t *few, ngx_adm_few_copy_pt copy, void *data)
{
    void                  *node;
    ngx_str_t              id;
    ngx_uint_t             step;
    ngx_rbtree_key_t       key;
    ngx_adm_event_node_t  *en, *oen;

    step = 0;
    key = 0;

    ngx_adm_zone_lock(ozone);

    while ((node = ngx_adm_few_next_locked(few, &key)) != NULL) {
        oen = ngx_adm_few_event(node);

        id.len = oen->len;
        id.data = oen->id;

        en = ngx_adm_event_lookup_locked(zone, &id);

        if (en) {
            copy(zone, en, node, data);
        }

        (void) ngx_adm_zone_step_locked(ozone, &step);
    }

    ngx_adm_zone_unlock(ozone);
}
