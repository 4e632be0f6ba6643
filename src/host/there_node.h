
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Inside of what the zone has of who is there; only for there*.c.  All of it
 * is under the zone's lock.
 */


#ifndef _NGX_ADM_HOST_THERE_NODE_H_INCLUDED_
#define _NGX_ADM_HOST_THERE_NODE_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "there.h"


/* 504 bytes; key: ngx_adm_there_key() */
typedef struct {
    ngx_rbtree_node_t        node;
    u_char                   bits[NGX_ADM_THERE_PAGE / 8];
} ngx_adm_there_page_t;


#define NGX_ADM_THERE_GONE       31      /* more than these count as there
                                            until a table says so */
#define NGX_ADM_THERE_GONE_LIFE  3000    /* ms */

/* 504 bytes: who left by this host and is still in the table */
typedef struct {
    ngx_msec_t               last;
    struct {
        int64_t              number;     /* 0: free */
        ngx_msec_t           at;
    } who[NGX_ADM_THERE_GONE];
} ngx_adm_there_gone_t;


/* what there is of a room */
struct ngx_adm_there_node_s {
    ngx_queue_t              queue;      /* by use */
    ngx_adm_room_node_t     *room;
    int64_t                  of;
    ngx_rbtree_t             pages;
    ngx_rbtree_node_t        sentinel;
    ngx_uint_t               npages;
    ngx_msec_t               told;       /* ms, last by a step; 0: never */
    ngx_adm_there_table_t    table;
    ngx_adm_there_gone_t    *gone;       /* NULL: nobody left */
};


typedef struct {
    ngx_queue_t              nodes;
    size_t                   bytes;
    int64_t                  host;       /* this host's number, for Redis */
} ngx_adm_there_t;


#define ngx_adm_there(zone)                                                   \
    ((ngx_adm_there_t *)                                                      \
        ngx_adm_zone_data(zone, &ngx_adm_there_part))

/* by which pages of a kind are next to each other */
#define ngx_adm_there_key(kind, page)                                         \
    (((ngx_rbtree_key_t) (kind) << 40) | (ngx_rbtree_key_t) (page))
#define ngx_adm_there_kind(key)   ((ngx_uint_t) ((key) >> 40))
#define ngx_adm_there_index(key)                                              \
    ((int64_t) ((key) & (((ngx_rbtree_key_t) 1 << 40) - 1)))


/*
 * what there is of the room for its numbers of now, made if need be; NULL: no
 * room
 */
ngx_adm_there_node_t *ngx_adm_there_node_locked(ngx_adm_zone_t *zone,
    ngx_adm_room_node_t *rn);

/*
 * how many of the numbers after from, up to number, left and are still
 * counted: by the table, or since there is none
 */
int64_t ngx_adm_there_gone_locked(ngx_adm_there_node_t *tn, int64_t from,
    int64_t to);

/* zeroed memory, within the bound for all of it; NULL: there is none */
void *ngx_adm_there_alloc_locked(ngx_adm_zone_t *zone, size_t size);

/* a page, made if need be, by its own number, not that of its first one */
ngx_adm_there_page_t *ngx_adm_there_page_locked(ngx_adm_zone_t *zone,
    ngx_adm_there_node_t *tn, ngx_uint_t kind, int64_t index);
void ngx_adm_there_drop_locked(ngx_adm_zone_t *zone, ngx_adm_there_node_t *tn,
    ngx_adm_there_page_t *page);

void ngx_adm_there_table_free_locked(ngx_adm_zone_t *zone,
    ngx_adm_there_node_t *tn);


#endif /* _NGX_ADM_HOST_THERE_NODE_H_INCLUDED_ */
