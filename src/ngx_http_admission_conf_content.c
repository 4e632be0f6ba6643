
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Locations that the module answers itself; of pages see page_conf.c.
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


/* series an event has: 20, so that this is 1,000 of them */
#define NGX_HTTP_ADMISSION_METRICS_EVENTS  50

/* at 1r/h its ns stay below 2^63, with the time since the host started */
#define NGX_HTTP_ADMISSION_BURST_MAX       1000000
#define NGX_HTTP_ADMISSION_NS              1000000000


static char *ngx_http_admission_intake_params(ngx_conf_t *cf,
    ngx_command_t *cmd, ngx_http_admission_loc_conf_t *lcf,
    ngx_str_t *args, ngx_uint_t n);
static ngx_int_t ngx_http_admission_intake_rate(ngx_command_t *cmd,
    ngx_str_t *arg, ngx_str_t *value);
static char *ngx_http_admission_intake_invalid(ngx_conf_t *cf,
    ngx_command_t *cmd, ngx_str_t *arg);


/* 50r/s burst=500 */

ngx_http_admission_intake_conf_t  ngx_http_admission_intake_default = {
    NGX_HTTP_ADMISSION_NS / 50,
    NGX_HTTP_ADMISSION_NS / 50 * (int64_t) 500,
    0
};


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
ngx_http_admission_content(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    return ngx_http_admission_content_set(cf, cmd, conf, cmd->offset,
                             ngx_http_admission_content_handlers[cmd->offset]);
}


char *
ngx_http_admission_content_set(ngx_conf_t *cf, ngx_command_t *cmd,
    ngx_http_admission_loc_conf_t *lcf, ngx_uint_t content,
    ngx_http_handler_pt handler)
{
    ngx_http_core_loc_conf_t  *clcf;

    if (lcf->content != NGX_HTTP_ADMISSION_CONTENT_NONE) {
        return "is duplicate, or stands beside another content handler of "
               "the module";
    }

    clcf = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);

    if (clcf->handler) {
        return "stands beside another content handler in the same location";
    }

    lcf->content = content;
    lcf->content_name = &cmd->name;
    lcf->handler = handler;

    clcf->handler = handler;

    return NGX_CONF_OK;
}


/*
 * What "if" and "limit_except" enclose is a location without a name, which
 * answers as the one around it does, unless it has a handler of its own.
 */

char *
ngx_http_admission_content_merge(ngx_conf_t *cf,
    ngx_http_admission_loc_conf_t *prev, ngx_http_admission_loc_conf_t *conf)
{
    ngx_http_core_loc_conf_t  *clcf;

    clcf = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);

    if (clcf->noname
        && clcf->handler == NULL
        && prev->content != NGX_HTTP_ADMISSION_CONTENT_NONE)
    {
        conf->content = prev->content;
        conf->content_name = prev->content_name;
        conf->handler = prev->handler;
        conf->page = prev->page;
        conf->admin = prev->admin;
        conf->intake = prev->intake;

        clcf->handler = prev->handler;
    }

    /* the gate does not look at what the module answers itself */

    if (clcf->handler != conf->handler
        && conf->content != NGX_HTTP_ADMISSION_CONTENT_NONE)
    {
        ngx_log_error(NGX_LOG_EMERG, cf->log, 0,
                      "\"%V\" stands beside another content handler "
                      "in the same location", conf->content_name);
        return NGX_CONF_ERROR;
    }

    return NGX_CONF_OK;
}


char *
ngx_http_admission_vwr_api(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_admission_loc_conf_t  *lcf = conf;

    char                           *rv;
    ngx_str_t                      *value;
    ngx_http_admission_srv_conf_t  *scf;

    rv = ngx_http_admission_content(cf, cmd, conf);

    if (rv != NGX_CONF_OK) {
        return rv;
    }

    value = cf->args->elts;

    if (ngx_http_admission_intake_params(cf, cmd, lcf, &value[1],
                                         cf->args->nelts - 1)
        != NGX_CONF_OK)
    {
        return NGX_CONF_ERROR;
    }

    scf = ngx_http_conf_get_module_srv_conf(cf, ngx_http_admission_module);

    if (scf->assign == NULL || (!scf->assign->given && lcf->intake->given)) {
        scf->assign = lcf->intake;
    }

    return NGX_CONF_OK;
}


