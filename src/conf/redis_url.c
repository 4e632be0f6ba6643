
/*
 * Copyright (C) 2026 the admission module authors
 *
 * URLs of the "admission_redis" directive:
 *
 *     redis://[user[:password]@]host[:port][/db]
 *     rediss://[user[:password]@]host[:port][/db]
 *     unix:/path[?db=N]
 *     unix://[user[:password]@]/path[?db=N]
 *
 *     redis+sentinel://[user[:password]@]host[:port][,host...]/name[/db]
 *
 * ":password@" is the password of the default user.  User and password are
 * percent-decoded.  No message shows what stands before the "@".
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "redis.h"


#define NGX_ADM_REDIS_PORT          6379
#define NGX_ADM_REDIS_SENTINEL_PORT 26379


static char *ngx_adm_redis_show(ngx_conf_t *cf, ngx_adm_redis_url_t *u);
static ngx_uint_t ngx_adm_redis_skip(ngx_str_t *rest, char *start);
static char *ngx_adm_redis_parse_tcp(ngx_conf_t *cf, ngx_adm_redis_url_t *u,
    ngx_str_t *rest);
static char *ngx_adm_redis_parse_sentinel(ngx_conf_t *cf,
    ngx_adm_redis_url_t *u, ngx_str_t *rest);
static char *ngx_adm_redis_parse_unix(ngx_conf_t *cf, ngx_adm_redis_url_t *u,
    ngx_str_t *rest);
static char *ngx_adm_redis_parse_userinfo(ngx_conf_t *cf,
    ngx_adm_redis_url_t *u, ngx_str_t *rest);
static ngx_int_t ngx_adm_redis_unescape(ngx_conf_t *cf, ngx_str_t *dst,
    u_char *p, u_char *last);
static char *ngx_adm_redis_add_endpoint(ngx_conf_t *cf, ngx_adm_redis_url_t *u,
    ngx_str_t *host, in_port_t port);


ngx_uint_t
ngx_adm_redis_is_url(ngx_str_t *arg)
{
    u_char  *p, *last;

    p = arg->data;
    last = p + arg->len;

    /* only what looks like a scheme, so "prefix=a://b" is no URL */

    while (p < last
           && ((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z')
               || *p == '+'))
    {
        p++;
    }

    if (p == last || *p != ':') {
        return 0;
    }

    return (last - p >= 3 && p[1] == '/' && p[2] == '/')
           || (p - arg->data == 4
               && ngx_strncasecmp(arg->data, (u_char *) "unix", 4) == 0);
}


char *
ngx_adm_redis_set_url(ngx_conf_t *cf, ngx_adm_redis_url_t *u, ngx_str_t *arg)
{
    ngx_str_t  rest;

    u->url = *arg;
    ngx_str_null(&u->db);

    if (ngx_adm_redis_show(cf, u) != NGX_CONF_OK) {
        return NGX_CONF_ERROR;
    }

    rest = *arg;

    if (ngx_adm_redis_skip(&rest, "redis://")) {
        u->plain = 1;
        return ngx_adm_redis_parse_tcp(cf, u, &rest);
    }

    if (ngx_adm_redis_skip(&rest, "rediss://")) {
        u->tls = 1;
        return ngx_adm_redis_parse_tcp(cf, u, &rest);
    }

    if (ngx_adm_redis_skip(&rest, "unix:")) {
        return ngx_adm_redis_parse_unix(cf, u, &rest);
    }

    if (ngx_adm_redis_skip(&rest, "redis+sentinel://")) {
        return ngx_adm_redis_parse_sentinel(cf, u, &rest);
    }

    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "unknown scheme of \"%V\" in "
                       "\"admission_redis\", use \"redis://\", \"rediss://\", "
                       "\"redis+sentinel://\" or \"unix:\"", &u->shown);

    return NGX_CONF_ERROR;
}


/*
 * sets the URL as messages show it, and the name: the same without the scheme
 */

static char *
ngx_adm_redis_show(ngx_conf_t *cf, ngx_adm_redis_url_t *u)
{
    u_char  *p, *start, *at, *last;

    last = u->url.data + u->url.len;
    start = ngx_strlchr(u->url.data, last, ':') + 1;

    while (start < last - 1 && start[0] == '/' && start[1] == '/') {
        start += 2;
    }

    at = (u_char *) strrchr((char *) start, '@');

    u->name.data = at ? at + 1 : start;
    u->name.len = last - u->name.data;

    u->shown.data = ngx_pnalloc(cf->pool, u->url.len);
    if (u->shown.data == NULL) {
        return NGX_CONF_ERROR;
    }

    p = ngx_cpymem(u->shown.data, u->url.data, start - u->url.data);
    p = ngx_cpymem(p, u->name.data, u->name.len);

    u->shown.len = p - u->shown.data;

    return NGX_CONF_OK;
}


