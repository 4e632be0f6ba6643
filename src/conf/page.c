
/*
 * Copyright (C) 2026 the admission module authors
 *
 * admission_page: which page, from which file, and what it calls.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../http/return.h"
#include "../page/compile.h"
#include "../page/handler.h"
#include "conf.h"
#include "parse.h"


static void ngx_adm_page_take_file(ngx_conf_t *cf, ngx_str_t *file);
static ngx_int_t ngx_adm_page_read(ngx_conf_t *cf, ngx_command_t *cmd,
    ngx_str_t *file, ngx_str_t *text);
static ngx_int_t ngx_adm_param_path(ngx_conf_t *cf, ngx_adm_param_t *param,
    ngx_str_t *value, void *field);
static ngx_int_t ngx_adm_param_api(ngx_conf_t *cf, ngx_adm_param_t *param,
    ngx_str_t *value, void *field);


static ngx_conf_enum_t  ngx_adm_page_names[] = {
    { ngx_string("tier1"), NGX_ADM_PAGE_TIER1 },
    { ngx_string("tier2"), NGX_ADM_PAGE_TIER2 },
    { ngx_string("admin"), NGX_ADM_PAGE_ADMIN },
    { ngx_null_string, 0 }
};


static ngx_adm_param_t  ngx_adm_page_params[] = {

    ngx_adm_param(page_conf, next, next, path, 0, 0, NULL,
                  "\"next=\" with a path of this site"),

    ngx_adm_param(page_conf, api, api, api, 0, 0, NULL,
      "\"api=\" with the path before \"/check/\", as \"/api/queue\""),

    ngx_adm_params_end
};


static ngx_adm_params_t  ngx_adm_page_set = {
    ngx_adm_page_params,
    "one file, \"next=\" and \"api=\"",
    0 };


#define NGX_ADM_PAGE_APIS                                                     \
    "\"api=\" with the path before \"/status\", as \"/api/admin/vwr\", and "  \
    "\"queue=\" with that before \"/clear/\", as \"/api/queue/admin\""

static ngx_adm_param_t  ngx_adm_page_admin_params[] = {

    ngx_adm_param(page_conf, api, api, api, 0, 0, NULL, NGX_ADM_PAGE_APIS),

    ngx_adm_param(page_conf, queue, queue, api, 0, 0, NULL, NGX_ADM_PAGE_APIS),

    ngx_adm_params_end
};


static ngx_adm_params_t  ngx_adm_page_admin_set = {
    ngx_adm_page_admin_params,
    "one file, \"api=\" and \"queue=\"",
    0 };


char *
ngx_adm_set_page(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_adm_loc_conf_t  *lcf = conf;

    ngx_str_t            *value, *nojs, name, file, text;
    ngx_adm_params_t     *set;
    ngx_adm_page_conf_t  *page;

    if (lcf->content != NGX_ADM_CONTENT_NONE) {
        return "is duplicate, or stands beside another content handler of "
               "the module";
    }

    page = ngx_pcalloc(cf->pool, sizeof(ngx_adm_page_conf_t));
    if (page == NULL) {
        return NGX_CONF_ERROR;
    }

    value = cf->args->elts;

    if (ngx_adm_conf_enum(ngx_adm_page_names, &value[1],
                          &page->which) != NGX_OK)
    {
        return ngx_adm_conf_invalid(cf, cmd, &value[1], "\"tier1\", "
                                    "\"tier2\" or \"admin\"");
    }

    set = &ngx_adm_page_set;

    switch (page->which) {

    case NGX_ADM_PAGE_TIER1:
        text = ngx_adm_page_tier1;
        ngx_str_set(&page->api, "/vwr-api");
        break;

    case NGX_ADM_PAGE_TIER2:
        text = ngx_adm_page_tier2;
        ngx_str_set(&page->api, "/api/queue");
        break;

    default: /* NGX_ADM_PAGE_ADMIN */
        set = &ngx_adm_page_admin_set;
        text = ngx_adm_page_admin;
        ngx_str_set(&page->api, "/api/admin/vwr");
        ngx_str_set(&page->queue, "/api/queue/admin");
    }

    ngx_str_set(&page->next, "/");

    name = value[1];

    ngx_adm_page_take_file(cf, &file);

    if (ngx_adm_conf_params(cf, cmd, 2, set, page) != NGX_CONF_OK) {
        return NGX_CONF_ERROR;
    }

    if (file.len) {
        name = file;

        if (ngx_adm_page_read(cf, cmd, &file, &text) != NGX_OK) {
            return NGX_CONF_ERROR;
        }
    }

    if (ngx_adm_page_compile(cf, page, page->which, &name, &text,
                             &page->doc) != NGX_OK)
    {
        return NGX_CONF_ERROR;
    }

    nojs = (page->which == NGX_ADM_PAGE_TIER1) ? &ngx_adm_page_nojs
                                               : &ngx_adm_page_script;

    if (page->which != NGX_ADM_PAGE_ADMIN
        && ngx_adm_page_compile(cf, page, NGX_ADM_PAGE_NOJS, &name, nojs,
                                &page->nojs)
           != NGX_OK)
    {
        return NGX_CONF_ERROR;
    }

    lcf->page = page;

    return ngx_adm_content_take(cf, cmd, lcf, NGX_ADM_CONTENT_PAGE,
                               ngx_adm_page_handler);
}


