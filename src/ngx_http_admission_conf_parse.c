
/*
 * Copyright (C) 2026 the admission module authors
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_admission_admin_api.h"
#include "ngx_http_admission_conf_parse.h"
#include "ngx_http_admission_metrics.h"
#include "ngx_http_admission_queue_api.h"
#include "ngx_http_admission_ready.h"
#include "ngx_http_admission_tally.h"
#include "ngx_http_admission_vwr_api.h"


static char *ngx_http_admission_user_param(ngx_conf_t *cf, ngx_command_t *cmd,
    ngx_http_admission_user_conf_t *user, ngx_str_t *arg);
static ngx_int_t ngx_http_admission_user_algs(ngx_str_t *names,
    ngx_uint_t *algs);
static char *ngx_http_admission_tier2_param(ngx_conf_t *cf,
    ngx_command_t *cmd, ngx_http_admission_tier2_conf_t *tier2,
    ngx_str_t *arg);
static ngx_int_t ngx_http_admission_methods(ngx_str_t *names,
    ngx_uint_t *methods);
static char *ngx_http_admission_cookie_param(ngx_conf_t *cf,
    ngx_command_t *cmd, ngx_http_admission_cookie_conf_t *cookie,
    ngx_str_t *arg);
static ngx_uint_t ngx_http_admission_is_token(ngx_str_t *s);
static ngx_uint_t ngx_http_admission_is_attribute(ngx_str_t *s);
static ngx_int_t ngx_http_admission_origin(ngx_str_t *origin);
static ngx_int_t ngx_http_admission_next(ngx_str_t *list, ngx_str_t *item);


/* series an event has: 20, so that this is 1,000 of them */
#define NGX_HTTP_ADMISSION_METRICS_EVENTS  50


/* by NGX_HTTP_ADMISSION_CONTENT_* */

static ngx_http_handler_pt  ngx_http_admission_content_handlers[] = {
    NULL,
    ngx_http_admission_queue_api_handler,
    ngx_http_admission_vwr_api_handler,
    ngx_http_admission_admin_api_handler,
    NULL,                                   /* admission_page sets its own */
    ngx_http_admission_metrics_handler,
    NULL                                    /* and so does admission_health */
};


char *
ngx_http_admission_conf_invalid(ngx_conf_t *cf, ngx_command_t *cmd,
    ngx_str_t *value, const char *allowed)
{
    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                       "invalid value \"%V\" in \"%V\" directive, "
                       "it takes %s", value, &cmd->name, allowed);

    return NGX_CONF_ERROR;
}


ngx_int_t
ngx_http_admission_conf_param(ngx_str_t *arg, const char *name,
    ngx_str_t *value)
{
    size_t  len;

    len = ngx_strlen(name);

    if (arg->len <= len || arg->data[len] != '='
        || ngx_strncmp(arg->data, name, len) != 0)
    {
        return NGX_DECLINED;
    }

    value->len = arg->len - len - 1;
    value->data = arg->data + len + 1;

    return NGX_OK;
}


char *
ngx_http_admission_conf_twice(ngx_conf_t *cf, ngx_command_t *cmd)
{
    u_char      *equals;
    size_t       len;
    ngx_str_t   *value;
    ngx_uint_t   i, j;

    value = cf->args->elts;

    for (i = 3; i < cf->args->nelts; i++) {

        equals = ngx_strlchr(value[i].data, value[i].data + value[i].len, '=');

        if (equals == NULL) {
            continue;
        }

        len = equals + 1 - value[i].data;

        for (j = 2; j < i; j++) {

            if (value[j].len >= len
                && ngx_strncmp(value[j].data, value[i].data, len) == 0)
            {
                return ngx_http_admission_conf_invalid(cf, cmd, &value[i],
                                                       "each parameter once");
            }
        }
    }

    return NGX_CONF_OK;
}


ngx_int_t
ngx_http_admission_conf_flag(ngx_str_t *value, ngx_uint_t *flag)
{
    if (value->len == 2 && ngx_strncmp(value->data, "on", 2) == 0) {
        *flag = 1;
        return NGX_OK;
    }

    if (value->len == 3 && ngx_strncmp(value->data, "off", 3) == 0) {
        *flag = 0;
        return NGX_OK;
    }

    return NGX_DECLINED;
}


