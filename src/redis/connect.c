
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Making a connection to Redis: the addresses of the node in turn, the TLS
 * handshake, and the commands that go before any call, until it serves.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>
#include <ngx_event_connect.h>

#include "conn_parts.h"
#include "reply.h"
#include "shared.h"


static ngx_int_t ngx_adm_redis_connect(ngx_adm_redis_conn_t *conn);
static ngx_int_t ngx_adm_redis_connect_addr(ngx_adm_redis_conn_t *conn);
static void ngx_adm_redis_connect_read_handler(ngx_event_t *rev);
static void ngx_adm_redis_connect_write_handler(ngx_event_t *wev);
static void ngx_adm_redis_connect_done(ngx_adm_redis_conn_t *conn);
static ngx_int_t ngx_adm_redis_test_connect(ngx_connection_t *c,
    ngx_err_t *err);
static ngx_int_t ngx_adm_redis_connected(ngx_adm_redis_conn_t *conn);
static void ngx_adm_redis_handshake_handler(ngx_connection_t *c);
static ngx_int_t ngx_adm_redis_handshake_failed(ngx_adm_redis_conn_t *conn);
static ngx_int_t ngx_adm_redis_greet(ngx_adm_redis_conn_t *conn);
static void ngx_adm_redis_auth_reply(ngx_adm_redis_conn_t *conn,
    redisReply *reply);
static void ngx_adm_redis_select_reply(ngx_adm_redis_conn_t *conn,
    redisReply *reply);
static void ngx_adm_redis_ping_reply(ngx_adm_redis_conn_t *conn,
    redisReply *reply);
static void ngx_adm_redis_info_reply(ngx_adm_redis_conn_t *conn,
    redisReply *reply);
static void ngx_adm_redis_look_at_policy(ngx_adm_redis_conn_t *conn,
    redisReply *reply);
static ngx_uint_t ngx_adm_redis_step_refused(ngx_adm_redis_conn_t *conn,
    redisReply *reply, const char *command, const char *cut);
static void ngx_adm_redis_step_done(ngx_adm_redis_conn_t *conn);
static void ngx_adm_redis_serve(ngx_adm_redis_conn_t *conn);


static ngx_str_t  ngx_adm_redis_ping = ngx_string("*1\r\n$4\r\nPING\r\n");


static ngx_str_t  ngx_adm_redis_info =
    ngx_string("*2\r\n$4\r\nINFO\r\n$6\r\nmemory\r\n");


/* tries all addresses of the node; a failure has been dealt with */

ngx_int_t
ngx_adm_redis_attempt(ngx_adm_redis_conn_t *conn, ngx_msec_t timeout)
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

    ngx_adm_redis_arm(conn, conn->deadline);

    return ngx_adm_redis_connect(conn);
}


static ngx_int_t
ngx_adm_redis_connect(ngx_adm_redis_conn_t *conn)
{
    ngx_err_t  err;
    ngx_int_t  rc;

    for ( ;; ) {
        conn->tried++;

        ngx_set_errno(0);

        rc = ngx_adm_redis_connect_addr(conn);

        if (rc == NGX_AGAIN) {
            conn->state = ngx_adm_redis_connecting;
            ngx_adm_redis_queue_changed(conn);
            return NGX_OK;
        }

        if (rc == NGX_OK) {
            return ngx_adm_redis_connected(conn);
        }

        err = ngx_socket_errno;

        if (rc == NGX_ERROR) {

            if (ngx_cycle->free_connection_n == 0) {
                ngx_adm_redis_fail(conn, ngx_adm_redis_no_connection, 0,
                                   "worker_connections are not enough");

            } else {
                ngx_adm_redis_fail(conn, ngx_adm_redis_no_connection, err,
                                   "no socket");
            }

            return NGX_ERROR;
        }

        if (conn->tried == conn->naddrs) {
            ngx_adm_redis_fail(conn, ngx_adm_redis_no_connect, err,
                               "connect() to %V failed",
                               &conn->addrs[conn->addr].name);
            return NGX_ERROR;
        }

        conn->addr = (conn->addr + 1) % conn->naddrs;
    }
}


static ngx_int_t
ngx_adm_redis_connect_addr(ngx_adm_redis_conn_t *conn)
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

        /* its "failed" exit closes the connection, and leaves pc.connection */

        ngx_destroy_pool(pool);
        return (rc == NGX_DECLINED) ? NGX_DECLINED : NGX_ERROR;
    }

    conn->log.connection = c->number;

    c->data = conn;
    c->pool = pool;
    c->log = &conn->log;
    c->read->log = c->log;
    c->write->log = c->log;
    c->read->handler = ngx_adm_redis_connect_read_handler;
    c->write->handler = ngx_adm_redis_connect_write_handler;

    conn->connection = c;

    ngx_adm_redis_count_open(1);

    return rc;
}


