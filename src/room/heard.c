
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What the answers of the waiting room's scripts say goes to the host's
 * memory, for all its workers, and then to whoever has called.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/clock.h"
#include "../host/args.h"
#include "../host/comers.h"
#include "../host/draw.h"
#include "ngx_http_admission_names.h"
#include "../host/hold.h"
#include "../host/line.h"
#include "../host/notice.h"
#include "../host/room_list.h"
#include "../host/sale.h"
#include "../host/standby.h"
#include "../host/tally.h"
#include "../host/there.h"
#include "../host/touch.h"
#include "heard.h"


/* fields of the longest answer, a step's, whose last ones are no numbers */
#define NGX_ADM_ROOM_HEARD_LISTS    3
#define NGX_ADM_ROOM_HEARD_NUMBERS                                            \
    (NGX_ADM_REPLY_VWR_STEP_COUNT - NGX_ADM_ROOM_HEARD_LISTS)


static void ngx_adm_room_heard_records(ngx_adm_room_call_t *vc, int64_t *v,
    ngx_adm_room_t *room);
static void ngx_adm_room_heard_gaps(ngx_adm_room_call_t *vc,
    redisReply *reply, ngx_adm_room_t *room);
static void ngx_adm_room_heard_comers(ngx_adm_room_call_t *vc, int64_t *v,
    redisReply *reply, ngx_adm_room_t *room);
static void ngx_adm_room_heard_news(ngx_adm_room_call_t *vc,
    ngx_adm_room_news_e news, ngx_adm_room_t *room);
static void ngx_adm_room_heard_draw(ngx_adm_room_call_t *vc, int64_t *v,
    ngx_adm_room_t *room);
static void ngx_adm_room_heard_there(ngx_adm_room_call_t *vc, int64_t *v,
    redisReply *table);
static void ngx_adm_room_heard_count(ngx_adm_room_call_t *vc, int64_t *v);
static void ngx_adm_room_heard_standby(ngx_adm_room_call_t *vc, int64_t *v,
    ngx_adm_room_t *room);
static ngx_int_t ngx_adm_room_heard_parse(ngx_adm_room_call_t *vc,
    redisReply *reply, int64_t *v, ngx_adm_room_t *room);
static void ngx_adm_room_heard_finish(ngx_adm_room_call_t *vc, ngx_int_t rc,
    int64_t *v, ngx_adm_room_t *room);


void
ngx_adm_room_heard(void *data, ngx_int_t rc, redisReply *reply)
{
    ngx_adm_room_call_t  *vc = data;

    int64_t              v[NGX_ADM_ROOM_HEARD_NUMBERS];
    ngx_adm_room_t       room, known;
    ngx_adm_room_news_e  news;

    if (rc != NGX_OK
        || ngx_adm_room_heard_parse(vc, reply, v, &room) != NGX_OK
        || ngx_adm_time_observed(room.updated, ngx_current_msec - vc->issued)
           != NGX_OK)
    {
        if (vc->step) {
            ngx_adm_comers_told(&vc->event, NGX_ERROR);
        }

        ngx_log_debug2(NGX_LOG_DEBUG_HTTP, ngx_cycle->log, 0,
                       "admission: room of event \"%V\": no answer, %i",
                       &vc->event, rc);

        if (vc->there) {
            ngx_adm_there_told(&vc->event, vc->there, 1);
        }

        ngx_adm_room_heard_finish(vc, NGX_ERROR, NULL, NULL);
        return;
    }

    ngx_log_debug4(NGX_LOG_DEBUG_HTTP, ngx_cycle->log, 0,
                   "admission: room of event \"%V\": active:%ui, %L issued, "
                   "%L served", &vc->event, (ngx_uint_t) room.active, room.next,
                   room.serving);

    ngx_adm_room_heard_records(vc, v, &room);

    /* numbers that the counter passed over are known ahead of the counter */

    if (vc->step) {
        ngx_adm_room_heard_gaps(vc, reply, &room);
    }

    news = ngx_adm_room_note(&vc->event, &room, vc->session_max);

    if (vc->step) {
        ngx_adm_room_heard_comers(vc, v, reply, &room);
    }

    if (!vc->told) {
        ngx_adm_room_heard_news(vc, news, &room);
    }

    if (vc->issue) {
        ngx_adm_room_heard_count(vc, v);

    } else if (vc->step) {
        (void) ngx_adm_notice_heard(&vc->event,
                                    v[NGX_ADM_REPLY_VWR_STEP_NOTICE]);

        ngx_adm_room_heard_there(vc, v,
                           reply->element[NGX_ADM_REPLY_VWR_STEP_THERE_TABLE]);

        if (vc->standby) {
            ngx_adm_room_heard_standby(vc, v, &room);
        }
    }

    if (room.order) {
        ngx_adm_room_heard_draw(vc, v, &room);
    }

    if (v[NGX_ADM_REPLY_VWR_LOST]) {
        ngx_log_error(NGX_LOG_WARN, ngx_cycle->log, 0,
                      "admission: redis had lost data of the waiting room of "
                      "event \"%V\", which is restored", &vc->event);

        ngx_adm_rooms_configure(0);
    }

    (void) ngx_adm_room_get(&vc->event, &known);

    room.measured = known.measured;

    ngx_adm_room_heard_finish(vc, NGX_OK, v, &room);
}


