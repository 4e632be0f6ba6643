
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Calls of the waiting room's scripts, which get what the host knows of the
 * room with each; the answer is the room after it, for the host first.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/clock.h"
#include "../base/counter.h"
#include "../host/args.h"
#include "../host/comers.h"
#include "../host/draw.h"
#include "../host/event_state.h"
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
#include "calls.h"
#include "listed.h"


/* of the longest answer, of a step; its last elements are no numbers */
#define NGX_ADM_ROOM_CALLS_LISTS    3
#define NGX_ADM_ROOM_CALLS_NUMBERS                                            \
    (NGX_ADM_REPLY_VWR_STEP_COUNT - NGX_ADM_ROOM_CALLS_LISTS)


/* a call under way; freed with the call of the client */
typedef struct {
    union {
        ngx_adm_room_calls_done_pt    step;
        ngx_adm_room_calls_admin_pt   admin;
        ngx_adm_room_calls_issued_pt  issue;
    } done;

    void                              *data;
    ngx_msec_t                         issued;
    ngx_msec_t                         session_max;
    ngx_adm_event_conf_t              *conf;
    int64_t                            starts;      /* by the configuration, as
                                                       it opens or starts */
    unsigned                           admin:1;
    unsigned                           issue:1;
    unsigned                           standby:1;
    unsigned                           step:1;
    unsigned                           told:1;      /* the log is, of what an
                                                       operator changes */
    ngx_uint_t                         n;           /* to be issued */
    ngx_adm_there_batch_t             *there;       /* that a step tells */
    ngx_str_t                          event;
    u_char                             text[1];
} ngx_adm_room_call_t;


static ngx_adm_room_call_t *ngx_adm_room_calls_begin(ngx_adm_args_t *args,
    ngx_uint_t script, ngx_str_t *event, ngx_adm_event_conf_t *conf,
    void *data);

static void ngx_adm_room_calls_done(void *data, ngx_int_t rc,
    redisReply *reply);
static void ngx_adm_room_calls_gaps(ngx_adm_room_call_t *vc,
    redisReply *reply, ngx_adm_room_t *room);
static void ngx_adm_room_calls_comers(ngx_adm_room_call_t *vc, int64_t *v,
    redisReply *reply, ngx_adm_room_t *room);
static void ngx_adm_room_calls_news(ngx_adm_room_call_t *vc,
    ngx_adm_room_news_e news, ngx_adm_room_t *room);
static void ngx_adm_room_calls_draw(ngx_adm_room_call_t *vc, int64_t *v,
    ngx_adm_room_t *room);
static void ngx_adm_room_calls_there(ngx_adm_room_call_t *vc, int64_t *v,
    redisReply *table);
static void ngx_adm_room_calls_count(ngx_adm_room_call_t *vc, int64_t *v);
static void ngx_adm_room_calls_standby(ngx_adm_room_call_t *vc, int64_t *v,
    ngx_adm_room_t *room);
static ngx_int_t ngx_adm_room_calls_parse(ngx_adm_room_call_t *vc,
    redisReply *reply, int64_t *v, ngx_adm_room_t *room);
static void ngx_adm_room_calls_finish(ngx_adm_room_call_t *vc, ngx_int_t rc,
    int64_t *v, ngx_adm_room_t *room);


