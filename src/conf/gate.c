
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What the gate asks for, and where it sends those whom it denies:
 * admission_user, admission_tier1, admission_tier2, admission_deny and the
 * addresses.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../http/return.h"
#include "conf.h"
#include "parse.h"


#define NGX_ADM_METHOD_MAX  (sizeof("options") - 1)
#define NGX_ADM_LEEWAY_MAX  300          /* s */


static ngx_int_t ngx_adm_param_algs(ngx_conf_t *cf, ngx_adm_param_t *param,
    ngx_str_t *value, void *field);
static ngx_int_t ngx_adm_param_methods(ngx_conf_t *cf, ngx_adm_param_t *param,
    ngx_str_t *value, void *field);


/* where no level has the directive */

ngx_adm_user_conf_t  ngx_adm_user_default = {
    NGX_ADM_USER_OFF,
    { ngx_null_string, NULL, NULL, NULL, { 0 } },
    0,
    NGX_ADM_LEEWAY,
    ngx_null_string,
    ngx_null_string,
    ngx_null_string,
    ngx_null_string,
    ngx_null_string,
    ngx_null_string };


ngx_adm_tier1_conf_t  ngx_adm_tier1_default = {
    NGX_ADM_OFF,
    { ngx_null_string, NULL, NULL, NULL, { 0 } },
    0, 1 };


ngx_adm_tier2_conf_t  ngx_adm_tier2_default = {
    NGX_ADM_OFF,
    { ngx_null_string, NULL, NULL, NULL, { 0 } },
    0, 1, 1, 0 };


/* the end of a list of names stands for a value with variables */

static ngx_conf_enum_t  ngx_adm_user_sources[] = {
    { ngx_string("off"), NGX_ADM_USER_OFF },
    { ngx_string("jwt"), NGX_ADM_USER_JWT },
    { ngx_string("visitor"), NGX_ADM_USER_VISITOR },
    { ngx_null_string, NGX_ADM_USER_VARIABLE }
};


static ngx_conf_enum_t  ngx_adm_tier1_modes[] = {
    { ngx_string("auto"), NGX_ADM_AUTO },
    { ngx_string("off"), NGX_ADM_OFF },
    { ngx_string("on"), NGX_ADM_ON },
    { ngx_null_string, NGX_ADM_VARIABLE }
};


/* tier 2 has no "auto" */

#define ngx_adm_tier2_modes  (&ngx_adm_tier1_modes[1])


static ngx_conf_enum_t  ngx_adm_deny_modes[] = {
    { ngx_string("auto"), NGX_ADM_DENY_AUTO },
    { ngx_string("redirect"), NGX_ADM_DENY_REDIRECT },
    { ngx_string("json"), NGX_ADM_DENY_JSON },
    { ngx_string("status"), NGX_ADM_DENY_STATUS },
    { ngx_null_string, 0 }
};


/* event= of both tiers: whether one is required */

static ngx_conf_enum_t  ngx_adm_tier_events[] = {
    { ngx_string("any"), 0 },
    { ngx_string("required"), 1 },
    { ngx_null_string, 0 }
};


static ngx_adm_param_t  ngx_adm_user_params[] = {

    ngx_adm_param(user_conf, id, id, string, 1, 0, NULL, NULL),

    ngx_adm_param(user_conf, email, email, string, 1, 0, NULL, NULL),

    ngx_adm_param(user_conf, role, role, string, 1, 0, NULL, NULL),

    ngx_adm_param(user_conf, type, type, string, 1, 0, NULL, NULL),

    ngx_adm_param(user_conf, alg, algs, algs, 0, 0, NULL,
      "\"alg=\" with HS256, HS384 and HS512, for public keys RS256, RS384, "
      "RS512, PS256, PS384, PS512, ES256, ES384 and EdDSA, several separated "
      "by commas"),

    ngx_adm_param(user_conf, iss, iss, string, 1, 0, NULL, NULL),

    ngx_adm_param(user_conf, aud, aud, string, 1, 0, NULL, NULL),

    ngx_adm_param(user_conf, leeway, leeway, seconds,
                  0, NGX_ADM_LEEWAY_MAX, NULL,
                  "\"leeway=\" with a time from 0 to 5m, in whole seconds"),

    ngx_adm_params_end
};


