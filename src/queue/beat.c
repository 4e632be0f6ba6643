
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Heartbeats of who was told by the host how it stands: those of an event go
 * out with one call, a moment after the first or when they are many.  A worker
 * that leaves sends its own first, since their timer keeps it.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>

#include "ngx_http_admission_names.h"
#include "../base/counter.h"
#include "../host/view.h"
#include "../redis/client.h"
#include "beat.h"


#define NGX_ADM_BEAT_DELAY  800          /* ms */
#define NGX_ADM_BEATS       250          /* of a call, at most: less than 1 ms
                                            of Redis */

#define NGX_ADM_BEAT_PLACE  (2 * NGX_INT64_LEN + sizeof("  0") - 1)


/* those of an event, until there is an answer */
typedef struct {
    ngx_str_node_t             sn;       /* str: the id */
    ngx_adm_event_conf_t      *conf;
    ngx_pool_t                *pool;     /* of all of it */
    ngx_array_t                groups;   /* of arguments: ngx_str_t */
    ngx_uint_t                 n;
    ngx_event_t                send;     /* timer */
} ngx_adm_beats_t;


static ngx_adm_beats_t *ngx_adm_beats(ngx_str_t *event);
static void ngx_adm_beats_timer(ngx_event_t *ev);
static void ngx_adm_beats_send(ngx_adm_beats_t *beats);
static void ngx_adm_beats_done(void *data, ngx_int_t rc,
    ngx_adm_queue_answer_t *answer);


static ngx_rbtree_t       ngx_adm_beat_events;
static ngx_rbtree_node_t  ngx_adm_beat_sentinel;


ngx_int_t
ngx_adm_beat(ngx_str_t *event, ngx_adm_event_conf_t *conf, ngx_str_t *user,
    ngx_adm_claims_t *place, ngx_uint_t away)
{
    u_char           *p;
    ngx_str_t        *group;
    ngx_adm_beats_t  *beats;

    if (ngx_adm_redis == NULL) {
        return NGX_ERROR;
    }

    beats = ngx_adm_beats(event);
    if (beats == NULL) {
        return NGX_ERROR;
    }

    beats->conf = conf;

    p = ngx_pnalloc(beats->pool, user->len + NGX_INT64_LEN
                                 + NGX_ADM_BEAT_PLACE);
    if (p == NULL) {
        return NGX_ERROR;
    }

    group = ngx_array_push_n(&beats->groups, NGX_ADM_EACH_QUEUE_BEAT_COUNT);
    if (group == NULL) {
        return NGX_ERROR;
    }

    group[NGX_ADM_EACH_QUEUE_BEAT_USER].len = user->len;
    group[NGX_ADM_EACH_QUEUE_BEAT_USER].data = p;
    p = ngx_cpymem(p, user->data, user->len);

    group[NGX_ADM_EACH_QUEUE_BEAT_SCORE].data = p;
    p = ngx_sprintf(p, "%L", place->score);
    group[NGX_ADM_EACH_QUEUE_BEAT_SCORE].len =
                               p - group[NGX_ADM_EACH_QUEUE_BEAT_SCORE].data;

    group[NGX_ADM_EACH_QUEUE_BEAT_PLACE].data = p;
    p = ngx_sprintf(p, "%L %L %d", place->at, place->epoch, away ? 1 : 0);
    group[NGX_ADM_EACH_QUEUE_BEAT_PLACE].len =
                               p - group[NGX_ADM_EACH_QUEUE_BEAT_PLACE].data;

    beats->n++;

    if (beats->n == NGX_ADM_BEATS || ngx_exiting) {
        ngx_adm_beats_send(beats);
    }

    return NGX_OK;
}


static ngx_adm_beats_t *
ngx_adm_beats(ngx_str_t *event)
{
    uint32_t          hash;
    ngx_pool_t       *pool;
    ngx_adm_beats_t  *beats;

    if (ngx_adm_beat_events.root == NULL) {
        ngx_rbtree_init(&ngx_adm_beat_events, &ngx_adm_beat_sentinel,
                        ngx_str_rbtree_insert_value);
    }

    hash = ngx_murmur_hash2(event->data, event->len);

    beats = (ngx_adm_beats_t *) ngx_str_rbtree_lookup(&ngx_adm_beat_events,
                                                      event, hash);
    if (beats) {
        return beats;
    }

    pool = ngx_create_pool(1024, ngx_cycle->log);
    if (pool == NULL) {
        return NULL;
    }

    beats = ngx_pcalloc(pool, sizeof(ngx_adm_beats_t));

    if (beats == NULL
        || ngx_array_init(&beats->groups, pool,
                          8 * NGX_ADM_EACH_QUEUE_BEAT_COUNT,
                          sizeof(ngx_str_t)) != NGX_OK)
    {
        goto failed;
    }

    beats->pool = pool;

    beats->sn.str.len = event->len;
    beats->sn.str.data = ngx_pstrdup(pool, event);
    if (beats->sn.str.data == NULL) {
        goto failed;
    }

    beats->sn.node.key = hash;

    beats->send.handler = ngx_adm_beats_timer;
    beats->send.data = beats;
    beats->send.log = ngx_cycle->log;

    ngx_rbtree_insert(&ngx_adm_beat_events, &beats->sn.node);
    ngx_add_timer(&beats->send, NGX_ADM_BEAT_DELAY);

    return beats;

failed:

    ngx_destroy_pool(pool);

    return NULL;
}


static void
ngx_adm_beats_timer(ngx_event_t *ev)
{
    ngx_adm_beats_send(ev->data);
}


/* nobody waits for it: a failure is one heartbeat less of each */

static void
ngx_adm_beats_send(ngx_adm_beats_t *beats)
{
    if (beats->send.timer_set) {
        ngx_del_timer(&beats->send);
    }

    ngx_rbtree_delete(&ngx_adm_beat_events, &beats->sn.node);

    ngx_adm_count_n(NGX_ADM_COUNT_VIEW_BEATS, beats->n);

    if (ngx_adm_queue_beat(&beats->sn.str, beats->conf, beats->n,
                           beats->groups.elts, ngx_adm_beats_done, beats)
        == NULL)
    {
        ngx_destroy_pool(beats->pool);
    }
}


static void
ngx_adm_beats_done(void *data, ngx_int_t rc, ngx_adm_queue_answer_t *answer)
{
    ngx_adm_beats_t *beats = data;

    size_t       i;
    ngx_str_t   *group;
    ngx_uint_t   n;
    redisReply  *again;

    if (rc == NGX_OK) {
        again = answer->again;
        group = beats->groups.elts;

        for (i = 0; i < again->elements; i++) {
            n = (ngx_uint_t) again->element[i]->integer;

            if (n < beats->n) {
                n *= NGX_ADM_EACH_QUEUE_BEAT_COUNT;

                ngx_adm_view_gone(&beats->sn.str,
                                  &group[n + NGX_ADM_EACH_QUEUE_BEAT_USER],
                                  answer->clock);
            }
        }

        ngx_adm_count_n(NGX_ADM_COUNT_VIEW_AGAIN, again->elements);

        ngx_log_debug3(NGX_LOG_DEBUG_HTTP, ngx_cycle->log, 0,
                       "admission: heartbeats of event \"%V\": %ui, %uz of "
                       "them are to ask", &beats->sn.str, beats->n,
                       again->elements);
    }

    ngx_destroy_pool(beats->pool);
}
