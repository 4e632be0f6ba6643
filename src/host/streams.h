
/*
 * Copyright (C) 2026 the admission module authors
 *
 * How many streams the workers of a host have open.  Lock-free: each process
 * has a number of its own.  That of a worker that was killed counts no more,
 * and the process that takes its place begins anew.
 */


#ifndef _NGX_ADM_HOST_STREAMS_H_INCLUDED_
#define _NGX_ADM_HOST_STREAMS_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "zone.h"


extern ngx_adm_zone_part_t  ngx_adm_streams_part;


/* this worker has n streams open */
void ngx_adm_streams_note(ngx_uint_t n);

/* how many all workers have open */
ngx_uint_t ngx_adm_streams_open(void);

/*
 * whether the worker that last had this place in the master's table was killed
 */
ngx_uint_t ngx_adm_streams_killed(ngx_uint_t slot);


#endif /* _NGX_ADM_HOST_STREAMS_H_INCLUDED_ */
