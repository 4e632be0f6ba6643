
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The JSON of a ticket: tokens need no escapes in it, and the notice is JSON.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../base/text.h"
#include "lot.h"
#include "told.h"


/* names of members, and numbers */
#define NGX_ADM_TOLD_SIZE  (256 + 7 * NGX_INT64_LEN)


size_t
ngx_adm_told_size(ngx_adm_told_t *told)
{
    return NGX_ADM_TOLD_SIZE + NGX_ADM_SALE_SIZE + told->token.len
           + told->notice.len;
}


u_char *
ngx_adm_told_put(u_char *p, u_char *last, ngx_adm_told_t *told)
{
    u_char               lot[NGX_ADM_LOT_TEXT];
    ngx_adm_room_t      *room;
    ngx_adm_standing_t  *standing;

    standing = told->standing;
    room = &standing->room;

    ngx_adm_lot_text(standing, lot);

    p = ngx_adm_put(p, last,
                    "{\"admitted\":%s,%s\"servingCounter\":%L,"
                    "\"totalInQueue\":%L,\"ahead\":%L",
                    standing->admitted ? "true" : "false", (char *) lot,
                    room->serving, ngx_max(room->next, told->position),
                    standing->ahead);

    if (standing->admitted) {
        p = ngx_adm_put(p, last, "%s%V%s",
                        told->token.len ? ",\"token\":\"" : "",
                        &told->token, told->token.len ? "\"" : "");

    } else {
        p = ngx_adm_put(p, last,
                        ",\"estimatedWait\":%L,\"nextPoll\":%ui%s%s%s",
                        ngx_adm_room_estimate(room, told->conf,
                                              standing->ahead)
                        + ngx_adm_sale_rest(told->sale),
                        ngx_adm_sale_next_poll(told->sale,
                            ngx_adm_room_next_poll(standing->ahead),
                            room->next),
                        ngx_adm_room_paused(room) ? ",\"paused\":true" : "",
                        ngx_adm_told_seats(told->seats),
                        told->holder ? "" : ",\"holder\":false");
    }

    p = ngx_adm_sale_put(p, last, told->sale);

    return ngx_adm_put(p, last, "%V}", &told->notice);
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