static ngx_adm_params_t  ngx_adm_user_set = {
    ngx_adm_user_params,
    "\"id=\", \"email=\", \"role=\" with the name of a claim, \"type=\", "
    "\"alg=\", \"iss=\", \"aud=\" and \"leeway=\"",
    0 };


static ngx_adm_param_t  ngx_adm_tier1_params[] = {

    ngx_adm_param(tier1_conf, event, event_required, enum,
                  0, 0, ngx_adm_tier_events, NULL),

    ngx_adm_param(tier1_conf, bind, bind, switch, 0, NGX_ADM_ON, NULL, NULL),

    ngx_adm_params_end
};


static ngx_adm_params_t  ngx_adm_tier1_set = {
    ngx_adm_tier1_params,
    "\"event=any|required\" and \"bind=on|off\"",
    0 };


static ngx_adm_param_t  ngx_adm_tier2_params[] = {

    ngx_adm_param(tier2_conf, methods, methods, methods, 0, 0, NULL,
      "\"methods=\" with GET (and HEAD with it), POST, PUT, PATCH, DELETE and "
      "OPTIONS, several separated by commas"),

    ngx_adm_param(tier2_conf, event, event_required, enum,
                  0, 0, ngx_adm_tier_events, NULL),

    ngx_adm_param(tier2_conf, bind, bind, switch, 0, NGX_ADM_ON, NULL, NULL),

    ngx_adm_param(tier2_conf, strict, strict, switch, 0, NGX_ADM_ON, NULL,
                  NULL),

    ngx_adm_params_end
};


static ngx_adm_params_t  ngx_adm_tier2_set = {
    ngx_adm_tier2_params,
    "\"methods=\", \"event=required|any\", \"bind=on|off\" and "
    "\"strict=on|off\"",
    0 };


char *
ngx_adm_set_user(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_adm_loc_conf_t  *lcf = conf;

    ngx_str_t            *value;
    ngx_adm_user_conf_t  *user;

    if (lcf->user) {
        return "is duplicate";
    }

    user = ngx_palloc(cf->pool, sizeof(ngx_adm_user_conf_t));
    if (user == NULL) {
        return NGX_CONF_ERROR;
    }

    *user = ngx_adm_user_default;

    if (ngx_adm_conf_mode(cf, cmd, ngx_adm_user_sources,
                          "\"off\", \"jwt\", \"visitor\", or a value with "
                          "variables", &user->source,
                          &user->value) != NGX_CONF_OK)
    {
        return NGX_CONF_ERROR;
    }

    value = cf->args->elts;

    if (user->source != NGX_ADM_USER_JWT && cf->args->nelts > 2) {
        return ngx_adm_conf_invalid(cf, cmd, &value[2],
                                    "parameters with \"jwt\" only");
    }

    lcf->user = user;

    return ngx_adm_conf_params(cf, cmd, 2, &ngx_adm_user_set, user);
}


static ngx_int_t
ngx_adm_param_algs(ngx_conf_t *cf, ngx_adm_param_t *param, ngx_str_t *value,
    void *field)
{
    ngx_uint_t  *algs = field;

    ngx_str_t   item;
    ngx_uint_t  alg;

    *algs = 0;

    while (ngx_adm_conf_next(value, &item) == NGX_OK) {

        if (ngx_adm_alg(&item, &alg) != NGX_OK) {
            return NGX_DECLINED;
        }

        *algs |= ngx_adm_alg_bit(alg);
    }

    return NGX_OK;
}


char *
ngx_adm_set_tier1(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_adm_loc_conf_t  *lcf = conf;

    ngx_adm_tier1_conf_t  *tier1;

    if (lcf->tier1) {
        return "is duplicate";
    }

    tier1 = ngx_palloc(cf->pool, sizeof(ngx_adm_tier1_conf_t));
    if (tier1 == NULL) {
        return NGX_CONF_ERROR;
    }

    *tier1 = ngx_adm_tier1_default;

    if (ngx_adm_conf_mode(cf, cmd, ngx_adm_tier1_modes, "\"off\", \"auto\", "
                          "\"on\", or a variable that says one of them",
                          &tier1->mode, &tier1->value) != NGX_CONF_OK)
    {
        return NGX_CONF_ERROR;
    }

    lcf->tier1 = tier1;

    return ngx_adm_conf_params(cf, cmd, 2, &ngx_adm_tier1_set, tier1);
}


