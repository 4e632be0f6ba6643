
/*
 * Copyright (C) 2026 the admission module authors
 *
 * A step for each event that is due, and when its next one is: every
 * admit_interval where people wait; where nobody does, when the time of
 * somebody inside ends, and when another host tells that it ended a token.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>

#include "../host/errands.h"
#include "../host/event_known.h"
#include "../host/event_state.h"
#include "../host/event_work.h"
#include "../host/follow.h"
#include "../host/hold.h"
#include "../host/notice.h"
#include "../host/sale.h"
#include "../host/settings.h"
#include "../redis/client.h"
#include "queue.h"
#include "steps.h"


#define NGX_ADM_STEP_MAX     500     /* ms between steps, at most, where
                                        people wait, or where news can't be
                                        relied on */
#define NGX_ADM_STEP_IDLE    300000  /* ms where nobody waits: half of the
                                        time for which Redis keeps an event
                                        without users */
#define NGX_ADM_STEP_NOTICE  5000    /* ms where a notice is to be fetched */
#define NGX_ADM_KEEP         120000  /* ms for which an event without users
                                        is looked after, besides token_ttl */
#define NGX_ADM_KEEP_BRIEF   600000  /* ms for an event that no operator
                                        named: as long as Redis keeps it, see
                                        lua/queue_lib.lua */
#define NGX_ADM_KEEP_EMPTY   5000    /* ms for an event that never had any
                                        users */
#define NGX_ADM_STEPS        256     /* out at once */
#define NGX_ADM_STEP_WAIT    2000    /* ms, for one that does not come back */


static ngx_int_t ngx_adm_queue_steps_start(ngx_cycle_t *cycle,
    ngx_adm_main_conf_t *mcf);
static void ngx_adm_queue_stepped(void *data, ngx_int_t rc,
    ngx_adm_queue_answer_t *answer);
static void ngx_adm_queue_stepped_plan(ngx_adm_errand_t *errand,
    ngx_adm_queue_answer_t *answer, ngx_adm_event_state_t *state,
    ngx_adm_event_now_t *now, ngx_adm_stepped_t *stepped);
static ngx_msec_t ngx_adm_queue_interval(ngx_adm_event_conf_t *conf);
static ngx_msec_t ngx_adm_queue_keep_watch(ngx_adm_event_conf_t *conf,
    ngx_adm_queue_answer_t *answer, ngx_uint_t brief);


ngx_adm_schedule_part_t  ngx_adm_queue_steps_part = {
    .start = ngx_adm_queue_steps_start,
    .turn = ngx_adm_queue_steps,
    .next = ngx_adm_events_rest };


static ngx_adm_main_conf_t  *ngx_adm_queue_steps_conf;
static ngx_adm_errands_t     ngx_adm_queue_errands;


static ngx_int_t
ngx_adm_queue_steps_start(ngx_cycle_t *cycle, ngx_adm_main_conf_t *mcf)
{
    ngx_adm_queue_steps_conf = mcf;

    return ngx_adm_errands_init(cycle, &ngx_adm_queue_errands, NGX_ADM_STEPS);
}


void
ngx_adm_queue_steps(ngx_log_t *log)
{
    ngx_str_t    *id;
    ngx_uint_t    i;
    ngx_pool_t   *pool;
    ngx_array_t   ids;

    if (ngx_adm_queue_errands.nfree == 0) {
        return;
    }

    pool = ngx_create_pool(1024, log);
    if (pool == NULL) {
        return;
    }

    if (ngx_array_init(&ids, pool, 8, sizeof(ngx_str_t)) == NGX_OK) {

        (void) ngx_adm_events_due(pool, &ids, ngx_adm_queue_errands.nfree,
                                  NGX_ADM_STEP_WAIT);

        id = ids.elts;

        for (i = 0; i < ids.nelts; i++) {
            ngx_adm_queue_step_now(&id[i]);
        }
    }

    ngx_destroy_pool(pool);
}


void
ngx_adm_queue_step_now(ngx_str_t *event)
{
    ngx_adm_errand_t        *errand;
    ngx_adm_stepped_t      stepped;
    ngx_adm_event_conf_t  *conf;

    conf = ngx_adm_event_conf(ngx_adm_queue_steps_conf, event);
    if (conf == NULL) {

        /* no event here any longer: nobody is in its queue by this host */

        ngx_adm_event_empty(event);

        ngx_memzero(&stepped, sizeof(ngx_adm_stepped_t));

        stepped.answered = 1;
        stepped.delay = NGX_ADM_STEP_IDLE;
        stepped.keep = NGX_ADM_KEEP;

        (void) ngx_adm_event_next(event, &stepped);
        return;
    }

    ngx_log_debug1(NGX_LOG_DEBUG_HTTP, ngx_cycle->log, 0,
                   "admission: step of event \"%V\"", event);

    errand = ngx_adm_errand_take(&ngx_adm_queue_errands, event, conf);
    if (errand == NULL) {
        return;
    }

    if (ngx_adm_queue_step(event, conf, ngx_adm_queue_stepped, errand) == NULL)
    {
        ngx_adm_events_missed();
        ngx_adm_errand_free(&ngx_adm_queue_errands, errand);
    }
}


