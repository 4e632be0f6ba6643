
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Nothing is recorded of a lot: its position is worked out whenever it is
 * asked for.  What that takes of a draw is prepared once a worker, and kept
 * for the draws that were asked about last.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../base/clock.h"
#include "../host/sale.h"
#include "lot.h"


#define NGX_ADM_LOTS_KEPT  64
#define NGX_ADM_LOTS_LOOK  200           /* ms between questions for texts
                                            that are missing */


/* a draw that is made; found by a hash of the event */
typedef struct {
    size_t           len;
    u_char           id[NGX_ADM_EVENT_MAX];
    ngx_msec_t       looked;
    ngx_uint_t       ring;
    int64_t          activation;         /* 0: unused */
    int64_t          drawn;
    int64_t          ready;
    ngx_adm_draw_t   draw;
} ngx_adm_lot_kept_t;


static ngx_adm_lot_kept_t *ngx_adm_lot_kept(ngx_str_t *event);
static ngx_uint_t ngx_adm_lot_is_late(ngx_str_t *event,
    ngx_adm_event_conf_t *conf, int64_t at);
static ngx_int_t ngx_adm_lot_draw(ngx_adm_loc_conf_t *lcf, ngx_str_t *event,
    ngx_adm_room_t *room, ngx_adm_draw_t **draw);


static ngx_adm_lot_kept_t  ngx_adm_lots_kept[NGX_ADM_LOTS_KEPT];


static ngx_adm_lot_kept_t *
ngx_adm_lot_kept(ngx_str_t *event)
{
    uint32_t             hash;
    ngx_adm_lot_kept_t  *kept;

    hash = ngx_crc32_short(event->data, event->len);
    kept = &ngx_adm_lots_kept[hash % NGX_ADM_LOTS_KEPT];

    if (kept->len != event->len
        || ngx_memcmp(kept->id, event->data, event->len) != 0)
    {
        ngx_memzero(kept, sizeof(ngx_adm_lot_kept_t));
        kept->len = event->len;
        ngx_memcpy(kept->id, event->data, event->len);
        kept->looked = ngx_current_msec - NGX_ADM_LOTS_LOOK;
    }

    return kept;
}


void
ngx_adm_lot_look(ngx_adm_loc_conf_t *lcf, ngx_str_t *event,
    ngx_adm_event_conf_t *conf, ngx_adm_room_t *room)
{
    ngx_adm_drawn_t      known;
    ngx_adm_lot_kept_t  *kept;

    if (room->order == NGX_ADM_ORDER_ARRIVAL) {
        return;
    }

    ngx_adm_draw_known(event, room->activation, &known);

    if (known.commitment
        && (room->order != NGX_ADM_ORDER_BEACON
            || (known.source
                && (room->ready == 0 || room->lots == 0
                    || (known.beacon && known.of == room->drawn)))))
    {
        return;
    }

    kept = ngx_adm_lot_kept(event);

    if (ngx_adm_since(kept->looked) < NGX_ADM_LOTS_LOOK) {
        return;
    }

    kept->looked = ngx_current_msec;

    (void) ngx_adm_lot_commit(lcf, event, conf, room->activation, NULL, NULL);
}


ngx_adm_redis_call_t *
ngx_adm_lot_commit(ngx_adm_loc_conf_t *lcf, ngx_str_t *event,
    ngx_adm_event_conf_t *conf, int64_t activation, ngx_adm_record_done_pt done,
    void *data)
{
    u_char           secret[NGX_ADM_DRAW_SIZE];
    ngx_adm_drawn_t  to;

    if (lcf->draw == NULL
        || ngx_adm_draw_secret(lcf->draw, event, activation, NULL, secret)
           != NGX_OK)
    {
        return NULL;
    }

    ngx_memzero(&to, sizeof(ngx_adm_drawn_t));

    to.activation = activation;
    to.commitment = NGX_ADM_DRAW_SIZE;

    ngx_adm_draw_commitment(secret, to.commitment_text);
    ngx_explicit_memzero(secret, sizeof(secret));

    return ngx_adm_record_call(&ngx_adm_draw_record, NGX_ADM_RECORD_LOOK, &to,
                               event, conf, done, data);
}


ngx_int_t
ngx_adm_lot_seed(ngx_adm_loc_conf_t *lcf, ngx_str_t *event,
    ngx_adm_room_t *room, ngx_adm_drawn_t *drawn, u_char *secret, u_char *seed)
{
    ngx_int_t             rc;
    ngx_adm_draw_terms_t  terms;

    static time_t  logged;

    ngx_adm_draw_known(event, room->activation, drawn);

    if (!ngx_adm_draw_ready(room)
        || room->lots == 0
        || drawn->commitment == 0
        || (room->order == NGX_ADM_ORDER_BEACON
            && (drawn->source == 0 || drawn->beacon == 0
                || drawn->of != room->drawn))
        || lcf->draw == NULL)
    {
        return NGX_DECLINED;
    }

    rc = ngx_adm_draw_secret(lcf->draw, event, room->activation,
                             drawn->commitment_text, secret);

    if (rc == NGX_DECLINED && logged != ngx_time()) {
        logged = ngx_time();

        ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                      "admission: no \"admission_secret tier1\" here fits the "
                      "commitment of the draw of event \"%V\", nobody is let "
                      "in by it", event);
    }

    if (rc != NGX_OK) {
        return rc;
    }

    terms.event = *event;
    terms.activation = room->activation;
    terms.lots = room->lots;

    ngx_str_null(&terms.source);
    ngx_str_null(&terms.beacon);

    if (room->order == NGX_ADM_ORDER_BEACON) {
        terms.source.len = drawn->source;
        terms.source.data = drawn->source_text;
        terms.beacon.len = drawn->beacon;
        terms.beacon.data = drawn->beacon_text;
    }

    return ngx_adm_draw_seed(&terms, secret, seed);
}


