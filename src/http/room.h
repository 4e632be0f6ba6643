
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The waiting room as requests meet it: where a tier 1 token is needed, which
 * of those shown will do, and how they are made (docs/api.md: Tokens).  What
 * the gate makes of it is in gate/tier1.c.
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
 * What admission_tier1 says here for an event, or, NULL, for any: NGX_ADM_OFF,
 * _AUTO or _ON; NGX_ERROR: no memory.
 */
ngx_int_t ngx_adm_tier1_mode(ngx_http_request_t *r, ngx_adm_event_conf_t *conf);

/*
 * The state of the event's waiting room: as the host knows it, else as Redis
 * told this request in this pass.  NGX_DECLINED: nothing is known.
 */
ngx_int_t ngx_adm_tier1_room(ngx_http_request_t *r, ngx_str_t *event,
    ngx_adm_room_t *room);

/*
 * Whether the room is inactive and about to be activated, by the
 * configuration, or since the sale has opened.
 */
ngx_uint_t ngx_adm_tier1_pending(ngx_str_t *event, ngx_adm_event_conf_t *conf,
    ngx_adm_room_t *room);

/* notes what Redis told; room NULL: nothing */
void ngx_adm_tier1_told(ngx_http_request_t *r, ngx_adm_room_t *room);

/*
 * The first token shown that passes in an activation of the event, with bind=
 * as it is here.  NGX_DECLINED: there is none, and *why says what was wrong
 * with the first; NGX_ERROR: no memory.
 */
ngx_int_t ngx_adm_tier1_find(ngx_http_request_t *r, ngx_str_t *event,
    int64_t activation, ngx_adm_claims_t **claims, const char **why);

/*
 * Whether a token belongs to a visitor that the request shows, as
 * ngx_adm_visitor_is() says; always NGX_OK with bind=off.
 */
ngx_int_t ngx_adm_tier1_bound(ngx_http_request_t *r, ngx_adm_claims_t *claims);

/*
 * Signs a token with these claims (sub, uid, vis, position, at, act and adm),
 * valid from now on, and sets its cookie; sets iat and exp of claims.  A token
 * that is made too late for that has no position.  NGX_DECLINED: the session
 * is over; NGX_ERROR: no memory.
 */
ngx_int_t ngx_adm_tier1_issue(ngx_http_request_t *r, ngx_adm_event_conf_t *conf,
    ngx_adm_claims_t *claims, ngx_str_t *token);

/*
 * Makes the claims ready to be signed, without a request.  NGX_DECLINED: the
 * session is over.
 */
ngx_int_t ngx_adm_tier1_claims(ngx_adm_event_conf_t *conf,
    ngx_adm_claims_t *claims, ngx_adm_claims_t *made);

/*
 * issues the token again if under half its life is left; NGX_ERROR: no memory
 */
ngx_int_t ngx_adm_tier1_renew(ngx_http_request_t *r, ngx_adm_event_conf_t *conf,
    ngx_adm_claims_t *claims);


#endif /* _NGX_ADM_HTTP_ROOM_H_INCLUDED_ */
