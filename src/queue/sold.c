
/*
 * Copyright (C) 2026 the admission module authors
 *
 * A worker counts how many joins in a row Redis has refused, in a table of
 * fixed size by a hash of the event: an element taken by another event costs a
 * few questions more, which do no harm.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "../host/event_state.h"
#include "../host/event_work.h"
#include "../host/touch.h"
#include "sold.h"


#define NGX_ADM_SOLD_EVENTS  256
#define NGX_ADM_SOLD_ROW     8       /* refused in a row: then nobody is
                                        about to be found in the line */
#define NGX_ADM_SOLD_ASK     64      /* one in so many is asked about then */


typedef struct {
    uint32_t     hash;
    uint32_t     refused;            /* in a row, by Redis */
    uint32_t     unasked;            /* since one was asked about */
} ngx_adm_sold_t;


static ngx_adm_sold_t *ngx_adm_sold(ngx_adm_queue_ask_t *ask);


static ngx_adm_sold_t  ngx_adm_sold_events[NGX_ADM_SOLD_EVENTS];


ngx_uint_t
ngx_adm_sold_refuse(ngx_adm_queue_ask_t *ask)
{
    ngx_adm_sold_t  *sold;

    sold = ngx_adm_sold(ask);

    if (sold == NULL
        || sold->refused < NGX_ADM_SOLD_ROW
        || sold->unasked >= NGX_ADM_SOLD_ASK - 1
        || ngx_adm_in_touch() == 0
        || ngx_adm_is_watchful()
        || ngx_adm_event_seats(&ask->event, ask->conf) != NGX_ADM_SEATS_SOLD)
    {
        return 0;
    }

    sold->unasked++;

    return 1;
}


void
ngx_adm_sold_answered(ngx_adm_queue_ask_t *ask, ngx_adm_queue_state_e state)
{
    ngx_adm_sold_t  *sold;

    sold = ngx_adm_sold(ask);

    if (sold) {
        sold->refused = (state == NGX_ADM_QUEUE_SOLD_OUT) ? sold->refused + 1
                                                          : 0;
        sold->unasked = 0;
    }
}


/* NULL: who asks does not join, or shows what lets go on */

static ngx_adm_sold_t *
ngx_adm_sold(ngx_adm_queue_ask_t *ask)
{
    uint32_t         hash;
    ngx_adm_sold_t  *sold;

    if ((ask->mode != NGX_ADM_QUEUE_CHECK && ask->mode != NGX_ADM_QUEUE_REPORT)
        || ask->nplaces
        || ask->entry)
    {
        return NULL;
    }

    hash = ngx_crc32_short(ask->event.data, ask->event.len);
    sold = &ngx_adm_sold_events[hash % NGX_ADM_SOLD_EVENTS];

    if (sold->hash != hash) {
        ngx_memzero(sold, sizeof(ngx_adm_sold_t));
        sold->hash = hash;
    }

    return sold;
}