ngx_adm_redis_call_t *
ngx_adm_room_calls_issue(ngx_str_t *event, ngx_adm_event_conf_t *conf,
    ngx_uint_t n, ngx_uint_t unbound, ngx_str_t *user,
    ngx_adm_room_calls_issued_pt done, void *data)
{
    ngx_adm_args_t        args;
    ngx_adm_room_t        room;
    ngx_adm_room_call_t  *vc;

    static ngx_str_t  nobody = ngx_string("");

    vc = ngx_adm_room_calls_begin(&args, NGX_ADM_CALL_VWR_ASSIGN, event, conf,
                                  data);
    if (vc == NULL) {
        return NULL;
    }

    (void) ngx_adm_room_get(event, &room);

    args.number[NGX_ADM_ARG_VWR_ASSIGN_N] = n;
    args.number[NGX_ADM_ARG_VWR_ASSIGN_MAX_QUEUE] =
                                         unbound ? -1 : conf->vwr_max_queue;
    args.number[NGX_ADM_ARG_VWR_ASSIGN_MAX_WAIT] =
                                         unbound ? 0
                                                 : conf->vwr_max_wait / 1000;
    args.number[NGX_ADM_ARG_VWR_ASSIGN_MEASURED] = room.measured;
    args.argv[NGX_ADM_ARG_VWR_ASSIGN_USER] = user ? *user : nobody;

    vc->issue = 1;
    vc->n = n;
    vc->done.issue = done;

    return ngx_adm_args_run(&args, ngx_adm_room_calls_done, vc);
}


ngx_adm_redis_call_t *
ngx_adm_room_calls_admin(ngx_adm_room_calls_what_e what, int64_t value,
    ngx_str_t *event, ngx_adm_event_conf_t *conf,
    ngx_adm_room_calls_admin_pt done, void *data)
{
    ngx_adm_args_t       args;
    ngx_adm_room_call_t  *vc;

    static ngx_str_t  names[] = {
        ngx_string("look"),
        ngx_string("activate"),
        ngx_string("restart"),
        ngx_string("resume"),
        ngx_string("deactivate"),
        ngx_string("advance"),
        ngx_string("rate"),
        ngx_string("unrate"),
        ngx_string("look"),
        ngx_string("config") };

    vc = ngx_adm_room_calls_begin(&args, NGX_ADM_CALL_VWR_ADMIN, event, conf,
                                  data);
    if (vc == NULL) {
        return NULL;
    }

    args.argv[NGX_ADM_ARG_VWR_ADMIN_WHAT] = names[what];
    args.number[NGX_ADM_ARG_VWR_ADMIN_VALUE] = value;

    switch (what) {

    case NGX_ADM_ROOM_CALL_ACTIVATE:
    case NGX_ADM_ROOM_CALL_RESTART:
    case NGX_ADM_ROOM_CALL_RESUME:
    case NGX_ADM_ROOM_CALL_OPEN:
    case NGX_ADM_ROOM_CALL_CONFIG_ON:
        ngx_adm_room_listed_active(event);
        break;

    default:
        break;
    }

    vc->admin = 1;
    vc->told = (what != NGX_ADM_ROOM_CALL_LOOK
                && what != NGX_ADM_ROOM_CALL_OPEN
                && what != NGX_ADM_ROOM_CALL_CONFIG_ON);
    vc->done.admin = done;

    return ngx_adm_args_run(&args, ngx_adm_room_calls_done, vc);
}


