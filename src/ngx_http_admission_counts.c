
/*
 * Copyright (C) 2026 the admission module authors
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_admission_counts.h"
#include "ngx_http_admission_zone_shm.h"


static ngx_http_admission_counts_t *ngx_http_admission_counts_locked(
    ngx_http_admission_zone_t *zone, ngx_str_t *name);


void
ngx_http_admission_counts_init(ngx_http_admission_shctx_t *sh)
{
    ngx_queue_init(&sh->counts);
}


void
ngx_http_admission_counts_use(ngx_array_t *categories, ngx_log_t *log)
{
    ngx_uint_t                       i, n;
    ngx_http_admission_category_t  **category, *without;

    if (categories == NULL) {
        return;
    }

    category = categories->elts;
    without = NULL;
    n = 0;

    ngx_http_admission_zone_lock(ngx_http_admission_zone);

    for (i = 0; i < categories->nelts; i++) {
        category[i]->counts = ngx_http_admission_counts_locked(
                                                      ngx_http_admission_zone,
                                                      &category[i]->name);

        if (category[i]->counts == NULL && n++ == 0) {
            without = category[i];
        }
    }

    ngx_http_admission_zone_unlock(ngx_http_admission_zone);

    if (n) {
        ngx_log_error(NGX_LOG_ERR, log, 0,
                      "admission: the zone is too small to count the decisions "
                      "of all rate limits, not of %ui categories, \"%V\" the "
                      "first of them: make \"admission_zone\" larger",
                      n, &without->name);
    }
}


ngx_int_t
ngx_http_admission_counts_list(ngx_array_t *list)
{
    ngx_int_t                      rc;
    ngx_queue_t                   *q;
    ngx_http_admission_zone_t     *zone;
    ngx_http_admission_counts_t  **counts;

    rc = NGX_OK;
    zone = ngx_http_admission_zone;

    ngx_http_admission_zone_lock(zone);

    for (q = ngx_queue_head(&zone->sh->counts);
         q != ngx_queue_sentinel(&zone->sh->counts);
         q = ngx_queue_next(q))
    {
        counts = ngx_array_push(list);

        if (counts == NULL) {
            rc = NGX_ERROR;
            break;
        }

        *counts = ngx_queue_data(q, ngx_http_admission_counts_t, queue);
    }

    ngx_http_admission_zone_unlock(zone);

    return rc;
}


void
ngx_http_admission_count(ngx_http_admission_category_t *category,
    ngx_http_admission_count_e what)
{
    if (category->counts) {
        (void) ngx_atomic_fetch_add(&category->counts->n[what], 1);
    }
}


void
ngx_http_admission_counts_copy(ngx_http_admission_zone_t *zone,
    ngx_http_admission_zone_t *ozone)
{
    ngx_str_t                     name;
    ngx_uint_t                    i;
    ngx_queue_t                  *q;
    ngx_http_admission_counts_t  *counts, *ocounts;

    ngx_http_admission_zone_lock(ozone);

    for (q = ngx_queue_head(&ozone->sh->counts);
         q != ngx_queue_sentinel(&ozone->sh->counts);
         q = ngx_queue_next(q))
    {
        ocounts = ngx_queue_data(q, ngx_http_admission_counts_t, queue);

        name.len = ocounts->len;
        name.data = ocounts->name;

        counts = ngx_http_admission_counts_locked(zone, &name);

        if (counts == NULL) {
            break;
        }

        for (i = 0; i < NGX_HTTP_ADMISSION_COUNTS; i++) {
            counts->n[i] = ocounts->n[i];
        }
    }

    ngx_http_admission_zone_unlock(ozone);
}


/* found or made; NULL: no room */

static ngx_http_admission_counts_t *
ngx_http_admission_counts_locked(ngx_http_admission_zone_t *zone,
    ngx_str_t *name)
{
    size_t                        size;
    ngx_queue_t                  *q;
    ngx_http_admission_counts_t  *counts;

    for (q = ngx_queue_head(&zone->sh->counts);
         q != ngx_queue_sentinel(&zone->sh->counts);
         q = ngx_queue_next(q))
    {
        counts = ngx_queue_data(q, ngx_http_admission_counts_t, queue);

        if (counts->len == name->len
            && ngx_memcmp(counts->name, name->data, name->len) == 0)
        {
            return counts;
        }
    }

    size = ngx_align(sizeof(ngx_http_admission_counts_t) + name->len,
                     NGX_ALIGNMENT);

    if (size > zone->sh->counts_free) {
        return NULL;
    }

    counts = ngx_http_admission_zone_keep_locked(zone, size);
    if (counts == NULL) {
        return NULL;
    }

    zone->sh->counts_free -= size;

    counts->len = name->len;
    ngx_memcpy(counts->name, name->data, name->len);

    ngx_queue_insert_tail(&zone->sh->counts, &counts->queue);

    return counts;
}
