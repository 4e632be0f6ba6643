
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Tickets of the waiting room: signed by this module, kept by the visitor,
 * recorded nowhere (docs/api.md: Tokens), and how the holder of one stands.
 */


#ifndef _NGX_ADM_ROOM_TICKET_H_INCLUDED_
#define _NGX_ADM_ROOM_TICKET_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../host/room_state.h"
#include "../host/settings.h"
#include "../host/there.h"
#include "../token/claims.h"


#define NGX_ADM_TICKET_MAX  512          /* bytes */


typedef struct {
    ngx_adm_room_t   room;       /* as the holder is to see it */
    int64_t          position;
    int64_t          at;         /* us: dates it in tier 2 */
    int64_t          lot;        /* that it was drawn for, or will be; 0: it is
                                    none */
    int64_t          numbers;    /* up to its own that are to be called */
    int64_t          ahead;      /* people with them who are there, the holder
                                    included; 0: admitted */
    int64_t          turn;       /* us; admitted only */
    ngx_adm_seats_e  seats;      /* of ticket_standing() alone */
    unsigned         admitted:1;
    unsigned         undrawn:1;  /* a lot without a position yet */
    unsigned         waits:1;    /* for the draw */
    unsigned         late:1;     /* its turn is over, and comes again */
} ngx_adm_standing_t;


/*
 * Signs a ticket: sub, uid (may be empty), vis, position, at, act and exp.
 * NGX_DECLINED: the uid makes it too long; NGX_ERROR: no memory.
 */
ngx_int_t ngx_adm_ticket_sign(ngx_http_request_t *r, ngx_adm_claims_t *ticket,
    ngx_str_t *token);

/*
 * What a text says that is to be a ticket of an event.  NGX_DECLINED: it is
 * none; NGX_ERROR: no memory.
 */
ngx_int_t ngx_adm_ticket_read(ngx_http_request_t *r, ngx_str_t *event,
    ngx_str_t *token, ngx_adm_claims_t **ticket);

/*
 * The first ticket of an event that the request shows together with its
 * visitor; NGX_DECLINED: none; NGX_ERROR: no memory.
 */
ngx_int_t ngx_adm_ticket_find(ngx_http_request_t *r, ngx_str_t *event,
    ngx_adm_claims_t **ticket);

/*
 * How the holder stands, by the host's memory, and the keys of lcf where lots
 * are drawn; asks: a turn that is over is asked for again.  NGX_DECLINED: the
 * ticket is of an earlier activation, or its turn is over; NGX_AGAIN: the state
 * of the waiting room is not known; NGX_ERROR: OpenSSL failed.
 */
ngx_int_t ngx_adm_ticket_standing(ngx_adm_loc_conf_t *lcf,
    ngx_adm_claims_t *ticket, ngx_adm_event_conf_t *conf, ngx_uint_t asks,
    ngx_adm_standing_t *standing);

/* the same, in the state of the waiting room that is there already */
ngx_int_t ngx_adm_ticket_stands(ngx_adm_loc_conf_t *lcf,
    ngx_adm_claims_t *ticket, ngx_adm_event_conf_t *conf, ngx_uint_t asks,
    ngx_adm_standing_t *standing);

/*
 * Has standing->ahead be those who are there, by a table, or NULL: by what the
 * host knows now; it is as many as numbers before.
 */
void ngx_adm_ticket_count(ngx_str_t *event, ngx_adm_there_table_t *table,
    ngx_adm_standing_t *standing);

/* the holder, who waits, was heard of, and is to ask again in so many s */
void ngx_adm_ticket_heard(ngx_str_t *event, ngx_adm_standing_t *standing,
    ngx_uint_t next_poll);

/* the number of a ticket in what is kept of who is there; 0: it has none */
int64_t ngx_adm_ticket_number(ngx_adm_standing_t *standing, int64_t *of);

/* what its token says; the event's, user's and visitor's ids are its own */
void ngx_adm_ticket_claims(ngx_adm_claims_t *ticket,
    ngx_adm_standing_t *standing, ngx_adm_claims_t *claims);

/* its holder got a token: the first one counts by the rate */
void ngx_adm_ticket_came(ngx_adm_claims_t *ticket, ngx_adm_event_conf_t *conf,
    ngx_adm_standing_t *standing);

/*
 * The tier 1 token that one who is admitted gets, with its cookie; whether
 * the request is the visitor's is the caller's to look at.  NGX_DECLINED:
 * the session is over; NGX_ERROR: no memory.
 */
ngx_int_t ngx_adm_ticket_issue(ngx_http_request_t *r, ngx_adm_claims_t *ticket,
    ngx_adm_event_conf_t *conf, ngx_adm_standing_t *standing, ngx_str_t *token);


#endif /* _NGX_ADM_ROOM_TICKET_H_INCLUDED_ */
