
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Copies of what is known of events, a few at a time, so that the lock is not
 * held for all of them.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/clock.h"
#include "event_node.h"
#include "event_view.h"
#include "room_list.h"
#include "there.h"


static void ngx_adm_event_view_copy_locked(ngx_adm_event_view_t *view,
    ngx_adm_event_node_t *en);


void
ngx_adm_event_view_get(ngx_str_t *id, ngx_adm_event_view_t *view)
{
    ngx_adm_event_node_t  *en;

    ngx_memzero(view, sizeof(ngx_adm_event_view_t));

    view->state.threshold = -1;
    view->state.slots = -1;
    view->state.sold = -1;
    view->room.api_rate = -1;
    view->room.measured = -1;

    view->len = id->len;
    ngx_memcpy(view->id, id->data, id->len);

    ngx_adm_zone_lock(ngx_adm_zone);

    en = ngx_adm_event_lookup_locked(ngx_adm_zone, id);

    if (en) {
        ngx_adm_event_view_copy_locked(view, en);
    }

    ngx_adm_zone_unlock(ngx_adm_zone);
}


ngx_uint_t
ngx_adm_event_view_next(ngx_adm_event_view_t *after,
    ngx_adm_event_view_t *views, ngx_uint_t max)
{
    ngx_str_t              id;
    ngx_uint_t             n;
    ngx_rbtree_t          *tree;
    ngx_rbtree_node_t     *node;
    ngx_adm_event_node_t  *en;

    tree = &ngx_adm_events(ngx_adm_zone)->tree;
    ngx_memzero(views, max * sizeof(ngx_adm_event_view_t));

    if (after) {
        id.len = after->len;
        id.data = after->id;
    }

    ngx_adm_zone_lock(ngx_adm_zone);

    node = ngx_adm_event_after_locked(ngx_adm_zone, after ? &id : NULL);

    for (n = 0; node && n < max; n++) {
        en = ngx_adm_event_of(node);

        views[n].room.api_rate = -1;
        views[n].room.measured = -1;

        ngx_adm_event_view_copy_locked(&views[n], en);

        node = ngx_rbtree_next(tree, node);
    }

    ngx_adm_zone_unlock(ngx_adm_zone);

    return n;
}


int64_t
ngx_adm_event_view_age(void)
{
    int64_t  listed;

    ngx_adm_zone_lock(ngx_adm_zone);

    listed = ngx_adm_rooms_time_locked(ngx_adm_zone);

    ngx_adm_zone_unlock(ngx_adm_zone);

    return listed ? ngx_max(ngx_adm_now_us() - listed, 0) : -1;
}


static void
ngx_adm_event_view_copy_locked(ngx_adm_event_view_t *view,
    ngx_adm_event_node_t *en)
{
    view->state = en->state;
    view->restore = ngx_adm_event_restore_locked(en);

    if (en->room) {
        view->room = en->room->room;
        view->there = en->active ? ngx_adm_there_waiting_locked(en->room) : 0;
    }

    view->len = en->len;
    ngx_memcpy(view->id, en->id, en->len);
}
