
/*
 * Copyright (C) 2026 the admission module authors
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_admission_compat.h"
#include "ngx_http_admission_conf.h"
#include "ngx_http_admission_origin.h"
#include "ngx_http_admission_token.h"


#define NGX_HTTP_ADMISSION_REQUESTED_HEADERS_MAX  1024


static ngx_uint_t ngx_http_admission_origin(ngx_http_request_t *r,
    ngx_str_t *origin);
static ngx_uint_t ngx_http_admission_cors_allowed(ngx_http_request_t *r,
    ngx_str_t *origin);
static ngx_uint_t ngx_http_admission_own_origin(ngx_http_request_t *r,
    ngx_str_t *origin);
static void ngx_http_admission_split_port(ngx_str_t *authority,
    const char *standard, ngx_str_t *host, ngx_str_t *port);


ngx_uint_t
ngx_http_admission_cors_origin(ngx_http_request_t *r, ngx_str_t *origin)
{
    return ngx_http_admission_origin(r, origin) == 1
           && ngx_http_admission_cors_allowed(r, origin);
}


void
ngx_http_admission_requested_headers(ngx_http_request_t *r,
    ngx_str_t *headers)
{
    size_t            i;
    u_char            ch;
    ngx_table_elt_t  *h;

    h = ngx_http_admission_header(r, "access-control-request-headers");

    if (h == NULL
        || h->value.len == 0
        || h->value.len > NGX_HTTP_ADMISSION_REQUESTED_HEADERS_MAX)
    {
        goto fixed;
    }

    for (i = 0; i < h->value.len; i++) {

        ch = h->value.data[i];

        if ((ch >= 'a' && ch <= 'z')
            || (ch >= 'A' && ch <= 'Z')
            || (ch >= '0' && ch <= '9')
            || ch == '-' || ch == '_' || ch == ',' || ch == ' ')
        {
            continue;
        }

        goto fixed;
    }

    *headers = h->value;

    return;

fixed:

    ngx_str_set(headers, "Authorization, Content-Type, Idempotency-Key, "
                         "x-vwr-token, x-queue-entry-token, "
                         "x-admission-visitor, x-admission-ticket, "
                         "x-queue-place");
}


ngx_uint_t
ngx_http_admission_is_preflight(ngx_http_request_t *r)
{
    ngx_str_t         origin;
    ngx_table_elt_t  *h;

    if (r->method != NGX_HTTP_OPTIONS
        || ngx_http_admission_origin(r, &origin) != 1
        || origin.len == 0)
    {
        return 0;
    }

    h = ngx_http_admission_header(r, "access-control-request-method");

    return h && h->value.len;
}


ngx_uint_t
ngx_http_admission_is_prefetch(ngx_http_request_t *r)
{
    ngx_table_elt_t  *h;

    h = ngx_http_admission_header(r, "sec-purpose");

    if (h == NULL) {
        h = ngx_http_admission_header(r, "purpose");
    }

    /* "prefetch", "prefetch;prerender", ... */

    return h && ngx_strcasestrn(h->value.data, "prefetch",
                                sizeof("prefetch") - 2)
                != NULL;
}


ngx_uint_t
ngx_http_admission_same_site(ngx_http_request_t *r)
{
    ngx_str_t         origin, token, *site;
    ngx_uint_t        n;
    ngx_table_elt_t  *h;

    if (ngx_http_admission_token_bearer(r, &token)) {
        /* which no page of another site can have a browser send */
        return 1;
    }

    n = ngx_http_admission_origin(r, &origin);

    if (n == 1 && ngx_http_admission_cors_allowed(r, &origin)) {
        return 1;
    }

    h = ngx_http_admission_header(r, "sec-fetch-site");

    if (h) {
        site = &h->value;

        return (site->len == sizeof("same-origin") - 1
                && ngx_strncmp(site->data, "same-origin", site->len) == 0)
               || (site->len == sizeof("none") - 1
                   && ngx_strncmp(site->data, "none", site->len) == 0);
    }

    if (n == 0) {
        return 1;
    }

    return n == 1 && ngx_http_admission_own_origin(r, &origin);
}