static void
ngx_adm_queue_stepped(void *data, ngx_int_t rc, ngx_adm_queue_answer_t *answer)
{
    ngx_adm_errand_t  *errand = data;

    ngx_adm_stepped_t      stepped;
    ngx_adm_event_now_t    now;
    ngx_adm_event_state_t  state;

    ngx_memzero(&stepped, sizeof(ngx_adm_stepped_t));

    ngx_adm_event_get(&errand->event, &state, &now);

    stepped.work = 1;
    stepped.urgent = (state.size > 0);
    stepped.delay = ngx_adm_queue_interval(errand->conf);

    if (rc == NGX_OK) {
        ngx_adm_queue_stepped_plan(errand, answer, &state, &now, &stepped);

    } else {
        ngx_adm_events_missed();
    }

    ngx_log_debug5(NGX_LOG_DEBUG_HTTP, ngx_cycle->log, 0,
                   "admission: stepped event \"%V\": rc %i, users %ui, "
                   "urgent %ui, next in %M ms", &errand->event, rc,
                   (ngx_uint_t) stepped.work, (ngx_uint_t) stepped.urgent,
                   stepped.delay);

    if (ngx_adm_event_next(&errand->event, &stepped)) {

        /*
         * if somebody joins now the join lists it again, or did so within the
         * minute
         */

        ngx_adm_queue_unlist(&errand->event);
    }

    ngx_adm_schedule_soon(stepped.delay);

    if (stepped.delay == 0 && !ngx_exiting) {
        ngx_adm_redis_background(ngx_adm_redis, 1);
        ngx_adm_queue_step_now(&errand->event);
        ngx_adm_redis_background(ngx_adm_redis, 0);
    }

    ngx_adm_errand_free(&ngx_adm_queue_errands, errand);
}


/* what an answered step says of the next, and how long the event is kept */

static void
ngx_adm_queue_stepped_plan(ngx_adm_errand_t *errand,
    ngx_adm_queue_answer_t *answer, ngx_adm_event_state_t *state,
    ngx_adm_event_now_t *now, ngx_adm_stepped_t *stepped)
{
    ngx_uint_t  again;

    stepped->answered = 1;
    stepped->work = (answer->state != NGX_ADM_QUEUE_NOT_IN);
    stepped->urgent = (answer->size > 0 || answer->score);
    stepped->brief = ngx_adm_queue_is_brief(errand->conf, now->named);
    stepped->keep = ngx_adm_queue_keep_watch(errand->conf, answer,
                                            stepped->brief);

    if (answer->mixed) {
        ngx_adm_watchful();
    }

    ngx_adm_follow_watch(&errand->event, errand->conf);

    again = ngx_adm_notice_heard(&errand->event, answer->notice);
    ngx_adm_queue_stepped_sets(&errand->event, errand->conf, answer);

    if (answer->score || answer->more) {
        stepped->delay = 0;

    } else if (stepped->urgent) {
        /* decided by what is configured */

    } else if (ngx_adm_is_watchful()) {
        stepped->delay = NGX_ADM_STEP_MAX;

    } else if (!stepped->work) {
        stepped->delay = NGX_ADM_STEP_IDLE;

    } else {
        stepped->delay = ngx_min(answer->due, NGX_ADM_STEP_IDLE);
        stepped->delay = ngx_max(stepped->delay, NGX_ADM_TICK);
    }

    if (again) {
        stepped->delay = ngx_min(stepped->delay, NGX_ADM_STEP_NOTICE);
    }

    if ((state->threshold >= 0 && errand->conf->sn.str.len == 0)
        || state->slots >= 0
        || (errand->conf->slots >= 0 && state->sold > 0)
        || answer->notice
        || answer->hold.held
        || answer->sale.opens >= 0)
    {
        /*
         * hosts that start learn by the list alone that an event was named, or
         * that of it something is set or sold
         */

        stepped->keep = NGX_MAX_INT32_VALUE;
        ngx_adm_queue_mark(&errand->event);
    }
}


void
ngx_adm_queue_stepped_sets(ngx_str_t *event, ngx_adm_event_conf_t *conf,
    ngx_adm_queue_answer_t *answer)
{
    ngx_adm_sale_heard(event, &answer->sale);
    ngx_adm_hold_heard(event, conf, &answer->hold);

    if (answer->score == 0) {
        ngx_adm_event_known(event, answer->life);
    }
}


static ngx_msec_t
ngx_adm_queue_interval(ngx_adm_event_conf_t *conf)
{
    return ngx_min(conf->admit_interval, NGX_ADM_STEP_MAX);
}


/*
 * For how long hosts that start have to learn of an event that is empty: until
 * no token is good that was ended in it.
 */

static ngx_msec_t
ngx_adm_queue_keep_watch(ngx_adm_event_conf_t *conf,
    ngx_adm_queue_answer_t *answer, ngx_uint_t brief)
{
    if (answer->epoch == 0) {
        return NGX_ADM_KEEP_EMPTY;
    }

    if (brief) {
        return ngx_max(NGX_ADM_KEEP_BRIEF,
                       ngx_min(conf->token_ttl
                               + NGX_ADM_LEEWAY * 1000,
                               conf->active_ttl));
    }

    return NGX_ADM_KEEP + conf->token_ttl;
}
