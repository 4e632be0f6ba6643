
/*
 * Copyright (C) 2026 the admission module authors
 *
 * admission_page.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_admission_conf_parse.h"
#include "ngx_http_admission_page_compile.h"
#include "ngx_http_admission_pages.h"
#include "ngx_http_admission_return.h"


static char *ngx_http_admission_page_params(ngx_conf_t *cf, ngx_command_t *cmd,
    ngx_http_admission_page_conf_t *page, ngx_str_t *file);
static ngx_uint_t ngx_http_admission_page_is_param(ngx_str_t *arg);
static ngx_int_t ngx_http_admission_page_api(ngx_str_t *path,
    ngx_str_t *api);
static ngx_int_t ngx_http_admission_page_path(ngx_str_t *path);
static ngx_int_t ngx_http_admission_page_read(ngx_conf_t *cf, ngx_str_t *file,
    ngx_str_t *text);


ngx_str_t  ngx_http_admission_page_tier1 =
    ngx_string(ngx_http_admission_pages_tier1);
ngx_str_t  ngx_http_admission_page_tier2 =
    ngx_string(ngx_http_admission_pages_tier2);
ngx_str_t  ngx_http_admission_page_nojs =
    ngx_string(ngx_http_admission_pages_nojs);
ngx_str_t  ngx_http_admission_page_admin =
    ngx_string(ngx_http_admission_pages_admin);


char *
ngx_http_admission_page(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_admission_loc_conf_t  *lcf = conf;

    ngx_str_t                       *value, name, file, text;
    ngx_http_admission_page_conf_t  *page;

    if (lcf->content != NGX_HTTP_ADMISSION_CONTENT_NONE) {
        return "is duplicate, or stands beside another content handler of "
               "the module";
    }

    page = ngx_pcalloc(cf->pool, sizeof(ngx_http_admission_page_conf_t));
    if (page == NULL) {
        return NGX_CONF_ERROR;
    }

    value = cf->args->elts;

    if (ngx_strcmp(value[1].data, "tier1") == 0) {
        page->which = NGX_HTTP_ADMISSION_PAGE_TIER1;
        text = ngx_http_admission_page_tier1;
        ngx_str_set(&page->api, "/vwr-api");

    } else if (ngx_strcmp(value[1].data, "tier2") == 0) {
        page->which = NGX_HTTP_ADMISSION_PAGE_TIER2;
        text = ngx_http_admission_page_tier2;
        ngx_str_set(&page->api, "/api/queue");

    } else if (ngx_strcmp(value[1].data, "admin") == 0) {
        page->which = NGX_HTTP_ADMISSION_PAGE_ADMIN;
        text = ngx_http_admission_page_admin;
        ngx_str_set(&page->api, "/api/admin/vwr");
        ngx_str_set(&page->queue, "/api/queue/admin");

    } else {
        return ngx_http_admission_conf_invalid(cf, cmd, &value[1],
                                               "\"tier1\", \"tier2\" or "
                                               "\"admin\"");
    }

    ngx_str_set(&page->next, "/");

    if (ngx_http_admission_page_params(cf, cmd, page, &file) != NGX_CONF_OK) {
        return NGX_CONF_ERROR;
    }

    name = value[1];

    if (file.len) {
        name = file;

        if (ngx_http_admission_page_read(cf, &file, &text) != NGX_OK) {
            return NGX_CONF_ERROR;
        }
    }

    if (ngx_http_admission_page_compile(cf, page, page->which, &name, &text,
                                        &page->doc)
        != NGX_OK)
    {
        return NGX_CONF_ERROR;
    }

    if (page->which == NGX_HTTP_ADMISSION_PAGE_TIER1
        && ngx_http_admission_page_compile(cf, page,
                                           NGX_HTTP_ADMISSION_PAGE_NOJS,
                                           &name,
                                           &ngx_http_admission_page_nojs,
                                           &page->nojs)
           != NGX_OK)
    {
        return NGX_CONF_ERROR;
    }

    lcf->page = page;

    return ngx_http_admission_content_set(cf, cmd, lcf,
                                          NGX_HTTP_ADMISSION_CONTENT_PAGE,
                                          ngx_http_admission_page_handler);
}


static char *
ngx_http_admission_page_params(ngx_conf_t *cf, ngx_command_t *cmd,
    ngx_http_admission_page_conf_t *page, ngx_str_t *file)
{
    ngx_str_t   *value, *api, param;
    ngx_uint_t   i, admin;

    if (ngx_http_admission_conf_twice(cf, cmd) != NGX_CONF_OK) {
        return NGX_CONF_ERROR;
    }

    ngx_str_null(file);

    value = cf->args->elts;
    admin = (page->which == NGX_HTTP_ADMISSION_PAGE_ADMIN);

    for (i = 2; i < cf->args->nelts; i++) {

        if (!admin
            && ngx_http_admission_conf_param(&value[i], "next", &param)
               == NGX_OK)
        {
            if (ngx_http_admission_page_path(&param) != NGX_OK) {
                return ngx_http_admission_conf_invalid(cf, cmd, &value[i],
                                                       "\"next=\" with a path "
                                                       "of this site");
            }

            page->next = param;
            continue;
        }

        api = NULL;

        if (ngx_http_admission_conf_param(&value[i], "api", &param)
            == NGX_OK)
        {
            api = &page->api;

        } else if (admin
                   && ngx_http_admission_conf_param(&value[i], "queue", &param)
                      == NGX_OK)
        {
            api = &page->queue;
        }

        if (api) {

            if (ngx_http_admission_page_api(&param, api) == NGX_OK) {
                continue;
            }

            return ngx_http_admission_conf_invalid(cf, cmd, &value[i],
                       admin ? "\"api=\" with the path before \"/status\", as "
                               "\"/api/admin/vwr\", and \"queue=\" with that "
                               "before \"/clear/\", as \"/api/queue/admin\""
                             : "\"api=\" with the path before \"/check/\", "
                               "as \"/api/queue\"");
        }

        if (file->len || value[i].len == 0
            || ngx_http_admission_page_is_param(&value[i]))
        {
            return ngx_http_admission_conf_invalid(cf, cmd, &value[i],
                       admin ? "one file, \"api=\" and \"queue=\""
                             : "one file, \"next=\" and \"api=\"");
        }

        *file = value[i];
    }

    return NGX_CONF_OK;
}


/* "name=", which is more likely misspelled than a file's name */

