
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Which pages may have a browser call the module: judged by Origin,
 * Sec-Fetch-Site and by what no page can send.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../base/text.h"
#include "../host/settings.h"
#include "credentials.h"
#include "headers.h"
#include "origin.h"


#define NGX_ADM_REQUESTED_HEADERS_MAX  1024


static ngx_uint_t ngx_adm_has_body(ngx_http_request_t *r);
static ngx_uint_t ngx_adm_is_of(ngx_str_t *value, const char *others);
static ngx_uint_t ngx_adm_is_unasked(ngx_table_elt_t *h);
static ngx_uint_t ngx_adm_origin(ngx_http_request_t *r, ngx_str_t *origin);
static ngx_uint_t ngx_adm_cors_allowed(ngx_array_t *origins,
    ngx_str_t *origin);
static ngx_uint_t ngx_adm_own_origin(ngx_http_request_t *r, ngx_str_t *origin);
static const char *ngx_adm_own_scheme(ngx_http_request_t *r);
static ngx_uint_t ngx_adm_skip(ngx_str_t *origin, const char *scheme);
static void ngx_adm_split_port(ngx_str_t *authority, const char *standard,
    ngx_str_t *host, ngx_str_t *port);


/*
 * What a browser asks permission for it does not send with the question:
 * credentials, a body, headers that scripts set.  Of these here are those by
 * which an application might do something that the method alone does not.
 */

static ngx_str_t  ngx_adm_unasked[] = {
    ngx_string("cookie"),
    ngx_string("authorization"),
    ngx_string("proxy-authorization"),
    ngx_string("x-vwr-token"),
    ngx_string("x-queue-entry-token"),
    ngx_string("x-queue-place"),
    ngx_string("x-admission-visitor"),
    ngx_string("x-admission-ticket"),
    ngx_string("x-http-method-override"),
    ngx_string("x-http-method"),
    ngx_string("x-method-override"),
    ngx_string("expect"),
    ngx_string("upgrade"),
    ngx_null_string };


ngx_uint_t
ngx_adm_cors_origin(ngx_http_request_t *r, ngx_array_t *origins,
    ngx_str_t *origin)
{
    return ngx_adm_origin(r, origin) == 1
           && ngx_adm_cors_allowed(origins, origin);
}


void
ngx_adm_requested_headers(ngx_http_request_t *r, ngx_str_t *headers)
{
    ngx_table_elt_t  *h;

    h = ngx_adm_header(r, "access-control-request-headers");

    if (h
        && h->value.len <= NGX_ADM_REQUESTED_HEADERS_MAX
        && ngx_adm_is_of(&h->value, "-_, "))
    {
        *headers = h->value;
        return;
    }

    ngx_str_set(headers, "Authorization, Content-Type, Idempotency-Key, "
                "x-vwr-token, x-queue-entry-token, x-admission-visitor, "
                "x-admission-ticket, x-queue-place");
}


ngx_uint_t
ngx_adm_is_preflight(ngx_http_request_t *r)
{
    ngx_uint_t              origins, methods;
    ngx_table_elt_t        *h;
    ngx_adm_headers_pos_t   pos;

    if (ngx_adm_has_body(r)) {
        return 0;
    }

    origins = 0;
    methods = 0;

    ngx_memzero(&pos, sizeof(ngx_adm_headers_pos_t));

    while ((h = ngx_adm_headers_next(&r->headers_in.headers, &pos)))
    {
        if (ngx_adm_header_named(h, "Origin")) {
            origins += (h->value.len ? 1 : 2);

        } else if (ngx_adm_header_named(h,
                                        "Access-Control-Request-Method"))
        {
            /* a token (RFC 9110): methods have any name */

            methods += (ngx_adm_is_of(&h->value, "!#$%&'*+-.^_`|~") ? 1 : 2);

        } else if (ngx_adm_is_unasked(h)) {
            return 0;
        }
    }

    return origins == 1 && methods == 1;
}


/* whether the request has a body, or one may still come */

static ngx_uint_t
ngx_adm_has_body(ngx_http_request_t *r)
{
    if (r->headers_in.content_length_n > 0 || r->headers_in.chunked) {
        return 1;
    }

#if (NGX_HTTP_V2)

    /*
     * On a stream that has not ended not even "Content-Length: 0" counts,
     * which no browser sends.  When it has ended there was no body: NGINX
     * refuses more.
     */

    if (r->stream && !r->stream->in_closed) {
        return 1;
    }

#endif

    return 0;
}


/* whether a text has only letters, digits and those characters, at least one */

static ngx_uint_t
ngx_adm_is_of(ngx_str_t *value, const char *others)
{
    size_t  i;
    u_char  ch;

    for (i = 0; i < value->len; i++) {

        ch = value->data[i];

        if ((ch >= 'a' && ch <= 'z')
            || (ch >= 'A' && ch <= 'Z')
            || (ch >= '0' && ch <= '9')
            || (ch && strchr(others, ch)))
        {
            continue;
        }

        return 0;
    }

    return value->len != 0;
}


/* whether no browser sends this header with a preflight */

static ngx_uint_t
ngx_adm_is_unasked(ngx_table_elt_t *h)
{
    ngx_str_t  *name;

    for (name = ngx_adm_unasked; name->len; name++) {
        if (ngx_adm_header_is(h, name)) {
            return 1;
        }
    }

    return 0;
}


