
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The module: its phases and its processes.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_admission_conf.h"
#include "ngx_http_admission_counts.h"
#include "ngx_http_admission_ctx.h"
#include "ngx_http_admission_gate.h"
#include "ngx_http_admission_queue.h"
#include "ngx_http_admission_schedule.h"
#include "ngx_http_admission_script.h"
#include "ngx_http_admission_stats.h"
#include "ngx_http_admission_tally.h"
#include "ngx_http_admission_unlisted.h"
#include "ngx_http_admission_variables.h"
#include "ngx_http_admission_zone.h"


static ngx_int_t ngx_http_admission_preconfiguration(ngx_conf_t *cf);
static ngx_int_t ngx_http_admission_postconfiguration(ngx_conf_t *cf);
static ngx_int_t ngx_http_admission_phase(ngx_conf_t *cf,
    ngx_http_phases phase, ngx_http_handler_pt handler);
static ngx_int_t ngx_http_admission_count_verdict(ngx_http_request_t *r);
static ngx_int_t ngx_http_admission_init_module(ngx_cycle_t *cycle);
static ngx_int_t ngx_http_admission_init_process(ngx_cycle_t *cycle);
static void ngx_http_admission_exit_process(ngx_cycle_t *cycle);


static ngx_http_module_t  ngx_http_admission_module_ctx = {
    ngx_http_admission_preconfiguration,   /* preconfiguration */
    ngx_http_admission_postconfiguration,  /* postconfiguration */

    ngx_http_admission_create_main_conf,   /* create main configuration */
    ngx_http_admission_init_main_conf,     /* init main configuration */

    ngx_http_admission_create_srv_conf,    /* create server configuration */
    NULL,                                  /* merge server configuration */

    ngx_http_admission_create_loc_conf,    /* create location configuration */
    ngx_http_admission_merge_loc_conf      /* merge location configuration */
};


ngx_module_t  ngx_http_admission_module = {
    NGX_MODULE_V1,
    &ngx_http_admission_module_ctx,        /* module context */
    ngx_http_admission_commands,           /* module directives */
    NGX_HTTP_MODULE,                       /* module type */
    NULL,                                  /* init master */
    ngx_http_admission_init_module,        /* init module */
    ngx_http_admission_init_process,       /* init process */
    NULL,                                  /* init thread */
    NULL,                                  /* exit thread */
    ngx_http_admission_exit_process,       /* exit process */
    NULL,                                  /* exit master */
    NGX_MODULE_V1_PADDING
};


/* the client of this worker */
static ngx_http_admission_redis_t       *ngx_http_admission_client;
static ngx_http_admission_redis_conf_t  *ngx_http_admission_client_conf;


ngx_http_admission_redis_t *
ngx_http_admission_redis(void)
{
    return ngx_http_admission_client;
}


ngx_str_t *
ngx_http_admission_key_prefix(void)
{
    return ngx_http_admission_redis_prefix(ngx_http_admission_client_conf);
}


static ngx_int_t
ngx_http_admission_preconfiguration(ngx_conf_t *cf)
{
    ngx_http_admission_scripts_init();

    return ngx_http_admission_add_variables(cf);
}


