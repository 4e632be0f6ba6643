
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What "admission_redis" means to the client: read-only, as parsers made it.
 */


#ifndef _NGX_ADM_REDIS_SETTINGS_H_INCLUDED_
#define _NGX_ADM_REDIS_SETTINGS_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "breaker.h"
#include "ssl.h"


/* what a URL of "admission_redis" names */
typedef struct {
    ngx_str_t                              name;     /* for the log */
    ngx_str_t                              host;     /* empty: a socket */
    in_port_t                              port;
    ngx_addr_t                            *addrs;    /* as found at the start */
    ngx_uint_t                             naddrs;
    unsigned                               is_name:1;
} ngx_adm_redis_endpoint_t;


typedef struct {
    ngx_array_t                 endpoints;

    ngx_str_t                   unresolved; /* a URL whose host is not found */
    ngx_str_t                   master;   /* its name; endpoints
                                             are sentinels */
    unsigned                    cluster:1;

    ngx_str_t                   auth;     /* commands, as sent; */
    ngx_str_t                   select;   /* empty: not needed */

    ngx_adm_redis_ssl_t        *ssl;      /* NULL: no TLS */

    ngx_str_t                   prefix;
    ngx_msec_t                  timeout;

    ngx_adm_redis_breaker_conf_t  breaker;
} ngx_adm_redis_conf_t;


#endif /* _NGX_ADM_REDIS_SETTINGS_H_INCLUDED_ */
