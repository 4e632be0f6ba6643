
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Readers of what directives say, and messages about what is wrong with it.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "parse.h"


static ngx_int_t ngx_adm_conf_read(ngx_fd_t fd, size_t size, ngx_str_t *text);


char *
ngx_adm_conf_invalid(ngx_conf_t *cf, ngx_command_t *cmd, ngx_str_t *value,
    const char *allowed)
{
    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "invalid value \"%V\" in \"%V\" "
                       "directive, it takes %s", value, &cmd->name, allowed);

    return NGX_CONF_ERROR;
}


char *
ngx_adm_conf_params(ngx_conf_t *cf, ngx_command_t *cmd, ngx_uint_t from,
    ngx_adm_params_t *set, void *fields)
{
    ngx_int_t         rc;
    ngx_str_t        *arg, value;
    ngx_uint_t        i, bit, given;
    const char       *allowed;
    ngx_adm_param_t  *param;

    arg = cf->args->elts;
    given = 0;

    for (i = from; i < cf->args->nelts; i++) {

        param = ngx_adm_conf_find(set->params, &arg[i], &value);

        if (param == NULL) {
            return ngx_adm_conf_invalid(cf, cmd, &arg[i], set->allowed);
        }

        allowed = param->allowed ? param->allowed : set->allowed;
        bit = (ngx_uint_t) 1 << (param - set->params);

        if (given & bit) {
            return ngx_adm_conf_invalid(cf, cmd, &arg[i],
                              set->once ? allowed : "each parameter once");
        }

        given |= bit;

        rc = param->read(cf, param, &value, (u_char *) fields + param->offset);

        if (rc == NGX_DECLINED) {
            return ngx_adm_conf_invalid(cf, cmd, &arg[i], allowed);
        }

        if (rc != NGX_OK) {
            return NGX_CONF_ERROR;
        }
    }

    return NGX_CONF_OK;
}


ngx_adm_param_t *
ngx_adm_conf_find(ngx_adm_param_t *params, ngx_str_t *arg, ngx_str_t *value)
{
    while (params->name.len) {

        if (ngx_adm_conf_param(arg, (char *) params->name.data,
                               value) == NGX_OK)
        {
            return params;
        }

        params++;
    }

    return NULL;
}


ngx_str_t *
ngx_adm_conf_arg(ngx_conf_t *cf, const char *name)
{
    ngx_str_t   *arg, value;
    ngx_uint_t   i;

    arg = cf->args->elts;

    for (i = 1; i < cf->args->nelts; i++) {
        if (ngx_adm_conf_param(&arg[i], name, &value) == NGX_OK) {
            return &arg[i];
        }
    }

    return NULL;
}


ngx_int_t
ngx_adm_conf_param(ngx_str_t *arg, const char *name, ngx_str_t *value)
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


ngx_int_t
ngx_adm_param_switch(ngx_conf_t *cf, ngx_adm_param_t *param, ngx_str_t *value,
    void *field)
{
    ngx_int_t  n;

    n = ngx_adm_switch(value);

    if (n == NGX_DECLINED || n < param->min || n > param->max) {
        return NGX_DECLINED;
    }

    *(ngx_uint_t *) field = n;

    return NGX_OK;
}


ngx_int_t
ngx_adm_param_enum(ngx_conf_t *cf, ngx_adm_param_t *param, ngx_str_t *value,
    void *field)
{
    return ngx_adm_conf_enum(param->post, value, field);
}


ngx_int_t
ngx_adm_param_number(ngx_conf_t *cf, ngx_adm_param_t *param, ngx_str_t *value,
    void *field)
{
    ngx_int_t  n;

    n = ngx_atoi(value->data, value->len);

    if (n == NGX_ERROR || n < param->min || n > param->max) {
        return NGX_DECLINED;
    }

    *(int64_t *) field = n;

    return NGX_OK;
}


ngx_int_t
ngx_adm_param_time(ngx_conf_t *cf, ngx_adm_param_t *param, ngx_str_t *value,
    void *field)
{
    ngx_int_t  ms;

    ms = ngx_parse_time(value, 0);

    if (ms == NGX_ERROR || ms < param->min || ms > param->max) {
        return NGX_DECLINED;
    }

    *(ngx_msec_t *) field = ms;

    return NGX_OK;
}


ngx_int_t
ngx_adm_param_seconds(ngx_conf_t *cf, ngx_adm_param_t *param, ngx_str_t *value,
    void *field)
{
    ngx_int_t  s;

    s = ngx_parse_time(value, 1);

    if (s == NGX_ERROR || s < param->min || s > param->max) {
        return NGX_DECLINED;
    }

    *(ngx_uint_t *) field = s;

    return NGX_OK;
}


