
/*
 * Copyright (C) 2026 the admission module authors
 *
 * One look-up at a time by NGINX's resolver, which the http block configures:
 * the only file of the client that knows of http.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>
#include <ngx_http.h>

#include "resolve.h"


#define NGX_ADM_REDIS_RESOLVE_TIMEOUT  5000       /* ms */
#define NGX_ADM_RESOLVE_MAX    16


static void ngx_adm_redis_resolve_handler(ngx_resolver_ctx_t *ctx);


ngx_resolver_t *
ngx_adm_redis_resolver(ngx_cycle_t *cycle)
{
    ngx_resolver_t            *resolver;
    ngx_http_conf_ctx_t       *ctx;
    ngx_http_core_loc_conf_t  *clcf;

    ctx = (ngx_http_conf_ctx_t *) cycle->conf_ctx[ngx_http_module.index];
    clcf = ctx->loc_conf[ngx_http_core_module.ctx_index];

    resolver = clcf->resolver;

    /* NGINX makes a resolver without servers, too */

    return (resolver && resolver->connections.nelts) ? resolver : NULL;
}


ngx_int_t
ngx_adm_redis_resolve(ngx_adm_redis_resolve_t *resolve, ngx_str_t *host,
    in_port_t port)
{
    ngx_resolver_ctx_t  *ctx;

    if (resolve->ctx) {
        return NGX_OK;
    }

    if (resolve->resolver == NULL) {
        return NGX_DECLINED;
    }

    ctx = ngx_resolve_start(resolve->resolver, NULL);

    if (ctx == NULL || ctx == NGX_NO_RESOLVER) {
        return NGX_ERROR;
    }

    ctx->name = *host;
    ctx->handler = ngx_adm_redis_resolve_handler;
    ctx->data = resolve;
    ctx->timeout = NGX_ADM_REDIS_RESOLVE_TIMEOUT;
    ctx->cancelable = 1;

    resolve->ctx = ctx;
    resolve->port = port;

    /* ngx_resolve_name() frees the context when it fails */

    if (ngx_resolve_name(ctx) != NGX_OK) {
        resolve->ctx = NULL;
        return NGX_ERROR;
    }

    return NGX_OK;
}


void
ngx_adm_redis_resolve_cancel(ngx_adm_redis_resolve_t *resolve)
{
    if (resolve->ctx) {
        ngx_resolve_name_done(resolve->ctx);
        resolve->ctx = NULL;
    }
}


static void
ngx_adm_redis_resolve_handler(ngx_resolver_ctx_t *ctx)
{
    u_char                               text[NGX_ADM_RESOLVE_MAX]
                                             [NGX_SOCKADDR_STRLEN];
    ngx_addr_t                addrs[NGX_ADM_RESOLVE_MAX];
    ngx_uint_t                i, n;
    ngx_sockaddr_t            sa[NGX_ADM_RESOLVE_MAX];
    ngx_adm_redis_resolve_t  *resolve;

    resolve = ctx->data;
    resolve->ctx = NULL;

    if (ctx->state) {
        resolve->done(resolve->data, NULL, 0,
                      ngx_resolver_strerror(ctx->state));

        ngx_resolve_name_done(ctx);
        return;
    }

    n = ngx_min(ctx->naddrs, NGX_ADM_RESOLVE_MAX);

    for (i = 0; i < n; i++) {
        ngx_memcpy(&sa[i], ctx->addrs[i].sockaddr, ctx->addrs[i].socklen);
        ngx_inet_set_port(&sa[i].sockaddr, resolve->port);

        addrs[i].sockaddr = &sa[i].sockaddr;
        addrs[i].socklen = ctx->addrs[i].socklen;
        addrs[i].name.data = text[i];
        addrs[i].name.len = ngx_sock_ntop(&sa[i].sockaddr, addrs[i].socklen,
                                          text[i], NGX_SOCKADDR_STRLEN, 1);
    }

    resolve->done(resolve->data, addrs, n, "no address");

    ngx_resolve_name_done(ctx);
}