char *
ngx_http_admission_enum(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    char  *p = conf;

    u_char           *last;
    ngx_str_t        *value;
    ngx_uint_t       *np, i;
    ngx_conf_enum_t  *e;
    u_char            allowed[256];

    np = (ngx_uint_t *) (p + cmd->offset);

    if (*np != NGX_CONF_UNSET_UINT) {
        return "is duplicate";
    }

    value = cf->args->elts;
    e = cmd->post;
    last = allowed;

    for (i = 0; e[i].name.len != 0; i++) {

        if (e[i].name.len == value[1].len
            && ngx_strcmp(e[i].name.data, value[1].data) == 0)
        {
            *np = e[i].value;
            return NGX_CONF_OK;
        }

        last = ngx_snprintf(last, allowed + sizeof(allowed) - 1 - last,
                            i ? ", \"%V\"" : "one of \"%V\"", &e[i].name);
    }

    *last = '\0';

    return ngx_http_admission_conf_invalid(cf, cmd, &value[1],
                                           (const char *) allowed);
}


char *
ngx_http_admission_user(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_admission_loc_conf_t  *lcf = conf;

    ngx_str_t                       *value;
    ngx_uint_t                       i;
    ngx_http_admission_user_conf_t  *user;

    if (lcf->user) {
        return "is duplicate";
    }

    user = ngx_pcalloc(cf->pool, sizeof(ngx_http_admission_user_conf_t));
    if (user == NULL) {
        return NGX_CONF_ERROR;
    }

    if (ngx_http_admission_conf_twice(cf, cmd) != NGX_CONF_OK) {
        return NGX_CONF_ERROR;
    }

    user->algs = 1 << NGX_HTTP_ADMISSION_HS256;

    value = cf->args->elts;

    if (ngx_strcmp(value[1].data, "off") == 0) {
        user->source = NGX_HTTP_ADMISSION_USER_OFF;

    } else if (ngx_strcmp(value[1].data, "jwt") == 0) {
        user->source = NGX_HTTP_ADMISSION_USER_JWT;

    } else if (ngx_strcmp(value[1].data, "visitor") == 0) {
        user->source = NGX_HTTP_ADMISSION_USER_VISITOR;

    } else if (ngx_http_script_variables_count(&value[1])) {
        user->source = NGX_HTTP_ADMISSION_USER_VARIABLE;

        if (ngx_http_admission_value(cf, &value[1], &user->value)
            != NGX_CONF_OK)
        {
            return NGX_CONF_ERROR;
        }

    } else {
        return ngx_http_admission_conf_invalid(cf, cmd, &value[1],
                                               "\"off\", \"jwt\", "
                                               "\"visitor\", or a value with "
                                               "variables");
    }

    for (i = 2; i < cf->args->nelts; i++) {

        if (user->source != NGX_HTTP_ADMISSION_USER_JWT) {
            return ngx_http_admission_conf_invalid(cf, cmd, &value[i],
                                                   "parameters with \"jwt\" "
                                                   "only");
        }

        if (ngx_http_admission_user_param(cf, cmd, user, &value[i])
            != NGX_CONF_OK)
        {
            return NGX_CONF_ERROR;
        }
    }

    lcf->user = user;

    return NGX_CONF_OK;
}


