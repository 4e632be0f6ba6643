
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Parameters of the "admission_redis" directive, each of them a "name=value".
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_admission_redis_conf.h"


#define NGX_HTTP_ADMISSION_REDIS_TIMEOUT_MAX   60000     /* ms */


typedef struct ngx_http_admission_redis_param_s
    ngx_http_admission_redis_param_t;


#define NGX_HTTP_ADMISSION_REDIS_NAME_MAX  253      /* of a DNS name: RFC 1035,
                                                       without its root */


typedef char *(*ngx_http_admission_redis_set_pt)(ngx_conf_t *cf,
    ngx_http_admission_redis_url_t *u, ngx_http_admission_redis_param_t *param,
    ngx_str_t *value);


struct ngx_http_admission_redis_param_s {
    ngx_str_t                              name;
    ngx_http_admission_redis_set_pt        set;
    size_t                                 offset;   /* of a text, in u */
};


static char *ngx_http_admission_redis_set_timeout(ngx_conf_t *cf,
    ngx_http_admission_redis_url_t *u, ngx_http_admission_redis_param_t *param,
    ngx_str_t *value);
static char *ngx_http_admission_redis_set_password_file(ngx_conf_t *cf,
    ngx_http_admission_redis_url_t *u, ngx_http_admission_redis_param_t *param,
    ngx_str_t *value);
static char *ngx_http_admission_redis_set_prefix(ngx_conf_t *cf,
    ngx_http_admission_redis_url_t *u, ngx_http_admission_redis_param_t *param,
    ngx_str_t *value);
static char *ngx_http_admission_redis_set_tls(ngx_conf_t *cf,
    ngx_http_admission_redis_url_t *u, ngx_http_admission_redis_param_t *param,
    ngx_str_t *value);
static char *ngx_http_admission_redis_set_tls_name(ngx_conf_t *cf,
    ngx_http_admission_redis_url_t *u, ngx_http_admission_redis_param_t *param,
    ngx_str_t *value);
static char *ngx_http_admission_redis_set_cluster(ngx_conf_t *cf,
    ngx_http_admission_redis_url_t *u, ngx_http_admission_redis_param_t *param,
    ngx_str_t *value);
static char *ngx_http_admission_redis_set_breaker(ngx_conf_t *cf,
    ngx_http_admission_redis_url_t *u, ngx_http_admission_redis_param_t *param,
    ngx_str_t *value);


static ngx_http_admission_redis_param_t  ngx_http_admission_redis_params[] = {

    { ngx_string("timeout"), ngx_http_admission_redis_set_timeout, 0 },

    { ngx_string("password_file"),
      ngx_http_admission_redis_set_password_file, 0 },

    { ngx_string("prefix"), ngx_http_admission_redis_set_prefix, 0 },

    { ngx_string("tls_ca"), ngx_http_admission_redis_set_tls,
      offsetof(ngx_http_admission_redis_url_t, ssl.ca) },

    { ngx_string("tls_cert"), ngx_http_admission_redis_set_tls,
      offsetof(ngx_http_admission_redis_url_t, ssl.cert) },

    { ngx_string("tls_key"), ngx_http_admission_redis_set_tls,
      offsetof(ngx_http_admission_redis_url_t, ssl.key) },

    { ngx_string("tls_name"), ngx_http_admission_redis_set_tls_name,
      offsetof(ngx_http_admission_redis_url_t, ssl.name) },

    { ngx_string("cluster"), ngx_http_admission_redis_set_cluster, 0 },

    { ngx_string("breaker"), ngx_http_admission_redis_set_breaker, 0 },

    { ngx_null_string, NULL, 0 }
};


char *
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
            if (param->name.len == name.len
                && ngx_strncmp(param->name.data, name.data, name.len) == 0)
            {
                return param->set(cf, u, param, &value);
            }
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
    ngx_http_admission_redis_url_t *u, ngx_http_admission_redis_param_t *param,
    ngx_str_t *value)
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
    ngx_http_admission_redis_url_t *u, ngx_http_admission_redis_param_t *param,
    ngx_str_t *value)
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
    ngx_http_admission_redis_url_t *u, ngx_http_admission_redis_param_t *param,
    ngx_str_t *value)
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
ngx_http_admission_redis_set_tls(ngx_conf_t *cf,
    ngx_http_admission_redis_url_t *u, ngx_http_admission_redis_param_t *param,
    ngx_str_t *value)
{
    ngx_str_t  *text;

    text = (ngx_str_t *) ((u_char *) u + param->offset);

    if (text->len) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "duplicate \"%V=\" in \"admission_redis\"",
                           &param->name);
        return NGX_CONF_ERROR;
    }

    if (value->len == 0) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "empty \"%V=\" in \"admission_redis\"",
                           &param->name);
        return NGX_CONF_ERROR;
    }

    *text = *value;

    return NGX_CONF_OK;
}


static char *
ngx_http_admission_redis_set_tls_name(ngx_conf_t *cf,
    ngx_http_admission_redis_url_t *u, ngx_http_admission_redis_param_t *param,
    ngx_str_t *value)
{
    if (value->len > NGX_HTTP_ADMISSION_REDIS_NAME_MAX) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid \"tls_name=%V\" in \"admission_redis\", "
                           "use a name of at most %d characters", value,
                           NGX_HTTP_ADMISSION_REDIS_NAME_MAX);
        return NGX_CONF_ERROR;
    }

    return ngx_http_admission_redis_set_tls(cf, u, param, value);
}


static char *
ngx_http_admission_redis_set_cluster(ngx_conf_t *cf,
    ngx_http_admission_redis_url_t *u, ngx_http_admission_redis_param_t *param,
    ngx_str_t *value)
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
    ngx_http_admission_redis_url_t *u, ngx_http_admission_redis_param_t *param,
    ngx_str_t *value)
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
