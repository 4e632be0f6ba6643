
/*
 * Copyright (C) 2026 the admission module authors
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_admission_view.h"
#include "ngx_http_admission_zone_shm.h"


static void ngx_http_admission_view_copy_locked(
    ngx_http_admission_view_t *view, ngx_http_admission_event_node_t *en);
static ngx_rbtree_node_t *ngx_http_admission_view_after_locked(
    ngx_rbtree_t *tree, ngx_http_admission_view_t *after);


void
ngx_http_admission_view_get(ngx_str_t *id, ngx_http_admission_view_t *view)
{
    ngx_http_admission_event_node_t  *en;

    ngx_memzero(view, sizeof(ngx_http_admission_view_t));

    view->state.threshold = -1;
    view->room.api_rate = -1;
    view->room.measured = -1;

    view->len = id->len;
    ngx_memcpy(view->id, id->data, id->len);

    ngx_http_admission_zone_lock(ngx_http_admission_zone);

    en = ngx_http_admission_event_lookup_locked(ngx_http_admission_zone, id);

    if (en) {
        ngx_http_admission_view_copy_locked(view, en);
    }

    ngx_http_admission_zone_unlock(ngx_http_admission_zone);
}


ngx_uint_t
ngx_http_admission_view_next(ngx_http_admission_view_t *after,
    ngx_http_admission_view_t *views, ngx_uint_t max)
{
    ngx_uint_t                        n;
    ngx_rbtree_t                     *tree;
    ngx_rbtree_node_t                *node;
    ngx_http_admission_event_node_t  *en;

    tree = &ngx_http_admission_zone->sh->events;
    ngx_memzero(views, max * sizeof(ngx_http_admission_view_t));

    ngx_http_admission_zone_lock(ngx_http_admission_zone);

    node = ngx_http_admission_view_after_locked(tree, after);

    for (n = 0; node && n < max; n++) {
        en = (ngx_http_admission_event_node_t *) &node->color;

        views[n].room.api_rate = -1;
        views[n].room.measured = -1;

        ngx_http_admission_view_copy_locked(&views[n], en);

        node = ngx_rbtree_next(tree, node);
    }

    ngx_http_admission_zone_unlock(ngx_http_admission_zone);

    return n;
}


int64_t
ngx_http_admission_view_age(void)
{
    int64_t           listed;

    ngx_http_admission_zone_lock(ngx_http_admission_zone);

    listed = ngx_http_admission_zone->sh->listed;

    ngx_http_admission_zone_unlock(ngx_http_admission_zone);

    return listed ? ngx_max(ngx_http_admission_now_us() - listed, 0) : -1;
}


static void
ngx_http_admission_view_copy_locked(ngx_http_admission_view_t *view,
    ngx_http_admission_event_node_t *en)
{
    view->state = en->state;
    view->restore = ngx_http_admission_event_restore_locked(en);

    if (en->room) {
        view->room = en->room->room;
    }

    view->len = en->len;
    ngx_memcpy(view->id, en->id, en->len);
}


/* in the order of the tree: by hash, then by id */

static ngx_rbtree_node_t *
ngx_http_admission_view_after_locked(ngx_rbtree_t *tree,
    ngx_http_admission_view_t *after)
{
    uint32_t                          hash;
    ngx_rbtree_node_t                *node, *found;
    ngx_http_admission_event_node_t  *en;

    if (tree->root == tree->sentinel) {
        return NULL;
    }

    if (after == NULL) {
        return ngx_rbtree_min(tree->root, tree->sentinel);
    }

    hash = ngx_murmur_hash2(after->id, after->len);

    found = NULL;
    node = tree->root;

    while (node != tree->sentinel) {

        en = (ngx_http_admission_event_node_t *) &node->color;

        if (hash != node->key
            ? hash < node->key
            : ngx_memn2cmp(after->id, en->id, after->len, en->len) < 0)
        {
            found = node;
            node = node->left;

        } else {
            node = node->right;
        }
    }

    return found;
}
