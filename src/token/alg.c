
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The one list of algorithms: what it does not have does not exist here, "none"
 * first of all.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/text.h"
#include "alg.h"


ngx_conf_enum_t  ngx_adm_algs[] = {
    { ngx_string("HS256"), NGX_ADM_HS256 },
    { ngx_string("HS384"), NGX_ADM_HS384 },
    { ngx_string("HS512"), NGX_ADM_HS512 },
    { ngx_string("RS256"), NGX_ADM_RS256 },
    { ngx_string("RS384"), NGX_ADM_RS384 },
    { ngx_string("RS512"), NGX_ADM_RS512 },
    { ngx_string("PS256"), NGX_ADM_PS256 },
    { ngx_string("PS384"), NGX_ADM_PS384 },
    { ngx_string("PS512"), NGX_ADM_PS512 },
    { ngx_string("ES256"), NGX_ADM_ES256 },
    { ngx_string("ES384"), NGX_ADM_ES384 },
    { ngx_string("EdDSA"), NGX_ADM_EDDSA },
    { ngx_null_string, 0 }
};


ngx_int_t
ngx_adm_alg(ngx_str_t *name, ngx_uint_t *alg)
{
    ngx_conf_enum_t  *known;

    for (known = ngx_adm_algs; known->name.len; known++) {

        if (ngx_adm_str_same(&known->name, name)) {
            *alg = known->value;
            return NGX_OK;
        }
    }

    return NGX_DECLINED;
}
