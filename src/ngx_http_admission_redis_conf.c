
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The "admission_redis" directive:
 *
 *     redis://[user[:password]@]host[:port][/db]
 *     rediss://[user[:password]@]host[:port][/db]
 *     unix:/path[?db=N]
 *     unix://[user[:password]@]/path[?db=N]
 *
 *     redis+sentinel://[user[:password]@]host[:port][,host...]/name[/db]
 *
 * Several URLs, or "cluster=on", are seeds of a cluster.
 *
 * ":password@" is the password of the default user.  User and password are
 * percent-decoded.  No message shows what stands before the "@".
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_admission_redis_conn.h"
#include "ngx_http_admission_redis_resolve.h"


#define NGX_HTTP_ADMISSION_REDIS_PORT          6379
#define NGX_HTTP_ADMISSION_REDIS_SENTINEL_PORT 26379
#define NGX_HTTP_ADMISSION_REDIS_TIMEOUT       200
#define NGX_HTTP_ADMISSION_REDIS_TIMEOUT_MAX   60000
#define NGX_HTTP_ADMISSION_REDIS_PASSWORD_MAX  4096


/* what the lines of the directive say, before it is put together */

typedef struct {
    ngx_str_t                              url;
    ngx_str_t                              shown;    /* without userinfo */
    ngx_str_t                              name;     /* nor scheme */

    ngx_str_t                              user;
    ngx_str_t                              password;
    ngx_str_t                              password_file;
    ngx_str_t                              db;

    ngx_http_admission_redis_ssl_params_t  ssl;

    ngx_http_admission_redis_conf_t       *conf;

    unsigned                               tls:1;        /* a URL has it */
    unsigned                               plain:1;      /* one has not */
    unsigned                               timeout:1;
    unsigned                               login:1;      /* of a URL */
    unsigned                               prefix:1;
    unsigned                               breaker:1;
    unsigned                               cluster:1;
} ngx_http_admission_redis_url_t;


typedef char *(*ngx_http_admission_redis_set_pt)(ngx_conf_t *cf,
    ngx_http_admission_redis_url_t *u, ngx_str_t *value);


typedef struct {
    ngx_str_t                              name;
    ngx_http_admission_redis_set_pt        set;      /* NULL: not yet */
} ngx_http_admission_redis_param_t;


static ngx_uint_t ngx_http_admission_redis_is_url(ngx_str_t *arg);
static char *ngx_http_admission_redis_set_url(ngx_conf_t *cf,
    ngx_http_admission_redis_url_t *u, ngx_str_t *arg);
static ngx_uint_t ngx_http_admission_redis_skip(ngx_str_t *rest, char *start);
static char *ngx_http_admission_redis_parse_tcp(ngx_conf_t *cf,
    ngx_http_admission_redis_url_t *u, ngx_str_t *rest);
static char *ngx_http_admission_redis_parse_unix(ngx_conf_t *cf,
    ngx_http_admission_redis_url_t *u, ngx_str_t *rest);
static char *ngx_http_admission_redis_parse_userinfo(ngx_conf_t *cf,
    ngx_http_admission_redis_url_t *u, ngx_str_t *rest);
static ngx_uint_t ngx_http_admission_redis_same(ngx_str_t *a, ngx_str_t *b);
static ngx_int_t ngx_http_admission_redis_unescape(ngx_conf_t *cf,
    ngx_str_t *dst, u_char *p, u_char *last);
static char *ngx_http_admission_redis_parse_sentinel(ngx_conf_t *cf,
    ngx_http_admission_redis_url_t *u, ngx_str_t *rest);
static char *ngx_http_admission_redis_add_endpoint(ngx_conf_t *cf,
    ngx_http_admission_redis_url_t *u, ngx_str_t *host, in_port_t port);
static char *ngx_http_admission_redis_show(ngx_conf_t *cf,
    ngx_http_admission_redis_url_t *u);
static char *ngx_http_admission_redis_check_cluster(ngx_conf_t *cf,
    ngx_http_admission_redis_url_t *u);

static char *ngx_http_admission_redis_set_param(ngx_conf_t *cf,
    ngx_http_admission_redis_url_t *u, ngx_str_t *arg);
