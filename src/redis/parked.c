
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The parked calls, the timer of the one that is due first, and their release:
 * each by its time, or all at once by news.  A call that is parked again while
 * it is being released waits for the next time.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>

#include "../base/timer.h"
#include "parked.h"


static void ngx_adm_redis_parked_timer(ngx_event_t *ev);
static void ngx_adm_redis_parked_posted(ngx_event_t *ev);
static void ngx_adm_redis_parked_look(ngx_adm_redis_parked_t *parked,
    ngx_uint_t all);
static void ngx_adm_redis_parked_arm(ngx_adm_redis_parked_t *parked);


void
ngx_adm_redis_parked_init(ngx_adm_redis_parked_t *parked, ngx_log_t *log)
{
    ngx_queue_init(&parked->calls);

    ngx_adm_timer_init(&parked->timer, ngx_adm_redis_parked_timer, log);

    parked->posted.handler = ngx_adm_redis_parked_posted;
    parked->posted.data = parked;
    parked->posted.log = log;
}


void
ngx_adm_redis_park(ngx_adm_redis_parked_t *parked, ngx_adm_redis_call_t *call,
    ngx_msec_t ms)
{
    call->again = ngx_current_msec + ms;

    if ((ngx_msec_int_t) (call->deadline - call->again) < 0) {
        call->again = call->deadline;
    }

    ngx_queue_insert_tail(&parked->calls, &call->queue);

    /* a timer that comes early sets itself again */

    if (ngx_exiting
        || !parked->timer.timer_set
        || (ngx_msec_int_t) (call->again - parked->timer.timer.key) < 0)
    {
        ngx_adm_redis_parked_arm(parked);
    }
}


void
ngx_adm_redis_parked_news(ngx_adm_redis_parked_t *parked)
{
    if (!ngx_queue_empty(&parked->calls)) {
        ngx_post_event(&parked->posted, &ngx_posted_events);
    }
}


void
ngx_adm_redis_parked_close(ngx_adm_redis_parked_t *parked)
{
    ngx_queue_t           *q;
    ngx_adm_redis_call_t  *call;

    while (!ngx_queue_empty(&parked->calls)) {
        q = ngx_queue_head(&parked->calls);
        ngx_queue_remove(q);

        call = ngx_queue_data(q, ngx_adm_redis_call_t, queue);
        parked->release(call, 1);
    }

    if (parked->timer.timer_set) {
        ngx_del_timer(&parked->timer);
    }

    if (parked->posted.posted) {
        ngx_delete_posted_event(&parked->posted);
    }
}


void
ngx_adm_redis_parked_leave(ngx_adm_redis_parked_t *parked)
{
    ngx_adm_redis_parked_arm(parked);
}


static void
ngx_adm_redis_parked_timer(ngx_event_t *ev)
{
    ngx_adm_redis_parked_t  *parked;

    parked = ngx_queue_data(ev, ngx_adm_redis_parked_t, timer);

    ngx_adm_redis_parked_look(parked, 0);
}


static void
ngx_adm_redis_parked_posted(ngx_event_t *ev)
{
    ngx_adm_redis_parked_look(ev->data, 1);
}


static void
ngx_adm_redis_parked_look(ngx_adm_redis_parked_t *parked, ngx_uint_t all)
{
    ngx_uint_t             late;
    ngx_queue_t            due, *q;
    ngx_adm_redis_call_t  *call;

    ngx_queue_init(&due);

    q = ngx_queue_head(&parked->calls);

    while (q != ngx_queue_sentinel(&parked->calls)) {
        call = ngx_queue_data(q, ngx_adm_redis_call_t, queue);
        q = ngx_queue_next(q);

        if (all || (ngx_msec_int_t) (call->again - ngx_current_msec) <= 0) {
            ngx_queue_remove(&call->queue);
            ngx_queue_insert_tail(&due, &call->queue);
        }
    }

    /* "due" does not have those that come back to be parked */

    while (!ngx_queue_empty(&due)) {
        q = ngx_queue_head(&due);
        ngx_queue_remove(q);

        call = ngx_queue_data(q, ngx_adm_redis_call_t, queue);
        late = (ngx_msec_int_t) (call->deadline - ngx_current_msec) <= 0;

        parked->release(call, late);
    }

    ngx_adm_redis_parked_arm(parked);
}


/* sets the timer to the call that is due first */

static void
ngx_adm_redis_parked_arm(ngx_adm_redis_parked_t *parked)
{
    ngx_uint_t             idle;
    ngx_queue_t           *q;
    ngx_msec_int_t         left, min;
    ngx_adm_redis_call_t  *call;

    if (parked->timer.timer_set) {
        ngx_del_timer(&parked->timer);
    }

    if (ngx_queue_empty(&parked->calls)) {
        return;
    }

    idle = 1;
    min = NGX_MAX_INT32_VALUE;

    for (q = ngx_queue_head(&parked->calls);
         q != ngx_queue_sentinel(&parked->calls);
         q = ngx_queue_next(q))
    {
        call = ngx_queue_data(q, ngx_adm_redis_call_t, queue);
        left = (ngx_msec_int_t) (call->again - ngx_current_msec);
        min = ngx_min(min, left);

        if (!ngx_exiting || (call->done && !call->background)) {
            idle = 0;
        }
    }

    parked->timer.cancelable = idle;

    ngx_add_timer(&parked->timer, (ngx_msec_t) ngx_max(min, 0));
}