static void
ngx_adm_redis_connect_read_handler(ngx_event_t *rev)
{
    ngx_connection_t  *c;

    c = rev->data;

    /* a failed connect() is reported to the write handler as well */

    if (c->close) {
        (void) ngx_adm_redis_end_idle(c->data);
    }
}


static void
ngx_adm_redis_connect_write_handler(ngx_event_t *wev)
{
    ngx_connection_t  *c;

    c = wev->data;

    ngx_adm_redis_connect_done(c->data);
}


static void
ngx_adm_redis_connect_done(ngx_adm_redis_conn_t *conn)
{
    ngx_err_t          err;
    ngx_connection_t  *c;

    c = conn->connection;

    if (ngx_adm_redis_test_connect(c, &err) == NGX_OK) {

        if (ngx_adm_redis_connected(conn) != NGX_OK) {
            return;
        }

        /*
         * Bytes that are there before anything was written answer nothing.
         * They have been reported, and where events are edges will not be
         * again.
         */

        if (c->read->ready && conn->reader) {
            ngx_adm_redis_read(conn);
        }

        return;
    }

    if (conn->tried == conn->naddrs) {
        ngx_adm_redis_fail(conn, ngx_adm_redis_no_connect, err,
                           "connect() to %V failed",
                           &conn->addrs[conn->addr].name);
        return;
    }

    ngx_adm_redis_disconnect(conn);

    conn->addr = (conn->addr + 1) % conn->naddrs;

    (void) ngx_adm_redis_connect(conn);
}


static ngx_int_t
ngx_adm_redis_test_connect(ngx_connection_t *c, ngx_err_t *err)
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
ngx_adm_redis_connected(ngx_adm_redis_conn_t *conn)
{
    ngx_connection_t  *c;

    c = conn->connection;

    if (conn->addrs[conn->addr].sockaddr->sa_family != AF_UNIX
        && ngx_tcp_nodelay(c) != NGX_OK)
    {
        ngx_adm_redis_fail(conn, ngx_adm_redis_no_connection, 0,
                           "the connection cannot be set up");
        return NGX_ERROR;
    }

    if (conn->conf->ssl == NULL) {
        return ngx_adm_redis_greet(conn);
    }

    conn->state = ngx_adm_redis_handshake;
    ngx_adm_redis_queue_changed(conn);

    switch (ngx_adm_redis_tls_handshake(&conn->tls, c,
                                        ngx_adm_redis_handshake_handler))
    {
    case NGX_OK:
        return ngx_adm_redis_greet(conn);

    case NGX_AGAIN:
        return NGX_OK;

    default: /* NGX_ERROR */
        return ngx_adm_redis_handshake_failed(conn);
    }
}


static void
ngx_adm_redis_handshake_handler(ngx_connection_t *c)
{
    ngx_adm_redis_conn_t  *conn;

    conn = c->data;

    if (ngx_adm_redis_tls_done(&conn->tls, c) != NGX_OK) {
        (void) ngx_adm_redis_handshake_failed(conn);
        return;
    }

    if (ngx_adm_redis_greet(conn) == NGX_OK) {

        /* what came with the end of the handshake is not reported again */

        ngx_adm_redis_read(conn);
    }
}


static ngx_int_t
ngx_adm_redis_handshake_failed(ngx_adm_redis_conn_t *conn)
{
    ngx_adm_redis_fail(conn, ngx_adm_redis_no_tls, 0, "TLS to %V failed: %s",
                       &conn->addrs[conn->addr].name,
                       ngx_adm_redis_tls_error(&conn->tls));
    return NGX_ERROR;
}


static ngx_int_t
ngx_adm_redis_greet(ngx_adm_redis_conn_t *conn)
{
    if (ngx_adm_redis_pipe_open(conn) != NGX_OK) {
        ngx_adm_redis_fail(conn, ngx_adm_redis_no_connection, 0,
                           "the connection cannot be set up");
        return NGX_ERROR;
    }

    ngx_adm_count(NGX_ADM_COUNT_CONNECTS);

    if (conn->conf->auth.len) {
        ngx_adm_redis_add_step(conn, &conn->conf->auth,
                               ngx_adm_redis_auth_reply);
    }

    if (conn->conf->select.len) {
        ngx_adm_redis_add_step(conn, &conn->conf->select,
                               ngx_adm_redis_select_reply);
    }

    if (conn->failures) {
        ngx_adm_redis_add_step(conn, &ngx_adm_redis_ping,
                               ngx_adm_redis_ping_reply);
    }

    ngx_adm_redis_add_step(conn, &ngx_adm_redis_info, ngx_adm_redis_info_reply);

    if (conn->nsteps == 1) {
        ngx_adm_redis_serve(conn);
        return NGX_OK;
    }

    conn->state = ngx_adm_redis_setup;
    ngx_adm_redis_queue_changed(conn);

    return NGX_OK;
}


