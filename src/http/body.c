
/*
 * Copyright (C) 2026 the admission module authors
 *
 * A body of unknown length is read unbuffered, piece by piece: one without end
 * stops at the limit, not on the disk.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "body.h"
#include "respond.h"


static void ngx_adm_body_start(ngx_http_request_t *r);
static void ngx_adm_body_handler(ngx_http_request_t *r);
static ngx_int_t ngx_adm_body_take(ngx_adm_api_call_t *call);
static ngx_int_t ngx_adm_body_end(ngx_adm_api_call_t *call);
static ngx_int_t ngx_adm_body_too_large(ngx_http_request_t *r);


ngx_int_t
ngx_adm_body_read(ngx_adm_api_call_t *call, ngx_adm_api_pt done)
{
    ngx_int_t            rc;
    ngx_http_request_t  *r;

    r = call->request;

    if (r->headers_in.content_length_n <= 0 && !r->headers_in.chunked) {

        rc = ngx_http_discard_request_body(r);
        if (rc != NGX_OK) {
            return rc;
        }

        return done(call);
    }

    if (r->headers_in.content_length_n > NGX_ADM_BODY_MAX) {
        return ngx_adm_body_too_large(r);
    }

    call->body_done = done;

    call->body_text.data = ngx_pnalloc(r->pool, NGX_ADM_BODY_MAX);
    if (call->body_text.data == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (r->headers_in.content_length_n < 0) {
        r->request_body_no_buffering = 1;
    }

    rc = ngx_http_read_client_request_body(r, ngx_adm_body_start);

    if (rc >= NGX_HTTP_SPECIAL_RESPONSE) {
        return rc;
    }

    return NGX_DONE;
}


/* all of the body is here, or, unbuffered, its beginning may be */

static void
ngx_adm_body_start(ngx_http_request_t *r)
{
    if (r->reading_body) {
        r->read_event_handler = ngx_adm_body_handler;
    }

    ngx_adm_body_handler(r);
}


static void
ngx_adm_body_handler(ngx_http_request_t *r)
{
    ngx_int_t            rc;
    ngx_adm_api_call_t  *call;

    call = ngx_adm_ctx(r)->api;

    for ( ;; ) {

        rc = ngx_adm_body_take(call);

        if (rc == NGX_DECLINED) {
            rc = ngx_adm_body_too_large(r);
            break;
        }

        if (rc == NGX_ERROR) {
            rc = NGX_HTTP_INTERNAL_SERVER_ERROR;
            break;
        }

        if (!r->reading_body) {
            r->read_event_handler = ngx_http_block_reading;
            rc = ngx_adm_body_end(call);
            break;
        }

        rc = ngx_http_read_unbuffered_request_body(r);

        if (rc >= NGX_HTTP_SPECIAL_RESPONSE) {
            break;
        }

        if (rc == NGX_AGAIN && r->request_body->bufs == NULL) {
            return;
        }
    }

    ngx_http_finalize_request(r, rc);
}


/* takes what has been read; NGX_DECLINED: more than is allowed */

static ngx_int_t
ngx_adm_body_take(ngx_adm_api_call_t *call)
{
    off_t                size;
    u_char              *last;
    ngx_buf_t           *b;
    ngx_str_t           *text;
    ngx_chain_t         *cl;
    ngx_http_request_t  *r;

    r = call->request;
    text = &call->body_text;

    if (r->request_body == NULL) {
        return NGX_OK;
    }

    for (cl = r->request_body->bufs; cl; cl = cl->next) {

        b = cl->buf;

        if (ngx_buf_special(b)) {
            continue;
        }

        last = text->data + text->len;
        size = ngx_buf_size(b);

        if (size > (off_t) (NGX_ADM_BODY_MAX - text->len)) {
            return NGX_DECLINED;
        }

        if (ngx_buf_in_memory(b)) {
            ngx_memcpy(last, b->pos, (size_t) size);

        } else if (ngx_read_file(b->file, last, (size_t) size, b->file_pos)
                   != (ssize_t) size)
        {
            return NGX_ERROR;
        }

        text->len += (size_t) size;

        if (r->reading_body) {
            /* lets the buffer be read into again */
            b->pos = b->last;
        }
    }

    /* a whole body may be for others as well, such as mirror */

    if (r->reading_body) {
        r->request_body->bufs = NULL;
    }

    return NGX_OK;
}


static ngx_int_t
ngx_adm_body_end(ngx_adm_api_call_t *call)
{
    ngx_int_t            rc;
    json_error_t         error;
    ngx_http_request_t  *r;

    r = call->request;

    if (call->body_text.len == 0) {
        return call->body_done(call);
    }

    call->body = json_loadb((char *) call->body_text.data, call->body_text.len,
                            JSON_DECODE_ANY|JSON_ALLOW_NUL
                            |JSON_REJECT_DUPLICATES, &error);

    if (call->body == NULL) {
        return ngx_adm_respond_error(r, NGX_HTTP_BAD_REQUEST, "INVALID_JSON",
                                     "The body is not JSON, or has a member "
                                     "twice", NULL);
    }

    rc = call->body_done(call);

    json_decref(call->body);
    call->body = NULL;

    return rc;
}


static ngx_int_t
ngx_adm_body_too_large(ngx_http_request_t *r)
{
    return ngx_adm_respond_error(r, NGX_HTTP_REQUEST_ENTITY_TOO_LARGE,
                                 "PAYLOAD_TOO_LARGE", "The body is over 4 KB",
                                 NULL);
}
