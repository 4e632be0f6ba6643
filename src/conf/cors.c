
/*
 * Copyright (C) 2026 the admission module authors
 *
 * admission_cors: origins whose scripts may call the APIs.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "conf.h"
#include "parse.h"


static ngx_int_t ngx_adm_conf_cors_origin(ngx_str_t *origin);


char *
ngx_adm_set_cors(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_adm_loc_conf_t  *lcf = conf;

    ngx_str_t   *value, *origin;
    ngx_uint_t   i;

    value = cf->args->elts;

    for (i = 1; i < cf->args->nelts; i++) {

        if (ngx_adm_conf_cors_origin(&value[i]) != NGX_OK) {
            return ngx_adm_conf_invalid(cf, cmd, &value[i],
                       "origins as browsers send them, "
                       "\"https://host[:port]\" without a path; \"*\" cannot "
                       "be with credentials");
        }

        origin = ngx_adm_conf_push(cf, &lcf->cors, sizeof(ngx_str_t));
        if (origin == NULL) {
            return NGX_CONF_ERROR;
        }

        *origin = value[i];
        ngx_strlow(origin->data, origin->data, origin->len);
    }

    return NGX_CONF_OK;
}


static ngx_int_t
ngx_adm_conf_cors_origin(ngx_str_t *origin)
{
    u_char     *p, *host, *port, *last;
    ngx_int_t   n;

    last = origin->data + origin->len;
    p = ngx_strnstr(origin->data, "://", origin->len);

    if (p == NULL || p == origin->data) {
        return NGX_DECLINED;
    }

    host = p + 3;
    port = NULL;

    for (p = host; p < last; p++) {

        if (*p <= 0x20 || *p >= 0x7f || ngx_strchr("/*,;?#@", *p) != NULL) {
            return NGX_DECLINED;
        }

        /* those of an address in brackets are none before a port */

        if (*p == ':') {
            port = p;

        } else if (*p == ']') {
            port = NULL;
        }
    }

    if (host == (port ? port : last)) {
        return NGX_DECLINED;
    }

    if (port) {
        n = ngx_atoi(port + 1, last - port - 1);

        if (n < 1 || n > 65535) {
            return NGX_DECLINED;
        }
    }

    return NGX_OK;
}
