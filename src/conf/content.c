
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Locations that the module answers itself: admission_vwr_api,
 * admission_queue_api, admission_admin_api, admission_metrics and
 * admission_health; and admission_streams.  admission_page is in page.c.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../host/tally.h"
#include "../metrics/metrics.h"
#include "../metrics/ready.h"
#include "api_routes.h"
#include "conf.h"
#include "parse.h"


/* of 32 series at most each: 1,600 series */
#define NGX_ADM_METRICS_EVENTS  50

/*
 * at 1r/h the ns of so many stay below 2^63, with the time since the host
 * started
 */
#define NGX_ADM_INTAKE_BURST_MAX  1000000


/* of a worker */
#define NGX_ADM_STREAMS_MAX  10000000


/* parameters of an API's directive */
typedef struct {
    ngx_adm_rate_t          rate;
    int64_t                 burst;
    ngx_uint_t              admin;
} ngx_adm_api_args_t;


static char *ngx_adm_content_intake(ngx_conf_t *cf, ngx_command_t *cmd,
    ngx_adm_loc_conf_t *lcf, ngx_adm_params_t *set, ngx_adm_api_args_t *args);


static ngx_adm_param_t  ngx_adm_room_api_params[] = {

    ngx_adm_param(api_args, assign_rate, rate, rate, 0, 0, NULL, NULL),

    ngx_adm_param(api_args, burst, burst, number,
                  1, NGX_ADM_INTAKE_BURST_MAX, NULL, NULL),

    ngx_adm_params_end
};


static ngx_adm_params_t  ngx_adm_room_api_set = {
    ngx_adm_room_api_params,
    "\"assign_rate=Nr/s|Nr/m|Nr/h\" with a whole number from 1 to 100000000, "
    "or \"assign_rate=off\", and \"burst=N\" from 1 to 1000000, each once",
    1 };


static ngx_adm_param_t  ngx_adm_queue_api_params[] = {

    ngx_adm_param(api_args, visitor_rate, rate, rate, 0, 0, NULL, NULL),

    ngx_adm_param(api_args, burst, burst, number,
                  1, NGX_ADM_INTAKE_BURST_MAX, NULL, NULL),

    ngx_adm_param(api_args, admin, admin, switch, 0, NGX_ADM_ON, NULL,
                  "\"admin=on|off\" once"),

    ngx_adm_params_end
};


static ngx_adm_params_t  ngx_adm_queue_api_set = {
    ngx_adm_queue_api_params,
    "\"admin=on|off\"; without \"admin=on\" "
    "\"visitor_rate=Nr/s|Nr/m|Nr/h\" with a whole number from 1 to "
    "100000000, or \"visitor_rate=off\", and \"burst=N\" from 1 to 1000000, "
    "each once",
    1 };


static ngx_adm_param_t  ngx_adm_metrics_params[] = {

    { ngx_string("events"), ngx_adm_param_number, 0, sizeof(int64_t),
      0, NGX_ADM_NAMES_MAX, NULL, NULL },

    ngx_adm_params_end
};


static ngx_adm_params_t  ngx_adm_metrics_set = {
    ngx_adm_metrics_params,
    "\"events=N\", N from 0 to 1000",
    0 };


static ngx_adm_param_t  ngx_adm_streams_params[] = {

    { ngx_string("max"), ngx_adm_param_number, 0, sizeof(int64_t),
      0, NGX_ADM_STREAMS_MAX, NULL, NULL },

    ngx_adm_params_end
};


static ngx_adm_params_t  ngx_adm_streams_set = {
    ngx_adm_streams_params,
    "\"max=N\", N from 0 to 10000000",
    0 };


/* handlers, by NGX_ADM_CONTENT_* */

static const struct {
    ngx_http_handler_pt     handler;
    const ngx_adm_route_t  *routes;
}  ngx_adm_contents[] = {
    { NULL, NULL },
    { ngx_adm_api_handler, ngx_adm_queue_routes },
    { ngx_adm_api_handler, ngx_adm_room_routes },
    { ngx_adm_api_handler, ngx_adm_admin_routes },
    { NULL, NULL },                         /* admission_page sets its own */
    { ngx_adm_metrics_handler, NULL },
    { NULL, NULL }                          /* and so does admission_health */
};


char *
ngx_adm_set_content(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_adm_loc_conf_t  *lcf = conf;

    lcf->routes = ngx_adm_contents[cmd->offset].routes;

    return ngx_adm_content_take(cf, cmd, conf, cmd->offset,
                               ngx_adm_contents[cmd->offset].handler);
}


