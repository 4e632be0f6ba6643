
/*
 * Copyright (C) 2026 the admission module authors
 *
 * An event loop without a kernel: connections are tables, and what is to be
 * read from them is what the target says.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>
#include <ngx_event_connect.h>
#include <ngx_http.h>

#include "fuzz.h"


#define FUZZ_CONNECTIONS  512


/* see --wrap in the Makefile */
ngx_int_t __wrap_ngx_event_connect_peer(ngx_peer_connection_t *pc);
ngx_int_t __wrap_ngx_tcp_nodelay(ngx_connection_t *c);
int __wrap_getsockopt(int fd, int level, int name, void *value,
    socklen_t *len);
int __wrap_getaddrinfo(const char *node, const char *service,
    const void *hints, void *res);


static fuzz_peer_t *fuzz_peer(ngx_pool_t *pool, ngx_log_t *log);
static ngx_int_t fuzz_event(ngx_event_t *ev, ngx_int_t event, ngx_uint_t flags);
static ngx_int_t fuzz_add_conn(ngx_connection_t *c);
static ngx_int_t fuzz_del_conn(ngx_connection_t *c, ngx_uint_t flags);
static ngx_int_t fuzz_no_events(ngx_cycle_t *cycle, ngx_msec_t timer,
    ngx_uint_t flags);
static ssize_t fuzz_recv(ngx_connection_t *c, u_char *buf, size_t size);
static ssize_t fuzz_recv_chain(ngx_connection_t *c, ngx_chain_t *in,
    off_t limit);
static ssize_t fuzz_send(ngx_connection_t *c, u_char *buf, size_t size);
static ngx_chain_t *fuzz_send_chain(ngx_connection_t *c, ngx_chain_t *in,
    off_t limit);


fuzz_peer_t  fuzz_peers[FUZZ_PEERS];
ngx_uint_t   fuzz_npeers;
ngx_uint_t   fuzz_refuse;

static ngx_event_actions_t  fuzz_actions = {
    fuzz_event, fuzz_event, fuzz_event, fuzz_event, fuzz_add_conn,
    fuzz_del_conn, NULL, fuzz_no_events, NULL, NULL };


/* as ngx_event_process_init() does */

void
fuzz_loop_init(ngx_cycle_t *cycle)
{
    ngx_uint_t  i;

    fuzz_check(ngx_event_timer_init(cycle->log) == NGX_OK);

    ngx_queue_init(&ngx_posted_accept_events);
    ngx_queue_init(&ngx_posted_next_events);
    ngx_queue_init(&ngx_posted_events);

    ngx_event_actions = fuzz_actions;
    ngx_event_flags = NGX_USE_CLEAR_EVENT|NGX_USE_GREEDY_EVENT;

    ngx_io.recv = fuzz_recv;
    ngx_io.recv_chain = fuzz_recv_chain;
    ngx_io.send = fuzz_send;
    ngx_io.send_chain = fuzz_send_chain;

    cycle->connection_n = FUZZ_CONNECTIONS;
    cycle->connections = calloc(FUZZ_CONNECTIONS, sizeof(ngx_connection_t));
    cycle->read_events = calloc(FUZZ_CONNECTIONS, sizeof(ngx_event_t));
    cycle->write_events = calloc(FUZZ_CONNECTIONS, sizeof(ngx_event_t));
    cycle->files = NULL;
    cycle->files_n = 0;

    fuzz_check(cycle->connections && cycle->read_events
               && cycle->write_events);

    cycle->free_connections = NULL;

    for (i = FUZZ_CONNECTIONS; i-- > 0; /* void */ ) {
        cycle->read_events[i].closed = 1;
        cycle->read_events[i].instance = 1;
        cycle->write_events[i].closed = 1;

        cycle->connections[i].read = &cycle->read_events[i];
        cycle->connections[i].write = &cycle->write_events[i];
        cycle->connections[i].fd = (ngx_socket_t) -1;
        cycle->connections[i].data = cycle->free_connections;

        cycle->free_connections = &cycle->connections[i];
    }

    cycle->free_connection_n = FUZZ_CONNECTIONS;

    /* a time that goes on by itself would make a run another one each time */

    ngx_current_msec = 1000000;
}


fuzz_peer_t *
fuzz_accept(ngx_pool_t *pool)
{
    return fuzz_peer(pool, ngx_cycle->log);
}


static fuzz_peer_t *
fuzz_peer(ngx_pool_t *pool, ngx_log_t *log)
{
    fuzz_peer_t       *peer;
    ngx_connection_t  *c;

    if (fuzz_npeers == FUZZ_PEERS) {
        return NULL;
    }

    /* it is closed with the connection */

    c = ngx_get_connection(dup(STDERR_FILENO), log);
    fuzz_check(c != NULL);

    peer = &fuzz_peers[fuzz_npeers++];

    ngx_memzero(peer, sizeof(fuzz_peer_t));
    peer->connection = c;

    c->type = SOCK_STREAM;
    c->pool = pool;
    c->log = log;
    c->recv = fuzz_recv;
    c->recv_chain = fuzz_recv_chain;
    c->send = fuzz_send;
    c->send_chain = fuzz_send_chain;
    c->read->log = log;
    c->write->log = log;
    c->write->ready = 1;
    c->number = fuzz_npeers;

    return peer;
}


static fuzz_peer_t *
fuzz_peer_of(ngx_connection_t *c)
{
    ngx_uint_t  i;

    for (i = 0; i < fuzz_npeers; i++) {
        if (fuzz_peers[i].connection == c) {
            return &fuzz_peers[i];
        }
    }

    fuzz_failed(__FILE__, __LINE__, "a connection that was closed");

    return NULL;
}