static char *ngx_http_admission_redis_set_timeout(ngx_conf_t *cf,
    ngx_http_admission_redis_url_t *u, ngx_str_t *value);
static char *ngx_http_admission_redis_set_password_file(ngx_conf_t *cf,
    ngx_http_admission_redis_url_t *u, ngx_str_t *value);
static char *ngx_http_admission_redis_set_prefix(ngx_conf_t *cf,
    ngx_http_admission_redis_url_t *u, ngx_str_t *value);
static char *ngx_http_admission_redis_set_cluster(ngx_conf_t *cf,
    ngx_http_admission_redis_url_t *u, ngx_str_t *value);
static char *ngx_http_admission_redis_set_breaker(ngx_conf_t *cf,
    ngx_http_admission_redis_url_t *u, ngx_str_t *value);

static char *ngx_http_admission_redis_set_tls_ca(ngx_conf_t *cf,
    ngx_http_admission_redis_url_t *u, ngx_str_t *value);
static char *ngx_http_admission_redis_set_tls_cert(ngx_conf_t *cf,
    ngx_http_admission_redis_url_t *u, ngx_str_t *value);
static char *ngx_http_admission_redis_set_tls_key(ngx_conf_t *cf,
    ngx_http_admission_redis_url_t *u, ngx_str_t *value);
static char *ngx_http_admission_redis_set_tls_name(ngx_conf_t *cf,
    ngx_http_admission_redis_url_t *u, ngx_str_t *value);
static char *ngx_http_admission_redis_set_tls(ngx_conf_t *cf,
    ngx_str_t *param, char *name, ngx_str_t *value);

static char *ngx_http_admission_redis_read_password(ngx_conf_t *cf,
    ngx_http_admission_redis_url_t *u);
static char *ngx_http_admission_redis_make_ssl(ngx_conf_t *cf,
    ngx_http_admission_redis_url_t *u);
static char *ngx_http_admission_redis_make_auth(ngx_conf_t *cf,
    ngx_http_admission_redis_url_t *u);
static char *ngx_http_admission_redis_make_select(ngx_conf_t *cf,
    ngx_http_admission_redis_url_t *u);
static ngx_int_t ngx_http_admission_redis_make_command(ngx_conf_t *cf,
    ngx_str_t *command, ngx_uint_t argc, ngx_str_t *argv);


static ngx_http_admission_redis_param_t  ngx_http_admission_redis_params[] = {

    { ngx_string("timeout"), ngx_http_admission_redis_set_timeout },
    { ngx_string("password_file"),
      ngx_http_admission_redis_set_password_file },
    { ngx_string("prefix"), ngx_http_admission_redis_set_prefix },
    { ngx_string("tls_ca"), ngx_http_admission_redis_set_tls_ca },
    { ngx_string("tls_cert"), ngx_http_admission_redis_set_tls_cert },
    { ngx_string("tls_key"), ngx_http_admission_redis_set_tls_key },
    { ngx_string("tls_name"), ngx_http_admission_redis_set_tls_name },
    { ngx_string("cluster"), ngx_http_admission_redis_set_cluster },
    { ngx_string("breaker"), ngx_http_admission_redis_set_breaker },

    { ngx_null_string, NULL }
};


