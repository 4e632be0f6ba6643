
/*
 * Copyright (C) 2026 the admission module authors
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_admission_reason.h"
#include "ngx_http_admission_rooms.h"
#include "ngx_http_admission_tier1.h"
#include "ngx_http_admission_token.h"
#include "ngx_http_admission_visitor.h"
#include "ngx_http_admission_zone.h"


ngx_int_t
ngx_http_admission_tier1_mode(ngx_http_request_t *r,
    ngx_http_admission_event_conf_t *conf)
{
    ngx_str_t                         value;
    ngx_http_admission_loc_conf_t    *lcf;
    ngx_http_admission_tier1_conf_t  *tier1;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);
    tier1 = lcf->tier1;

    if (conf && conf->vwr == NGX_HTTP_ADMISSION_VWR_OFF) {
        return NGX_HTTP_ADMISSION_OFF;
    }

    if (tier1->mode != NGX_HTTP_ADMISSION_VARIABLE) {
        return tier1->mode;
    }

    if (ngx_http_complex_value(r, &tier1->value, &value) != NGX_OK) {
        return NGX_ERROR;
    }

    if (value.len == 3 && ngx_strncmp(value.data, "off", 3) == 0) {
        return NGX_HTTP_ADMISSION_OFF;
    }

    if (value.len == 4 && ngx_strncmp(value.data, "auto", 4) == 0) {
        return NGX_HTTP_ADMISSION_AUTO;
    }

    if (value.len != 2 || ngx_strncmp(value.data, "on", 2) != 0) {

        /* as with admission_tier2: nobody notices a gate that stands open */

        ngx_log_error(NGX_LOG_WARN, r->connection->log, 0,
                      "admission_tier1 is neither \"off\", \"auto\" nor "
                      "\"on\" but \"%V\", taken for \"on\"", &value);
    }

    return NGX_HTTP_ADMISSION_ON;
}


ngx_int_t
ngx_http_admission_tier1_room(ngx_http_request_t *r, ngx_str_t *event,
    ngx_http_admission_room_t *room)
{
    ngx_http_admission_ctx_t  *ctx;

    if (ngx_http_admission_room_get(event, room) == NGX_OK) {
        return NGX_OK;
    }

    ctx = ngx_http_admission_ctx(r);

    if (ctx == NULL || !ctx->room_told || ctx->looked != r->uri_changes) {
        return NGX_DECLINED;
    }

    *room = ctx->room;

    return NGX_OK;
}


ngx_uint_t
ngx_http_admission_tier1_pending(ngx_http_admission_event_conf_t *conf,
    ngx_http_admission_room_t *room)
{
    return !room->active
           && conf->vwr == NGX_HTTP_ADMISSION_VWR_ON
           && !ngx_http_admission_rooms_configured();
}


void
ngx_http_admission_tier1_told(ngx_http_request_t *r,
    ngx_http_admission_room_t *room)
{
    ngx_http_admission_ctx_t  *ctx;

    ctx = ngx_http_admission_ctx(r);

    ctx->call = NULL;
    ctx->looked = r->uri_changes;
    ctx->room_told = (room != NULL);

    if (room) {
        ctx->room = *room;
    }
}


ngx_int_t
ngx_http_admission_tier1_find(ngx_http_request_t *r, ngx_str_t *event,
    int64_t activation, ngx_http_admission_claims_t **claims,
    const char **why)
{
    ngx_int_t                         rc;
    ngx_uint_t                        i;
    const char                       *wrong;
    ngx_http_admission_loc_conf_t    *lcf;
    ngx_http_admission_candidates_t   found;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    ngx_http_admission_token_candidates(r, NGX_HTTP_ADMISSION_TOKEN_TIER1,
                                        event, &found);

    *why = ngx_http_admission_reason(NO_TOKEN);

    for (i = 0; i < found.n; i++) {

        rc = ngx_http_admission_token_verify(
                              &lcf->verifiers[NGX_HTTP_ADMISSION_TOKEN_TIER1],
                              &found.value[i], ngx_http_admission_now(),
                              r->pool, claims, &wrong);
        if (rc == NGX_ERROR) {
            return NGX_ERROR;
        }

        if (rc == NGX_OK) {

            if ((*claims)->sub.len != event->len
                || ngx_memcmp((*claims)->sub.data, event->data, event->len)
                   != 0)
            {
                wrong = ngx_http_admission_reason(EVENT);

            } else if (lcf->tier1->bind && (*claims)->act != activation) {
                wrong = ngx_http_admission_reason(ACTIVATION);

            } else {
                rc = ngx_http_admission_tier1_bound(r, *claims);

                if (rc != NGX_DECLINED) {
                    return rc;
                }

                wrong = ngx_http_admission_reason(VISITOR);
            }
        }

        if (i == 0) {
            *why = wrong;
        }
    }

    return NGX_DECLINED;
}


ngx_int_t
ngx_http_admission_tier1_bound(ngx_http_request_t *r,
    ngx_http_admission_claims_t *claims)
{
    ngx_http_admission_loc_conf_t  *lcf;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    if (!lcf->tier1->bind) {
        return NGX_OK;
    }

    return ngx_http_admission_visitor_is(r, &claims->vis, NULL);
}


ngx_int_t
ngx_http_admission_tier1_issue(ngx_http_request_t *r,
    ngx_http_admission_event_conf_t *conf,
    ngx_http_admission_claims_t *claims, ngx_str_t *token)
{
    int64_t                      now, end;
    ngx_http_admission_claims_t  made;

    now = ngx_http_admission_now_us();
    end = claims->adm + (int64_t) conf->session_max * 1000;

    claims->iat = now / 1000000;
    claims->exp = ngx_min(claims->iat + (int64_t) conf->token_ttl / 1000,
                          end / 1000000);

    if (claims->exp <= claims->iat) {
        return NGX_DECLINED;
    }

    made = *claims;

    made.tier = 1;
    made.nbf = 0;

    if (now > claims->adm + (int64_t) conf->token_ttl * 1000) {

        /* no priority any more, but one ticket still is one user's */

        if (made.at) {
            made.ticket = made.at;
        }

        made.position = 0;
        made.at = 0;
    }

    return ngx_http_admission_token_issue(r, NGX_HTTP_ADMISSION_TOKEN_TIER1,
                                          &made, made.exp - made.iat, token);
}


ngx_int_t
ngx_http_admission_tier1_renew(ngx_http_request_t *r,
    ngx_http_admission_event_conf_t *conf, ngx_http_admission_claims_t *claims)
{
    int64_t                      life, exp;
    ngx_http_admission_ctx_t    *ctx;
    ngx_http_admission_claims_t  renewed;

    if (claims->adm == 0) {
        /* an older issuer's: when its session began is not known */
        return NGX_OK;
    }

    life = claims->iat ? claims->exp - claims->iat
                       : (int64_t) conf->token_ttl / 1000;

    if (2 * (claims->exp - ngx_http_admission_now()) >= life) {
        return NGX_OK;
    }

    exp = (claims->adm + (int64_t) conf->session_max * 1000) / 1000000;

    if (exp <= claims->exp) {
        return NGX_OK;
    }

    ctx = ngx_http_admission_ctx_get(r);
    if (ctx == NULL) {
        return NGX_ERROR;
    }

    ctx->personal = 1;
    renewed = *claims;

    return ngx_http_admission_tier1_issue(r, conf, &renewed, NULL) == NGX_ERROR
           ? NGX_ERROR : NGX_OK;
}
