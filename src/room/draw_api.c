
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What is told of a draw: from the opening on the commitment and the source,
 * once they are counted how many lots there are, and when the draw is made the
 * beacon, the secret and the seed.  Nothing is told ahead of that.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../base/text.h"
#include "../host/sale.h"
#include "../http/respond.h"
#include "draw_api.h"
#include "lot.h"


/* hexadecimal digits in quotes, or "null" */
#define NGX_ADM_DRAW_TEXT  (2 * NGX_ADM_DRAW_BEACON_MAX + 3)


static ngx_str_t *ngx_adm_draw_text(ngx_str_t *text, u_char *buf, u_char *data,
    size_t len);


ngx_int_t
ngx_adm_draw_handler(ngx_adm_api_call_t *call)
{
    ngx_int_t             rc;
    ngx_str_t             body;
    ngx_uint_t            made;
    ngx_adm_room_t        room;
    ngx_http_request_t   *r;

    r = call->request;

    rc = ngx_http_discard_request_body(r);
    if (rc != NGX_OK) {
        return rc;
    }

    (void) ngx_adm_room_get(&call->event, &room);

    if (!ngx_adm_draw_is(&room, call->conf)) {
        return ngx_adm_respond_error(r, NGX_HTTP_NOT_FOUND, "NO_DRAW",
                                     "No lots are drawn", NULL);
    }

    ngx_adm_lot_look(call->lcf, &call->event, call->conf, &room);

    if (ngx_adm_draw_json(r->pool, call->lcf, &call->event, call->conf, &room,
                          &body, &made) != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    /* a draw that is made stays as it is until there is another activation */

    return made ? ngx_adm_respond_public(r, &body)
                : ngx_adm_respond_json(r, NGX_HTTP_OK, &body);
}


void
ngx_adm_draw_member(ngx_str_t *event, ngx_adm_room_t *room, u_char *text)
{
    ngx_adm_drawn_t  drawn;

    *text = '\0';

    if (room->order == NGX_ADM_ORDER_ARRIVAL) {
        return;
    }

    ngx_adm_draw_known(event, room->activation, &drawn);

    if (drawn.commitment) {
        text = ngx_sprintf(text, ",\"commitment\":\"");
        text = ngx_hex_dump(text, drawn.commitment_text, drawn.commitment);
        ngx_sprintf(text, "\"%Z");
    }
}


ngx_uint_t
ngx_adm_draw_is(ngx_adm_room_t *room, ngx_adm_event_conf_t *conf)
{
    return room->order != NGX_ADM_ORDER_ARRIVAL
           || ngx_adm_order(conf) != NGX_ADM_ORDER_ARRIVAL;
}


ngx_int_t
ngx_adm_draw_json(ngx_pool_t *pool, ngx_adm_loc_conf_t *lcf, ngx_str_t *event,
    ngx_adm_event_conf_t *conf, ngx_adm_room_t *room, ngx_str_t *json,
    ngx_uint_t *made)
{
    u_char           *p, *last;
    u_char            secret[NGX_ADM_DRAW_SIZE], seed[NGX_ADM_DRAW_SIZE];
    u_char            text[4][NGX_ADM_DRAW_TEXT];
    size_t            size;
    ngx_int_t         rc;
    ngx_str_t         source, named, hex[4];
    ngx_adm_sale_t    sale;
    ngx_adm_drawn_t   drawn;

    (void) ngx_adm_sale_get(event, conf, &sale);

    rc = ngx_adm_lot_seed(lcf, event, room, &drawn, secret, seed);

    if (rc == NGX_ERROR) {
        return NGX_ERROR;
    }

    *made = (rc == NGX_OK);

    source.len = drawn.source;
    source.data = drawn.source_text;

    if (source.len == 0) {
        ngx_str_set(&named, "null");

    } else if (ngx_adm_json_string(pool, &source, &named) != NGX_OK) {
        return NGX_ERROR;
    }

    size = sizeof("{\"phase\":\"gathering\",\"eventId\":\"\",\"activation\":,"
                  "\"algorithm\":\"\",\"commitment\":,\"beaconSource\":,"
                  "\"lots\":,\"beacon\":,\"secret\":,\"seed\":}")
           + sizeof(NGX_ADM_DRAW_ALGORITHM) + event->len + named.len
           + 2 * NGX_INT64_LEN + 4 * NGX_ADM_DRAW_TEXT;

    p = ngx_pnalloc(pool, size);
    if (p == NULL) {
        return NGX_ERROR;
    }

    json->data = p;
    last = p + size;

    p = sale.phase == NGX_ADM_PHASE_NONE
        ? ngx_adm_put(p, last, "{\"phase\":null")
        : ngx_adm_put(p, last, "{\"phase\":\"%V\"",
                      &ngx_adm_phase_names[sale.phase]);

    p = ngx_adm_put(p, last, ",\"eventId\":\"%V\",\"activation\":%N,"
                    "\"algorithm\":\"%s\",\"commitment\":%V,"
                    "\"beaconSource\":%V,\"lots\":%N",
                    event, room->order ? room->activation : -1,
                    NGX_ADM_DRAW_ALGORITHM,
                    ngx_adm_draw_text(&hex[0], text[0], drawn.commitment_text,
                                      drawn.commitment), &named,
                    ngx_adm_draw_counted(room) ? room->lots : -1);

    p = ngx_adm_put(p, last, ",\"beacon\":%V,\"secret\":%V,\"seed\":%V}",
                    ngx_adm_draw_text(&hex[1], text[1], drawn.beacon_text,
                                      *made ? drawn.beacon : 0),
                    ngx_adm_draw_text(&hex[2], text[2], secret,
                                      *made ? NGX_ADM_DRAW_SIZE : 0),
                    ngx_adm_draw_text(&hex[3], text[3], seed,
                                      *made ? NGX_ADM_DRAW_SIZE : 0));

    json->len = p - json->data;

    return NGX_OK;
}


static ngx_str_t *
ngx_adm_draw_text(ngx_str_t *text, u_char *buf, u_char *data, size_t len)
{
    u_char  *p;

    if (len == 0) {
        ngx_str_set(text, "null");
        return text;
    }

    p = buf;

    *p++ = '"';
    p = ngx_hex_dump(p, data, len);
    *p++ = '"';

    text->data = buf;
    text->len = p - buf;

    return text;
}
