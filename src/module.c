
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The module: its directives, its phases and its processes.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "base/version.h"
#include "conf/conf.h"
#include "gate/gate.h"
#include "gate/join.h"
#include "host/category.h"
#include "host/doubt.h"
#include "host/follow_worker.h"
#include "host/schedule.h"
#include "host/tally.h"
#include "host/touch.h"
#include "host/unlisted.h"
#include "host/zone.h"
#include "http/backend.h"
#include "http/command.h"
#include "http/ctx.h"
#include "http/variables.h"
#include "parts.h"
#include "queue/command.h"
#include "queue/queue.h"
#include "redis/script.h"
#include "token/effort.h"
#include "token/verified.h"


/* a phase in which the module handles requests */

typedef struct {
    ngx_http_phases             phase;
    ngx_http_handler_pt         handler;
} ngx_adm_phase_t;


static ngx_int_t ngx_adm_preconfiguration(ngx_conf_t *cf);
static ngx_int_t ngx_adm_postconfiguration(ngx_conf_t *cf);
static ngx_int_t ngx_adm_count_verdict(ngx_http_request_t *r);
static ngx_int_t ngx_adm_init_module(ngx_cycle_t *cycle);
static ngx_int_t ngx_adm_init_process(ngx_cycle_t *cycle);
static void ngx_adm_exit_process(ngx_cycle_t *cycle);


/* for strings(1); the log says the same */

static const char  ngx_adm_build[] =
    "admission module " NGX_ADM_VERSION " for NGINX " NGINX_VERSION;


#define NGX_ADM_ANY_CONF                                                      \
    (NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF)


static ngx_command_t  ngx_adm_commands[] = {

    { ngx_string("admission_zone"),
      NGX_HTTP_MAIN_CONF|NGX_CONF_TAKE1,
      ngx_adm_set_zone,
      NGX_HTTP_MAIN_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("admission_redis"),
      NGX_HTTP_MAIN_CONF|NGX_CONF_1MORE,
      ngx_adm_set_redis,
      NGX_HTTP_MAIN_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("admission_events"),
      NGX_HTTP_MAIN_CONF|NGX_CONF_BLOCK|NGX_CONF_NOARGS,
      ngx_adm_set_events,
      NGX_HTTP_MAIN_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("admission_secret"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF
                        |NGX_CONF_TAKE2|NGX_CONF_TAKE3|NGX_CONF_TAKE4,
      ngx_adm_set_secret,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("admission_event"),
      NGX_ADM_ANY_CONF|NGX_CONF_TAKE1,
      ngx_http_set_complex_value_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_adm_loc_conf_t, event),
      NULL },

    { ngx_string("admission_user"),
      NGX_ADM_ANY_CONF|NGX_CONF_1MORE,
      ngx_adm_set_user,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("admission_tier1"),
      NGX_ADM_ANY_CONF|NGX_CONF_1MORE,
      ngx_adm_set_tier1,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("admission_tier2"),
      NGX_ADM_ANY_CONF|NGX_CONF_1MORE,
      ngx_adm_set_tier2,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("admission_deny"),
      NGX_ADM_ANY_CONF|NGX_CONF_TAKE1,
      ngx_adm_set_deny,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("admission_waiting_uri"),
      NGX_ADM_ANY_CONF|NGX_CONF_TAKE1,
      ngx_adm_set_target,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_adm_loc_conf_t, waiting_uri),
      NULL },

    { ngx_string("admission_queue_uri"),
      NGX_ADM_ANY_CONF|NGX_CONF_TAKE1,
      ngx_adm_set_target,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_adm_loc_conf_t, queue_uri),
      NULL },

    { ngx_string("admission_login_uri"),
      NGX_ADM_ANY_CONF|NGX_CONF_TAKE1,
      ngx_adm_set_target,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_adm_loc_conf_t, login_uri),
      NULL },

    { ngx_string("admission_bypass"),
      NGX_ADM_ANY_CONF|NGX_CONF_TAKE1,
      ngx_http_set_complex_value_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_adm_loc_conf_t, bypass),
      NULL },

    { ngx_string("admission_trusted_edge"),
      NGX_ADM_ANY_CONF|NGX_CONF_TAKE12,
      ngx_adm_set_trusted_edge,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("admission_rate_limit"),
      NGX_ADM_ANY_CONF|NGX_CONF_1MORE,
      ngx_adm_set_rate_limit,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("admission_dry_run"),
      NGX_ADM_ANY_CONF|NGX_CONF_FLAG,
      ngx_conf_set_flag_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_adm_loc_conf_t, dry_run),
      NULL },

    { ngx_string("admission_cookie"),
      NGX_ADM_ANY_CONF|NGX_CONF_2MORE,
      ngx_adm_set_cookie,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("admission_page"),
      NGX_HTTP_LOC_CONF|NGX_CONF_TAKE1234,
      ngx_adm_set_page,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("admission_cors"),
      NGX_ADM_ANY_CONF|NGX_CONF_1MORE,
      ngx_adm_set_cors,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("admission_vwr_api"),
      NGX_HTTP_LOC_CONF|NGX_CONF_ANY,
      ngx_adm_set_room_api,
      NGX_HTTP_LOC_CONF_OFFSET,
      NGX_ADM_CONTENT_ROOM,
      NULL },

    { ngx_string("admission_admin_api"),
      NGX_HTTP_LOC_CONF|NGX_CONF_NOARGS,
      ngx_adm_set_content,
      NGX_HTTP_LOC_CONF_OFFSET,
      NGX_ADM_CONTENT_ADMIN,
      NULL },

    { ngx_string("admission_queue_api"),
      NGX_HTTP_LOC_CONF|NGX_CONF_ANY,
      ngx_adm_set_queue_api,
      NGX_HTTP_LOC_CONF_OFFSET,
      NGX_ADM_CONTENT_QUEUE,
      NULL },

    { ngx_string("admission_streams"),
      NGX_HTTP_MAIN_CONF|NGX_CONF_TAKE1,
      ngx_adm_set_streams,
      NGX_HTTP_MAIN_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("admission_metrics"),
      NGX_HTTP_LOC_CONF|NGX_CONF_NOARGS|NGX_CONF_TAKE1,
      ngx_adm_set_metrics,
      NGX_HTTP_LOC_CONF_OFFSET,
      NGX_ADM_CONTENT_METRICS,
      NULL },

    { ngx_string("admission_health"),
      NGX_HTTP_LOC_CONF|NGX_CONF_TAKE1,
      ngx_adm_set_health,
      NGX_HTTP_LOC_CONF_OFFSET,
      NGX_ADM_CONTENT_HEALTH,
      NULL },

      ngx_null_command };


