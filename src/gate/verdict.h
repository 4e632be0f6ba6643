
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What the parts of the gate share: a pass of a request while it is judged,
 * and the verdict on it.
 */


#ifndef _NGX_ADM_GATE_VERDICT_H_INCLUDED_
#define _NGX_ADM_GATE_VERDICT_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../http/ctx.h"


/*
 * The parts of the gate return NGX_OK: the request may go on; NGX_DECLINED:
 * there is nothing to judge; NGX_AGAIN: it waits; NGX_ABORT: it is denied, as
 * ctx says; or NGX_ERROR.
 */


/* a pass of a request while it is judged */
typedef struct {
    ngx_http_request_t    *request;
    ngx_adm_ctx_t         *ctx;
    ngx_adm_loc_conf_t    *lcf;

    ngx_int_t              named;    /* as request_event() says; NGX_AGAIN: not
                                        asked yet */
    ngx_str_t              event;    /* empty: there is none */
    ngx_adm_event_conf_t  *conf;     /* of gate_event(); NULL: not asked yet */
    ngx_str_t              visitor;  /* of the tier 1 token that let it pass;
                                        empty: none did */
    ngx_uint_t             doubtful; /* bool: whether it is an event was not
                                        known then */
} ngx_adm_gate_t;


/*
 * Sets conf of an event that is named, for a tier that is in force: NGX_OK, or
 * NGX_ABORT: it is none.  A backend may read an event where the gate reads
 * none ("sale;x=1", "sale%20"), so any tier denies what is no event id, or no
 * known event.
 */
ngx_int_t ngx_adm_gate_event(ngx_adm_gate_t *g, ngx_adm_verdict_e tier);

/* returns NGX_ABORT; reason is a constant text, or of the configuration */
ngx_int_t ngx_adm_gate_deny(ngx_adm_gate_t *g, ngx_adm_verdict_e verdict,
    const char *reason);

/* notes the verdict, and nothing else */
void ngx_adm_gate_verdict(ngx_adm_ctx_t *ctx, ngx_adm_verdict_e verdict,
    const char *reason);


#endif /* _NGX_ADM_GATE_VERDICT_H_INCLUDED_ */