ngx_int_t
ngx_adm_param_rate(ngx_conf_t *cf, ngx_adm_param_t *param, ngx_str_t *value,
    void *field)
{
    ngx_adm_rate_t  *rate = field;

    size_t  len;

    len = value->len;

    if (param->min == 0 && ngx_adm_str_is(value, "off")) {
        rate->n = 0;
        return NGX_OK;
    }

    if (len <= 3 || value->data[len - 3] != 'r' || value->data[len - 2] != '/')
    {
        return NGX_DECLINED;
    }

    rate->n = ngx_atoi(value->data, len - 3);

    if (rate->n < 1 || rate->n > NGX_ADM_RATE_MAX) {
        return NGX_DECLINED;
    }

    switch (value->data[len - 1]) {

    case 's':
        rate->unit = 1;
        return NGX_OK;

    case 'm':
        rate->unit = 60;
        return NGX_OK;

    case 'h':
        rate->unit = 3600;
        return NGX_OK;

    default:
        return NGX_DECLINED;
    }
}


ngx_int_t
ngx_adm_param_string(ngx_conf_t *cf, ngx_adm_param_t *param, ngx_str_t *value,
    void *field)
{
    if ((int64_t) value->len < param->min
        || (param->max && (int64_t) value->len > param->max))
    {
        return NGX_DECLINED;
    }

    *(ngx_str_t *) field = *value;

    return NGX_OK;
}


ngx_int_t
ngx_adm_conf_enum(ngx_conf_enum_t *names, ngx_str_t *name, ngx_uint_t *value)
{
    for ( /* void */ ; names->name.len; names++) {

        if (ngx_adm_str_same(&names->name, name)) {
            *value = names->value;
            return NGX_OK;
        }
    }

    return NGX_DECLINED;
}


char *
ngx_adm_conf_mode(ngx_conf_t *cf, ngx_command_t *cmd, ngx_conf_enum_t *names,
    const char *allowed, ngx_uint_t *mode, ngx_http_complex_value_t *cv)
{
    ngx_str_t  *value;

    value = cf->args->elts;

    if (ngx_adm_conf_enum(names, &value[1], mode) == NGX_OK) {
        return NGX_CONF_OK;
    }

    if (ngx_http_script_variables_count(&value[1]) == 0) {
        return ngx_adm_conf_invalid(cf, cmd, &value[1], allowed);
    }

    while (names->name.len) {
        names++;
    }

    *mode = names->value;

    return ngx_adm_value(cf, &value[1], cv);
}


char *
ngx_adm_value(ngx_conf_t *cf, ngx_str_t *value, ngx_http_complex_value_t *cv)
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


void *
ngx_adm_conf_push(ngx_conf_t *cf, ngx_array_t **array, size_t size)
{
    if (*array == NULL) {
        *array = ngx_array_create(cf->pool, 4, size);
        if (*array == NULL) {
            return NULL;
        }
    }

    return ngx_array_push(*array);
}


ngx_int_t
ngx_adm_conf_next(ngx_str_t *list, ngx_str_t *item)
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


ngx_int_t
ngx_adm_conf_file(ngx_conf_t *cf, ngx_command_t *cmd, const char *what,
    ngx_str_t *name, size_t max, ngx_pool_t *pool, ngx_str_t *text)
{
    ngx_fd_t     fd;
    ngx_err_t    err;
    const char  *failed;

    if (ngx_conf_full_name(cf->cycle, name, 1) != NGX_OK) {
        return NGX_ERROR;
    }

    text->data = ngx_pnalloc(pool, max + 1);
    if (text->data == NULL) {
        return NGX_ERROR;
    }

    failed = NULL;
    err = 0;

    fd = ngx_open_file(name->data, NGX_FILE_RDONLY, NGX_FILE_OPEN, 0);

    if (fd == NGX_INVALID_FILE) {
        failed = ngx_open_file_n;
        err = ngx_errno;

    } else {

        if (ngx_adm_conf_read(fd, max + 1, text) != NGX_OK) {
            failed = ngx_read_fd_n;
            err = ngx_errno;
        }

        if (ngx_close_file(fd) == NGX_FILE_ERROR) {
            ngx_conf_log_error(NGX_LOG_ALERT, cf, ngx_errno,
                               ngx_close_file_n " \"%V\" failed", name);
        }
    }

    if (failed) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, err, "%s\"%V\": %s \"%V\" failed",
                           what, &cmd->name, failed, name);
        return NGX_ERROR;
    }

    return NGX_OK;
}


static ngx_int_t
ngx_adm_conf_read(ngx_fd_t fd, size_t size, ngx_str_t *text)
{
    ssize_t  n;

    for (text->len = 0; text->len < size; text->len += n) {

        n = ngx_read_fd(fd, text->data + text->len, size - text->len);

        if (n == -1) {
            return NGX_ERROR;
        }

        if (n == 0) {
            break;
        }
    }

    return NGX_OK;
}