char *
ngx_http_admission_redis_parse(ngx_conf_t *cf,
    ngx_http_admission_redis_conf_t **redis)
{
    char                             *rc;
    ngx_str_t                        *arg;
    ngx_uint_t                        i, n;
    ngx_http_admission_redis_url_t    u;
    ngx_http_admission_redis_conf_t  *conf;

    if (*redis != NULL && *redis != NGX_CONF_UNSET_PTR) {
        return "is duplicate";
    }

    conf = ngx_pcalloc(cf->pool, sizeof(ngx_http_admission_redis_conf_t));
    if (conf == NULL) {
        return NGX_CONF_ERROR;
    }

    conf->timeout = NGX_HTTP_ADMISSION_REDIS_TIMEOUT;
    ngx_http_admission_redis_breaker_default(&conf->breaker);

    /* not NULL: it is copied before every key */

    ngx_str_set(&conf->prefix, "");

    ngx_memzero(&u, sizeof(ngx_http_admission_redis_url_t));
    u.conf = conf;

    arg = cf->args->elts;
    n = 0;

    for (i = 1; i < cf->args->nelts; i++) {
        n += ngx_http_admission_redis_is_url(&arg[i]);
    }

    if (ngx_array_init(&conf->endpoints, cf->pool, ngx_max(n, 1),
                       sizeof(ngx_http_admission_redis_endpoint_t))
        != NGX_OK)
    {
        return NGX_CONF_ERROR;
    }

    conf->cluster = (n > 1);

    for (i = 1; i < cf->args->nelts; i++) {

        if (ngx_http_admission_redis_is_url(&arg[i])) {
            rc = ngx_http_admission_redis_set_url(cf, &u, &arg[i]);

        } else {
            rc = ngx_http_admission_redis_set_param(cf, &u, &arg[i]);
        }

        if (rc != NGX_CONF_OK) {
            return rc;
        }
    }

    if (n == 0) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"admission_redis\" needs a URL: "
                           "\"redis://host:port/db\", "
                           "\"rediss://host:port/db\" or \"unix:/path\"");
        return NGX_CONF_ERROR;
    }

    if (ngx_http_admission_redis_make_ssl(cf, &u) != NGX_CONF_OK
        || ngx_http_admission_redis_read_password(cf, &u) != NGX_CONF_OK
        || ngx_http_admission_redis_make_auth(cf, &u) != NGX_CONF_OK
        || ngx_http_admission_redis_make_select(cf, &u) != NGX_CONF_OK
        || (conf->cluster
            && ngx_http_admission_redis_check_cluster(cf, &u) != NGX_CONF_OK))
    {
        return NGX_CONF_ERROR;
    }

    *redis = conf;

    return NGX_CONF_OK;
}


char *
ngx_http_admission_redis_init(ngx_conf_t *cf,
    ngx_http_admission_redis_conf_t *redis)
{
    if (redis->unresolved.len == 0
        || ngx_http_admission_redis_resolver(cf->cycle))
    {
        return NGX_CONF_OK;
    }

    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                       "host not found in \"%V\" of \"admission_redis\", and "
                       "no \"resolver\" in \"http\" to find it later",
                       &redis->unresolved);

    return NGX_CONF_ERROR;
}


ngx_str_t *
ngx_http_admission_redis_prefix(ngx_http_admission_redis_conf_t *redis)
{
    return &redis->prefix;
}


ngx_msec_t
ngx_http_admission_redis_timeout(ngx_http_admission_redis_conf_t *redis)
{
    return redis->timeout;
}


static ngx_uint_t
ngx_http_admission_redis_is_url(ngx_str_t *arg)
{
    u_char  *p, *last;

    p = arg->data;
    last = p + arg->len;

    /* a scheme, so that "prefix=a://b" is none */

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


static char *
ngx_http_admission_redis_set_url(ngx_conf_t *cf,
    ngx_http_admission_redis_url_t *u, ngx_str_t *arg)
{
    ngx_str_t  rest;

    u->url = *arg;

    if (ngx_http_admission_redis_show(cf, u) != NGX_CONF_OK) {
        return NGX_CONF_ERROR;
    }

    rest = *arg;

    if (ngx_http_admission_redis_skip(&rest, "redis://")) {
        u->plain = 1;
        return ngx_http_admission_redis_parse_tcp(cf, u, &rest);
    }

    if (ngx_http_admission_redis_skip(&rest, "rediss://")) {
        u->tls = 1;
        return ngx_http_admission_redis_parse_tcp(cf, u, &rest);
    }

    if (ngx_http_admission_redis_skip(&rest, "unix:")) {
        return ngx_http_admission_redis_parse_unix(cf, u, &rest);
    }

    if (ngx_http_admission_redis_skip(&rest, "redis+sentinel://")) {
        return ngx_http_admission_redis_parse_sentinel(cf, u, &rest);
    }

    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                       "unknown scheme of \"%V\" in \"admission_redis\", "
                       "use \"redis://\", \"rediss://\", "
                       "\"redis+sentinel://\" or \"unix:\"", &u->shown);

    return NGX_CONF_ERROR;
}


