
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What a user is told of how it stands, by check, status and heartbeat and by
 * streams, and the token that goes with it: a place for users who wait, an
 * entry token for those who are in.
 */


#ifndef _NGX_ADM_QUEUE_TOLD_H_INCLUDED_
#define _NGX_ADM_QUEUE_TOLD_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../host/event_state.h"
#include "../host/range.h"
#include "../host/sale.h"
#include "queue.h"


#define NGX_ADM_PLACE_LIFE  86400        /* s */


typedef struct {
    ngx_str_t               *event;
    ngx_str_t               *user;
    ngx_adm_event_conf_t    *conf;
    ngx_adm_loc_conf_t      *lcf;        /* whose keys sign */
    ngx_adm_sale_t           sale;       /* as of sale_get(), for the JSON */
    ngx_str_t                notice;     /* as of told_member() */
    unsigned                 brief:1;    /* a heartbeat's answer */

    /* set by _told() */
    ngx_adm_token_e          kind;
    ngx_str_t                token;      /* or empty */
    time_t                   life;       /* s */
} ngx_adm_queue_told_t;


/*
 * The JSON, in the pool, of NOT_IN, WAITING, ACTIVE and READY; NGX_ERROR: no
 * memory.
 */
ngx_int_t ngx_adm_queue_told(ngx_adm_queue_told_t *told,
    ngx_adm_queue_answer_t *answer, ngx_pool_t *pool, ngx_str_t *json);

/*
 * How long one who waits is told to wait; rest: s until admission begins at
 * all.  NGX_DECLINED: entry is paused, and there is no number.
 */
ngx_int_t ngx_adm_queue_told_range(ngx_str_t *event,
    ngx_adm_event_conf_t *conf, ngx_adm_queue_answer_t *answer, int64_t rest,
    ngx_adm_range_t *range);


#endif /* _NGX_ADM_QUEUE_TOLD_H_INCLUDED_ */
