
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Parameters of the "admission_redis" directive: its "name=value" arguments.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "redis.h"


#define NGX_ADM_REDIS_TIMEOUT_MAX   60000     /* ms */

#define NGX_ADM_REDIS_NAME_MAX  253      /* of a DNS name: RFC 1035, without its
                                            root */


static ngx_int_t ngx_adm_param_prefix(ngx_conf_t *cf, ngx_adm_param_t *param,
    ngx_str_t *value, void *field);
static ngx_int_t ngx_adm_param_breaker(ngx_conf_t *cf, ngx_adm_param_t *param,
    ngx_str_t *value, void *field);


static ngx_adm_param_t  ngx_adm_redis_params[] = {

    ngx_adm_param(redis_url, timeout, timeout, time,
                  1, NGX_ADM_REDIS_TIMEOUT_MAX, NULL,
                  "use a time from \"1ms\" to \"60s\""),

    ngx_adm_param(redis_url, password_file, password_file, string, 1, 0, NULL,
                  "use the path of a file"),

    ngx_adm_param(redis_url, prefix, prefix, prefix, 0, 0, NULL,
      "braces are not allowed: they decide about the cluster slot"),

    ngx_adm_param(redis_url, tls_ca, ssl.ca, string, 1, 0, NULL,
                  "use the path of a file"),

    ngx_adm_param(redis_url, tls_cert, ssl.cert, string, 1, 0, NULL,
                  "use the path of a file"),

    ngx_adm_param(redis_url, tls_key, ssl.key, string, 1, 0, NULL,
                  "use the path of a file"),

    ngx_adm_param(redis_url, tls_name, ssl.name, string,
                  1, NGX_ADM_REDIS_NAME_MAX, NULL,
                  "use a name of at most 253 characters"),

    ngx_adm_param(redis_url, cluster, cluster, switch,
                  NGX_ADM_ON, NGX_ADM_ON, NULL, "use \"cluster=on\""),

    ngx_adm_param(redis_url, breaker, conf, breaker, 0, 0, NULL,
      "use calls (1 to 64), percent (1% to 100%), the longest pause (1s to 1h) "
      "and trial calls (1 to 64): \"breaker=10/50%/30s/3\""),

    ngx_adm_params_end
};


char *
ngx_adm_redis_set_param(ngx_conf_t *cf, ngx_adm_redis_url_t *u, ngx_str_t *arg)
{
    u_char           *equals, *at;
    ngx_str_t         name, value;
    ngx_uint_t        bit;
    ngx_adm_param_t  *param;

    param = ngx_adm_conf_find(ngx_adm_redis_params, arg, &value);

    if (param == NULL) {
        name = *arg;

        equals = ngx_strlchr(arg->data, arg->data + arg->len, '=');

        if (equals) {
            name.len = equals - arg->data;
        }

        /* perhaps meant as a URL, with a password in it */

        at = (u_char *) strrchr((char *) arg->data, '@');

        if (at) {
            name.data = at + 1;
            name.len = arg->data + arg->len - name.data;
        }

        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid parameter \"%V\" in \"admission_redis\", "
                           "use \"redis://host:port/db\", "
                           "\"rediss://host:port/db\", \"unix:/path\", "
                           "\"timeout=\", \"password_file=\", \"prefix=\", "
                           "\"tls_ca=\", \"tls_cert=\", \"tls_key=\", "
                           "\"tls_name=\", \"cluster=on\" or \"breaker=\"",
                           &name);
        return NGX_CONF_ERROR;
    }

    bit = 1 << (param - ngx_adm_redis_params);

    if (u->given & bit) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "duplicate \"%V=\" in "
                           "\"admission_redis\"", &param->name);
        return NGX_CONF_ERROR;
    }

    u->given |= bit;

    if (value.len == 0 && param->min == 1
        && param->read == ngx_adm_param_string)
    {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "empty \"%V=\" in \"admission_redis\", %s",
                           &param->name, param->allowed);
        return NGX_CONF_ERROR;
    }

    if (param->read(cf, param, &value, (u_char *) u + param->offset) != NGX_OK)
    {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid \"%V=%V\" in \"admission_redis\", %s",
                           &param->name, &value, param->allowed);
        return NGX_CONF_ERROR;
    }

    return NGX_CONF_OK;
}


static ngx_int_t
ngx_adm_param_prefix(ngx_conf_t *cf, ngx_adm_param_t *param, ngx_str_t *value,
    void *field)
{
    *(ngx_str_t *) field = *value;

    return strcspn((char *) value->data, "{}") < value->len ? NGX_DECLINED
                                                            : NGX_OK;
}


static ngx_int_t
ngx_adm_param_breaker(ngx_conf_t *cf, ngx_adm_param_t *param, ngx_str_t *value,
    void *field)
{
    ngx_adm_redis_conf_t  **conf = field;

    return ngx_adm_redis_breaker_parse(&(*conf)->breaker, value);
}
