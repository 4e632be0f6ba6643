
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Looks at a waiting room that the host does not know.  While one is out, all
 * others of the worker at that event wait for its answer: that may be as old
 * as the call has been out, which is no longer than hosts take to hear of each
 * other.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>

#include "calls.h"


/* the one call about an event; in the tree until it is answered */
typedef struct {
    ngx_str_node_t               sn;         /* str: the id */
    ngx_queue_t                  waiting;
    ngx_adm_redis_call_t        *call;       /* NULL: it was answered */
    u_char                       id[1];
} ngx_adm_looks_t;


struct ngx_adm_look_s {
    ngx_queue_t                  queue;
    ngx_adm_looks_t             *all;        /* of its event */
    ngx_adm_room_calls_done_pt   done;
    void                        *data;
};


static ngx_adm_looks_t *ngx_adm_looks(ngx_str_t *event,
    ngx_adm_event_conf_t *conf);
static void ngx_adm_looks_done(void *data, ngx_int_t rc, int64_t changed,
    ngx_adm_room_t *room);


static ngx_rbtree_t       ngx_adm_look_events;
static ngx_rbtree_node_t  ngx_adm_look_sentinel;


ngx_adm_look_t *
ngx_adm_room_look_at(ngx_str_t *event, ngx_adm_event_conf_t *conf,
    ngx_adm_room_calls_done_pt done, void *data)
{
    ngx_adm_look_t  *look;

    look = ngx_alloc(sizeof(ngx_adm_look_t), ngx_cycle->log);
    if (look == NULL) {
        return NULL;
    }

    look->done = done;
    look->data = data;
    look->all = ngx_adm_looks(event, conf);

    if (look->all == NULL) {
        ngx_free(look);
        return NULL;
    }

    ngx_queue_insert_tail(&look->all->waiting, &look->queue);

    return look;
}


/* if all go away the call stays, for whoever comes before its answer */

void
ngx_adm_room_look_cancel(void *data)
{
    ngx_adm_look_t *look = data;

    ngx_adm_looks_t  *looks;

    looks = look->all;

    ngx_queue_remove(&look->queue);
    ngx_free(look);

    if (ngx_queue_empty(&looks->waiting) && looks->call) {
        ngx_adm_redis_want(looks->call, 0);
    }
}


/* the look that is out, or one that begins now; NULL: it could not */

static ngx_adm_looks_t *
ngx_adm_looks(ngx_str_t *event, ngx_adm_event_conf_t *conf)
{
    uint32_t          hash;
    ngx_adm_looks_t  *looks;

    if (ngx_adm_look_events.root == NULL) {
        ngx_rbtree_init(&ngx_adm_look_events, &ngx_adm_look_sentinel,
                        ngx_str_rbtree_insert_value);
    }

    hash = ngx_murmur_hash2(event->data, event->len);

    looks = (ngx_adm_looks_t *) ngx_str_rbtree_lookup(&ngx_adm_look_events,
                                                      event, hash);
    if (looks) {
        ngx_log_debug1(NGX_LOG_DEBUG_HTTP, ngx_cycle->log, 0,
                       "admission: room of event \"%V\": a look is out",
                       event);

        ngx_adm_redis_want(looks->call, 1);
        return looks;
    }

    looks = ngx_calloc(sizeof(ngx_adm_looks_t) + event->len, ngx_cycle->log);
    if (looks == NULL) {
        return NULL;
    }

    looks->call = ngx_adm_room_calls_admin(NGX_ADM_ROOM_CALL_LOOK, 0, event,
                                           conf, ngx_adm_looks_done, looks);
    if (looks->call == NULL) {
        ngx_free(looks);
        return NULL;
    }

    ngx_memcpy(looks->id, event->data, event->len);
    looks->sn.str.len = event->len;
    looks->sn.str.data = looks->id;
    looks->sn.node.key = hash;

    ngx_queue_init(&looks->waiting);
    ngx_rbtree_insert(&ngx_adm_look_events, &looks->sn.node);

    return looks;
}


/*
 * those who are told may ask again, by another call, or cancel others,
 * meanwhile
 */

static void
ngx_adm_looks_done(void *data, ngx_int_t rc, int64_t changed,
    ngx_adm_room_t *room)
{
    ngx_adm_looks_t *looks = data;

    void                        *waiter;
    ngx_queue_t                 *q;
    ngx_adm_look_t              *look;
    ngx_adm_room_calls_done_pt   done;

    looks->call = NULL;
    ngx_rbtree_delete(&ngx_adm_look_events, &looks->sn.node);

    while (!ngx_queue_empty(&looks->waiting)) {
        q = ngx_queue_head(&looks->waiting);
        ngx_queue_remove(q);

        look = ngx_queue_data(q, ngx_adm_look_t, queue);

        done = look->done;
        waiter = look->data;
        ngx_free(look);

        done(waiter, rc, room);
    }

    ngx_free(looks);
}
