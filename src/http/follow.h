
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What is in force of an event, and what its backend has to do with it, in
 * answers to operators.
 */


#ifndef _NGX_ADM_HTTP_FOLLOW_H_INCLUDED_
#define _NGX_ADM_HTTP_FOLLOW_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../host/settings.h"
#include "api.h"


/*
 * ,"effectiveRate":N,"effectiveThreshold":N,"limitedBy":"..","hold":"..",
 * "backend":{..} as members of JSON end with them, from pool; rate and
 * threshold are what is set, -1: that is not asked for.  Empty: what is set is
 * in force.  NGX_ERROR: no memory.
 */
ngx_int_t ngx_adm_follow_members(ngx_pool_t *pool, ngx_str_t *event,
    ngx_adm_event_conf_t *conf, int64_t rate, int64_t threshold,
    ngx_str_t *members);

/* an operator asks how it went in the last 15 minutes; sends Redis nothing */
ngx_int_t ngx_adm_follow_handler(ngx_adm_api_call_t *call);


#endif /* _NGX_ADM_HTTP_FOLLOW_H_INCLUDED_ */