static ngx_int_t
ngx_adm_lot_draw(ngx_adm_loc_conf_t *lcf, ngx_str_t *event,
    ngx_adm_room_t *room, ngx_adm_draw_t **draw)
{
    u_char               secret[NGX_ADM_DRAW_SIZE], seed[NGX_ADM_DRAW_SIZE];
    ngx_int_t            rc;
    ngx_adm_drawn_t      drawn;
    ngx_adm_lot_kept_t  *kept;

    kept = ngx_adm_lot_kept(event);
    *draw = &kept->draw;

    if (kept->activation
        && kept->activation == room->activation
        && kept->drawn == room->drawn
        && kept->ready == room->ready
        && lcf->draw && kept->ring == lcf->draw->id
        && ngx_adm_draw_ready(room))
    {
        return NGX_OK;
    }

    rc = ngx_adm_lot_seed(lcf, event, room, &drawn, secret, seed);

    ngx_explicit_memzero(secret, sizeof(secret));

    if (rc == NGX_OK) {
        rc = ngx_adm_draw_init(&kept->draw, seed, room->lots);
    }

    if (rc == NGX_OK) {
        kept->activation = room->activation;
        kept->drawn = room->drawn;
        kept->ready = room->ready;
        kept->ring = lcf->draw->id;

        ngx_log_debug2(NGX_LOG_DEBUG_HTTP, ngx_cycle->log, 0,
                       "admission: draw of event \"%V\", %L lots", event,
                       room->lots);
    }

    return rc;
}


ngx_int_t
ngx_adm_lot_standing(ngx_adm_loc_conf_t *lcf, ngx_str_t *event,
    ngx_adm_event_conf_t *conf, ngx_adm_standing_t *standing)
{
    ngx_int_t        rc;
    ngx_adm_draw_t  *draw;
    ngx_adm_room_t  *room;

    room = &standing->room;

    ngx_adm_lot_look(lcf, event, conf, room);

    if (ngx_adm_draw_counted(room) && standing->position > room->lots) {

        /* behind all lots, however they are drawn */

        standing->waits = !ngx_adm_draw_ready(room);
        return NGX_OK;
    }

    standing->lot = standing->position;

    rc = ngx_adm_lot_draw(lcf, event, room, &draw);

    if (rc == NGX_ERROR) {
        return NGX_ERROR;
    }

    if (rc == NGX_OK) {
        standing->position = ngx_adm_draw_position(draw, standing->lot);
        standing->at = room->base + standing->position;
        return NGX_OK;
    }

    standing->undrawn = 1;
    standing->waits = 1;

    if (!ngx_adm_draw_counted(room)
        && ngx_adm_lot_is_late(event, conf, standing->at))
    {
        standing->lot = 0;
    }

    return NGX_OK;
}


/*
 * Whether a ticket was given out at or after the start, by times that were set
 * before that.  Most likely it is no lot then, but it is not sure before lots
 * are counted for good.
 */

static ngx_uint_t
ngx_adm_lot_is_late(ngx_str_t *event, ngx_adm_event_conf_t *conf, int64_t at)
{
    int64_t             starts;
    ngx_adm_sale_set_t  set;

    ngx_adm_sale_known(event, &set);

    starts = (set.opens >= 0) ? ngx_max(set.opens, set.starts)
                              : ngx_max(conf->opens, conf->starts);

    return starts && at >= starts && at >= set.version;
}


void
ngx_adm_lot_text(ngx_adm_standing_t *standing, u_char *text)
{
    if (standing->lot) {
        text = ngx_sprintf(text, "\"lot\":%L,", standing->lot);
    }

    if (!standing->undrawn) {
        text = ngx_sprintf(text, "\"position\":%L,", standing->position);
    }

    *text = '\0';
}


void
ngx_adm_lot_claims(ngx_adm_standing_t *standing, ngx_adm_claims_t *claims)
{
    ngx_adm_drawn_t  drawn;

    static u_char  hex[2 * NGX_ADM_DRAW_BEACON_MAX];

    claims->lots = standing->room.lots;
    claims->drawn = standing->room.drawn;

    if (standing->room.order == NGX_ADM_ORDER_BEACON) {
        ngx_adm_draw_known(&claims->sub, standing->room.activation, &drawn);

        claims->beacon.data = hex;
        claims->beacon.len = ngx_hex_dump(hex, drawn.beacon_text, drawn.beacon)
                             - hex;
    }
}
