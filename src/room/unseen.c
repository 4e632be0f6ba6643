
/*
 * Copyright (C) 2026 the admission module authors
 *
 * A page passes a room on standby by what the host was granted
 * (host/standby.h).  Where nothing is left of the grant it is held up until
 * the room's next step, which says whether there is more.  Pages that a worker
 * holds up are in a queue, in the order in which they came.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../base/text.h"
#include "../host/standby.h"
#include "../host/tally.h"
#include "../http/ctx.h"
#include "../http/deny.h"
#include "../http/intake.h"
#include "../http/origin.h"
#include "../http/room.h"
#include "../http/visitor.h"
#include "../http/wait.h"
#include "unseen.h"


#define NGX_ADM_UNSEEN_LOOK  20          /* ms between looks at the grant */


typedef struct ngx_adm_unseen_s  ngx_adm_unseen_t;

/* such a request; in its pool */
struct ngx_adm_unseen_s {
    ngx_http_request_t       *request;
    ngx_str_t                 event;
    ngx_adm_event_conf_t     *conf;
    ngx_adm_standby_visit_t   visit;
    ngx_adm_intake_t          intake;
    ngx_queue_t               queue;     /* while it is held up */
    ngx_int_t                 rc;        /* as of ngx_adm_standby_take() */
    unsigned                  passed:1;
};


static ngx_int_t ngx_adm_unseen_begin(ngx_http_request_t *r,
    ngx_adm_ctx_t *ctx, ngx_adm_unseen_t *us);
static ngx_int_t ngx_adm_unseen_hold(ngx_adm_unseen_t *us);
static void ngx_adm_unseen_cancel(void *data);
static void ngx_adm_unseen_look(ngx_event_t *ev);
static ngx_int_t ngx_adm_unseen_pass(ngx_http_request_t *r, ngx_adm_ctx_t *ctx,
    ngx_adm_unseen_t *us);


/* requests that are held up in this worker, the first one first */
static struct {
    ngx_queue_t               held;
    ngx_event_t               look;      /* timer */
} ngx_adm_unseen;


ngx_int_t
ngx_adm_room_unseen(ngx_http_request_t *r, ngx_str_t *event,
    ngx_adm_event_conf_t *conf, int64_t activation)
{
    ngx_int_t          rc;
    ngx_adm_ctx_t     *ctx;
    ngx_adm_unseen_t  *us;

    ctx = ngx_adm_ctx_get(r);
    if (ctx == NULL) {
        return NGX_ERROR;
    }

    us = ctx->unseen;

    if (us && ngx_adm_str_same(&us->event, event)) {

        if (us->passed) {
            return us->visit.activation == activation ? NGX_OK : NGX_DECLINED;
        }

        /* known since it was held up, or from the location before a redirect */

        rc = us->rc;

    } else if (r->method != NGX_HTTP_GET || !ngx_adm_is_navigation(r)) {
        return NGX_DECLINED;

    } else {
        us = ngx_pcalloc(r->pool, sizeof(ngx_adm_unseen_t));
        if (us == NULL) {
            return NGX_ERROR;
        }

        us->request = r;
        us->event = *event;
        us->conf = conf;
        us->visit.activation = activation;

        ctx->unseen = us;

        rc = ngx_adm_unseen_begin(r, ctx, us);

        if (rc == NGX_AGAIN) {
            return ngx_adm_unseen_hold(us);
        }

        us->rc = rc;
    }

    ngx_log_debug2(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "admission: room of event \"%V\" on standby: %i",
                   event, rc);

    if (rc == NGX_OK) {
        return ngx_adm_unseen_pass(r, ctx, us);
    }

    ngx_adm_intake_end(&us->intake, 0);

    return rc;
}


static ngx_int_t
ngx_adm_unseen_begin(ngx_http_request_t *r, ngx_adm_ctx_t *ctx,
    ngx_adm_unseen_t *us)
{
    ngx_int_t            rc;
    ngx_adm_srv_conf_t  *scf;

    scf = ngx_http_get_module_srv_conf(r, ngx_http_admission_module);

    us->intake.kind = NGX_ADM_INTAKE_ASSIGN;
    us->intake.conf = scf->assign ? scf->assign : &ngx_adm_intake_default;

    rc = ngx_adm_intake(r, ctx, &us->event, &us->intake);

    if (rc != NGX_OK) {
        return rc;
    }

    rc = ngx_adm_standby_take(&us->event, us->conf, &us->visit);

    if (rc == NGX_AGAIN && ngx_adm_is_prefetch(r)) {

        /* a prefetch is not held up: perhaps nobody will look at the page */

        ngx_adm_standby_gone(&us->event, &us->visit);
        return NGX_DECLINED;
    }

    return rc;
}


