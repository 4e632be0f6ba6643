
/*
 * Copyright (C) 2026 the admission module authors
 *
 * admission_secret, and where other directives have theirs from.  No message
 * ever shows a secret.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_admission_conf_parse.h"


#define NGX_HTTP_ADMISSION_SECRET_FILE_MAX  65536


static char *ngx_http_admission_secret_invalid(ngx_conf_t *cf,
    ngx_command_t *cmd, ngx_str_t *value, const char *allowed);
static ngx_int_t ngx_http_admission_secret_read(ngx_conf_t *cf,
    ngx_command_t *cmd, ngx_str_t *name, ngx_str_t *secret);
static ngx_int_t ngx_http_admission_secret_decode(ngx_conf_t *cf,
    ngx_str_t *format, ngx_str_t *secret);
static ngx_int_t ngx_http_admission_secret_hex(ngx_str_t *dst,
    ngx_str_t *src);
static ngx_int_t ngx_http_admission_hex_digit(u_char ch);


ngx_str_t  ngx_http_admission_secret_names[] = {
    ngx_string("tier1"),
    ngx_string("tier2"),
    ngx_string("user"),
    ngx_string("admin")
};


char *
ngx_http_admission_secret(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_admission_loc_conf_t  *lcf = conf;

    ngx_int_t                      rc;
    ngx_str_t                     *value, format, secret;
    ngx_uint_t                     i, kind;
    ngx_http_admission_keyring_t  *ring;

    value = cf->args->elts;

    for (kind = 0; kind < NGX_HTTP_ADMISSION_SECRETS; kind++) {
        if (ngx_strcmp(value[1].data,
                       ngx_http_admission_secret_names[kind].data)
            == 0)
        {
            break;
        }
    }

    if (kind == NGX_HTTP_ADMISSION_SECRETS) {
        return ngx_http_admission_secret_invalid(cf, cmd, &value[1],
                                                 "\"tier1\", \"tier2\", "
                                                 "\"user\" or \"admin\"");
    }

    if (ngx_http_admission_secret_value(cf, cmd, &value[2], &secret)
        != NGX_OK)
    {
        return NGX_CONF_ERROR;
    }

    ngx_str_set(&format, "raw");

    if (cf->args->nelts == 4
        && ngx_http_admission_conf_param(&value[3], "format", &format)
           != NGX_OK)
    {
        /* it may be what comes after a space of the secret */

        ngx_str_set(&format, "...");

        return ngx_http_admission_conf_invalid(cf, cmd, &format,
                                               "\"format=raw|base64|hex\" "
                                               "after the secret, which is in "
                                               "quotes if it has spaces");
    }

    rc = ngx_http_admission_secret_decode(cf, &format, &secret);

    if (rc == NGX_ERROR) {
        return NGX_CONF_ERROR;
    }

    if (rc == NGX_ABORT) {
        return ngx_http_admission_secret_invalid(cf, cmd, &format,
                                                 "the formats \"raw\", "
                                                 "\"base64\" and \"hex\"");
    }

    if (rc == NGX_DECLINED) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "the %V secret in \"%V\" directive is not in the "
                           "format \"%V\" that it is said to be in",
                           &value[1], &cmd->name, &format);
        return NGX_CONF_ERROR;
    }

    if (secret.len < NGX_HTTP_ADMISSION_SECRET_MIN) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "the %V secret in \"%V\" directive is %uz bytes "
                           "long, at least %d are needed",
                           &value[1], &cmd->name, secret.len,
                           NGX_HTTP_ADMISSION_SECRET_MIN);
        return NGX_CONF_ERROR;
    }

    for (i = 0; i < NGX_HTTP_ADMISSION_SECRETS; i++) {

        if (i != kind && lcf->secrets[i]
            && ngx_http_admission_keyring_is_secret(lcf->secrets[i], &secret))
        {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                               "the %V secret in \"%V\" directive is the "
                               "same as a %V secret: each kind needs its own",
                               &value[1], &cmd->name,
                               &ngx_http_admission_secret_names[i]);
            return NGX_CONF_ERROR;
        }
    }

    ring = lcf->secrets[kind];

    if (ring == NULL) {
        ring = ngx_http_admission_keyring_create(cf->pool);
        if (ring == NULL) {
            return NGX_CONF_ERROR;
        }

        lcf->secrets[kind] = ring;
    }

    if (ngx_http_admission_keyring_add(cf->pool, ring, &secret) != NGX_OK) {
        return NGX_CONF_ERROR;
    }

    if (secret.data != value[2].data) {
        ngx_explicit_memzero(secret.data, secret.len);
    }

    return NGX_CONF_OK;
}


/* what is as long as a secret may be one, at the wrong place */

static char *
ngx_http_admission_secret_invalid(ngx_conf_t *cf, ngx_command_t *cmd,
    ngx_str_t *value, const char *allowed)
{
    ngx_str_t  shown;

    shown = *value;

    if (shown.len >= NGX_HTTP_ADMISSION_SECRET_MIN) {
        ngx_str_set(&shown, "...");
    }

    return ngx_http_admission_conf_invalid(cf, cmd, &shown, allowed);
}


