
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The addresses of a host name, by the "resolver" of the http block, without
 * blocking the worker.
 */


#ifndef _NGX_ADM_REDIS_RESOLVE_H_INCLUDED_
#define _NGX_ADM_REDIS_RESOLVE_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>


/* n = 0: none, and text says why; addrs live until the handler returns */
typedef void (*ngx_adm_redis_resolved_pt)(void *data, ngx_addr_t *addrs,
    ngx_uint_t n, char *text);


typedef struct {
    ngx_resolver_t             *resolver;
    ngx_adm_redis_resolved_pt   done;
    void                       *data;

    ngx_resolver_ctx_t         *ctx;    /* NULL: not under way */
    in_port_t                   port;
} ngx_adm_redis_resolve_t;


/* the resolver of the http block of the configuration; NULL: it has none */
ngx_resolver_t *ngx_adm_redis_resolver(ngx_cycle_t *cycle);

/*
 * Looks a name up, unless a look-up is under way; done may be called at once.
 * NGX_DECLINED: there is no resolver; NGX_ERROR: no memory.
 */
ngx_int_t ngx_adm_redis_resolve(ngx_adm_redis_resolve_t *resolve,
    ngx_str_t *host, in_port_t port);

/* done will not be called any more */
void ngx_adm_redis_resolve_cancel(ngx_adm_redis_resolve_t *resolve);


#endif /* _NGX_ADM_REDIS_RESOLVE_H_INCLUDED_ */
