
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Joins that came in a turn of the event loop are sent at its end: so nobody
 * waits for others, and each has the deadline of a call of its own.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>

#include "ngx_http_admission_names.h"
#include "../base/by_id.h"
#include "../host/event_state.h"
#include "../host/line.h"
#include "../host/tally.h"
#include "../redis/client.h"
#include "together.h"


#define NGX_ADM_TOGETHER  64             /* of a call, at most */

#define NGX_ADM_TOGETHER_FIT                                                  \
    (NGX_ADM_TOGETHER * NGX_ADM_EACH_QUEUE_JOIN_COUNT)


typedef struct ngx_adm_all_s  ngx_adm_all_t;

struct ngx_adm_together_s {
    ngx_adm_queue_done_pt      done;     /* NULL: cancelled, or told */
    void                      *data;
};


/* joins of an event, until all have been told */
struct ngx_adm_all_s {
    ngx_str_node_t             sn;       /* str: the id */
    ngx_pool_t                *pool;     /* of all this */
    ngx_adm_event_conf_t      *conf;
    ngx_uint_t                 unbound;  /* bool */
    ngx_uint_t                 n;
    ngx_event_t                send;     /* posted */
    ngx_adm_together_t         one[NGX_ADM_TOGETHER];
    ngx_str_t                  user[NGX_ADM_TOGETHER_FIT];
};


static ngx_adm_all_t *ngx_adm_all(ngx_adm_queue_ask_t *ask);
static void ngx_adm_all_posted(ngx_event_t *ev);
static void ngx_adm_all_send(ngx_adm_all_t *all);
static void ngx_adm_all_done(void *data, ngx_int_t rc,
    ngx_adm_queue_answer_t *answer);
static ngx_int_t ngx_adm_all_answer(ngx_adm_all_t *all, ngx_uint_t i,
    ngx_adm_queue_answer_t *all_of_it, ngx_adm_queue_answer_t *answer);


static ngx_adm_by_id_t  ngx_adm_all_events;


ngx_uint_t
ngx_adm_together_may(ngx_adm_queue_ask_t *ask)
{
    ngx_adm_event_now_t    now;
    ngx_adm_event_state_t  state;

    if (ask->mode != NGX_ADM_QUEUE_CHECK
        || ask->nplaces
        || ask->entry
        || ask->tier1
        || ask->pass)
    {
        return 0;
    }

    ngx_adm_event_get(&ask->event, &state, &now);

    return state.epoch && state.size > 0;
}


ngx_adm_together_t *
ngx_adm_together(ngx_adm_queue_ask_t *ask, ngx_adm_queue_done_pt done,
    void *data)
{
    ngx_adm_all_t       *all;
    ngx_adm_together_t  *one;

    if (ngx_adm_redis == NULL) {
        return NULL;
    }

    all = ngx_adm_all(ask);
    if (all == NULL) {
        return NULL;
    }

    all->user[all->n].data = ngx_pstrdup(all->pool, &ask->user);
    if (all->user[all->n].data == NULL) {
        return NULL;
    }

    all->user[all->n].len = ask->user.len;

    one = &all->one[all->n++];
    one->done = done;
    one->data = data;

    if (all->n == NGX_ADM_TOGETHER) {

        /* the next join begins another call; this one stays posted */

        ngx_adm_by_id_delete(&ngx_adm_all_events, &all->sn);
    }

    return one;
}


/* whether the user joined all the same Redis knows, and tells its next call */

void
ngx_adm_together_cancel(void *together)
{
    ngx_adm_together_t *one = together;

    one->done = NULL;
}


/*
 * of an event, those that are bound and those that are not do not share a call
 */

