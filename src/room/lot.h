
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Tickets that are lots: what is made of them by the secret of the activation,
 * which a location's keys make (docs/draw.md), and by what Redis keeps.
 */


#ifndef _NGX_ADM_ROOM_LOT_H_INCLUDED_
#define _NGX_ADM_ROOM_LOT_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../host/draw.h"
#include "ticket.h"


/*
 * Has Redis keep the commitment, and the source of the beacon, or tell them,
 * and the beacon, if the host is to know them and does not: from the first
 * request on that is about the event.
 */
void ngx_adm_lot_look(ngx_adm_loc_conf_t *lcf, ngx_str_t *event,
    ngx_adm_event_conf_t *conf, ngx_adm_room_t *room);

/* the same at once, whatever is known; as ngx_adm_record_call() */
ngx_adm_redis_call_t *ngx_adm_lot_commit(ngx_adm_loc_conf_t *lcf,
    ngx_str_t *event, ngx_adm_event_conf_t *conf, int64_t activation,
    ngx_adm_record_done_pt done, void *data);

/*
 * The secret and the seed of a draw, each of NGX_ADM_DRAW_SIZE, once it is
 * made.  NGX_DECLINED: it is not, or no key here fits its commitment;
 * NGX_ERROR: OpenSSL failed.
 */
ngx_int_t ngx_adm_lot_seed(ngx_adm_loc_conf_t *lcf, ngx_str_t *event,
    ngx_adm_room_t *room, ngx_adm_drawn_t *drawn, u_char *secret,
    u_char *seed);

/* what the token of a lot says of its draw; the text is good until the next */
void ngx_adm_lot_claims(ngx_adm_standing_t *standing,
    ngx_adm_claims_t *claims);

/* "lot":..., or "position":..., or both, with a comma and a null at the end */
#define NGX_ADM_LOT_TEXT                                                      \
    (sizeof("\"lot\":,\"position\":,") + 2 * NGX_INT64_LEN)

void ngx_adm_lot_text(ngx_adm_standing_t *standing, u_char *text);

/*
 * Sets what a lot makes of a standing: lot and undrawn, or the position and the
 * time that it has by the draw; undrawn without lot: whether it is one is not
 * known yet.  NGX_ERROR: OpenSSL failed.
 */
ngx_int_t ngx_adm_lot_standing(ngx_adm_loc_conf_t *lcf, ngx_str_t *event,
    ngx_adm_event_conf_t *conf, ngx_adm_standing_t *standing);


#endif /* _NGX_ADM_ROOM_LOT_H_INCLUDED_ */
