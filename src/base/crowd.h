
/*
 * Copyright (C) 2026 the admission module authors
 *
 * How many ask again and again for the same thing: as many as come within the
 * time after which each was to come again.  Kept by a worker, for the few
 * things that so many ask for at one time.
 */


#ifndef _NGX_ADM_BASE_CROWD_H_INCLUDED_
#define _NGX_ADM_BASE_CROWD_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>


#define NGX_ADM_CROWDS     16            /* at a time */
#define NGX_ADM_CROWD_MIN  2             /* s after which they come again, at
                                            least */
#define NGX_ADM_CROWD_MAX  15            /* and at most */


/* all zeros to begin with */
typedef struct {
    uint32_t                 key;
    ngx_uint_t               wait;       /* s, which those who came were
                                            told; 0: unused */
    ngx_uint_t               n;          /* how many came */
    ngx_msec_t               since;      /* since this time */
} ngx_adm_crowd_t;


/*
 * Somebody of the crowd with that key asks, at "now" (ms).  Returns after how
 * many s to come again, so that about "rate" (not 0) come a second, and no
 * more.  A new crowd takes the place of the one that was heard of longest ago.
 */
ngx_uint_t ngx_adm_crowd_wait(ngx_adm_crowd_t *crowds, uint32_t key,
    ngx_msec_t now, ngx_uint_t rate);


#endif /* _NGX_ADM_BASE_CROWD_H_INCLUDED_ */
