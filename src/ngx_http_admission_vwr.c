
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Calls of the waiting room's scripts: their keys and arguments go out in
 * the order that lua/vwr_lib.lua reads them, with what the host knows of the
 * room; the answer is a list of integers.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_admission_args.h"
#include "ngx_http_admission_rooms.h"
#include "ngx_http_admission_tally.h"
#include "ngx_http_admission_vwr.h"
#include "ngx_http_admission_zone.h"


/* the fields of an answer, as reply() in lua/vwr_lib.lua returns them */
enum {
    NGX_HTTP_ADMISSION_VWR_US = 0,
    NGX_HTTP_ADMISSION_VWR_CLOCK,
    NGX_HTTP_ADMISSION_VWR_ACTIVE,
    NGX_HTTP_ADMISSION_VWR_BY_CONFIG,
    NGX_HTTP_ADMISSION_VWR_ACTIVATION,
    NGX_HTTP_ADMISSION_VWR_NEXT,
    NGX_HTTP_ADMISSION_VWR_SERVING,
    NGX_HTTP_ADMISSION_VWR_RATE,
    NGX_HTTP_ADMISSION_VWR_API_RATE,
    NGX_HTTP_ADMISSION_VWR_CHANGED,
    NGX_HTTP_ADMISSION_VWR_ISSUE,
    NGX_HTTP_ADMISSION_VWR_LOST,
    NGX_HTTP_ADMISSION_VWR_RESULT,      /* two, of the script */
    NGX_HTTP_ADMISSION_VWR_AT,
    NGX_HTTP_ADMISSION_VWR_FIELDS
};


/* a call under way; freed with the call of the client */
typedef struct {
    union {
        ngx_http_admission_vwr_done_pt    step;
        ngx_http_admission_vwr_admin_pt   admin;
        ngx_http_admission_vwr_issued_pt  issue;
    } done;

    void                              *data;
    ngx_msec_t                         issued;
    ngx_msec_t                         session_max;
    unsigned                           admin:1;
    unsigned                           issue:1;
    unsigned                           told:1;      /* the log is, of what an
                                                       operator changes */
    ngx_uint_t                         n;           /* to be issued */
    ngx_str_t                          event;
    u_char                             text[1];
} ngx_http_admission_vwr_call_t;


static ngx_int_t ngx_http_admission_vwr_begin(
    ngx_http_admission_args_t *args, ngx_str_t *event,
    ngx_http_admission_event_conf_t *conf);
static ngx_http_admission_vwr_call_t *ngx_http_admission_vwr_call(
    ngx_str_t *event, ngx_http_admission_event_conf_t *conf, void *data);

static void ngx_http_admission_vwr_done(void *data, ngx_int_t rc,
    redisReply *reply);
static void ngx_http_admission_vwr_news(ngx_http_admission_vwr_call_t *vc,
    ngx_http_admission_room_news_e news, ngx_http_admission_room_t *room);
static ngx_int_t ngx_http_admission_vwr_parse(redisReply *reply, int64_t *v,
    ngx_http_admission_room_t *room);
static void ngx_http_admission_vwr_finish(ngx_http_admission_vwr_call_t *vc,
    ngx_int_t rc, int64_t result, int64_t at,
    ngx_http_admission_room_t *room);

static void ngx_http_admission_vwr_mark(ngx_str_t *event);


/* in the order of KEYS in lua/vwr_lib.lua */

static ngx_str_t  ngx_http_admission_vwr_names[] = {
    ngx_string("vwr"),
    ngx_string("state"),
    ngx_string("epoch")
};

static ngx_http_admission_keys_t  ngx_http_admission_vwr_keys = {
    ngx_http_admission_vwr_names,
    sizeof(ngx_http_admission_vwr_names) / sizeof(ngx_str_t),
    { 0, ngx_null_string, ngx_null_string }
};


static ngx_str_t  ngx_http_admission_vwr_events =
    ngx_string("vwr:active-events");


