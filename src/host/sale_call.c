
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Calls of the script of a sale's times: each brings what the host knows, so
 * that the latest stand though Redis lost them.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/clock.h"
#include "args.h"
#include "ngx_http_admission_names.h"
#include "sale.h"
#include "settings.h"


/* what Redis lost is given back a few at a time: the next answer asks again */
#define NGX_ADM_SALES_OUT  64


/* a call under way; freed with the call of the client */
typedef struct {
    ngx_adm_sale_done_pt   done;
    void                  *data;
    unsigned               back:1;       /* what Redis lost */
    ngx_str_t              event;
    u_char                 id[NGX_ADM_EVENT_MAX];
} ngx_adm_sale_ask_t;


static void ngx_adm_sale_detach(void *data);
static void ngx_adm_sale_answered(void *data, ngx_int_t rc,
    redisReply *reply);


static ngx_uint_t  ngx_adm_sales_out;


ngx_adm_redis_call_t *
ngx_adm_sale_call(ngx_adm_sale_what_e what, ngx_adm_sale_set_t *to,
    ngx_str_t *event, ngx_adm_event_conf_t *conf, ngx_adm_sale_done_pt done,
    void *data)
{
    ngx_adm_args_t         args;
    ngx_adm_sale_ask_t    *sa;
    ngx_adm_sale_set_t     known;
    ngx_adm_redis_call_t  *call;

    static ngx_str_t  names[] = {
        ngx_string("look"),
        ngx_string("set"),
        ngx_string("unset") };

    if (ngx_adm_redis == NULL) {
        return NULL;
    }

    sa = ngx_alloc(sizeof(ngx_adm_sale_ask_t), ngx_cycle->log);
    if (sa == NULL) {
        return NULL;
    }

    sa->done = done;
    sa->data = data;
    sa->back = (done == NULL);
    sa->event.len = event->len;
    sa->event.data = sa->id;
    ngx_memcpy(sa->id, event->data, event->len);

    ngx_adm_sale_known(event, &known);

    if (to == NULL) {
        to = &known;
    }

    ngx_adm_args_begin(&args, NGX_ADM_CALL_SALE, event);

    args.argv[NGX_ADM_ARG_SALE_WHAT] = names[what];
    args.number[NGX_ADM_ARG_SALE_OPENS] = to->opens;
    args.number[NGX_ADM_ARG_SALE_STARTS] = to->starts;
    args.number[NGX_ADM_ARG_SALE_CLOSES] = to->closes;

    args.number[NGX_ADM_ARG_SALE_CONF_OPENS] = conf ? conf->opens : 0;
    args.number[NGX_ADM_ARG_SALE_CONF_STARTS] = conf ? conf->starts : 0;

    args.number[NGX_ADM_ARG_SALE_HOST_VERSION] = known.version;
    args.number[NGX_ADM_ARG_SALE_HOST_OPENS] = known.opens;
    args.number[NGX_ADM_ARG_SALE_HOST_STARTS] = known.starts;
    args.number[NGX_ADM_ARG_SALE_HOST_CLOSES] = known.closes;

    call = ngx_adm_args_run(&args, ngx_adm_sale_answered, sa);
    if (call) {
        ngx_adm_redis_on_detach(call, ngx_adm_sale_detach);
    }

    return call;
}


/* what was changed is for the host all the same */

static void
ngx_adm_sale_detach(void *data)
{
    ngx_adm_sale_ask_t *sa = data;

    sa->done = NULL;
}


void
ngx_adm_sale_heard(ngx_str_t *event, ngx_adm_sale_set_t *set)
{
    if (!ngx_adm_sale_note(event, set)
        || ngx_adm_sales_out >= NGX_ADM_SALES_OUT)
    {
        return;
    }

    if (ngx_adm_sale_call(NGX_ADM_SALE_LOOK, NULL, event, NULL, NULL, NULL)
        != NULL)
    {
        ngx_adm_sales_out++;
    }
}


static void
ngx_adm_sale_answered(void *data, ngx_int_t rc, redisReply *reply)
{
    ngx_adm_sale_ask_t *sa = data;

    int64_t             v[NGX_ADM_REPLY_SALE_COUNT];
    ngx_adm_sale_set_t  set;

    if (sa->back) {
        ngx_adm_sales_out--;
    }

    if (rc == NGX_OK
        && (ngx_adm_reply_numbers(reply, v, NGX_ADM_REPLY_SALE_COUNT, 0)
            != NGX_OK
            || ngx_adm_is_far_ahead(v[NGX_ADM_REPLY_SALE_VERSION])))
    {
        ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                      "admission: the times of the sale of event \"%V\" in "
                      "redis are not ours", &sa->event);
        rc = NGX_ERROR;
    }

    if (rc != NGX_OK) {

        if (sa->done) {
            sa->done(sa->data, NGX_ERROR, NULL, 0);
        }

        return;
    }

    set.version = v[NGX_ADM_REPLY_SALE_VERSION];
    set.opens = v[NGX_ADM_REPLY_SALE_OPENS];
    set.starts = v[NGX_ADM_REPLY_SALE_STARTS];
    set.closes = v[NGX_ADM_REPLY_SALE_CLOSES];
    set.refused = (v[NGX_ADM_REPLY_SALE_REFUSED] != 0);

    (void) ngx_adm_sale_note(&sa->event, &set);

    if (sa->done) {
        sa->done(sa->data, NGX_OK, &set, v[NGX_ADM_REPLY_SALE_US]);
    }
}
