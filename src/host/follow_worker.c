
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Answers of an event are kept until they are some, or for a moment: those of a
 * worker that is killed meanwhile are lost.  Of requests under way the zone is
 * to know those that take long, which few do.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>

#include "../base/clock.h"
#include "../base/timer.h"
#include "follow.h"
#include "follow_worker.h"


#define NGX_ADM_FOLLOW_FLUSH    50       /* ms */
#define NGX_ADM_FOLLOW_LONG     500      /* ms: half of what is late, as in
                                            lua/follow_lib.lua */
#define NGX_ADM_FOLLOW_BATCHES  8        /* events at a time, by their ids */
#define NGX_ADM_FOLLOW_SAMPLES  32


/* of one event */
typedef struct {
    ngx_uint_t         n;
    size_t             len;
    u_char             id[NGX_ADM_EVENT_MAX];
    ngx_adm_sample_t   samples[NGX_ADM_FOLLOW_SAMPLES];
} ngx_adm_follow_batch_t;


static void ngx_adm_follow_keep(ngx_str_t *event, ngx_adm_sample_t *sample);
static void ngx_adm_follow_batch_tell(ngx_adm_follow_batch_t *batch);
static void ngx_adm_follow_later(void);
static void ngx_adm_follow_timer(ngx_event_t *ev);


static ngx_adm_follow_batch_t  ngx_adm_follow_batches[NGX_ADM_FOLLOW_BATCHES];

/* requests of which the zone does not know, the oldest first */
static ngx_queue_t  ngx_adm_follow_requests = {
    &ngx_adm_follow_requests, &ngx_adm_follow_requests };

static ngx_event_t  ngx_adm_follow_flusher;


/* users of the same one count as one: nobody gains anything by that */

uint32_t
ngx_adm_follow_hash(ngx_str_t *who)
{
    return ngx_adm_hash_quick(&ngx_adm_zone->sh->hash_key, who->data,
                              who->len);
}


void
ngx_adm_follow_begin(ngx_adm_follow_request_t *request)
{
    request->since = ngx_current_msec;
    request->told = 0;

    ngx_queue_insert_tail(&ngx_adm_follow_requests, &request->queue);

    ngx_adm_follow_later();
}


void
ngx_adm_follow_end(ngx_adm_follow_request_t *request, ngx_adm_sample_t *sample)
{
    if (!request->told) {
        ngx_queue_remove(&request->queue);

    } else if (ngx_adm_zone) {
        ngx_adm_follow_close(&request->event, request->user, request->since);
    }

    if (sample) {
        sample->user = request->user;
        ngx_adm_follow_keep(&request->event, sample);
    }
}


static void
ngx_adm_follow_keep(ngx_str_t *event, ngx_adm_sample_t *sample)
{
    ngx_adm_follow_batch_t  *batch;

    batch = &ngx_adm_follow_batches[event->data[event->len - 1]
                                    % NGX_ADM_FOLLOW_BATCHES];

    if (batch->n
        && (batch->len != event->len
            || ngx_memcmp(batch->id, event->data, event->len) != 0))
    {
        ngx_adm_follow_batch_tell(batch);
    }

    if (batch->n == 0) {
        batch->len = event->len;
        ngx_memcpy(batch->id, event->data, event->len);

        ngx_adm_follow_later();
    }

    batch->samples[batch->n++] = *sample;

    if (batch->n == NGX_ADM_FOLLOW_SAMPLES) {
        ngx_adm_follow_batch_tell(batch);
    }
}


static void
ngx_adm_follow_batch_tell(ngx_adm_follow_batch_t *batch)
{
    ngx_str_t  event;

    event.len = batch->len;
    event.data = batch->id;

    /* a process that is the only one may have no zone any more */

    if (ngx_adm_zone) {
        ngx_adm_follow_add(&event, batch->samples, batch->n);
    }

    batch->n = 0;
}


void
ngx_adm_follow_flush(void)
{
    ngx_uint_t                 i;
    ngx_queue_t               *q;
    ngx_adm_follow_request_t  *request;

    for (i = 0; i < NGX_ADM_FOLLOW_BATCHES; i++) {
        if (ngx_adm_follow_batches[i].n) {
            ngx_adm_follow_batch_tell(&ngx_adm_follow_batches[i]);
        }
    }

    while (ngx_adm_zone && !ngx_queue_empty(&ngx_adm_follow_requests)) {

        q = ngx_queue_head(&ngx_adm_follow_requests);
        request = ngx_queue_data(q, ngx_adm_follow_request_t, queue);

        if (ngx_current_msec - request->since < NGX_ADM_FOLLOW_LONG) {
            break;
        }

        ngx_queue_remove(q);
        request->told = 1;

        ngx_adm_follow_open(&request->event, request->user, request->since);
    }
}


static void
ngx_adm_follow_later(void)
{
    ngx_event_t  *ev;

    ev = &ngx_adm_follow_flusher;

    if (ev->timer_set) {
        return;
    }

    ngx_adm_timer_init(ev, ngx_adm_follow_timer, ngx_cycle->log);
    ev->cancelable = 1;

    ngx_add_timer(ev, NGX_ADM_FOLLOW_FLUSH);
}


static void
ngx_adm_follow_timer(ngx_event_t *ev)
{
    ngx_adm_follow_flush();

    if (!ngx_queue_empty(&ngx_adm_follow_requests)) {
        ngx_adm_follow_later();
    }
}
