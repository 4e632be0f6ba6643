
/*
 * Copyright (C) 2026 the admission module authors
 *
 * A ticket is recorded nowhere: how its holder stands follows from its position
 * and what the host knows of the waiting room.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../base/clock.h"
#include "../base/reason.h"
#include "../base/text.h"
#include "../host/comers.h"
#include "../host/room_state.h"
#include "../http/credentials.h"
#include "../http/room.h"
#include "../http/visitor.h"
#include "lot.h"
#include "ticket.h"


static ngx_int_t ngx_adm_ticket_match(ngx_http_request_t *r,
    ngx_adm_claims_t *ticket, void *data, const char **why);
static ngx_uint_t ngx_adm_ticket_counts(ngx_adm_claims_t *ticket,
    ngx_adm_event_conf_t *conf, ngx_adm_room_t *room);
static void ngx_adm_ticket_ahead_of_host(ngx_adm_claims_t *ticket,
    ngx_adm_event_conf_t *conf, ngx_adm_room_t *room);


ngx_int_t
ngx_adm_ticket_sign(ngx_http_request_t *r, ngx_adm_claims_t *ticket,
    ngx_str_t *token)
{
    ngx_adm_loc_conf_t  *lcf;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    if (ngx_adm_token_sign(NGX_ADM_TOKEN_TICKET,
                           lcf->verifiers[NGX_ADM_TOKEN_TICKET].keys, ticket,
                           r->pool, token) != NGX_OK)
    {
        return NGX_ERROR;
    }

    return token->len > NGX_ADM_TICKET_MAX ? NGX_DECLINED : NGX_OK;
}


ngx_int_t
ngx_adm_ticket_read(ngx_http_request_t *r, ngx_str_t *event, ngx_str_t *token,
    ngx_adm_claims_t **ticket)
{
    ngx_int_t            rc;
    const char          *why;
    ngx_adm_claims_t    *claims;
    ngx_adm_loc_conf_t  *lcf;

    if (token->len > NGX_ADM_TICKET_MAX) {
        return NGX_DECLINED;
    }

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    rc = ngx_adm_token_verify(&lcf->verifiers[NGX_ADM_TOKEN_TICKET], token,
                              r->connection->sockaddr, ngx_adm_now(), r->pool,
                              &claims, &why);
    if (rc != NGX_OK) {
        return rc;
    }

    if (!ngx_adm_str_same(&claims->sub, event)) {
        return NGX_DECLINED;
    }

    claims->token = *token;
    *ticket = claims;

    return NGX_OK;
}


ngx_int_t
ngx_adm_ticket_find(ngx_http_request_t *r, ngx_str_t *event,
    ngx_adm_claims_t **ticket)
{
    const char  *why;

    return ngx_adm_credentials_find(r, NGX_ADM_TOKEN_TICKET, event,
                                    ngx_adm_ticket_match, event, ticket, &why);
}


static ngx_int_t
ngx_adm_ticket_match(ngx_http_request_t *r, ngx_adm_claims_t *ticket,
    void *data, const char **why)
{
    if (ticket->token.len > NGX_ADM_TICKET_MAX) {
        *why = ngx_adm_reason(TOO_LONG);
        return NGX_DECLINED;
    }

    if (!ngx_adm_str_same(&ticket->sub, data)) {
        *why = ngx_adm_reason(EVENT);
        return NGX_DECLINED;
    }

    *why = ngx_adm_reason(VISITOR);

    return ngx_adm_visitor_is(r, &ticket->vis, NULL);
}


ngx_int_t
ngx_adm_ticket_standing(ngx_adm_loc_conf_t *lcf, ngx_adm_claims_t *ticket,
    ngx_adm_event_conf_t *conf, ngx_uint_t asks, ngx_adm_standing_t *standing)
{
    ngx_int_t  rc;

    if (ngx_adm_room_get_seats(&ticket->sub, conf, &standing->room,
                               &standing->seats) != NGX_OK)
    {
        return NGX_AGAIN;
    }

    rc = ngx_adm_ticket_stands(lcf, ticket, conf, asks, standing);

    if (rc == NGX_OK) {
        ngx_adm_ticket_count(&ticket->sub, NULL, standing);
    }

    return rc;
}


void
ngx_adm_ticket_count(ngx_str_t *event, ngx_adm_there_table_t *table,
    ngx_adm_standing_t *standing)
{
    /* a lot that is not drawn has no number yet */

    if (standing->admitted || standing->undrawn || standing->numbers <= 1) {
        return;
    }

    standing->ahead = table
                      ? ngx_adm_there_table_ahead(table, &standing->room,
                                                  standing->position)
                      : ngx_adm_there_ahead(event, &standing->room,
                                            standing->position);
}


void
ngx_adm_ticket_heard(ngx_str_t *event, ngx_adm_standing_t *standing,
    ngx_uint_t next_poll)
{
    int64_t  number, of;

    if (standing->admitted) {
        return;
    }

    number = ngx_adm_ticket_number(standing, &of);

    if (number) {
        ngx_adm_there_heard(event, of, number, next_poll);
    }
}


/* of a draw that is made the position, which may be known a moment later */

