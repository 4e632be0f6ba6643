
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The gate: judges requests in the access phase and, where the user is a
 * variable of another access module, right after it (docs/architecture.md).
 */


#ifndef _NGX_ADM_GATE_GATE_H_INCLUDED_
#define _NGX_ADM_GATE_GATE_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "verdict.h"


/*
 * Phase handlers.  _clean(), in the first phase, takes headers out of a
 * request, once.  So does _rewrite(), in each phase for rewrites: a request
 * that is refused before any phase (400, 414, 494, 497) may go on to its
 * error_page, by a redirect or to a named location.
 */
ngx_int_t ngx_adm_gate_clean(ngx_http_request_t *r);
ngx_int_t ngx_adm_gate_rewrite(ngx_http_request_t *r);
ngx_int_t ngx_adm_gate_access(ngx_http_request_t *r);
ngx_int_t ngx_adm_gate(ngx_http_request_t *r);   /* precontent */


/* the tiers return as verdict.h says */
ngx_int_t ngx_adm_gate_tier1(ngx_adm_gate_t *g);
ngx_int_t ngx_adm_gate_tier2(ngx_adm_gate_t *g);

/*
 * The entry token of the event and a user (either may be empty: then any), as
 * ngx_adm_entry_find() has it: NGX_DECLINED is that there is none.
 * Where the host had to forget what was revoked it asks Redis, and the request
 * waits; no answer is a denial.
 */
ngx_int_t ngx_adm_gate_entry(ngx_adm_gate_t *g, ngx_str_t *user,
    ngx_adm_claims_t **entry, const char **why);

/* the gate took the token: who has not come yet has by that */
void ngx_adm_gate_came(ngx_http_request_t *r, ngx_adm_event_conf_t *conf,
    ngx_adm_claims_t *entry);

/*
 * Asks Redis of a waiting room, and of times of its sale, that the host has
 * not heard of, once a request, which waits.  NGX_DECLINED: it was asked, or
 * can't be.
 */
ngx_int_t ngx_adm_gate_look(ngx_adm_gate_t *g, ngx_str_t *event,
    ngx_adm_event_conf_t *conf);

/* what Redis said of a request that waited for it (strict=on), once */
ngx_int_t ngx_adm_gate_tier2_answered(ngx_adm_gate_t *g);

/*
 * Whether tier 2 judges this request: NGX_OK, NGX_DECLINED, or NGX_ERROR: no
 * memory.
 */
ngx_int_t ngx_adm_gate_tier2_applies(ngx_adm_gate_t *g);


#endif /* _NGX_ADM_GATE_GATE_H_INCLUDED_ */