static void
ngx_adm_redis_auth_reply(ngx_adm_redis_conn_t *conn, redisReply *reply)
{
    /* "unknown command 'AUTH', with args beginning with: ..." */

    if (!ngx_adm_redis_step_refused(conn, reply, "AUTH", "'`\"")) {
        ngx_adm_redis_step_done(conn);
    }
}


static void
ngx_adm_redis_select_reply(ngx_adm_redis_conn_t *conn, redisReply *reply)
{
    if (!ngx_adm_redis_step_refused(conn, reply, "SELECT", "")) {
        ngx_adm_redis_step_done(conn);
    }
}


static void
ngx_adm_redis_ping_reply(ngx_adm_redis_conn_t *conn, redisReply *reply)
{
    /* an error is an answer as well where it says that the user may not PING */

    if ((reply->type == REDIS_REPLY_ERROR && ngx_adm_redis_is(reply, "NOPERM"))
        || !ngx_adm_redis_step_refused(conn, reply, "PING", ""))
    {
        ngx_adm_redis_step_done(conn);
    }
}


static void
ngx_adm_redis_info_reply(ngx_adm_redis_conn_t *conn, redisReply *reply)
{
    if (reply->type == REDIS_REPLY_ERROR && ngx_adm_redis_is_wrong_node(reply)
        && ngx_adm_redis_step_refused(conn, reply, "INFO", ""))
    {
        return;
    }

    ngx_adm_redis_look_at_policy(conn, reply);
    ngx_adm_redis_step_done(conn);
}


/* a user who may not ask for INFO does not learn of it */

static void
ngx_adm_redis_look_at_policy(ngx_adm_redis_conn_t *conn, redisReply *reply)
{
    char  policy[32];

    if (ngx_adm_redis_field(policy, sizeof(policy), reply,
                            "maxmemory_policy") != NGX_OK)
    {
        return;
    }

    if (ngx_strcmp(policy, "noeviction") == 0) {
        conn->health->evicts = 0;
        return;
    }

    if (ngx_atomic_cmp_set(&conn->health->evicts, 0, 1)) {
        ngx_log_error(NGX_LOG_WARN, &conn->log, 0, "admission: redis %V has "
                      "\"maxmemory-policy %s\" and may drop queues to make "
                      "room, use \"noeviction\"", conn->name, policy);
    }
}


/*
 * Whether the reply is an error, by which the connection has failed, even if
 * all it says is that this node does not run calls.  The text is cut at the
 * first of some characters.
 */

static ngx_uint_t
ngx_adm_redis_step_refused(ngx_adm_redis_conn_t *conn, redisReply *reply,
    const char *command, const char *cut)
{
    char  text[128];

    if (reply->type != REDIS_REPLY_ERROR) {
        return 0;
    }

    ngx_adm_redis_text(text, sizeof(text), reply);

    if (ngx_adm_redis_is_wrong_node(reply)) {
        ngx_adm_redis_fail(conn, ngx_adm_redis_wrong_node, 0, "%s", text);
        return 1;
    }

    text[strcspn(text, cut)] = '\0';

    ngx_adm_redis_fail(conn, ngx_adm_redis_refused, 0, "%s failed: %s", command,
                       text);
    return 1;
}


/* calls go out when all but INFO, which is the last step, have been answered */

static void
ngx_adm_redis_step_done(ngx_adm_redis_conn_t *conn)
{
    if (++conn->step == conn->nsteps - 1) {
        ngx_adm_redis_serve(conn);
    }
}


static void
ngx_adm_redis_serve(ngx_adm_redis_conn_t *conn)
{
    ngx_queue_t           *q;
    ngx_adm_redis_call_t  *call;

    conn->state = ngx_adm_redis_ready;
    ngx_adm_redis_queue_changed(conn);

    ngx_adm_redis_breaker_answered(&conn->breaker);
    ngx_adm_redis_breaker_changed(conn);

    for (q = ngx_queue_head(&conn->calls);
         q != ngx_queue_sentinel(&conn->calls);
         q = ngx_queue_next(q))
    {
        call = ngx_queue_data(q, ngx_adm_redis_call_t, queue);
        ngx_adm_redis_push(conn, call);
    }
}
