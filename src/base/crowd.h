
/*
 * Copyright (C) 2026 the admission module authors
 *
 * How many ask again and again for the same: those who came within the time
 * after which each was to come again.  A worker's, of the few things that so
 * many ask for at a time.
 */


#ifndef _NGX_ADM_BASE_CROWD_H_INCLUDED_
#define _NGX_ADM_BASE_CROWD_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>


#define NGX_ADM_CROWDS     16            /* at a time */
#define NGX_ADM_CROWD_MIN  2             /* s, after which they are to come
                                            again, at least */
#define NGX_ADM_CROWD_MAX  15            /* and at most */


/* all of it begins as zeros */
typedef struct {
    uint32_t                 key;
    ngx_uint_t               wait;       /* s that those who came were told;
                                            0: there is none */
    ngx_uint_t               n;          /* they, */
    ngx_msec_t               since;      /* since then */
} ngx_adm_crowd_t;


/*
 * Somebody asks, at "now" (ms), of the crowd of that key.  Returns after how
 * many s to come again, so that no more than "rate" (not 0) come in one, about.
 * The crowd that was heard of the longest ago makes room for another one.
 */
ngx_uint_t ngx_adm_crowd_wait(ngx_adm_crowd_t *crowds, uint32_t key,
    ngx_msec_t now, ngx_uint_t rate);


#endif /* _NGX_ADM_BASE_CROWD_H_INCLUDED_ */
