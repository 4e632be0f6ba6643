
/*
 * Copyright (C) 2026 the admission module authors
 *
 * A table by the number that the master has for a process.  In a small zone,
 * where that would be too large, some share an entry.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>

#include "streams.h"


/* one such part of the zone is the table */
#define NGX_ADM_STREAMS_SHARE  256


static size_t ngx_adm_streams_more(size_t zone);
static void ngx_adm_streams_use(ngx_adm_zone_t *zone);


ngx_adm_zone_part_t  ngx_adm_streams_part = {
    .more = ngx_adm_streams_more,
    .use = ngx_adm_streams_use };


typedef struct {
    uint32_t  open;
    int32_t   pid;
} ngx_adm_streams_t;


#define ngx_adm_streams_entries()                                             \
    (ngx_adm_streams_more(ngx_adm_zone_size()) / sizeof(ngx_adm_streams_t))


static size_t
ngx_adm_streams_more(size_t zone)
{
    return ngx_min(NGX_MAX_PROCESSES,
                   zone / NGX_ADM_STREAMS_SHARE / sizeof(ngx_adm_streams_t))
           * sizeof(ngx_adm_streams_t);
}


static void
ngx_adm_streams_use(ngx_adm_zone_t *zone)
{
    if (zone && ngx_process == NGX_PROCESS_WORKER) {
        ngx_adm_streams_note(0);
    }
}


void
ngx_adm_streams_note(ngx_uint_t n)
{
    ngx_adm_streams_t  *streams;

    streams = ngx_adm_zone_data(ngx_adm_zone, &ngx_adm_streams_part);
    streams += ngx_process_slot % ngx_adm_streams_entries();

    streams->open = (uint32_t) n;
    streams->pid = (int32_t) ngx_pid;
}


ngx_uint_t
ngx_adm_streams_open(void)
{
    ngx_uint_t          i, n;
    ngx_adm_streams_t  *streams;

    streams = ngx_adm_zone_data(ngx_adm_zone, &ngx_adm_streams_part);
    n = 0;

    for (i = 0; i < ngx_adm_streams_entries(); i++) {

        if (streams[i].open && !ngx_adm_streams_killed(i)) {
            n += streams[i].open;
        }
    }

    return n;
}


/*
 * all workers have one user: a process that can't be signalled does not exist
 */

ngx_uint_t
ngx_adm_streams_killed(ngx_uint_t slot)
{
    ngx_pid_t           pid;
    ngx_adm_streams_t  *streams;

    streams = ngx_adm_zone_data(ngx_adm_zone, &ngx_adm_streams_part);

    pid = (slot < ngx_adm_streams_entries()) ? streams[slot].pid : 0;

    return pid && kill(pid, 0) == -1 && ngx_errno == NGX_ESRCH;
}