/* what operators set of the event, by which a sale gathers people */

static void
ngx_adm_room_heard_records(ngx_adm_room_call_t *vc, int64_t *v,
    ngx_adm_room_t *room)
{
    ngx_adm_hold_t      hold;
    ngx_adm_sale_set_t  set;

    set.version = v[NGX_ADM_REPLY_VWR_SALE];
    set.opens = v[NGX_ADM_REPLY_VWR_OPENS];
    set.starts = v[NGX_ADM_REPLY_VWR_STARTS];
    set.closes = v[NGX_ADM_REPLY_VWR_CLOSES];

    ngx_adm_sale_heard(&vc->event, &set);

    hold.version = v[NGX_ADM_REPLY_VWR_HOLD];
    hold.held = v[NGX_ADM_REPLY_VWR_HELD];
    hold.since = v[NGX_ADM_REPLY_VWR_SINCE];

    ngx_adm_hold_heard(&vc->event, vc->conf, &hold);

    /* from here on the times that count, which Redis may have lost */

    ngx_adm_sale_known(&vc->event, &set);

    room->gathers = (room->order && !ngx_adm_draw_ready(room))
                    || (room->clock < (set.opens < 0 ? vc->starts
                                       : ngx_max(set.opens, set.starts)));
}


static void
ngx_adm_room_heard_gaps(ngx_adm_room_call_t *vc, redisReply *reply,
    ngx_adm_room_t *room)
{
    int64_t      pairs[2 * NGX_ADM_COMERS_GAPS];
    ngx_uint_t   i, n;
    redisReply  *gaps;

    gaps = reply->element[NGX_ADM_REPLY_VWR_STEP_GAPS];

    if (!ngx_adm_reply_is_list(gaps, "ii")) {
        return;
    }

    n = ngx_min(gaps->elements / 2, NGX_ADM_COMERS_GAPS);

    for (i = 0; i < 2 * n; i++) {
        pairs[i] = gaps->element[i]->integer;
    }

    ngx_adm_comers_gaps(&vc->event, room->activation, n, pairs);
}


/* a step has heard who came, and has new turns for those who asked for one */

static void
ngx_adm_room_heard_comers(ngx_adm_room_call_t *vc, int64_t *v,
    redisReply *reply, ngx_adm_room_t *room)
{
    size_t        i;
    redisReply   *turns, **pair;

    ngx_adm_comers_told(&vc->event, NGX_OK);
    ngx_adm_comers_since(&vc->event, room->activation,
                         v[NGX_ADM_REPLY_VWR_STEP_COME_SINCE]);

    turns = reply->element[NGX_ADM_REPLY_VWR_STEP_TURNS];

    if (turns->type != REDIS_REPLY_ARRAY) {
        return;
    }

    for (i = 0; i + 1 < turns->elements; i += 2) {
        pair = &turns->element[i];

        if (pair[0]->type == REDIS_REPLY_INTEGER
            && pair[1]->type == REDIS_REPLY_INTEGER
            && !ngx_adm_is_far_ahead(pair[1]->integer))
        {
            ngx_adm_comers_turn(&vc->event, room->activation, pair[0]->integer,
                                pair[1]->integer);
        }
    }
}


/* gives Redis back the texts of a draw that it lost */