ngx_http_admission_redis_call_t *
ngx_http_admission_vwr_issue(ngx_str_t *event,
    ngx_http_admission_event_conf_t *conf, ngx_uint_t n,
    ngx_http_admission_vwr_issued_pt done, void *data)
{
    ngx_http_admission_args_t       args;
    ngx_http_admission_vwr_call_t  *vc;

    if (ngx_http_admission_vwr_begin(&args, event, conf) != NGX_OK) {
        return NULL;
    }

    ngx_http_admission_args_number(&args, n);

    vc = ngx_http_admission_vwr_call(event, conf, data);

    if (vc) {
        vc->issue = 1;
        vc->n = n;
        vc->done.issue = done;
    }

    return ngx_http_admission_args_run(&args,
                                       &ngx_http_admission_script_vwr_assign,
                                       ngx_http_admission_vwr_done, vc);
}


ngx_http_admission_redis_call_t *
ngx_http_admission_vwr_admin(ngx_http_admission_vwr_what_e what,
    int64_t value, ngx_str_t *event, ngx_http_admission_event_conf_t *conf,
    ngx_http_admission_vwr_admin_pt done, void *data)
{
    ngx_http_admission_args_t       args;
    ngx_http_admission_vwr_call_t  *vc;

    static ngx_str_t  names[] = {
        ngx_string("look"),
        ngx_string("activate"),
        ngx_string("restart"),
        ngx_string("resume"),
        ngx_string("deactivate"),
        ngx_string("advance"),
        ngx_string("rate"),
        ngx_string("unrate"),
        ngx_string("config")
    };

    if (ngx_http_admission_vwr_begin(&args, event, conf) != NGX_OK) {
        return NULL;
    }

    ngx_http_admission_args_string(&args, &names[what]);
    ngx_http_admission_args_number(&args, value);

    switch (what) {

    case NGX_HTTP_ADMISSION_VWR_ACTIVATE:
    case NGX_HTTP_ADMISSION_VWR_RESTART:
    case NGX_HTTP_ADMISSION_VWR_RESUME:
    case NGX_HTTP_ADMISSION_VWR_CONFIG_ON:
        ngx_http_admission_vwr_mark(event);
        break;

    default:
        break;
    }

    vc = ngx_http_admission_vwr_call(event, conf, data);

    if (vc) {
        vc->admin = 1;
        vc->told = (what != NGX_HTTP_ADMISSION_VWR_LOOK
                    && what != NGX_HTTP_ADMISSION_VWR_CONFIG_ON);
        vc->done.admin = done;
    }

    return ngx_http_admission_args_run(&args,
                                       &ngx_http_admission_script_vwr_admin,
                                       ngx_http_admission_vwr_done, vc);
}


ngx_http_admission_redis_call_t *
ngx_http_admission_vwr_step(ngx_str_t *event,
    ngx_http_admission_event_conf_t *conf,
    ngx_http_admission_vwr_done_pt done, void *data)
{
    ngx_http_admission_args_t       args;
    ngx_http_admission_vwr_call_t  *vc;

    if (ngx_http_admission_vwr_begin(&args, event, conf) != NGX_OK) {
        return NULL;
    }

    if (ngx_http_admission_room_mark(event)) {
        ngx_http_admission_vwr_mark(event);
    }

    vc = ngx_http_admission_vwr_call(event, conf, data);

    if (vc) {
        vc->done.step = done;
    }

    return ngx_http_admission_args_run(&args,
                                       &ngx_http_admission_script_vwr_step,
                                       ngx_http_admission_vwr_done, vc);
}


ngx_http_admission_redis_call_t *
ngx_http_admission_vwr_list(ngx_http_admission_redis_done_pt done, void *data)
{
    return ngx_http_admission_set_call("SMEMBERS",
                                       &ngx_http_admission_vwr_events, NULL,
                                       done, data);
}


