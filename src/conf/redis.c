
/*
 * Copyright (C) 2026 the admission module authors
 *
 * admission_redis: what its lines say together.  Several URLs, or
 * "cluster=on", are seeds of a cluster.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "../redis/resolve.h"
#include "redis.h"


#define NGX_ADM_REDIS_TIMEOUT       200       /* ms */
#define NGX_ADM_REDIS_PASSWORD_MAX  4096


static char *ngx_adm_redis_make_ssl(ngx_conf_t *cf, ngx_adm_redis_url_t *u);
static char *ngx_adm_redis_read_password(ngx_conf_t *cf, ngx_command_t *cmd,
    ngx_adm_redis_url_t *u);
static char *ngx_adm_redis_make_auth(ngx_conf_t *cf, ngx_adm_redis_url_t *u);
static char *ngx_adm_redis_make_select(ngx_conf_t *cf, ngx_adm_redis_url_t *u);
static char *ngx_adm_redis_make_command(ngx_conf_t *cf, ngx_str_t *command,
    ngx_uint_t argc, ngx_str_t *argv);
static char *ngx_adm_redis_check_cluster(ngx_conf_t *cf,
    ngx_adm_redis_url_t *u);


char *
ngx_adm_set_redis(ngx_conf_t *cf, ngx_command_t *cmd, void *parent)
{
    ngx_adm_main_conf_t  *mcf = parent;

    char                  *rc;
    ngx_str_t             *arg;
    ngx_uint_t             i, n;
    ngx_adm_redis_url_t    u;
    ngx_adm_redis_conf_t  *conf;

    if (mcf->redis) {
        return "is duplicate";
    }

    conf = ngx_pcalloc(cf->pool, sizeof(ngx_adm_redis_conf_t));
    if (conf == NULL) {
        return NGX_CONF_ERROR;
    }

    ngx_adm_redis_breaker_default(&conf->breaker);

    ngx_memzero(&u, sizeof(ngx_adm_redis_url_t));

    u.conf = conf;
    u.timeout = NGX_ADM_REDIS_TIMEOUT;

    /* never NULL, since it is copied in front of every key */

    ngx_str_set(&u.prefix, "");

    arg = cf->args->elts;
    n = 0;

    for (i = 1; i < cf->args->nelts; i++) {
        n += ngx_adm_redis_is_url(&arg[i]);
    }

    if (ngx_array_init(&conf->endpoints, cf->pool, ngx_max(n, 1),
                       sizeof(ngx_adm_redis_endpoint_t)) != NGX_OK)
    {
        return NGX_CONF_ERROR;
    }

    for (i = 1; i < cf->args->nelts; i++) {

        if (ngx_adm_redis_is_url(&arg[i])) {
            rc = ngx_adm_redis_set_url(cf, &u, &arg[i]);

            if (rc == NGX_CONF_OK) {
                rc = ngx_adm_redis_make_select(cf, &u);
            }

        } else {
            rc = ngx_adm_redis_set_param(cf, &u, &arg[i]);
        }

        if (rc != NGX_CONF_OK) {
            return rc;
        }
    }

    if (n == 0) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "\"admission_redis\" needs "
                           "a URL: \"redis://host:port/db\", "
                           "\"rediss://host:port/db\" or \"unix:/path\"");
        return NGX_CONF_ERROR;
    }

    conf->prefix = u.prefix;
    conf->timeout = u.timeout;
    conf->cluster = (u.cluster || n > 1);

    if (ngx_adm_redis_make_ssl(cf, &u) != NGX_CONF_OK
        || ngx_adm_redis_read_password(cf, cmd, &u) != NGX_CONF_OK
        || ngx_adm_redis_make_auth(cf, &u) != NGX_CONF_OK
        || (conf->cluster
            && ngx_adm_redis_check_cluster(cf, &u) != NGX_CONF_OK))
    {
        return NGX_CONF_ERROR;
    }

    mcf->redis = conf;

    return NGX_CONF_OK;
}


char *
ngx_adm_redis_init(ngx_conf_t *cf, ngx_adm_redis_conf_t *redis)
{
    ngx_uint_t                 i;
    ngx_adm_redis_endpoint_t  *e;

    if (ngx_adm_redis_resolver(cf->cycle)) {
        return NGX_CONF_OK;
    }

    if (redis->unresolved.len) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "host not found in \"%V\" of "
                           "\"admission_redis\", and no \"resolver\" in "
                           "\"http\" to find it later", &redis->unresolved);
        return NGX_CONF_ERROR;
    }

    if (redis->master.len == 0) {
        return NGX_CONF_OK;
    }

    e = redis->endpoints.elts;

    for (i = 0; i < redis->endpoints.nelts; i++) {

        if (e[i].is_name) {
            ngx_conf_log_error(NGX_LOG_WARN, cf, 0, "the sentinels of "
                               "\"admission_redis\" have host names, and there "
                               "is no \"resolver\" in \"http\": a master that "
                               "they tell by its name is not found");
            break;
        }
    }

    return NGX_CONF_OK;
}


