
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The verdict on a request, and whether what it names is an event.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../host/room_state.h"
#include "verdict.h"


ngx_int_t
ngx_adm_gate_event(ngx_adm_gate_t *g, ngx_adm_verdict_e tier)
{
    ngx_int_t             rc;
    ngx_adm_main_conf_t  *mcf;

    if (g->event.len == 0) {
        return ngx_adm_gate_deny(g, tier, ngx_adm_reason(BAD_EVENT));
    }

    mcf = ngx_http_get_module_main_conf(g->request, ngx_http_admission_module);

    rc = ngx_adm_room_event_conf(mcf, &g->event, &g->conf);

    if (rc == NGX_DECLINED) {
        return ngx_adm_gate_deny(g, tier, ngx_adm_reason(UNKNOWN_EVENT));
    }

    /* what is not known yet does not make it unknown */

    g->doubtful = (rc == NGX_AGAIN);

    return NGX_OK;
}


ngx_int_t
ngx_adm_gate_deny(ngx_adm_gate_t *g, ngx_adm_verdict_e verdict,
    const char *reason)
{
    g->ctx->entry = NULL;
    g->ctx->position = 0;

    ngx_adm_gate_verdict(g->ctx, verdict, reason);

    return NGX_ABORT;
}


void
ngx_adm_gate_verdict(ngx_adm_ctx_t *ctx, ngx_adm_verdict_e verdict,
    const char *reason)
{
    ctx->verdict = verdict;
    ctx->reason = reason;
    ctx->dry_run = 0;
}