static ngx_uint_t
ngx_http_admission_redis_skip(ngx_str_t *rest, char *start)
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
ngx_http_admission_redis_parse_tcp(ngx_conf_t *cf,
    ngx_http_admission_redis_url_t *u, ngx_str_t *rest)
{
    u_char     *slash, *last;
    ngx_str_t   host;

    if (ngx_http_admission_redis_parse_userinfo(cf, u, rest) != NGX_CONF_OK) {
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

    return ngx_http_admission_redis_add_endpoint(cf, u, &host,
                                               NGX_HTTP_ADMISSION_REDIS_PORT);
}


static char *
ngx_http_admission_redis_parse_sentinel(ngx_conf_t *cf,
    ngx_http_admission_redis_url_t *u, ngx_str_t *rest)
{
    u_char     *p, *last, *slash, *comma;
    ngx_str_t   host;

    if (ngx_http_admission_redis_parse_userinfo(cf, u, rest) != NGX_CONF_OK) {
        return NGX_CONF_ERROR;
    }

    p = rest->data;
    last = p + rest->len;
    slash = ngx_strlchr(p, last, '/');

    if (slash == NULL || slash + 1 == last || slash[1] == '/') {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "no name of a master in \"%V\" of "
                           "\"admission_redis\", use "
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

        if (ngx_http_admission_redis_add_endpoint(cf, u, &host,
                                      NGX_HTTP_ADMISSION_REDIS_SENTINEL_PORT)
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
ngx_http_admission_redis_parse_unix(ngx_conf_t *cf,
    ngx_http_admission_redis_url_t *u, ngx_str_t *rest)
{
    u_char     *p, *query, *last;
    ngx_str_t   path;

    if (ngx_http_admission_redis_skip(rest, "//")
        && ngx_http_admission_redis_parse_userinfo(cf, u, rest)
           != NGX_CONF_OK)
    {
        return NGX_CONF_ERROR;
    }

    last = rest->data + rest->len;
    query = ngx_strlchr(rest->data, last, '?');

    if (query) {
        rest->len = query - rest->data;

        if (last - query < 4 || ngx_strncmp(query, "?db=", 4) != 0) {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                               "invalid \"%V\" in \"admission_redis\": after "
                               "the path only \"?db=N\" is allowed",
                               &u->shown);
            return NGX_CONF_ERROR;
        }

        u->db.data = query + 4;
        u->db.len = last - u->db.data;
    }

    if (rest->len == 0 || rest->data[0] != '/') {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid \"%V\" in \"admission_redis\": the path "
                           "of a unix socket must begin with \"/\"",
                           &u->shown);
        return NGX_CONF_ERROR;
    }

    path.len = sizeof("unix:") - 1 + rest->len;
    path.data = ngx_pnalloc(cf->pool, path.len);
    if (path.data == NULL) {
        return NGX_CONF_ERROR;
    }

    p = ngx_cpymem(path.data, "unix:", sizeof("unix:") - 1);
    ngx_memcpy(p, rest->data, rest->len);

    return ngx_http_admission_redis_add_endpoint(cf, u, &path, 0);
}


/* takes "user:password@" off the front of what comes after the scheme */

static char *
ngx_http_admission_redis_parse_userinfo(ngx_conf_t *cf,
    ngx_http_admission_redis_url_t *u, ngx_str_t *rest)
{
    u_char     *p, *at, *colon, *last;
    ngx_str_t   user, password;

    at = NULL;
    last = rest->data + rest->len;

    ngx_str_null(&user);
    ngx_str_null(&password);

    for (p = rest->data; p < last; p++) {
        if (*p == '@') {
            at = p;
        }
    }

    if (at == NULL) {
        return NGX_CONF_OK;
    }

    colon = ngx_strlchr(rest->data, at, ':');
    p = colon ? colon : at;

    if (ngx_http_admission_redis_unescape(cf, &user, rest->data, p) != NGX_OK
        || (colon
            && ngx_http_admission_redis_unescape(cf, &password, colon + 1, at)
               != NGX_OK))
    {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid user or password in \"%V\" of "
                           "\"admission_redis\": \"%%\" must be followed by "
                           "two hexadecimal digits", &u->shown);
        return NGX_CONF_ERROR;
    }

    if ((colon && password.len == 0) || at == rest->data) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "empty user or password in \"%V\" of "
                           "\"admission_redis\": use \"user:password@\", "
                           "\":password@\", or \"user@\" with "
                           "\"password_file=\"", &u->shown);
        return NGX_CONF_ERROR;
    }

    if (u->login
        && (!ngx_http_admission_redis_same(&u->user, &user)
            || !ngx_http_admission_redis_same(&u->password, &password)))
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


