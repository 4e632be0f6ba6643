
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The JSON of a ticket.  Tokens need no escapes in it, and the notice is JSON
 * already.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../base/text.h"
#include "../http/api.h"
#include "lot.h"
#include "told.h"


#define NGX_ADM_TOLD_MAX   9999999999

/* room for names of members, and for numbers */
#define NGX_ADM_TOLD_SIZE                                                     \
    (256 + 7 * NGX_INT64_LEN + NGX_ADM_RANGE_TEXT)


int64_t
ngx_adm_told_before(ngx_http_request_t *r)
{
    ngx_int_t  n;

    n = ngx_adm_arg_number(r, "ahead", NGX_ADM_TOLD_MAX);

    return n < 0 ? -1 : n;
}


void
ngx_adm_told_ahead(ngx_adm_told_t *told, int64_t before)
{
    ngx_adm_standing_t  *standing;

    standing = told->standing;

    told->ahead = (before < 0) ? standing->ahead
                               : ngx_min(standing->ahead, before);

    if (standing->undrawn && !standing->admitted) {
        told->ahead = ngx_max(standing->room.next, told->position)
                      - standing->room.serving;
    }

    told->next_poll = ngx_adm_sale_next_poll(told->sale,
                                  ngx_adm_room_next_poll(standing->ahead),
                                  standing->room.next);
}


size_t
ngx_adm_told_size(ngx_adm_told_t *told)
{
    return NGX_ADM_TOLD_SIZE + NGX_ADM_SALE_SIZE + told->token.len
           + told->notice.len;
}


u_char *
ngx_adm_told_put(u_char *p, u_char *last, ngx_adm_told_t *told)
{
    u_char               lot[NGX_ADM_LOT_TEXT], wait[NGX_ADM_RANGE_TEXT];
    u_char               lots[sizeof("\"lots\":,") + NGX_INT64_LEN];
    int64_t              total;
    ngx_int_t            rc;
    ngx_adm_room_t      *room;
    ngx_adm_range_t      range;
    ngx_adm_standing_t  *standing;

    standing = told->standing;
    room = &standing->room;

    total = ngx_max(room->next, told->position);

    ngx_adm_lot_text(standing, lot);

    lots[0] = '\0';

    if (standing->lot && !standing->undrawn) {
        ngx_sprintf(lots, "\"lots\":%L,%Z", room->lots);
    }

    if (standing->admitted) {
        p = ngx_adm_put(p, last,
                        "{\"admitted\":true,%s%s\"servingCounter\":%L,"
                        "\"totalInQueue\":%L,\"ahead\":%L%s%V%s",
                        (char *) lot, (char *) lots, room->serving, total,
                        told->ahead, told->token.len ? ",\"token\":\"" : "",
                        &told->token, told->token.len ? "\"" : "");

    } else {
        rc = ngx_adm_told_range(told->event, told->conf, standing,
                                told->ahead, told->sale->rest, &range);

        ngx_adm_range_text(rc == NGX_OK ? &range : NULL, wait);

        p = ngx_adm_put(p, last,
                        "{\"admitted\":false,%s%s\"servingCounter\":%L,"
                        "\"totalInQueue\":%L,\"ahead\":%L,%s,"
                        "\"nextPoll\":%ui%s%s%s",
                        (char *) lot, (char *) lots, room->serving, total,
                        told->ahead, (char *) wait, told->next_poll,
                        rc == NGX_OK ? "" : ",\"paused\":true",
                        ngx_adm_told_seats(told->seats),
                        told->holder ? "" : ",\"holder\":false");
    }

    p = ngx_adm_sale_put(p, last, told->sale);

    return ngx_adm_put(p, last, "%V}", &told->notice);
}


/* nobody is let in before the beacon is told, and nobody knows when that is */

ngx_uint_t
ngx_adm_told_paused(ngx_adm_room_t *room)
{
    return room->rate == 0
           || (room->order == NGX_ADM_ORDER_BEACON
               && room->drawn && room->ready == 0);
}


/* a lot that is not drawn may become the first as well as the last */

ngx_int_t
ngx_adm_told_range(ngx_str_t *event, ngx_adm_event_conf_t *conf,
    ngx_adm_standing_t *standing, int64_t ahead, int64_t rest,
    ngx_adm_range_t *range)
{
    if (ngx_adm_told_paused(&standing->room)
        || ngx_adm_range_stopped(event, conf, NGX_ADM_RANGE_ROOM))
    {
        return NGX_DECLINED;
    }

    ngx_adm_range_room(event, ngx_adm_room_rate(&standing->room, conf), ahead,
                       range);

    if (standing->undrawn) {
        range->wait = (range->wait + 1) / 2;
        range->low = 0;
    }

    range->wait += rest;
    range->low += rest;
    range->high += rest;

    return NGX_OK;
}


const char *
ngx_adm_told_seats(ngx_adm_seats_e seats)
{
    switch (seats) {

    case NGX_ADM_SEATS_SOLD:
        return ",\"status\":\"sold_out\"";

    case NGX_ADM_SEATS_TAKEN:
        return ",\"seats\":0";

    default: /* NGX_ADM_SEATS_FREE */
        return "";
    }
}
