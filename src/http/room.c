
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The waiting room as the requests of a location meet it.  What the host knows
 * of the room decides; before it knows anything Redis may have told a request.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../base/clock.h"
#include "../base/reason.h"
#include "../base/text.h"
#include "../host/draw.h"
#include "../host/room_list.h"
#include "../host/sale.h"
#include "credentials.h"
#include "ctx.h"
#include "room.h"
#include "token_cookie.h"
#include "visitor.h"


/* what a token has to be of: an event, and an activation of it */

typedef struct {
    ngx_str_t                   *event;
    int64_t                      activation;
} ngx_adm_tier1_search_t;


static ngx_int_t ngx_adm_tier1_match(ngx_http_request_t *r,
    ngx_adm_claims_t *claims, void *data, const char **why);


ngx_int_t
ngx_adm_tier1_mode(ngx_http_request_t *r, ngx_adm_event_conf_t *conf)
{
    ngx_int_t              mode;
    ngx_str_t              value;
    ngx_adm_loc_conf_t    *lcf;
    ngx_adm_tier1_conf_t  *tier1;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);
    tier1 = lcf->tier1;

    if (conf && conf->vwr == NGX_ADM_OFF) {
        return NGX_ADM_OFF;
    }

    if (tier1->mode != NGX_ADM_VARIABLE) {
        return tier1->mode;
    }

    if (ngx_http_complex_value(r, &tier1->value, &value) != NGX_OK) {
        return NGX_ERROR;
    }

    mode = ngx_adm_switch(&value);

    if (mode == NGX_DECLINED) {

        /*
         * logged, as for admission_tier2: nobody notices a gate that stands
         * open
         */

        ngx_log_error(NGX_LOG_WARN, r->connection->log, 0,
                      "admission_tier1 is neither \"off\", \"auto\" nor "
                      "\"on\" but \"%V\", taken for \"on\"", &value);

        return NGX_ADM_ON;
    }

    return mode;
}


ngx_int_t
ngx_adm_tier1_room(ngx_http_request_t *r, ngx_str_t *event,
    ngx_adm_room_t *room)
{
    ngx_adm_ctx_t  *ctx;

    if (ngx_adm_room_get(event, room) == NGX_OK) {
        return NGX_OK;
    }

    ctx = ngx_adm_ctx(r);

    if (ctx == NULL || !ctx->room_told || ctx->looked != r->uri_changes) {
        return NGX_DECLINED;
    }

    *room = ctx->room;

    return NGX_OK;
}


ngx_uint_t
ngx_adm_tier1_pending(ngx_str_t *event, ngx_adm_event_conf_t *conf,
    ngx_adm_room_t *room)
{
    ngx_adm_sale_t  sale;

    if (room->active) {
        return 0;
    }

    if (ngx_adm_room_is_kept(conf) && !ngx_adm_rooms_configured()) {
        return 1;
    }

    (void) ngx_adm_sale_get(event, conf, &sale);

    return ngx_adm_sale_pending(&sale, conf, room);
}


void
ngx_adm_tier1_told(ngx_http_request_t *r, ngx_adm_room_t *room)
{
    ngx_adm_ctx_t  *ctx;

    ctx = ngx_adm_ctx(r);

    ctx->looked = r->uri_changes;
    ctx->room_told = (room != NULL);

    ngx_log_debug1(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "admission: redis told of the waiting room: %s",
                   room == NULL ? "nothing" : room->active ? "active" : "idle");

    if (room) {
        ctx->room = *room;
    }
}


ngx_int_t
ngx_adm_tier1_find(ngx_http_request_t *r, ngx_str_t *event, int64_t activation,
    ngx_adm_claims_t **claims, const char **why)
{
    ngx_int_t               rc;
    ngx_adm_main_conf_t    *mcf;
    ngx_adm_event_conf_t   *conf;
    ngx_adm_tier1_search_t  search;

    search.event = event;
    search.activation = activation;

    rc = ngx_adm_credentials_find(r, NGX_ADM_TOKEN_TIER1, event,
                                  ngx_adm_tier1_match, &search, claims, why);

    if (rc == NGX_OK && (*claims)->lots) {
        mcf = ngx_http_get_module_main_conf(r, ngx_http_admission_module);
        conf = ngx_adm_event_conf(mcf, event);

        ngx_adm_draw_heard(event, *claims,
                           conf ? conf->session_max
                                : mcf->event_default.session_max);
    }

    return rc;
}


