
/*
 * Copyright (C) 2026 the admission module authors
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_admission_edge.h"
#include "ngx_http_admission_headers.h"


typedef struct {
    ngx_http_request_t          *request;
    ngx_http_admission_ctx_t    *ctx;
    ngx_array_t                 *names;     /* of the server's edges */
} ngx_http_admission_edge_search_t;


static ngx_int_t ngx_http_admission_edge_is(ngx_table_elt_t *h, void *data);


ngx_int_t
ngx_http_admission_edge_take(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx)
{
    ngx_http_admission_srv_conf_t     *scf;
    ngx_http_admission_edge_search_t   search;

    scf = ngx_http_get_module_srv_conf(r, ngx_http_admission_module);

    if (scf->edges == NULL) {
        return NGX_OK;
    }

    search.request = r;
    search.ctx = ctx;
    search.names = scf->edges;

    return ngx_http_admission_headers_remove(r, ngx_http_admission_edge_is,
                                             &search);
}


static ngx_int_t
ngx_http_admission_edge_is(ngx_table_elt_t *h, void *data)
{
    ngx_http_admission_edge_search_t *search = data;

    ngx_str_t                 *name;
    ngx_uint_t                 i;
    ngx_keyval_t              *kv;
    ngx_http_admission_ctx_t  *ctx;

    ctx = search->ctx;
    name = search->names->elts;

    for (i = 0; i < search->names->nelts; i++) {
        if (ngx_http_admission_header_is(h, &name[i])) {
            break;
        }
    }

    if (i == search->names->nelts) {
        return NGX_DECLINED;
    }

    if (ctx->edges == NULL) {
        ctx->edges = ngx_array_create(search->request->pool, 1,
                                      sizeof(ngx_keyval_t));
        if (ctx->edges == NULL) {
            return NGX_ERROR;
        }
    }

    kv = ngx_array_push(ctx->edges);
    if (kv == NULL) {
        return NGX_ERROR;
    }

    kv->key = name[i];
    kv->value = h->value;

    return NGX_OK;
}


ngx_uint_t
ngx_http_admission_edge_trusted(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx)
{
    ngx_str_t                       *shown;
    ngx_uint_t                       i;
    ngx_keyval_t                    *kv;
    ngx_http_admission_loc_conf_t   *lcf;
    ngx_http_admission_edge_conf_t  *edge;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    edge = lcf->edge;

    if (edge->name.len == 0 || ctx->edges == NULL) {
        return 0;
    }

    kv = ctx->edges->elts;
    shown = NULL;

    for (i = 0; i < ctx->edges->nelts; i++) {

        if (kv[i].key.len != edge->name.len
            || ngx_memcmp(kv[i].key.data, edge->name.data, edge->name.len)
               != 0)
        {
            continue;
        }

        /* of several, whoever sent the others is not the edge alone */

        if (shown) {
            return 0;
        }

        shown = &kv[i].value;
    }

    return shown && ngx_http_admission_keyring_is_secret(edge->keys, shown);
}