static ngx_uint_t
ngx_adm_redis_skip(ngx_str_t *rest, char *start)
{
    size_t  len;

    len = ngx_strlen(start);

    if (rest->len < len
        || ngx_strncasecmp(rest->data, (u_char *) start, len) != 0)
    {
        return 0;
    }

    rest->data += len;
    rest->len -= len;

    return 1;
}


static char *
ngx_adm_redis_parse_tcp(ngx_conf_t *cf, ngx_adm_redis_url_t *u, ngx_str_t *rest)
{
    u_char     *slash, *last;
    ngx_str_t   host;

    if (ngx_adm_redis_parse_userinfo(cf, u, rest) != NGX_CONF_OK) {
        return NGX_CONF_ERROR;
    }

    host = *rest;
    last = rest->data + rest->len;
    slash = ngx_strlchr(rest->data, last, '/');

    if (slash) {
        host.len = slash - host.data;

        u->db.data = slash + 1;
        u->db.len = last - u->db.data;
    }

    return ngx_adm_redis_add_endpoint(cf, u, &host, NGX_ADM_REDIS_PORT);
}


static char *
ngx_adm_redis_parse_sentinel(ngx_conf_t *cf, ngx_adm_redis_url_t *u,
    ngx_str_t *rest)
{
    u_char     *p, *last, *slash, *comma;
    ngx_str_t   host;

    if (ngx_adm_redis_parse_userinfo(cf, u, rest) != NGX_CONF_OK) {
        return NGX_CONF_ERROR;
    }

    p = rest->data;
    last = p + rest->len;
    slash = ngx_strlchr(p, last, '/');

    if (slash == NULL || slash + 1 == last || slash[1] == '/') {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "no name of a master in "
                           "\"%V\" of \"admission_redis\", use "
                           "\"redis+sentinel://host:port,host:port/name\"",
                           &u->shown);
        return NGX_CONF_ERROR;
    }

    u->conf->master.data = slash + 1;
    u->conf->master.len = last - slash - 1;

    last = ngx_strlchr(slash + 1, last, '/');

    if (last) {
        u->db.data = last + 1;
        u->db.len = rest->data + rest->len - u->db.data;
        u->conf->master.len = last - slash - 1;
    }

    for ( ;; ) {
        comma = ngx_strlchr(p, slash, ',');

        host.data = p;
        host.len = (comma ? comma : slash) - p;

        u->name = host;

        if (ngx_adm_redis_add_endpoint(cf, u, &host,
                                       NGX_ADM_REDIS_SENTINEL_PORT)
            != NGX_CONF_OK)
        {
            return NGX_CONF_ERROR;
        }

        if (comma == NULL) {
            return NGX_CONF_OK;
        }

        p = comma + 1;
    }
}


static char *
ngx_adm_redis_parse_unix(ngx_conf_t *cf, ngx_adm_redis_url_t *u,
    ngx_str_t *rest)
{
    u_char     *p, *query, *last;
    ngx_str_t   path;

    if (ngx_adm_redis_skip(rest, "//")
        && ngx_adm_redis_parse_userinfo(cf, u, rest)
           != NGX_CONF_OK)
    {
        return NGX_CONF_ERROR;
    }

    last = rest->data + rest->len;
    query = ngx_strlchr(rest->data, last, '?');

    if (query) {
        rest->len = query - rest->data;

        if (last - query < 5 || ngx_strncmp(query, "?db=", 4) != 0) {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "invalid \"%V\" in "
                               "\"admission_redis\": after the path only "
                               "\"?db=N\" is allowed", &u->shown);
            return NGX_CONF_ERROR;
        }

        u->db.data = query + 4;
        u->db.len = last - u->db.data;
    }

    if (rest->len == 0 || rest->data[0] != '/') {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "invalid \"%V\" in "
                           "\"admission_redis\": the path of a unix socket "
                           "must begin with \"/\"", &u->shown);
        return NGX_CONF_ERROR;
    }

    path.len = sizeof("unix:") - 1 + rest->len;
    path.data = ngx_pnalloc(cf->pool, path.len);
    if (path.data == NULL) {
        return NGX_CONF_ERROR;
    }

    p = ngx_cpymem(path.data, "unix:", sizeof("unix:") - 1);
    ngx_memcpy(p, rest->data, rest->len);

    return ngx_adm_redis_add_endpoint(cf, u, &path, 0);
}