/*
 * Takes the file out of the arguments: the first that is no "name=", which
 * would more likely be a misspelled parameter than a file.
 */

static void
ngx_adm_page_take_file(ngx_conf_t *cf, ngx_str_t *file)
{
    ngx_str_t   *arg;
    ngx_uint_t   i, n;

    ngx_str_null(file);

    arg = cf->args->elts;
    n = 2;

    for (i = 2; i < cf->args->nelts; i++) {

        if (file->len == 0 && arg[i].len
            && arg[i].data[strcspn((char *) arg[i].data, "=./")] != '=')
        {
            *file = arg[i];
            continue;
        }

        arg[n++] = arg[i];
    }

    cf->args->nelts = n;
}


static ngx_int_t
ngx_adm_page_read(ngx_conf_t *cf, ngx_command_t *cmd, ngx_str_t *file,
    ngx_str_t *text)
{
    if (ngx_adm_conf_file(cf, cmd, "", file, NGX_ADM_PAGE_MAX, cf->pool,
                          text) != NGX_OK)
    {
        return NGX_ERROR;
    }

    if (text->len == 0 || text->len > NGX_ADM_PAGE_MAX) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "the page \"%V\" in "
                           "\"admission_page\" directive is %s, a page has 1 "
                           "to %d bytes", file,
                           text->len ? "too long" : "empty", NGX_ADM_PAGE_MAX);
        return NGX_ERROR;
    }

    return NGX_OK;
}


/* a path of this site that needs no escapes in a header */

static ngx_int_t
ngx_adm_param_path(ngx_conf_t *cf, ngx_adm_param_t *param, ngx_str_t *value,
    void *field)
{
    size_t  i;

    if (!ngx_adm_return_is_safe(value)) {
        return NGX_DECLINED;
    }

    for (i = 0; i < value->len; i++) {
        if (value->data[i] == ' ' || value->data[i] >= 0x80) {
            return NGX_DECLINED;
        }
    }

    *(ngx_str_t *) field = *value;

    return NGX_OK;
}


/* the path before the calls of an API */

static ngx_int_t
ngx_adm_param_api(ngx_conf_t *cf, ngx_adm_param_t *param, ngx_str_t *value,
    void *field)
{
    ngx_str_t  *api = field;

    if (ngx_adm_param_path(cf, param, value, api) != NGX_OK
        || strcspn((char *) value->data, "?#") < value->len)
    {
        return NGX_DECLINED;
    }

    if (api->data[api->len - 1] == '/') {
        api->len--;
    }

    return NGX_OK;
}
