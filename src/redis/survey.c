
/*
 * Copyright (C) 2026 the admission module authors
 *
 * One round asks nodes in turn, none twice: those that are ready and have
 * slots, all that are known, then those of the configuration.  When the next
 * round begins, and what the log is told, is here as well.
 *
 * A node that is busy for a second is late, not down: the next one is asked,
 * and the connection stays, with all that is on its way there.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>

#include "../base/timer.h"
#include "reply.h"
#include "survey.h"


#define NGX_ADM_REDIS_REFRESH   1000      /* ms, at least */
#define NGX_ADM_REDIS_RETRY     250       /* ms, nobody answered */
#define NGX_ADM_REDIS_NOW_AND_THEN  30000 /* ms */


static void ngx_adm_redis_survey_round(ngx_event_t *ev);
static void ngx_adm_redis_survey_next(ngx_adm_redis_survey_t *survey);
static ngx_int_t ngx_adm_redis_survey_known(ngx_adm_redis_survey_t *survey,
    ngx_uint_t ready);
static ngx_int_t ngx_adm_redis_survey_seeds(ngx_adm_redis_survey_t *survey);
static ngx_int_t ngx_adm_redis_survey_node(ngx_adm_redis_survey_t *survey,
    ngx_adm_redis_node_t *node);
static void ngx_adm_redis_survey_answer(ngx_adm_redis_call_t *call,
    ngx_int_t rc, redisReply *reply);
static ngx_int_t ngx_adm_redis_survey_read(ngx_adm_redis_survey_t *survey,
    ngx_adm_redis_call_t *call, redisReply *reply);
static void ngx_adm_redis_survey_sweep(ngx_event_t *ev);
static void ngx_adm_redis_survey_log(ngx_adm_redis_survey_t *survey,
    ngx_adm_redis_node_t *node, const char *text);


static ngx_str_t  ngx_adm_redis_survey_question =
    ngx_string("*2\r\n$7\r\nCLUSTER\r\n$5\r\nSLOTS\r\n");


void
ngx_adm_redis_survey_init(ngx_adm_redis_survey_t *survey, ngx_cycle_t *cycle,
    ngx_adm_redis_map_t *map, ngx_adm_redis_parked_t *parked)
{
    survey->map = map;
    survey->parked = parked;
    survey->log = cycle->log;

    survey->asked_at = ngx_current_msec - NGX_ADM_REDIS_RETRY;
    survey->interval = NGX_ADM_REDIS_RETRY;

    ngx_adm_timer_init(&survey->timer, ngx_adm_redis_survey_round, cycle->log);
    survey->timer.cancelable = 1;

    survey->swept.handler = ngx_adm_redis_survey_sweep;
    survey->swept.data = survey;
    survey->swept.log = cycle->log;
}


void
ngx_adm_redis_survey_close(ngx_adm_redis_survey_t *survey)
{
    survey->closed = 1;

    if (survey->timer.timer_set) {
        ngx_del_timer(&survey->timer);
    }

    if (survey->swept.posted) {
        ngx_delete_posted_event(&survey->swept);
    }
}


void
ngx_adm_redis_survey_want(ngx_adm_redis_survey_t *survey)
{
    ngx_msec_t  passed;

    if (survey->closed) {
        return;
    }

    if (survey->asking) {
        survey->wanted = 1;
        return;
    }

    passed = ngx_current_msec - survey->asked_at;

    ngx_adm_redis_timer(&survey->timer,
                        passed < survey->interval
                        ? survey->interval - passed : 0);
}


static void
ngx_adm_redis_survey_round(ngx_event_t *ev)
{
    ngx_adm_redis_survey_t  *survey;

    survey = ngx_queue_data(ev, ngx_adm_redis_survey_t, timer);

    if (survey->asking) {
        return;
    }

    survey->round++;
    survey->wanted = 0;
    survey->asked_at = ngx_current_msec;
    survey->interval = NGX_ADM_REDIS_RETRY;

    ngx_adm_redis_survey_next(survey);
}


/* asks the next node that can be: those with slots and a connection first */

static void
ngx_adm_redis_survey_next(ngx_adm_redis_survey_t *survey)
{
    if (ngx_adm_redis_survey_known(survey, 1) == NGX_OK
        || ngx_adm_redis_survey_known(survey, 0) == NGX_OK
        || ngx_adm_redis_survey_seeds(survey) == NGX_OK)
    {
        survey->asking = 1;
        return;
    }

    /* nobody could be asked but nodes that did not answer */

    ngx_adm_redis_timer(&survey->timer, NGX_ADM_REDIS_RETRY);
}


