
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Who passes the tiers unasked: by admission_bypass, or by the secret in a
 * header that a CDN in front sends, which has asked already.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../base/reason.h"
#include "../base/text.h"
#include "bypass.h"
#include "headers.h"


typedef struct {
    ngx_http_request_t    *request;
    ngx_adm_ctx_t         *ctx;
    ngx_array_t           *names;     /* of the server's edges */
} ngx_adm_edge_search_t;


static ngx_int_t ngx_adm_edge_is(ngx_table_elt_t *h, void *data);
static ngx_uint_t ngx_adm_edge_trusted(ngx_adm_edge_conf_t *edge,
    ngx_array_t *shown);


ngx_int_t
ngx_adm_edges_take(ngx_http_request_t *r, ngx_adm_ctx_t *ctx,
    ngx_array_t *names)
{
    ngx_adm_edge_search_t  search;

    search.request = r;
    search.ctx = ctx;
    search.names = names;

    return ngx_adm_headers_remove(r, ngx_adm_edge_is, &search);
}


static ngx_int_t
ngx_adm_edge_is(ngx_table_elt_t *h, void *data)
{
    ngx_adm_edge_search_t *search = data;

    ngx_str_t      *name;
    ngx_uint_t      i;
    ngx_keyval_t   *kv;
    ngx_adm_ctx_t  *ctx;

    ctx = search->ctx;
    name = search->names->elts;

    for (i = 0; i < search->names->nelts; i++) {
        if (ngx_adm_header_is(h, &name[i])) {
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


ngx_int_t
ngx_adm_bypassed(ngx_http_request_t *r, ngx_adm_ctx_t *ctx, const char **reason)
{
    ngx_str_t            value;
    ngx_adm_loc_conf_t  *lcf;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    if (lcf->bypass) {

        if (ngx_http_complex_value(r, lcf->bypass, &value) != NGX_OK) {
            return NGX_ERROR;
        }

        if (value.len && !ngx_adm_str_is(&value, "0")) {
            *reason = NULL;
            return NGX_OK;
        }
    }

    if (lcf->edge->name.len && ctx->edges
        && ngx_adm_edge_trusted(lcf->edge, ctx->edges))
    {
        *reason = ngx_adm_reason(EDGE);
        return NGX_OK;
    }

    return NGX_DECLINED;
}


/*
 * an edge's header lets pass if there is one of it, with a secret of that edge
 */

static ngx_uint_t
ngx_adm_edge_trusted(ngx_adm_edge_conf_t *edge, ngx_array_t *shown)
{
    ngx_str_t     *secret;
    ngx_uint_t     i;
    ngx_keyval_t  *kv;

    kv = shown->elts;
    secret = NULL;

    for (i = 0; i < shown->nelts; i++) {

        if (!ngx_adm_str_same(&kv[i].key, &edge->name)) {
            continue;
        }

        /* of several the edge sent only some */

        if (secret) {
            return 0;
        }

        secret = &kv[i].value;
    }

    return secret && ngx_adm_keyring_is_secret(edge->keys, secret);
}
