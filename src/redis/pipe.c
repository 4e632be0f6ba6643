
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The pipeline of a connection to Redis: commands in one direction, replies in
 * the other, in the same order.  Commands of the steps that set up the
 * connection go first, then those of calls.  And whether a worker that exits
 * waits for any.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>

#include "conn_parts.h"
#include "reply.h"


#define NGX_ADM_REDIS_READ_SIZE     32768

/* a reply that is larger than this is no reply but rubbish */
#define NGX_ADM_REDIS_REPLY_MAX     (16 * 1024 * 1024)

/* with so many calls unwritten a write does not wait for the end of the turn */
#define NGX_ADM_REDIS_AHEAD         16


static void ngx_adm_redis_push_buf(ngx_adm_redis_conn_t *conn,
    ngx_adm_redis_call_t *call, ngx_uint_t i);
static void ngx_adm_redis_read_handler(ngx_event_t *rev);
static void ngx_adm_redis_write_handler(ngx_event_t *wev);
static void ngx_adm_redis_write(ngx_adm_redis_conn_t *conn);
static ngx_int_t ngx_adm_redis_write_out(ngx_adm_redis_conn_t *conn);
static ngx_int_t ngx_adm_redis_parse_replies(ngx_adm_redis_conn_t *conn,
    size_t n);
static void ngx_adm_redis_step_reply(ngx_adm_redis_conn_t *conn,
    redisReply *reply);
static void ngx_adm_redis_call_reply(ngx_adm_redis_conn_t *conn,
    redisReply *reply);
static void ngx_adm_redis_stray_reply(ngx_adm_redis_conn_t *conn,
    redisReply *reply);
static void ngx_adm_redis_good(ngx_adm_redis_conn_t *conn, ngx_uint_t fresh);


static u_char  ngx_adm_redis_buffer
                                          [NGX_ADM_REDIS_READ_SIZE];


ngx_int_t
ngx_adm_redis_pipe_open(ngx_adm_redis_conn_t *conn)
{
    ngx_connection_t  *c;

    /* a part of a reply may be left of an earlier connection */

    ngx_adm_redis_drop_replies(&conn->replies);

    conn->reader = ngx_adm_redis_create_reader(&conn->replies);

    if (conn->reader == NULL) {
        return NGX_ERROR;
    }

    conn->pending = 0;
    conn->nsteps = 0;
    conn->step = 0;

    c = conn->connection;

    c->read->handler = ngx_adm_redis_read_handler;
    c->write->handler = ngx_adm_redis_write_handler;

    return NGX_OK;
}


void
ngx_adm_redis_add_step(ngx_adm_redis_conn_t *conn, ngx_str_t *command,
    ngx_adm_redis_step_pt reply)
{
    ngx_adm_redis_step_t  *s;

    s = &conn->steps[conn->nsteps++];

    ngx_memzero(s, sizeof(ngx_adm_redis_step_t));

    s->reply = reply;

    s->buf.start = command->data;
    s->buf.pos = command->data;
    s->buf.last = command->data + command->len;
    s->buf.end = s->buf.last;
    s->buf.memory = 1;
    s->buf.flush = 1;

    s->link.buf = &s->buf;

    *conn->last_out = &s->link;
    conn->last_out = &s->link.next;

    ngx_post_event(&conn->flush, &ngx_posted_events);
}


void
ngx_adm_redis_push(ngx_adm_redis_conn_t *conn, ngx_adm_redis_call_t *call)
{
    ngx_uint_t  i;

    if (call->asking) {
        ngx_adm_redis_push_buf(conn, call, NGX_ADM_REDIS_ASKING);
    }

    for (i = 0; i < call->nbufs; i++) {
        ngx_adm_redis_push_buf(conn, call, i);
    }

    /*
     * What a turn of the event loop sends leaves at its end, in one write; but
     * where that is much, Redis begins while the worker goes on.  A failure is
     * left to the write at the end, since no call may be answered from here.
     */

    ngx_post_event(&conn->flush, &ngx_posted_events);

    if (++conn->unwritten == NGX_ADM_REDIS_AHEAD) {
        (void) ngx_adm_redis_write_out(conn);
    }
}


static void
ngx_adm_redis_push_buf(ngx_adm_redis_conn_t *conn, ngx_adm_redis_call_t *call,
    ngx_uint_t i)
{
    call->links[i].buf = &call->bufs[i];
    call->links[i].next = NULL;

    *conn->last_out = &call->links[i];
    conn->last_out = &call->links[i].next;
}


