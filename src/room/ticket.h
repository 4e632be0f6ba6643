
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Tickets of the waiting room, which are signed by this module, kept by the
 * visitor, and recorded nowhere (docs/api.md: Tokens), and how their holders
 * stand.
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
    ngx_adm_room_t   room;       /* as told to the holder */
    int64_t          position;
    int64_t          at;         /* us: the time that counts in tier 2 */
    int64_t          lot;        /* number by which it is drawn; 0: it is no
                                    lot */
    int64_t          numbers;    /* to be called, up to this one */
    int64_t          ahead;      /* people with these numbers who are there,
                                    the holder too; 0: admitted */
    int64_t          turn;       /* us; only if admitted */
    ngx_adm_seats_e  seats;      /* set by _standing() alone */
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
 * Reads a text that should be a ticket of this event.  NGX_DECLINED: it is
 * none; NGX_ERROR: no memory.
 */
ngx_int_t ngx_adm_ticket_read(ngx_http_request_t *r, ngx_str_t *event,
    ngx_str_t *token, ngx_adm_claims_t **ticket);

/*
 * The first ticket of the event that the request shows together with the
 * visitor of it; NGX_DECLINED: it shows none; NGX_ERROR: no memory.
 */
ngx_int_t ngx_adm_ticket_find(ngx_http_request_t *r, ngx_str_t *event,
    ngx_adm_claims_t **ticket);

/*
 * How the holder of a ticket stands, by the host's memory and, where lots are
 * drawn, the keys of lcf; asks: a turn that is over is asked for again.
 * NGX_DECLINED: the ticket is of an earlier activation, or its turn is over;
 * NGX_AGAIN: the state of the waiting room is not known; NGX_ERROR: OpenSSL
 * failed.
 */
ngx_int_t ngx_adm_ticket_standing(ngx_adm_loc_conf_t *lcf,
    ngx_adm_claims_t *ticket, ngx_adm_event_conf_t *conf, ngx_uint_t asks,
    ngx_adm_standing_t *standing);

/*
 * the same by the state of the waiting room that is in standing->room already
 */
ngx_int_t ngx_adm_ticket_stands(ngx_adm_loc_conf_t *lcf,
    ngx_adm_claims_t *ticket, ngx_adm_event_conf_t *conf, ngx_uint_t asks,
    ngx_adm_standing_t *standing);

/*
 * Sets standing->ahead, which is how many numbers are before, to how many
 * people with such numbers are there: by a table, or, NULL, by what the host
 * knows now.
 */
void ngx_adm_ticket_count(ngx_str_t *event, ngx_adm_there_table_t *table,
    ngx_adm_standing_t *standing);

/* notes that a holder who waits is there, and comes again within so many s */
void ngx_adm_ticket_heard(ngx_str_t *event, ngx_adm_standing_t *standing,
    ngx_uint_t next_poll);

/*
 * a ticket's number in the marks of who is there, and whose marks; 0: it has
 * none
 */
int64_t ngx_adm_ticket_number(ngx_adm_standing_t *standing, int64_t *of);

/* claims of the holder's token; texts are the ticket's own */
void ngx_adm_ticket_claims(ngx_adm_claims_t *ticket,
    ngx_adm_standing_t *standing, ngx_adm_claims_t *claims);

/* the holder got a token: the first one counts for how many come */
void ngx_adm_ticket_came(ngx_adm_claims_t *ticket, ngx_adm_event_conf_t *conf,
    ngx_adm_standing_t *standing);

/*
 * Signs the tier 1 token of a holder who is admitted, and sets its cookie.
 * Whether the request is the visitor's is for the caller to check.
 * NGX_DECLINED: the session is over; NGX_ERROR: no memory.
 */
ngx_int_t ngx_adm_ticket_issue(ngx_http_request_t *r, ngx_adm_claims_t *ticket,
    ngx_adm_event_conf_t *conf, ngx_adm_standing_t *standing, ngx_str_t *token);


#endif /* _NGX_ADM_ROOM_TICKET_H_INCLUDED_ */
