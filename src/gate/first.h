
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Requests that come before the host has heard of their event.
 */


#ifndef _NGX_ADM_GATE_FIRST_H_INCLUDED_
#define _NGX_ADM_GATE_FIRST_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../http/ctx.h"


/*
 * Asks Redis who was put out of an event that the host has not heard of, and
 * whether it is held, for as long as a call may take.  NGX_AGAIN: the request
 * waits.  NGX_DECLINED: the host knows, it has asked, or can't.
 */
ngx_int_t ngx_adm_gate_first(ngx_http_request_t *r, ngx_adm_ctx_t *ctx,
    ngx_str_t *event, ngx_adm_event_conf_t *conf);


#endif /* _NGX_ADM_GATE_FIRST_H_INCLUDED_ */