static ngx_uint_t
ngx_http_admission_redis_same(ngx_str_t *a, ngx_str_t *b)
{
    return a->len == b->len
           && (a->len == 0 || ngx_memcmp(a->data, b->data, a->len) == 0);
}


static ngx_int_t
ngx_http_admission_redis_unescape(ngx_conf_t *cf, ngx_str_t *dst, u_char *p,
    u_char *last)
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
 * A host name that cannot be found now is an error only if there is no
 * "resolver", which may come later in the configuration.
 */

static char *
ngx_http_admission_redis_add_endpoint(ngx_conf_t *cf,
    ngx_http_admission_redis_url_t *u, ngx_str_t *host, in_port_t port)
{
    ngx_url_t                             url;
    ngx_int_t                             rc;
    ngx_http_admission_redis_endpoint_t  *e;

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

    ngx_memzero(e, sizeof(ngx_http_admission_redis_endpoint_t));

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


/* the URL as messages show it; the name is the same, without the scheme */

static char *
ngx_http_admission_redis_show(ngx_conf_t *cf,
    ngx_http_admission_redis_url_t *u)
{
    u_char      *p, *start, *at, *last;
    ngx_str_t   *name;

    last = u->url.data + u->url.len;
    start = ngx_strlchr(u->url.data, last, ':') + 1;

    while (start < last - 1 && start[0] == '/' && start[1] == '/') {
        start += 2;
    }

    at = NULL;

    for (p = start; p < last; p++) {
        if (*p == '@') {
            at = p + 1;
        }
    }

    if (at == NULL) {
        at = start;
    }

    name = &u->name;

    name->data = at;
    name->len = last - at;

    u->shown.data = ngx_pnalloc(cf->pool, u->url.len);
    if (u->shown.data == NULL) {
        return NGX_CONF_ERROR;
    }

    p = ngx_cpymem(u->shown.data, u->url.data, start - u->url.data);
    p = ngx_cpymem(p, name->data, name->len);

    u->shown.len = p - u->shown.data;

    return NGX_CONF_OK;
}


static char *
ngx_http_admission_redis_check_cluster(ngx_conf_t *cf,
    ngx_http_admission_redis_url_t *u)
{
    ngx_uint_t                            i;
    ngx_http_admission_redis_endpoint_t  *e;

    if (u->conf->master.len) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"redis+sentinel://\" in \"admission_redis\" with "
                           "another URL or \"cluster=on\": give all sentinels "
                           "in one URL, a cluster has none");
        return NGX_CONF_ERROR;
    }

    if (u->tls && u->plain) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"redis://\" and \"rediss://\" in "
                           "\"admission_redis\": all nodes of a cluster are "
                           "reached in the same way");
        return NGX_CONF_ERROR;
    }

    if (u->conf->select.len) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "database \"%V\" in \"admission_redis\": a cluster "
                           "has database 0 alone", &u->db);
        return NGX_CONF_ERROR;
    }

    e = u->conf->endpoints.elts;

    for (i = 0; i < u->conf->endpoints.nelts; i++) {

        if (e[i].host.len == 0) {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                               "\"%V\" in \"admission_redis\": nodes of a "
                               "cluster are reached by \"redis://host:port\"",
                               &e[i].name);
            return NGX_CONF_ERROR;
        }
    }

    return NGX_CONF_OK;
}


