
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The key of a window in Redis: whose it is, and of what.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>
#include <ngx_sha1.h>

#include "../base/address.h"
#include "../host/args.h"
#include "../http/user.h"
#include "parts.h"


#define NGX_ADM_LIMIT_KEY         "rate:"

/* bytes of a client that its key shows; of a longer one it has a hash */
#define NGX_ADM_LIMIT_CLIENT_MAX  64


ngx_int_t
ngx_adm_limit_key(ngx_http_request_t *r, ngx_adm_ctx_t *ctx,
    ngx_adm_limit_conf_t *conf, ngx_str_t *key)
{
    u_char      *p, hash[40], digest[20];
    size_t       i;
    ngx_str_t    client, prefix, *category;
    ngx_sha1_t   sha1;

    if (conf->key) {

        if (ngx_http_complex_value(r, conf->key, &client) != NGX_OK) {
            return NGX_ERROR;
        }

        if (client.len == 0) {
            return NGX_DECLINED;
        }

    } else {

        if (ngx_adm_user_find(r, ctx) != NGX_OK
            || ngx_adm_client_name(r, &ctx->user.id, conf->ipv6_prefix, &client)
               != NGX_OK)
        {
            return NGX_ERROR;
        }
    }

    /* braces would choose the slot */

    for (i = 0; i < client.len; i++) {
        if (client.data[i] == '{' || client.data[i] == '}') {
            break;
        }
    }

    if (i < client.len || client.len > NGX_ADM_LIMIT_CLIENT_MAX) {

        ngx_sha1_init(&sha1);
        ngx_sha1_update(&sha1, client.data, client.len);
        ngx_sha1_final(digest, &sha1);

        client.data = hash;
        client.len = ngx_hex_dump(hash, digest, sizeof(digest)) - hash;
    }

    ngx_str_null(&prefix);

    if (ngx_adm_redis) {
        prefix = ngx_adm_key_prefix;
    }

    category = &conf->category->name;

    key->len = prefix.len + sizeof(NGX_ADM_LIMIT_KEY ":") - 1
               + category->len + client.len;

    p = ngx_pnalloc(r->pool, key->len);
    if (p == NULL) {
        return NGX_ERROR;
    }

    key->data = p;

    if (prefix.len) {
        p = ngx_cpymem(p, prefix.data, prefix.len);
    }

    p = ngx_cpymem(p, NGX_ADM_LIMIT_KEY, sizeof(NGX_ADM_LIMIT_KEY) - 1);
    p = ngx_cpymem(p, category->data, category->len);
    *p++ = ':';
    ngx_memcpy(p, client.data, client.len);

    return NGX_OK;
}