static char *
ngx_http_admission_user_param(ngx_conf_t *cf, ngx_command_t *cmd,
    ngx_http_admission_user_conf_t *user, ngx_str_t *arg)
{
    ngx_str_t  *claim, value;

    claim = NULL;

    if (ngx_http_admission_conf_param(arg, "id", &value) == NGX_OK) {
        claim = &user->id;

    } else if (ngx_http_admission_conf_param(arg, "email", &value) == NGX_OK) {
        claim = &user->email;

    } else if (ngx_http_admission_conf_param(arg, "role", &value) == NGX_OK) {
        claim = &user->role;

    } else if (ngx_http_admission_conf_param(arg, "type", &value) == NGX_OK) {
        claim = &user->type;

    } else if (ngx_http_admission_conf_param(arg, "alg", &value) == NGX_OK) {

        if (ngx_http_admission_user_algs(&value, &user->algs) != NGX_OK) {
            return ngx_http_admission_conf_invalid(cf, cmd, arg,
                                                   "\"alg=\" with HS256, "
                                                   "HS384 and HS512, several "
                                                   "separated by commas");
        }

        return NGX_CONF_OK;
    }

    if (claim == NULL || value.len == 0) {
        return ngx_http_admission_conf_invalid(cf, cmd, arg,
                                               "\"id=\", \"email=\", "
                                               "\"role=\" with the name of a "
                                               "claim, \"type=\" and "
                                               "\"alg=\"");
    }

    *claim = value;

    return NGX_CONF_OK;
}


static ngx_int_t
ngx_http_admission_user_algs(ngx_str_t *names, ngx_uint_t *algs)
{
    ngx_str_t   item;
    ngx_uint_t  i;

    static ngx_str_t  known[] = {
        ngx_string("HS256"), ngx_string("HS384"), ngx_string("HS512")
    };

    *algs = 0;

    while (ngx_http_admission_next(names, &item) == NGX_OK) {

        for (i = 0; i < NGX_HTTP_ADMISSION_ALGS; i++) {
            if (item.len == known[i].len
                && ngx_strncmp(item.data, known[i].data, item.len) == 0)
            {
                *algs |= 1 << i;
                break;
            }
        }

        if (i == NGX_HTTP_ADMISSION_ALGS) {
            return NGX_DECLINED;
        }
    }

    return *algs ? NGX_OK : NGX_DECLINED;
}


char *
ngx_http_admission_tier1(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_admission_loc_conf_t  *lcf = conf;

    ngx_str_t                        *value, bind;
    ngx_uint_t                        flag;
    ngx_http_admission_tier1_conf_t  *tier1;

    if (lcf->tier1) {
        return "is duplicate";
    }

    tier1 = ngx_pcalloc(cf->pool, sizeof(ngx_http_admission_tier1_conf_t));
    if (tier1 == NULL) {
        return NGX_CONF_ERROR;
    }

    tier1->bind = 1;

    value = cf->args->elts;

    if (ngx_strcmp(value[1].data, "auto") == 0) {
        tier1->mode = NGX_HTTP_ADMISSION_AUTO;

    } else if (ngx_http_admission_conf_flag(&value[1], &flag) == NGX_OK) {
        tier1->mode = flag ? NGX_HTTP_ADMISSION_ON : NGX_HTTP_ADMISSION_OFF;

    } else if (ngx_http_script_variables_count(&value[1])) {
        tier1->mode = NGX_HTTP_ADMISSION_VARIABLE;

        if (ngx_http_admission_value(cf, &value[1], &tier1->value)
            != NGX_CONF_OK)
        {
            return NGX_CONF_ERROR;
        }

    } else {
        return ngx_http_admission_conf_invalid(cf, cmd, &value[1],
                                               "\"off\", \"auto\", \"on\", "
                                               "or a variable that says one "
                                               "of them");
    }

    if (cf->args->nelts == 3) {

        if (ngx_http_admission_conf_param(&value[2], "bind", &bind) != NGX_OK
            || ngx_http_admission_conf_flag(&bind, &flag) != NGX_OK)
        {
            return ngx_http_admission_conf_invalid(cf, cmd, &value[2],
                                                   "\"bind=on|off\"");
        }

        tier1->bind = flag;
    }

    lcf->tier1 = tier1;

    return NGX_CONF_OK;
}