static char *
ngx_http_admission_redis_set_param(ngx_conf_t *cf,
    ngx_http_admission_redis_url_t *u, ngx_str_t *arg)
{
    u_char                            *p, *last, *equals;
    ngx_str_t                          name, value;
    ngx_http_admission_redis_param_t  *param;

    name = *arg;
    last = arg->data + arg->len;
    equals = ngx_strlchr(arg->data, last, '=');

    if (equals) {
        name.len = equals - name.data;
        value.data = equals + 1;
        value.len = last - value.data;

        for (param = ngx_http_admission_redis_params; param->name.len; param++)
        {
            if (param->name.len != name.len
                || ngx_strncmp(param->name.data, name.data, name.len) != 0)
            {
                continue;
            }

            if (param->set) {
                return param->set(cf, u, &value);
            }

            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                               "\"%V=\" in \"admission_redis\" is not "
                               "supported yet", &name);
            return NGX_CONF_ERROR;
        }
    }

    /* it may have been meant as a URL */

    for (p = arg->data; p < last; p++) {
        if (*p == '@') {
            name.data = p + 1;
            name.len = last - name.data;
        }
    }

    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                       "invalid parameter \"%V\" in \"admission_redis\", use "
                       "\"redis://host:port/db\", "
                       "\"rediss://host:port/db\", \"unix:/path\", "
                       "\"timeout=\", \"password_file=\", \"prefix=\", "
                       "\"tls_ca=\", \"tls_cert=\", \"tls_key=\", "
                       "\"tls_name=\", \"cluster=on\" or \"breaker=\"",
                       &name);

    return NGX_CONF_ERROR;
}


static char *
ngx_http_admission_redis_set_timeout(ngx_conf_t *cf,
    ngx_http_admission_redis_url_t *u, ngx_str_t *value)
{
    ngx_int_t  ms;

    if (u->timeout) {
        return "has a duplicate \"timeout=\"";
    }

    ms = ngx_parse_time(value, 0);

    if (ms == NGX_ERROR || ms < 1
        || ms > NGX_HTTP_ADMISSION_REDIS_TIMEOUT_MAX)
    {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid \"timeout=%V\" in \"admission_redis\", "
                           "use a time from \"1ms\" to \"60s\"", value);
        return NGX_CONF_ERROR;
    }

    u->timeout = 1;
    u->conf->timeout = (ngx_msec_t) ms;

    return NGX_CONF_OK;
}


static char *
ngx_http_admission_redis_set_password_file(ngx_conf_t *cf,
    ngx_http_admission_redis_url_t *u, ngx_str_t *value)
{
    if (u->password_file.len) {
        return "has a duplicate \"password_file=\"";
    }

    if (value->len == 0) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid \"password_file=\" in "
                           "\"admission_redis\", use the path of a file");
        return NGX_CONF_ERROR;
    }

    u->password_file = *value;

    return NGX_CONF_OK;
}


static char *
ngx_http_admission_redis_set_prefix(ngx_conf_t *cf,
    ngx_http_admission_redis_url_t *u, ngx_str_t *value)
{
    ngx_uint_t  i;

    if (u->prefix) {
        return "has a duplicate \"prefix=\"";
    }

    for (i = 0; i < value->len; i++) {

        if (value->data[i] == '{' || value->data[i] == '}') {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                               "invalid \"prefix=%V\" in \"admission_redis\", "
                               "braces are not allowed: they decide about "
                               "the cluster slot", value);
            return NGX_CONF_ERROR;
        }
    }

    u->prefix = 1;
    u->conf->prefix = *value;

    return NGX_CONF_OK;
}


static char *
ngx_http_admission_redis_set_tls_ca(ngx_conf_t *cf,
    ngx_http_admission_redis_url_t *u, ngx_str_t *value)
{
    return ngx_http_admission_redis_set_tls(cf, &u->ssl.ca, "tls_ca", value);
}


static char *
ngx_http_admission_redis_set_tls_cert(ngx_conf_t *cf,
    ngx_http_admission_redis_url_t *u, ngx_str_t *value)
{
    return ngx_http_admission_redis_set_tls(cf, &u->ssl.cert, "tls_cert",
                                            value);
}


static char *
ngx_http_admission_redis_set_tls_key(ngx_conf_t *cf,
    ngx_http_admission_redis_url_t *u, ngx_str_t *value)
{
    return ngx_http_admission_redis_set_tls(cf, &u->ssl.key, "tls_key", value);
}


