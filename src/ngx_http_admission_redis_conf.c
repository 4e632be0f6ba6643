
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The "admission_redis" directive: its lines put together.
 *
 * Several URLs, or "cluster=on", are seeds of a cluster.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_admission_redis_conf.h"
#include "ngx_http_admission_redis_resolve.h"


#define NGX_HTTP_ADMISSION_REDIS_TIMEOUT       200       /* ms */
#define NGX_HTTP_ADMISSION_REDIS_PASSWORD_MAX  4096


static char *ngx_http_admission_redis_make_ssl(ngx_conf_t *cf,
    ngx_http_admission_redis_url_t *u);
static char *ngx_http_admission_redis_read_password(ngx_conf_t *cf,
    ngx_http_admission_redis_url_t *u);
static char *ngx_http_admission_redis_read_password_file(ngx_conf_t *cf,
    ngx_http_admission_redis_url_t *u, ngx_str_t *path);
static char *ngx_http_admission_redis_make_auth(ngx_conf_t *cf,
    ngx_http_admission_redis_url_t *u);
static char *ngx_http_admission_redis_make_select(ngx_conf_t *cf,
    ngx_http_admission_redis_url_t *u);
static ngx_int_t ngx_http_admission_redis_make_command(ngx_conf_t *cf,
    ngx_str_t *command, ngx_uint_t argc, ngx_str_t *argv);
static char *ngx_http_admission_redis_check_cluster(ngx_conf_t *cf,
    ngx_http_admission_redis_url_t *u);


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

            if (rc == NGX_CONF_OK) {
                rc = ngx_http_admission_redis_make_select(cf, &u);
            }

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
ngx_http_admission_redis_read_password(ngx_conf_t *cf,
    ngx_http_admission_redis_url_t *u)
{
    ngx_str_t  path;

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

    return ngx_http_admission_redis_read_password_file(cf, u, &path);
}


static char *
ngx_http_admission_redis_read_password_file(ngx_conf_t *cf,
    ngx_http_admission_redis_url_t *u, ngx_str_t *path)
{
    u_char     *buf;
    size_t      len;
    ssize_t     n;
    ngx_fd_t    fd;
    ngx_err_t   err;

    buf = ngx_pnalloc(cf->pool, NGX_HTTP_ADMISSION_REDIS_PASSWORD_MAX + 3);
    if (buf == NULL) {
        return NGX_CONF_ERROR;
    }

    fd = ngx_open_file(path->data, NGX_FILE_RDONLY, NGX_FILE_OPEN, 0);
    if (fd == NGX_INVALID_FILE) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, ngx_errno,
                           "\"password_file=\" of \"admission_redis\": "
                           ngx_open_file_n " \"%V\" failed", path);
        return NGX_CONF_ERROR;
    }

    n = ngx_read_fd(fd, buf, NGX_HTTP_ADMISSION_REDIS_PASSWORD_MAX + 3);
    err = ngx_errno;

    if (ngx_close_file(fd) == NGX_FILE_ERROR) {
        ngx_conf_log_error(NGX_LOG_ALERT, cf, ngx_errno,
                           ngx_close_file_n " \"%V\" failed", path);
    }

    if (n == -1) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, err,
                           "\"password_file=\" of \"admission_redis\": "
                           ngx_read_fd_n " \"%V\" failed", path);
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
                           "must have from 1 to %d bytes", path,
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

    u->select = u->db;

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
                           "has database 0 alone", &u->select);
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