static ngx_uint_t
ngx_http_admission_page_is_param(ngx_str_t *arg)
{
    return arg->data[strcspn((char *) arg->data, "=./")] == '=';
}


/* the path before the calls of an API */

static ngx_int_t
ngx_http_admission_page_api(ngx_str_t *path, ngx_str_t *api)
{
    if (ngx_http_admission_page_path(path) != NGX_OK
        || ngx_strlchr(path->data, path->data + path->len, '?')
        || ngx_strlchr(path->data, path->data + path->len, '#'))
    {
        return NGX_DECLINED;
    }

    *api = *path;

    if (api->data[api->len - 1] == '/') {
        api->len--;
    }

    return NGX_OK;
}


/* a path of this site that needs no escapes in a header */

static ngx_int_t
ngx_http_admission_page_path(ngx_str_t *path)
{
    size_t  i;

    if (!ngx_http_admission_return_is_safe(path)) {
        return NGX_DECLINED;
    }

    for (i = 0; i < path->len; i++) {
        if (path->data[i] == ' ' || path->data[i] >= 0x80) {
            return NGX_DECLINED;
        }
    }

    return NGX_OK;
}


static ngx_int_t
ngx_http_admission_page_read(ngx_conf_t *cf, ngx_str_t *file, ngx_str_t *text)
{
    size_t      size;
    ssize_t     n;
    ngx_fd_t    fd;
    ngx_err_t   err;

    if (ngx_conf_full_name(cf->cycle, file, 1) != NGX_OK) {
        return NGX_ERROR;
    }

    fd = ngx_open_file(file->data, NGX_FILE_RDONLY, NGX_FILE_OPEN, 0);

    if (fd == NGX_INVALID_FILE) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, ngx_errno,
                           ngx_open_file_n " \"%V\" failed", file);
        return NGX_ERROR;
    }

    text->len = 0;
    text->data = ngx_palloc(cf->pool, NGX_HTTP_ADMISSION_PAGE_MAX + 1);

    n = -1;
    err = NGX_ENOMEM;

    while (text->data) {

        size = NGX_HTTP_ADMISSION_PAGE_MAX + 1 - text->len;

        if (size == 0) {
            break;
        }

        n = ngx_read_fd(fd, text->data + text->len, size);

        if (n == -1) {
            err = ngx_errno;
            break;
        }

        if (n == 0) {
            break;
        }

        text->len += n;
    }

    if (ngx_close_file(fd) == NGX_FILE_ERROR) {
        ngx_conf_log_error(NGX_LOG_ALERT, cf, ngx_errno,
                           ngx_close_file_n " \"%V\" failed", file);
    }

    if (n == -1) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, err,
                           ngx_read_fd_n " \"%V\" failed", file);
        return NGX_ERROR;
    }

    if (text->len == 0 || text->len > NGX_HTTP_ADMISSION_PAGE_MAX) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "the page \"%V\" in \"admission_page\" directive "
                           "is %s, a page has 1 to %d bytes",
                           file, text->len ? "too long" : "empty",
                           NGX_HTTP_ADMISSION_PAGE_MAX);
        return NGX_ERROR;
    }

    return NGX_OK;
}
