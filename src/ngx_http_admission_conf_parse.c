
/*
 * Copyright (C) 2026 the admission module authors
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_admission_conf_parse.h"
#include "ngx_http_admission_return.h"


static char *ngx_http_admission_user_param(ngx_conf_t *cf, ngx_command_t *cmd,
    ngx_http_admission_user_conf_t *user, ngx_str_t *arg);
static ngx_int_t ngx_http_admission_user_algs(ngx_str_t *names,
    ngx_uint_t *algs);
static char *ngx_http_admission_tier1_param(ngx_conf_t *cf,
    ngx_command_t *cmd, ngx_http_admission_tier1_conf_t *tier1,
    ngx_str_t *arg);
static ngx_int_t ngx_http_admission_event_param(ngx_str_t *value,
    ngx_uint_t *required);
static char *ngx_http_admission_tier2_param(ngx_conf_t *cf,
    ngx_command_t *cmd, ngx_http_admission_tier2_conf_t *tier2,
    ngx_str_t *arg);
static ngx_int_t ngx_http_admission_methods(ngx_str_t *names,
    ngx_uint_t *methods);
static ngx_int_t ngx_http_admission_next(ngx_str_t *list, ngx_str_t *item);


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
ngx_http_admission_target(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
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

    rc = ngx_http_admission_return_address(&begin);

    if (rc == NGX_DECLINED || (rc == NGX_AGAIN && begin.len == value[1].len
                               && begin.len))
    {
        return ngx_http_admission_conf_invalid(cf, cmd, &value[1],
                   "a path from \"/\" on, an address with its scheme, or "
                   "\"\" for none");
    }

    if ((*cv)->lengths) {
        /* the rest is seen when the variables have values */
        return NGX_CONF_OK;
    }

    for (i = 0; i < value[1].len; i++) {

        if (value[1].data[i] <= 0x20 || value[1].data[i] == 0x7f) {
            return ngx_http_admission_conf_invalid(cf, cmd, &value[1],
                       "an address without spaces and control characters");
        }
    }

    return NGX_CONF_OK;
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

    ngx_str_t                        *value;
    ngx_uint_t                        i, flag;
    ngx_http_admission_tier1_conf_t  *tier1;

    if (lcf->tier1) {
        return "is duplicate";
    }

    if (ngx_http_admission_conf_twice(cf, cmd) != NGX_CONF_OK) {
        return NGX_CONF_ERROR;
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

    for (i = 2; i < cf->args->nelts; i++) {
        if (ngx_http_admission_tier1_param(cf, cmd, tier1, &value[i])
            != NGX_CONF_OK)
        {
            return NGX_CONF_ERROR;
        }
    }

    lcf->tier1 = tier1;

    return NGX_CONF_OK;
}


static char *
ngx_http_admission_tier1_param(ngx_conf_t *cf, ngx_command_t *cmd,
    ngx_http_admission_tier1_conf_t *tier1, ngx_str_t *arg)
{
    ngx_str_t   value;
    ngx_uint_t  flag;

    if (ngx_http_admission_conf_param(arg, "event", &value) == NGX_OK
        && ngx_http_admission_event_param(&value, &flag) == NGX_OK)
    {
        tier1->event_required = flag;
        return NGX_CONF_OK;
    }

    if (ngx_http_admission_conf_param(arg, "bind", &value) == NGX_OK
        && ngx_http_admission_conf_flag(&value, &flag) == NGX_OK)
    {
        tier1->bind = flag;
        return NGX_CONF_OK;
    }

    return ngx_http_admission_conf_invalid(cf, cmd, arg,
                                           "\"event=any|required\" and "
                                           "\"bind=on|off\"");
}


/* of both tiers: is an event required? */

static ngx_int_t
ngx_http_admission_event_param(ngx_str_t *value, ngx_uint_t *required)
{
    if (value->len == 3 && ngx_strncmp(value->data, "any", 3) == 0) {
        *required = 0;
        return NGX_OK;
    }

    if (value->len == 8 && ngx_strncmp(value->data, "required", 8) == 0) {
        *required = 1;
        return NGX_OK;
    }

    return NGX_DECLINED;
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

    if (ngx_http_admission_conf_param(arg, "event", &value) == NGX_OK
        && ngx_http_admission_event_param(&value, &flag) == NGX_OK)
    {
        tier2->any_event = !flag;
        return NGX_CONF_OK;
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


ngx_int_t
ngx_http_admission_conf_rate(ngx_str_t *value, ngx_int_t *rate,
    ngx_int_t *unit)
{
    size_t  len;

    len = value->len;

    if (len <= 3 || value->data[len - 3] != 'r' || value->data[len - 2] != '/')
    {
        return NGX_DECLINED;
    }

    *rate = ngx_atoi(value->data, len - 3);

    if (*rate < 1 || *rate > NGX_HTTP_ADMISSION_RATE_MAX) {
        return NGX_DECLINED;
    }

    switch (value->data[len - 1]) {

    case 's':
        *unit = 1;
        return NGX_OK;

    case 'm':
        *unit = 60;
        return NGX_OK;

    case 'h':
        *unit = 3600;
        return NGX_OK;

    default:
        return NGX_DECLINED;
    }
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
