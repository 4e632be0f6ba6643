
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Calls of the waiting room's scripts, each with what the host knows of the
 * room: Redis may have lost it.  What comes of the answers is in heard.c.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/clock.h"
#include "../host/args.h"
#include "../host/comers.h"
#include "../host/draw.h"
#include "../host/event_state.h"
#include "ngx_http_admission_names.h"
#include "../host/hold.h"
#include "../host/room_list.h"
#include "../host/sale.h"
#include "../host/standby.h"
#include "../host/there.h"
#include "calls.h"
#include "heard.h"
#include "listed.h"


static ngx_adm_room_call_t *ngx_adm_room_calls_begin(ngx_adm_args_t *args,
    ngx_uint_t script, ngx_str_t *event, ngx_adm_event_conf_t *conf,
    void *data);


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

    return ngx_adm_args_run(&args, ngx_adm_room_heard, vc);
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

    return ngx_adm_args_run(&args, ngx_adm_room_heard, vc);
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

    call = ngx_adm_args_run(&args, ngx_adm_room_heard, vc);

    if (call == NULL) {
        ngx_adm_comers_told(event, NGX_ERROR);

        if (there) {
            ngx_adm_there_told(event, there, 1);
        }
    }

    return call;
}


/*
 * Begins a call with the arguments that all of these scripts have.  NULL: no
 * Redis is configured, or there is no memory.
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

    /* the same condition as in ngx_adm_sale_pending() */

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
