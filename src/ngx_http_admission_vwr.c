
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Calls of the waiting room's scripts: their keys and arguments go out in
 * the order that lua/vwr_lib.lua reads them, with what the host knows of the
 * room; the answer is a list of integers.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_admission_script.h"
#include "ngx_http_admission_vwr.h"
#include "ngx_http_admission_zone.h"


#define NGX_HTTP_ADMISSION_VWR_KEYS     3
#define NGX_HTTP_ADMISSION_VWR_ARGS     (NGX_HTTP_ADMISSION_VWR_KEYS + 13)


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
    ngx_str_t                          event;
    u_char                             text[1];
} ngx_http_admission_vwr_call_t;


/* arguments being collected; one at a time, a call copies them */
typedef struct {
    ngx_uint_t                         argc;
    ngx_str_t                          argv[NGX_HTTP_ADMISSION_VWR_ARGS];
    u_char                            *last;
    u_char                             numbers[NGX_HTTP_ADMISSION_VWR_ARGS
                                               * NGX_INT64_LEN];
    u_char                            *keys;        /* allocated */
} ngx_http_admission_vwr_args_t;


static ngx_int_t ngx_http_admission_vwr_begin(
    ngx_http_admission_vwr_args_t *args, ngx_str_t *event,
    ngx_http_admission_event_conf_t *conf);
static ngx_int_t ngx_http_admission_vwr_keys(
    ngx_http_admission_vwr_args_t *args, ngx_str_t *event);
static void ngx_http_admission_vwr_number(ngx_http_admission_vwr_args_t *args,
    int64_t value);
static ngx_http_admission_vwr_call_t *ngx_http_admission_vwr_call(
    ngx_str_t *event, ngx_http_admission_event_conf_t *conf, void *data);
static ngx_http_admission_redis_call_t *ngx_http_admission_vwr_run(
    ngx_http_admission_vwr_args_t *args, ngx_http_admission_script_t *script,
    ngx_http_admission_vwr_call_t *vc);

static void ngx_http_admission_vwr_done(void *data, ngx_int_t rc,
    redisReply *reply);
static ngx_int_t ngx_http_admission_vwr_parse(redisReply *reply, int64_t *v,
    ngx_http_admission_room_t *room);
static void ngx_http_admission_vwr_finish(ngx_http_admission_vwr_call_t *vc,
    ngx_int_t rc, int64_t result, int64_t at,
    ngx_http_admission_room_t *room);

static void ngx_http_admission_vwr_mark(ngx_str_t *event);
static void ngx_http_admission_vwr_marked(void *data, ngx_int_t rc,
    redisReply *reply);
static ngx_http_admission_redis_call_t *ngx_http_admission_vwr_set(
    const char *command, ngx_str_t *event,
    ngx_http_admission_redis_done_pt done, void *data);
static void ngx_http_admission_vwr_unlisted(void *data, ngx_int_t rc,
    redisReply *reply);


/* in the order of KEYS in lua/vwr_lib.lua */

static ngx_str_t  ngx_http_admission_vwr_names[] = {
    ngx_string("vwr"),
    ngx_string("state"),
    ngx_string("epoch")
};


static ngx_str_t  ngx_http_admission_vwr_events =
    ngx_string("vwr:active-events");


ngx_http_admission_redis_call_t *
ngx_http_admission_vwr_issue(ngx_str_t *event,
    ngx_http_admission_event_conf_t *conf, ngx_uint_t n,
    ngx_http_admission_vwr_issued_pt done, void *data)
{
    ngx_http_admission_vwr_args_t   args;
    ngx_http_admission_vwr_call_t  *vc;

    if (ngx_http_admission_vwr_begin(&args, event, conf) != NGX_OK) {
        return NULL;
    }

    ngx_http_admission_vwr_number(&args, n);

    vc = ngx_http_admission_vwr_call(event, conf, data);

    if (vc) {
        vc->issue = 1;
        vc->done.issue = done;
    }

    return ngx_http_admission_vwr_run(&args,
                                      &ngx_http_admission_script_vwr_assign,
                                      vc);
}


ngx_http_admission_redis_call_t *
ngx_http_admission_vwr_admin(ngx_http_admission_vwr_what_e what,
    int64_t value, ngx_str_t *event, ngx_http_admission_event_conf_t *conf,
    ngx_http_admission_vwr_admin_pt done, void *data)
{
    ngx_http_admission_vwr_args_t   args;
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

    args.argv[args.argc++] = names[what];
    ngx_http_admission_vwr_number(&args, value);

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
        vc->done.admin = done;
    }

    return ngx_http_admission_vwr_run(&args,
                                      &ngx_http_admission_script_vwr_admin,
                                      vc);
}


