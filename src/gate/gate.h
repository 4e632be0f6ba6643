
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The gate: judges requests in the access phase and, where the user is a
 * variable of another access module, right after it (docs/architecture.md).
 * What its files share is here as well: a pass of a request while it is judged,
 * and the verdict on it.
 */


#ifndef _NGX_ADM_GATE_GATE_H_INCLUDED_
#define _NGX_ADM_GATE_GATE_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../host/sale.h"
#include "../http/ctx.h"


/*
 * Phase handlers.  _clean(), in the first phase, takes headers out of a
 * request, once.  _rewrite(), in each phase for rewrites, does so too: a
 * request that is refused before any phase (400, 414, 494, 497) may go to its
 * error_page, by a redirect or to a named location.
 */
ngx_int_t ngx_adm_gate_clean(ngx_http_request_t *r);
ngx_int_t ngx_adm_gate_rewrite(ngx_http_request_t *r);
ngx_int_t ngx_adm_gate_access(ngx_http_request_t *r);
ngx_int_t ngx_adm_gate(ngx_http_request_t *r);   /* precontent */


/*
 * The parts of the gate return NGX_OK: the request may go on; NGX_DECLINED:
 * there is nothing to judge; NGX_AGAIN: the request waits; NGX_ABORT: it is
 * denied, as ctx says; or NGX_ERROR.
 */


/* a pass of a request while it is judged; it is known who asks */
typedef struct {
    ngx_http_request_t    *request;
    ngx_adm_ctx_t         *ctx;
    ngx_adm_loc_conf_t    *lcf;

    ngx_int_t              named;    /* of request_event(); NGX_AGAIN: not
                                        asked yet */
    ngx_str_t              event;    /* or empty */
    ngx_adm_event_conf_t  *conf;     /* by gate_event(); NULL: not asked */
    ngx_uint_t             doubtful; /* bool: then it was not known whether
                                        that is an event */

    ngx_adm_sale_t         sale;     /* by gate_open(), */
    ngx_uint_t             held;     /* and NGX_ADM_HOLD_* */

    ngx_str_t              visitor;  /* of the tier 1 token that let it pass;
                                        empty: none did */
} ngx_adm_gate_t;


ngx_int_t ngx_adm_gate_tier1(ngx_adm_gate_t *g);
ngx_int_t ngx_adm_gate_tier2(ngx_adm_gate_t *g);

/*
 * For a tier that is in force: finds the event that the request names, once,
 * sets conf, and has it judged by _open().  NGX_ABORT: it is no event.  A
 * backend may read an event where the gate reads none ("sale;x=1", "sale%20"),
 * so either tier denies what is no event's id, or no known event.
 */
ngx_int_t ngx_adm_gate_event(ngx_adm_gate_t *g, ngx_adm_verdict_e tier);

/*
 * Sets sale and held of an event (conf NULL: it has no line), of which the host
 * has heard by then, unless Redis does not answer.  NGX_ABORT: nobody passes,
 * since the sale has not opened, or since an operator holds those inside, too.
 */
ngx_int_t ngx_adm_gate_open(ngx_adm_gate_t *g, ngx_adm_verdict_e tier,
    ngx_str_t *event, ngx_adm_event_conf_t *conf);

/* returns NGX_ABORT; reason: a constant text, or one of the configuration */
ngx_int_t ngx_adm_gate_deny(ngx_adm_gate_t *g, ngx_adm_verdict_e verdict,
    const char *reason);

/*
 * The entry token of an event and a user (either may be empty: any), as by
 * ngx_adm_entry_find(): NGX_DECLINED is that there is none.  Where the host
 * had to forget revocations it asks Redis, and the request waits; no answer is
 * a denial.
 */
ngx_int_t ngx_adm_gate_entry(ngx_adm_gate_t *g, ngx_str_t *user,
    ngx_adm_claims_t **entry, const char **why);

/* the gate has taken the token: by that a user who was let in has come */
void ngx_adm_gate_came(ngx_http_request_t *r, ngx_adm_event_conf_t *conf,
    ngx_adm_claims_t *entry);

/*
 * Asks Redis about a waiting room, and times of its sale, that the host has
 * not heard of; once a request, which waits.  NGX_DECLINED: it has asked, or
 * can't.
 */
ngx_int_t ngx_adm_gate_look(ngx_adm_gate_t *g, ngx_str_t *event,
    ngx_adm_event_conf_t *conf);

/* what Redis said to a request that waited for strict=on, once */
ngx_int_t ngx_adm_gate_tier2_answered(ngx_adm_gate_t *g);

/*
 * Whether tier 2 judges this request: NGX_OK, NGX_DECLINED; NGX_ERROR: no
 * memory.
 */
ngx_int_t ngx_adm_gate_tier2_applies(ngx_adm_gate_t *g);


#endif /* _NGX_ADM_GATE_GATE_H_INCLUDED_ */
