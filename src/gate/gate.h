
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
 * request, once.  So does _rewrite(), in each phase for rewrites: a request
 * that is refused before any phase (400, 414, 494, 497) may go on to its
 * error_page, by a redirect or to a named location.
 */
ngx_int_t ngx_adm_gate_clean(ngx_http_request_t *r);
ngx_int_t ngx_adm_gate_rewrite(ngx_http_request_t *r);
ngx_int_t ngx_adm_gate_access(ngx_http_request_t *r);
ngx_int_t ngx_adm_gate(ngx_http_request_t *r);   /* precontent */


/*
 * The parts of the gate return NGX_OK: the request may go on; NGX_DECLINED:
 * there is nothing to judge; NGX_AGAIN: it waits; NGX_ABORT: it is denied, as
 * ctx says; or NGX_ERROR.
 */


/* a pass of a request while it is judged; who asks was found before */
typedef struct {
    ngx_http_request_t    *request;
    ngx_adm_ctx_t         *ctx;
    ngx_adm_loc_conf_t    *lcf;

    ngx_int_t              named;    /* as request_event() says; NGX_AGAIN: not
                                        asked yet */
    ngx_str_t              event;    /* empty: there is none */
    ngx_adm_event_conf_t  *conf;     /* of gate_event(); NULL: not asked yet */
    ngx_uint_t             doubtful; /* bool: whether it is an event was not
                                        known then */

    ngx_adm_sale_t         sale;     /* of gate_open(), */
    ngx_uint_t             held;     /* and NGX_ADM_HOLD_* */

    ngx_str_t              visitor;  /* of the tier 1 token that let it pass;
                                        empty: none did */
} ngx_adm_gate_t;


ngx_int_t ngx_adm_gate_tier1(ngx_adm_gate_t *g);
ngx_int_t ngx_adm_gate_tier2(ngx_adm_gate_t *g);

/*
 * For a tier that is in force, the event that the request names, once: sets
 * conf, and is open, see below.  NGX_ABORT: it is none.  A backend may read an
 * event where the gate reads none ("sale;x=1", "sale%20"), so any tier denies
 * what is no event id, or no known event.
 */
ngx_int_t ngx_adm_gate_event(ngx_adm_gate_t *g, ngx_adm_verdict_e tier);

/*
 * Sets sale and held of an event (conf NULL: as it has no line), of which the
 * host has heard then, unless Redis does not answer.  NGX_ABORT: nobody passes,
 * since its sale has not opened or an operator holds those inside, too.
 */
ngx_int_t ngx_adm_gate_open(ngx_adm_gate_t *g, ngx_adm_verdict_e tier,
    ngx_str_t *event, ngx_adm_event_conf_t *conf);

/* returns NGX_ABORT; reason is a constant text, or of the configuration */
ngx_int_t ngx_adm_gate_deny(ngx_adm_gate_t *g, ngx_adm_verdict_e verdict,
    const char *reason);

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