char *
ngx_http_admission_tier2(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_admission_loc_conf_t  *lcf = conf;

    ngx_str_t                        *value;
    ngx_uint_t                        i, flag;
    ngx_http_admission_tier2_conf_t  *tier2;

    if (lcf->tier2) {
        return "is duplicate";
    }

    tier2 = ngx_pcalloc(cf->pool, sizeof(ngx_http_admission_tier2_conf_t));
    if (tier2 == NULL) {
        return NGX_CONF_ERROR;
    }

    if (ngx_http_admission_conf_twice(cf, cmd) != NGX_CONF_OK) {
        return NGX_CONF_ERROR;
    }

    tier2->bind = 1;

    value = cf->args->elts;

    if (ngx_http_admission_conf_flag(&value[1], &flag) == NGX_OK) {
        tier2->mode = flag ? NGX_HTTP_ADMISSION_ON : NGX_HTTP_ADMISSION_OFF;

    } else if (ngx_http_script_variables_count(&value[1])) {
        tier2->mode = NGX_HTTP_ADMISSION_VARIABLE;

        if (ngx_http_admission_value(cf, &value[1], &tier2->value)
            != NGX_CONF_OK)
        {
            return NGX_CONF_ERROR;
        }

    } else {
        return ngx_http_admission_conf_invalid(cf, cmd, &value[1],
                                               "\"on\", \"off\", or a "
                                               "variable that says one of "
                                               "them");
    }

    for (i = 2; i < cf->args->nelts; i++) {
        if (ngx_http_admission_tier2_param(cf, cmd, tier2, &value[i])
            != NGX_CONF_OK)
        {
            return NGX_CONF_ERROR;
        }
    }

    lcf->tier2 = tier2;

    return NGX_CONF_OK;
}


static char *
ngx_http_admission_tier2_param(ngx_conf_t *cf, ngx_command_t *cmd,
    ngx_http_admission_tier2_conf_t *tier2, ngx_str_t *arg)
{
    ngx_str_t   value;
    ngx_uint_t  flag;

    if (ngx_http_admission_conf_param(arg, "methods", &value) == NGX_OK) {

        if (ngx_http_admission_methods(&value, &tier2->methods) != NGX_OK) {
            return ngx_http_admission_conf_invalid(cf, cmd, arg,
                                                   "\"methods=\" with GET "
                                                   "(and HEAD with it), POST, "
                                                   "PUT, PATCH, DELETE and "
                                                   "OPTIONS, several "
                                                   "separated by commas");
        }

        return NGX_CONF_OK;
    }

    if (ngx_http_admission_conf_param(arg, "event", &value) == NGX_OK) {

        if (value.len == 3 && ngx_strncmp(value.data, "any", 3) == 0) {
            tier2->any_event = 1;
            return NGX_CONF_OK;
        }

        if (value.len == 8 && ngx_strncmp(value.data, "required", 8) == 0) {
            tier2->any_event = 0;
            return NGX_CONF_OK;
        }
    }

    if (ngx_http_admission_conf_param(arg, "bind", &value) == NGX_OK
        && ngx_http_admission_conf_flag(&value, &flag) == NGX_OK)
    {
        tier2->bind = flag;
        return NGX_CONF_OK;
    }

    if (ngx_http_admission_conf_param(arg, "strict", &value) == NGX_OK
        && ngx_http_admission_conf_flag(&value, &flag) == NGX_OK)
    {
        tier2->strict = flag;
        return NGX_CONF_OK;
    }

    return ngx_http_admission_conf_invalid(cf, cmd, arg,
                                           "\"methods=\", "
                                           "\"event=required|any\", "
                                           "\"bind=on|off\" and "
                                           "\"strict=on|off\"");
}


static ngx_int_t
ngx_http_admission_methods(ngx_str_t *names, ngx_uint_t *methods)
{
    ngx_str_t   item;
    ngx_uint_t  i;

    static struct {
        ngx_str_t   name;
        ngx_uint_t  mask;
    } known[] = {
        { ngx_string("GET"), NGX_HTTP_GET|NGX_HTTP_HEAD },
        { ngx_string("HEAD"), NGX_HTTP_GET|NGX_HTTP_HEAD },
        { ngx_string("POST"), NGX_HTTP_POST },
        { ngx_string("PUT"), NGX_HTTP_PUT },
        { ngx_string("PATCH"), NGX_HTTP_PATCH },
        { ngx_string("DELETE"), NGX_HTTP_DELETE },
        { ngx_string("OPTIONS"), NGX_HTTP_OPTIONS }
    };

    *methods = 0;

    while (ngx_http_admission_next(names, &item) == NGX_OK) {

        for (i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
            if (item.len == known[i].name.len
                && ngx_strncasecmp(item.data, known[i].name.data, item.len)
                   == 0)
            {
                *methods |= known[i].mask;
                break;
            }
        }

        if (i == sizeof(known) / sizeof(known[0])) {
            return NGX_DECLINED;
        }
    }

    return *methods ? NGX_OK : NGX_DECLINED;
}