char *
ngx_adm_content_take(ngx_conf_t *cf, ngx_command_t *cmd,
    ngx_adm_loc_conf_t *lcf, ngx_uint_t content, ngx_http_handler_pt handler)
{
    ngx_http_core_loc_conf_t  *clcf;

    if (lcf->content != NGX_ADM_CONTENT_NONE) {
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
 * "if" and "limit_except" enclose a location without a name.  It answers as
 * the one around it does, unless it has a handler of its own.
 */

char *
ngx_adm_content_merge(ngx_conf_t *cf, ngx_adm_loc_conf_t *prev,
    ngx_adm_loc_conf_t *conf)
{
    ngx_http_core_loc_conf_t  *clcf;

    clcf = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);

    if (clcf->noname
        && clcf->handler == NULL
        && prev->content != NGX_ADM_CONTENT_NONE)
    {
        conf->content = prev->content;
        conf->content_name = prev->content_name;
        conf->handler = prev->handler;
        conf->routes = prev->routes;
        conf->page = prev->page;
        conf->admin = prev->admin;
        conf->intake = prev->intake;

        clcf->handler = prev->handler;
    }

    /* the gate does not look at what the module answers itself */

    if (clcf->handler != conf->handler && conf->content != NGX_ADM_CONTENT_NONE)
    {
        ngx_log_error(NGX_LOG_EMERG, cf->log, 0,
                      "\"%V\" stands beside another content handler "
                      "in the same location", conf->content_name);
        return NGX_CONF_ERROR;
    }

    return NGX_CONF_OK;
}


char *
ngx_adm_set_room_api(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_adm_loc_conf_t  *lcf = conf;

    char                *rv;
    ngx_adm_api_args_t   args;
    ngx_adm_srv_conf_t  *scf;

    rv = ngx_adm_set_content(cf, cmd, conf);

    if (rv != NGX_CONF_OK) {
        return rv;
    }

    if (ngx_adm_content_intake(cf, cmd, lcf, &ngx_adm_room_api_set,
                               &args) != NGX_CONF_OK)
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
ngx_adm_set_queue_api(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_adm_loc_conf_t  *lcf = conf;

    char                *rv;
    ngx_str_t           *arg;
    ngx_adm_api_args_t   args;

    rv = ngx_adm_set_content(cf, cmd, conf);

    if (rv != NGX_CONF_OK) {
        return rv;
    }

    if (ngx_adm_content_intake(cf, cmd, lcf, &ngx_adm_queue_api_set,
                               &args) != NGX_CONF_OK)
    {
        return NGX_CONF_ERROR;
    }

    if (args.admin) {
        lcf->admin = 1;
        lcf->routes = ngx_adm_queue_admin_routes;
    }

    lcf->content_file = cf->conf_file->file.name;
    lcf->content_line = cf->conf_file->line;

    arg = ngx_adm_conf_arg(cf, "visitor_rate");

    if (arg == NULL) {
        arg = ngx_adm_conf_arg(cf, "burst");
    }

    if (lcf->admin && arg) {
        return ngx_adm_conf_invalid(cf, cmd, arg, "\"admin=on\" alone: "
                                    "operators make no visitors");
    }

    return NGX_CONF_OK;
}


/* reads the parameters; a rate and "burst=" are those of an intake */

static char *
ngx_adm_content_intake(ngx_conf_t *cf, ngx_command_t *cmd,
    ngx_adm_loc_conf_t *lcf, ngx_adm_params_t *set, ngx_adm_api_args_t *args)
{
    ngx_str_t              *rate, *burst;
    ngx_adm_intake_conf_t  *intake;

    args->rate.n = 50;
    args->rate.unit = 1;
    args->burst = 500;
    args->admin = 0;

    if (ngx_adm_conf_params(cf, cmd, 1, set, args) != NGX_CONF_OK) {
        return NGX_CONF_ERROR;
    }

    lcf->intake = &ngx_adm_intake_default;

    /* the first parameter is the rate */

    rate = ngx_adm_conf_arg(cf, (char *) set->params->name.data);
    burst = ngx_adm_conf_arg(cf, "burst");

    if (rate == NULL && burst == NULL) {
        return NGX_CONF_OK;
    }

    if (args->rate.n == 0 && burst) {
        return ngx_adm_conf_invalid(cf, cmd, rate,
                                    "\"off\" without \"burst=\"");
    }

    intake = ngx_palloc(cf->pool, sizeof(ngx_adm_intake_conf_t));
    if (intake == NULL) {
        return NGX_CONF_ERROR;
    }

    intake->step = 0;

    if (args->rate.n) {
        /* rounded up, so that no more than the rate gets through */
        intake->step = ((int64_t) args->rate.unit * NGX_ADM_NS
                        + args->rate.n - 1)
                       / args->rate.n;
    }

    intake->depth = intake->step * args->burst;
    intake->given = 1;

    lcf->intake = intake;

    return NGX_CONF_OK;
}


/* every location with metrics names the same events */

char *
ngx_adm_set_metrics(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    int64_t               n;
    ngx_adm_main_conf_t  *mcf;

    n = NGX_ADM_METRICS_EVENTS;

    if (ngx_adm_conf_params(cf, cmd, 1, &ngx_adm_metrics_set,
                            &n) != NGX_CONF_OK)
    {
        return NGX_CONF_ERROR;
    }

    mcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_admission_module);

    mcf->names = ngx_max(mcf->names, (ngx_uint_t) n);

    return ngx_adm_set_content(cf, cmd, conf);
}


char *
ngx_adm_set_streams(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_adm_main_conf_t  *mcf = conf;

    int64_t  n;

    if (mcf->streams != NGX_CONF_UNSET) {
        return "is duplicate";
    }

    n = 0;

    if (ngx_adm_conf_params(cf, cmd, 1, &ngx_adm_streams_set,
                            &n) != NGX_CONF_OK)
    {
        return NGX_CONF_ERROR;
    }

    mcf->streams = (ngx_int_t) n;

    return NGX_CONF_OK;
}


char *
ngx_adm_set_health(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_str_t            *value;
    ngx_http_handler_pt   handler;

    value = cf->args->elts;

    if (ngx_adm_str_is(&value[1], "live")) {
        handler = ngx_adm_live_handler;

    } else if (ngx_adm_str_is(&value[1], "ready")) {
        handler = ngx_adm_ready_handler;

    } else {
        return ngx_adm_conf_invalid(cf, cmd, &value[1],
                                    "\"live\" or \"ready\"");
    }

    return ngx_adm_content_take(cf, cmd, conf, cmd->offset, handler);
}
