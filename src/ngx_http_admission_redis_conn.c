
/*
 * Copyright (C) 2026 the admission module authors
 *
 * One connection to Redis.
 *
 *   IDLE        no socket; the next call connects
 *   CONNECTING  the socket is on its way
 *   HANDSHAKE   so is TLS
 *   SETUP       AUTH, SELECT or PING are out; calls wait, since after a
 *               failed SELECT they would run in another database.  INFO goes
 *               with them, but nobody waits for it
 *   READY       calls go out
 *   DOWN        waits on the timer before it connects again; calls are refused
 *   CLOSED      for good, at the end of the worker
 *
 * Whether Redis works is known from what it answers to calls.  A connection
 * that ends before any such answer is a failure: the next ones come after
 * growing pauses and start with a PING, and no call has to wait for them.
 * When the breaker opens, the connection ends as well: what closes the
 * breaker begins with such a PING.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>
#include <ngx_event_connect.h>

#include "ngx_http_admission_redis_conn.h"
#include "ngx_http_admission_redis_counts.h"
#include "ngx_http_admission_redis_health.h"
#include "ngx_http_admission_redis_reply.h"
#include "ngx_http_admission_redis_ssl.h"


#define NGX_HTTP_ADMISSION_REDIS_PAUSE_MIN     50
#define NGX_HTTP_ADMISSION_REDIS_PAUSE_MAX     500
#define NGX_HTTP_ADMISSION_REDIS_PROBE_MAX     1000

#define NGX_HTTP_ADMISSION_REDIS_READ_SIZE     32768

/* a reply that is larger than this is no reply but rubbish */
#define NGX_HTTP_ADMISSION_REDIS_REPLY_MAX     (16 * 1024 * 1024)


typedef enum {
    ngx_http_admission_redis_idle = 0,
    ngx_http_admission_redis_connecting,
    ngx_http_admission_redis_handshake,
    ngx_http_admission_redis_setup,
    ngx_http_admission_redis_ready,
    ngx_http_admission_redis_down,
    ngx_http_admission_redis_closed
} ngx_http_admission_redis_state_e;


typedef enum {
    ngx_http_admission_redis_auth = 0,
    ngx_http_admission_redis_select,
    ngx_http_admission_redis_ping,
    ngx_http_admission_redis_info
} ngx_http_admission_redis_step_e;


typedef struct {
    ngx_http_admission_redis_step_e        step;
    ngx_buf_t                              buf;
    ngx_chain_t                            link;
} ngx_http_admission_redis_step_t;


struct ngx_http_admission_redis_conn_s {
    ngx_connection_t                      *connection;
    redisReader                           *reader;
    ngx_http_admission_redis_conf_t       *conf;

    /* event ident must be after 3 pointers as in ngx_connection_t */
    ngx_int_t                              ident;

    ngx_str_t                             *name;
    ngx_addr_t                            *addrs;
    ngx_addr_t                            *next_addrs; /* NULL: the same */
    ngx_uint_t                             naddrs;
    ngx_uint_t                             next_naddrs;
    ngx_uint_t                             addr;      /* the current one */
    ngx_uint_t                             tried;     /* of this attempt */

    ngx_http_admission_redis_state_e       state;
    ngx_uint_t                             serial;    /* of the socket */
    ngx_uint_t                             failures;  /* in a row */

    ngx_queue_t                            calls;     /* oldest first */
    ngx_chain_t                           *out;       /* not yet written */
    ngx_chain_t                          **last_out;
    size_t                                 pending;   /* of a reply */
    ngx_pool_t                            *replies;   /* NULL: none yet */

    ngx_http_admission_redis_step_t        steps[4];
    ngx_uint_t                             nsteps;
    ngx_uint_t                             step;

    ngx_msec_t                             deadline;  /* of the attempt */
    ngx_event_t                            timer;
    ngx_event_t                            flush;

    ngx_http_admission_redis_failed_pt     failed;
    void                                  *data;

    ngx_log_t                              log;
    ngx_log_t                              no_log;

    ngx_http_admission_redis_tls_t         tls;       /* if conf->ssl */
    ngx_http_admission_redis_health_t      health;
    ngx_http_admission_redis_breaker_t     breaker;
    ngx_msec_t                             opened_at; /* last logged */

    unsigned                               answered:1;
    unsigned                               evicts:1;  /* which was logged */
    unsigned                               opened:1;
};


static ngx_int_t ngx_http_admission_redis_attempt(
    ngx_http_admission_redis_conn_t *conn, ngx_msec_t timeout);
static ngx_int_t ngx_http_admission_redis_connect(
    ngx_http_admission_redis_conn_t *conn);
static ngx_int_t ngx_http_admission_redis_connect_addr(
    ngx_http_admission_redis_conn_t *conn);
static ngx_int_t ngx_http_admission_redis_test_connect(ngx_connection_t *c,
    ngx_err_t *err);
static ngx_int_t ngx_http_admission_redis_connected(
    ngx_http_admission_redis_conn_t *conn);
static void ngx_http_admission_redis_handshake_handler(ngx_connection_t *c);
static ngx_int_t ngx_http_admission_redis_handshake_failed(
    ngx_http_admission_redis_conn_t *conn);
static ngx_int_t ngx_http_admission_redis_greet(
    ngx_http_admission_redis_conn_t *conn);
static void ngx_http_admission_redis_add_step(
    ngx_http_admission_redis_conn_t *conn,
    ngx_http_admission_redis_step_e step, ngx_str_t *command);
static void ngx_http_admission_redis_serve(
    ngx_http_admission_redis_conn_t *conn);
static void ngx_http_admission_redis_push(
    ngx_http_admission_redis_conn_t *conn,
    ngx_http_admission_redis_call_t *call);