ngx_http_admission_redis_call_t *
ngx_http_admission_vwr_step(ngx_str_t *event,
    ngx_http_admission_event_conf_t *conf,
    ngx_http_admission_vwr_done_pt done, void *data)
{
    ngx_http_admission_vwr_args_t   args;
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

    return ngx_http_admission_vwr_run(&args,
                                      &ngx_http_admission_script_vwr_step, vc);
}


ngx_http_admission_redis_call_t *
ngx_http_admission_vwr_list(ngx_http_admission_redis_done_pt done, void *data)
{
    return ngx_http_admission_vwr_set("SMEMBERS", NULL, done, data);
}


void
ngx_http_admission_vwr_unlist(ngx_str_t *event)
{
    (void) ngx_http_admission_vwr_set("SREM", event,
                                      ngx_http_admission_vwr_unlisted, NULL);
}


/* the keys, and the arguments that all scripts begin with */

static ngx_int_t
ngx_http_admission_vwr_begin(ngx_http_admission_vwr_args_t *args,
    ngx_str_t *event, ngx_http_admission_event_conf_t *conf)
{
    ngx_http_admission_room_t         room;
    ngx_http_admission_event_state_t  state;

    static ngx_str_t  by_api = ngx_string("api");
    static ngx_str_t  by_config = ngx_string("config");

    if (ngx_http_admission_redis() == NULL) {
        return NGX_DECLINED;
    }

    if (ngx_http_admission_vwr_keys(args, event) != NGX_OK) {
        return NGX_ERROR;
    }

    (void) ngx_http_admission_room_get(event, &room);
    ngx_http_admission_event_get(event, &state);

    ngx_http_admission_vwr_number(args, conf->vwr_rate);
    ngx_http_admission_vwr_number(args, conf->vwr_burst);

    ngx_http_admission_vwr_number(args, state.clock);
    ngx_http_admission_vwr_number(args, room.activation);
    ngx_http_admission_vwr_number(args, room.next);
    ngx_http_admission_vwr_number(args, room.serving);
    ngx_http_admission_vwr_number(args, room.active);
    args->argv[args->argc++] = room.by_config ? by_config : by_api;
    ngx_http_admission_vwr_number(args, room.api_rate);
    ngx_http_admission_vwr_number(args, room.changed);
    ngx_http_admission_vwr_number(args, room.issue);

    return NGX_OK;
}


static ngx_int_t
ngx_http_admission_vwr_keys(ngx_http_admission_vwr_args_t *args,
    ngx_str_t *event)
{
    size_t      size;
    u_char     *p;
    ngx_str_t  *prefix;
    ngx_uint_t  i;

    prefix = ngx_http_admission_key_prefix();

    size = prefix->len + event->len + sizeof("{}:state") - 1;

    p = ngx_alloc(NGX_HTTP_ADMISSION_VWR_KEYS * size, ngx_cycle->log);
    if (p == NULL) {
        return NGX_ERROR;
    }

    args->keys = p;
    args->last = args->numbers;

    for (i = 0; i < NGX_HTTP_ADMISSION_VWR_KEYS; i++) {
        args->argv[i].data = p;

        p = ngx_sprintf(p, "%V{%V}:%V", prefix, event,
                        &ngx_http_admission_vwr_names[i]);

        args->argv[i].len = p - args->argv[i].data;
    }

    args->argc = NGX_HTTP_ADMISSION_VWR_KEYS;

    return NGX_OK;
}


static void
ngx_http_admission_vwr_number(ngx_http_admission_vwr_args_t *args,
    int64_t value)
{
    ngx_str_t  *arg;

    arg = &args->argv[args->argc++];

    arg->data = args->last;
    args->last = ngx_sprintf(args->last, "%L", value);
    arg->len = args->last - arg->data;
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

    vc->event.len = event->len;
    vc->event.data = vc->text;
    ngx_memcpy(vc->event.data, event->data, event->len);

    return vc;
}


/* runs the script with the arguments, and is done with them; vc may be NULL */

