
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The part of the schedule that is about waiting rooms: it steps those that
 * are active, looks at what other hosts say is active, and carries out
 * vwr=on of the configuration.  Only the worker with the lease does.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>
#include <ngx_http.h>

#include "ngx_http_admission_args.h"
#include "ngx_http_admission_rooms.h"
#include "ngx_http_admission_schedule_rooms.h"
#include "ngx_http_admission_slots.h"
#include "ngx_http_admission_vwr.h"
#include "ngx_http_admission_zone.h"


#define NGX_HTTP_ADMISSION_ROOM_STEP       200      /* ms between steps; with
                                                       that of the schedule's
                                                       timer four a second */
#define NGX_HTTP_ADMISSION_ROOM_STEPS      128      /* out at once */
#define NGX_HTTP_ADMISSION_ROOM_WAIT       2000     /* ms, for one that does
                                                       not come back */
#define NGX_HTTP_ADMISSION_ROOM_RETRY      500      /* ms, after a failure */
#define NGX_HTTP_ADMISSION_ROOMS_LIST      500      /* ms between looks at
                                                       vwr:active-events */
#define NGX_HTTP_ADMISSION_ROOM_LOOKS      256      /* events, at each */
#define NGX_HTTP_ADMISSION_ROOM_STALE      2000000  /* us, inactive, before it
                                                       leaves that set */
#define NGX_HTTP_ADMISSION_ROOM_CONFIGS    64       /* out at once */


static ngx_http_admission_event_conf_t *ngx_http_admission_room_conf(
    ngx_str_t *event);

static void ngx_http_admission_rooms_step(ngx_log_t *log);
static void ngx_http_admission_room_step(ngx_str_t *event);
static void ngx_http_admission_room_stepped(void *data, ngx_int_t rc,
    ngx_http_admission_room_t *room);
static void ngx_http_admission_rooms_report(void);

static void ngx_http_admission_rooms_list(void);
static void ngx_http_admission_rooms_list_done(void *data, ngx_int_t rc,
    redisReply *reply);
static void ngx_http_admission_room_look(redisReply *element);
static void ngx_http_admission_room_looked(void *data, ngx_int_t rc,
    int64_t changed, ngx_http_admission_room_t *room);
static void ngx_http_admission_rooms_list_end(void);

static void ngx_http_admission_rooms_on(void);
static void ngx_http_admission_rooms_on_next(void);
static void ngx_http_admission_rooms_on_done(void *data, ngx_int_t rc,
    int64_t changed, ngx_http_admission_room_t *room);


static ngx_http_admission_main_conf_t   *ngx_http_admission_rooms_conf;
static ngx_http_admission_slots_t        ngx_http_admission_room_steps;
static ngx_http_admission_slots_t        ngx_http_admission_room_looks;


/* a look at the set: out, the events to be looked at after it too */
static struct {
    ngx_msec_t                          last;
    ngx_uint_t                          out;
    unsigned                            under_way:1;
    unsigned                            failed:1;
} ngx_http_admission_rooms_looking;


/* vwr=on: how far it got through the events of the configuration */
static struct {
    ngx_rbtree_node_t                  *next;
    ngx_msec_t                          last;
    ngx_uint_t                          out;
    unsigned                            under_way:1;
    unsigned                            failed:1;
} ngx_http_admission_rooms_config;