void
ngx_http_admission_vwr_unlist(ngx_str_t *event)
{
    (void) ngx_http_admission_set_call("SREM", &ngx_http_admission_vwr_events,
                                       event, NULL, NULL);
}


/* the keys, and the arguments that all scripts begin with */

static ngx_int_t
ngx_http_admission_vwr_begin(ngx_http_admission_args_t *args,
    ngx_str_t *event, ngx_http_admission_event_conf_t *conf)
{
    ngx_http_admission_room_t         room;
    ngx_http_admission_event_now_t    now;
    ngx_http_admission_event_state_t  state;

    static ngx_str_t  by_api = ngx_string("api");
    static ngx_str_t  by_config = ngx_string("config");

    if (ngx_http_admission_args_begin(args, event,
                                      &ngx_http_admission_vwr_keys)
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    (void) ngx_http_admission_room_get(event, &room);
    ngx_http_admission_event_get(event, &state, &now);

    ngx_http_admission_args_number(args, conf->vwr_rate);
    ngx_http_admission_args_number(args, conf->vwr_burst);

    ngx_http_admission_args_number(args, state.clock);
    ngx_http_admission_args_number(args, room.activation);
    ngx_http_admission_args_number(args, room.next);
    ngx_http_admission_args_number(args, room.serving);
    ngx_http_admission_args_number(args, room.active);
    ngx_http_admission_args_string(args, room.by_config ? &by_config
                                                        : &by_api);
    ngx_http_admission_args_number(args, room.api_rate);
    ngx_http_admission_args_number(args, room.changed);
    ngx_http_admission_args_number(args, room.issue);

    return NGX_OK;
}


static ngx_http_admission_vwr_call_t *
ngx_http_admission_vwr_call(ngx_str_t *event,
    ngx_http_admission_event_conf_t *conf, void *data)
{
    ngx_http_admission_vwr_call_t  *vc;

    vc = ngx_alloc(sizeof(ngx_http_admission_vwr_call_t) + event->len,
                   ngx_cycle->log);
    if (vc == NULL) {
        return NULL;
    }

    vc->data = data;
    vc->issued = ngx_current_msec;
    vc->session_max = conf->session_max;
    vc->admin = 0;
    vc->issue = 0;
    vc->told = 0;

    vc->event.len = event->len;
    vc->event.data = vc->text;
    ngx_memcpy(vc->event.data, event->data, event->len);

    return vc;
}


static void
ngx_http_admission_vwr_done(void *data, ngx_int_t rc, redisReply *reply)
{
    ngx_http_admission_vwr_call_t  *vc = data;

    int64_t                         v[NGX_HTTP_ADMISSION_VWR_FIELDS];
    ngx_http_admission_room_t       room, known;
    ngx_http_admission_tally_t      tally;
    ngx_http_admission_room_news_e  news;

    if (rc != NGX_OK || ngx_http_admission_vwr_parse(reply, v, &room) != NGX_OK)
    {
        ngx_http_admission_vwr_finish(vc, NGX_ERROR, 0, 0, NULL);
        return;
    }

    ngx_http_admission_time_observed(room.updated,
                                     ngx_current_msec - vc->issued);

    news = ngx_http_admission_room_note(&vc->event, &room, vc->session_max);

    if (!vc->told) {
        ngx_http_admission_vwr_news(vc, news, &room);
    }

    if (vc->issue && v[NGX_HTTP_ADMISSION_VWR_RESULT]) {
        ngx_memzero(&tally, sizeof(ngx_http_admission_tally_t));

        tally.n[NGX_HTTP_ADMISSION_TALLY_POSITIONS] = vc->n;

        ngx_http_admission_tally(&vc->event, &tally);
    }

    if (v[NGX_HTTP_ADMISSION_VWR_LOST]) {
        ngx_log_error(NGX_LOG_WARN, ngx_cycle->log, 0,
                      "admission: redis had lost data of the waiting room of "
                      "event \"%V\", which is restored", &vc->event);

        ngx_http_admission_rooms_configure(0);
    }

    (void) ngx_http_admission_room_get(&vc->event, &known);

    room.measured = known.measured;

    ngx_http_admission_vwr_finish(vc, NGX_OK, v[NGX_HTTP_ADMISSION_VWR_RESULT],
                                  v[NGX_HTTP_ADMISSION_VWR_AT], &room);
}


/* that a host hears of rooms when it starts is no change of theirs */

static void
ngx_http_admission_vwr_news(ngx_http_admission_vwr_call_t *vc,
    ngx_http_admission_room_news_e news, ngx_http_admission_room_t *room)
{
    ngx_uint_t  level;

    static const char  *texts[] = {
        NULL, "is active", "activated", "resumed", "deactivated"
    };

    if (news == NGX_HTTP_ADMISSION_ROOM_SAME) {
        return;
    }

    level = (news == NGX_HTTP_ADMISSION_ROOM_KNOWN) ? NGX_LOG_INFO
                                                    : NGX_LOG_NOTICE;

    ngx_log_error(level, ngx_cycle->log, 0,
                  "admission: event \"%V\": waiting room %s%s", &vc->event,
                  texts[news], room->by_config ? " by the configuration" : "");
}


static ngx_int_t
ngx_http_admission_vwr_parse(redisReply *reply, int64_t *v,
    ngx_http_admission_room_t *room)
{
    if (ngx_http_admission_reply_numbers(reply, v,
                                         NGX_HTTP_ADMISSION_VWR_FIELDS, 0)
        != NGX_OK
        || v[NGX_HTTP_ADMISSION_VWR_RATE]
           > NGX_HTTP_ADMISSION_NUMBER_MAX / 1000)
    {
        goto invalid;
    }

    room->active = (v[NGX_HTTP_ADMISSION_VWR_ACTIVE] != 0);
    room->by_config = (v[NGX_HTTP_ADMISSION_VWR_BY_CONFIG] != 0);
    room->activation = v[NGX_HTTP_ADMISSION_VWR_ACTIVATION];
    room->next = v[NGX_HTTP_ADMISSION_VWR_NEXT];
    room->serving = v[NGX_HTTP_ADMISSION_VWR_SERVING];
    room->rate = v[NGX_HTTP_ADMISSION_VWR_RATE] * 1000;
    room->api_rate = v[NGX_HTTP_ADMISSION_VWR_API_RATE];
    room->measured = -1;
    room->changed = v[NGX_HTTP_ADMISSION_VWR_CHANGED];
    room->issue = v[NGX_HTTP_ADMISSION_VWR_ISSUE];
    room->updated = v[NGX_HTTP_ADMISSION_VWR_US];
    room->clock = v[NGX_HTTP_ADMISSION_VWR_CLOCK];

    return NGX_OK;

invalid:

    ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                  "admission: a waiting room script got an answer that is "
                  "not its own from redis");

    return NGX_ERROR;
}


static void
ngx_http_admission_vwr_finish(ngx_http_admission_vwr_call_t *vc, ngx_int_t rc,
    int64_t result, int64_t at, ngx_http_admission_room_t *room)
{
    if (vc->issue) {
        vc->done.issue(vc->data, rc, result, at, room);

    } else if (vc->admin) {
        vc->done.admin(vc->data, rc, result, room);

    } else {
        vc->done.step(vc->data, rc, room);
    }
}


/*
 * Other hosts learn from a set that the event is active.  It is not of the
 * event's slot, so a command of its own adds to it, ahead of the activation:
 * should this host die with the next breath, others know where to look.
 */

static void
ngx_http_admission_vwr_mark(ngx_str_t *event)
{
    ngx_http_admission_set_add(&ngx_http_admission_vwr_events, event,
                               ngx_http_admission_room_unmark);
}
