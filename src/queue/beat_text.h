
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What somebody says without asking Redis, and how many such are told to it in
 * one call: as lua/queue_beat.lua reads it.
 */


#ifndef _NGX_ADM_BEAT_TEXT_H_INCLUDED_
#define _NGX_ADM_BEAT_TEXT_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>


/* what a heartbeat says */
#define NGX_ADM_BEAT_HERE   0
#define NGX_ADM_BEAT_AWAY   1
#define NGX_ADM_BEAT_COME   2
#define NGX_ADM_BEAT_CLOSE  3


typedef struct {
    ngx_str_t                  user;
    int64_t                    score;
    int64_t                    n;        /* time of the place; of other kinds
                                            see lua/queue_beat.lua */
    int64_t                    epoch;
    ngx_uint_t                 what;
    ngx_msec_t                 said;
} ngx_adm_beat_t;


/*
 * Adds a heartbeat, copied to the pool: to groups of arguments (ngx_str_t) and
 * to when each was said (ngx_msec_t), or to those by name alone
 * (ngx_adm_beat_t).  NGX_ERROR: no memory, here and below.
 */
ngx_int_t ngx_adm_beat_group(ngx_pool_t *pool, ngx_array_t *groups,
    ngx_array_t *said, ngx_adm_beat_t *beat);
ngx_int_t ngx_adm_beat_name(ngx_pool_t *pool, ngx_array_t *names,
    ngx_adm_beat_t *beat);

/* the names as one text; empty: there are none */
ngx_int_t ngx_adm_beat_names(ngx_pool_t *pool, ngx_array_t *of,
    ngx_str_t *names);

/* for how long each has waited by now, in the order named, lately, said */
ngx_int_t ngx_adm_beat_ages(ngx_pool_t *pool, ngx_array_t *named,
    ngx_array_t *lately, ngx_array_t *said, ngx_str_t *ages);


#endif /* _NGX_ADM_BEAT_TEXT_H_INCLUDED_ */