static ngx_adm_all_t *
ngx_adm_all(ngx_adm_queue_ask_t *ask)
{
    ngx_pool_t     *pool;
    ngx_adm_all_t  *all;

    all = ngx_adm_by_id_find(&ngx_adm_all_events, &ask->event, ask->unbound);

    if (all) {
        return all;
    }

    pool = ngx_create_pool(4096, ngx_cycle->log);
    if (pool == NULL) {
        return NULL;
    }

    all = ngx_pcalloc(pool, sizeof(ngx_adm_all_t) + ask->event.len);
    if (all == NULL) {
        ngx_destroy_pool(pool);
        return NULL;
    }

    all->pool = pool;
    all->conf = ask->conf;
    all->unbound = ask->unbound;

    all->send.handler = ngx_adm_all_posted;
    all->send.data = all;
    all->send.log = ngx_cycle->log;

    ngx_adm_by_id_add(&ngx_adm_all_events, &all->sn, &ask->event, ask->unbound,
                      (u_char *) (all + 1));
    ngx_post_event(&all->send, &ngx_posted_events);

    return all;
}


static void
ngx_adm_all_posted(ngx_event_t *ev)
{
    ngx_adm_all_t *all = ev->data;

    if (all->n < NGX_ADM_TOGETHER) {
        ngx_adm_by_id_delete(&ngx_adm_all_events, &all->sn);
    }

    ngx_adm_all_send(all);
}


static void
ngx_adm_all_send(ngx_adm_all_t *all)
{
    if (all->n < 2) {
        ngx_adm_all_done(all, NGX_AGAIN, NULL);
        return;
    }

    if (ngx_adm_queue_joins(&all->sn.str, all->conf, all->unbound, all->n,
                            &all->user[NGX_ADM_EACH_QUEUE_JOIN_USER],
                            ngx_adm_all_done, all)
        == NULL)
    {
        ngx_adm_all_done(all, NGX_ERROR, NULL);
    }
}


/* whoever is told may go, and so may others; "all" stays until the end */

static void
ngx_adm_all_done(void *data, ngx_int_t rc, ngx_adm_queue_answer_t *answer)
{
    ngx_adm_all_t *all = data;

    ngx_int_t                told;
    ngx_uint_t               i;
    ngx_adm_together_t      *one;
    ngx_adm_queue_done_pt    done;
    ngx_adm_queue_answer_t   own;

    if (rc == NGX_OK
        && answer->stands->elements != all->n * NGX_ADM_QUEUE_STANDS)
    {
        rc = NGX_ERROR;
    }

    for (i = 0; i < all->n; i++) {
        told = rc;

        if (rc == NGX_OK) {
            told = ngx_adm_all_answer(all, i, answer, &own);
        }

        one = &all->one[i];
        done = one->done;

        if (done) {
            one->done = NULL;
            done(one->data, told, told == NGX_OK ? &own : NULL);
        }
    }

    ngx_destroy_pool(all->pool);
}


/* NGX_AGAIN: the user has to ask alone */

static ngx_int_t
ngx_adm_all_answer(ngx_adm_all_t *all, ngx_uint_t i,
    ngx_adm_queue_answer_t *all_of_it, ngx_adm_queue_answer_t *answer)
{
    redisReply  **stands;

    stands = &all_of_it->stands->element[i * NGX_ADM_QUEUE_STANDS];

    *answer = *all_of_it;

    answer->state = stands[0]->integer;
    answer->position = stands[1]->integer;
    answer->score = stands[2]->integer;
    answer->clock = stands[3]->integer;

    switch (answer->state) {

    case NGX_ADM_QUEUE_WAITING:

        if (all->conf->max_queue >= 0 || all->conf->max_wait) {
            ngx_adm_line_add(&all->sn.str, &all->user[i]);
        }

        return NGX_OK;

    case NGX_ADM_QUEUE_FULL:
        ngx_adm_tally(&all->sn.str, NGX_ADM_TALLY_FULL, 1);
        return NGX_OK;

    case NGX_ADM_QUEUE_TOO_LONG:
        ngx_adm_tally(&all->sn.str, NGX_ADM_TALLY_LONG, 1);
        return NGX_OK;

    case NGX_ADM_QUEUE_SOLD_OUT:
        return NGX_OK;

    default:
        return NGX_AGAIN;
    }
}
