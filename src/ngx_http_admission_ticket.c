
/*
 * Copyright (C) 2026 the admission module authors
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_admission_ticket.h"
#include "ngx_http_admission_tier1.h"
#include "ngx_http_admission_token.h"
#include "ngx_http_admission_visitor.h"
#include "ngx_http_admission_zone.h"


static void ngx_http_admission_ticket_ahead_of_host(
    ngx_http_admission_claims_t *ticket,
    ngx_http_admission_event_conf_t *conf, ngx_http_admission_room_t *room);


ngx_int_t
ngx_http_admission_ticket_sign(ngx_http_request_t *r,
    ngx_http_admission_claims_t *ticket, ngx_str_t *token)
{
    ngx_http_admission_loc_conf_t  *lcf;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    if (ngx_http_admission_token_sign(NGX_HTTP_ADMISSION_TOKEN_TICKET,
                     lcf->verifiers[NGX_HTTP_ADMISSION_TOKEN_TICKET].keys,
                     ticket, r->pool, token)
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    return token->len > NGX_HTTP_ADMISSION_TICKET_MAX ? NGX_DECLINED : NGX_OK;
}


ngx_int_t
ngx_http_admission_ticket_read(ngx_http_request_t *r, ngx_str_t *event,
    ngx_str_t *token, ngx_http_admission_claims_t **ticket)
{
    ngx_int_t                       rc;
    const char                     *why;
    ngx_http_admission_claims_t    *claims;
    ngx_http_admission_loc_conf_t  *lcf;

    if (token->len > NGX_HTTP_ADMISSION_TICKET_MAX) {
        return NGX_DECLINED;
    }

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    rc = ngx_http_admission_token_verify(
                            &lcf->verifiers[NGX_HTTP_ADMISSION_TOKEN_TICKET],
                            token, ngx_http_admission_now(), r->pool, &claims,
                            &why);
    if (rc != NGX_OK) {
        return rc;
    }

    if (claims->sub.len != event->len
        || ngx_memcmp(claims->sub.data, event->data, event->len) != 0)
    {
        return NGX_DECLINED;
    }

    claims->token = *token;
    *ticket = claims;

    return NGX_OK;
}


ngx_int_t
ngx_http_admission_ticket_find(ngx_http_request_t *r, ngx_str_t *event,
    ngx_http_admission_claims_t **ticket)
{
    ngx_int_t                         rc;
    ngx_uint_t                        i;
    ngx_http_admission_candidates_t   found;

    ngx_http_admission_token_candidates(r, NGX_HTTP_ADMISSION_TOKEN_TICKET,
                                        event, &found);

    for (i = 0; i < found.n; i++) {

        rc = ngx_http_admission_ticket_read(r, event, &found.value[i],
                                            ticket);
        if (rc == NGX_OK) {
            rc = ngx_http_admission_visitor_is(r, &(*ticket)->vis, NULL);
        }

        if (rc != NGX_DECLINED) {
            return rc;
        }
    }

    return NGX_DECLINED;
}


ngx_int_t
ngx_http_admission_ticket_standing(ngx_http_admission_claims_t *ticket,
    ngx_http_admission_event_conf_t *conf,
    ngx_http_admission_standing_t *standing)
{
    int64_t                     now, end;
    ngx_http_admission_room_t  *room;

    room = &standing->room;

    if (ngx_http_admission_room_get(&ticket->sub, room) != NGX_OK) {
        return NGX_AGAIN;
    }

    if (ticket->act < room->activation) {
        return NGX_DECLINED;
    }

    if (room->activation
        && ticket->act > room->activation
        && ticket->act < room->changed)
    {
        /* it was given up: see hear_earlier() in lua/vwr_lib.lua */
        return NGX_DECLINED;
    }

    if (ticket->act > room->activation
        && (room->active || room->clock <= ticket->act))
    {
        ngx_http_admission_ticket_ahead_of_host(ticket, conf, room);
    }

    standing->ahead = ngx_max(ticket->position - room->serving, 0);
    standing->admitted = (!room->active || standing->ahead == 0);

    if (!standing->admitted) {
        return NGX_OK;
    }

    now = ngx_http_admission_now_us();
    standing->turn = 0;

    if (ticket->act == room->activation) {
        standing->turn = ngx_http_admission_room_turn(&ticket->sub,
                                                      ticket->position);
    }

    if (standing->turn == 0) {
        /* the counter never passed it: all are let in */
        standing->turn = now;
    }

    /* it may have stood ahead of the positions for long: see vwr_burst */

    standing->turn = ngx_max(standing->turn, ticket->at);

    /* in whole seconds, as the life of a token is */

    end = standing->turn + (int64_t) conf->session_max * 1000;

    return now / 1000000 < end / 1000000 ? NGX_OK : NGX_DECLINED;
}


/*
 * Another host gave it out in an activation that this one has not heard of
 * yet: whoever is there waits, until it has.
 */

static void
ngx_http_admission_ticket_ahead_of_host(ngx_http_admission_claims_t *ticket,
    ngx_http_admission_event_conf_t *conf, ngx_http_admission_room_t *room)
{
    ngx_memzero(room, sizeof(ngx_http_admission_room_t));

    room->active = 1;
    room->activation = ticket->act;
    room->next = ticket->position;
    room->rate = conf->vwr_rate * 1000;
    room->measured = -1;
}


ngx_int_t
ngx_http_admission_ticket_issue(ngx_http_request_t *r,
    ngx_http_admission_claims_t *ticket,
    ngx_http_admission_event_conf_t *conf,
    ngx_http_admission_standing_t *standing, ngx_str_t *token)
{
    ngx_http_admission_claims_t  claims;

    claims = *ticket;

    if (claims.uid.len == 0) {
        claims.uid = claims.vis;
    }

    claims.adm = standing->turn;

    return ngx_http_admission_tier1_issue(r, conf, &claims, token);
}