ngx_adm_redis_call_t *
ngx_adm_room_calls_step(ngx_str_t *event, ngx_adm_event_conf_t *conf,
    ngx_adm_room_calls_done_pt done, void *data)
{
    ngx_adm_args_t          args;
    ngx_adm_room_t          room;
    ngx_adm_comers_t        comers;
    ngx_adm_room_call_t    *vc;
    ngx_adm_redis_call_t   *call;
    ngx_adm_there_batch_t  *there;
    ngx_adm_standby_ask_t   ask;

    vc = ngx_adm_room_calls_begin(&args, NGX_ADM_CALL_VWR_STEP, event, conf,
                                  data);
    if (vc == NULL) {
        return NULL;
    }

    if (ngx_adm_room_mark(event)) {
        ngx_adm_room_listed_active(event);
    }

    ngx_adm_standby_ask(event, conf, &ask);

    vc->standby = (conf->vwr == NGX_ADM_STANDBY);

    args.number[NGX_ADM_ARG_VWR_STEP_STANDBY] = vc->standby;
    args.number[NGX_ADM_ARG_VWR_STEP_WANTING] = ask.wanting;
    args.number[NGX_ADM_ARG_VWR_STEP_SPARE] = ask.spare;
    args.number[NGX_ADM_ARG_VWR_STEP_BACK] = ask.back;
    args.number[NGX_ADM_ARG_VWR_STEP_HAVE] = ask.have;
    args.number[NGX_ADM_ARG_VWR_STEP_HOST_SEEN] = ask.seen;

    (void) ngx_adm_room_get(event, &room);

    ngx_memzero(&comers, sizeof(ngx_adm_comers_t));

    if (conf->vwr_noshow > 1) {
        ngx_adm_comers_take(event, room.activation, &comers);
    }

    args.number[NGX_ADM_ARG_VWR_STEP_NOSHOW] = conf->vwr_noshow;
    args.number[NGX_ADM_ARG_VWR_STEP_SESSION_MAX] = conf->session_max;
    args.argv[NGX_ADM_ARG_VWR_STEP_COME] = comers.come;
    args.number[NGX_ADM_ARG_VWR_STEP_MORE] = comers.more;
    args.argv[NGX_ADM_ARG_VWR_STEP_ASKS] = comers.asks;
    args.argv[NGX_ADM_ARG_VWR_STEP_HAD] = comers.had;

    there = ngx_adm_there_take(event);

    args.number[NGX_ADM_ARG_VWR_STEP_THERE_HOST] = there ? there->host : 0;
    args.number[NGX_ADM_ARG_VWR_STEP_THERE_OF] = there ? there->of : 0;
    args.number[NGX_ADM_ARG_VWR_STEP_THERE_SEEN] = there ? there->seen : 0;
    args.number[NGX_ADM_ARG_VWR_STEP_THERE_BLIND] = there ? there->blind : 0;

    if (there) {
        args.nmore = NGX_ADM_EACH_VWR_STEP_COUNT * there->n;
        args.more = there->groups;
    }

    vc->there = there;
    vc->step = 1;
    vc->done.step = done;

    call = ngx_adm_args_run(&args, ngx_adm_room_calls_done, vc);

    if (call == NULL) {
        ngx_adm_comers_told(event, NGX_ERROR);

        if (there) {
            ngx_adm_there_told(event, there, 1);
        }
    }

    return call;
}


/*
 * A call with the arguments that all scripts have; NULL: no Redis is
 * configured, or there is no memory.
 */