static ngx_int_t
ngx_adm_unseen_hold(ngx_adm_unseen_t *us)
{
    ngx_event_t  *ev;

    ev = &ngx_adm_unseen.look;

    if (ev->handler == NULL) {
        ngx_queue_init(&ngx_adm_unseen.held);

        ev->handler = ngx_adm_unseen_look;
        ev->data = &ngx_adm_unseen;
        ev->log = ngx_cycle->log;
    }

    ngx_queue_insert_tail(&ngx_adm_unseen.held, &us->queue);

    if (!ev->timer_set) {
        ngx_add_timer(ev, NGX_ADM_UNSEEN_LOOK);
    }

    return ngx_adm_wait(us->request, ngx_adm_unseen_cancel, us);
}


/* the client went: what it was charged is given back */

static void
ngx_adm_unseen_cancel(void *data)
{
    ngx_adm_unseen_t *us = data;

    ngx_queue_remove(&us->queue);

    us->rc = NGX_DECLINED;

    ngx_adm_standby_gone(&us->event, &us->visit);
    ngx_adm_intake_end(&us->intake, 0);
}


/*
 * If a request of an event goes on waiting, so do all behind it of that event,
 * but for those whose time is up.  A request that resumes may cancel others.
 */

static void
ngx_adm_unseen_look(ngx_event_t *ev)
{
    u_char             id[NGX_ADM_EVENT_MAX];
    ngx_str_t          waits;
    ngx_queue_t        all;
    ngx_adm_unseen_t  *us;

    waits.len = 0;
    waits.data = id;

    ngx_queue_init(&all);

    if (!ngx_queue_empty(&ngx_adm_unseen.held)) {
        ngx_queue_add(&all, &ngx_adm_unseen.held);
        ngx_queue_init(&ngx_adm_unseen.held);
    }

    while (!ngx_queue_empty(&all)) {
        us = ngx_queue_data(ngx_queue_head(&all), ngx_adm_unseen_t, queue);

        ngx_queue_remove(&us->queue);

        if (ngx_adm_str_same(&waits, &us->event)
            && ngx_current_msec - us->visit.since < NGX_ADM_STANDBY_HOLD)
        {
            us->rc = NGX_AGAIN;

        } else {
            us->rc = ngx_adm_standby_take(&us->event, us->conf, &us->visit);
        }

        if (us->rc == NGX_AGAIN) {
            waits.len = us->event.len;
            ngx_memcpy(id, us->event.data, us->event.len);

            ngx_queue_insert_tail(&ngx_adm_unseen.held, &us->queue);
            continue;
        }

        ngx_adm_wait_resume(us->request);
    }

    if (!ngx_queue_empty(&ngx_adm_unseen.held) && !ev->timer_set) {
        ngx_add_timer(ev, NGX_ADM_UNSEEN_LOOK);
    }
}


static ngx_int_t
ngx_adm_unseen_pass(ngx_http_request_t *r, ngx_adm_ctx_t *ctx,
    ngx_adm_unseen_t *us)
{
    ngx_int_t          rc;
    const char        *why;
    ngx_adm_claims_t  *visitor, claims;

    rc = ngx_adm_visitor_find(r, &visitor, &why);

    if (rc == NGX_DECLINED) {
        rc = ngx_adm_visitor_make(r, &visitor);

    } else if (rc == NGX_OK) {
        rc = ngx_adm_visitor_cookie(r, visitor);
    }

    if (rc != NGX_OK) {
        return NGX_ERROR;
    }

    ngx_memzero(&claims, sizeof(ngx_adm_claims_t));

    claims.sub = us->event;
    claims.uid = visitor->vis;
    claims.vis = visitor->vis;
    claims.act = us->visit.activation;
    claims.adm = us->visit.adm;

    ctx->personal = 1;
    ctx->given = 1;

    if (ngx_adm_tier1_issue(r, us->conf, &claims, NULL) != NGX_OK) {
        return NGX_ERROR;
    }

    us->passed = 1;

    ngx_adm_intake_end(&us->intake, 1);
    ngx_adm_tally(&us->event, NGX_ADM_TALLY_ROOM_UNSEEN, 1);

    return NGX_OK;
}