static char *
ngx_adm_redis_make_ssl(ngx_conf_t *cf, ngx_adm_redis_url_t *u)
{
    ngx_adm_redis_ssl_params_t  *params;

    params = &u->ssl;

    if (u->tls) {
        u->conf->ssl = ngx_adm_redis_ssl_create(cf, params);
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
ngx_adm_redis_read_password(ngx_conf_t *cf, ngx_command_t *cmd,
    ngx_adm_redis_url_t *u)
{
    ngx_str_t  path, *password;

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
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "\"password_file=%V\" in "
                           "\"admission_redis\" besides a password in the "
                           "URL, use one of them", &path);
        return NGX_CONF_ERROR;
    }

    password = &u->password;

    if (ngx_adm_conf_file(cf, cmd, "\"password_file=\" of ", &path,
                          NGX_ADM_REDIS_PASSWORD_MAX + 2, cf->pool,
                          password) != NGX_OK)
    {
        return NGX_CONF_ERROR;
    }

    /* editors end files with a newline */

    if (password->len && password->data[password->len - 1] == LF) {
        password->len--;

        if (password->len && password->data[password->len - 1] == CR) {
            password->len--;
        }
    }

    if (password->len == 0 || password->len > NGX_ADM_REDIS_PASSWORD_MAX) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "the password in \"%V\" of "
                           "\"admission_redis\" must have from 1 to %d bytes",
                           &path, NGX_ADM_REDIS_PASSWORD_MAX);
        return NGX_CONF_ERROR;
    }

    return NGX_CONF_OK;
}


static char *
ngx_adm_redis_make_auth(ngx_conf_t *cf, ngx_adm_redis_url_t *u)
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

    return ngx_adm_redis_make_command(cf, &u->conf->auth, argc, argv);
}


static char *
ngx_adm_redis_make_select(ngx_conf_t *cf, ngx_adm_redis_url_t *u)
{
    ngx_int_t  db;
    ngx_str_t  argv[2];

    if (u->db.len == 0) {
        return NGX_CONF_OK;
    }

    db = ngx_atoi(u->db.data, u->db.len);

    if (db == NGX_ERROR || db > NGX_MAX_INT32_VALUE) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "invalid database \"%V\" in "
                           "\"%V\" of \"admission_redis\", use a number from "
                           "0 on", &u->db, &u->shown);
        return NGX_CONF_ERROR;
    }

    if (db == 0) {
        return NGX_CONF_OK;
    }

    u->select = u->db;

    ngx_str_set(&argv[0], "SELECT");
    argv[1] = u->db;

    return ngx_adm_redis_make_command(cf, &u->conf->select, 2, argv);
}


static char *
ngx_adm_redis_make_command(ngx_conf_t *cf, ngx_str_t *command, ngx_uint_t argc,
    ngx_str_t *argv)
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
        return NGX_CONF_ERROR;
    }

    p = ngx_sprintf(command->data, "*%ui" CRLF, argc);

    for (i = 0; i < argc; i++) {
        p = ngx_sprintf(p, "$%uz" CRLF "%V" CRLF, argv[i].len, &argv[i]);
    }

    command->len = p - command->data;

    return NGX_CONF_OK;
}


static char *
ngx_adm_redis_check_cluster(ngx_conf_t *cf, ngx_adm_redis_url_t *u)
{
    ngx_uint_t                 i;
    ngx_adm_redis_endpoint_t  *e;

    if (u->conf->master.len) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"redis+sentinel://\" in \"admission_redis\" with "
                           "another URL or \"cluster=on\": give all sentinels "
                           "in one URL, a cluster has none");
        return NGX_CONF_ERROR;
    }

    if (u->tls && u->plain) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "\"redis://\" and "
                           "\"rediss://\" in \"admission_redis\": all nodes "
                           "of a cluster are reached in the same way");
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
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "\"%V\" in "
                               "\"admission_redis\": nodes of a cluster are "
                               "reached by \"redis://host:port\"", &e[i].name);
            return NGX_CONF_ERROR;
        }
    }

    return NGX_CONF_OK;
}