static void ngx_http_admission_redis_read_handler(ngx_event_t *rev);
static void ngx_http_admission_redis_write_handler(ngx_event_t *wev);
static void ngx_http_admission_redis_flush_handler(ngx_event_t *ev);
static void ngx_http_admission_redis_timer_handler(ngx_event_t *ev);

static void ngx_http_admission_redis_connect_done(
    ngx_http_admission_redis_conn_t *conn);
static void ngx_http_admission_redis_write(
    ngx_http_admission_redis_conn_t *conn);
static void ngx_http_admission_redis_read(
    ngx_http_admission_redis_conn_t *conn);
static ngx_int_t ngx_http_admission_redis_parse_replies(
    ngx_http_admission_redis_conn_t *conn, size_t n);
static void ngx_http_admission_redis_step_reply(
    ngx_http_admission_redis_conn_t *conn, redisReply *reply);
static void ngx_http_admission_redis_look_at_policy(
    ngx_http_admission_redis_conn_t *conn, redisReply *reply);
static void ngx_http_admission_redis_call_reply(
    ngx_http_admission_redis_conn_t *conn, redisReply *reply);
static void ngx_http_admission_redis_stray_reply(
    ngx_http_admission_redis_conn_t *conn, redisReply *reply);

static ngx_msec_int_t ngx_http_admission_redis_time_left(
    ngx_http_admission_redis_conn_t *conn);
static void ngx_http_admission_redis_arm(
    ngx_http_admission_redis_conn_t *conn, ngx_msec_t deadline);
static void ngx_http_admission_redis_queue_changed(
    ngx_http_admission_redis_conn_t *conn);

static void ngx_http_admission_redis_fail_lost(
    ngx_http_admission_redis_conn_t *conn, ngx_err_t err, char *what);
static ngx_uint_t ngx_http_admission_redis_bad(
    ngx_http_admission_redis_conn_t *conn);
static void ngx_http_admission_redis_good(
    ngx_http_admission_redis_conn_t *conn);
static void ngx_http_admission_redis_fail(
    ngx_http_admission_redis_conn_t *conn,
    ngx_http_admission_redis_fault_e fault, ngx_err_t err, const char *fmt,
    ...);
static void ngx_http_admission_redis_end(
    ngx_http_admission_redis_conn_t *conn, ngx_queue_t *lost);
static void ngx_http_admission_redis_disconnect(
    ngx_http_admission_redis_conn_t *conn);
static void ngx_http_admission_redis_complete_lost(ngx_queue_t *lost);


static ngx_str_t  ngx_http_admission_redis_ping_command =
    ngx_string("*1\r\n$4\r\nPING\r\n");


static ngx_str_t  ngx_http_admission_redis_info_command =
    ngx_string("*2\r\n$4\r\nINFO\r\n$6\r\nmemory\r\n");


static u_char  ngx_http_admission_redis_buffer
                                          [NGX_HTTP_ADMISSION_REDIS_READ_SIZE];


ngx_http_admission_redis_conn_t *
ngx_http_admission_redis_conn_create(ngx_cycle_t *cycle,
    ngx_http_admission_redis_conf_t *conf, ngx_str_t *name,
    ngx_http_admission_redis_failed_pt failed, void *data)
{
    ngx_http_admission_redis_conn_t  *conn;

    conn = ngx_calloc(sizeof(ngx_http_admission_redis_conn_t), cycle->log);
    if (conn == NULL) {
        return NULL;
    }

    conn->conf = conf;
    conn->ident = -1;
    conn->name = name;
    conn->failed = failed;
    conn->data = data;

    conn->breaker.conf = &conf->breaker;

    ngx_queue_init(&conn->calls);
    conn->last_out = &conn->out;

    conn->log = *cycle->log;
    conn->log.handler = NULL;
    conn->log.data = NULL;
    conn->log.action = NULL;

    /*
     * ngx_event_connect_peer() logs every failure, a lack of connections as
     * an alert; here all of them become one reason of being down.
     */

    conn->no_log = conn->log;
    conn->no_log.log_level = NGX_LOG_STDERR;
    conn->no_log.next = NULL;

    conn->timer.handler = ngx_http_admission_redis_timer_handler;
    conn->timer.data = conn;
    conn->timer.log = &conn->log;
    conn->timer.cancelable = 1;

    conn->flush.handler = ngx_http_admission_redis_flush_handler;
    conn->flush.data = conn;
    conn->flush.log = &conn->log;

    if (conf->ssl) {
        ngx_http_admission_redis_tls_init(&conn->tls, conf->ssl, name);
    }

    return conn;
}


void
ngx_http_admission_redis_conn_leave(ngx_http_admission_redis_conn_t *conn)
{
    ngx_http_admission_redis_queue_changed(conn);
}


void
ngx_http_admission_redis_conn_close(ngx_http_admission_redis_conn_t *conn)
{
    ngx_queue_t  lost;

    ngx_http_admission_redis_end(conn, &lost);

    conn->state = ngx_http_admission_redis_closed;

    ngx_http_admission_redis_complete_lost(&lost);

    if (conn->replies) {
        ngx_destroy_pool(conn->replies);
    }

    ngx_http_admission_redis_tls_cleanup(&conn->tls);

    if (conn->addrs) {
        ngx_free(conn->addrs);
    }

    if (conn->next_addrs) {
        ngx_free(conn->next_addrs);
    }

    ngx_free(conn);
}