int64_t
ngx_adm_ticket_number(ngx_adm_standing_t *standing, int64_t *of)
{
    *of = ngx_adm_there_of(&standing->room);

    return (standing->undrawn && *of != standing->room.activation)
           ? 0 : standing->position;
}


ngx_int_t
ngx_adm_ticket_stands(ngx_adm_loc_conf_t *lcf, ngx_adm_claims_t *ticket,
    ngx_adm_event_conf_t *conf, ngx_uint_t asks, ngx_adm_standing_t *standing)
{
    int64_t          now, end;
    ngx_adm_room_t  *room;

    room = &standing->room;

    standing->position = ticket->position;
    standing->at = ticket->at;
    standing->lot = 0;
    standing->undrawn = 0;
    standing->waits = 0;
    standing->late = 0;

    if (ticket->act < room->activation) {
        return NGX_DECLINED;
    }

    if (room->activation
        && ticket->act > room->activation
        && ticket->act < room->changed)
    {
        /* a lot that was given up: see hear_earlier() in lua/vwr_lib.lua */
        return NGX_DECLINED;
    }

    if (ticket->act > room->activation
        && (room->active || room->clock <= ticket->act))
    {
        ngx_adm_ticket_ahead_of_host(ticket, conf, room);
    }

    if (room->active
        && room->order != NGX_ADM_ORDER_ARRIVAL
        && ngx_adm_lot_standing(lcf, &ticket->sub, conf, standing) != NGX_OK)
    {
        return NGX_ERROR;
    }

    standing->numbers = ngx_max(standing->position - room->serving, 0);
    standing->ahead = standing->numbers;
    standing->admitted = (!room->active
                          || (standing->ahead == 0 && !standing->waits));

    if (!standing->admitted) {
        return NGX_OK;
    }

    now = ngx_adm_now_us();
    standing->turn = 0;

    if (ticket->act == room->activation) {
        standing->turn = ngx_adm_room_turn(&ticket->sub, standing->position);
    }

    if (standing->turn == 0) {
        /*
         * the counter never passed the position: the room is inactive and lets
         * all in
         */
        standing->turn = now;
    }

    /*
     * the counter may have been ahead of the positions for long: see vwr_burst
     */

    standing->turn = ngx_max(standing->turn, standing->at);

    if (ngx_adm_ticket_counts(ticket, conf, room)
        && (now - standing->turn > NGX_ADM_COMERS_TURN
            || (standing->position <= room->passed
                && ngx_adm_comers_passed(&ticket->sub, room->activation,
                                         standing->position)))
        && ngx_adm_comers_late(&ticket->sub, room->activation,
                               standing->position, asks, &standing->turn)
           != NGX_OK)
    {
        standing->admitted = 0;
        standing->late = 1;

        return NGX_OK;
    }

    /* rounded to whole seconds, as the life of a token is */

    end = standing->turn + (int64_t) conf->session_max * 1000;

    return now / 1000000 < end / 1000000 ? NGX_OK : NGX_DECLINED;
}


/*
 * whether the counter is led by how many come, in the activation of this
 * ticket
 */

static ngx_uint_t
ngx_adm_ticket_counts(ngx_adm_claims_t *ticket, ngx_adm_event_conf_t *conf,
    ngx_adm_room_t *room)
{
    return room->active && conf->vwr_noshow > 1
           && ticket->act == room->activation;
}


void
ngx_adm_ticket_came(ngx_adm_claims_t *ticket, ngx_adm_event_conf_t *conf,
    ngx_adm_standing_t *standing)
{
    if (ngx_adm_ticket_counts(ticket, conf, &standing->room)) {
        ngx_adm_comers_came(&ticket->sub, ticket->act, standing->position);
    }
}


/*
 * Another host gave the ticket out in an activation that this host has not
 * heard of yet: until it has, everybody waits.
 */

static void
ngx_adm_ticket_ahead_of_host(ngx_adm_claims_t *ticket,
    ngx_adm_event_conf_t *conf, ngx_adm_room_t *room)
{
    ngx_memzero(room, sizeof(ngx_adm_room_t));

    room->active = 1;
    room->activation = ticket->act;
    room->next = ticket->position;
    room->rate = conf->vwr_rate * 1000;
    room->order = ngx_adm_order(conf);
    room->measured = -1;
}


void
ngx_adm_ticket_claims(ngx_adm_claims_t *ticket, ngx_adm_standing_t *standing,
    ngx_adm_claims_t *claims)
{
    *claims = *ticket;
    claims->position = standing->position;
    claims->at = standing->at;

    if (claims->uid.len == 0) {
        claims->uid = claims->vis;
    }

    claims->adm = standing->turn;

    if (standing->lot && !standing->undrawn) {
        ngx_adm_lot_claims(standing, claims);
    }
}


ngx_int_t
ngx_adm_ticket_issue(ngx_http_request_t *r, ngx_adm_claims_t *ticket,
    ngx_adm_event_conf_t *conf, ngx_adm_standing_t *standing, ngx_str_t *token)
{
    ngx_int_t         rc;
    ngx_adm_claims_t  claims;

    ngx_adm_ticket_claims(ticket, standing, &claims);

    rc = ngx_adm_tier1_issue(r, conf, &claims, token);

    if (rc == NGX_OK) {
        ngx_adm_ticket_came(ticket, conf, standing);
    }

    return rc;
}