static void
ngx_adm_room_heard_draw(ngx_adm_room_call_t *vc, int64_t *v,
    ngx_adm_room_t *room)
{
    ngx_adm_drawn_t  known;

    ngx_adm_draw_known(&vc->event, room->activation, &known);

    if ((known.commitment
         && (v[NGX_ADM_REPLY_VWR_LOST]
             || v[NGX_ADM_REPLY_VWR_COMMITTED] != known.committed))
        || (known.beacon && known.of == room->drawn && !room->ready))
    {
        (void) ngx_adm_record_call(&ngx_adm_draw_record, NGX_ADM_RECORD_LOOK,
                                   &known, &vc->event, NULL, NULL, NULL);
    }
}


/*
 * the marks of who is there have arrived, and there may be a new table of them
 */

static void
ngx_adm_room_heard_there(ngx_adm_room_call_t *vc, int64_t *v, redisReply *table)
{
    ngx_str_t  text;

    if (vc->there) {
        ngx_adm_there_told(&vc->event, vc->there, 0);
    }

    if (v[NGX_ADM_REPLY_VWR_STEP_THERE_AT] == 0) {
        return;
    }

    text.len = table->len;
    text.data = (u_char *) table->str;

    if (ngx_adm_there_note(&vc->event, v[NGX_ADM_REPLY_VWR_STEP_THERE_OF],
                           v[NGX_ADM_REPLY_VWR_STEP_THERE_AT],
                           v[NGX_ADM_REPLY_VWR_STEP_THERE_FIRST], &text)
        != NGX_OK)
    {
        ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                      "admission: who is there of the waiting room of event "
                      "\"%V\" is not what redis answers", &vc->event);
    }
}


static void
ngx_adm_room_heard_count(ngx_adm_room_call_t *vc, int64_t *v)
{
    int64_t  issued, refused;

    issued = v[NGX_ADM_REPLY_VWR_RESULT] ? v[NGX_ADM_REPLY_VWR_ASSIGN_ISSUED]
                                         : 0;
    refused = vc->n - issued;

    if (issued) {
        ngx_adm_tally(&vc->event, NGX_ADM_TALLY_POSITIONS, issued);
    }

    switch (v[NGX_ADM_REPLY_VWR_ASSIGN_FULL]) {

    case NGX_ADM_LINE_FULL:
        ngx_adm_tally(&vc->event, NGX_ADM_TALLY_ROOM_FULL, refused);
        break;

    case NGX_ADM_LINE_LONG:
        ngx_adm_tally(&vc->event, NGX_ADM_TALLY_ROOM_LONG, refused);
        break;

    default: /* or nothing was refused, or the sale is not open */
        break;
    }
}


static void
ngx_adm_room_heard_standby(ngx_adm_room_call_t *vc, int64_t *v,
    ngx_adm_room_t *room)
{
    int64_t    seen, granted;
    ngx_int_t  news;

    seen = v[NGX_ADM_REPLY_VWR_STEP_SEEN];
    granted = v[NGX_ADM_REPLY_VWR_STEP_GRANTED];

    ngx_log_debug3(NGX_LOG_DEBUG_HTTP, ngx_cycle->log, 0,
                   "admission: room of event \"%V\" on standby: shows since "
                   "%L, granted %L", &vc->event, seen, granted);

    news = ngx_adm_standby_heard(&vc->event, room, vc->issued, ngx_max(seen, 0),
                      ngx_min(ngx_max(granted, 0), NGX_ADM_ROOM_RATE_MAX));

    if (news >= 0) {
        ngx_log_error(NGX_LOG_NOTICE, ngx_cycle->log, 0,
                      "admission: event \"%V\": waiting room on standby %s",
                      &vc->event, news ? "shows" : "is unseen again");
    }
}


/* what a host hears of rooms when it starts is logged, but is no change */

static void
ngx_adm_room_heard_news(ngx_adm_room_call_t *vc, ngx_adm_room_news_e news,
    ngx_adm_room_t *room)
{
    ngx_uint_t  level;

    static const char  *texts[] = {
        NULL, "is active", "activated", "resumed", "deactivated" };

    if (news == NGX_ADM_ROOM_SAME) {
        return;
    }

    level = (news == NGX_ADM_ROOM_KNOWN) ? NGX_LOG_INFO : NGX_LOG_NOTICE;

    ngx_log_error(level, ngx_cycle->log, 0,
                  "admission: event \"%V\": waiting room %s%s", &vc->event,
                  texts[news], room->by_config ? " by the configuration" : "");
}