ngx_int_t
ngx_http_admission_redis_conn_addrs(ngx_http_admission_redis_conn_t *conn,
    ngx_addr_t *addrs, ngx_uint_t naddrs)
{
    u_char      *p;
    size_t       size;
    ngx_uint_t   i;
    ngx_addr_t  *copy;

    size = naddrs * sizeof(ngx_addr_t);

    for (i = 0; i < naddrs; i++) {
        size += sizeof(ngx_sockaddr_t) + addrs[i].name.len;
    }

    copy = ngx_alloc(size, &conn->log);
    if (copy == NULL) {
        return NGX_ERROR;
    }

    /* what has to be aligned comes first */

    p = (u_char *) &copy[naddrs];

    for (i = 0; i < naddrs; i++) {
        copy[i].sockaddr = (struct sockaddr *) p;
        copy[i].socklen = addrs[i].socklen;
        ngx_memcpy(p, addrs[i].sockaddr, addrs[i].socklen);
        p += sizeof(ngx_sockaddr_t);
    }

    for (i = 0; i < naddrs; i++) {
        copy[i].name.data = p;
        copy[i].name.len = addrs[i].name.len;
        p = ngx_cpymem(p, addrs[i].name.data, addrs[i].name.len);
    }

    if (conn->next_addrs) {
        ngx_free(conn->next_addrs);
    }

    conn->next_addrs = copy;
    conn->next_naddrs = naddrs;

    return NGX_OK;
}


ngx_uint_t
ngx_http_admission_redis_conn_busy(ngx_http_admission_redis_conn_t *conn)
{
    return !ngx_queue_empty(&conn->calls);
}


ngx_uint_t
ngx_http_admission_redis_conn_ready(ngx_http_admission_redis_conn_t *conn)
{
    return conn->state == ngx_http_admission_redis_ready;
}


ngx_uint_t
ngx_http_admission_redis_conn_down(ngx_http_admission_redis_conn_t *conn)
{
    return conn->failures != 0;
}


ngx_int_t
ngx_http_admission_redis_conn_send(ngx_http_admission_redis_conn_t *conn,
    ngx_http_admission_redis_call_t *call)
{
    switch (conn->state) {

    case ngx_http_admission_redis_connecting:
    case ngx_http_admission_redis_handshake:
    case ngx_http_admission_redis_setup:

        if (conn->failures) {
            return NGX_ERROR;
        }

        break;

    case ngx_http_admission_redis_idle:
    case ngx_http_admission_redis_ready:
        break;

    default:
        return NGX_ERROR;
    }

    if (ngx_http_admission_redis_breaker_ask(&conn->breaker) != NGX_OK) {
        return NGX_ERROR;
    }

    if (conn->state == ngx_http_admission_redis_idle
        && ngx_http_admission_redis_attempt(conn, conn->conf->timeout)
           != NGX_OK)
    {
        /* which the next attempt finds out about as well */

        ngx_http_admission_redis_breaker_neither(&conn->breaker);

        return NGX_ERROR;
    }

    ngx_queue_insert_tail(&conn->calls, &call->queue);
    ngx_http_admission_redis_queue_changed(conn);
    ngx_http_admission_redis_arm(conn, call->deadline);

    if (conn->state == ngx_http_admission_redis_ready) {
        ngx_http_admission_redis_push(conn, call);
    }

    return NGX_OK;
}


/* an attempt is over all addresses of the node; a failure is seen to */

static ngx_int_t
ngx_http_admission_redis_attempt(ngx_http_admission_redis_conn_t *conn,
    ngx_msec_t timeout)
{
    if (conn->next_addrs) {

        if (conn->addrs) {
            ngx_free(conn->addrs);
        }

        conn->addrs = conn->next_addrs;
        conn->naddrs = conn->next_naddrs;
        conn->next_addrs = NULL;

        conn->addr = 0;
    }

    conn->tried = 0;
    conn->answered = 0;
    conn->deadline = ngx_current_msec + timeout;

    ngx_http_admission_redis_arm(conn, conn->deadline);

    return ngx_http_admission_redis_connect(conn);
}


static ngx_int_t
ngx_http_admission_redis_connect(ngx_http_admission_redis_conn_t *conn)
{
    ngx_err_t  err;
    ngx_int_t  rc;

    for ( ;; ) {
        conn->tried++;

        ngx_set_errno(0);

        rc = ngx_http_admission_redis_connect_addr(conn);

        if (rc == NGX_AGAIN) {
            conn->state = ngx_http_admission_redis_connecting;
            ngx_http_admission_redis_queue_changed(conn);
            return NGX_OK;
        }

        if (rc == NGX_OK) {
            return ngx_http_admission_redis_connected(conn);
        }

        err = ngx_socket_errno;

        if (rc == NGX_ERROR) {

            if (ngx_cycle->free_connection_n == 0) {
                ngx_http_admission_redis_fail(conn,
                                ngx_http_admission_redis_no_connection, 0,
                                "worker_connections are not enough");

            } else {
                ngx_http_admission_redis_fail(conn,
                                ngx_http_admission_redis_no_connection, err,
                                "no socket");
            }

            return NGX_ERROR;
        }

        if (conn->tried == conn->naddrs) {
            ngx_http_admission_redis_fail(conn,
                               ngx_http_admission_redis_no_connect, err,
                               "connect() to %V failed",
                               &conn->addrs[conn->addr].name);
            return NGX_ERROR;
        }

        conn->addr = (conn->addr + 1) % conn->naddrs;
    }
}


