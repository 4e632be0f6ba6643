
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The part of the schedule that is about waiting rooms: it steps those that
 * are active, looks at events that other hosts say are active, and carries out
 * vwr=on of the configuration.  Only the worker with the lease does.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>

#include "../base/clock.h"
#include "../host/args.h"
#include "../host/errands.h"
#include "../host/follow.h"
#include "../host/room_list.h"
#include "../host/sale.h"
#include "../host/standby.h"
#include "calls.h"
#include "listed.h"
#include "schedule.h"


#define NGX_ADM_ROOM_STEP       240      /* ms between steps: four a second, at
                                            least */
#define NGX_ADM_ROOM_STEPS      128      /* out at once */
#define NGX_ADM_ROOM_WAIT       2000     /* ms, for one that does
                                            not come back */
#define NGX_ADM_ROOM_RETRY      500      /* ms after a failure */
#define NGX_ADM_ROOMS_LIST      500      /* ms between looks at
                                            vwr:active-events */
#define NGX_ADM_ROOM_LOOKS      256      /* events, at each */
#define NGX_ADM_ROOM_STALE      2000000  /* us inactive before an event
                                            leaves that set */
#define NGX_ADM_ROOM_CONFIGS    64       /* out at once */


static ngx_int_t ngx_adm_room_schedule_start(ngx_cycle_t *cycle,
    ngx_adm_main_conf_t *mcf);
static void ngx_adm_room_schedule(ngx_log_t *log);
static ngx_msec_t ngx_adm_room_schedule_next(void);
static ngx_adm_event_conf_t *ngx_adm_room_conf(ngx_str_t *event);

static void ngx_adm_rooms_step(ngx_log_t *log);
static void ngx_adm_room_step(ngx_str_t *event);
static void ngx_adm_room_stepped(void *data, ngx_int_t rc,
    ngx_adm_room_t *room);
static void ngx_adm_rooms_report(void);

static void ngx_adm_rooms_list(void);
static void ngx_adm_rooms_list_done(void *data, ngx_int_t rc,
    redisReply *reply);
static void ngx_adm_room_look(redisReply *element);
static void ngx_adm_room_looked(void *data, ngx_int_t rc, int64_t changed,
    ngx_adm_room_t *room);
static ngx_uint_t ngx_adm_room_is_stale(ngx_str_t *event,
    ngx_adm_room_t *room);
static void ngx_adm_room_unlisted(void *data, ngx_int_t rc, redisReply *reply);
static void ngx_adm_room_again(void *data, ngx_int_t rc, int64_t changed,
    ngx_adm_room_t *room);
static void ngx_adm_rooms_list_end(void);

static void ngx_adm_rooms_on(void);
static void ngx_adm_rooms_on_next(void);
static void ngx_adm_rooms_on_done(void *data, ngx_int_t rc, int64_t changed,
    ngx_adm_room_t *room);


static ngx_adm_main_conf_t   *ngx_adm_rooms_conf;
static ngx_adm_errands_t        ngx_adm_room_steps;
static ngx_adm_errands_t        ngx_adm_room_looks;


/* a look at the set: calls that are out, and the events to look at next */
static struct {
    ngx_msec_t                          last;
    ngx_uint_t                          out;
    unsigned                            under_way:1;
    unsigned                            failed:1;
} ngx_adm_rooms_looking;


/* vwr=on: how far it has come through the events of the configuration */
static struct {
    ngx_rbtree_node_t                  *next;
    ngx_msec_t                          last;
    ngx_uint_t                          out;
    unsigned                            under_way:1;
    unsigned                            failed:1;
} ngx_adm_rooms_config;


ngx_adm_schedule_part_t  ngx_adm_room_schedule_part = {
    .start = ngx_adm_room_schedule_start,
    .turn = ngx_adm_room_schedule,
    .next = ngx_adm_room_schedule_next };


static ngx_int_t
ngx_adm_room_schedule_start(ngx_cycle_t *cycle, ngx_adm_main_conf_t *mcf)
{
    ngx_adm_rooms_conf = mcf;

    ngx_adm_rooms_looking.last = ngx_current_msec - NGX_ADM_ROOMS_LIST;
    ngx_adm_rooms_config.last = ngx_current_msec - NGX_ADM_ROOM_RETRY;

    if (ngx_adm_errands_init(cycle, &ngx_adm_room_steps,
                             NGX_ADM_ROOM_STEPS) != NGX_OK)
    {
        return NGX_ERROR;
    }

    return ngx_adm_errands_init(cycle, &ngx_adm_room_looks, NGX_ADM_ROOM_LOOKS);
}


