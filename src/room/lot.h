
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Tickets that are lots.  Their positions follow from the secret of the
 * activation, which the keys of a location make (docs/draw.md), and from what
 * Redis keeps of the draw.
 */


#ifndef _NGX_ADM_ROOM_LOT_H_INCLUDED_
#define _NGX_ADM_ROOM_LOT_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../host/draw.h"
#include "ticket.h"


/*
 * Has Redis keep the commitment and the source of the beacon, or asks for them
 * and for the beacon, where the host needs them and does not know them: from
 * the first request about the event on.
 */
void ngx_adm_lot_look(ngx_adm_loc_conf_t *lcf, ngx_str_t *event,
    ngx_adm_event_conf_t *conf, ngx_adm_room_t *room);

/*
 * the same at once, whatever the host knows; returns as ngx_adm_record_call()
 */
ngx_adm_redis_call_t *ngx_adm_lot_commit(ngx_adm_loc_conf_t *lcf,
    ngx_str_t *event, ngx_adm_event_conf_t *conf, int64_t activation,
    ngx_adm_record_done_pt done, void *data);

/*
 * The secret and the seed of a draw, each of NGX_ADM_DRAW_SIZE.  NGX_DECLINED:
 * the draw is not made yet, or no key here fits its commitment; NGX_ERROR:
 * OpenSSL failed.
 */
ngx_int_t ngx_adm_lot_seed(ngx_adm_loc_conf_t *lcf, ngx_str_t *event,
    ngx_adm_room_t *room, ngx_adm_drawn_t *drawn, u_char *secret,
    u_char *seed);

/*
 * what the token of a lot says of its draw; texts are good until the next call
 */
void ngx_adm_lot_claims(ngx_adm_standing_t *standing,
    ngx_adm_claims_t *claims);

/* members "lot" or "position", or both, each with a comma; null-terminated */
#define NGX_ADM_LOT_TEXT                                                      \
    (sizeof("\"lot\":,\"position\":,") + 2 * NGX_INT64_LEN)

void ngx_adm_lot_text(ngx_adm_standing_t *standing, u_char *text);

/*
 * Where lots are drawn: sets lot and undrawn of a standing, or the position
 * and time that it has by the draw. undrawn without lot: it is not known yet
 * whether the ticket is one.  NGX_ERROR: OpenSSL failed.
 */
ngx_int_t ngx_adm_lot_standing(ngx_adm_loc_conf_t *lcf, ngx_str_t *event,
    ngx_adm_event_conf_t *conf, ngx_adm_standing_t *standing);


#endif /* _NGX_ADM_ROOM_LOT_H_INCLUDED_ */