static ngx_int_t
ngx_http_admission_redis_connect_addr(ngx_http_admission_redis_conn_t *conn)
{
    ngx_int_t               rc;
    ngx_addr_t             *addr;
    ngx_pool_t             *pool;
    ngx_connection_t       *c;
    ngx_peer_connection_t   pc;

    addr = &conn->addrs[conn->addr];

    pool = ngx_create_pool(512, &conn->log);
    if (pool == NULL) {
        return NGX_ERROR;
    }

    ngx_memzero(&pc, sizeof(ngx_peer_connection_t));

    pc.sockaddr = addr->sockaddr;
    pc.socklen = addr->socklen;
    pc.name = &addr->name;
    pc.get = ngx_event_get_peer;
    pc.log = &conn->no_log;
    pc.log_error = NGX_ERROR_INFO;
    pc.so_keepalive = (addr->sockaddr->sa_family != AF_UNIX);

    rc = ngx_event_connect_peer(&pc);

    c = pc.connection;

    if (rc != NGX_OK && rc != NGX_AGAIN) {

        /* its "failed" exit closes the connection but leaves it there */

        ngx_destroy_pool(pool);
        return (rc == NGX_DECLINED) ? NGX_DECLINED : NGX_ERROR;
    }

    conn->log.connection = c->number;

    c->data = conn;
    c->pool = pool;
    c->log = &conn->log;
    c->read->log = c->log;
    c->write->log = c->log;
    c->read->handler = ngx_http_admission_redis_read_handler;
    c->write->handler = ngx_http_admission_redis_write_handler;

    conn->connection = c;

    ngx_http_admission_redis_count_open(1);

    return rc;
}


static ngx_int_t
ngx_http_admission_redis_test_connect(ngx_connection_t *c, ngx_err_t *err)
{
    int        e;
    socklen_t  len;

#if (NGX_HAVE_KQUEUE)

    if (ngx_event_flags & NGX_USE_KQUEUE_EVENT) {

        if (c->write->pending_eof || c->read->pending_eof) {
            *err = c->write->pending_eof ? c->write->kq_errno
                                         : c->read->kq_errno;
            return NGX_ERROR;
        }

        return NGX_OK;
    }

#endif

    e = 0;
    len = sizeof(int);

    /* Solaris returns -1 and the error in errno */

    if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, (void *) &e, &len) == -1) {
        e = ngx_socket_errno;
    }

    *err = e;

    return e ? NGX_ERROR : NGX_OK;
}


static ngx_int_t
ngx_http_admission_redis_connected(ngx_http_admission_redis_conn_t *conn)
{
    ngx_connection_t  *c;

    c = conn->connection;

    if (conn->addrs[conn->addr].sockaddr->sa_family != AF_UNIX
        && ngx_tcp_nodelay(c) != NGX_OK)
    {
        ngx_http_admission_redis_fail(conn,
                                      ngx_http_admission_redis_no_connection,
                                      0, "the connection cannot be set up");
        return NGX_ERROR;
    }

    if (conn->conf->ssl == NULL) {
        return ngx_http_admission_redis_greet(conn);
    }

    conn->state = ngx_http_admission_redis_handshake;
    ngx_http_admission_redis_queue_changed(conn);

    switch (ngx_http_admission_redis_tls_handshake(&conn->tls, c,
                                 ngx_http_admission_redis_handshake_handler))
    {
    case NGX_OK:
        return ngx_http_admission_redis_greet(conn);

    case NGX_AGAIN:
        return NGX_OK;

    default: /* NGX_ERROR */
        return ngx_http_admission_redis_handshake_failed(conn);
    }
}


static void
ngx_http_admission_redis_handshake_handler(ngx_connection_t *c)
{
    ngx_http_admission_redis_conn_t  *conn;

    conn = c->data;

    if (ngx_http_admission_redis_tls_done(&conn->tls, c) != NGX_OK) {
        (void) ngx_http_admission_redis_handshake_failed(conn);
        return;
    }

    c->read->handler = ngx_http_admission_redis_read_handler;
    c->write->handler = ngx_http_admission_redis_write_handler;

    if (ngx_http_admission_redis_greet(conn) == NGX_OK) {

        /* what has come with the end of the handshake is not reported again */

        ngx_http_admission_redis_read(conn);
    }
}


static ngx_int_t
ngx_http_admission_redis_handshake_failed(
    ngx_http_admission_redis_conn_t *conn)
{
    ngx_http_admission_redis_fail(conn, ngx_http_admission_redis_no_tls, 0,
                              "TLS to %V failed: %s",
                              &conn->addrs[conn->addr].name,
                              ngx_http_admission_redis_tls_error(&conn->tls));
    return NGX_ERROR;
}


static ngx_int_t
ngx_http_admission_redis_greet(ngx_http_admission_redis_conn_t *conn)
{
    /* a part of one may be left of an earlier connection */

    ngx_http_admission_redis_drop_replies(&conn->replies);

    conn->reader = ngx_http_admission_redis_create_reader(&conn->replies);

    if (conn->reader == NULL) {
        ngx_http_admission_redis_fail(conn,
                                      ngx_http_admission_redis_no_connection,
                                      0, "the connection cannot be set up");
        return NGX_ERROR;
    }

    ngx_http_admission_redis_count(NGX_HTTP_ADMISSION_REDIS_CONNECTS);

    conn->pending = 0;
    conn->nsteps = 0;
    conn->step = 0;

    if (conn->conf->auth.len) {
        ngx_http_admission_redis_add_step(conn, ngx_http_admission_redis_auth,
                                          &conn->conf->auth);
    }

    if (conn->conf->select.len) {
        ngx_http_admission_redis_add_step(conn,
                                          ngx_http_admission_redis_select,
                                          &conn->conf->select);
    }

    if (conn->failures) {
        ngx_http_admission_redis_add_step(conn, ngx_http_admission_redis_ping,
                                      &ngx_http_admission_redis_ping_command);
    }

    ngx_http_admission_redis_add_step(conn, ngx_http_admission_redis_info,
                                      &ngx_http_admission_redis_info_command);

    if (conn->nsteps == 1) {
        ngx_http_admission_redis_serve(conn);
        return NGX_OK;
    }

    conn->state = ngx_http_admission_redis_setup;
    ngx_http_admission_redis_queue_changed(conn);

    return NGX_OK;
}