static ngx_http_admission_redis_call_t *
ngx_http_admission_vwr_run(ngx_http_admission_vwr_args_t *args,
    ngx_http_admission_script_t *script, ngx_http_admission_vwr_call_t *vc)
{
    ngx_http_admission_redis_call_t  *call;

    call = NULL;

    if (vc) {
        call = ngx_http_admission_script_run(ngx_http_admission_redis(),
                                             script,
                                             NGX_HTTP_ADMISSION_VWR_KEYS,
                                             args->argc, args->argv,
                                             ngx_http_admission_vwr_done, vc);
        if (call) {
            ngx_http_admission_redis_own(call, vc);

        } else {
            ngx_free(vc);
        }
    }

    ngx_free(args->keys);

    return call;
}


static void
ngx_http_admission_vwr_done(void *data, ngx_int_t rc, redisReply *reply)
{
    ngx_http_admission_vwr_call_t  *vc = data;

    int64_t                    v[NGX_HTTP_ADMISSION_VWR_FIELDS];
    ngx_http_admission_room_t  room, known;

    if (rc != NGX_OK || ngx_http_admission_vwr_parse(reply, v, &room) != NGX_OK)
    {
        ngx_http_admission_vwr_finish(vc, NGX_ERROR, 0, 0, NULL);
        return;
    }

    ngx_http_admission_time_observed(room.updated,
                                     ngx_current_msec - vc->issued);

    ngx_http_admission_room_note(&vc->event, &room, vc->session_max);

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


static ngx_int_t
ngx_http_admission_vwr_parse(redisReply *reply, int64_t *v,
    ngx_http_admission_room_t *room)
{
    ngx_uint_t  i;

    if (reply->type != REDIS_REPLY_ARRAY
        || reply->elements != NGX_HTTP_ADMISSION_VWR_FIELDS)
    {
        goto invalid;
    }

    for (i = 0; i < NGX_HTTP_ADMISSION_VWR_FIELDS; i++) {

        if (reply->element[i]->type != REDIS_REPLY_INTEGER) {
            goto invalid;
        }

        v[i] = reply->element[i]->integer;
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
    ngx_str_t                        *copy;
    ngx_http_admission_redis_call_t  *call;

    call = NULL;

    copy = ngx_alloc(sizeof(ngx_str_t) + event->len, ngx_cycle->log);

    if (copy) {
        copy->len = event->len;
        copy->data = (u_char *) copy + sizeof(ngx_str_t);
        ngx_memcpy(copy->data, event->data, event->len);

        call = ngx_http_admission_vwr_set("SADD", event,
                                          ngx_http_admission_vwr_marked, copy);
    }

    if (call) {
        ngx_http_admission_redis_own(call, copy);
        return;
    }

    ngx_http_admission_room_unmark(event);

    if (copy) {
        ngx_free(copy);
    }
}


static void
ngx_http_admission_vwr_marked(void *data, ngx_int_t rc, redisReply *reply)
{
    ngx_str_t  *event = data;

    if (rc != NGX_OK) {
        ngx_http_admission_room_unmark(event);
    }
}


/* a command of the set of active events, about one of them or all (NULL) */

static ngx_http_admission_redis_call_t *
ngx_http_admission_vwr_set(const char *command, ngx_str_t *event,
    ngx_http_admission_redis_done_pt done, void *data)
{
    u_char                           *p;
    ngx_str_t                         argv[3], *prefix;
    ngx_http_admission_redis_t       *redis;
    ngx_http_admission_redis_call_t  *call;

    redis = ngx_http_admission_redis();

    if (redis == NULL) {
        return NULL;
    }

    prefix = ngx_http_admission_key_prefix();

    argv[0].len = ngx_strlen(command);
    argv[0].data = (u_char *) command;

    argv[1].len = prefix->len + ngx_http_admission_vwr_events.len;
    argv[1].data = ngx_alloc(argv[1].len, ngx_cycle->log);

    if (argv[1].data == NULL) {
        return NULL;
    }

    p = ngx_cpymem(argv[1].data, prefix->data, prefix->len);
    ngx_memcpy(p, ngx_http_admission_vwr_events.data,
               ngx_http_admission_vwr_events.len);

    if (event) {
        argv[2] = *event;
    }

    call = ngx_http_admission_redis_call(redis, event ? 3 : 2, argv, 1, done,
                                         data);

    ngx_free(argv[1].data);

    return call;
}


static void
ngx_http_admission_vwr_unlisted(void *data, ngx_int_t rc, redisReply *reply)
{
    /* one that stays in the set is looked at again, and again taken out */
}