void
fuzz_feed(fuzz_peer_t *peer, u_char *data, size_t len)
{
    if (peer->connection == NULL || len == 0) {
        return;
    }

    peer->in = realloc(peer->in, peer->nin + len);
    fuzz_check(peer->in != NULL);

    ngx_memcpy(peer->in + peer->nin, data, len);
    peer->nin += len;

    peer->connection->read->ready = 1;
    ngx_post_event(peer->connection->read, &ngx_posted_events);
}


void
fuzz_eof(fuzz_peer_t *peer)
{
    if (peer->connection == NULL) {
        return;
    }

    peer->eof = 1;
    peer->connection->read->ready = 1;
    ngx_post_event(peer->connection->read, &ngx_posted_events);
}


void
fuzz_turn(ngx_msec_t ms)
{
    ngx_uint_t   i;
    ngx_time_t  *tp;

    if (ms) {
        tp = (ngx_time_t *) ngx_cached_time;
        tp->sec += (tp->msec + ms) / 1000;
        tp->msec = (tp->msec + ms) % 1000;
        ngx_current_msec += ms;
        ngx_event_expire_timers();
    }

    /* what one posts another may post again; it has to come to an end */

    for (i = 0; !ngx_queue_empty(&ngx_posted_events)
                || !ngx_queue_empty(&ngx_posted_next_events); i++)
    {
        fuzz_check(i < 10000);

        ngx_event_move_posted_next((ngx_cycle_t *) ngx_cycle);
        ngx_event_process_posted((ngx_cycle_t *) ngx_cycle,
                                 &ngx_posted_events);
    }
}


void
fuzz_peers_reset(void)
{
    ngx_uint_t  i;

    for (i = 0; i < fuzz_npeers; i++) {
        fuzz_check(fuzz_peers[i].connection == NULL);

        free(fuzz_peers[i].in);
        free(fuzz_peers[i].out);
    }

    fuzz_npeers = 0;
    fuzz_refuse = 0;
}


ngx_int_t
__wrap_ngx_event_connect_peer(ngx_peer_connection_t *pc)
{
    fuzz_peer_t  *peer;

    if (fuzz_refuse == 1) {
        ngx_set_errno(NGX_ECONNREFUSED);
        return NGX_DECLINED;
    }

    peer = fuzz_peer(NULL, pc->log);

    if (peer == NULL) {
        return NGX_ERROR;
    }

    pc->connection = peer->connection;

    if (fuzz_refuse == 2) {
        ngx_post_event(peer->connection->write, &ngx_posted_events);
        return NGX_AGAIN;
    }

    return NGX_OK;
}


ngx_int_t
__wrap_ngx_tcp_nodelay(ngx_connection_t *c)
{
    return NGX_OK;
}


/* SO_ERROR */

int
__wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *len)
{
    ngx_memzero(value, *len);

    return 0;
}


/* nothing is looked up */

int
__wrap_getaddrinfo(const char *node, const char *service, const void *hints,
    void *res)
{
    return EAI_NONAME;
}


static ngx_int_t
fuzz_event(ngx_event_t *ev, ngx_int_t event, ngx_uint_t flags)
{
    ev->active = (event == NGX_READ_EVENT || event == NGX_WRITE_EVENT)
                 && !(flags & NGX_CLOSE_EVENT);
    return NGX_OK;
}


static ngx_int_t
fuzz_add_conn(ngx_connection_t *c)
{
    c->read->active = 1;
    c->write->active = 1;

    return NGX_OK;
}


/* of ngx_close_connection() */

static ngx_int_t
fuzz_del_conn(ngx_connection_t *c, ngx_uint_t flags)
{
    fuzz_peer_of(c)->connection = NULL;

    c->read->active = 0;
    c->write->active = 0;

    return NGX_OK;
}


static ngx_int_t
fuzz_no_events(ngx_cycle_t *cycle, ngx_msec_t timer, ngx_uint_t flags)
{
    return NGX_OK;
}


static ssize_t
fuzz_recv(ngx_connection_t *c, u_char *buf, size_t size)
{
    fuzz_peer_t  *peer;

    peer = fuzz_peer_of(c);

    if (peer->nin == 0) {
        c->read->ready = 0;

        if (!peer->eof) {
            return NGX_AGAIN;
        }

        c->read->eof = 1;
        return 0;
    }

    size = ngx_min(size, peer->nin);

    ngx_memcpy(buf, peer->in, size);

    peer->nin -= size;
    ngx_memmove(peer->in, peer->in + size, peer->nin);

    return size;
}


static ssize_t
fuzz_recv_chain(ngx_connection_t *c, ngx_chain_t *in, off_t limit)
{
    return fuzz_recv(c, in->buf->last, in->buf->end - in->buf->last);
}


static ssize_t
fuzz_send(ngx_connection_t *c, u_char *buf, size_t size)
{
    fuzz_peer_t  *peer;

    peer = fuzz_peer_of(c);

    peer->out = realloc(peer->out, peer->nout + size);
    fuzz_check(size == 0 || peer->out != NULL);

    ngx_memcpy(peer->out + peer->nout, buf, size);
    peer->nout += size;

    c->sent += size;

    return size;
}


static ngx_chain_t *
fuzz_send_chain(ngx_connection_t *c, ngx_chain_t *in, off_t limit)
{
    ngx_buf_t  *b;

    for ( /* void */ ; in; in = in->next) {
        b = in->buf;

        if (ngx_buf_special(b)) {
            continue;
        }

        if (ngx_buf_in_memory(b)) {
            (void) fuzz_send(c, b->pos, b->last - b->pos);
            b->pos = b->last;
        }

        if (b->in_file) {
            b->file_pos = b->file_last;
        }
    }

    return NULL;
}