void
ngx_adm_redis_queue_changed(ngx_adm_redis_conn_t *conn)
{
    ngx_uint_t             idle;
    ngx_queue_t           *q;
    ngx_adm_redis_call_t  *call;

    idle = 1;

    for (q = ngx_queue_head(&conn->calls);
         q != ngx_queue_sentinel(&conn->calls);
         q = ngx_queue_next(q))
    {
        call = ngx_queue_data(q, ngx_adm_redis_call_t, queue);

        if (!ngx_exiting || (call->done && !call->background)) {
            idle = 0;
            break;
        }
    }

    conn->timer.cancelable = idle;

    if (conn->connection) {
        conn->connection->idle = idle;
    }
}


static void
ngx_adm_redis_read_handler(ngx_event_t *rev)
{
    ngx_connection_t      *c;
    ngx_adm_redis_conn_t  *conn;

    c = rev->data;
    conn = c->data;

    if (c->close && ngx_adm_redis_end_idle(conn)) {
        return;
    }

    ngx_adm_redis_read(conn);
}


static void
ngx_adm_redis_write_handler(ngx_event_t *wev)
{
    ngx_connection_t  *c;

    c = wev->data;

    ngx_adm_redis_write(c->data);
}


void
ngx_adm_redis_flush_handler(ngx_event_t *ev)
{
    ngx_adm_redis_conn_t  *conn;

    conn = ev->data;

    if (conn->connection) {
        ngx_adm_redis_write(conn);
    }
}


static void
ngx_adm_redis_write(ngx_adm_redis_conn_t *conn)
{
    ngx_uint_t  serial;

    if (ngx_adm_redis_write_out(conn) != NGX_OK) {

        /*
         * Redis may have said why before it closed the connection.  An end
         * that the write met first, epoll has not told of: without the mark
         * NGINX's recv() would not ask the socket.
         */

        serial = conn->serial;

        conn->connection->read->pending_eof = 1;

        ngx_adm_redis_read(conn);

        if (conn->serial == serial) {
            ngx_adm_redis_fail_lost(conn, 0, "connection lost in a write");
        }

        return;
    }

    if (ngx_handle_write_event(conn->connection->write, 0) != NGX_OK) {
        ngx_adm_redis_fail(conn, ngx_adm_redis_lost, 0, "write event failed");
    }
}


/* an unfinished write goes on when the socket says so */

static ngx_int_t
ngx_adm_redis_write_out(ngx_adm_redis_conn_t *conn)
{
    ngx_chain_t       *out;
    ngx_connection_t  *c;

    c = conn->connection;

    conn->unwritten = 0;

    if (c->write->error) {
        return NGX_ERROR;
    }

    /* with TLS, bytes that have left the chain may still be in its buffer */

    if (!c->write->ready || (conn->out == NULL && !c->buffered)) {
        return NGX_OK;
    }

    out = c->send_chain(c, conn->out, 0);

    if (out == NGX_CHAIN_ERROR) {

        /*
         * The chain may begin with calls that went out before it failed: they
         * may yet be answered, and be freed with their buffers.
         */

        conn->out = NULL;
        conn->last_out = &conn->out;

        c->write->error = 1;

        return NGX_ERROR;
    }

    conn->out = out;

    if (out == NULL) {
        conn->last_out = &conn->out;
    }

    return NGX_OK;
}


void
ngx_adm_redis_read(ngx_adm_redis_conn_t *conn)
{
    ssize_t            n;
    ngx_err_t          err;
    ngx_connection_t  *c;

    c = conn->connection;

    for ( ;; ) {
        ngx_set_errno(0);

        n = c->recv(c, ngx_adm_redis_buffer, NGX_ADM_REDIS_READ_SIZE);

        if (n == NGX_AGAIN) {
            break;
        }

        if (n == NGX_ERROR || n == 0) {
            err = n ? ngx_socket_errno : 0;
            ngx_adm_redis_fail_lost(conn, err, "connection closed by Redis");
            return;
        }

        if (ngx_adm_redis_parse_replies(conn, n) != NGX_OK) {
            return;
        }
    }

    if (ngx_handle_read_event(c->read, 0) != NGX_OK) {
        ngx_adm_redis_fail(conn, ngx_adm_redis_lost, 0, "read event failed");
    }
}


/* NGX_DONE: the connection has ended */