char *
ngx_adm_set_tier2(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_adm_loc_conf_t  *lcf = conf;

    ngx_adm_tier2_conf_t  *tier2;

    if (lcf->tier2) {
        return "is duplicate";
    }

    tier2 = ngx_palloc(cf->pool, sizeof(ngx_adm_tier2_conf_t));
    if (tier2 == NULL) {
        return NGX_CONF_ERROR;
    }

    *tier2 = ngx_adm_tier2_default;

    if (ngx_adm_conf_mode(cf, cmd, ngx_adm_tier2_modes, "\"on\", \"off\", or "
                          "a variable that says one of them", &tier2->mode,
                          &tier2->value) != NGX_CONF_OK)
    {
        return NGX_CONF_ERROR;
    }

    lcf->tier2 = tier2;

    return ngx_adm_conf_params(cf, cmd, 2, &ngx_adm_tier2_set, tier2);
}


static ngx_int_t
ngx_adm_param_methods(ngx_conf_t *cf, ngx_adm_param_t *param, ngx_str_t *value,
    void *field)
{
    ngx_uint_t  *methods = field;

    u_char      lower[NGX_ADM_METHOD_MAX];
    ngx_str_t   item;
    ngx_uint_t  mask;

    static ngx_conf_enum_t  known[] = {
        { ngx_string("get"), NGX_HTTP_GET|NGX_HTTP_HEAD },
        { ngx_string("head"), NGX_HTTP_GET|NGX_HTTP_HEAD },
        { ngx_string("post"), NGX_HTTP_POST },
        { ngx_string("put"), NGX_HTTP_PUT },
        { ngx_string("patch"), NGX_HTTP_PATCH },
        { ngx_string("delete"), NGX_HTTP_DELETE },
        { ngx_string("options"), NGX_HTTP_OPTIONS },
        { ngx_null_string, 0 }
    };

    *methods = 0;

    while (ngx_adm_conf_next(value, &item) == NGX_OK) {

        if (item.len > NGX_ADM_METHOD_MAX) {
            return NGX_DECLINED;
        }

        ngx_strlow(lower, item.data, item.len);
        item.data = lower;

        if (ngx_adm_conf_enum(known, &item, &mask) != NGX_OK) {
            return NGX_DECLINED;
        }

        *methods |= mask;
    }

    return NGX_OK;
}


char *
ngx_adm_set_deny(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_adm_loc_conf_t  *lcf = conf;

    ngx_str_t  *value;

    if (lcf->deny != NGX_CONF_UNSET_UINT) {
        return "is duplicate";
    }

    value = cf->args->elts;

    if (ngx_adm_conf_enum(ngx_adm_deny_modes, &value[1], &lcf->deny) != NGX_OK)
    {
        return ngx_adm_conf_invalid(cf, cmd, &value[1], "one of \"auto\", "
                                    "\"redirect\", \"json\", \"status\"");
    }

    return NGX_CONF_OK;
}


char *
ngx_adm_set_target(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    char  *p = conf;

    char                       *rv;
    ngx_int_t                   rc;
    ngx_str_t                  *value, begin;
    ngx_uint_t                  i;
    ngx_http_complex_value_t  **cv;

    rv = ngx_http_set_complex_value_slot(cf, cmd, conf);
    if (rv != NGX_CONF_OK) {
        return rv;
    }

    cv = (ngx_http_complex_value_t **) (p + cmd->offset);

    value = cf->args->elts;

    begin.data = value[1].data;
    begin.len = strcspn((char *) begin.data, "$");

    rc = ngx_adm_return_address(&begin);

    if (rc == NGX_DECLINED || (rc == NGX_AGAIN && begin.len == value[1].len
                               && begin.len))
    {
        return ngx_adm_conf_invalid(cf, cmd, &value[1], "a path from \"/\" "
                                    "on, an address with its scheme, or \"\" "
                                    "for none");
    }

    if ((*cv)->lengths) {
        /* the rest is seen when the variables have values */
        return NGX_CONF_OK;
    }

    for (i = 0; i < value[1].len; i++) {

        if (value[1].data[i] <= 0x20 || value[1].data[i] == 0x7f) {
            return ngx_adm_conf_invalid(cf, cmd, &value[1],
                       "an address without spaces and control characters");
        }
    }

    return NGX_CONF_OK;
}