static ngx_int_t
ngx_adm_tier1_match(ngx_http_request_t *r, ngx_adm_claims_t *claims, void *data,
    const char **why)
{
    ngx_adm_tier1_search_t *search = data;

    ngx_adm_loc_conf_t  *lcf;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    if (!ngx_adm_str_same(&claims->sub, search->event)) {
        *why = ngx_adm_reason(EVENT);
        return NGX_DECLINED;
    }

    if (lcf->tier1->bind && claims->act != search->activation) {
        *why = ngx_adm_reason(ACTIVATION);
        return NGX_DECLINED;
    }

    *why = ngx_adm_reason(VISITOR);

    return ngx_adm_tier1_bound(r, claims);
}


ngx_int_t
ngx_adm_tier1_bound(ngx_http_request_t *r, ngx_adm_claims_t *claims)
{
    ngx_adm_loc_conf_t  *lcf;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    if (!lcf->tier1->bind) {
        return NGX_OK;
    }

    return ngx_adm_visitor_is(r, &claims->vis, NULL);
}


ngx_int_t
ngx_adm_tier1_issue(ngx_http_request_t *r, ngx_adm_event_conf_t *conf,
    ngx_adm_claims_t *claims, ngx_str_t *token)
{
    ngx_adm_claims_t  made;

    if (ngx_adm_tier1_claims(conf, claims, &made) != NGX_OK) {
        return NGX_DECLINED;
    }

    return ngx_adm_token_issue(r, NGX_ADM_TOKEN_TIER1,
                               &made, made.exp - made.iat, token);
}


ngx_int_t
ngx_adm_tier1_claims(ngx_adm_event_conf_t *conf, ngx_adm_claims_t *claims,
    ngx_adm_claims_t *made)
{
    int64_t  now, end;

    now = ngx_adm_now_us();
    end = claims->adm + (int64_t) conf->session_max * 1000;

    claims->iat = now / 1000000;
    claims->exp = ngx_min(claims->iat + (int64_t) conf->token_ttl / 1000,
                          end / 1000000);

    if (claims->exp <= claims->iat) {
        return NGX_DECLINED;
    }

    *made = *claims;

    made->tier = 1;
    made->nbf = 0;

    if (now > claims->adm + (int64_t) conf->token_ttl * 1000) {

        /* no priority any more; but one ticket stays one user's */

        if (made->at) {
            made->ticket = made->at;
        }

        made->position = 0;
        made->at = 0;
    }

    return NGX_OK;
}


ngx_int_t
ngx_adm_tier1_renew(ngx_http_request_t *r, ngx_adm_event_conf_t *conf,
    ngx_adm_claims_t *claims)
{
    int64_t           life, exp;
    ngx_adm_ctx_t    *ctx;
    ngx_adm_claims_t  renewed;

    if (claims->adm == 0) {
        /* of an older issuer: when its session began is not known */
        return NGX_OK;
    }

    life = claims->iat ? claims->exp - claims->iat
                       : (int64_t) conf->token_ttl / 1000;

    if (2 * (claims->exp - ngx_adm_now()) >= life) {
        return NGX_OK;
    }

    exp = (claims->adm + (int64_t) conf->session_max * 1000) / 1000000;

    if (exp <= claims->exp) {
        return NGX_OK;
    }

    ctx = ngx_adm_ctx_get(r);
    if (ctx == NULL) {
        return NGX_ERROR;
    }

    ctx->personal = 1;
    renewed = *claims;

    /* a session that is over is not renewed */

    return ngx_adm_tier1_issue(r, conf, &renewed, NULL) == NGX_ERROR
           ? NGX_ERROR : NGX_OK;
}