static ngx_int_t
ngx_adm_room_heard_parse(ngx_adm_room_call_t *vc, redisReply *reply, int64_t *v,
    ngx_adm_room_t *room)
{
    ngx_uint_t  n, more;

    n = vc->issue ? NGX_ADM_REPLY_VWR_ASSIGN_COUNT
                  : vc->admin ? NGX_ADM_REPLY_VWR_COUNT
                              : NGX_ADM_ROOM_HEARD_NUMBERS;
    more = vc->step ? NGX_ADM_ROOM_HEARD_LISTS : 0;

    if (ngx_adm_reply_numbers(reply, v, n, more) != NGX_OK
        || (vc->step
            && reply->element[NGX_ADM_REPLY_VWR_STEP_THERE_TABLE]->type
               != REDIS_REPLY_STRING)
        || v[NGX_ADM_REPLY_VWR_RATE]
           > NGX_ADM_NUMBER_MAX / 1000
        || ngx_adm_is_far_ahead(v[NGX_ADM_REPLY_VWR_CLOCK])
        || ngx_adm_is_far_ahead(v[NGX_ADM_REPLY_VWR_ACTIVATION])
        || ngx_adm_is_far_ahead(v[NGX_ADM_REPLY_VWR_CHANGED])
        || v[NGX_ADM_REPLY_VWR_ORDER] > NGX_ADM_ORDER_BEACON)
    {
        goto invalid;
    }

    room->active = (v[NGX_ADM_REPLY_VWR_ACTIVE] != 0);
    room->by_config = (v[NGX_ADM_REPLY_VWR_BY_CONFIG] != 0);
    room->activation = v[NGX_ADM_REPLY_VWR_ACTIVATION];
    room->next = v[NGX_ADM_REPLY_VWR_NEXT];
    room->serving = v[NGX_ADM_REPLY_VWR_SERVING];
    room->rate = v[NGX_ADM_REPLY_VWR_RATE] * 1000;
    room->api_rate = v[NGX_ADM_REPLY_VWR_API_RATE];
    room->measured = -1;
    room->passed = v[NGX_ADM_REPLY_VWR_PASSED];
    room->steps = vc->step;
    room->shows = vc->step ? v[NGX_ADM_REPLY_VWR_STEP_SHOWS] : 0;
    room->order = v[NGX_ADM_REPLY_VWR_ORDER];
    room->lots = v[NGX_ADM_REPLY_VWR_LOTS];
    room->drawn = v[NGX_ADM_REPLY_VWR_DRAWN];
    room->base = v[NGX_ADM_REPLY_VWR_BASE];
    room->ready = v[NGX_ADM_REPLY_VWR_READY];
    room->changed = v[NGX_ADM_REPLY_VWR_CHANGED];
    room->issue = v[NGX_ADM_REPLY_VWR_ISSUE];
    room->updated = v[NGX_ADM_REPLY_VWR_US];
    room->clock = v[NGX_ADM_REPLY_VWR_CLOCK];

    return NGX_OK;

invalid:

    ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0, "admission: a waiting room "
                  "script got an answer that is not its own from redis");

    return NGX_ERROR;
}


/* v: the fields of the answer; NULL: there is none */

static void
ngx_adm_room_heard_finish(ngx_adm_room_call_t *vc, ngx_int_t rc, int64_t *v,
    ngx_adm_room_t *room)
{
    ngx_adm_issued_t  issued;

    if (vc->issue && v == NULL) {
        vc->done.issue(vc->data, rc, NULL, NULL);

    } else if (vc->issue) {
        issued.first = v[NGX_ADM_REPLY_VWR_RESULT];
        issued.at = v[NGX_ADM_REPLY_VWR_AT];
        issued.issued = v[NGX_ADM_REPLY_VWR_ASSIGN_ISSUED];
        issued.full = v[NGX_ADM_REPLY_VWR_ASSIGN_FULL];

        vc->done.issue(vc->data, rc, &issued, room);

    } else if (vc->admin) {
        vc->done.admin(vc->data, rc, v ? v[NGX_ADM_REPLY_VWR_RESULT] : 0, room);

    } else {
        vc->done.step(vc->data, rc, room);
    }
}
