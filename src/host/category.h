
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What rate limits decided, by category, counted in the zone by all workers
 * and kept over reloads, also for categories that the configuration no longer
 * has.
 */


#ifndef _NGX_ADM_HOST_CATEGORY_H_INCLUDED_
#define _NGX_ADM_HOST_CATEGORY_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/counter.h"
#include "settings.h"
#include "zone.h"


struct ngx_adm_counts_s {
    ngx_adm_counts_t  *next;
    ngx_str_t          name;
    ngx_atomic_t       n[NGX_ADM_DECISIONS];
};


extern ngx_adm_zone_part_t  ngx_adm_category_part;


/*
 * Finds or makes the counters of a configuration's categories, before it has
 * workers; logs if there is no room for all, of which the others do not count.
 */
void ngx_adm_categories_use(ngx_array_t *categories, ngx_log_t *log);

/* the first of the list; lock-free, as is all that follows */
ngx_adm_counts_t *ngx_adm_categories(void);

/* counts one decision */
void ngx_adm_category_count(ngx_adm_category_t *category,
    ngx_adm_decision_e decision);


#endif /* _NGX_ADM_HOST_CATEGORY_H_INCLUDED_ */