static void
ngx_adm_room_schedule(ngx_log_t *log)
{
    /* before the look at the set, which then finds these events */

    if (!ngx_adm_rooms_configured()
        && !ngx_adm_rooms_config.under_way
        && ngx_current_msec - ngx_adm_rooms_config.last
           >= NGX_ADM_ROOM_RETRY)
    {
        ngx_adm_rooms_on();
    }

    if (!ngx_adm_rooms_looking.under_way
        && (ngx_adm_room_looks.more
            || ngx_current_msec - ngx_adm_rooms_looking.last
               >= NGX_ADM_ROOMS_LIST))
    {
        ngx_adm_rooms_list();
    }

    ngx_adm_rooms_step(log);
    ngx_adm_rooms_report();
}


static ngx_msec_t
ngx_adm_room_schedule_next(void)
{
    ngx_msec_t  rest;

    rest = ngx_adm_rooms_rest();

    if (!ngx_adm_rooms_configured() && !ngx_adm_rooms_config.under_way) {
        rest = ngx_min(rest, ngx_adm_rest(ngx_adm_rooms_config.last,
                                          NGX_ADM_ROOM_RETRY));
    }

    if (!ngx_adm_rooms_looking.under_way) {
        rest = ngx_min(rest, ngx_adm_rest(ngx_adm_rooms_looking.last,
                                          ngx_adm_room_looks.more
                                          ? 0 : NGX_ADM_ROOMS_LIST));
    }

    return rest;
}


/* what the API has activated is an event, listed or not */

static ngx_adm_event_conf_t *
ngx_adm_room_conf(ngx_str_t *event)
{
    ngx_adm_event_conf_t  *conf;

    conf = ngx_adm_event_conf(ngx_adm_rooms_conf, event);

    return conf ? conf : &ngx_adm_rooms_conf->event_default;
}


static void
ngx_adm_rooms_step(ngx_log_t *log)
{
    ngx_str_t    *id;
    ngx_uint_t    i;
    ngx_pool_t   *pool;
    ngx_array_t   ids;

    if (ngx_adm_room_steps.nfree == 0) {
        return;
    }

    pool = ngx_create_pool(1024, log);
    if (pool == NULL) {
        return;
    }

    if (ngx_array_init(&ids, pool, 8, sizeof(ngx_str_t)) == NGX_OK) {

        (void) ngx_adm_rooms_due(pool, &ids, ngx_adm_room_steps.nfree,
                                 NGX_ADM_ROOM_WAIT);

        ngx_adm_room_steps.more = (ids.nelts == ngx_adm_room_steps.nfree);

        id = ids.elts;

        for (i = 0; i < ids.nelts; i++) {
            ngx_adm_room_step(&id[i]);
        }
    }

    ngx_destroy_pool(pool);
}


static void
ngx_adm_room_step(ngx_str_t *event)
{
    ngx_adm_errand_t  *errand;

    ngx_log_debug1(NGX_LOG_DEBUG_HTTP, ngx_cycle->log, 0,
                   "admission: step of the room of event \"%V\"", event);

    errand = ngx_adm_errand_take(&ngx_adm_room_steps, event,
                                 ngx_adm_room_conf(event));
    if (errand == NULL) {
        return;
    }

    if (ngx_adm_room_calls_step(event, errand->conf, ngx_adm_room_stepped,
                                errand) == NULL)
    {
        ngx_adm_room_next(event, NGX_ADM_ROOM_STEP);
        ngx_adm_errand_free(&ngx_adm_room_steps, errand);
    }
}


