
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What a backend sold is sold, whether or not Redis is there to be told.  So
 * an order is repeated until Redis has answered; that does no harm, since what
 * is bought in a session counts once.  The worker does not leave before that;
 * a worker that is killed takes its orders with it.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>
#include <ngx_http.h>

#include "../base/text.h"
#include "../host/revoked.h"
#include "../host/settings.h"
#include "command.h"
#include "queue.h"


#define NGX_ADM_ORDERS        10000      /* of a worker, at once */
#define NGX_ADM_ORDER_LIFE    600000     /* ms that an order is repeated, */
#define NGX_ADM_ORDER_LEAVE   60000      /* or in a worker that leaves */
#define NGX_ADM_ORDER_PAUSE   200        /* ms before the first repetition, */
#define NGX_ADM_ORDER_LONGEST 5000       /* and at most */


typedef struct {
    ngx_event_t              event;
    ngx_adm_event_conf_t    *conf;
    int64_t                  adm;
    int64_t                  seats;
    ngx_msec_t               first;
    ngx_msec_t               pause;
    ngx_str_t                id;
    ngx_str_t                user;
    ngx_str_t                key;        /* if the session is not told by adm */
    u_char                   digest[NGX_ADM_QUEUE_KEY];
    u_char                   text[1];    /* event and user */
} ngx_adm_order_t;


static ngx_adm_order_t *ngx_adm_order(ngx_adm_claims_t *entry);
static void ngx_adm_order_key(ngx_adm_order_t *order, ngx_adm_claims_t *entry);
static void ngx_adm_order_send(ngx_event_t *ev);
static void ngx_adm_order_done(void *data, ngx_int_t rc,
    ngx_adm_queue_answer_t *answer);
static void ngx_adm_order_again(ngx_adm_order_t *order);
static void ngx_adm_order_lost(ngx_str_t *event, int64_t seats,
    const char *why);
static void ngx_adm_order_free(ngx_adm_order_t *order);


static ngx_uint_t  ngx_adm_orders;


void
ngx_adm_queue_command(ngx_http_request_t *r, ngx_adm_claims_t *entry,
    int64_t seats)
{
    ngx_adm_order_t       *order;
    ngx_adm_main_conf_t   *mcf;
    ngx_adm_event_conf_t  *conf;

    mcf = ngx_http_get_module_main_conf(r, ngx_http_admission_module);

    conf = ngx_adm_event_conf(mcf, &entry->sub);

    if (conf == NULL || ngx_adm_redis == NULL) {
        ngx_adm_order_lost(&entry->sub, seats, conf ? "no redis is configured"
                                                    : "it is no event");
        return;
    }

    ngx_log_debug2(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "admission: a backend says that a user of event \"%V\" %s",
                   &entry->sub, seats ? "has bought" : "leaves");

    if (entry->adm) {
        ngx_adm_revoke(&entry->sub, &entry->uid, entry->adm,
                       ngx_adm_queue_keep(conf->token_ttl));
    }

    if (ngx_adm_orders >= NGX_ADM_ORDERS) {
        ngx_adm_order_lost(&entry->sub, seats, "too many others wait for "
                           "redis");
        return;
    }

    order = ngx_adm_order(entry);

    if (order == NULL) {
        ngx_adm_order_lost(&entry->sub, seats, "no memory");
        return;
    }

    order->conf = conf;
    order->seats = seats;

    ngx_adm_order_send(&order->event);
}


static ngx_adm_order_t *
ngx_adm_order(ngx_adm_claims_t *entry)
{
    u_char           *p;
    ngx_adm_order_t  *order;

    order = ngx_calloc(sizeof(ngx_adm_order_t) + entry->sub.len
                       + entry->uid.len, ngx_cycle->log);
    if (order == NULL) {
        return NULL;
    }

    p = order->text;

    order->id.len = entry->sub.len;
    order->id.data = p;
    p = ngx_cpymem(p, entry->sub.data, entry->sub.len);

    order->user.len = entry->uid.len;
    order->user.data = p;
    ngx_memcpy(p, entry->uid.data, entry->uid.len);

    if (entry->adm == 0) {
        ngx_adm_order_key(order, entry);
    }

    order->adm = entry->adm;
    order->first = ngx_current_msec;
    order->pause = NGX_ADM_ORDER_PAUSE;

    order->event.handler = ngx_adm_order_send;
    order->event.data = order;
    order->event.log = ngx_cycle->log;

    ngx_adm_orders++;

    return order;
}


/* by the time of a repetition the user may have begun another session */

static void
ngx_adm_order_key(ngx_adm_order_t *order, ngx_adm_claims_t *entry)
{
    u_char     digits[2][NGX_INT64_LEN];
    ngx_str_t  parts[5];

    ngx_str_set(&parts[0], "order");
    parts[1] = order->id;
    parts[2] = order->user;
    parts[3].data = digits[0];
    parts[3].len = ngx_adm_put_number(digits[0], entry->iat) - digits[0];
    parts[4].data = digits[1];
    parts[4].len = ngx_adm_put_number(digits[1], entry->exp) - digits[1];

    ngx_adm_queue_key(&order->key, order->digest, parts, 5);
}


static void
ngx_adm_order_send(ngx_event_t *ev)
{
    ngx_adm_order_t *order = ev->data;

    if (ngx_adm_queue_complete(&order->id, order->conf, &order->user,
                               order->adm, order->seats, NGX_ADM_BY_BACKEND,
                               &order->key, ngx_adm_order_done, order)
        == NULL)
    {
        ngx_adm_order_again(order);
    }
}


static void
ngx_adm_order_done(void *data, ngx_int_t rc, ngx_adm_queue_answer_t *answer)
{
    ngx_adm_order_t *order = data;

    if (rc != NGX_OK) {
        ngx_adm_order_again(order);
        return;
    }

    ngx_log_debug2(NGX_LOG_DEBUG_HTTP, ngx_cycle->log, 0,
                   "admission: a purchase of event \"%V\" was told, counted "
                   "%ui", &order->id, answer->counted);

    ngx_adm_order_free(order);
}


static void
ngx_adm_order_again(ngx_adm_order_t *order)
{
    ngx_msec_t  life;

    life = ngx_exiting ? NGX_ADM_ORDER_LEAVE : NGX_ADM_ORDER_LIFE;

    if (ngx_terminate || ngx_current_msec - order->first > life) {
        ngx_adm_order_lost(&order->id, order->seats, "redis did not answer");
        ngx_adm_order_free(order);
        return;
    }

    ngx_add_timer(&order->event, order->pause
                                 + ngx_random() % (order->pause / 4));

    order->pause = ngx_min(order->pause * 2, NGX_ADM_ORDER_LONGEST);
}


static void
ngx_adm_order_lost(ngx_str_t *event, int64_t seats, const char *why)
{
    if (seats) {
        ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                      "admission: %L seats of event \"%V\" that a backend has "
                      "sold are not counted: %s", seats, event, why);

    } else {
        ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                      "admission: a user of event \"%V\" whom a backend has "
                      "leave stays in: %s", event, why);
    }
}


static void
ngx_adm_order_free(ngx_adm_order_t *order)
{
    ngx_adm_orders--;
    ngx_free(order);
}