char *
ngx_http_admission_cookie(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_admission_loc_conf_t  *lcf = conf;

    ngx_str_t                         *value;
    ngx_uint_t                         i, kind;
    ngx_http_admission_cookie_conf_t  *cookie;

    static struct {
        ngx_str_t                      name;
        ngx_http_admission_token_e     kind;
    } kinds[] = {
        { ngx_string("tier1"), NGX_HTTP_ADMISSION_TOKEN_TIER1 },
        { ngx_string("tier2"), NGX_HTTP_ADMISSION_TOKEN_TIER2 },
        { ngx_string("user"), NGX_HTTP_ADMISSION_TOKEN_USER },
        { ngx_string("visitor"), NGX_HTTP_ADMISSION_TOKEN_VISITOR },
        { ngx_string("ticket"), NGX_HTTP_ADMISSION_TOKEN_TICKET },
        { ngx_string("place"), NGX_HTTP_ADMISSION_TOKEN_PLACE }
    };

    value = cf->args->elts;

    for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (ngx_strcmp(value[1].data, kinds[i].name.data) == 0) {
            break;
        }
    }

    if (i == sizeof(kinds) / sizeof(kinds[0])) {
        return ngx_http_admission_conf_invalid(cf, cmd, &value[1],
                                               "\"tier1\", \"tier2\", "
                                               "\"user\", \"visitor\", "
                                               "\"ticket\" or \"place\"");
    }

    kind = kinds[i].kind;

    if (lcf->cookies[kind]) {
        return "is duplicate for this kind";
    }

    if (ngx_http_admission_conf_twice(cf, cmd) != NGX_CONF_OK) {
        return NGX_CONF_ERROR;
    }

    cookie = ngx_palloc(cf->pool, sizeof(ngx_http_admission_cookie_conf_t));
    if (cookie == NULL) {
        return NGX_CONF_ERROR;
    }

    *cookie = ngx_http_admission_cookie_defaults[kind];

    for (i = 2; i < cf->args->nelts; i++) {
        if (ngx_http_admission_cookie_param(cf, cmd, cookie, &value[i])
            != NGX_CONF_OK)
        {
            return NGX_CONF_ERROR;
        }
    }

    if (kind == NGX_HTTP_ADMISSION_TOKEN_VISITOR && cookie->per_event) {
        return "cannot have \"per_event=on\" for a visitor, "
               "who is one for all events";
    }

    if (kind == NGX_HTTP_ADMISSION_TOKEN_USER && cookie->per_event) {
        return "cannot have \"per_event=on\" for a user, "
               "who is one for all events";
    }

    lcf->cookies[kind] = cookie;

    return NGX_CONF_OK;
}