ngx_int_t
ngx_http_admission_secret_value(ngx_conf_t *cf, ngx_command_t *cmd,
    ngx_str_t *value, ngx_str_t *secret)
{
    ngx_str_t  file;

    if (ngx_http_admission_conf_param(value, "file", &file) == NGX_OK) {
        return ngx_http_admission_secret_read(cf, cmd, &file, secret);
    }

    *secret = *value;

    return NGX_OK;
}


static ngx_int_t
ngx_http_admission_secret_read(ngx_conf_t *cf, ngx_command_t *cmd,
    ngx_str_t *name, ngx_str_t *secret)
{
    ssize_t     n;
    ngx_fd_t    fd;
    ngx_str_t   path;

    path = *name;

    if (path.len == 0) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"file=\" in \"%V\" directive needs the name "
                           "of a file", &cmd->name);
        return NGX_ERROR;
    }

    if (ngx_conf_full_name(cf->cycle, &path, 1) != NGX_OK) {
        return NGX_ERROR;
    }

    fd = ngx_open_file(path.data, NGX_FILE_RDONLY, NGX_FILE_OPEN, 0);

    if (fd == NGX_INVALID_FILE) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, ngx_errno,
                           "\"file=\" of \"%V\": "
                           ngx_open_file_n " \"%V\" failed",
                           &cmd->name, &path);
        return NGX_ERROR;
    }

    secret->data = ngx_palloc(cf->temp_pool,
                              NGX_HTTP_ADMISSION_SECRET_FILE_MAX);
    n = -1;

    if (secret->data) {
        n = ngx_read_fd(fd, secret->data, NGX_HTTP_ADMISSION_SECRET_FILE_MAX);

        if (n == -1) {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, ngx_errno,
                               "\"file=\" of \"%V\": "
                               ngx_read_fd_n " \"%V\" failed",
                               &cmd->name, &path);
        }
    }

    if (ngx_close_file(fd) == NGX_FILE_ERROR) {
        ngx_conf_log_error(NGX_LOG_ALERT, cf, ngx_errno,
                           ngx_close_file_n " \"%V\" failed", &path);
    }

    if (n == -1) {
        return NGX_ERROR;
    }

    if (n == NGX_HTTP_ADMISSION_SECRET_FILE_MAX) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "the secret in \"%V\" of \"%V\" is too long, "
                           "less than %d bytes are allowed", &path,
                           &cmd->name, NGX_HTTP_ADMISSION_SECRET_FILE_MAX);
        return NGX_ERROR;
    }

    /* editors end files with a newline */

    if (n > 0 && secret->data[n - 1] == LF) {
        n--;
    }

    secret->len = n;

    return NGX_OK;
}


/* NGX_DECLINED: not of that format; NGX_ABORT: no such format */

static ngx_int_t
ngx_http_admission_secret_decode(ngx_conf_t *cf, ngx_str_t *format,
    ngx_str_t *secret)
{
    ngx_int_t  rc;
    ngx_str_t  decoded;

    if (format->len == 3 && ngx_strncmp(format->data, "raw", 3) == 0) {
        return NGX_OK;
    }

    decoded.data = ngx_pnalloc(cf->temp_pool, secret->len + 4);
    if (decoded.data == NULL) {
        return NGX_ERROR;
    }

    if (format->len == 6 && ngx_strncmp(format->data, "base64", 6) == 0) {
        rc = ngx_decode_base64(&decoded, secret);

        if (rc != NGX_OK) {
            rc = ngx_decode_base64url(&decoded, secret);
        }

    } else if (format->len == 3 && ngx_strncmp(format->data, "hex", 3) == 0) {
        rc = ngx_http_admission_secret_hex(&decoded, secret);

    } else {
        return NGX_ABORT;
    }

    if (rc != NGX_OK) {
        return NGX_DECLINED;
    }

    *secret = decoded;

    return NGX_OK;
}


static ngx_int_t
ngx_http_admission_secret_hex(ngx_str_t *dst, ngx_str_t *src)
{
    ngx_int_t   high, low;
    ngx_uint_t  i;

    if (src->len % 2) {
        return NGX_ERROR;
    }

    for (i = 0; i < src->len; i += 2) {
        high = ngx_http_admission_hex_digit(src->data[i]);
        low = ngx_http_admission_hex_digit(src->data[i + 1]);

        if (high < 0 || low < 0) {
            return NGX_ERROR;
        }

        dst->data[i / 2] = (u_char) (high * 16 + low);
    }

    dst->len = src->len / 2;

    return NGX_OK;
}


static ngx_int_t
ngx_http_admission_hex_digit(u_char ch)
{
    if (ch >= '0' && ch <= '9') {
        return ch - '0';
    }

    ch |= 0x20;

    if (ch >= 'a' && ch <= 'f') {
        return ch - 'a' + 10;
    }

    return -1;
}