ngx_uint_t
ngx_adm_same_site(ngx_http_request_t *r)
{
    ngx_str_t            origin, token;
    ngx_uint_t           n, same;
    ngx_table_elt_t     *h;
    ngx_adm_loc_conf_t  *lcf;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);
    n = ngx_adm_origin(r, &origin);

    if (n == 1 && ngx_adm_cors_allowed(lcf->cors, &origin)) {
        return 1;
    }

    h = ngx_adm_header(r, "sec-fetch-site");

    if (h) {
        same = ngx_adm_str_is(&h->value, "same-origin")
               || ngx_adm_str_is(&h->value, "none");

    } else {
        same = (n == 0 || (n == 1 && ngx_adm_own_origin(r, &origin)));
    }

    /*
     * Bearer is something that no page of another site can have a browser send
     */

    return same || ngx_adm_bearer(r, &token);
}


/* how many lines of Origin there are; *origin: of the last */

static ngx_uint_t
ngx_adm_origin(ngx_http_request_t *r, ngx_str_t *origin)
{
    ngx_uint_t              n;
    ngx_table_elt_t        *h;
    ngx_adm_headers_pos_t   pos;

    n = 0;
    ngx_str_null(origin);

    ngx_memzero(&pos, sizeof(ngx_adm_headers_pos_t));

    while ((h = ngx_adm_headers_next(&r->headers_in.headers, &pos)))
    {
        if (h->hash && ngx_adm_header_named(h, "Origin")) {
            *origin = h->value;
            n++;
        }
    }

    return n;
}


static ngx_uint_t
ngx_adm_cors_allowed(ngx_array_t *origins, ngx_str_t *origin)
{
    ngx_str_t   *allowed;
    ngx_uint_t   i;

    if (origins == NULL) {
        return 0;
    }

    allowed = origins->elts;

    for (i = 0; i < origins->nelts; i++) {

        if (ngx_adm_str_same_case(&allowed[i], origin)) {
            return 1;
        }
    }

    return 0;
}


/*
 * Whether an Origin is the scheme, host and port that the request was sent to,
 * as far as these are known: a Host without a port means the usual one.
 */

static ngx_uint_t
ngx_adm_own_origin(ngx_http_request_t *r, ngx_str_t *origin)
{
    ngx_str_t    authority, host, port, own_host, own_port;
    const char  *scheme, *own, *standard;

    if (r->headers_in.host == NULL) {
        return 0;
    }

    authority = *origin;

    if (ngx_adm_skip(&authority, "https://")) {
        scheme = "https";
        standard = "443";

    } else if (ngx_adm_skip(&authority, "http://")) {
        scheme = "http";
        standard = "80";

    } else {
        return 0;
    }

    own = ngx_adm_own_scheme(r);

    if (own && ngx_strcmp(scheme, own) != 0) {
        return 0;
    }

    ngx_adm_split_port(&authority, standard, &host, &port);
    ngx_adm_split_port(&r->headers_in.host->value, standard, &own_host,
                       &own_port);

    return ngx_adm_str_same_case(&host, &own_host)
           && ngx_adm_str_same(&port, &own_port);
}


/*
 * NULL: not known.  TLS may have ended before NGINX: what did that says so, or
 * the configuration does.  A page can not have a browser send
 * X-Forwarded-Proto to another origin without asking, and would be told no.
 */

static const char *
ngx_adm_own_scheme(ngx_http_request_t *r)
{
    ngx_str_t            proto;
    ngx_uint_t           i;
    ngx_table_elt_t     *h;
    ngx_adm_loc_conf_t  *lcf;

#if (NGX_HTTP_SSL)

    if (r->connection->ssl) {
        return "https";
    }

#endif

    h = ngx_adm_header(r, "x-forwarded-proto");

    if (h) {
        /* "https, http": the first is the client's */

        proto = h->value;

        for (i = 0; i < proto.len && proto.data[i] != ','; i++) { /* void */ }

        proto.len = i;

        while (proto.len && proto.data[proto.len - 1] == ' ') {
            proto.len--;
        }

        if (proto.len == 5
            && ngx_strncasecmp(proto.data, (u_char *) "https", 5) == 0)
        {
            return "https";
        }

        if (proto.len == 4
            && ngx_strncasecmp(proto.data, (u_char *) "http", 4) == 0)
        {
            return "http";
        }
    }

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    for (i = 0; i < NGX_ADM_TOKEN_KINDS; i++) {
        if (lcf->cookies[i]->secure == NGX_ADM_ON) {
            return "https";
        }
    }

    return NULL;
}


/* takes a scheme off, in any case, if something follows it */

static ngx_uint_t
ngx_adm_skip(ngx_str_t *origin, const char *scheme)
{
    size_t  len;

    len = ngx_strlen(scheme);

    if (origin->len <= len
        || ngx_strncasecmp(origin->data, (u_char *) scheme, len) != 0)
    {
        return 0;
    }

    origin->data += len;
    origin->len -= len;

    return 1;
}


static void
ngx_adm_split_port(ngx_str_t *authority, const char *standard, ngx_str_t *host,
    ngx_str_t *port)
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
