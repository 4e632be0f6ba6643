
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The phases of a sale, and the times that operators set, as records.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/clock.h"
#include "event_node.h"
#include "ngx_http_admission_names.h"
#include "sale.h"


/* us after the opening in which the room is activated: as in vwr_lib.lua */
#define NGX_ADM_SALE_LATE  ((int64_t) 604800 * 1000000)

/*
 * us that an event's clock has to be ahead for Redis's to have gone back;
 * after a loss of data it may be ahead by less
 */
#define NGX_ADM_SALE_AHEAD  15000000

#define NGX_ADM_SALE_MARK  60000         /* ms between additions to the list */


/* of the zone */
typedef struct {
    ngx_adm_sale_set_t   set;
    ngx_msec_t           mark;           /* when it was listed; 0: never */
} ngx_adm_sale_kept_t;


static ngx_uint_t ngx_adm_sale_stands(void *value);
static void ngx_adm_sale_noted_locked(ngx_adm_zone_t *zone,
    ngx_adm_event_node_t *en, void *value);
static void ngx_adm_sale_args(ngx_adm_args_t *args, ngx_adm_record_ask_t *ask,
    void *value);
static ngx_int_t ngx_adm_sale_read(redisReply *reply, void *value,
    int64_t *us);
static void ngx_adm_sale_hold(ngx_str_t *event, ngx_adm_sale_t *sale);
static ngx_adm_sale_kept_t *ngx_adm_sale_of_locked(ngx_adm_zone_t *zone,
    ngx_str_t *event);


ngx_adm_redis_call_t  *(*ngx_adm_sale_list)(ngx_str_t *event,
    ngx_adm_redis_done_pt done, void *data);


ngx_adm_record_t  ngx_adm_sale_record = {
    .script = NGX_ADM_CALL_SALE,
    .size = sizeof(ngx_adm_sale_set_t),
    .more = sizeof(ngx_adm_sale_kept_t) - sizeof(ngx_adm_sale_set_t),
    .end = NGX_ADM_RECORD_ALWAYS,
    .stands = ngx_adm_sale_stands,
    .noted_locked = ngx_adm_sale_noted_locked,
    .args = ngx_adm_sale_args,
    .read = ngx_adm_sale_read,
    .not_ours = "admission: the times of the sale of event \"%V\" in redis are "
                "not ours",
    .no_room = "admission: the zone has no room for the times of event \"%V\", "
               "which this host does not keep to: make \"admission_zone\" "
               "larger" };


ngx_str_t  ngx_adm_phase_names[] = {
    ngx_null_string,
    ngx_string("before"),
    ngx_string("gathering"),
    ngx_string("open"),
    ngx_string("closed")
};


static ngx_uint_t
ngx_adm_sale_stands(void *value)
{
    ngx_adm_sale_set_t *set = value;

    return set->opens >= 0;
}


static void
ngx_adm_sale_noted_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en,
    void *value)
{
    en->sale = (value && ngx_adm_sale_stands(value));
}


static void
ngx_adm_sale_args(ngx_adm_args_t *args, ngx_adm_record_ask_t *ask, void *value)
{
    ngx_adm_sale_set_t *to, *known = value;

    if (known->version == 0) {
        known->opens = -1;
    }

    to = (ask->what == NGX_ADM_RECORD_SET) ? ask->to : known;

    args->argv[NGX_ADM_ARG_SALE_WHAT] = ngx_adm_record_what[ask->what];
    args->number[NGX_ADM_ARG_SALE_OPENS] = to->opens;
    args->number[NGX_ADM_ARG_SALE_STARTS] = to->starts;
    args->number[NGX_ADM_ARG_SALE_CLOSES] = to->closes;

    args->number[NGX_ADM_ARG_SALE_CONF_OPENS] = ask->conf ? ask->conf->opens
                                                          : 0;
    args->number[NGX_ADM_ARG_SALE_CONF_STARTS] = ask->conf ? ask->conf->starts
                                                           : 0;

    args->number[NGX_ADM_ARG_SALE_HOST_VERSION] = known->version;
    args->number[NGX_ADM_ARG_SALE_HOST_OPENS] = known->opens;
    args->number[NGX_ADM_ARG_SALE_HOST_STARTS] = known->starts;
    args->number[NGX_ADM_ARG_SALE_HOST_CLOSES] = known->closes;
}


static ngx_int_t
ngx_adm_sale_read(redisReply *reply, void *value, int64_t *us)
{
    ngx_adm_sale_set_t *set = value;

    int64_t  v[NGX_ADM_REPLY_SALE_COUNT];

    if (ngx_adm_reply_numbers(reply, v, NGX_ADM_REPLY_SALE_COUNT, 0) != NGX_OK
        || ngx_adm_is_far_ahead(v[NGX_ADM_REPLY_SALE_VERSION]))
    {
        return NGX_ERROR;
    }

    set->version = v[NGX_ADM_REPLY_SALE_VERSION];
    set->opens = v[NGX_ADM_REPLY_SALE_OPENS];
    set->starts = v[NGX_ADM_REPLY_SALE_STARTS];
    set->closes = v[NGX_ADM_REPLY_SALE_CLOSES];
    set->refused = (v[NGX_ADM_REPLY_SALE_REFUSED] != 0);
    *us = v[NGX_ADM_REPLY_SALE_US];

    return NGX_OK;
}