static ngx_int_t
ngx_http_admission_postconfiguration(ngx_conf_t *cf)
{
    ngx_http_admission_main_conf_t  *mcf;

    mcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_admission_module);

    if (!mcf->in_use) {
        return NGX_OK;
    }

    if (ngx_http_admission_complete_main_conf(cf, mcf) != NGX_CONF_OK) {
        return NGX_ERROR;
    }

    if (ngx_http_admission_phase(cf, NGX_HTTP_POST_READ_PHASE,
                                 ngx_http_admission_gate_clean)
        != NGX_OK
        || ngx_http_admission_phase(cf, NGX_HTTP_SERVER_REWRITE_PHASE,
                                    ngx_http_admission_gate_clean)
           != NGX_OK
        || ngx_http_admission_phase(cf, NGX_HTTP_REWRITE_PHASE,
                                    ngx_http_admission_gate_clean)
           != NGX_OK
        || ngx_http_admission_phase(cf, NGX_HTTP_SERVER_REWRITE_PHASE,
                                    ngx_http_admission_gate_error_page)
           != NGX_OK
        || ngx_http_admission_phase(cf, NGX_HTTP_REWRITE_PHASE,
                                    ngx_http_admission_gate_error_page)
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    if (ngx_http_admission_phase(cf, NGX_HTTP_ACCESS_PHASE,
                                 ngx_http_admission_gate_access)
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    if (ngx_http_admission_phase(cf, NGX_HTTP_PRECONTENT_PHASE,
                                 ngx_http_admission_gate_precontent)
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    return ngx_http_admission_phase(cf, NGX_HTTP_LOG_PHASE,
                                    ngx_http_admission_count_verdict);
}


/* once a request, by what its log says: the last verdict */

static ngx_int_t
ngx_http_admission_count_verdict(ngx_http_request_t *r)
{
    ngx_http_admission_ctx_t  *ctx;

    if (r != r->main) {
        return NGX_OK;
    }

    ctx = ngx_http_admission_ctx(r);

    if (ctx && ctx->verdict != NGX_HTTP_ADMISSION_VERDICT_NONE) {
        ngx_http_admission_stats_verdict(ctx->verdict, ctx->reason,
                                         ctx->dry_run);
    }

    return NGX_OK;
}


static ngx_int_t
ngx_http_admission_phase(ngx_conf_t *cf, ngx_http_phases phase,
    ngx_http_handler_pt handler)
{
    ngx_http_handler_pt        *h;
    ngx_http_core_main_conf_t  *cmcf;

    cmcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_core_module);

    h = ngx_array_push(&cmcf->phases[phase].handlers);
    if (h == NULL) {
        return NGX_ERROR;
    }

    *h = handler;

    return NGX_OK;
}


/* in the master, and with "nginx -t": what is to be said once a host */

static ngx_int_t
ngx_http_admission_init_module(ngx_cycle_t *cycle)
{
    ngx_http_admission_main_conf_t  *mcf;

    mcf = ngx_http_cycle_get_module_main_conf(cycle, ngx_http_admission_module);

    if (mcf == NULL || !mcf->in_use) {

        /* the one of the configuration before is gone */

        ngx_http_admission_zone_use(NULL);

        return NGX_OK;
    }

    ngx_http_admission_zone_use(mcf->zone);
    ngx_http_admission_counts_use(mcf->categories, cycle->log);

    if (mcf->redis) {
        ngx_http_admission_revocations_keep(
            ngx_http_admission_queue_keep(mcf->token_ttl));
    }

    return NGX_OK;
}


static ngx_int_t
ngx_http_admission_init_process(ngx_cycle_t *cycle)
{
    ngx_http_admission_main_conf_t  *mcf;

    if (ngx_process != NGX_PROCESS_WORKER && ngx_process != NGX_PROCESS_SINGLE)
    {
        return NGX_OK;
    }

    mcf = ngx_http_cycle_get_module_main_conf(cycle, ngx_http_admission_module);

    if (mcf == NULL || !mcf->in_use) {
        return NGX_OK;
    }

    ngx_http_admission_zone_use(mcf->zone);
    ngx_http_admission_stats_use();
    ngx_http_admission_tally_use(mcf->names);
    ngx_http_admission_unlisted_use(mcf);

    if (ngx_http_admission_verified_init(cycle) != NGX_OK) {
        return NGX_ERROR;
    }

    if (mcf->redis == NULL) {
        return NGX_OK;
    }

    ngx_http_admission_redis_counts_use(
                                       ngx_http_admission_zone_redis_counts(),
                                       ngx_http_admission_stats_calls());

    ngx_http_admission_client_conf = mcf->redis;
    ngx_http_admission_client = ngx_http_admission_redis_create(cycle,
                                                                mcf->redis);
    if (ngx_http_admission_client == NULL) {
        return NGX_ERROR;
    }

    return ngx_http_admission_schedule_start(cycle, mcf);
}


static void
ngx_http_admission_exit_process(ngx_cycle_t *cycle)
{
    if (ngx_http_admission_client == NULL) {
        return;
    }

    ngx_http_admission_schedule_stop();
    ngx_http_admission_redis_close(ngx_http_admission_client);
}
