
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The gate of tier 2: an entry token of the event and the user is needed. (At
 * the gate of tier 1 it is one way in.) What the host knows decides.  Redis is
 * asked where strict=on says so and, once a user and second, about tokens as
 * old as something that the host had to forget.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../base/reason.h"
#include "../base/text.h"
#include "../host/doubt.h"
#include "../host/room_list.h"
#include "../http/entry.h"
#include "../http/origin.h"
#include "../http/room.h"
#include "../queue/beat.h"
#include "../queue/queue.h"
#include "../queue/restore.h"
#include "gate.h"


static ngx_int_t ngx_adm_gate_entry_ask(ngx_http_request_t *r,
    ngx_adm_ctx_t *ctx, ngx_adm_claims_t *entry);
static void ngx_adm_gate_entry_told(void *data, ngx_int_t rc,
    ngx_adm_queue_answer_t *answer);
static ngx_int_t ngx_adm_gate_tier2_ask(ngx_adm_gate_t *g);
static void ngx_adm_gate_tier2_active(void *data, ngx_int_t rc,
    ngx_adm_queue_answer_t *answer);


#define ngx_adm_gate_tier2_deny(g, name)                                      \
    ngx_adm_gate_deny(g, NGX_ADM_VERDICT_TIER2,                               \
                                 ngx_adm_reason(name))


ngx_int_t
ngx_adm_gate_tier2_applies(ngx_adm_gate_t *g)
{
    ngx_int_t              mode;
    ngx_str_t              value;
    ngx_uint_t             method;
    ngx_http_request_t    *r;
    ngx_adm_tier2_conf_t  *tier2;

    r = g->request;
    tier2 = g->lcf->tier2;

    /* a method that GET may not have HEAD may not have */

    method = (r->method == NGX_HTTP_HEAD) ? NGX_HTTP_HEAD|NGX_HTTP_GET
                                          : r->method;

    if (tier2->mode == NGX_ADM_OFF
        || (tier2->methods && !(tier2->methods & method)))
    {
        return NGX_DECLINED;
    }

    if (tier2->mode == NGX_ADM_ON) {
        return NGX_OK;
    }

    if (ngx_http_complex_value(r, &tier2->value, &value) != NGX_OK) {
        return NGX_ERROR;
    }

    mode = ngx_adm_switch(&value);

    if (mode == NGX_ADM_OFF) {
        return NGX_DECLINED;
    }

    if (mode != NGX_ADM_ON) {

        /*
         * also an empty value: it may come from a module that has not run, and
         * nobody notices a gate that stands open
         */

        ngx_log_error(NGX_LOG_WARN, r->connection->log, 0,
                      "admission_tier2 is neither \"on\" nor \"off\" "
                      "but \"%V\", taken for \"on\"", &value);
    }

    return NGX_OK;
}


ngx_int_t
ngx_adm_gate_tier2(ngx_adm_gate_t *g)
{
    ngx_int_t              rc;
    ngx_str_t              user;
    const char            *why;
    ngx_adm_room_t         room;
    ngx_adm_claims_t      *entry;
    ngx_adm_main_conf_t   *mcf;
    ngx_adm_event_conf_t  *conf;
    ngx_adm_tier2_conf_t  *tier2;

    tier2 = g->lcf->tier2;

    g->ctx->entry = NULL;

    if (g->named != NGX_DECLINED && g->conf == NULL) {
        rc = ngx_adm_gate_event(g, NGX_ADM_VERDICT_TIER2);
        if (rc != NGX_OK) {
            return rc;
        }
    }

    ngx_str_null(&user);

    if (tier2->bind) {
        user = g->ctx->user.id;

        if (user.len == 0) {
            return ngx_adm_gate_tier2_deny(g, NO_VISITOR);
        }
    }

    if (g->event.len == 0 && tier2->event_required) {
        return ngx_adm_gate_tier2_deny(g, NO_EVENT);
    }

    rc = ngx_adm_gate_entry(g, &user, &entry, &why);

    if (rc == NGX_DECLINED) {
        return ngx_adm_gate_deny(g, NGX_ADM_VERDICT_TIER2, why);
    }

    if (rc != NGX_OK) {
        return rc;
    }

    conf = g->conf;

    if (conf == NULL) {
        mcf = ngx_http_get_module_main_conf(g->request,
                                            ngx_http_admission_module);

        conf = ngx_adm_event_conf(mcf, &entry->sub);

        rc = ngx_adm_gate_open(g, NGX_ADM_VERDICT_TIER2, &entry->sub, conf);

        if (rc != NGX_OK) {
            g->event = entry->sub;
            return rc;
        }

        if (conf == NULL) {
            conf = &mcf->event_default;
        }
    }

    /* the host may not have heard yet that an operator set times */

    if (!g->sale.set
        && !ngx_adm_rooms_all_listed()
        && ngx_adm_tier1_room(g->request, &entry->sub, &room) != NGX_OK)
    {
        rc = ngx_adm_gate_look(g, &entry->sub, conf);

        if (rc != NGX_DECLINED) {
            return rc;
        }
    }

    g->ctx->entry = entry;

    if (entry->older) {
        ngx_adm_restore_report(g->request, entry);
    }

    ngx_adm_gate_came(g->request, conf, entry);

    return tier2->strict ? ngx_adm_gate_tier2_ask(g) : NGX_OK;
}


ngx_int_t
ngx_adm_gate_entry(ngx_adm_gate_t *g, ngx_str_t *user, ngx_adm_claims_t **entry,
    const char **why)
{
    ngx_int_t  rc;

    do {
        rc = ngx_adm_entry_find(g->request, &g->event, user, entry, why);
        if (rc != NGX_AGAIN) {
            break;
        }

        rc = ngx_adm_gate_entry_ask(g->request, g->ctx, *entry);

        /* if one can't be asked about the others may be */

    } while (rc == NGX_DECLINED);

    if (rc == NGX_BUSY) {
        return ngx_adm_gate_deny(g, NGX_ADM_VERDICT_ERROR,
                                 ngx_adm_reason(REDIS));
    }

    return rc;
}


