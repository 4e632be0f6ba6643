
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The breaker, and the reading of "breaker=".  How the last calls went is kept
 * as a number of bits.  A trial that fails doubles the pause before the next.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "breaker.h"


#define NGX_ADM_REDIS_BREAKER_CALLS    10
#define NGX_ADM_REDIS_BREAKER_PERCENT  50
#define NGX_ADM_REDIS_BREAKER_PAUSE    30000      /* ms */
#define NGX_ADM_REDIS_BREAKER_TRIALS   3

/* ms of pause after the first trial that failed, then doubled each time */
#define NGX_ADM_REDIS_BREAKER_FIRST    1000

#define NGX_ADM_REDIS_BREAKER_BITS     64
#define NGX_ADM_REDIS_BREAKER_LONGEST  3600000    /* ms */


static void ngx_adm_redis_breaker_push(ngx_adm_redis_breaker_t *breaker,
    ngx_uint_t failed);
static ngx_uint_t ngx_adm_redis_breaker_failures(
    ngx_adm_redis_breaker_t *breaker);
static ngx_int_t ngx_adm_redis_breaker_number(ngx_str_t *part, ngx_uint_t max,
    ngx_uint_t *n);


void
ngx_adm_redis_breaker_default(ngx_adm_redis_breaker_conf_t *conf)
{
    conf->calls = NGX_ADM_REDIS_BREAKER_CALLS;
    conf->percent = NGX_ADM_REDIS_BREAKER_PERCENT;
    conf->pause_max = NGX_ADM_REDIS_BREAKER_PAUSE;
    conf->trials = NGX_ADM_REDIS_BREAKER_TRIALS;
}


ngx_int_t
ngx_adm_redis_breaker_parse(ngx_adm_redis_breaker_conf_t *conf,
    ngx_str_t *value)
{
    u_char      *p, *last;
    ngx_int_t    ms;
    ngx_str_t    part[4];
    ngx_uint_t   n;

    p = value->data;
    last = p + value->len;

    for (n = 0; n < 4; n++) {
        part[n].data = p;

        while (p < last && *p != '/') {
            p++;
        }

        part[n].len = p - part[n].data;

        if (p < last) {
            p++;

        } else if (n < 3) {
            return NGX_ERROR;
        }
    }

    if (part[3].data + part[3].len != last
        || part[1].len < 2
        || part[1].data[part[1].len - 1] != '%')
    {
        return NGX_ERROR;
    }

    part[1].len--;

    ms = ngx_parse_time(&part[2], 0);

    if (ms == NGX_ERROR || ms < NGX_ADM_REDIS_BREAKER_FIRST
        || ms > NGX_ADM_REDIS_BREAKER_LONGEST)
    {
        return NGX_ERROR;
    }

    conf->pause_max = (ngx_msec_t) ms;

    if (ngx_adm_redis_breaker_number(&part[0],
                                     NGX_ADM_REDIS_BREAKER_BITS,
                                     &conf->calls)
        != NGX_OK
        || ngx_adm_redis_breaker_number(&part[1], 100, &conf->percent)
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    return ngx_adm_redis_breaker_number(&part[3], NGX_ADM_REDIS_BREAKER_BITS,
                                        &conf->trials);
}


static ngx_int_t
ngx_adm_redis_breaker_number(ngx_str_t *part, ngx_uint_t max, ngx_uint_t *n)
{
    ngx_int_t  value;

    value = ngx_atoi(part->data, part->len);

    if (value < 1 || (ngx_uint_t) value > max) {
        return NGX_ERROR;
    }

    *n = value;

    return NGX_OK;
}


ngx_int_t
ngx_adm_redis_breaker_ask(ngx_adm_redis_breaker_t *breaker)
{
    switch (breaker->state) {

    case ngx_adm_redis_breaker_closed:
        return NGX_OK;

    case ngx_adm_redis_breaker_open:
        return NGX_DECLINED;

    default: /* ngx_adm_redis_breaker_trial */

        if (breaker->out == breaker->conf->trials) {
            return NGX_DECLINED;
        }

        breaker->out++;

        return NGX_OK;
    }
}


ngx_uint_t
ngx_adm_redis_breaker_good(ngx_adm_redis_breaker_t *breaker)
{
    switch (breaker->state) {

    case ngx_adm_redis_breaker_closed:
        ngx_adm_redis_breaker_push(breaker, 0);
        return 0;

    case ngx_adm_redis_breaker_trial:

        breaker->out--;

        if (++breaker->good < breaker->conf->trials) {
            return 0;
        }

        breaker->state = ngx_adm_redis_breaker_closed;
        breaker->results = 0;
        breaker->pause = 0;

        return 1;

    default: /* ngx_adm_redis_breaker_open: it came too late */
        return 0;
    }
}


ngx_uint_t
ngx_adm_redis_breaker_bad(ngx_adm_redis_breaker_t *breaker)
{
    ngx_msec_t  pause;

    switch (breaker->state) {

    case ngx_adm_redis_breaker_closed:

        ngx_adm_redis_breaker_push(breaker, 1);

        if (ngx_adm_redis_breaker_failures(breaker) * 100
            < breaker->conf->calls * breaker->conf->percent)
        {
            return 0;
        }

        break;

    case ngx_adm_redis_breaker_trial:

        pause = breaker->pause ? breaker->pause * 2
                               : NGX_ADM_REDIS_BREAKER_FIRST;

        breaker->pause = ngx_min(pause, breaker->conf->pause_max);

        break;

    default: /* ngx_adm_redis_breaker_open */
        return 0;
    }

    breaker->state = ngx_adm_redis_breaker_open;

    return 1;
}


void
ngx_adm_redis_breaker_neither(ngx_adm_redis_breaker_t *breaker)
{
    if (breaker->state == ngx_adm_redis_breaker_trial) {
        breaker->out--;
    }
}


void
ngx_adm_redis_breaker_answered(ngx_adm_redis_breaker_t *breaker)
{
    if (breaker->state != ngx_adm_redis_breaker_open) {
        return;
    }

    breaker->state = ngx_adm_redis_breaker_trial;
    breaker->out = 0;
    breaker->good = 0;
}


ngx_msec_t
ngx_adm_redis_breaker_pause(ngx_adm_redis_breaker_t *breaker)
{
    return breaker->state == ngx_adm_redis_breaker_open ? breaker->pause : 0;
}


static void
ngx_adm_redis_breaker_push(ngx_adm_redis_breaker_t *breaker, ngx_uint_t failed)
{
    breaker->results = (breaker->results << 1) | failed;

    if (breaker->conf->calls < NGX_ADM_REDIS_BREAKER_BITS) {
        breaker->results &= ((uint64_t) 1 << breaker->conf->calls) - 1;
    }
}


static ngx_uint_t
ngx_adm_redis_breaker_failures(ngx_adm_redis_breaker_t *breaker)
{
    uint64_t    results;
    ngx_uint_t  n;

    n = 0;

    for (results = breaker->results; results; results &= results - 1) {
        n++;
    }

    return n;
}