static void
ngx_adm_room_stepped(void *data, ngx_int_t rc, ngx_adm_room_t *room)
{
    ngx_adm_errand_t  *errand = data;

    ngx_msec_t  elapsed, rest, step;

    elapsed = ngx_current_msec - errand->issued;

    ngx_log_debug3(NGX_LOG_DEBUG_HTTP, ngx_cycle->log, 0,
                   "admission: stepped the room of event \"%V\": rc %i, after "
                   "%M ms", &errand->event, rc, elapsed);

    ngx_adm_follow_watch(&errand->event, errand->conf);

    step = (errand->conf->vwr == NGX_ADM_STANDBY) ? NGX_ADM_STANDBY_STEP
                                                  : NGX_ADM_ROOM_STEP;

    rest = elapsed < step ? step - elapsed : 0;

    ngx_adm_room_next(&errand->event, rest);
    ngx_adm_schedule_soon(rest);

    ngx_adm_errand_free(&ngx_adm_room_steps, errand);

    /*
     * after an answer the next steps go at once: many rooms do not wait for
     * the timer
     */

    if (rc == NGX_OK
        && ngx_adm_room_steps.more
        && ngx_adm_room_steps.nfree
           >= NGX_ADM_ROOM_STEPS / 2
        && !ngx_exiting)
    {
        ngx_adm_redis_background(ngx_adm_redis, 1);
        ngx_adm_rooms_step(ngx_cycle->log);
        ngx_adm_redis_background(ngx_adm_redis, 0);
    }
}


static void
ngx_adm_rooms_report(void)
{
    ngx_uint_t  n;

    n = ngx_adm_rooms_lost();

    if (n) {
        ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                      "admission: the zone is too small for all active "
                      "waiting rooms, %ui answers about others could not be "
                      "kept: make \"admission_zone\" larger", n);
    }
}


/*
 * looks at events that other hosts, or this one before a restart, have listed
 */

static void
ngx_adm_rooms_list(void)
{
    ngx_adm_rooms_looking.last = ngx_current_msec;
    ngx_adm_room_looks.more = 0;

    if (ngx_adm_room_listed_all(ngx_adm_rooms_list_done, NULL) == NULL) {
        return;
    }

    ngx_adm_rooms_looking.under_way = 1;
    ngx_adm_rooms_looking.failed = 0;
    ngx_adm_rooms_looking.out = 1;
}


static void
ngx_adm_rooms_list_done(void *data, ngx_int_t rc, redisReply *reply)
{
    size_t  i;

    if (rc != NGX_OK || reply->type != REDIS_REPLY_ARRAY) {
        ngx_adm_rooms_looking.failed = 1;

    } else {
        ngx_adm_redis_background(ngx_adm_redis, 1);

        for (i = 0; i < reply->elements; i++) {
            ngx_adm_room_look(reply->element[i]);
        }

        ngx_adm_redis_background(ngx_adm_redis, 0);
    }

    ngx_adm_rooms_list_end();
}


static void
ngx_adm_room_look(redisReply *element)
{
    u_char                      buf[NGX_ADM_EVENT_MAX];
    ngx_str_t                   id;
    ngx_adm_errand_t  *errand;

    if (ngx_adm_reply_event(element, &id, buf) != NGX_OK) {
        return;
    }

    if (ngx_adm_room_listed(&id)) {
        return;
    }

    errand = ngx_adm_errand_take(&ngx_adm_room_looks, &id,
                                 ngx_adm_room_conf(&id));
    if (errand == NULL) {
        ngx_adm_room_looks.more = 1;
        return;
    }

    if (ngx_adm_room_calls_admin(NGX_ADM_ROOM_CALL_LOOK, 0, &id, errand->conf,
                                 ngx_adm_room_looked, errand) == NULL)
    {
        ngx_adm_rooms_looking.failed = 1;
        ngx_adm_errand_free(&ngx_adm_room_looks, errand);
        return;
    }

    ngx_adm_rooms_looking.out++;
}


/*
 * An inactive event leaves the set; but not at once, since another host may
 * have put it there and be about to activate it, nor while an operator's times
 * count.
 */

static void
ngx_adm_room_looked(void *data, ngx_int_t rc, int64_t changed,
    ngx_adm_room_t *room)
{
    ngx_adm_errand_t  *errand = data;

    if (rc != NGX_OK) {
        ngx_adm_rooms_looking.failed = 1;

    } else if (ngx_adm_room_is_stale(&errand->event, room)
               && ngx_adm_room_listed_remove(&errand->event,
                                             ngx_adm_room_unlisted, errand)
                  != NULL)
    {
        ngx_adm_rooms_list_end();
        return;
    }

    ngx_adm_errand_free(&ngx_adm_room_looks, errand);

    ngx_adm_rooms_list_end();
}


