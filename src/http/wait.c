
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Suspending requests, and resuming them from the event of what they waited
 * for.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ctx.h"
#include "wait.h"


ngx_int_t
ngx_adm_wait(ngx_http_request_t *r, ngx_adm_wait_cancel_pt cancel, void *data)
{
    ngx_event_t    *rev;
    ngx_adm_ctx_t  *ctx;

    r->write_event_handler = ngx_http_request_empty_handler;

    /* a client that goes is noticed; if the body is being discarded, by that */

    if (!r->discard_body) {
        rev = r->connection->read;

        if (rev->ready) {
            ngx_post_event(rev, &ngx_posted_events);

        } else if (ngx_handle_read_event(rev, 0) != NGX_OK) {
            cancel(data);
            return NGX_ERROR;
        }

        r->read_event_handler = ngx_http_test_reading;
    }

    ctx = ngx_adm_ctx(r);

    ctx->wait.cancel = cancel;
    ctx->wait.data = data;

    ngx_log_debug0(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "admission: request suspended");

    return NGX_AGAIN;
}


void
ngx_adm_wait_resume(ngx_http_request_t *r)
{
    ngx_connection_t  *c;

    c = r->connection;

    ngx_adm_wait_over(r);

    if (!r->discard_body) {
        r->read_event_handler = ngx_http_block_reading;
    }

    r->write_event_handler = ngx_http_core_run_phases;

    if (ngx_handle_read_event(c->read, 0) != NGX_OK) {
        ngx_http_finalize_request(r, NGX_HTTP_INTERNAL_SERVER_ERROR);

    } else {
        ngx_http_core_run_phases(r);
    }

    ngx_http_run_posted_requests(c);
}


ngx_int_t
ngx_adm_wait_content(ngx_http_request_t *r, ngx_adm_wait_cancel_pt cancel,
    void *data)
{
    if (ngx_adm_wait(r, cancel, data) == NGX_ERROR) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    r->main->count++;

    return NGX_DONE;
}


void
ngx_adm_wait_over(ngx_http_request_t *r)
{
    ngx_adm_ctx(r)->wait.cancel = NULL;

    ngx_http_set_log_request(r->connection->log, r);

    ngx_log_debug0(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "admission: request resumed");
}


void
ngx_adm_wait_finish(ngx_http_request_t *r, ngx_int_t rc)
{
    ngx_connection_t  *c;

    c = r->connection;

    ngx_http_finalize_request(r, rc);
    ngx_http_run_posted_requests(c);
}
