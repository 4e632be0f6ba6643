
/*
 * Copyright (C) 2026 the admission module authors
 *
 * admission_cookie: which attributes the module's cookies have.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "conf.h"
#include "parse.h"


static ngx_int_t ngx_adm_cookie_prefix(ngx_conf_t *cf,
    ngx_adm_cookie_conf_t *cookie);
static ngx_int_t ngx_adm_param_name(ngx_conf_t *cf, ngx_adm_param_t *param,
    ngx_str_t *value, void *field);
static ngx_int_t ngx_adm_param_attribute(ngx_conf_t *cf, ngx_adm_param_t *param,
    ngx_str_t *value, void *field);
static ngx_int_t ngx_adm_param_samesite(ngx_conf_t *cf, ngx_adm_param_t *param,
    ngx_str_t *value, void *field);


/* cookies without admission_cookie, by kind of token */

ngx_adm_cookie_conf_t  ngx_adm_cookie_defaults[] = {

#define ngx_adm_cookie_default(name, per_event)                               \
    { ngx_string(name), ngx_string("/"), ngx_null_string, ngx_string("Lax"),  \
      NGX_ADM_AUTO, 1, per_event }

    ngx_adm_cookie_default("urr-vwr-token", 1),
    ngx_adm_cookie_default("urr-entry-token", 1),
    ngx_adm_cookie_default("access_token", 0),
    ngx_adm_cookie_default("admission-visitor", 0),
    ngx_adm_cookie_default("admission-ticket", 1),
    ngx_adm_cookie_default("urr-queue-place", 1) };


static ngx_conf_enum_t  ngx_adm_cookie_kinds[] = {
    { ngx_string("tier1"), NGX_ADM_TOKEN_TIER1 },
    { ngx_string("tier2"), NGX_ADM_TOKEN_TIER2 },
    { ngx_string("user"), NGX_ADM_TOKEN_USER },
    { ngx_string("visitor"), NGX_ADM_TOKEN_VISITOR },
    { ngx_string("ticket"), NGX_ADM_TOKEN_TICKET },
    { ngx_string("place"), NGX_ADM_TOKEN_PLACE },
    { ngx_null_string, 0 }
};


static ngx_adm_param_t  ngx_adm_cookie_params[] = {

    ngx_adm_param(cookie_conf, name, name, name, 0, 0, NULL, NULL),

    ngx_adm_param(cookie_conf, path, path, attribute, 0, 0, "/", NULL),

    ngx_adm_param(cookie_conf, domain, domain, attribute, 0, 0, "", NULL),

    ngx_adm_param(cookie_conf, samesite, samesite, samesite, 0, 0, NULL, NULL),

    ngx_adm_param(cookie_conf, secure, secure, switch, 0, NGX_ADM_AUTO, NULL,
                  NULL),

    ngx_adm_param(cookie_conf, httponly, httponly, switch, 0, NGX_ADM_ON, NULL,
                  NULL),

    ngx_adm_param(cookie_conf, per_event, per_event, switch,
                  0, NGX_ADM_ON, NULL, NULL),

    ngx_adm_params_end
};


static ngx_adm_params_t  ngx_adm_cookie_set = {
    ngx_adm_cookie_params,
    "\"name=\" with a cookie name, \"path=/...\", \"domain=\", "
    "\"samesite=lax|strict|none|off\", \"secure=auto|on|off\", "
    "\"httponly=on|off\" and \"per_event=on|off\"",
    0 };


char *
ngx_adm_set_cookie(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_adm_loc_conf_t  *lcf = conf;

    ngx_str_t              *value;
    ngx_uint_t              kind;
    ngx_adm_cookie_conf_t  *cookie;

    value = cf->args->elts;

    if (ngx_adm_conf_enum(ngx_adm_cookie_kinds, &value[1], &kind) != NGX_OK) {
        return ngx_adm_conf_invalid(cf, cmd, &value[1], "\"tier1\", "
                                    "\"tier2\", \"user\", \"visitor\", "
                                    "\"ticket\" or \"place\"");
    }

    if (lcf->cookies[kind]) {
        return "is duplicate for this kind";
    }

    cookie = ngx_palloc(cf->pool, sizeof(ngx_adm_cookie_conf_t));
    if (cookie == NULL) {
        return NGX_CONF_ERROR;
    }

    *cookie = ngx_adm_cookie_defaults[kind];

    if (ngx_adm_conf_params(cf, cmd, 2, &ngx_adm_cookie_set,
                            cookie) != NGX_CONF_OK)
    {
        return NGX_CONF_ERROR;
    }

    if (kind == NGX_ADM_TOKEN_VISITOR && cookie->per_event) {
        return "cannot have \"per_event=on\" for a visitor, "
               "who is one for all events";
    }

    if (kind == NGX_ADM_TOKEN_USER && cookie->per_event) {
        return "cannot have \"per_event=on\" for a user, "
               "who is one for all events";
    }

    if (cookie->secure == NGX_ADM_OFF
        && ngx_adm_str_is(&cookie->samesite, "None"))
    {
        return "cannot have \"samesite=none\" with \"secure=off\", browsers "
               "drop such a cookie: use \"secure=auto\" or \"secure=on\"";
    }

    if (ngx_adm_cookie_prefix(cf, cookie) != NGX_OK) {
        return NGX_CONF_ERROR;
    }

    lcf->cookies[kind] = cookie;

    return NGX_CONF_OK;
}