static ngx_http_module_t  ngx_http_admission_module_ctx = {
    ngx_adm_preconfiguration,   /* preconfiguration */
    ngx_adm_postconfiguration,  /* postconfiguration */

    ngx_adm_create_main_conf,   /* create main configuration */
    ngx_adm_init_main_conf,     /* init main configuration */

    ngx_adm_create_srv_conf,    /* create server configuration */
    NULL,                       /* merge server configuration */

    ngx_adm_create_loc_conf,    /* create location configuration */
    ngx_adm_merge_loc_conf      /* merge location configuration */
};


ngx_module_t  ngx_http_admission_module = {
    NGX_MODULE_V1,
    &ngx_http_admission_module_ctx,       /* module context */
    ngx_adm_commands,                     /* module directives */
    NGX_HTTP_MODULE,                      /* module type */
    NULL,                                 /* init master */
    ngx_adm_init_module,                  /* init module */
    ngx_adm_init_process,                 /* init process */
    NULL,                                 /* init thread */
    NULL,                                 /* exit thread */
    ngx_adm_exit_process,                 /* exit process */
    NULL,                                 /* exit master */
    NGX_MODULE_V1_PADDING
};


static ngx_adm_phase_t  ngx_adm_phases[] = {
    { NGX_HTTP_POST_READ_PHASE, ngx_adm_gate_clean },
    { NGX_HTTP_SERVER_REWRITE_PHASE, ngx_adm_gate_rewrite },
    { NGX_HTTP_REWRITE_PHASE, ngx_adm_gate_rewrite },
    { NGX_HTTP_ACCESS_PHASE, ngx_adm_gate_access },
    { NGX_HTTP_PRECONTENT_PHASE, ngx_adm_gate },
    { NGX_HTTP_LOG_PHASE, ngx_adm_count_verdict },
    { 0, NULL }
};


