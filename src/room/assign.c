
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Positions for requests.  Requests of a worker about one event that come in
 * one turn of the event loop, or while the call before is out, share the next
 * call, and get its positions in the order in which they asked.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>

#include "../base/by_id.h"
#include "../host/line.h"
#include "calls.h"


/* an event for which positions are asked; freed when all have been told */
typedef struct {
    ngx_str_node_t             sn;       /* str: the id */
    ngx_adm_event_conf_t      *conf;
    ngx_uint_t                 unbound;  /* bool */
    ngx_queue_t                waiting;
    ngx_queue_t                out;      /* asked by the call */
    ngx_uint_t                 wanted;   /* by so many in both queues */
    ngx_adm_redis_call_t      *call;
    ngx_event_t                send;     /* posted */
    ngx_event_t                late;     /* timer: the first deadline */
    u_char                     id[1];
} ngx_adm_assigns_t;


struct ngx_adm_assign_s {
    ngx_queue_t                queue;
    ngx_adm_assigns_t         *all;      /* of its event */
    ngx_msec_t                 deadline;
    ngx_adm_assign_done_pt     done;     /* NULL: cancelled, or told that it is
                                            late */
    void                      *data;
};


static ngx_adm_assigns_t *ngx_adm_assigns(ngx_str_t *event,
    ngx_uint_t unbound);
static void ngx_adm_assigns_send(ngx_event_t *ev);
static ngx_uint_t ngx_adm_assigns_take(ngx_adm_assigns_t *aa);
static void ngx_adm_assigns_done(void *data, ngx_int_t rc,
    ngx_adm_issued_t *issued, ngx_adm_room_t *room);
static void ngx_adm_assigns_next(ngx_adm_assigns_t *aa);
static void ngx_adm_assigns_less(ngx_adm_assign_t *as);
static void ngx_adm_assigns_timer(ngx_adm_assigns_t *aa, ngx_msec_t deadline);
static void ngx_adm_assigns_late(ngx_event_t *ev);
static void ngx_adm_assigns_give_up(ngx_adm_assigns_t *aa, ngx_queue_t *queue);


static ngx_adm_by_id_t  ngx_adm_assign_events;


ngx_adm_assign_t *
ngx_adm_room_assign(ngx_str_t *event, ngx_adm_event_conf_t *conf,
    ngx_msec_t deadline, ngx_uint_t unbound, ngx_adm_assign_done_pt done,
    void *data)
{
    ngx_adm_assign_t   *as;
    ngx_adm_assigns_t  *aa;

    if (ngx_adm_redis == NULL) {
        return NULL;
    }

    as = ngx_alloc(sizeof(ngx_adm_assign_t), ngx_cycle->log);
    if (as == NULL) {
        return NULL;
    }

    aa = ngx_adm_assigns(event, unbound);
    if (aa == NULL) {
        ngx_free(as);
        return NULL;
    }

    as->all = aa;
    as->deadline = deadline;
    as->done = done;
    as->data = data;

    aa->conf = conf;
    aa->late.cancelable = 0;
    aa->wanted++;

    ngx_queue_insert_tail(&aa->waiting, &as->queue);

    if (ngx_queue_empty(&aa->out)) {
        ngx_post_event(&aa->send, &ngx_posted_events);
    }

    ngx_adm_assigns_timer(aa, deadline);

    return as;
}


/* a position that the call has asked for already will be nobody's */

void
ngx_adm_room_assign_cancel(void *assign)
{
    ngx_adm_assign_t *as = assign;

    if (as->done) {
        ngx_adm_assigns_less(as);
    }
}


/*
 * One less waits; when nobody does, a worker that leaves need not wait for the
 * call.
 */

static void
ngx_adm_assigns_less(ngx_adm_assign_t *as)
{
    ngx_adm_assigns_t  *aa;

    aa = as->all;

    as->done = NULL;
    aa->wanted--;

    if (aa->wanted) {
        return;
    }

    aa->late.cancelable = 1;

    if (aa->call) {
        ngx_adm_redis_want(aa->call, 0);
    }
}


/*
 * of an event, those that are bound and those that are not do not share a call
 */

static ngx_adm_assigns_t *
ngx_adm_assigns(ngx_str_t *event, ngx_uint_t unbound)
{
    ngx_adm_assigns_t  *aa;

    aa = ngx_adm_by_id_find(&ngx_adm_assign_events, event, unbound);

    if (aa) {
        return aa;
    }

    aa = ngx_calloc(sizeof(ngx_adm_assigns_t) + event->len, ngx_cycle->log);
    if (aa == NULL) {
        return NULL;
    }

    aa->unbound = unbound;

    ngx_queue_init(&aa->waiting);
    ngx_queue_init(&aa->out);

    aa->send.handler = ngx_adm_assigns_send;
    aa->send.data = aa;
    aa->send.log = ngx_cycle->log;

    aa->late.handler = ngx_adm_assigns_late;
    aa->late.data = aa;
    aa->late.log = ngx_cycle->log;

    ngx_adm_by_id_add(&ngx_adm_assign_events, &aa->sn, event, unbound, aa->id);

    return aa;
}


