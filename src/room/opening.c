
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The part of the schedule that is about sales with a time: where a waiting
 * room is to be active and is not, the next call of a script activates it, and
 * this is the one that comes though nobody else does.  Only the worker with the
 * lease makes it.
 *
 * Events of which an operator set the times are listed with the active rooms,
 * so that hosts that start look at them before they take any to be inactive.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>

#include "../base/clock.h"
#include "../host/errands.h"
#include "../host/sale.h"
#include "calls.h"
#include "listed.h"
#include "opening.h"


#define NGX_ADM_OPENING_TURN   250       /* ms between looks at all of them */
#define NGX_ADM_OPENING_LINES  1024      /* of the configuration, in a turn */
#define NGX_ADM_OPENING_SET    64        /* set by operators, likewise */
#define NGX_ADM_OPENING_CALLS  64        /* out at once */


static ngx_int_t ngx_adm_opening_start(ngx_cycle_t *cycle,
    ngx_adm_main_conf_t *mcf);
static void ngx_adm_opening_turn(ngx_log_t *log);
static ngx_msec_t ngx_adm_opening_next(void);
static void ngx_adm_opening_lines(void);
static void ngx_adm_opening_set(ngx_log_t *log);
static void ngx_adm_opening_look(ngx_str_t *event, ngx_adm_event_conf_t *conf);
static void ngx_adm_opening_looked(void *data, ngx_int_t rc, int64_t changed,
    ngx_adm_room_t *room);


ngx_adm_schedule_part_t  ngx_adm_room_opening_part = {
    .start = ngx_adm_opening_start,
    .turn = ngx_adm_opening_turn,
    .next = ngx_adm_opening_next };


static ngx_adm_main_conf_t  *ngx_adm_opening_conf;
static ngx_adm_errands_t     ngx_adm_opening_calls;


/* how far the looks at all sales have come */
static struct {
    ngx_msec_t               last;
    ngx_uint_t               line;
    ngx_rbtree_key_t         key;        /* of times that are set */
} ngx_adm_opening;


static ngx_int_t
ngx_adm_opening_start(ngx_cycle_t *cycle, ngx_adm_main_conf_t *mcf)
{
    ngx_adm_opening_conf = mcf;
    ngx_adm_sale_list = ngx_adm_room_listed_add;
    ngx_adm_opening.last = ngx_current_msec - NGX_ADM_OPENING_TURN;

    return ngx_adm_errands_init(cycle, &ngx_adm_opening_calls,
                                NGX_ADM_OPENING_CALLS);
}


static void
ngx_adm_opening_turn(ngx_log_t *log)
{
    if (ngx_current_msec - ngx_adm_opening.last < NGX_ADM_OPENING_TURN) {
        return;
    }

    ngx_adm_opening.last = ngx_current_msec;

    ngx_adm_opening_lines();
    ngx_adm_opening_set(log);
}


static ngx_msec_t
ngx_adm_opening_next(void)
{
    return ngx_adm_rest(ngx_adm_opening.last, NGX_ADM_OPENING_TURN);
}


static void
ngx_adm_opening_lines(void)
{
    ngx_uint_t              i, n;
    ngx_array_t            *sales;
    ngx_adm_event_conf_t  **conf;

    sales = ngx_adm_opening_conf->sales;

    if (sales == NULL) {
        return;
    }

    conf = sales->elts;
    n = ngx_min(sales->nelts, NGX_ADM_OPENING_LINES);

    for (i = 0; i < n; i++) {

        if (ngx_adm_opening.line >= sales->nelts) {
            ngx_adm_opening.line = 0;
        }

        ngx_adm_opening_look(&conf[ngx_adm_opening.line]->sn.str,
                             conf[ngx_adm_opening.line]);

        ngx_adm_opening.line++;
    }
}


static void
ngx_adm_opening_set(ngx_log_t *log)
{
    ngx_str_t             *id;
    ngx_uint_t             i;
    ngx_pool_t            *pool;
    ngx_array_t            ids;
    ngx_adm_event_conf_t  *conf;

    if (!ngx_adm_sale_any()) {
        return;
    }

    pool = ngx_create_pool(1024, log);
    if (pool == NULL) {
        return;
    }

    if (ngx_array_init(&ids, pool, 8, sizeof(ngx_str_t)) == NGX_OK) {

        if (ngx_adm_sale_next(pool, &ids, NGX_ADM_OPENING_SET,
                              &ngx_adm_opening.key)
            < NGX_ADM_OPENING_SET)
        {
            ngx_adm_opening.key = 0;
        }

        id = ids.elts;

        for (i = 0; i < ids.nelts; i++) {
            conf = ngx_adm_event_conf(ngx_adm_opening_conf, &id[i]);

            if (conf) {
                ngx_adm_room_listed_sale(&id[i]);
                ngx_adm_opening_look(&id[i], conf);
            }
        }
    }

    ngx_destroy_pool(pool);
}


static void
ngx_adm_opening_look(ngx_str_t *event, ngx_adm_event_conf_t *conf)
{
    ngx_adm_room_t     room;
    ngx_adm_sale_t     sale;
    ngx_adm_errand_t  *errand;

    (void) ngx_adm_sale_get(event, conf, &sale);
    (void) ngx_adm_room_get(event, &room);

    if (!ngx_adm_sale_pending(&sale, conf, &room)) {
        return;
    }

    errand = ngx_adm_errand_take(&ngx_adm_opening_calls, event, conf);
    if (errand == NULL) {
        return;
    }

    if (ngx_adm_room_calls_admin(NGX_ADM_ROOM_CALL_OPEN, 0, event, conf,
                                 ngx_adm_opening_looked, errand) == NULL)
    {
        ngx_adm_errand_free(&ngx_adm_opening_calls, errand);
    }
}


static void
ngx_adm_opening_looked(void *data, ngx_int_t rc, int64_t changed,
    ngx_adm_room_t *room)
{
    ngx_adm_errand_free(&ngx_adm_opening_calls, data);
}