static ngx_adm_room_call_t *
ngx_adm_room_calls_begin(ngx_adm_args_t *args, ngx_uint_t script,
    ngx_str_t *event, ngx_adm_event_conf_t *conf, void *data)
{
    ngx_adm_room_t         room;
    ngx_adm_room_call_t    *vc;
    ngx_uint_t             opens;
    ngx_adm_hold_t         hold;
    ngx_adm_sale_set_t     set;
    ngx_adm_event_now_t    now;
    ngx_adm_event_state_t  state;

    static ngx_str_t  by_api = ngx_string("api");
    static ngx_str_t  by_config = ngx_string("config");

    if (ngx_adm_redis == NULL) {
        return NULL;
    }

    vc = ngx_alloc(sizeof(ngx_adm_room_call_t) + event->len, ngx_cycle->log);
    if (vc == NULL) {
        return NULL;
    }

    ngx_memzero(vc, sizeof(ngx_adm_room_call_t));

    vc->data = data;
    vc->issued = ngx_current_msec;
    vc->session_max = conf->session_max;
    vc->conf = conf;
    vc->starts = ngx_max(conf->opens, conf->starts);

    vc->event.len = event->len;
    vc->event.data = vc->text;
    ngx_memcpy(vc->event.data, event->data, event->len);

    (void) ngx_adm_room_get(event, &room);
    ngx_adm_event_get(event, &state, &now);
    ngx_adm_sale_known(event, &set);
    ngx_adm_hold_get(event, &hold);

    ngx_adm_args_begin(args, script, event);

    args->number[NGX_ADM_ARG_VWR_RATE] = conf->vwr_rate;
    args->number[NGX_ADM_ARG_VWR_BURST] = conf->vwr_burst;

    /* as ngx_adm_sale_pending() has it */

    opens = (conf->vwr != NGX_ADM_OFF && (conf->sn.str.len || set.opens >= 0));

    args->number[NGX_ADM_ARG_VWR_OPENS] = opens ? conf->opens : -1;
    args->number[NGX_ADM_ARG_VWR_STARTS] = conf->starts;
    args->number[NGX_ADM_ARG_VWR_CLOSES] = conf->closes;
    args->number[NGX_ADM_ARG_VWR_HOST_HOLD] = hold.held;
    args->number[NGX_ADM_ARG_VWR_HOST_SALE] = set.version;
    args->number[NGX_ADM_ARG_VWR_HOST_OPENS] = set.opens;
    args->number[NGX_ADM_ARG_VWR_HOST_STARTS] = set.starts;
    args->number[NGX_ADM_ARG_VWR_HOST_CLOSES] = set.closes;

    args->number[NGX_ADM_ARG_VWR_ORDER] = ngx_adm_order(conf);
    args->number[NGX_ADM_ARG_VWR_HOST_ORDER] = room.order;
    args->number[NGX_ADM_ARG_VWR_HOST_LOTS] = room.lots;
    args->number[NGX_ADM_ARG_VWR_HOST_DRAWN] = room.drawn;
    args->number[NGX_ADM_ARG_VWR_HOST_BASE] = room.base;
    args->number[NGX_ADM_ARG_VWR_HOST_READY] = room.ready;

    args->number[NGX_ADM_ARG_VWR_HOST_CLOCK] = state.clock;
    args->number[NGX_ADM_ARG_VWR_HOST_ACTIVATION] = room.activation;
    args->number[NGX_ADM_ARG_VWR_HOST_NEXT] = room.next;
    args->number[NGX_ADM_ARG_VWR_HOST_SERVING] = room.serving;
    args->number[NGX_ADM_ARG_VWR_HOST_ACTIVE] = room.active;
    args->argv[NGX_ADM_ARG_VWR_HOST_SET_BY] = room.by_config ? by_config
                                                             : by_api;
    args->number[NGX_ADM_ARG_VWR_HOST_API_RATE] = room.api_rate;
    args->number[NGX_ADM_ARG_VWR_HOST_CHANGED] = room.changed;
    args->number[NGX_ADM_ARG_VWR_HOST_ISSUE] = room.issue;
    args->number[NGX_ADM_ARG_VWR_WALL] = ngx_adm_wall();

    return vc;
}