static void
ngx_adm_assigns_send(ngx_event_t *ev)
{
    ngx_uint_t          n;
    ngx_adm_assigns_t  *aa;

    aa = ev->data;

    n = ngx_adm_assigns_take(aa);

    if (n == 0) {
        ngx_adm_assigns_next(aa);
        return;
    }

    aa->call = ngx_adm_room_calls_issue(&aa->sn.str, aa->conf, n, aa->unbound,
                                        NULL, ngx_adm_assigns_done, aa);
    if (aa->call == NULL) {
        ngx_adm_assigns_done(aa, NGX_ERROR, NULL, NULL);
    }
}


/* moves who waits to the call's queue, but for those who have gone away */

static ngx_uint_t
ngx_adm_assigns_take(ngx_adm_assigns_t *aa)
{
    ngx_uint_t         n;
    ngx_queue_t       *q;
    ngx_adm_assign_t  *as;

    n = 0;

    while (!ngx_queue_empty(&aa->waiting)) {
        q = ngx_queue_head(&aa->waiting);
        ngx_queue_remove(q);

        as = ngx_queue_data(q, ngx_adm_assign_t, queue);

        if (as->done == NULL) {
            ngx_free(as);
            continue;
        }

        ngx_queue_insert_tail(&aa->out, q);
        n++;
    }

    return n;
}


/*
 * Gives out the positions in the order of asking.  Those who are told may ask
 * again, or cancel others, meanwhile.
 */

static void
ngx_adm_assigns_done(void *data, ngx_int_t rc, ngx_adm_issued_t *issued,
    ngx_adm_room_t *room)
{
    ngx_adm_assigns_t  *aa = data;

    int64_t                  position, at;
    ngx_uint_t               full, left;
    ngx_queue_t             *q;
    ngx_adm_assign_t        *as;
    ngx_adm_assign_done_pt   done;

    aa->call = NULL;

    position = issued ? issued->first : 0;
    at = issued ? issued->at : 0;
    full = issued ? issued->full : NGX_ADM_LINE_OPEN;
    left = position ? issued->issued : 0;

    while (!ngx_queue_empty(&aa->out)) {
        q = ngx_queue_head(&aa->out);

        as = ngx_queue_data(q, ngx_adm_assign_t, queue);

        done = as->done;

        if (done) {
            ngx_adm_assigns_less(as);

            if (left) {
                done(as->data, rc, position, at, NGX_ADM_LINE_OPEN, room);

            } else {
                done(as->data, rc, 0, 0, full, room);
            }
        }

        /* removed last: while the queue is not empty nothing is sent */

        ngx_queue_remove(q);
        ngx_free(as);

        if (left) {
            left--;
            position++;
            at++;
        }
    }

    ngx_adm_assigns_next(aa);
}


static void
ngx_adm_assigns_next(ngx_adm_assigns_t *aa)
{
    if (!ngx_queue_empty(&aa->waiting)) {
        ngx_post_event(&aa->send, &ngx_posted_events);
        return;
    }

    if (aa->late.timer_set) {
        ngx_del_timer(&aa->late);
    }

    ngx_adm_by_id_delete(&ngx_adm_assign_events, &aa->sn);
    ngx_free(aa);
}


/* moves a timer even if it is only a little too late, unlike ngx_add_timer() */

static void
ngx_adm_assigns_timer(ngx_adm_assigns_t *aa, ngx_msec_t deadline)
{
    ngx_msec_int_t  left;

    if (aa->late.timer_set) {

        if ((ngx_msec_int_t) (deadline - aa->late.timer.key) >= 0) {
            return;
        }

        ngx_del_timer(&aa->late);
    }

    left = (ngx_msec_int_t) (deadline - ngx_current_msec);

    ngx_add_timer(&aa->late, (ngx_msec_t) ngx_max(left, 0));
}


/*
 * Who waits for the next call may be late as well: the one before it may have
 * been out for long.
 */

static void
ngx_adm_assigns_late(ngx_event_t *ev)
{
    ngx_adm_assigns_t *aa = ev->data;

    ngx_adm_assigns_give_up(aa, &aa->out);
    ngx_adm_assigns_give_up(aa, &aa->waiting);
}


static void
ngx_adm_assigns_give_up(ngx_adm_assigns_t *aa, ngx_queue_t *queue)
{
    ngx_queue_t             *q;
    ngx_adm_assign_t        *as;
    ngx_adm_assign_done_pt   done;

    for (q = ngx_queue_head(queue);
         q != ngx_queue_sentinel(queue);
         q = ngx_queue_next(q))
    {
        as = ngx_queue_data(q, ngx_adm_assign_t, queue);

        if (as->done == NULL) {
            continue;
        }

        if ((ngx_msec_int_t) (as->deadline - ngx_current_msec) > 0) {
            ngx_adm_assigns_timer(aa, as->deadline);
            continue;
        }

        /*
         * the callee may ask, or cancel others: none of them is freed from
         * here
         */

        done = as->done;
        ngx_adm_assigns_less(as);

        done(as->data, NGX_ERROR, 0, 0, NGX_ADM_LINE_OPEN, NULL);
    }
}