static char *
ngx_http_admission_redis_set_tls_name(ngx_conf_t *cf,
    ngx_http_admission_redis_url_t *u, ngx_str_t *value)
{
    return ngx_http_admission_redis_set_tls(cf, &u->ssl.name, "tls_name",
                                            value);
}


static char *
ngx_http_admission_redis_set_tls(ngx_conf_t *cf, ngx_str_t *param, char *name,
    ngx_str_t *value)
{
    if (param->len) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "duplicate \"%s=\" in \"admission_redis\"", name);
        return NGX_CONF_ERROR;
    }

    if (value->len == 0) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "empty \"%s=\" in \"admission_redis\"", name);
        return NGX_CONF_ERROR;
    }

    *param = *value;

    return NGX_CONF_OK;
}


static char *
ngx_http_admission_redis_make_ssl(ngx_conf_t *cf,
    ngx_http_admission_redis_url_t *u)
{
    ngx_http_admission_redis_ssl_params_t  *params;

    params = &u->ssl;

    if (u->tls) {
        u->conf->ssl = ngx_http_admission_redis_ssl_create(cf, params);
        return u->conf->ssl ? NGX_CONF_OK : NGX_CONF_ERROR;
    }

    if (params->ca.len || params->cert.len || params->key.len
        || params->name.len)
    {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"tls_%s=\" in \"admission_redis\" is for "
                           "\"rediss://\", not for \"%V\"",
                           params->ca.len ? "ca"
                           : params->cert.len ? "cert"
                           : params->key.len ? "key" : "name", &u->shown);
        return NGX_CONF_ERROR;
    }

    return NGX_CONF_OK;
}


static char *
ngx_http_admission_redis_set_cluster(ngx_conf_t *cf,
    ngx_http_admission_redis_url_t *u, ngx_str_t *value)
{
    if (u->cluster) {
        return "has a duplicate \"cluster=\"";
    }

    if (value->len != 2 || ngx_strncmp(value->data, "on", 2) != 0) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid \"cluster=%V\" in \"admission_redis\", "
                           "use \"cluster=on\"", value);
        return NGX_CONF_ERROR;
    }

    u->cluster = 1;
    u->conf->cluster = 1;

    return NGX_CONF_OK;
}


static char *
ngx_http_admission_redis_set_breaker(ngx_conf_t *cf,
    ngx_http_admission_redis_url_t *u, ngx_str_t *value)
{
    if (u->breaker) {
        return "has a duplicate \"breaker=\"";
    }

    if (ngx_http_admission_redis_breaker_parse(&u->conf->breaker, value)
        != NGX_OK)
    {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid \"breaker=%V\" in \"admission_redis\", "
                           "use calls (1 to 64), percent (1%% to 100%%), the "
                           "longest pause (1s to 1h) and trial calls (1 to "
                           "64): \"breaker=10/50%%/30s/3\"", value);
        return NGX_CONF_ERROR;
    }

    u->breaker = 1;

    return NGX_CONF_OK;
}


