
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The worker that holds the host's lease looks many times a second
 * for events that are due, and issues a step for each.  All timers are
 * cancelable: none of them keeps a leaving worker.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>
#include <ngx_http.h>

#include "ngx_http_admission_queue.h"
#include "ngx_http_admission_schedule.h"
#include "ngx_http_admission_schedule_rooms.h"
#include "ngx_http_admission_slots.h"
#include "ngx_http_admission_zone.h"


#define NGX_HTTP_ADMISSION_TICK         50      /* ms */
#define NGX_HTTP_ADMISSION_STEP_MAX     500     /* ms between steps, at most:
                                                   revocations come with them
                                                   and are to be known within
                                                   1 s; Redis takes 10 s
                                                   without any for a gap */
#define NGX_HTTP_ADMISSION_STEP_IDLE    800     /* ms, with nobody there: for
                                                   revocations alone */
#define NGX_HTTP_ADMISSION_KEEP         120000  /* ms that an event without
                                                   work is looked after, and
                                                   token_ttl */
#define NGX_HTTP_ADMISSION_STEPS        256     /* out at once */
#define NGX_HTTP_ADMISSION_STEP_WAIT    2000    /* ms, for one that does not
                                                   come back */
#define NGX_HTTP_ADMISSION_LEARN        500     /* ms between looks at
                                                   queue:active-events */


static void ngx_http_admission_schedule_tick(ngx_event_t *ev);
static void ngx_http_admission_schedule_steps(ngx_log_t *log);
static void ngx_http_admission_schedule_step(ngx_str_t *event);
static void ngx_http_admission_schedule_step_done(void *data, ngx_int_t rc,
    ngx_http_admission_queue_answer_t *answer);
static void ngx_http_admission_schedule_report(void);
static ngx_msec_t ngx_http_admission_schedule_interval(
    ngx_http_admission_event_conf_t *conf);

static void ngx_http_admission_schedule_learn(void);
static void ngx_http_admission_schedule_learned(void *data, ngx_int_t rc,
    redisReply *reply);


static ngx_http_admission_main_conf_t  *ngx_http_admission_schedule_conf;
static ngx_connection_t                 ngx_http_admission_schedule_dumb;
static ngx_event_t                      ngx_http_admission_schedule_timer;
static ngx_http_admission_slots_t       ngx_http_admission_schedule_slots;
static ngx_msec_t                       ngx_http_admission_schedule_looked;
static ngx_uint_t                       ngx_http_admission_schedule_looking;
static ngx_uint_t                       ngx_http_admission_schedule_holds;


