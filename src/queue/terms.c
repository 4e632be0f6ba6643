
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What users are told of a queue's numbers: when to poll, how long to wait.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "queue.h"


static ngx_uint_t ngx_adm_queue_poll_at(int64_t position);


ngx_uint_t
ngx_adm_queue_next_poll(int64_t position, ngx_adm_event_conf_t *conf)
{
    return ngx_min(ngx_adm_queue_poll_at(position),
                   ngx_adm_queue_most_poll(conf));
}


ngx_uint_t
ngx_adm_queue_most_poll(ngx_adm_event_conf_t *conf)
{
    ngx_uint_t  most;

    most = ngx_min(conf->claim_ttl, conf->seen_ttl) / 2000;

    return ngx_max(most, 1);
}


static ngx_uint_t
ngx_adm_queue_poll_at(int64_t position)
{
    if (position == 0) {
        return 3;
    }

    if (position <= 1000) {
        return 1;
    }

    if (position <= 5000) {
        return 5;
    }

    if (position <= 10000) {
        return 10;
    }

    return position <= 100000 ? 30 : 60;
}


int64_t
ngx_adm_queue_estimate(int64_t position, int64_t rate)
{
    if (rate > 0) {
        return (position * 1000 + rate - 1) / rate;
    }

    return ngx_max(position / 50, 5);
}
