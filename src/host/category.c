
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The counters of a category are made once, in memory that is never freed, and
 * found again by name.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/text.h"
#include "category.h"


/* the first of a list of all; added to under the lock, read without it */
#define ngx_adm_counts(zone)                                                  \
    (*(ngx_adm_counts_t **)                                                   \
        ngx_adm_zone_data(zone, &ngx_adm_category_part))


static void ngx_adm_categories_copy(ngx_adm_zone_t *zone,
    ngx_adm_zone_t *ozone);
static ngx_adm_counts_t *ngx_adm_category_locked(ngx_adm_zone_t *zone,
    ngx_str_t *name);


ngx_adm_zone_part_t  ngx_adm_category_part = {
    .size = sizeof(ngx_adm_counts_t *),
    .copy = ngx_adm_categories_copy };


void
ngx_adm_categories_use(ngx_array_t *categories, ngx_log_t *log)
{
    ngx_uint_t            i, n;
    ngx_adm_category_t  **category, *without;

    if (categories == NULL) {
        return;
    }

    category = categories->elts;
    without = NULL;
    n = 0;

    ngx_adm_zone_lock(ngx_adm_zone);

    for (i = 0; i < categories->nelts; i++) {
        category[i]->counts = ngx_adm_category_locked(ngx_adm_zone,
                                                      &category[i]->name);

        if (category[i]->counts == NULL && n++ == 0) {
            without = category[i];
        }
    }

    ngx_adm_zone_unlock(ngx_adm_zone);

    if (n) {
        ngx_log_error(NGX_LOG_ERR, log, 0, "admission: the zone is too small "
                      "to count the decisions of all rate limits, not of %ui "
                      "categories, \"%V\" the first of them: make "
                      "\"admission_zone\" larger", n, &without->name);
    }
}


ngx_adm_counts_t *
ngx_adm_categories(void)
{
    return ngx_adm_counts(ngx_adm_zone);
}


void
ngx_adm_category_count(ngx_adm_category_t *category,
    ngx_adm_decision_e decision)
{
    if (category->counts) {
        (void) ngx_atomic_fetch_add(&category->counts->n[decision], 1);
    }
}


static void
ngx_adm_categories_copy(ngx_adm_zone_t *zone, ngx_adm_zone_t *ozone)
{
    ngx_uint_t         i;
    ngx_adm_counts_t  *counts, *ocounts;

    for (ocounts = ngx_adm_counts(ozone); ocounts; ocounts = ocounts->next) {

        counts = ngx_adm_category_locked(zone, &ocounts->name);
        if (counts == NULL) {
            return;
        }

        for (i = 0; i < NGX_ADM_DECISIONS; i++) {
            counts->n[i] = ocounts->n[i];
        }
    }
}


/* found, or made; NULL: no room */

static ngx_adm_counts_t *
ngx_adm_category_locked(ngx_adm_zone_t *zone, ngx_str_t *name)
{
    ngx_adm_counts_t  *counts, **last;

    for (last = &ngx_adm_counts(zone); *last; last = &(*last)->next) {
        if (ngx_adm_str_same(&(*last)->name, name)) {
            return *last;
        }
    }

    counts = ngx_adm_zone_keep_locked(zone,
                                      sizeof(ngx_adm_counts_t) + name->len);
    if (counts == NULL) {
        return NULL;
    }

    counts->name.len = name->len;
    counts->name.data = (u_char *) (counts + 1);
    ngx_memcpy(counts->name.data, name->data, name->len);

    /* readers take no lock */

    ngx_memory_barrier();

    *last = counts;

    return counts;
}