static ngx_int_t
ngx_adm_redis_parse_replies(ngx_adm_redis_conn_t *conn, size_t n)
{
    void        *reply;
    ngx_uint_t   serial;

    serial = conn->serial;

    (void) redisReaderFeed(conn->reader, (char *) ngx_adm_redis_buffer, n);

    conn->pending += n;

    for ( ;; ) {
        reply = NULL;

        if (redisReaderGetReply(conn->reader, &reply) != REDIS_OK) {
            ngx_adm_redis_fail(conn,
                               ngx_adm_redis_rubbish, 0,
                               conn->reader->err == REDIS_ERR_OOM
                               ? "no memory, or too many elements"
                               : "%s", conn->reader->errstr);
            return NGX_DONE;
        }

        if (reply == NULL) {
            break;
        }

        conn->pending = 0;

        if (conn->step < conn->nsteps) {
            ngx_adm_redis_step_reply(conn, reply);

        } else {
            ngx_adm_redis_call_reply(conn, reply);
        }

        ngx_adm_redis_drop_replies(&conn->replies);

        if (conn->serial != serial) {
            return NGX_DONE;
        }
    }

    if (conn->pending > NGX_ADM_REDIS_REPLY_MAX) {
        ngx_adm_redis_fail(conn, ngx_adm_redis_rubbish, 0, "too large a reply");
        return NGX_DONE;
    }

    return NGX_OK;
}


static void
ngx_adm_redis_step_reply(ngx_adm_redis_conn_t *conn, redisReply *reply)
{
    ngx_adm_redis_step_t  *s;

    s = &conn->steps[conn->step];

    if (s->buf.pos != s->buf.last) {
        ngx_adm_redis_stray_reply(conn, reply);
        return;
    }

    s->reply(conn, reply);
}


static void
ngx_adm_redis_call_reply(ngx_adm_redis_conn_t *conn, redisReply *reply)
{
    char                   text[128];
    ngx_int_t              rc;
    ngx_buf_t             *b;
    ngx_uint_t             serial, wrong, answered, opened, fresh;
    ngx_queue_t           *q;
    ngx_adm_redis_call_t  *call;

    if (ngx_queue_empty(&conn->calls)) {
        ngx_adm_redis_stray_reply(conn, reply);
        return;
    }

    q = ngx_queue_head(&conn->calls);
    call = ngx_queue_data(q, ngx_adm_redis_call_t, queue);

    b = &call->bufs[call->asking ? NGX_ADM_REDIS_ASKING : call->nbufs - 1];

    if (b->pos != b->last) {
        ngx_adm_redis_stray_reply(conn, reply);
        return;
    }

    if (call->asking) {

        /* this is the reply to ASKING; if it failed, the next reply tells */

        call->asking = 0;
        return;
    }

    ngx_queue_remove(q);
    ngx_adm_redis_queue_changed(conn);

    rc = NGX_OK;
    wrong = 0;
    opened = 0;
    answered = 1;

    if (reply->type == REDIS_REPLY_ERROR) {
        rc = NGX_DECLINED;

        wrong = ngx_adm_redis_is_wrong_node(reply);
        answered = !wrong && !ngx_adm_redis_is(reply, "LOADING");
    }

    if (answered) {
        fresh = !conn->answered;

        conn->answered = 1;
        conn->failures = 0;

        /* the worker for which the node failed may be gone, with a reload */

        if (conn->failing || fresh) {
            conn->failing = 0;
            ngx_adm_redis_log_back(conn->health, conn->name, &conn->log);
        }

        ngx_adm_redis_good(conn, fresh);

    } else if (wrong) {
        ngx_adm_redis_breaker_neither(&conn->breaker);

    } else {
        opened = ngx_adm_redis_bad(conn);
    }

    serial = conn->serial;

    call->answer(call, rc, reply);

    if (conn->serial != serial || (!wrong && !opened)) {
        return;
    }

    /* another connection may find the right node, or be let in */

    conn->answered = 0;

    ngx_adm_redis_text(text, sizeof(text), reply);
    ngx_adm_redis_fail(conn,
                       wrong ? ngx_adm_redis_wrong_node
                             : ngx_adm_redis_refused,
                       0, "%s", text);
}


static void
ngx_adm_redis_stray_reply(ngx_adm_redis_conn_t *conn, redisReply *reply)
{
    char  text[128];

    if (reply->type != REDIS_REPLY_ERROR) {
        ngx_adm_redis_fail(conn, ngx_adm_redis_rubbish,
                           0, "a reply to no command");
        return;
    }

    conn->answered = 0;

    ngx_adm_redis_text(text, sizeof(text), reply);
    ngx_adm_redis_fail(conn, ngx_adm_redis_refused, 0, "%s", text);
}


static void
ngx_adm_redis_good(ngx_adm_redis_conn_t *conn, ngx_uint_t fresh)
{
    if (ngx_adm_redis_breaker_good(&conn->breaker)) {
        ngx_adm_redis_breaker_changed(conn);

    } else if (!fresh
               || conn->breaker.state != ngx_adm_redis_breaker_closed)
    {
        return;
    }

    if (ngx_adm_redis_shut(conn->health)) {
        ngx_log_error(NGX_LOG_NOTICE, &conn->log, 0,
                      "admission: redis %V: breaker closed", conn->name);
    }
}
