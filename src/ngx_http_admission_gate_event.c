
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The event of a request, for the gate.  A backend may read an event where the
 * gate reads none ("sale;x=1", "sale%20"), so a request whose value is no
 * event id, or is no known event, is denied by any tier that is in force.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_admission_gate.h"
#include "ngx_http_admission_reason.h"
#include "ngx_http_admission_room.h"


ngx_int_t
ngx_http_admission_gate_event(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx, ngx_http_admission_verdict_e tier,
    ngx_str_t *event, ngx_http_admission_event_conf_t **conf)
{
    ngx_http_admission_main_conf_t  *mcf;

    if (event->len == 0) {
        return ngx_http_admission_gate_deny(ctx, tier,
                                        ngx_http_admission_reason(BAD_EVENT));
    }

    mcf = ngx_http_get_module_main_conf(r, ngx_http_admission_module);

    if (ngx_http_admission_room_event_conf(mcf, event, conf) == NGX_DECLINED) {
        return ngx_http_admission_gate_deny(ctx, tier,
                                    ngx_http_admission_reason(UNKNOWN_EVENT));
    }

    /* NGX_AGAIN: what is not known yet does not make it unknown */

    return NGX_OK;
}
