
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Structures of a worker, by id.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "by_id.h"


static uint32_t
ngx_adm_by_id_key(ngx_str_t *id, ngx_uint_t kind)
{
    return ngx_murmur_hash2(id->data, id->len) ^ (uint32_t) kind;
}


void *
ngx_adm_by_id_find(ngx_adm_by_id_t *by_id, ngx_str_t *id, ngx_uint_t kind)
{
    if (by_id->tree.root == NULL) {
        return NULL;
    }

    return ngx_str_rbtree_lookup(&by_id->tree, id,
                                 ngx_adm_by_id_key(id, kind));
}


void
ngx_adm_by_id_add(ngx_adm_by_id_t *by_id, ngx_str_node_t *sn, ngx_str_t *id,
    ngx_uint_t kind, u_char *copy)
{
    if (by_id->tree.root == NULL) {
        ngx_rbtree_init(&by_id->tree, &by_id->sentinel,
                        ngx_str_rbtree_insert_value);
    }

    ngx_memcpy(copy, id->data, id->len);

    sn->node.key = ngx_adm_by_id_key(id, kind);
    sn->str.len = id->len;
    sn->str.data = copy;

    ngx_rbtree_insert(&by_id->tree, &sn->node);
}


void
ngx_adm_by_id_delete(ngx_adm_by_id_t *by_id, ngx_str_node_t *sn)
{
    ngx_rbtree_delete(&by_id->tree, &sn->node);
}