ngx_int_t
ngx_http_admission_schedule_rooms_start(ngx_cycle_t *cycle,
    ngx_http_admission_main_conf_t *mcf)
{
    ngx_http_admission_rooms_conf = mcf;

    ngx_http_admission_rooms_looking.last = ngx_current_msec
                                            - NGX_HTTP_ADMISSION_ROOMS_LIST;
    ngx_http_admission_rooms_config.last = ngx_current_msec
                                           - NGX_HTTP_ADMISSION_ROOM_RETRY;

    if (ngx_http_admission_slots_init(cycle, &ngx_http_admission_room_steps,
                                      NGX_HTTP_ADMISSION_ROOM_STEPS)
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    return ngx_http_admission_slots_init(cycle,
                                         &ngx_http_admission_room_looks,
                                         NGX_HTTP_ADMISSION_ROOM_LOOKS);
}


void
ngx_http_admission_schedule_rooms(ngx_log_t *log)
{
    /* ahead of the look at the set, which then finds them */

    if (!ngx_http_admission_rooms_configured()
        && !ngx_http_admission_rooms_config.under_way
        && ngx_current_msec - ngx_http_admission_rooms_config.last
           >= NGX_HTTP_ADMISSION_ROOM_RETRY)
    {
        ngx_http_admission_rooms_on();
    }

    if (!ngx_http_admission_rooms_looking.under_way
        && (ngx_http_admission_room_looks.more
            || ngx_current_msec - ngx_http_admission_rooms_looking.last
               >= NGX_HTTP_ADMISSION_ROOMS_LIST))
    {
        ngx_http_admission_rooms_list();
    }

    ngx_http_admission_rooms_step(log);
    ngx_http_admission_rooms_report();
}


/* what the API activated is an event, listed or not */

static ngx_http_admission_event_conf_t *
ngx_http_admission_room_conf(ngx_str_t *event)
{
    ngx_http_admission_event_conf_t  *conf;

    conf = ngx_http_admission_event_conf(ngx_http_admission_rooms_conf, event);

    return conf ? conf : &ngx_http_admission_rooms_conf->event_default;
}


static void
ngx_http_admission_rooms_step(ngx_log_t *log)
{
    ngx_str_t    *id;
    ngx_uint_t    i;
    ngx_pool_t   *pool;
    ngx_array_t   ids;

    if (ngx_http_admission_room_steps.nfree == 0) {
        return;
    }

    pool = ngx_create_pool(1024, log);
    if (pool == NULL) {
        return;
    }

    if (ngx_array_init(&ids, pool, 8, sizeof(ngx_str_t)) == NGX_OK) {

        (void) ngx_http_admission_rooms_due(pool, &ids,
                                         ngx_http_admission_room_steps.nfree,
                                         NGX_HTTP_ADMISSION_ROOM_WAIT);

        ngx_http_admission_room_steps.more =
            (ids.nelts == ngx_http_admission_room_steps.nfree);

        id = ids.elts;

        for (i = 0; i < ids.nelts; i++) {
            ngx_http_admission_room_step(&id[i]);
        }
    }

    ngx_destroy_pool(pool);
}


static void
ngx_http_admission_room_step(ngx_str_t *event)
{
    ngx_http_admission_slot_t  *slot;

    slot = ngx_http_admission_slot_take(&ngx_http_admission_room_steps, event,
                                        ngx_http_admission_room_conf(event));
    if (slot == NULL) {
        return;
    }

    if (ngx_http_admission_vwr_step(event, slot->conf,
                                    ngx_http_admission_room_stepped, slot)
        == NULL)
    {
        ngx_http_admission_room_next(event, NGX_HTTP_ADMISSION_ROOM_STEP);
        ngx_http_admission_slot_free(&ngx_http_admission_room_steps, slot);
    }
}


static void
ngx_http_admission_room_stepped(void *data, ngx_int_t rc,
    ngx_http_admission_room_t *room)
{
    ngx_http_admission_slot_t  *slot = data;

    ngx_msec_t  elapsed;

    elapsed = ngx_current_msec - slot->issued;

    ngx_http_admission_room_next(&slot->event,
                                 elapsed < NGX_HTTP_ADMISSION_ROOM_STEP
                                 ? NGX_HTTP_ADMISSION_ROOM_STEP - elapsed : 0);

    ngx_http_admission_slot_free(&ngx_http_admission_room_steps, slot);

    /* many rooms do not wait for the timer, once there is an answer */

    if (rc == NGX_OK
        && ngx_http_admission_room_steps.more
        && ngx_http_admission_room_steps.nfree
           >= NGX_HTTP_ADMISSION_ROOM_STEPS / 2
        && !ngx_exiting)
    {
        ngx_http_admission_redis_background(ngx_http_admission_redis(), 1);
        ngx_http_admission_rooms_step(ngx_cycle->log);
        ngx_http_admission_redis_background(ngx_http_admission_redis(), 0);
    }
}


static void
ngx_http_admission_rooms_report(void)
{
    ngx_uint_t  n;

    n = ngx_http_admission_rooms_lost();

    if (n) {
        ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                      "admission: the zone is too small for all active "
                      "waiting rooms, %ui answers about others could not be "
                      "kept: make \"admission_zone\" larger", n);
    }
}


/* what is active by what other hosts, and those of before, have added */

static void
ngx_http_admission_rooms_list(void)
{
    ngx_http_admission_rooms_looking.last = ngx_current_msec;
    ngx_http_admission_room_looks.more = 0;

    if (ngx_http_admission_vwr_list(ngx_http_admission_rooms_list_done, NULL)
        == NULL)
    {
        return;
    }

    ngx_http_admission_rooms_looking.under_way = 1;
    ngx_http_admission_rooms_looking.failed = 0;
    ngx_http_admission_rooms_looking.out = 1;
}


static void
ngx_http_admission_rooms_list_done(void *data, ngx_int_t rc,
    redisReply *reply)
{
    size_t  i;

    if (rc != NGX_OK || reply->type != REDIS_REPLY_ARRAY) {
        ngx_http_admission_rooms_looking.failed = 1;

    } else {
        ngx_http_admission_redis_background(ngx_http_admission_redis(), 1);

        for (i = 0; i < reply->elements; i++) {
            ngx_http_admission_room_look(reply->element[i]);
        }

        ngx_http_admission_redis_background(ngx_http_admission_redis(), 0);
    }

    ngx_http_admission_rooms_list_end();
}


