
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Entry tokens at the gates of both tiers.  What the host knows decides; about
 * a token as old as something that it had to forget Redis is asked, once a
 * user and second.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../base/reason.h"
#include "../host/doubt.h"
#include "../http/entry.h"
#include "../queue/queue.h"
#include "gate.h"


static ngx_int_t ngx_adm_gate_entry_ask(ngx_http_request_t *r,
    ngx_adm_ctx_t *ctx, ngx_adm_claims_t *entry);
static void ngx_adm_gate_entry_told(void *data, ngx_int_t rc,
    ngx_adm_queue_answer_t *answer);


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

        /* one that can not be asked about leaves the others */

    } while (rc == NGX_DECLINED);

    if (rc == NGX_BUSY) {
        return ngx_adm_gate_deny(g, NGX_ADM_VERDICT_ERROR,
                                 ngx_adm_reason(REDIS));
    }

    return rc;
}


/*
 * Of the users of all tokens that a request shows each is asked about once.
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