/*
 * who uses the token has come; but not by a page that the browser loads ahead
 */

void
ngx_adm_gate_came(ngx_http_request_t *r, ngx_adm_event_conf_t *conf,
    ngx_adm_claims_t *entry)
{
    if (ngx_adm_beat_is_due(conf, entry) && !ngx_adm_is_prefetch(r)) {
        ngx_adm_beat_come(conf, entry);
    }
}


/*
 * Asks about the users of all tokens that a request shows, about each once.
 * NGX_DECLINED: Redis is known to be down.
 */

static ngx_int_t
ngx_adm_gate_entry_ask(ngx_http_request_t *r, ngx_adm_ctx_t *ctx,
    ngx_adm_claims_t *entry)
{
    ngx_adm_asked_t       *asked;
    ngx_adm_redis_call_t  *call;

    if (ctx->asked == NULL) {
        ctx->asked = ngx_array_create(r->pool, 1, sizeof(ngx_adm_asked_t));
        if (ctx->asked == NULL) {
            return NGX_ERROR;
        }
    }

    asked = ngx_array_push(ctx->asked);
    if (asked == NULL) {
        return NGX_ERROR;
    }

    asked->event = entry->sub;
    asked->user = entry->uid;
    asked->pass = r->uri_changes;
    asked->issued = ngx_current_msec;
    asked->rc = NGX_ERROR;
    asked->revoked = 0;
    asked->active = 0;

    call = ngx_adm_queue_revoked(&entry->sub, &entry->uid,
                                 ngx_adm_gate_entry_told, r);

    ngx_log_debug2(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "admission: redis asked of an entry token of event \"%V\"%s",
                   &entry->sub, call ? "" : ", in vain");

    if (call == NULL) {
        return NGX_DECLINED;
    }

    return ngx_adm_wait(r, ngx_adm_redis_cancel, call);
}


static void
ngx_adm_gate_entry_told(void *data, ngx_int_t rc,
    ngx_adm_queue_answer_t *answer)
{
    ngx_http_request_t *r = data;

    ngx_adm_ctx_t    *ctx;
    ngx_adm_asked_t  *asked;

    ctx = ngx_adm_ctx(r);

    ngx_log_debug3(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "admission: redis told of an entry token: rc %i, state %i, "
                   "revoked at %L", rc,
                   (ngx_int_t) (rc == NGX_OK ? answer->state : 0),
                   (int64_t) (rc == NGX_OK ? answer->revoked : 0));

    if (rc == NGX_OK) {
        asked = ctx->asked->elts;
        asked += ctx->asked->nelts - 1;

        asked->rc = NGX_OK;
        asked->revoked = answer->revoked;
        asked->active = (answer->state == NGX_ADM_QUEUE_ACTIVE);

        ngx_adm_revoked_told(&asked->event, &asked->user,
                             asked->revoked, asked->issued);
    }

    ngx_adm_wait_resume(r);
}


/* strict=on: is the user of the entry token still in? */

static ngx_int_t
ngx_adm_gate_tier2_ask(ngx_adm_gate_t *g)
{
    ngx_http_request_t    *r;
    ngx_adm_ctx_t         *ctx;
    ngx_adm_asked_t       *asked;
    ngx_adm_redis_call_t  *call;

    r = g->request;
    ctx = g->ctx;

    asked = ngx_adm_ctx_asked(r, ctx->entry);

    if (asked && asked->rc == NGX_OK) {

        /* known already, from the answer to another question */

        ctx->answer = asked->active ? NGX_OK : NGX_DECLINED;

        return ngx_adm_gate_tier2_answered(g);
    }

    call = ngx_adm_queue_is_active(&ctx->entry->sub, &ctx->entry->uid,
                                   ngx_adm_gate_tier2_active, r);

    ngx_log_debug2(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "admission: redis asked of a user of event \"%V\"%s",
                   &ctx->entry->sub, call ? "" : ", in vain");

    if (call == NULL) {
        ctx->answer = NGX_ERROR;

        return ngx_adm_gate_tier2_answered(g);
    }

    return ngx_adm_wait(r, ngx_adm_redis_cancel, call);
}


static void
ngx_adm_gate_tier2_active(void *data, ngx_int_t rc,
    ngx_adm_queue_answer_t *answer)
{
    ngx_http_request_t *r = data;

    ngx_adm_ctx_t  *ctx;

    ctx = ngx_adm_ctx(r);

    ctx->answered = 1;

    if (rc != NGX_OK) {
        ctx->answer = NGX_ERROR;

    } else if (answer->state == NGX_ADM_QUEUE_ACTIVE) {
        ctx->answer = NGX_OK;

    } else {
        ctx->answer = NGX_DECLINED;
    }

    ngx_log_debug1(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "admission: redis told of a user: %s",
                   ctx->answer == NGX_OK ? "active"
                   : ctx->answer == NGX_DECLINED ? "not active" : "nothing");

    ngx_adm_wait_resume(r);
}


ngx_int_t
ngx_adm_gate_tier2_answered(ngx_adm_gate_t *g)
{
    g->ctx->answered = 0;

    switch (g->ctx->answer) {

    case NGX_OK:
        return NGX_OK;

    case NGX_DECLINED:
        return ngx_adm_gate_tier2_deny(g, NOT_ACTIVE);

    default:
        return ngx_adm_gate_deny(g, NGX_ADM_VERDICT_ERROR,
                                 ngx_adm_reason(REDIS));
    }
}
