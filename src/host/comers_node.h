
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Shapes that comers.c and comers_late.c share.
 */


#ifndef _NGX_ADM_HOST_COMERS_NODE_H_INCLUDED_
#define _NGX_ADM_HOST_COMERS_NODE_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "comers.h"
#include "event_node.h"


/* what there is of an event; key: the event's node */
typedef struct {
    ngx_rbtree_node_t           node;
    int64_t                     activation;
    ngx_uint_t                  more;
    ngx_uint_t                  telling;     /* of them, being told */
    ngx_msec_t                  taken;       /* when a step last took some */
    ngx_uint_t                  out;         /* bool: a step has it */
    int64_t                     since;       /* us, since when Redis has all
                                                this */
    ngx_uint_t                  again;       /* bool: Redis lost it; fields
                                                by keys */
    ngx_rbtree_key_t            above;       /* above this are to be told
                                                again */
    ngx_rbtree_key_t            before;      /* "above" before a step, until
                                                told */
    ngx_uint_t                  ngaps;
    int64_t                     gaps[2 * NGX_ADM_COMERS_GAPS];
    ngx_queue_t                 dirty;       /* fields with something untold */
    ngx_queue_t                 sent;        /* fields that are being told */
    ngx_queue_t                 clean;
    ngx_rbtree_t                fields;
    ngx_rbtree_node_t           fields_end;
    ngx_rbtree_t                asks;
    ngx_rbtree_node_t           asks_end;
    ngx_rbtree_t                turns;
    ngx_rbtree_node_t           turns_end;
} ngx_adm_comers_node_t;


/* a number that came late, in one of two trees of its event */
typedef struct {
    ngx_rbtree_node_t           node;
    ngx_queue_t                 queue;       /* latest heard of first */
    ngx_adm_comers_node_t      *of;
    int64_t                     turn;        /* us; 0: the counter's */
    ngx_msec_t                  heard;
    ngx_uint_t                  granted;     /* bool */
} ngx_adm_comers_late_t;


typedef struct {
    size_t                      bytes;       /* of fields */
    size_t                      late_bytes;
    ngx_queue_t                 lates;
    ngx_rbtree_t                tree;
    ngx_rbtree_node_t           sentinel;
} ngx_adm_comers_all_t;


#define ngx_adm_comers(zone)                                                  \
    ((ngx_adm_comers_all_t *) ngx_adm_zone_data(zone, &ngx_adm_comers_part))


/* what there is of an event; NULL: nothing */
ngx_adm_comers_node_t *ngx_adm_comers_of_locked(ngx_adm_zone_t *zone,
    ngx_adm_event_node_t *en);

/*
 * The node for that activation, made if need be.  NULL: the activation is
 * over, or there is no room for it.  Then *alone is the room's own node, which
 * has space for the least that has to be known, or NULL if it is of another
 * activation.
 */
ngx_adm_comers_node_t *ngx_adm_comers_get_locked(ngx_adm_zone_t *zone,
    ngx_str_t *event, int64_t activation);
ngx_adm_room_node_t *ngx_adm_comers_alone_locked(ngx_adm_zone_t *zone,
    ngx_str_t *event, int64_t activation);

ngx_rbtree_node_t *ngx_adm_comers_find(ngx_rbtree_t *tree, int64_t key);

/* whether this host made the first token of the number */
ngx_uint_t ngx_adm_comers_known(ngx_adm_comers_node_t *cn, int64_t position);


/* of comers_late.c: adds those who ask to what a step tells */
void ngx_adm_comers_asks_locked(ngx_adm_zone_t *zone,
    ngx_adm_comers_node_t *cn, ngx_adm_comers_t *comers);

/* the same for the one that the room's own node has */
void ngx_adm_comers_ask_alone_locked(ngx_adm_room_node_t *rn,
    ngx_adm_comers_t *comers);

/* forgets all who were late */
void ngx_adm_comers_late_drop_locked(ngx_adm_zone_t *zone,
    ngx_adm_comers_node_t *cn);


#endif /* _NGX_ADM_HOST_COMERS_NODE_H_INCLUDED_ */