char *
ngx_http_admission_queue_api(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_admission_loc_conf_t  *lcf = conf;

    char        *rv;
    ngx_str_t   *value, param;
    ngx_uint_t   i, n, flag, seen;

    rv = ngx_http_admission_content(cf, cmd, conf);

    if (rv != NGX_CONF_OK) {
        return rv;
    }

    /* what is left are those of the rate */

    value = cf->args->elts;
    seen = 0;
    n = 1;

    for (i = 1; i < cf->args->nelts; i++) {

        if (ngx_http_admission_conf_param(&value[i], "admin", &param)
            != NGX_OK)
        {
            value[n++] = value[i];
            continue;
        }

        if (seen || ngx_http_admission_conf_flag(&param, &flag) != NGX_OK) {
            return ngx_http_admission_conf_invalid(cf, cmd, &value[i],
                                                   "\"admin=on|off\" once");
        }

        lcf->admin = flag;
        seen = 1;
    }

    lcf->content_file = cf->conf_file->file.name;
    lcf->content_line = cf->conf_file->line;

    if (lcf->admin && n > 1) {
        return ngx_http_admission_conf_invalid(cf, cmd, &value[1],
                                               "\"admin=on\" alone: operators "
                                               "make no visitors");
    }

    return ngx_http_admission_intake_params(cf, cmd, lcf, &value[1], n - 1);
}


/* n parameters, of a rate and its "burst=" */

static char *
ngx_http_admission_intake_params(ngx_conf_t *cf, ngx_command_t *cmd,
    ngx_http_admission_loc_conf_t *lcf, ngx_str_t *args, ngx_uint_t n)
{
    ngx_int_t                          rate, unit, burst;
    ngx_str_t                          value, *off;
    ngx_uint_t                         i, rates, bursts;
    ngx_http_admission_intake_conf_t  *intake;

    lcf->intake = &ngx_http_admission_intake_default;

    if (n == 0) {
        return NGX_CONF_OK;
    }

    intake = ngx_palloc(cf->pool, sizeof(ngx_http_admission_intake_conf_t));
    if (intake == NULL) {
        return NGX_CONF_ERROR;
    }

    off = NULL;
    rates = 0;
    bursts = 0;
    rate = 50;
    unit = 1;
    burst = 500;

    for (i = 0; i < n; i++) {

        if (ngx_http_admission_intake_rate(cmd, &args[i], &value) == NGX_OK
            && rates++ == 0)
        {
            if (value.len == 3 && ngx_strncmp(value.data, "off", 3) == 0) {
                off = &args[i];
                continue;
            }

            if (ngx_http_admission_conf_rate(&value, &rate, &unit) == NGX_OK) {
                continue;
            }
        }

        if (ngx_http_admission_conf_param(&args[i], "burst", &value) == NGX_OK
            && bursts++ == 0)
        {
            burst = ngx_atoi(value.data, value.len);

            if (burst >= 1 && burst <= NGX_HTTP_ADMISSION_BURST_MAX) {
                continue;
            }
        }

        return ngx_http_admission_intake_invalid(cf, cmd, &args[i]);
    }

    if (off && bursts) {
        return ngx_http_admission_conf_invalid(cf, cmd, off,
                                               "\"off\" without \"burst=\"");
    }

    /* rounded up, so that it is never more than the rate */

    intake->step = off ? 0 : ((int64_t) unit * NGX_HTTP_ADMISSION_NS + rate - 1)
                             / rate;
    intake->depth = intake->step * burst;
    intake->given = 1;

    lcf->intake = intake;

    return NGX_CONF_OK;
}


static ngx_int_t
ngx_http_admission_intake_rate(ngx_command_t *cmd, ngx_str_t *arg,
    ngx_str_t *value)
{
    if (cmd->offset == NGX_HTTP_ADMISSION_CONTENT_VWR) {
        return ngx_http_admission_conf_param(arg, "assign_rate", value);
    }

    return ngx_http_admission_conf_param(arg, "visitor_rate", value);
}


static char *
ngx_http_admission_intake_invalid(ngx_conf_t *cf, ngx_command_t *cmd,
    ngx_str_t *arg)
{
    if (cmd->offset == NGX_HTTP_ADMISSION_CONTENT_VWR) {
        return ngx_http_admission_conf_invalid(cf, cmd, arg,
                   "\"assign_rate=Nr/s|Nr/m|Nr/h\" with a whole number from "
                   "1 to 100000000, or \"assign_rate=off\", and "
                   "\"burst=N\" from 1 to 1000000, each once");
    }

    return ngx_http_admission_conf_invalid(cf, cmd, arg,
               "\"admin=on|off\"; without \"admin=on\" "
               "\"visitor_rate=Nr/s|Nr/m|Nr/h\" with a whole number from "
               "1 to 100000000, or \"visitor_rate=off\", and "
               "\"burst=N\" from 1 to 1000000, each once");
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
    ngx_str_t            *value;
    ngx_http_handler_pt   handler;

    value = cf->args->elts;

    if (ngx_strcmp(value[1].data, "live") == 0) {
        handler = ngx_http_admission_live_handler;

    } else if (ngx_strcmp(value[1].data, "ready") == 0) {
        handler = ngx_http_admission_ready_handler;

    } else {
        return ngx_http_admission_conf_invalid(cf, cmd, &value[1],
                                               "\"live\" or \"ready\"");
    }

    return ngx_http_admission_content_set(cf, cmd, conf, cmd->offset, handler);
}
