
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What a worker has by id, such as of each event: structures that begin with
 * an ngx_str_node_t.  Of two that have the same id one is of kind 0 and the
 * other of kind 1.
 */


#ifndef _NGX_ADM_BASE_BY_ID_H_INCLUDED_
#define _NGX_ADM_BASE_BY_ID_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>


/* zeroed: empty */
typedef struct {
    ngx_rbtree_t       tree;
    ngx_rbtree_node_t  sentinel;
} ngx_adm_by_id_t;


/* NULL: there is none */
void *ngx_adm_by_id_find(ngx_adm_by_id_t *by_id, ngx_str_t *id,
    ngx_uint_t kind);

/* the id is copied to where it stays as long as the structure */
void ngx_adm_by_id_add(ngx_adm_by_id_t *by_id, ngx_str_node_t *sn,
    ngx_str_t *id, ngx_uint_t kind, u_char *copy);

void ngx_adm_by_id_delete(ngx_adm_by_id_t *by_id, ngx_str_node_t *sn);


#endif /* _NGX_ADM_BASE_BY_ID_H_INCLUDED_ */