static void
ngx_http_admission_room_look(redisReply *element)
{
    u_char                      buf[NGX_HTTP_ADMISSION_EVENT_MAX];
    ngx_str_t                   id;
    ngx_http_admission_slot_t  *slot;

    if (ngx_http_admission_reply_event(element, &id, buf) != NGX_OK) {
        return;
    }

    if (ngx_http_admission_room_listed(&id)) {
        return;
    }

    slot = ngx_http_admission_slot_take(&ngx_http_admission_room_looks, &id,
                                        ngx_http_admission_room_conf(&id));
    if (slot == NULL) {
        ngx_http_admission_room_looks.more = 1;
        return;
    }

    if (ngx_http_admission_vwr_admin(NGX_HTTP_ADMISSION_VWR_LOOK, 0, &id,
                                     slot->conf,
                                     ngx_http_admission_room_looked, slot)
        == NULL)
    {
        ngx_http_admission_rooms_looking.failed = 1;
        ngx_http_admission_slot_free(&ngx_http_admission_room_looks, slot);
        return;
    }

    ngx_http_admission_rooms_looking.out++;
}


/*
 * An event that is inactive leaves the set, but not in the moment in which
 * another host, having put it there, is about to activate it.
 */

static void
ngx_http_admission_room_looked(void *data, ngx_int_t rc, int64_t changed,
    ngx_http_admission_room_t *room)
{
    ngx_http_admission_slot_t  *slot = data;

    if (rc != NGX_OK) {
        ngx_http_admission_rooms_looking.failed = 1;

    } else if (!room->active
               && room->updated - room->changed
                  > NGX_HTTP_ADMISSION_ROOM_STALE)
    {
        ngx_http_admission_vwr_unlist(&slot->event);
    }

    ngx_http_admission_slot_free(&ngx_http_admission_room_looks, slot);

    ngx_http_admission_rooms_list_end();
}


/* events are known to be inactive only once all of that is known */

static void
ngx_http_admission_rooms_list_end(void)
{
    if (--ngx_http_admission_rooms_looking.out) {
        return;
    }

    ngx_http_admission_rooms_looking.under_way = 0;

    if (!ngx_http_admission_rooms_looking.failed
        && !ngx_http_admission_room_looks.more
        && ngx_http_admission_rooms_configured())
    {
        ngx_http_admission_rooms_listed(ngx_http_admission_now_us()
            - (int64_t) (ngx_current_msec
                         - ngx_http_admission_rooms_looking.last) * 1000);
    }
}


static void
ngx_http_admission_rooms_on(void)
{
    ngx_rbtree_t  *events;

    events = &ngx_http_admission_rooms_conf->events;

    ngx_http_admission_rooms_config.next =
        (events->root == events->sentinel)
        ? NULL : ngx_rbtree_min(events->root, events->sentinel);

    ngx_http_admission_rooms_config.last = ngx_current_msec;
    ngx_http_admission_rooms_config.failed = 0;
    ngx_http_admission_rooms_config.under_way = 1;

    ngx_http_admission_rooms_on_next();
}


static void
ngx_http_admission_rooms_on_next(void)
{
    ngx_rbtree_node_t                *node;
    ngx_http_admission_event_conf_t  *conf;

    while (ngx_http_admission_rooms_config.next
           && ngx_http_admission_rooms_config.out
              < NGX_HTTP_ADMISSION_ROOM_CONFIGS)
    {
        node = ngx_http_admission_rooms_config.next;

        ngx_http_admission_rooms_config.next =
            ngx_rbtree_next(&ngx_http_admission_rooms_conf->events, node);

        conf = (ngx_http_admission_event_conf_t *) node;

        if (conf->vwr != NGX_HTTP_ADMISSION_VWR_ON) {
            continue;
        }

        if (ngx_http_admission_vwr_admin(NGX_HTTP_ADMISSION_VWR_CONFIG_ON, 0,
                                         &conf->sn.str, conf,
                                         ngx_http_admission_rooms_on_done,
                                         NULL)
            == NULL)
        {
            ngx_http_admission_rooms_config.failed = 1;
            ngx_http_admission_rooms_config.next = NULL;
            break;
        }

        ngx_http_admission_rooms_config.out++;
    }

    if (ngx_http_admission_rooms_config.out) {
        return;
    }

    ngx_http_admission_rooms_config.under_way = 0;

    if (!ngx_http_admission_rooms_config.failed) {
        ngx_http_admission_rooms_configure(1);
    }
}


static void
ngx_http_admission_rooms_on_done(void *data, ngx_int_t rc, int64_t changed,
    ngx_http_admission_room_t *room)
{
    ngx_http_admission_rooms_config.out--;

    if (rc != NGX_OK) {
        ngx_http_admission_rooms_config.failed = 1;
    }

    ngx_http_admission_redis_background(ngx_http_admission_redis(), 1);
    ngx_http_admission_rooms_on_next();
    ngx_http_admission_redis_background(ngx_http_admission_redis(), 0);
}