/* how many Origin lines there are; *origin is the last */

static ngx_uint_t
ngx_http_admission_origin(ngx_http_request_t *r, ngx_str_t *origin)
{
    ngx_uint_t        i, n;
    ngx_list_part_t  *part;
    ngx_table_elt_t  *h;

    n = 0;
    ngx_str_null(origin);

    for (part = &r->headers_in.headers.part; part; part = part->next) {

        h = part->elts;

        for (i = 0; i < part->nelts; i++) {

            if (h[i].hash == 0
                || h[i].key.len != sizeof("Origin") - 1
                || ngx_strncasecmp(h[i].key.data, (u_char *) "Origin",
                                   sizeof("Origin") - 1)
                   != 0)
            {
                continue;
            }

            *origin = h[i].value;
            n++;
        }
    }

    return n;
}


static ngx_uint_t
ngx_http_admission_cors_allowed(ngx_http_request_t *r, ngx_str_t *origin)
{
    ngx_str_t                      *allowed;
    ngx_uint_t                      i;
    ngx_http_admission_loc_conf_t  *lcf;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    if (lcf->cors == NULL) {
        return 0;
    }

    allowed = lcf->cors->elts;

    for (i = 0; i < lcf->cors->nelts; i++) {

        if (allowed[i].len == origin->len
            && ngx_strncasecmp(allowed[i].data, origin->data, origin->len)
               == 0)
        {
            return 1;
        }
    }

    return 0;
}


/*
 * Whether an Origin is the host and port that the request was sent to, as
 * its Host says.  A Host without a port means the standard port: over plain
 * HTTP that may be the one of either scheme, since TLS can have ended before
 * NGINX.
 */

static ngx_uint_t
ngx_http_admission_own_origin(ngx_http_request_t *r, ngx_str_t *origin)
{
    ngx_str_t    authority, host, port, own_host, own_port;
    const char  *standard, *own_standard;

    if (r->headers_in.host == NULL) {
        return 0;
    }

    if (origin->len > sizeof("https://") - 1
        && ngx_strncasecmp(origin->data, (u_char *) "https://",
                           sizeof("https://") - 1)
           == 0)
    {
        standard = "443";
        authority.len = origin->len - (sizeof("https://") - 1);
        authority.data = origin->data + sizeof("https://") - 1;

    } else if (origin->len > sizeof("http://") - 1
               && ngx_strncasecmp(origin->data, (u_char *) "http://",
                                  sizeof("http://") - 1)
                  == 0)
    {
        standard = "80";
        authority.len = origin->len - (sizeof("http://") - 1);
        authority.data = origin->data + sizeof("http://") - 1;

    } else {
        return 0;
    }

    own_standard = standard;

#if (NGX_HTTP_SSL)

    if (r->connection->ssl) {
        own_standard = "443";
    }

#endif

    ngx_http_admission_split_port(&authority, standard, &host, &port);
    ngx_http_admission_split_port(&r->headers_in.host->value, own_standard,
                                  &own_host, &own_port);

    return host.len == own_host.len
           && ngx_strncasecmp(host.data, own_host.data, host.len) == 0
           && port.len == own_port.len
           && ngx_strncmp(port.data, own_port.data, port.len) == 0;
}


static void
ngx_http_admission_split_port(ngx_str_t *authority, const char *standard,
    ngx_str_t *host, ngx_str_t *port)
{
    u_char  *p, *last;

    last = authority->data + authority->len;

    for (p = last; p > authority->data && p[-1] >= '0' && p[-1] <= '9'; p--) {
        /* void */
    }

    if (p == last || p == authority->data || p[-1] != ':') {
        *host = *authority;
        port->len = ngx_strlen(standard);
        port->data = (u_char *) standard;

        return;
    }

    port->len = last - p;
    port->data = p;
    host->len = p - 1 - authority->data;
    host->data = authority->data;
}
