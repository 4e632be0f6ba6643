
/*
 * Copyright (C) 2026 the admission module authors
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_admission_slots.h"


ngx_int_t
ngx_http_admission_slots_init(ngx_cycle_t *cycle,
    ngx_http_admission_slots_t *slots, ngx_uint_t n)
{
    ngx_uint_t                  i;
    ngx_http_admission_slot_t  *slot;

    slot = ngx_pcalloc(cycle->pool, n * sizeof(ngx_http_admission_slot_t));
    if (slot == NULL) {
        return NGX_ERROR;
    }

    ngx_queue_init(&slots->free);

    for (i = 0; i < n; i++) {
        ngx_queue_insert_tail(&slots->free, &slot[i].queue);
    }

    slots->nfree = n;

    return NGX_OK;
}


ngx_http_admission_slot_t *
ngx_http_admission_slot_take(ngx_http_admission_slots_t *slots,
    ngx_str_t *event, ngx_http_admission_event_conf_t *conf)
{
    ngx_queue_t                *q;
    ngx_http_admission_slot_t  *slot;

    if (slots->nfree == 0) {
        return NULL;
    }

    q = ngx_queue_head(&slots->free);
    ngx_queue_remove(q);
    slots->nfree--;

    slot = ngx_queue_data(q, ngx_http_admission_slot_t, queue);

    slot->issued = ngx_current_msec;
    slot->conf = conf;
    slot->event.len = event->len;
    slot->event.data = slot->id;
    ngx_memcpy(slot->id, event->data, event->len);

    return slot;
}


void
ngx_http_admission_slot_free(ngx_http_admission_slots_t *slots,
    ngx_http_admission_slot_t *slot)
{
    ngx_queue_insert_head(&slots->free, &slot->queue);
    slots->nfree++;
}