/*
 * By the prefix of a name, in any case, browsers expect attributes, and
 * without these drop the cookie silently.  So "secure=auto" becomes "on".
 */

static ngx_int_t
ngx_adm_cookie_prefix(ngx_conf_t *cf, ngx_adm_cookie_conf_t *cookie)
{
    size_t       len;
    ngx_uint_t   i;
    const char  *needs;

    static struct {
        const char  *prefix;
        unsigned     host:1;
        unsigned     http:1;
    } prefixes[] = {
        { "__Host-Http-", 1, 1 },
        { "__Http-", 0, 1 },
        { "__Host-", 1, 0 },
        { "__Secure-", 0, 0 },
        { NULL, 0, 0 }
    };

    for (i = 0; prefixes[i].prefix; i++) {
        len = ngx_strlen(prefixes[i].prefix);

        if (cookie->name.len >= len
            && ngx_strncasecmp(cookie->name.data,
                               (u_char *) prefixes[i].prefix, len)
               == 0)
        {
            break;
        }
    }

    if (prefixes[i].prefix == NULL) {
        return NGX_OK;
    }

    if (cookie->secure == NGX_ADM_OFF) {
        needs = "\"secure=auto\" or \"secure=on\"";

    } else if (prefixes[i].host && cookie->domain.len) {
        needs = "no \"domain=\"";

    } else if (prefixes[i].host && !ngx_adm_str_is(&cookie->path, "/")) {
        needs = "\"path=/\"";

    } else if (prefixes[i].http && !cookie->httponly) {
        needs = "\"httponly=on\"";

    } else {
        cookie->secure = NGX_ADM_ON;
        return NGX_OK;
    }

    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "\"admission_cookie\" has the "
                       "name \"%V\", which browsers drop: \"%s\" needs %s",
                       &cookie->name, prefixes[i].prefix, needs);

    return NGX_ERROR;
}


/* of two kinds of cookies under one name one would be lost */

char *
ngx_adm_cookies_differ(ngx_conf_t *cf, ngx_adm_loc_conf_t *lcf)
{
    ngx_str_t   *name;
    ngx_uint_t   i, j;

    for (i = 1; i < NGX_ADM_TOKEN_KINDS; i++) {
        name = &lcf->cookies[i]->name;

        for (j = 0; j < i; j++) {
            if (ngx_adm_str_same(name, &lcf->cookies[j]->name)) {
                ngx_log_error(NGX_LOG_EMERG, cf->log, 0,
                              "\"admission_cookie\" has the name \"%V\" for "
                              "\"%V\" and for \"%V\"",
                              name, &ngx_adm_cookie_kinds[j].name,
                              &ngx_adm_cookie_kinds[i].name);
                return NGX_CONF_ERROR;
            }
        }
    }

    return NGX_CONF_OK;
}


/* the name of a cookie: a token of RFC 9110, 5.6.2 */

static ngx_int_t
ngx_adm_param_name(ngx_conf_t *cf, ngx_adm_param_t *param, ngx_str_t *value,
    void *field)
{
    u_char      ch;
    ngx_uint_t  i;

    for (i = 0; i < value->len; i++) {
        ch = value->data[i];

        if (ch <= 0x20 || ch >= 0x7f
            || ngx_strchr("()<>@,;:\\\"/[]?={}", ch) != NULL)
        {
            return NGX_DECLINED;
        }
    }

    *(ngx_str_t *) field = *value;

    return value->len ? NGX_OK : NGX_DECLINED;
}


/* the value of an attribute: RFC 6265, 4.1.1; post: how it has to begin */

static ngx_int_t
ngx_adm_param_attribute(ngx_conf_t *cf, ngx_adm_param_t *param,
    ngx_str_t *value, void *field)
{
    ngx_uint_t   i;
    const char  *begin = param->post;

    for (i = 0; i < value->len; i++) {
        if (value->data[i] < 0x20 || value->data[i] >= 0x7f
            || value->data[i] == ';')
        {
            return NGX_DECLINED;
        }
    }

    *(ngx_str_t *) field = *value;

    return ngx_strncmp(value->data, begin, ngx_strlen(begin)) ? NGX_DECLINED
                                                              : NGX_OK;
}


static ngx_int_t
ngx_adm_param_samesite(ngx_conf_t *cf, ngx_adm_param_t *param, ngx_str_t *value,
    void *field)
{
    ngx_str_t  *samesite = field;

    ngx_uint_t  i;

    static ngx_str_t  known[] = {
        ngx_string("Lax"), ngx_string("Strict"), ngx_string("None") };

    if (ngx_strcasecmp(value->data, (u_char *) "off") == 0) {
        ngx_str_null(samesite);
        return NGX_OK;
    }

    for (i = 0; i < 3; i++) {
        if (ngx_strcasecmp(value->data, known[i].data) == 0) {
            *samesite = known[i];
            return NGX_OK;
        }
    }

    return NGX_DECLINED;
}
