
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Keys of an event's line that say what its backend is held to.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "parse.h"
#include "../base/text.h"


/* in hundredths of a percent */

ngx_int_t
ngx_adm_param_percent(ngx_conf_t *cf, ngx_adm_param_t *param, ngx_str_t *value,
    void *field)
{
    ngx_int_t  n;

    if (ngx_adm_str_is(value, "off")) {
        *(int64_t *) field = 0;
        return NGX_OK;
    }

    if (value->len < 2 || value->data[value->len - 1] != '%') {
        return NGX_DECLINED;
    }

    n = ngx_atofp(value->data, value->len - 1, 2);

    if (n < param->min || n > param->max) {
        return NGX_DECLINED;
    }

    *(int64_t *) field = n;

    return NGX_OK;
}