static void
ngx_adm_room_calls_done(void *data, ngx_int_t rc, redisReply *reply)
{
    ngx_adm_room_call_t  *vc = data;

    int64_t              v[NGX_ADM_ROOM_CALLS_NUMBERS];
    ngx_adm_hold_t       hold;
    ngx_adm_sale_set_t   set;
    ngx_adm_room_t       room, known;
    ngx_adm_room_news_e  news;

    if (rc != NGX_OK
        || ngx_adm_room_calls_parse(vc, reply, v, &room) != NGX_OK
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

        ngx_adm_room_calls_finish(vc, NGX_ERROR, NULL, NULL);
        return;
    }

    ngx_log_debug4(NGX_LOG_DEBUG_HTTP, ngx_cycle->log, 0,
                   "admission: room of event \"%V\": active:%ui, %L issued, "
                   "%L served", &vc->event, (ngx_uint_t) room.active, room.next,
                   room.serving);

    set.version = v[NGX_ADM_REPLY_VWR_SALE];
    set.opens = v[NGX_ADM_REPLY_VWR_OPENS];
    set.starts = v[NGX_ADM_REPLY_VWR_STARTS];
    set.closes = v[NGX_ADM_REPLY_VWR_CLOSES];

    ngx_adm_sale_heard(&vc->event, &set);

    hold.version = v[NGX_ADM_REPLY_VWR_HOLD];
    hold.held = v[NGX_ADM_REPLY_VWR_HELD];
    hold.since = v[NGX_ADM_REPLY_VWR_SINCE];

    ngx_adm_hold_heard(&vc->event, vc->conf, &hold);

    /* what counts, though Redis lost it */

    ngx_adm_sale_known(&vc->event, &set);

    room.gathers = (room.order && !ngx_adm_draw_ready(&room))
                   || (room.clock < (set.opens < 0 ? vc->starts
                                    : ngx_max(set.opens, set.starts)));

    /* what was passed over is known ahead of the counter that is past it */

    if (vc->step) {
        ngx_adm_room_calls_gaps(vc, reply, &room);
    }

    news = ngx_adm_room_note(&vc->event, &room, vc->session_max);

    if (vc->step) {
        ngx_adm_room_calls_comers(vc, v, reply, &room);
    }

    if (!vc->told) {
        ngx_adm_room_calls_news(vc, news, &room);
    }

    if (vc->issue) {
        ngx_adm_room_calls_count(vc, v);

    } else if (vc->step) {
        (void) ngx_adm_notice_heard(&vc->event,
                                    v[NGX_ADM_REPLY_VWR_STEP_NOTICE]);

        ngx_adm_room_calls_there(vc, v,
                           reply->element[NGX_ADM_REPLY_VWR_STEP_THERE_TABLE]);

        if (vc->standby) {
            ngx_adm_room_calls_standby(vc, v, &room);
        }
    }

    if (room.order) {
        ngx_adm_room_calls_draw(vc, v, &room);
    }

    if (v[NGX_ADM_REPLY_VWR_LOST]) {
        ngx_log_error(NGX_LOG_WARN, ngx_cycle->log, 0,
                      "admission: redis had lost data of the waiting room of "
                      "event \"%V\", which is restored", &vc->event);

        ngx_adm_rooms_configure(0);
    }

    (void) ngx_adm_room_get(&vc->event, &known);

    room.measured = known.measured;

    ngx_adm_room_calls_finish(vc, NGX_OK, v, &room);
}


static void
ngx_adm_room_calls_gaps(ngx_adm_room_call_t *vc, redisReply *reply,
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


/* what a step made of those who came, and of those who asked */

static void
ngx_adm_room_calls_comers(ngx_adm_room_call_t *vc, int64_t *v,
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


/* what Redis lost of a draw besides its numbers it gets back */

static void
ngx_adm_room_calls_draw(ngx_adm_room_call_t *vc, int64_t *v,
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


/* who is there: the marks have arrived, and there may be a table */

static void
ngx_adm_room_calls_there(ngx_adm_room_call_t *vc, int64_t *v, redisReply *table)
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
ngx_adm_room_calls_count(ngx_adm_room_call_t *vc, int64_t *v)
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

    default: /* or the sale has not opened, or is closed */
        break;
    }
}


static void
ngx_adm_room_calls_standby(ngx_adm_room_call_t *vc, int64_t *v,
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


/* that a host hears of rooms when it starts is no change of theirs */

static void
ngx_adm_room_calls_news(ngx_adm_room_call_t *vc, ngx_adm_room_news_e news,
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
ngx_adm_room_calls_parse(ngx_adm_room_call_t *vc, redisReply *reply, int64_t *v,
    ngx_adm_room_t *room)
{
    ngx_uint_t  n, more;

    n = vc->issue ? NGX_ADM_REPLY_VWR_ASSIGN_COUNT
                  : vc->admin ? NGX_ADM_REPLY_VWR_COUNT
                              : NGX_ADM_ROOM_CALLS_NUMBERS;
    more = vc->step ? NGX_ADM_ROOM_CALLS_LISTS : 0;

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


/* v: what the answer said; NULL: there is none */

static void
ngx_adm_room_calls_finish(ngx_adm_room_call_t *vc, ngx_int_t rc, int64_t *v,
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
