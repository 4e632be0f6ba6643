
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Looks that are out, by kind and event, and who waits for each.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>

#include "../redis/client.h"
#include "look.h"


/* the one call about an event; in the tree until it is answered */
struct ngx_adm_look_out_s {
    ngx_str_node_t               sn;         /* str: the id */
    ngx_queue_t                  waiting;
    ngx_adm_look_kind_t         *kind;
    ngx_adm_event_conf_t        *conf;
    ngx_adm_redis_call_t        *call;       /* NULL: answered */
    u_char                       id[1];
};


struct ngx_adm_look_s {
    ngx_queue_t                  queue;
    ngx_adm_look_out_t          *out;        /* of its event */
    ngx_adm_look_done_pt         done;
    void                        *data;
};


static ngx_adm_look_out_t *ngx_adm_look_out(ngx_adm_look_kind_t *kind,
    ngx_str_t *event, ngx_adm_event_conf_t *conf);


ngx_adm_look_t *
ngx_adm_look_at(ngx_adm_look_kind_t *kind, ngx_str_t *event,
    ngx_adm_event_conf_t *conf, ngx_adm_look_done_pt done, void *data)
{
    ngx_adm_look_t  *look;

    look = ngx_alloc(sizeof(ngx_adm_look_t), ngx_cycle->log);
    if (look == NULL) {
        return NULL;
    }

    look->done = done;
    look->data = data;
    look->out = ngx_adm_look_out(kind, event, conf);

    if (look->out == NULL) {
        ngx_free(look);
        return NULL;
    }

    ngx_queue_insert_tail(&look->out->waiting, &look->queue);

    return look;
}


/* if all go away the call stays, for whoever comes before its answer */

void
ngx_adm_look_cancel(void *data)
{
    ngx_adm_look_t *look = data;

    ngx_adm_look_out_t  *out;

    out = look->out;

    ngx_queue_remove(&look->queue);
    ngx_free(look);

    if (ngx_queue_empty(&out->waiting) && out->call) {
        ngx_adm_redis_want(out->call, 0);
    }
}


ngx_str_t *
ngx_adm_look_event(ngx_adm_look_out_t *out)
{
    return &out->sn.str;
}


ngx_adm_event_conf_t *
ngx_adm_look_conf(ngx_adm_look_out_t *out)
{
    return out->conf;
}


/* the look that is out, or one that begins now; NULL: it could not */

static ngx_adm_look_out_t *
ngx_adm_look_out(ngx_adm_look_kind_t *kind, ngx_str_t *event,
    ngx_adm_event_conf_t *conf)
{
    ngx_adm_look_out_t  *out;

    out = ngx_adm_by_id_find(&kind->events, event, 0);

    if (out) {
        ngx_log_debug1(NGX_LOG_DEBUG_HTTP, ngx_cycle->log, 0,
                       "admission: event \"%V\": a look is out", event);

        ngx_adm_redis_want(out->call, 1);
        return out;
    }

    out = ngx_calloc(sizeof(ngx_adm_look_out_t) + event->len, ngx_cycle->log);
    if (out == NULL) {
        return NULL;
    }

    out->kind = kind;
    out->conf = conf;

    out->call = kind->call(event, conf, out);

    if (out->call == NULL) {
        ngx_free(out);
        return NULL;
    }

    ngx_queue_init(&out->waiting);
    ngx_adm_by_id_add(&kind->events, &out->sn, event, 0, out->id);

    return out;
}


/*
 * whoever is told may ask again, by another call, or cancel others, meanwhile
 */

void
ngx_adm_look_told(ngx_adm_look_out_t *out, ngx_int_t rc, void *answer)
{
    void                  *data;
    ngx_queue_t           *q;
    ngx_adm_look_t        *look;
    ngx_adm_look_done_pt   done;

    out->call = NULL;
    ngx_adm_by_id_delete(&out->kind->events, &out->sn);

    while (!ngx_queue_empty(&out->waiting)) {
        q = ngx_queue_head(&out->waiting);
        ngx_queue_remove(q);

        look = ngx_queue_data(q, ngx_adm_look_t, queue);

        done = look->done;
        data = look->data;
        ngx_free(look);

        done(data, rc, answer);
    }

    ngx_free(out);
}