static char *
ngx_http_admission_cookie_param(ngx_conf_t *cf, ngx_command_t *cmd,
    ngx_http_admission_cookie_conf_t *cookie, ngx_str_t *arg)
{
    ngx_str_t   value;
    ngx_uint_t  i, flag;

    static ngx_str_t  samesite[] = {
        ngx_string("Lax"), ngx_string("Strict"), ngx_string("None")
    };

    if (ngx_http_admission_conf_param(arg, "name", &value) == NGX_OK
        && ngx_http_admission_is_token(&value))
    {
        cookie->name = value;
        return NGX_CONF_OK;
    }

    if (ngx_http_admission_conf_param(arg, "path", &value) == NGX_OK
        && value.len && value.data[0] == '/'
        && ngx_http_admission_is_attribute(&value))
    {
        cookie->path = value;
        return NGX_CONF_OK;
    }

    if (ngx_http_admission_conf_param(arg, "domain", &value) == NGX_OK
        && ngx_http_admission_is_attribute(&value))
    {
        cookie->domain = value;
        return NGX_CONF_OK;
    }

    if (ngx_http_admission_conf_param(arg, "samesite", &value) == NGX_OK) {

        if (value.len == 3 && ngx_strncasecmp(value.data, (u_char *) "off", 3)
                              == 0)
        {
            ngx_str_null(&cookie->samesite);
            return NGX_CONF_OK;
        }

        for (i = 0; i < 3; i++) {
            if (value.len == samesite[i].len
                && ngx_strncasecmp(value.data, samesite[i].data, value.len)
                   == 0)
            {
                cookie->samesite = samesite[i];
                return NGX_CONF_OK;
            }
        }
    }

    if (ngx_http_admission_conf_param(arg, "secure", &value) == NGX_OK) {

        if (value.len == 4 && ngx_strncmp(value.data, "auto", 4) == 0) {
            cookie->secure = NGX_HTTP_ADMISSION_SECURE_AUTO;
            return NGX_CONF_OK;
        }

        if (ngx_http_admission_conf_flag(&value, &flag) == NGX_OK) {
            cookie->secure = flag ? NGX_HTTP_ADMISSION_SECURE_ON
                                  : NGX_HTTP_ADMISSION_SECURE_OFF;
            return NGX_CONF_OK;
        }
    }

    if (ngx_http_admission_conf_param(arg, "httponly", &value) == NGX_OK
        && ngx_http_admission_conf_flag(&value, &flag) == NGX_OK)
    {
        cookie->httponly = flag;
        return NGX_CONF_OK;
    }

    if (ngx_http_admission_conf_param(arg, "per_event", &value) == NGX_OK
        && ngx_http_admission_conf_flag(&value, &flag) == NGX_OK)
    {
        cookie->per_event = flag;
        return NGX_CONF_OK;
    }

    return ngx_http_admission_conf_invalid(cf, cmd, arg,
                                           "\"name=\" with a cookie name, "
                                           "\"path=/...\", \"domain=\", "
                                           "\"samesite=lax|strict|none|off\", "
                                           "\"secure=auto|on|off\", "
                                           "\"httponly=on|off\" and "
                                           "\"per_event=on|off\"");
}


/* a token of RFC 9110, 5.6.2: what the name of a cookie may be */

static ngx_uint_t
ngx_http_admission_is_token(ngx_str_t *s)
{
    u_char      ch;
    ngx_uint_t  i;

    for (i = 0; i < s->len; i++) {
        ch = s->data[i];

        if (ch <= 0x20 || ch >= 0x7f
            || ngx_strchr("()<>@,;:\\\"/[]?={}", ch) != NULL)
        {
            return 0;
        }
    }

    return s->len != 0;
}


/* the value of a cookie's attribute: RFC 6265, 4.1.1 */

static ngx_uint_t
ngx_http_admission_is_attribute(ngx_str_t *s)
{
    ngx_uint_t  i;

    for (i = 0; i < s->len; i++) {
        if (s->data[i] < 0x20 || s->data[i] >= 0x7f || s->data[i] == ';') {
            return 0;
        }
    }

    return 1;
}


char *
ngx_http_admission_cors(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_admission_loc_conf_t  *lcf = conf;

    ngx_str_t   *value, *origin;
    ngx_uint_t   i;

    value = cf->args->elts;

    if (lcf->cors == NULL) {
        lcf->cors = ngx_array_create(cf->pool, cf->args->nelts - 1,
                                     sizeof(ngx_str_t));
        if (lcf->cors == NULL) {
            return NGX_CONF_ERROR;
        }
    }

    for (i = 1; i < cf->args->nelts; i++) {

        if (ngx_http_admission_origin(&value[i]) != NGX_OK) {
            return ngx_http_admission_conf_invalid(cf, cmd, &value[i],
                                                   "origins as browsers send "
                                                   "them, "
                                                   "\"https://host[:port]\" "
                                                   "without a path; \"*\" "
                                                   "cannot be with "
                                                   "credentials");
        }

        origin = ngx_array_push(lcf->cors);
        if (origin == NULL) {
            return NGX_CONF_ERROR;
        }

        *origin = value[i];
        ngx_strlow(origin->data, origin->data, origin->len);
    }

    return NGX_CONF_OK;
}


