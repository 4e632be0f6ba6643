
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What the holder of a ticket is told, by "check" and by streams.
 */


#ifndef _NGX_ADM_ROOM_TOLD_H_INCLUDED_
#define _NGX_ADM_ROOM_TOLD_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../host/event_state.h"
#include "../host/range.h"
#include "../http/sale.h"
#include "ticket.h"


typedef struct {
    ngx_str_t              *event;
    ngx_adm_event_conf_t   *conf;
    int64_t                 position;    /* of the ticket, drawn or not */
    ngx_adm_standing_t     *standing;
    int64_t                 ahead;       /* as it is told */
    ngx_uint_t              next_poll;   /* s; of who waits */
    ngx_adm_seats_e         seats;
    ngx_adm_sale_t         *sale;        /* its phase, as of sale_get() */
    ngx_uint_t              holder;      /* bool: the ticket's visitor asks */
    ngx_str_t               token;       /* of who is admitted; empty: none */
    ngx_str_t               notice;      /* as of notice_member() */
} ngx_adm_told_t;


/*
 * "ahead" of the request, which the client was told before; -1: it says
 * nothing
 */
int64_t ngx_adm_told_before(ngx_http_request_t *r);

/*
 * Sets ahead and next_poll, by the sale too.  Who has a position is never told
 * of more people ahead than before (-1: was told nothing).  Who has a lot that
 * is not drawn is told of all.
 */
void ngx_adm_told_ahead(ngx_adm_told_t *told, int64_t before);

/* how many bytes the JSON takes at most; puts it, and returns its end */
size_t ngx_adm_told_size(ngx_adm_told_t *told);
u_char *ngx_adm_told_put(u_char *p, u_char *last, ngx_adm_told_t *told);

/* whether nobody is let in, and nobody knows for how long */
ngx_uint_t ngx_adm_told_paused(ngx_adm_room_t *room);

/*
 * How long one with so many ahead has to wait, as is told.  NGX_DECLINED:
 * entry is paused, and there is no number.
 */
ngx_int_t ngx_adm_told_range(ngx_str_t *event, ngx_adm_event_conf_t *conf,
    ngx_adm_standing_t *standing, int64_t ahead, int64_t rest,
    ngx_adm_range_t *range);

/* what is told of seats, as members of JSON */
const char *ngx_adm_told_seats(ngx_adm_seats_e seats);


#endif /* _NGX_ADM_ROOM_TOLD_H_INCLUDED_ */