ngx_adm_phase_e
ngx_adm_sale_get(ngx_str_t *event, ngx_adm_event_conf_t *conf,
    ngx_adm_sale_t *sale)
{
    ngx_adm_sale_set_t  set;

    ngx_adm_sale_known(event, &set);

    sale->set = (set.opens >= 0);

    if (sale->set) {
        sale->opens = set.opens;
        sale->starts = set.starts;
        sale->closes = set.closes;

    } else {
        sale->opens = conf ? conf->opens : 0;
        sale->starts = conf ? conf->starts : 0;
        sale->closes = conf ? conf->closes : 0;
    }

    if (sale->opens + sale->starts + sale->closes == 0) {
        sale->now = 0;
        sale->rest = 0;
        sale->phase = NGX_ADM_PHASE_NONE;

        return sale->phase;
    }

    sale->now = ngx_adm_now_us();

    if (sale->now < ngx_max(sale->opens, ngx_max(sale->starts, sale->closes))) {
        ngx_adm_sale_hold(event, sale);
    }

    return ngx_adm_sale_phase(sale);
}


/*
 * what has come by the event's clock has come, even if Redis's clock goes back
 */

static void
ngx_adm_sale_hold(ngx_str_t *event, ngx_adm_sale_t *sale)
{
    int64_t                clock;
    ngx_adm_event_node_t  *en;

    ngx_adm_zone_lock(ngx_adm_zone);

    en = ngx_adm_event_lookup_locked(ngx_adm_zone, event);
    clock = en ? en->state.clock : 0;

    ngx_adm_zone_unlock(ngx_adm_zone);

    if (clock - sale->now > NGX_ADM_SALE_AHEAD
        && !ngx_adm_is_far_ahead(clock))
    {
        sale->now = clock;
    }
}


ngx_adm_phase_e
ngx_adm_sale_phase(ngx_adm_sale_t *sale)
{
    sale->rest = 0;

    if (sale->opens + sale->starts + sale->closes == 0) {
        sale->phase = NGX_ADM_PHASE_NONE;

    } else if (sale->now < sale->opens) {
        sale->phase = NGX_ADM_PHASE_BEFORE;
        sale->rest = (sale->opens - sale->now + 999999) / 1000000;

    } else if (sale->now < sale->starts) {
        sale->phase = NGX_ADM_PHASE_GATHERING;
        sale->rest = (sale->starts - sale->now + 999999) / 1000000;

    } else {
        sale->phase = (sale->closes && sale->now >= sale->closes)
                      ? NGX_ADM_PHASE_CLOSED : NGX_ADM_PHASE_OPEN;
    }

    return sale->phase;
}


ngx_uint_t
ngx_adm_sale_pending(ngx_adm_sale_t *sale, ngx_adm_event_conf_t *conf,
    ngx_adm_room_t *room)
{
    int64_t  from;

    /*
     * if neither a line nor an operator gave it times, anybody may have made
     * it up
     */

    if (room->active
        || conf->vwr == NGX_ADM_OFF
        || (conf->sn.str.len == 0 && !sale->set))
    {
        return 0;
    }

    from = sale->opens ? sale->opens : sale->starts;

    switch (sale->phase) {

    case NGX_ADM_PHASE_GATHERING:
        return 1;

    case NGX_ADM_PHASE_OPEN:
        return from && room->changed < from
               && sale->now - from <= NGX_ADM_SALE_LATE;

    default:
        return 0;
    }
}


static ngx_adm_sale_kept_t *
ngx_adm_sale_of_locked(ngx_adm_zone_t *zone, ngx_str_t *event)
{
    return ngx_adm_record_of_locked(&ngx_adm_sale_record, zone,
                                    ngx_adm_event_lookup_locked(zone, event));
}


ngx_uint_t
ngx_adm_sale_mark(ngx_str_t *event)
{
    ngx_uint_t            marks;
    ngx_adm_sale_kept_t  *kept;

    marks = 0;

    ngx_adm_zone_lock(ngx_adm_zone);

    kept = ngx_adm_sale_of_locked(ngx_adm_zone, event);

    if (kept
        && (kept->mark == 0 || ngx_adm_since(kept->mark) >= NGX_ADM_SALE_MARK))
    {
        kept->mark = ngx_adm_mark_now();
        marks = 1;
    }

    ngx_adm_zone_unlock(ngx_adm_zone);

    return marks;
}


void
ngx_adm_sale_unmark(ngx_str_t *event)
{
    ngx_adm_sale_kept_t  *kept;

    ngx_adm_zone_lock(ngx_adm_zone);

    kept = ngx_adm_sale_of_locked(ngx_adm_zone, event);

    if (kept) {
        kept->mark = 0;
    }

    ngx_adm_zone_unlock(ngx_adm_zone);
}