static ngx_int_t
ngx_http_admission_origin(ngx_str_t *origin)
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


char *
ngx_http_admission_content(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_admission_loc_conf_t  *lcf = conf;

    ngx_http_core_loc_conf_t  *clcf;

    if (lcf->content != NGX_HTTP_ADMISSION_CONTENT_NONE) {
        return "is duplicate, or stands beside another content handler of "
               "the module";
    }

    lcf->content = cmd->offset;

    clcf = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);
    clcf->handler = ngx_http_admission_content_handlers[cmd->offset];

    return NGX_CONF_OK;
}


char *
ngx_http_admission_queue_api(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_admission_loc_conf_t  *lcf = conf;

    ngx_str_t   *value, param;
    ngx_uint_t   flag;

    if (cf->args->nelts == 2) {
        value = cf->args->elts;

        if (ngx_http_admission_conf_param(&value[1], "admin", &param) != NGX_OK
            || ngx_http_admission_conf_flag(&param, &flag) != NGX_OK)
        {
            return ngx_http_admission_conf_invalid(cf, cmd, &value[1],
                                                   "\"admin=on|off\"");
        }

        lcf->admin = flag;
    }

    return ngx_http_admission_content(cf, cmd, conf);
}


/* all places where they are shown name the same events */

char *
ngx_http_admission_metrics(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_int_t                        n;
    ngx_str_t                       *value, param;
    ngx_http_admission_main_conf_t  *mcf;

    n = NGX_HTTP_ADMISSION_METRICS_EVENTS;

    if (cf->args->nelts == 2) {
        value = cf->args->elts;

        n = NGX_ERROR;

        if (ngx_http_admission_conf_param(&value[1], "events", &param)
            == NGX_OK)
        {
            n = ngx_atoi(param.data, param.len);
        }

        if (n < 0 || n > NGX_HTTP_ADMISSION_NAMES_MAX) {
            return ngx_http_admission_conf_invalid(cf, cmd, &value[1],
                                           "\"events=N\", N from 0 to 1000");
        }
    }

    mcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_admission_module);

    mcf->names = ngx_max(mcf->names, (ngx_uint_t) n);

    return ngx_http_admission_content(cf, cmd, conf);
}


char *
ngx_http_admission_health(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    char                      *rv;
    ngx_str_t                 *value;
    ngx_http_handler_pt        handler;
    ngx_http_core_loc_conf_t  *clcf;

    value = cf->args->elts;

    if (ngx_strcmp(value[1].data, "live") == 0) {
        handler = ngx_http_admission_live_handler;

    } else if (ngx_strcmp(value[1].data, "ready") == 0) {
        handler = ngx_http_admission_ready_handler;

    } else {
        return ngx_http_admission_conf_invalid(cf, cmd, &value[1],
                                               "\"live\" or \"ready\"");
    }

    rv = ngx_http_admission_content(cf, cmd, conf);

    if (rv == NGX_CONF_OK) {
        clcf = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);
        clcf->handler = handler;
    }

    return rv;
}


char *
ngx_http_admission_value(ngx_conf_t *cf, ngx_str_t *value,
    ngx_http_complex_value_t *cv)
{
    ngx_http_compile_complex_value_t  ccv;

    ngx_memzero(&ccv, sizeof(ngx_http_compile_complex_value_t));

    ccv.cf = cf;
    ccv.value = value;
    ccv.complex_value = cv;

    if (ngx_http_compile_complex_value(&ccv) != NGX_OK) {
        return NGX_CONF_ERROR;
    }

    return NGX_CONF_OK;
}


/* takes the next item off a list separated by commas, at its end to NULL */

static ngx_int_t
ngx_http_admission_next(ngx_str_t *list, ngx_str_t *item)
{
    u_char  *p;

    if (list->data == NULL) {
        return NGX_DONE;
    }

    *item = *list;

    p = ngx_strlchr(list->data, list->data + list->len, ',');

    if (p == NULL) {
        ngx_str_null(list);
        return NGX_OK;
    }

    item->len = p - list->data;
    list->len -= item->len + 1;
    list->data = p + 1;

    return NGX_OK;
}
