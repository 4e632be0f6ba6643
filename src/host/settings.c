
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What a worker asks of its configuration, and the Redis client that it has by
 * that.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../base/text.h"
#include "settings.h"


/* 50r/s burst=500 */

ngx_adm_intake_conf_t  ngx_adm_intake_default = {
    NGX_ADM_NS / 50,
    NGX_ADM_NS / 50 * (int64_t) 500,
    0 };

ngx_adm_intake_conf_t  ngx_adm_intake_lots = {
    NGX_ADM_NS,
    NGX_ADM_NS * (int64_t) 20,
    0 };


ngx_adm_redis_t  *ngx_adm_redis;
ngx_str_t         ngx_adm_key_prefix;


ngx_int_t
ngx_adm_switch(ngx_str_t *text)
{
    if (ngx_adm_str_is(text, "on")) {
        return NGX_ADM_ON;
    }

    if (ngx_adm_str_is(text, "off")) {
        return NGX_ADM_OFF;
    }

    if (ngx_adm_str_is(text, "auto")) {
        return NGX_ADM_AUTO;
    }

    return NGX_DECLINED;
}


ngx_adm_event_conf_t *
ngx_adm_event_conf(ngx_adm_main_conf_t *mcf, ngx_str_t *id)
{
    ngx_adm_event_conf_t  *conf;

    conf = ngx_adm_event_line(mcf, id);

    if (conf) {
        return conf;
    }

    return mcf->events_listed_only ? NULL : &mcf->event_default;
}


ngx_adm_event_conf_t *
ngx_adm_event_line(ngx_adm_main_conf_t *mcf, ngx_str_t *id)
{
    uint32_t  hash;

    hash = ngx_murmur_hash2(id->data, id->len);

    return (ngx_adm_event_conf_t *) ngx_str_rbtree_lookup(&mcf->events, id,
                                                          hash);
}


ngx_int_t
ngx_adm_redis_start(ngx_cycle_t *cycle, ngx_adm_main_conf_t *mcf)
{
    ngx_adm_key_prefix = mcf->redis->prefix;
    ngx_adm_redis = ngx_adm_redis_create(cycle, mcf->redis);

    return ngx_adm_redis ? NGX_OK : NGX_ERROR;
}