static void
ngx_http_admission_redis_add_step(ngx_http_admission_redis_conn_t *conn,
    ngx_http_admission_redis_step_e step, ngx_str_t *command)
{
    ngx_http_admission_redis_step_t  *s;

    s = &conn->steps[conn->nsteps++];

    ngx_memzero(s, sizeof(ngx_http_admission_redis_step_t));

    s->step = step;

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


static void
ngx_http_admission_redis_serve(ngx_http_admission_redis_conn_t *conn)
{
    ngx_queue_t                      *q;
    ngx_http_admission_redis_call_t  *call;

    conn->state = ngx_http_admission_redis_ready;
    ngx_http_admission_redis_queue_changed(conn);

    ngx_http_admission_redis_breaker_answered(&conn->breaker);

    for (q = ngx_queue_head(&conn->calls);
         q != ngx_queue_sentinel(&conn->calls);
         q = ngx_queue_next(q))
    {
        call = ngx_queue_data(q, ngx_http_admission_redis_call_t, queue);
        ngx_http_admission_redis_push(conn, call);
    }
}


static void
ngx_http_admission_redis_push(ngx_http_admission_redis_conn_t *conn,
    ngx_http_admission_redis_call_t *call)
{
    ngx_uint_t  i;

    for (i = 0; i < call->nbufs; i++) {
        call->links[i].buf = &call->bufs[i];
        call->links[i].next = NULL;

        *conn->last_out = &call->links[i];
        conn->last_out = &call->links[i].next;
    }

    /* what a turn of the event loop sends leaves at its end, in one write */

    ngx_post_event(&conn->flush, &ngx_posted_events);
}


static void
ngx_http_admission_redis_read_handler(ngx_event_t *rev)
{
    ngx_queue_t                       lost;
    ngx_connection_t                 *c;
    ngx_http_admission_redis_conn_t  *conn;

    c = rev->data;
    conn = c->data;

    /* the worker shuts down; it asks only connections marked as idle */

    if (c->close && ngx_queue_empty(&conn->calls)) {
        ngx_http_admission_redis_end(conn, &lost);
        conn->state = ngx_http_admission_redis_idle;
        return;
    }

    /* a failed connect() is reported to the write handler as well */

    if (conn->state == ngx_http_admission_redis_connecting) {
        return;
    }

    ngx_http_admission_redis_read(conn);
}


static void
ngx_http_admission_redis_write_handler(ngx_event_t *wev)
{
    ngx_connection_t                 *c;
    ngx_http_admission_redis_conn_t  *conn;

    c = wev->data;
    conn = c->data;

    if (conn->state == ngx_http_admission_redis_connecting) {
        ngx_http_admission_redis_connect_done(conn);
        return;
    }

    ngx_http_admission_redis_write(conn);
}


static void
ngx_http_admission_redis_flush_handler(ngx_event_t *ev)
{
    ngx_http_admission_redis_conn_t  *conn;

    conn = ev->data;

    /* an unfinished write goes on when the socket says so */

    if (conn->connection && conn->connection->write->ready) {
        ngx_http_admission_redis_write(conn);
    }
}


static void
ngx_http_admission_redis_timer_handler(ngx_event_t *ev)
{
    ngx_msec_int_t                    left;
    ngx_http_admission_redis_conn_t  *conn;

    conn = ev->data;

    switch (conn->state) {

    case ngx_http_admission_redis_down:

        (void) ngx_http_admission_redis_attempt(conn,
                                ngx_min(conn->conf->timeout,
                                        NGX_HTTP_ADMISSION_REDIS_PROBE_MAX));
        return;

    case ngx_http_admission_redis_connecting:
    case ngx_http_admission_redis_handshake:
    case ngx_http_admission_redis_setup:
        break;

    case ngx_http_admission_redis_ready:

        if (ngx_queue_empty(&conn->calls)) {
            return;
        }

        break;

    default:
        return;
    }

    left = ngx_http_admission_redis_time_left(conn);

    if (left > 0) {
        ngx_add_timer(&conn->timer, (ngx_msec_t) left);
        return;
    }

    if (conn->state == ngx_http_admission_redis_connecting) {
        ngx_http_admission_redis_fail(conn, ngx_http_admission_redis_timed_out,
                                      0, "connecting timed out");
        return;
    }

    if (conn->state == ngx_http_admission_redis_handshake) {
        ngx_http_admission_redis_fail(conn, ngx_http_admission_redis_timed_out,
                                      0, "the TLS handshake timed out");
        return;
    }

    ngx_http_admission_redis_fail(conn, ngx_http_admission_redis_timed_out, 0,
                                  "no reply within %M ms",
                                  conn->conf->timeout);
}


static void
ngx_http_admission_redis_connect_done(ngx_http_admission_redis_conn_t *conn)
{
    ngx_err_t          err;
    ngx_connection_t  *c;

    c = conn->connection;

    if (ngx_http_admission_redis_test_connect(c, &err) == NGX_OK) {

        if (ngx_http_admission_redis_connected(conn) != NGX_OK) {
            return;
        }

        /*
         * What is there before anything was written answers nothing.  It has
         * been reported, and will not be again where events are edges.
         */

        if (c->read->ready && conn->reader) {
            ngx_http_admission_redis_read(conn);
        }

        return;
    }

    if (conn->tried == conn->naddrs) {
        ngx_http_admission_redis_fail(conn,
                                      ngx_http_admission_redis_no_connect,
                                      err, "connect() to %V failed",
                                      &conn->addrs[conn->addr].name);
        return;
    }

    ngx_http_admission_redis_disconnect(conn);

    conn->addr = (conn->addr + 1) % conn->naddrs;

    (void) ngx_http_admission_redis_connect(conn);
}


static void
ngx_http_admission_redis_write(ngx_http_admission_redis_conn_t *conn)
{
    ngx_uint_t         serial;
    ngx_chain_t       *out;
    ngx_connection_t  *c;

    c = conn->connection;

    /* with TLS, what is not in the chain any more may be in its buffer */

    if (conn->out || c->buffered) {
        out = c->send_chain(c, conn->out, 0);

        if (out == NGX_CHAIN_ERROR) {

            /* Redis may have said why before it closed the connection */

            serial = conn->serial;

            ngx_http_admission_redis_read(conn);

            if (conn->serial == serial) {
                ngx_http_admission_redis_fail_lost(conn, 0,
                                                "connection lost in a write");
            }

            return;
        }

        conn->out = out;

        if (out == NULL) {
            conn->last_out = &conn->out;
        }
    }

    if (ngx_handle_write_event(c->write, 0) != NGX_OK) {
        ngx_http_admission_redis_fail(conn, ngx_http_admission_redis_lost, 0,
                                      "write event failed");
    }
}


static void
ngx_http_admission_redis_read(ngx_http_admission_redis_conn_t *conn)
{
    ssize_t            n;
    ngx_err_t          err;
    ngx_connection_t  *c;

    c = conn->connection;

    for ( ;; ) {
        ngx_set_errno(0);

        n = c->recv(c, ngx_http_admission_redis_buffer,
                    NGX_HTTP_ADMISSION_REDIS_READ_SIZE);

        if (n == NGX_AGAIN) {
            break;
        }

        if (n == NGX_ERROR || n == 0) {
            err = n ? ngx_socket_errno : 0;
            ngx_http_admission_redis_fail_lost(conn, err,
                                               "connection closed by Redis");
            return;
        }

        if (ngx_http_admission_redis_parse_replies(conn, n) != NGX_OK) {
            return;
        }
    }

    if (ngx_handle_read_event(c->read, 0) != NGX_OK) {
        ngx_http_admission_redis_fail(conn, ngx_http_admission_redis_lost, 0,
                                      "read event failed");
    }
}


/* NGX_DONE: the connection has ended */

static ngx_int_t
ngx_http_admission_redis_parse_replies(ngx_http_admission_redis_conn_t *conn,
    size_t n)
{
    void        *reply;
    ngx_uint_t   serial;

    serial = conn->serial;

    (void) redisReaderFeed(conn->reader,
                           (char *) ngx_http_admission_redis_buffer, n);

    conn->pending += n;

    for ( ;; ) {
        reply = NULL;

        if (redisReaderGetReply(conn->reader, &reply) != REDIS_OK) {
            ngx_http_admission_redis_fail(conn,
                                          ngx_http_admission_redis_rubbish, 0,
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
            ngx_http_admission_redis_step_reply(conn, reply);

        } else {
            ngx_http_admission_redis_call_reply(conn, reply);
        }

        ngx_http_admission_redis_drop_replies(&conn->replies);

        if (conn->serial != serial) {
            return NGX_DONE;
        }
    }

    if (conn->pending > NGX_HTTP_ADMISSION_REDIS_REPLY_MAX) {
        ngx_http_admission_redis_fail(conn, ngx_http_admission_redis_rubbish,
                                      0, "too large a reply");
        return NGX_DONE;
    }

    return NGX_OK;
}


static void
ngx_http_admission_redis_step_reply(ngx_http_admission_redis_conn_t *conn,
    redisReply *reply)
{
    char                             *p, text[128];
    ngx_http_admission_redis_step_t  *s;

    s = &conn->steps[conn->step];

    if (s->buf.pos != s->buf.last) {
        ngx_http_admission_redis_stray_reply(conn, reply);
        return;
    }

    if (reply->type == REDIS_REPLY_ERROR) {

        ngx_http_admission_redis_text(text, sizeof(text), reply);

        if (ngx_http_admission_redis_is_wrong_node(reply)) {
            ngx_http_admission_redis_fail(conn,
                                          ngx_http_admission_redis_wrong_node,
                                          0, "%s", text);
            return;
        }

        switch (s->step) {

        case ngx_http_admission_redis_auth:

            /* "unknown command 'AUTH', with args beginning with: ..." */

            p = strpbrk(text, "'`\"");
            if (p) {
                *p = '\0';
            }

            ngx_http_admission_redis_fail(conn,
                                          ngx_http_admission_redis_refused, 0,
                                          "AUTH failed: %s", text);
            return;

        case ngx_http_admission_redis_select:

            ngx_http_admission_redis_fail(conn,
                                          ngx_http_admission_redis_refused, 0,
                                          "SELECT failed: %s", text);
            return;

        case ngx_http_admission_redis_ping:

            /* a user who may not PING has been answered as well */

            if (ngx_http_admission_redis_is(reply, "NOPERM")) {
                break;
            }

            ngx_http_admission_redis_fail(conn,
                                          ngx_http_admission_redis_refused, 0,
                                          "PING failed: %s", text);
            return;

        default: /* ngx_http_admission_redis_info */
            break;
        }
    }

    if (s->step == ngx_http_admission_redis_info) {
        ngx_http_admission_redis_look_at_policy(conn, reply);
    }

    if (++conn->step == conn->nsteps - 1) {
        ngx_http_admission_redis_serve(conn);
    }
}


/* who may not ask does not know */

static void
ngx_http_admission_redis_look_at_policy(ngx_http_admission_redis_conn_t *conn,
    redisReply *reply)
{
    char  policy[32];

    if (ngx_http_admission_redis_field(policy, sizeof(policy), reply,
                                       "maxmemory_policy")
        != NGX_OK)
    {
        return;
    }

    if (ngx_strcmp(policy, "noeviction") == 0) {
        conn->evicts = 0;
        return;
    }

    if (!conn->evicts) {
        conn->evicts = 1;

        ngx_log_error(NGX_LOG_WARN, &conn->log, 0,
                      "admission: redis %V has \"maxmemory-policy %s\" and may "
                      "drop queues to make room, use \"noeviction\"",
                      conn->name, policy);
    }
}


static void
ngx_http_admission_redis_call_reply(ngx_http_admission_redis_conn_t *conn,
    redisReply *reply)
{
    char                              text[128];
    ngx_int_t                         rc;
    ngx_buf_t                        *b;
    ngx_uint_t                        serial, wrong, answered, opened;
    ngx_queue_t                      *q;
    ngx_http_admission_redis_call_t  *call;

    if (ngx_queue_empty(&conn->calls)) {
        ngx_http_admission_redis_stray_reply(conn, reply);
        return;
    }

    q = ngx_queue_head(&conn->calls);
    call = ngx_queue_data(q, ngx_http_admission_redis_call_t, queue);

    b = &call->bufs[call->nbufs - 1];

    if (b->pos != b->last) {
        ngx_http_admission_redis_stray_reply(conn, reply);
        return;
    }

    ngx_queue_remove(q);
    ngx_http_admission_redis_queue_changed(conn);

    rc = NGX_OK;
    wrong = 0;
    opened = 0;
    answered = 1;

    if (reply->type == REDIS_REPLY_ERROR) {
        rc = NGX_DECLINED;

        wrong = ngx_http_admission_redis_is_wrong_node(reply);
        answered = !wrong && !ngx_http_admission_redis_is(reply, "LOADING");
    }

    if (answered) {
        conn->answered = 1;
        conn->failures = 0;

        if (conn->health.failing) {
            ngx_http_admission_redis_log_back(&conn->health, conn->name,
                                              &conn->log);
        }

        ngx_http_admission_redis_good(conn);

    } else if (wrong) {
        ngx_http_admission_redis_breaker_neither(&conn->breaker);

    } else {
        opened = ngx_http_admission_redis_bad(conn);
    }

    serial = conn->serial;

    call->answer(call, rc, reply);

    if (conn->serial != serial || (!wrong && !opened)) {
        return;
    }

    /* another connection may find the right node, or be let in */

    conn->answered = 0;

    ngx_http_admission_redis_text(text, sizeof(text), reply);
    ngx_http_admission_redis_fail(conn,
                                  wrong ? ngx_http_admission_redis_wrong_node
                                        : ngx_http_admission_redis_refused,
                                  0, "%s", text);
}


static void
ngx_http_admission_redis_stray_reply(ngx_http_admission_redis_conn_t *conn,
    redisReply *reply)
{
    char  text[128];

    if (reply->type != REDIS_REPLY_ERROR) {
        ngx_http_admission_redis_fail(conn, ngx_http_admission_redis_rubbish,
                                      0, "a reply to no command");
        return;
    }

    conn->answered = 0;

    ngx_http_admission_redis_text(text, sizeof(text), reply);
    ngx_http_admission_redis_fail(conn, ngx_http_admission_redis_refused, 0,
                                  "%s", text);
}


static ngx_msec_int_t
ngx_http_admission_redis_time_left(ngx_http_admission_redis_conn_t *conn)
{
    ngx_msec_int_t                    left, min;
    ngx_queue_t                      *q;
    ngx_http_admission_redis_call_t  *call;

    min = NGX_MAX_INT32_VALUE;

    if (conn->state != ngx_http_admission_redis_ready) {
        min = (ngx_msec_int_t) (conn->deadline - ngx_current_msec);
    }

    /* one that was sent again has an earlier deadline than those before it */

    for (q = ngx_queue_head(&conn->calls);
         q != ngx_queue_sentinel(&conn->calls);
         q = ngx_queue_next(q))
    {
        call = ngx_queue_data(q, ngx_http_admission_redis_call_t, queue);
        left = (ngx_msec_int_t) (call->deadline - ngx_current_msec);

        if (left < min) {
            min = left;
        }
    }

    return min;
}


static void
ngx_http_admission_redis_arm(ngx_http_admission_redis_conn_t *conn,
    ngx_msec_t deadline)
{
    ngx_msec_int_t  left;

    /* a timer that comes early sets itself again */

    if (conn->timer.timer_set) {

        if ((ngx_msec_int_t) (deadline - conn->timer.timer.key) >= 0) {
            return;
        }

        ngx_del_timer(&conn->timer);
    }

    left = (ngx_msec_int_t) (deadline - ngx_current_msec);

    ngx_add_timer(&conn->timer, (ngx_msec_t) ngx_max(left, 0));
}


/* a worker that shuts down waits for calls, and for nothing else of this */

static void
ngx_http_admission_redis_queue_changed(ngx_http_admission_redis_conn_t *conn)
{
    ngx_uint_t                        idle;
    ngx_queue_t                      *q;
    ngx_http_admission_redis_call_t  *call;

    idle = 1;

    for (q = ngx_queue_head(&conn->calls);
         q != ngx_queue_sentinel(&conn->calls);
         q = ngx_queue_next(q))
    {
        call = ngx_queue_data(q, ngx_http_admission_redis_call_t, queue);

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


/* TLS knows more, such as that a client certificate is missing */

static void
ngx_http_admission_redis_fail_lost(ngx_http_admission_redis_conn_t *conn,
    ngx_err_t err, char *what)
{
    u_char  *text;

    text = ngx_http_admission_redis_tls_error(&conn->tls);

    ngx_http_admission_redis_fail(conn, ngx_http_admission_redis_lost, err,
                                  *text ? "%s: %s" : "%s", what, text);
}


/* 1: the breaker is open now, and the connection has to end */

static ngx_uint_t
ngx_http_admission_redis_bad(ngx_http_admission_redis_conn_t *conn)
{
    ngx_uint_t  trial;

    trial = (conn->breaker.state == ngx_http_admission_redis_breaker_trial);

    if (!ngx_http_admission_redis_breaker_bad(&conn->breaker)) {
        return 0;
    }

    if (!trial
        && (!conn->opened || ngx_current_msec - conn->opened_at >= 1000))
    {
        conn->opened = 1;
        conn->opened_at = ngx_current_msec;

        ngx_log_error(NGX_LOG_ERR, &conn->log, 0,
                      "admission: redis %V: breaker open, %ui%% of the last "
                      "%ui calls failed", conn->name,
                      conn->conf->breaker.percent, conn->conf->breaker.calls);
    }

    return 1;
}


static void
ngx_http_admission_redis_good(ngx_http_admission_redis_conn_t *conn)
{
    if (ngx_http_admission_redis_breaker_good(&conn->breaker)) {
        ngx_log_error(NGX_LOG_NOTICE, &conn->log, 0,
                      "admission: redis %V: breaker closed", conn->name);
    }
}


static void
ngx_http_admission_redis_fail(ngx_http_admission_redis_conn_t *conn,
    ngx_http_admission_redis_fault_e fault, ngx_err_t err, const char *fmt,
    ...)
{
    u_char      *p, text[NGX_MAX_ERROR_STR / 4];
    va_list      args;
    ngx_msec_t   pause;
    ngx_uint_t   unused, shift;
    ngx_queue_t  lost, *q;

    va_start(args, fmt);
    p = ngx_vslprintf(text, text + sizeof(text) - 1, fmt, args);
    va_end(args);

    *p = '\0';

    unused = conn->state == ngx_http_admission_redis_ready
             && ngx_queue_empty(&conn->calls)
             && fault == ngx_http_admission_redis_lost;

    ngx_http_admission_redis_end(conn, &lost);

    if (unused) {

        /* Redis went away, or closes what is idle: the next call will tell */

        ngx_log_error(NGX_LOG_INFO, &conn->log, err,
                      "admission: redis %V: idle %s", conn->name, text);

    } else {
        ngx_http_admission_redis_log_fault(&conn->health, conn->name,
                                           &conn->log, fault, err, text);

        ngx_http_admission_redis_count(NGX_HTTP_ADMISSION_REDIS_FAILURES);

        if (fault == ngx_http_admission_redis_timed_out) {
            ngx_http_admission_redis_count(NGX_HTTP_ADMISSION_REDIS_TIMEOUTS);
        }
    }

    for (q = ngx_queue_head(&lost);
         q != ngx_queue_sentinel(&lost);
         q = ngx_queue_next(q))
    {
        if (fault == ngx_http_admission_redis_wrong_node) {
            ngx_http_admission_redis_breaker_neither(&conn->breaker);

        } else {
            (void) ngx_http_admission_redis_bad(conn);
        }
    }

    if ((unused || conn->answered)
        && conn->breaker.state != ngx_http_admission_redis_breaker_open)
    {
        conn->failures = 0;
        conn->state = ngx_http_admission_redis_idle;

    } else {
        shift = ngx_min(conn->failures, 8);
        pause = ngx_min((ngx_msec_t) NGX_HTTP_ADMISSION_REDIS_PAUSE_MIN
                        << shift, NGX_HTTP_ADMISSION_REDIS_PAUSE_MAX);
        pause = ngx_max(pause,
                        ngx_http_admission_redis_breaker_pause(
                                                             &conn->breaker));
        pause = pause * 3 / 4 + (ngx_msec_t) ngx_random() % (pause / 4 + 1);

        conn->failures++;
        conn->addr = (conn->addr + 1) % conn->naddrs;
        conn->state = ngx_http_admission_redis_down;

        ngx_add_timer(&conn->timer, pause);
    }

    conn->failed(conn->data);

    ngx_http_admission_redis_complete_lost(&lost);
}


/* after it, the calls are in no pipeline and nothing is in the event loop */

static void
ngx_http_admission_redis_end(ngx_http_admission_redis_conn_t *conn,
    ngx_queue_t *lost)
{
    ngx_queue_init(lost);

    if (!ngx_queue_empty(&conn->calls)) {
        ngx_queue_add(lost, &conn->calls);
        ngx_queue_init(&conn->calls);
    }

    ngx_http_admission_redis_disconnect(conn);
    ngx_http_admission_redis_queue_changed(conn);

    if (conn->timer.timer_set) {
        ngx_del_timer(&conn->timer);
    }
}


static void
ngx_http_admission_redis_disconnect(ngx_http_admission_redis_conn_t *conn)
{
    ngx_pool_t        *pool;
    ngx_connection_t  *c;

    conn->serial++;

    conn->out = NULL;
    conn->last_out = &conn->out;

    if (conn->flush.posted) {
        ngx_delete_posted_event(&conn->flush);
    }

    if (conn->reader) {
        redisReaderFree(conn->reader);
        conn->reader = NULL;
    }

    c = conn->connection;

    if (c == NULL) {
        return;
    }

    conn->connection = NULL;

    ngx_http_admission_redis_count_open(-1);

    ngx_http_admission_redis_tls_shutdown(&conn->tls, c);

    pool = c->pool;
    ngx_close_connection(c);
    ngx_destroy_pool(pool);

    conn->log.connection = 0;
}


static void
ngx_http_admission_redis_complete_lost(ngx_queue_t *lost)
{
    ngx_queue_t                      *q;
    ngx_http_admission_redis_call_t  *call;

    while (!ngx_queue_empty(lost)) {
        q = ngx_queue_head(lost);
        ngx_queue_remove(q);

        call = ngx_queue_data(q, ngx_http_admission_redis_call_t, queue);
        call->answer(call, NGX_ERROR, NULL);
    }
}