static ngx_int_t
ngx_adm_redis_survey_known(ngx_adm_redis_survey_t *survey, ngx_uint_t ready)
{
    ngx_queue_t           *q, *nodes;
    ngx_adm_redis_node_t  *node;

    nodes = &survey->map->nodes->queue;
    q = ngx_queue_head(nodes);

    while (q != ngx_queue_sentinel(nodes)) {
        node = ngx_queue_data(q, ngx_adm_redis_node_t, queue);
        q = ngx_queue_next(q);

        if (node->round == survey->round
            || (ready
                && (!node->has_slots || !ngx_adm_redis_conn_ready(node->conn))))
        {
            continue;
        }

        /* the next survey begins with another node */

        ngx_queue_remove(&node->queue);
        ngx_queue_insert_tail(nodes, &node->queue);

        if (ngx_adm_redis_survey_node(survey, node) == NGX_OK) {
            return NGX_OK;
        }
    }

    return NGX_DECLINED;
}


static ngx_int_t
ngx_adm_redis_survey_seeds(ngx_adm_redis_survey_t *survey)
{
    ngx_uint_t                 i;
    ngx_adm_redis_node_t      *node;
    ngx_adm_redis_endpoint_t  *seed;

    seed = survey->map->nodes->conf->endpoints.elts;

    for (i = 0; i < survey->map->nodes->conf->endpoints.nelts; i++) {

        node = ngx_adm_redis_node_of(survey->map->nodes, &seed[i]);

        if (node
            && node->round != survey->round
            && ngx_adm_redis_survey_node(survey, node) == NGX_OK)
        {
            return NGX_OK;
        }
    }

    return NGX_DECLINED;
}


static ngx_int_t
ngx_adm_redis_survey_node(ngx_adm_redis_survey_t *survey,
    ngx_adm_redis_node_t *node)
{
    node->round = survey->round;

    return ngx_adm_redis_node_ask(node, &ngx_adm_redis_survey_question,
                                  node->nodes->conf->timeout,
                                  ngx_adm_redis_survey_answer, survey);
}


static void
ngx_adm_redis_survey_answer(ngx_adm_redis_call_t *call, ngx_int_t rc,
    redisReply *reply)
{
    char                     text[128];
    ngx_int_t                read;
    ngx_uint_t               late;
    ngx_adm_redis_node_t    *node;
    ngx_adm_redis_survey_t  *survey;

    survey = call->data;
    node = call->node;

    if (rc == NGX_AGAIN) {
        survey->asking = 0;

        if (!survey->closed) {
            ngx_adm_redis_survey_next(survey);
        }

        return;
    }

    late = call->late;

    read = (rc == NGX_OK && !survey->closed)
           ? ngx_adm_redis_survey_read(survey, call, reply) : NGX_DECLINED;

    ngx_free(call);

    if (!late) {
        survey->asking = 0;
    }

    if (survey->closed || read == NGX_ABORT) {
        return;
    }

    if (read == NGX_OK) {

        if (!survey->asking && survey->wanted) {
            ngx_adm_redis_survey_want(survey);
        }

        return;
    }

    if (rc == NGX_OK) {
        ngx_adm_redis_survey_log(survey, node, "it knows of no slots");

    } else if (rc == NGX_DECLINED) {
        ngx_adm_redis_survey_log(survey, node,
                                 ngx_adm_redis_text(text, sizeof(text), reply));
    }

    if (!late) {
        ngx_adm_redis_survey_next(survey);
    }
}


/* NGX_ABORT: the map that is known comes from a later question */

static ngx_int_t
ngx_adm_redis_survey_read(ngx_adm_redis_survey_t *survey,
    ngx_adm_redis_call_t *call, redisReply *reply)
{
    ngx_msec_t  sent;

    sent = call->limit - call->wait;

    if (survey->known && (ngx_msec_int_t) (sent - survey->read_at) < 0) {
        return NGX_ABORT;
    }

    if (ngx_adm_redis_map_read(survey->map, reply, call->node) != NGX_OK) {
        return NGX_DECLINED;
    }

    survey->known = 1;
    survey->read_at = sent;
    survey->interval = NGX_ADM_REDIS_REFRESH;

    /* not at once, since the node that has answered may be forgotten */

    ngx_post_event(&survey->swept, &ngx_posted_events);

    ngx_adm_redis_parked_news(survey->parked);

    ngx_adm_redis_timer(&survey->timer, NGX_ADM_REDIS_NOW_AND_THEN);

    return NGX_OK;
}


static void
ngx_adm_redis_survey_sweep(ngx_event_t *ev)
{
    ngx_adm_redis_survey_t  *survey;

    survey = ev->data;

    ngx_adm_redis_nodes_sweep(survey->map->nodes);
}


static void
ngx_adm_redis_survey_log(ngx_adm_redis_survey_t *survey,
    ngx_adm_redis_node_t *node, const char *text)
{
    if (survey->logged && ngx_current_msec - survey->logged_at < 1000) {
        return;
    }

    survey->logged = 1;
    survey->logged_at = ngx_current_msec;

    ngx_log_error(NGX_LOG_ERR, survey->log, 0, "admission: redis %V: no map "
                  "of the cluster: %s", &node->name, text);
}
