
/*
 * Copyright (C) 2026 the admission module authors
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_admission_conf_parse.h"


static char *ngx_http_admission_cookie_param(ngx_conf_t *cf,
    ngx_command_t *cmd, ngx_http_admission_cookie_conf_t *cookie,
    ngx_str_t *arg);
static ngx_uint_t ngx_http_admission_is_token(ngx_str_t *s);
static ngx_uint_t ngx_http_admission_is_attribute(ngx_str_t *s);


/* by ngx_http_admission_token_e */

static ngx_str_t  ngx_http_admission_cookie_kinds[] = {
    ngx_string("tier1"),
    ngx_string("tier2"),
    ngx_string("user"),
    ngx_string("visitor"),
    ngx_string("ticket"),
    ngx_string("place")
};


char *
ngx_http_admission_cookie(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_admission_loc_conf_t  *lcf = conf;

    ngx_str_t                         *value;
    ngx_uint_t                         i, kind;
    ngx_http_admission_cookie_conf_t  *cookie;

    value = cf->args->elts;

    for (kind = 0; kind < NGX_HTTP_ADMISSION_TOKEN_KINDS; kind++) {
        if (ngx_strcmp(value[1].data,
                       ngx_http_admission_cookie_kinds[kind].data)
            == 0)
        {
            break;
        }
    }

    if (kind == NGX_HTTP_ADMISSION_TOKEN_KINDS) {
        return ngx_http_admission_conf_invalid(cf, cmd, &value[1],
                                               "\"tier1\", \"tier2\", "
                                               "\"user\", \"visitor\", "
                                               "\"ticket\" or \"place\"");
    }

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

    if (cookie->secure == NGX_HTTP_ADMISSION_SECURE_OFF
        && cookie->samesite.len == 4
        && ngx_strncmp(cookie->samesite.data, "None", 4) == 0)
    {
        return "cannot have \"samesite=none\" with \"secure=off\", browsers "
               "drop such a cookie: use \"secure=auto\" or \"secure=on\"";
    }

    lcf->cookies[kind] = cookie;

    return NGX_CONF_OK;
}


/* of two under one name one would be lost */

char *
ngx_http_admission_cookies_differ(ngx_conf_t *cf,
    ngx_http_admission_loc_conf_t *lcf)
{
    ngx_str_t   *a, *b;
    ngx_uint_t   i, j;

    for (i = 1; i < NGX_HTTP_ADMISSION_TOKEN_KINDS; i++) {
        a = &lcf->cookies[i]->name;

        for (j = 0; j < i; j++) {
            b = &lcf->cookies[j]->name;

            if (a->len == b->len && ngx_memcmp(a->data, b->data, a->len) == 0)
            {
                ngx_log_error(NGX_LOG_EMERG, cf->log, 0,
                              "\"admission_cookie\" has the name \"%V\" for "
                              "\"%V\" and for \"%V\"",
                              a, &ngx_http_admission_cookie_kinds[j],
                              &ngx_http_admission_cookie_kinds[i]);
                return NGX_CONF_ERROR;
            }
        }
    }

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