static ngx_uint_t
ngx_adm_room_is_stale(ngx_str_t *event, ngx_adm_room_t *room)
{
    ngx_adm_sale_set_t  set;

    ngx_adm_sale_known(event, &set);

    return !room->active
           && set.opens < 0
           && room->updated - room->changed > NGX_ADM_ROOM_STALE;
}


/*
 * The set is in another cluster slot, maybe at another node: what happened to
 * the event between the look and the removal is found by a second look after
 * it.
 */

static void
ngx_adm_room_unlisted(void *data, ngx_int_t rc, redisReply *reply)
{
    ngx_adm_errand_t  *errand = data;

    ngx_uint_t             background;
    ngx_adm_redis_call_t  *call;

    background = ngx_adm_redis_background(ngx_adm_redis, 1);

    call = ngx_adm_room_calls_admin(NGX_ADM_ROOM_CALL_LOOK, 0, &errand->event,
                                    errand->conf, ngx_adm_room_again, errand);

    ngx_adm_redis_background(ngx_adm_redis, background);

    if (call == NULL) {
        ngx_adm_room_again(errand, NGX_ERROR, 0, NULL);
    }
}


static void
ngx_adm_room_again(void *data, ngx_int_t rc, int64_t changed,
    ngx_adm_room_t *room)
{
    ngx_adm_errand_t  *errand = data;

    /* if it should not be listed it is not, and is not looked at again */

    if (rc != NGX_OK || !ngx_adm_room_is_stale(&errand->event, room)) {
        ngx_adm_room_listed_again(&errand->event);
    }

    ngx_adm_errand_free(&ngx_adm_room_looks, errand);
}


/*
 * an event that was not found is known to be inactive only when all was looked
 * at
 */

static void
ngx_adm_rooms_list_end(void)
{
    if (--ngx_adm_rooms_looking.out) {
        return;
    }

    ngx_adm_rooms_looking.under_way = 0;

    if (!ngx_adm_rooms_looking.failed
        && !ngx_adm_room_looks.more
        && ngx_adm_rooms_configured())
    {
        ngx_adm_rooms_listed(ngx_adm_now_us()
            - (int64_t) (ngx_current_msec - ngx_adm_rooms_looking.last) * 1000);
    }
}


static void
ngx_adm_rooms_on(void)
{
    ngx_rbtree_t  *events;

    events = &ngx_adm_rooms_conf->events;

    ngx_adm_rooms_config.next = (events->root == events->sentinel)
        ? NULL : ngx_rbtree_min(events->root, events->sentinel);

    ngx_adm_rooms_config.last = ngx_current_msec;
    ngx_adm_rooms_config.failed = 0;
    ngx_adm_rooms_config.under_way = 1;

    ngx_adm_rooms_on_next();
}


static void
ngx_adm_rooms_on_next(void)
{
    ngx_rbtree_node_t     *node;
    ngx_adm_event_conf_t  *conf;

    while (ngx_adm_rooms_config.next
           && ngx_adm_rooms_config.out
              < NGX_ADM_ROOM_CONFIGS)
    {
        node = ngx_adm_rooms_config.next;

        ngx_adm_rooms_config.next = ngx_rbtree_next(&ngx_adm_rooms_conf->events,
                                                    node);

        conf = (ngx_adm_event_conf_t *) node;

        if (!ngx_adm_room_is_kept(conf)) {
            continue;
        }

        if (ngx_adm_room_calls_admin(NGX_ADM_ROOM_CALL_CONFIG_ON, 0,
                                     &conf->sn.str, conf, ngx_adm_rooms_on_done,
                                     NULL) == NULL)
        {
            ngx_adm_rooms_config.failed = 1;
            ngx_adm_rooms_config.next = NULL;
            break;
        }

        ngx_adm_rooms_config.out++;
    }

    if (ngx_adm_rooms_config.out) {
        return;
    }

    ngx_adm_rooms_config.under_way = 0;

    if (!ngx_adm_rooms_config.failed) {
        ngx_adm_rooms_configure(1);
    }
}


static void
ngx_adm_rooms_on_done(void *data, ngx_int_t rc, int64_t changed,
    ngx_adm_room_t *room)
{
    ngx_adm_rooms_config.out--;

    if (rc != NGX_OK) {
        ngx_adm_rooms_config.failed = 1;
    }

    ngx_adm_redis_background(ngx_adm_redis, 1);
    ngx_adm_rooms_on_next();
    ngx_adm_redis_background(ngx_adm_redis, 0);
}
