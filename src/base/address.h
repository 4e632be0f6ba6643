
/*
 * Copyright (C) 2026 the admission module authors
 *
 * A client's address as the module names it.
 */


#ifndef _NGX_ADM_BASE_ADDRESS_H_INCLUDED_
#define _NGX_ADM_BASE_ADDRESS_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>


/* bits of an IPv6 address within which a client changes it at will */
#define NGX_ADM_IPV6_PREFIX  64


/*
 * The address of the connection, after realip: of IPv6 the network with so
 * many bits (1 to 128), as "2001:db8::/64"; mapped IPv4 as IPv4.  In r->pool,
 * or the connection's own text.  NGX_ERROR: no memory.
 */
ngx_int_t ngx_adm_address(ngx_http_request_t *r, ngx_uint_t prefix,
    ngx_str_t *address);

/*
 * "user:<id>" of the user, for which ctx->user has to be set by now, else
 * "ip:<address>".
 */
ngx_int_t ngx_adm_client_name(ngx_http_request_t *r, ngx_str_t *user,
    ngx_uint_t prefix, ngx_str_t *client);


#endif /* _NGX_ADM_BASE_ADDRESS_H_INCLUDED_ */
