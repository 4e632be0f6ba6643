
/*
 * Copyright (C) 2026 the admission module authors
 *
 * In the time that they were told each of the people comes about once: then it
 * is known how many they are, and they are told another time.  A time gets
 * shorter step by step: in a shorter one only a part comes of people who were
 * told the longer one.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "crowd.h"


static ngx_adm_crowd_t *ngx_adm_crowd(ngx_adm_crowd_t *crowds, uint32_t key,
    ngx_msec_t now);


ngx_uint_t
ngx_adm_crowd_wait(ngx_adm_crowd_t *crowds, uint32_t key, ngx_msec_t now,
    ngx_uint_t rate)
{
    uint64_t          people;
    ngx_msec_t        elapsed;
    ngx_uint_t        wait;
    ngx_adm_crowd_t  *crowd;

    crowd = ngx_adm_crowd(crowds, key, now);
    elapsed = now - crowd->since;

    if (elapsed >= crowd->wait * 1000) {

        /* it may have taken longer: then it goes by how many came a second */

        people = (uint64_t) crowd->n * crowd->wait * 1000 / elapsed;
        wait = (ngx_uint_t) ((people + rate - 1) / rate);

        if (elapsed >= 2 * crowd->wait * 1000) {
            crowd->wait = wait;

        } else {
            crowd->wait = ngx_max(wait, crowd->wait * 3 / 4);
        }

        crowd->wait = ngx_max(crowd->wait, NGX_ADM_CROWD_MIN);
        crowd->wait = ngx_min(crowd->wait, NGX_ADM_CROWD_MAX);
        crowd->since = now;
        crowd->n = 0;
    }

    crowd->n++;

    if (crowd->wait == NGX_ADM_CROWD_MIN) {
        return crowd->wait;
    }

    /* people who came together are not to come together again */

    wait = crowd->wait / 2 + ngx_random() % (crowd->wait + 1);
    wait = ngx_max(wait, NGX_ADM_CROWD_MIN);

    return ngx_min(wait, NGX_ADM_CROWD_MAX);
}


static ngx_adm_crowd_t *
ngx_adm_crowd(ngx_adm_crowd_t *crowds, uint32_t key, ngx_msec_t now)
{
    ngx_uint_t        i;
    ngx_adm_crowd_t  *crowd, *oldest;

    oldest = &crowds[0];

    for (i = 0; i < NGX_ADM_CROWDS; i++) {
        crowd = &crowds[i];

        if (crowd->wait && crowd->key == key) {
            return crowd;
        }

        if (crowd->wait == 0) {

            if (oldest->wait) {
                oldest = crowd;
            }

        } else if (oldest->wait
                   && (ngx_msec_int_t) (crowd->since - oldest->since) < 0)
        {
            oldest = crowd;
        }
    }

    oldest->key = key;
    oldest->wait = NGX_ADM_CROWD_MIN;
    oldest->n = 0;
    oldest->since = now;

    return oldest;
}
