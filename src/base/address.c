
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The text of a client's address: IPv4 as it is, also inside of IPv6; IPv6 by
 * its /64, or by "ipv6_prefix=".
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "address.h"


#if (NGX_HAVE_INET6)

/* 64:ff9b::/96: the IPv4 address is the end (RFC 6052) */

static u_char  ngx_adm_nat64[12] = { 0x00, 0x64, 0xff, 0x9b };

/*
 * 64:ff9b:1::/48: where the IPv4 address is depends on the prefix that the
 * network took of it (RFC 8215), but each has one address there
 */

static u_char  ngx_adm_nat64_local[6] = { 0x00, 0x64, 0xff, 0x9b, 0x00, 0x01 };

#endif


ngx_int_t
ngx_adm_address(ngx_http_request_t *r, ngx_uint_t prefix, ngx_str_t *address)
{
#if (NGX_HAVE_INET6)
    u_char               *p, net[16];
    ngx_uint_t            whole;
    struct sockaddr_in6  *sin6;

    if (r->connection->sockaddr->sa_family != AF_INET6) {
        *address = r->connection->addr_text;
        return NGX_OK;
    }

    address->data = ngx_pnalloc(r->pool,
                                NGX_INET6_ADDRSTRLEN + sizeof("/128") - 1);
    if (address->data == NULL) {
        return NGX_ERROR;
    }

    sin6 = (struct sockaddr_in6 *) r->connection->sockaddr;
    p = sin6->sin6_addr.s6_addr;

    if (IN6_IS_ADDR_V4MAPPED(&sin6->sin6_addr)
        || ngx_memcmp(p, ngx_adm_nat64, 12) == 0)
    {
        address->len = ngx_sprintf(address->data, "%ud.%ud.%ud.%ud", p[12],
                                   p[13], p[14], p[15]) - address->data;
        return NGX_OK;
    }

    if (ngx_memcmp(p, ngx_adm_nat64_local, 6) == 0) {
        prefix = 128;
    }

    whole = prefix / 8;

    ngx_memzero(net, 16);
    ngx_memcpy(net, p, whole);

    if (prefix % 8) {
        net[whole] = p[whole] & (0xff << (8 - prefix % 8));
    }

    address->len = ngx_inet6_ntop(net, address->data, NGX_INET6_ADDRSTRLEN);

    p = ngx_sprintf(address->data + address->len, "/%ui", prefix);

    address->len = p - address->data;

#else
    *address = r->connection->addr_text;
#endif

    return NGX_OK;
}


ngx_int_t
ngx_adm_client_name(ngx_http_request_t *r, ngx_str_t *user, ngx_uint_t prefix,
    ngx_str_t *client)
{
    ngx_str_t  who;

    who = *user;

    if (who.len == 0 && ngx_adm_address(r, prefix, &who) != NGX_OK) {
        return NGX_ERROR;
    }

    client->data = ngx_pnalloc(r->pool, sizeof("user:") - 1 + who.len);
    if (client->data == NULL) {
        return NGX_ERROR;
    }

    client->len = ngx_sprintf(client->data, "%s:%V", user->len ? "user" : "ip",
                              &who) - client->data;

    return NGX_OK;
}