ngx_int_t
ngx_http_admission_schedule_start(ngx_cycle_t *cycle,
    ngx_http_admission_main_conf_t *mcf)
{
    ngx_event_t  *ev;

    ngx_http_admission_schedule_conf = mcf;

    if (ngx_http_admission_slots_init(cycle,
                                      &ngx_http_admission_schedule_slots,
                                      NGX_HTTP_ADMISSION_STEPS)
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    ev = &ngx_http_admission_schedule_timer;

    /* NGINX's debug log of timers looks at the connection of an event */

    ngx_http_admission_schedule_dumb.fd = (ngx_socket_t) -1;

    ev->handler = ngx_http_admission_schedule_tick;
    ev->data = &ngx_http_admission_schedule_dumb;
    ev->log = cycle->log;
    ev->cancelable = 1;

    ngx_add_timer(ev, NGX_HTTP_ADMISSION_TICK);

    return ngx_http_admission_schedule_rooms_start(cycle, mcf);
}


void
ngx_http_admission_schedule_stop(void)
{
    if (ngx_http_admission_schedule_timer.timer_set) {
        ngx_del_timer(&ngx_http_admission_schedule_timer);
    }

    ngx_http_admission_lease_leave();
}


static void
ngx_http_admission_schedule_tick(ngx_event_t *ev)
{
    if (ngx_exiting) {

        /* the new workers go on, without waiting for the lease to run out */

        ngx_http_admission_lease_leave();
        ngx_http_admission_redis_leave(ngx_http_admission_redis());
        return;
    }

    ngx_add_timer(ev, NGX_HTTP_ADMISSION_TICK);

    if (!ngx_http_admission_lease_take()) {
        ngx_http_admission_schedule_holds = 0;
        return;
    }

    ngx_http_admission_redis_background(ngx_http_admission_redis(), 1);

    if (!ngx_http_admission_schedule_holds
        || ngx_current_msec - ngx_http_admission_schedule_looked
           >= NGX_HTTP_ADMISSION_LEARN)
    {
        ngx_http_admission_schedule_holds = 1;
        ngx_http_admission_schedule_learn();
    }

    ngx_http_admission_schedule_steps(ev->log);
    ngx_http_admission_schedule_rooms(ev->log);
    ngx_http_admission_schedule_report();

    ngx_http_admission_redis_background(ngx_http_admission_redis(), 0);
}


static void
ngx_http_admission_schedule_steps(ngx_log_t *log)
{
    ngx_str_t    *id;
    ngx_uint_t    i;
    ngx_pool_t   *pool;
    ngx_array_t   ids;

    if (ngx_http_admission_schedule_slots.nfree == 0) {
        return;
    }

    pool = ngx_create_pool(1024, log);
    if (pool == NULL) {
        return;
    }

    if (ngx_array_init(&ids, pool, 8, sizeof(ngx_str_t)) == NGX_OK) {

        (void) ngx_http_admission_events_due(pool, &ids,
                                     ngx_http_admission_schedule_slots.nfree,
                                     NGX_HTTP_ADMISSION_STEP_WAIT);

        id = ids.elts;

        for (i = 0; i < ids.nelts; i++) {
            ngx_http_admission_schedule_step(&id[i]);
        }
    }

    ngx_destroy_pool(pool);
}


static void
ngx_http_admission_schedule_step(ngx_str_t *event)
{
    ngx_http_admission_slot_t        *slot;
    ngx_http_admission_event_conf_t  *conf;

    conf = ngx_http_admission_event_conf(ngx_http_admission_schedule_conf,
                                         event);
    if (conf == NULL) {

        /* no longer an event here: nobody of this host is in its queue */

        ngx_http_admission_event_empty(event);
        (void) ngx_http_admission_event_next(event, 0,
                                             NGX_HTTP_ADMISSION_STEP_IDLE,
                                             NGX_HTTP_ADMISSION_KEEP);
        return;
    }

    slot = ngx_http_admission_slot_take(&ngx_http_admission_schedule_slots,
                                        event, conf);
    if (slot == NULL) {
        return;
    }

    if (ngx_http_admission_queue_step(event, conf,
                                      ngx_http_admission_schedule_step_done,
                                      slot)
        == NULL)
    {
        ngx_http_admission_slot_free(&ngx_http_admission_schedule_slots, slot);
    }
}


static void
ngx_http_admission_schedule_step_done(void *data, ngx_int_t rc,
    ngx_http_admission_queue_answer_t *answer)
{
    ngx_http_admission_slot_t  *slot = data;

    ngx_uint_t  work;
    ngx_msec_t  delay;

    work = 1;
    delay = ngx_http_admission_schedule_interval(slot->conf);

    if (rc == NGX_OK) {
        work = (answer->state != NGX_HTTP_ADMISSION_QUEUE_NOT_IN);

        if (answer->score) {
            delay = 0;

        } else if (!work) {
            delay = NGX_HTTP_ADMISSION_STEP_IDLE;
        }
    }

    if (ngx_http_admission_event_next(&slot->event, work, delay,
                                      NGX_HTTP_ADMISSION_KEEP
                                      + slot->conf->token_ttl))
    {
        /* who joins now adds it again, or did so within the minute */

        ngx_http_admission_queue_unlist(&slot->event);
    }

    if (delay == 0 && !ngx_exiting) {
        ngx_http_admission_redis_background(ngx_http_admission_redis(), 1);
        ngx_http_admission_schedule_step(&slot->event);
        ngx_http_admission_redis_background(ngx_http_admission_redis(), 0);
    }

    ngx_http_admission_slot_free(&ngx_http_admission_schedule_slots, slot);
}


static void
ngx_http_admission_schedule_report(void)
{
    int64_t     age;
    ngx_uint_t  n;

    if (ngx_http_admission_zone_made_anew()) {
        ngx_log_error(NGX_LOG_ALERT, ngx_cycle->log, 0,
                      "admission: a process died while it changed the zone, "
                      "which was emptied");
    }

    n = ngx_http_admission_revocations_lost(&age);

    if (n) {
        ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                      "admission: %ui revocations were forgotten early, entry "
                      "tokens older than %L s are asked for from redis: make "
                      "\"admission_zone\" larger", n, age);
    }
}


static ngx_msec_t
ngx_http_admission_schedule_interval(ngx_http_admission_event_conf_t *conf)
{
    return ngx_min(conf->admit_interval, NGX_HTTP_ADMISSION_STEP_MAX);
}


/* what other hosts have added; a host that died left its events here */

static void
ngx_http_admission_schedule_learn(void)
{
    ngx_http_admission_schedule_looked = ngx_current_msec;

    if (ngx_http_admission_schedule_looking) {
        return;
    }

    if (ngx_http_admission_queue_list(ngx_http_admission_schedule_learned,
                                      NULL)
        != NULL)
    {
        ngx_http_admission_schedule_looking = 1;
    }
}


static void
ngx_http_admission_schedule_learned(void *data, ngx_int_t rc,
    redisReply *reply)
{
    size_t       i;
    u_char       buf[NGX_HTTP_ADMISSION_EVENT_MAX];
    ngx_str_t    id;
    redisReply  *element;

    ngx_http_admission_schedule_looking = 0;

    if (rc != NGX_OK || reply->type != REDIS_REPLY_ARRAY) {
        return;
    }

    for (i = 0; i < reply->elements; i++) {
        element = reply->element[i];

        if (element->type != REDIS_REPLY_STRING) {
            continue;
        }

        id.len = element->len;
        id.data = (u_char *) element->str;

        if (ngx_http_admission_event_id(&id, buf) != NGX_OK) {
            continue;
        }

        id.data = buf;

        if (ngx_http_admission_event_conf(ngx_http_admission_schedule_conf,
                                          &id)
            == NULL)
        {
            continue;
        }

        (void) ngx_http_admission_event_watch(&id);
    }
}