/* takes "user:password@" off what follows the scheme */

static char *
ngx_adm_redis_parse_userinfo(ngx_conf_t *cf, ngx_adm_redis_url_t *u,
    ngx_str_t *rest)
{
    u_char     *p, *at, *colon, *last;
    ngx_str_t   user, password;

    last = rest->data + rest->len;
    at = (u_char *) strrchr((char *) rest->data, '@');

    if (at == NULL) {
        return NGX_CONF_OK;
    }

    ngx_str_null(&user);
    ngx_str_null(&password);

    colon = ngx_strlchr(rest->data, at, ':');
    p = colon ? colon : at;

    if (ngx_adm_redis_unescape(cf, &user, rest->data, p) != NGX_OK
        || (colon
            && ngx_adm_redis_unescape(cf, &password, colon + 1, at)
               != NGX_OK))
    {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "invalid user or password in "
                           "\"%V\" of \"admission_redis\": \"%%\" must be "
                           "followed by two hexadecimal digits", &u->shown);
        return NGX_CONF_ERROR;
    }

    if ((colon && password.len == 0) || at == rest->data) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "empty user or password in "
                           "\"%V\" of \"admission_redis\": use "
                           "\"user:password@\", \":password@\", or \"user@\" "
                           "with \"password_file=\"", &u->shown);
        return NGX_CONF_ERROR;
    }

    if (u->login
        && (!ngx_adm_str_same(&u->user, &user)
            || !ngx_adm_str_same(&u->password, &password)))
    {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "another user or password in \"%V\" of "
                           "\"admission_redis\" than in the URLs before, all "
                           "nodes of a cluster need the same", &u->shown);
        return NGX_CONF_ERROR;
    }

    u->login = 1;
    u->user = user;
    u->password = password;

    rest->data = at + 1;
    rest->len = last - rest->data;

    return NGX_CONF_OK;
}


static ngx_int_t
ngx_adm_redis_unescape(ngx_conf_t *cf, ngx_str_t *dst, u_char *p, u_char *last)
{
    u_char     *d;
    ngx_int_t   n;

    dst->data = ngx_pnalloc(cf->pool, last - p + 1);
    if (dst->data == NULL) {
        return NGX_ERROR;
    }

    d = dst->data;

    while (p < last) {

        if (*p != '%') {
            *d++ = *p++;
            continue;
        }

        if (last - p < 3) {
            return NGX_ERROR;
        }

        n = ngx_hextoi(p + 1, 2);
        if (n == NGX_ERROR) {
            return NGX_ERROR;
        }

        *d++ = (u_char) n;
        p += 3;
    }

    dst->len = d - dst->data;

    return NGX_OK;
}


/*
 * A host name that can't be found now is an error only without a "resolver",
 * which may come later in the configuration.
 */

static char *
ngx_adm_redis_add_endpoint(ngx_conf_t *cf, ngx_adm_redis_url_t *u,
    ngx_str_t *host, in_port_t port)
{
    ngx_url_t                  url;
    ngx_int_t                  rc;
    ngx_adm_redis_endpoint_t  *e;

    ngx_memzero(&url, sizeof(ngx_url_t));

    url.url = *host;
    url.default_port = port;

    rc = ngx_parse_url(cf->pool, &url);

    if (rc != NGX_OK) {

        if (url.err == NULL) {
            return NGX_CONF_ERROR;
        }

        if (ngx_strcmp(url.err, "host not found") != 0) {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                               "%s in \"%V\" of \"admission_redis\", use "
                               "\"redis://host:port/db\" or \"unix:/path\"",
                               url.err, &u->shown);
            return NGX_CONF_ERROR;
        }

        u->conf->unresolved = u->shown;
    }

    e = ngx_array_push(&u->conf->endpoints);
    if (e == NULL) {
        return NGX_CONF_ERROR;
    }

    ngx_memzero(e, sizeof(ngx_adm_redis_endpoint_t));

    e->name = u->name;

    if (rc == NGX_OK) {
        e->addrs = url.addrs;
        e->naddrs = url.naddrs;
    }

    if (url.family == AF_UNIX) {
        return NGX_CONF_OK;
    }

    e->host = url.host;
    e->port = url.port;

    if (e->host.len > 2 && e->host.data[0] == '[') {
        e->host.data++;
        e->host.len -= 2;
        return NGX_CONF_OK;
    }

    e->is_name = (ngx_inet_addr(e->host.data, e->host.len) == INADDR_NONE);

    return NGX_CONF_OK;
}
