
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The gate: judges requests in the access phase and, where the user is a
 * variable of another access module, right after it (contract, 6).
 */


#ifndef _NGX_HTTP_ADMISSION_GATE_H_INCLUDED_
#define _NGX_HTTP_ADMISSION_GATE_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_admission_ctx.h"


/* phase handlers */
ngx_int_t ngx_http_admission_gate_clean(ngx_http_request_t *r);
ngx_int_t ngx_http_admission_gate_error_page(ngx_http_request_t *r);
ngx_int_t ngx_http_admission_gate_access(ngx_http_request_t *r);
ngx_int_t ngx_http_admission_gate_precontent(ngx_http_request_t *r);


/*
 * For the parts of the gate.  They return NGX_OK: the request may go on;
 * NGX_DECLINED: there is nothing to judge; NGX_AGAIN: it waits; NGX_ABORT:
 * it is denied, as ctx says; or NGX_ERROR.
 */
ngx_int_t ngx_http_admission_gate_tier1(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx);
ngx_int_t ngx_http_admission_gate_tier2(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx);

/*
 * The entry token of an event and user (either may be empty: then any), as
 * ngx_http_admission_token_find() has it: NGX_DECLINED is that there is none.
 * Where the host had to forget what was revoked it asks Redis, and the request
 * waits; no answer is a denial.
 */
ngx_int_t ngx_http_admission_gate_entry(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx, ngx_str_t *event, ngx_str_t *user,
    ngx_http_admission_claims_t **entry, const char **why);

/* what Redis said of a request that waited for it (strict=on), once */
ngx_int_t ngx_http_admission_gate_tier2_answered(
    ngx_http_admission_ctx_t *ctx);

/*
 * Whether tier 2 judges this request: NGX_OK, NGX_DECLINED, or NGX_ERROR: no
 * memory.
 */
ngx_int_t ngx_http_admission_gate_tier2_applies(ngx_http_request_t *r,
    ngx_http_admission_tier2_conf_t *tier2);

/*
 * Whether the tiers let the request pass unasked: by admission_bypass, NGX_OK
 * with no reason (NULL), or admission_trusted_edge, NGX_OK with one.
 * NGX_DECLINED: they do not; NGX_ERROR: no memory.
 */
ngx_int_t ngx_http_admission_gate_bypassed(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx, const char **reason);

/*
 * The configuration of the event that a request names, for a tier that is in
 * force; event is empty where it is no event id.  NGX_OK, also while it is not
 * known yet whether an event that is not listed is one; NGX_ABORT: it is none.
 */
ngx_int_t ngx_http_admission_gate_event(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx, ngx_http_admission_verdict_e tier,
    ngx_str_t *event, ngx_http_admission_event_conf_t **conf);

/* returns NGX_ABORT; reason is a constant text */
ngx_int_t ngx_http_admission_gate_deny(ngx_http_admission_ctx_t *ctx,
    ngx_http_admission_verdict_e verdict, const char *reason);

/*
 * The request waits for ctx->call, which is cancelled if this returns
 * NGX_ERROR rather than NGX_AGAIN; once that is complete, _resume() has it
 * judged again.
 */
ngx_int_t ngx_http_admission_gate_suspend(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx);
void ngx_http_admission_gate_resume(ngx_http_request_t *r);


#endif /* _NGX_HTTP_ADMISSION_GATE_H_INCLUDED_ */
