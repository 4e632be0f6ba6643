
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Counters of this process, and which counter of a histogram a number belongs
 * to.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "counter.h"


const ngx_adm_histogram_t  ngx_adm_histograms[] = {

#define histogram(id, name, label, unit, help, ...)                           \
    { NGX_ADM_COUNT_HISTOGRAM_##id, unit, { __VA_ARGS__ } },

#include "counter_list.h"

};


static ngx_atomic_t  ngx_adm_own_counters[NGX_ADM_COUNTS];

ngx_atomic_t  *ngx_adm_counters = ngx_adm_own_counters;


void
ngx_adm_counters_use(ngx_atomic_t *counters)
{
    ngx_uint_t  i;

    ngx_adm_counters = counters ? counters : ngx_adm_own_counters;

    if (counters == NULL) {
        return;
    }

    for (i = 0; i < NGX_ADM_COUNTS; i++) {
        ngx_adm_count_n(i, ngx_adm_own_counters[i]);
        ngx_adm_own_counters[i] = 0;
    }
}


void
ngx_adm_observe(ngx_adm_histogram_e histogram, ngx_uint_t label, uint64_t n)
{
    ngx_uint_t                  i, first;
    const ngx_adm_histogram_t  *h;

    h = &ngx_adm_histograms[histogram];
    first = h->first + label * (NGX_ADM_BUCKETS + 1);

    for (i = 0; i < NGX_ADM_BUCKETS - 1; i++) {
        if (n <= h->bounds[i]) {
            break;
        }
    }

    ngx_adm_count_n(first + NGX_ADM_BUCKETS, n);
    ngx_adm_count(first + i);
}
