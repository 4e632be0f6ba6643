
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Errands that are free are in a queue: nothing is allocated to ask Redis.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "errands.h"


ngx_int_t
ngx_adm_errands_init(ngx_cycle_t *cycle, ngx_adm_errands_t *errands,
    ngx_uint_t n)
{
    ngx_uint_t                  i;
    ngx_adm_errand_t  *errand;

    errand = ngx_pcalloc(cycle->pool, n * sizeof(ngx_adm_errand_t));
    if (errand == NULL) {
        return NGX_ERROR;
    }

    ngx_queue_init(&errands->free);

    for (i = 0; i < n; i++) {
        ngx_queue_insert_tail(&errands->free, &errand[i].queue);
    }

    errands->nfree = n;

    return NGX_OK;
}


ngx_adm_errand_t *
ngx_adm_errand_take(ngx_adm_errands_t *errands, ngx_str_t *event,
    ngx_adm_event_conf_t *conf)
{
    ngx_queue_t                *q;
    ngx_adm_errand_t  *errand;

    if (errands->nfree == 0) {
        return NULL;
    }

    q = ngx_queue_head(&errands->free);
    ngx_queue_remove(q);
    errands->nfree--;

    errand = ngx_queue_data(q, ngx_adm_errand_t, queue);

    errand->issued = ngx_current_msec;
    errand->conf = conf;
    errand->event.len = event->len;
    errand->event.data = errand->id;
    ngx_memcpy(errand->id, event->data, event->len);

    return errand;
}


void
ngx_adm_errand_free(ngx_adm_errands_t *errands, ngx_adm_errand_t *errand)
{
    ngx_queue_insert_head(&errands->free, &errand->queue);
    errands->nfree++;
}
