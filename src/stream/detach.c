
/*
 * Copyright (C) 2026 the admission module authors
 *
 * A request with its pool takes 10 KB, which a stream does not need once its
 * header is sent.  So over HTTP/1.x the request then ends as one does whose
 * connection is kept alive: its line goes to the access log, and only the
 * connection is left, which is closed with the stream.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>
#include <ngx_http.h>

#include "parts.h"


static ngx_uint_t ngx_adm_stream_may_detach(ngx_adm_stream_t *s);
static void ngx_adm_stream_free_buffers(ngx_connection_t *c,
    ngx_http_connection_t *hc);
static void ngx_adm_stream_free_chain(ngx_pool_t *pool, ngx_chain_t **chain);
static void ngx_adm_stream_reading(ngx_event_t *rev);
static void ngx_adm_stream_writing(ngx_event_t *wev);


void
ngx_adm_stream_detach(ngx_adm_stream_t *s)
{
    ngx_connection_t       *c;
    ngx_http_request_t     *r;
    ngx_http_connection_t  *hc;

    if (!ngx_adm_stream_may_detach(s)) {
        return;
    }

    r = s->request;
    c = s->connection;
    hc = r->http_connection;

    s->chunked = r->chunked;
    s->request = NULL;
    s->cleanup->handler = NULL;

    ngx_log_debug0(NGX_LOG_DEBUG_HTTP, c->log, 0,
                   "admission: stream goes on without its request");

    ngx_http_free_request(r, 0);

    c->destroyed = 0;
    c->data = s;
    c->log->action = "streaming";

    c->read->handler = ngx_adm_stream_reading;
    c->write->handler = ngx_adm_stream_writing;

    ngx_adm_stream_free_buffers(c, hc);

    /* the client may have gone meanwhile */

    ngx_post_event(c->read, &ngx_posted_events);
}


/*
 * Whether nothing is under way, and nobody counts on the request, as
 * limit_conn does, or has something left to do with it.
 */

static ngx_uint_t
ngx_adm_stream_may_detach(ngx_adm_stream_t *s)
{
    ngx_connection_t          *c;
    ngx_http_request_t        *r;
    ngx_http_core_loc_conf_t  *clcf;

    r = s->request;
    c = s->connection;

    clcf = ngx_http_get_module_loc_conf(r, ngx_http_core_module);

    return r->http_version <= NGX_HTTP_VERSION_11
           && c->data == r
           && r->count == 1
           && r->posted_requests == NULL
           && r->postponed == NULL
           && r->cleanup == NULL
           && r->out == NULL
           && !r->buffered
           && !c->buffered
           && !c->error
           && !r->blocked
           && !r->discard_body
           && !r->limit_conn_status
           && !c->write->delayed
           && !c->write->timer_set
           && !c->read->timer_set
           && clcf->post_action.data == NULL;
}


/* as NGINX does when a connection is kept alive */

static void
ngx_adm_stream_free_buffers(ngx_connection_t *c, ngx_http_connection_t *hc)
{
    if (c->buffer && ngx_pfree(c->pool, c->buffer->start) == NGX_OK) {
        c->buffer->start = NULL;
        c->buffer->pos = NULL;
        c->buffer->last = NULL;
        c->buffer->end = NULL;
    }

    ngx_adm_stream_free_chain(c->pool, &hc->free);
    ngx_adm_stream_free_chain(c->pool, &hc->busy);
    hc->nbusy = 0;

#if (NGX_HTTP_SSL)

    if (c->ssl) {
        ngx_ssl_free_buffer(c);
    }

#endif
}


static void
ngx_adm_stream_free_chain(ngx_pool_t *pool, ngx_chain_t **chain)
{
    ngx_chain_t  *cl, *next;

    for (cl = *chain; cl; cl = next) {
        next = cl->next;

        ngx_pfree(pool, cl->buf->start);
        ngx_free_chain(pool, cl);
    }

    *chain = NULL;
}


/* there is nothing to read any more but that the client goes */

static void
ngx_adm_stream_reading(ngx_event_t *rev)
{
    u_char             byte[1];
    ssize_t            n;
    ngx_err_t          err;
    ngx_connection_t  *c;
    ngx_adm_stream_t  *s;

    c = rev->data;
    s = c->data;

#if (NGX_HAVE_EPOLLRDHUP)

    if ((ngx_event_flags & NGX_USE_EPOLL_EVENT) && ngx_use_epoll_rdhup
        && rev->pending_eof)
    {
        ngx_adm_stream_gone(s);
        return;
    }

#endif

    n = recv(c->fd, (char *) byte, 1, MSG_PEEK);
    err = ngx_socket_errno;

    if (n == 0 || (n == -1 && err != NGX_EAGAIN && err != NGX_EINTR)) {
        ngx_adm_stream_gone(s);
        return;
    }

    if (n == 1 && c->ssl == NULL && (ngx_event_flags & NGX_USE_LEVEL_EVENT)
        && rev->active)
    {
        (void) ngx_del_event(rev, NGX_READ_EVENT, 0);
        return;
    }

    if (ngx_handle_read_event(rev, 0) != NGX_OK) {
        ngx_adm_stream_gone(s);
    }
}


static void
ngx_adm_stream_writing(ngx_event_t *wev)
{
    ngx_connection_t  *c;

    c = wev->data;

    ngx_adm_stream_send(c->data);
}


void
ngx_adm_stream_send(ngx_adm_stream_t *s)
{
    ssize_t            n;
    ngx_buf_t         *b;
    ngx_connection_t  *c;

    c = s->connection;
    b = &s->buf;

    while (s->text && !s->failed && b->pos < b->last) {

        n = c->send(c, b->pos, b->last - b->pos);

        if (n == NGX_AGAIN) {
            break;
        }

        if (n < 0) {
            s->failed = 1;
            return;
        }

        b->pos += n;
    }

    if (ngx_handle_write_event(c->write, 0) != NGX_OK) {
        s->failed = 1;
    }
}


void
ngx_adm_stream_close(ngx_adm_stream_t *s, ngx_int_t rc)
{
    ngx_connection_t  *c;

    static u_char  last[] = "0" CRLF CRLF;

    c = s->connection;

    if (rc == NGX_OK && s->chunked && !s->failed) {
        (void) c->send(c, last, sizeof(last) - 1);
    }

    c->log->action = "closing a stream";

    ngx_http_close_connection(c);
}
