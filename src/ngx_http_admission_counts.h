
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What rate limits decided, by category, counted in the zone by all workers
 * and kept over reloads.
 */


#ifndef _NGX_HTTP_ADMISSION_COUNTS_H_INCLUDED_
#define _NGX_HTTP_ADMISSION_COUNTS_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_admission_conf.h"


typedef enum {
    NGX_HTTP_ADMISSION_COUNT_ALLOWED = 0,
    NGX_HTTP_ADMISSION_COUNT_LIMITED,
    NGX_HTTP_ADMISSION_COUNT_DRY_RUN,           /* would have been limited */
    NGX_HTTP_ADMISSION_COUNT_LOCAL_ALLOWED,     /* by the host's own count */
    NGX_HTTP_ADMISSION_COUNT_LOCAL_LIMITED,     /* likewise */
    NGX_HTTP_ADMISSION_COUNT_ERROR,             /* by "fail=open|closed" */
    NGX_HTTP_ADMISSION_COUNTS
} ngx_http_admission_count_e;


/* of one category; begins with a link of those in the zone */
struct ngx_http_admission_counts_s {
    ngx_queue_t                 queue;
    ngx_atomic_t                n[NGX_HTTP_ADMISSION_COUNTS];
    size_t                      len;
    u_char                      name[1];
};


/*
 * Finds, or makes, the counters of the configuration, before there are workers
 * of it; logs that there is no room for all of them: the others do not count.
 */
void ngx_http_admission_counts_use(ngx_array_t *categories, ngx_log_t *log);

/* pushes pointers to all that there are; NGX_ERROR: no memory */
ngx_int_t ngx_http_admission_counts_list(ngx_array_t *list);

/* one more; lock-free */
void ngx_http_admission_count(ngx_http_admission_category_t *category,
    ngx_http_admission_count_e what);


#endif /* _NGX_HTTP_ADMISSION_COUNTS_H_INCLUDED_ */