static ngx_int_t
ngx_adm_preconfiguration(ngx_conf_t *cf)
{
    ngx_adm_parts_init();
    ngx_adm_scripts_init();

    ngx_adm_queue_join = ngx_adm_gate_join;
    ngx_adm_command = ngx_adm_queue_command;

    return ngx_adm_add_variables(cf);
}


static ngx_int_t
ngx_adm_postconfiguration(ngx_conf_t *cf)
{
    ngx_http_handler_pt         *h;
    ngx_http_core_main_conf_t   *cmcf;
    ngx_adm_phase_t             *p;
    ngx_adm_main_conf_t         *mcf;

    mcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_admission_module);

    if (!mcf->in_use) {
        return NGX_OK;
    }

    if (ngx_adm_complete_main_conf(cf, mcf) != NGX_CONF_OK) {
        return NGX_ERROR;
    }

    cmcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_core_module);

    for (p = ngx_adm_phases; p->handler; p++) {

        h = ngx_array_push(&cmcf->phases[p->phase].handlers);
        if (h == NULL) {
            return NGX_ERROR;
        }

        *h = p->handler;
    }

    return NGX_OK;
}


/* once a request, when it is logged: its last verdict */

static ngx_int_t
ngx_adm_count_verdict(ngx_http_request_t *r)
{
    ngx_adm_ctx_t  *ctx;

    if (r != r->main) {
        return NGX_OK;
    }

    ctx = ngx_adm_ctx(r);

    if (ctx && ctx->backend) {
        ngx_adm_backend_end(r, ctx);
    }

    if (ctx && ctx->verdict != NGX_ADM_VERDICT_NONE) {
        ngx_adm_count(NGX_ADM_COUNT_REQUESTS
                         + ngx_adm_verdict_row(ctx->verdict,
                                               ctx->reason,
                                               ctx->dry_run));
    }

    return NGX_OK;
}


/* in the master, and with "nginx -t": what has to be said once a host */

static ngx_int_t
ngx_adm_init_module(ngx_cycle_t *cycle)
{
    ngx_adm_main_conf_t  *mcf;

    mcf = ngx_http_cycle_get_module_main_conf(cycle, ngx_http_admission_module);

    if (mcf == NULL || !mcf->in_use) {

        /* the zone of the configuration before is gone */

        ngx_adm_zone_use(NULL);

        return NGX_OK;
    }

    if (!ngx_test_config) {
        ngx_log_error(NGX_LOG_NOTICE, cycle->log, 0, "%s", ngx_adm_build);
    }

    ngx_adm_zone_use(mcf->zone);
    ngx_adm_categories_use(mcf->categories, cycle->log);

    if (mcf->redis) {
        ngx_adm_revocations_keep(ngx_adm_queue_keep(mcf->token_ttl));
    }

    return NGX_OK;
}


static ngx_int_t
ngx_adm_init_process(ngx_cycle_t *cycle)
{
    ngx_adm_main_conf_t  *mcf;

    if (ngx_process != NGX_PROCESS_WORKER && ngx_process != NGX_PROCESS_SINGLE)
    {
        return NGX_OK;
    }

    mcf = ngx_http_cycle_get_module_main_conf(cycle, ngx_http_admission_module);

    if (mcf == NULL || !mcf->in_use) {
        return NGX_OK;
    }

    ngx_adm_zone_use(mcf->zone);
    ngx_adm_redis_shared_use(ngx_adm_touch_shared());
    ngx_adm_tally_use(mcf->names);
    ngx_adm_unlisted_use(mcf);

    if (ngx_adm_verified_init(cycle) != NGX_OK
        || ngx_adm_effort_init() != NGX_OK)
    {
        return NGX_ERROR;
    }

    if (mcf->redis == NULL) {
        return NGX_OK;
    }

    if (ngx_adm_redis_start(cycle, mcf) != NGX_OK) {
        return NGX_ERROR;
    }

    return ngx_adm_schedule_start(cycle, mcf);
}


static void
ngx_adm_exit_process(ngx_cycle_t *cycle)
{
    if (ngx_adm_redis == NULL) {
        return;
    }

    ngx_adm_follow_flush();
    ngx_adm_schedule_stop();
    ngx_adm_redis_close(ngx_adm_redis);
}