static char *
ngx_http_admission_redis_read_password(ngx_conf_t *cf,
    ngx_http_admission_redis_url_t *u)
{
    u_char     *buf;
    size_t      len;
    ssize_t     n;
    ngx_fd_t    fd;
    ngx_err_t   err;
    ngx_str_t   path;

    if (u->password_file.len == 0) {

        if (u->user.len && u->password.len == 0) {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                               "\"%V\" in \"admission_redis\" has a user but "
                               "no password, use \"user:password@\" or "
                               "\"password_file=\"", &u->shown);
            return NGX_CONF_ERROR;
        }

        return NGX_CONF_OK;
    }

    path = u->password_file;

    if (u->password.len) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"password_file=%V\" in \"admission_redis\" "
                           "besides a password in the URL, use one of them",
                           &path);
        return NGX_CONF_ERROR;
    }

    if (ngx_conf_full_name(cf->cycle, &path, 1) != NGX_OK) {
        return NGX_CONF_ERROR;
    }

    buf = ngx_pnalloc(cf->pool, NGX_HTTP_ADMISSION_REDIS_PASSWORD_MAX + 3);
    if (buf == NULL) {
        return NGX_CONF_ERROR;
    }

    fd = ngx_open_file(path.data, NGX_FILE_RDONLY, NGX_FILE_OPEN, 0);
    if (fd == NGX_INVALID_FILE) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, ngx_errno,
                           "\"password_file=\" of \"admission_redis\": "
                           ngx_open_file_n " \"%V\" failed", &path);
        return NGX_CONF_ERROR;
    }

    n = ngx_read_fd(fd, buf, NGX_HTTP_ADMISSION_REDIS_PASSWORD_MAX + 3);
    err = ngx_errno;

    if (ngx_close_file(fd) == NGX_FILE_ERROR) {
        ngx_conf_log_error(NGX_LOG_ALERT, cf, ngx_errno,
                           ngx_close_file_n " \"%V\" failed", &path);
    }

    if (n == -1) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, err,
                           "\"password_file=\" of \"admission_redis\": "
                           ngx_read_fd_n " \"%V\" failed", &path);
        return NGX_CONF_ERROR;
    }

    len = n;

    if (len && buf[len - 1] == LF) {
        len--;

        if (len && buf[len - 1] == CR) {
            len--;
        }
    }

    if (len == 0 || len > NGX_HTTP_ADMISSION_REDIS_PASSWORD_MAX) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "the password in \"%V\" of \"admission_redis\" "
                           "must have from 1 to %d bytes", &path,
                           NGX_HTTP_ADMISSION_REDIS_PASSWORD_MAX);
        return NGX_CONF_ERROR;
    }

    u->password.data = buf;
    u->password.len = len;

    return NGX_CONF_OK;
}


static char *
ngx_http_admission_redis_make_auth(ngx_conf_t *cf,
    ngx_http_admission_redis_url_t *u)
{
    ngx_str_t   argv[3];
    ngx_uint_t  argc;

    if (u->password.len == 0) {
        return NGX_CONF_OK;
    }

    argc = 0;

    ngx_str_set(&argv[argc], "AUTH");
    argc++;

    if (u->user.len) {
        argv[argc++] = u->user;
    }

    argv[argc++] = u->password;

    if (ngx_http_admission_redis_make_command(cf, &u->conf->auth, argc, argv)
        != NGX_OK)
    {
        return NGX_CONF_ERROR;
    }

    return NGX_CONF_OK;
}


static char *
ngx_http_admission_redis_make_select(ngx_conf_t *cf,
    ngx_http_admission_redis_url_t *u)
{
    ngx_int_t  db;
    ngx_str_t  argv[2];

    if (u->db.len == 0) {
        return NGX_CONF_OK;
    }

    db = ngx_atoi(u->db.data, u->db.len);

    if (db == NGX_ERROR || db > NGX_MAX_INT32_VALUE) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid database \"%V\" in \"%V\" of "
                           "\"admission_redis\", use a number from 0 on",
                           &u->db, &u->shown);
        return NGX_CONF_ERROR;
    }

    if (db == 0) {
        return NGX_CONF_OK;
    }

    ngx_str_set(&argv[0], "SELECT");
    argv[1] = u->db;

    if (ngx_http_admission_redis_make_command(cf, &u->conf->select, 2, argv)
        != NGX_OK)
    {
        return NGX_CONF_ERROR;
    }

    return NGX_CONF_OK;
}


static ngx_int_t
ngx_http_admission_redis_make_command(ngx_conf_t *cf, ngx_str_t *command,
    ngx_uint_t argc, ngx_str_t *argv)
{
    size_t       len;
    u_char      *p;
    ngx_uint_t   i;

    len = sizeof("*" CRLF) - 1 + NGX_INT_T_LEN;

    for (i = 0; i < argc; i++) {
        len += sizeof("$" CRLF CRLF) - 1 + NGX_SIZE_T_LEN + argv[i].len;
    }

    command->data = ngx_pnalloc(cf->pool, len);
    if (command->data == NULL) {
        return NGX_ERROR;
    }

    p = ngx_sprintf(command->data, "*%ui" CRLF, argc);

    for (i = 0; i < argc; i++) {
        p = ngx_sprintf(p, "$%uz" CRLF "%V" CRLF, argv[i].len, &argv[i]);
    }

    command->len = p - command->data;

    return NGX_OK;
}
