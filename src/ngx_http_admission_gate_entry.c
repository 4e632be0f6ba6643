
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

#include "ngx_http_admission_gate.h"
#include "ngx_http_admission_queue.h"
#include "ngx_http_admission_reason.h"
#include "ngx_http_admission_token.h"
#include "ngx_http_admission_zone.h"


static ngx_int_t ngx_http_admission_gate_entry_ask(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx, ngx_http_admission_claims_t *entry);
static void ngx_http_admission_gate_entry_told(void *data, ngx_int_t rc,
    ngx_http_admission_queue_answer_t *answer);


ngx_int_t
ngx_http_admission_gate_entry(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx, ngx_str_t *event, ngx_str_t *user,
    ngx_http_admission_claims_t **entry, const char **why)
{
    ngx_int_t  rc;

    do {
        rc = ngx_http_admission_token_find(r, NGX_HTTP_ADMISSION_TOKEN_TIER2,
                                           event, user, entry, why);
        if (rc != NGX_AGAIN) {
            break;
        }

        rc = ngx_http_admission_gate_entry_ask(r, ctx, *entry);

        /* one that can not be asked about leaves the others */

    } while (rc == NGX_DECLINED);

    if (rc == NGX_BUSY) {
        return ngx_http_admission_gate_deny(ctx,
               NGX_HTTP_ADMISSION_VERDICT_ERROR,
               ngx_http_admission_reason(REDIS));
    }

    return rc;
}


/*
 * Of the users of all tokens that a request shows each is asked about once.
 * NGX_DECLINED: Redis is known to be down.
 */

static ngx_int_t
ngx_http_admission_gate_entry_ask(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx, ngx_http_admission_claims_t *entry)
{
    ngx_http_admission_asked_t  *asked;

    if (ctx->asked == NULL) {
        ctx->asked = ngx_array_create(r->pool, 1,
                                      sizeof(ngx_http_admission_asked_t));
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

    ctx->call = ngx_http_admission_queue_revoked(&entry->sub, &entry->uid,
                                          ngx_http_admission_gate_entry_told,
                                          r);
    if (ctx->call == NULL) {
        return NGX_DECLINED;
    }

    return ngx_http_admission_gate_suspend(r, ctx);
}


static void
ngx_http_admission_gate_entry_told(void *data, ngx_int_t rc,
    ngx_http_admission_queue_answer_t *answer)
{
    ngx_http_request_t *r = data;

    ngx_http_admission_ctx_t    *ctx;
    ngx_http_admission_asked_t  *asked;

    ctx = ngx_http_admission_ctx(r);

    ctx->call = NULL;

    if (rc == NGX_OK) {
        asked = ctx->asked->elts;
        asked += ctx->asked->nelts - 1;

        asked->rc = NGX_OK;
        asked->revoked = answer->revoked;
        asked->active = (answer->state == NGX_HTTP_ADMISSION_QUEUE_ACTIVE);

        ngx_http_admission_revoked_told(&asked->event, &asked->user,
                                        asked->revoked, asked->issued);
    }

    ngx_http_admission_gate_resume(r);
}
