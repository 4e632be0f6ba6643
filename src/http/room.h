
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The waiting room as requests meet it: where a tier 1 token is needed, which
 * of those shown does, and how they are made (docs/api.md: Tokens).  What the
 * gate makes of it is in gate/tier1.c.
 */


#ifndef _NGX_ADM_HTTP_ROOM_H_INCLUDED_
#define _NGX_ADM_HTTP_ROOM_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../host/room_state.h"
#include "../host/settings.h"
#include "../token/claims.h"


/*
 * What admission_tier1 says here for an event, whatever one for NULL:
 * NGX_ADM_OFF, _AUTO or _ON; NGX_ERROR: no memory.
 */
ngx_int_t ngx_adm_tier1_mode(ngx_http_request_t *r, ngx_adm_event_conf_t *conf);

/*
 * The state of the event's waiting room: of the host's memory, else what
 * this pass of the request was told.  NGX_DECLINED: nothing is known.
 */
ngx_int_t ngx_adm_tier1_room(ngx_http_request_t *r, ngx_str_t *event,
    ngx_adm_room_t *room);

/*
 * It is inactive, and about to be activated since the configuration says so, or
 * the sale has opened.
 */
ngx_uint_t ngx_adm_tier1_pending(ngx_str_t *event, ngx_adm_event_conf_t *conf,
    ngx_adm_room_t *room);

/* what it was told; room NULL: nothing */
void ngx_adm_tier1_told(ngx_http_request_t *r, ngx_adm_room_t *room);

/*
 * The first token shown that passes in an activation of the event, with
 * bind= as it is here.  NGX_DECLINED: none, *why says what was wrong with
 * the first; NGX_ERROR: no memory.
 */
ngx_int_t ngx_adm_tier1_find(ngx_http_request_t *r, ngx_str_t *event,
    int64_t activation, ngx_adm_claims_t **claims, const char **why);

/*
 * Whether it is the token of a visitor that the request shows, as
 * ngx_adm_visitor_is() says; NGX_OK with bind=off.
 */
ngx_int_t ngx_adm_tier1_bound(ngx_http_request_t *r, ngx_adm_claims_t *claims);

/*
 * Signs a token with what claims say (sub, uid, vis, position, at, act and
 * adm), from now on, and sets its cookie; sets iat and exp of claims.  One
 * that is made too late for it has no position.  NGX_DECLINED: its session
 * is over; NGX_ERROR: no memory.
 */
ngx_int_t ngx_adm_tier1_issue(ngx_http_request_t *r, ngx_adm_event_conf_t *conf,
    ngx_adm_claims_t *claims, ngx_str_t *token);

/*
 * The same claims as they are signed then, without a request.
 * NGX_DECLINED: the session is over.
 */
ngx_int_t ngx_adm_tier1_claims(ngx_adm_event_conf_t *conf,
    ngx_adm_claims_t *claims, ngx_adm_claims_t *made);

/* issues it again if under half its life is left; NGX_ERROR: no memory */
ngx_int_t ngx_adm_tier1_renew(ngx_http_request_t *r, ngx_adm_event_conf_t *conf,
    ngx_adm_claims_t *claims);


#endif /* _NGX_ADM_HTTP_ROOM_H_INCLUDED_ */
