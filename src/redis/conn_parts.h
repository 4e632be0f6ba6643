
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Inside of one connection to Redis: its state, and what its parts call of
 * each other.  Only these four files include this, and each calls those below
 * it:
 *
 *   conn.c     what the client calls, and the timer
 *   connect.c  making the connection
 *   pipe.c     commands and replies on it
 *   fail.c     its end, and what the event loop knows of it
 */


#ifndef _NGX_ADM_REDIS_CONN_PARTS_H_INCLUDED_
#define _NGX_ADM_REDIS_CONN_PARTS_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>

#include "call.h"
#include "health.h"
#include "settings.h"
#include "ssl.h"


typedef enum {
    ngx_adm_redis_idle = 0,
    ngx_adm_redis_connecting,
    ngx_adm_redis_handshake,
    ngx_adm_redis_setup,
    ngx_adm_redis_ready,
    ngx_adm_redis_down,
    ngx_adm_redis_closed } ngx_adm_redis_state_e;


/*
 * Gets the reply to a step.  Either moves conn->step on, or the connection
 * fails; does not keep the reply.
 */
typedef void (*ngx_adm_redis_step_pt)(ngx_adm_redis_conn_t *conn,
    redisReply *reply);


/* a command that goes before any call: AUTH, SELECT, PING or INFO */
typedef struct {
    ngx_adm_redis_step_pt       reply;
    ngx_buf_t                   buf;
    ngx_chain_t                 link;
} ngx_adm_redis_step_t;


struct ngx_adm_redis_conn_s {
    ngx_connection_t           *connection;
    redisReader                *reader;
    ngx_adm_redis_conf_t       *conf;

    /* event ident must be after 3 pointers as in ngx_connection_t */
    ngx_int_t                   ident;

    ngx_str_t                  *name;
    ngx_addr_t                 *addrs;
    ngx_addr_t                 *next_addrs; /* NULL: none to change to */
    ngx_uint_t                  naddrs;
    ngx_uint_t                  next_naddrs;
    ngx_uint_t                  addr;      /* the current one */
    ngx_uint_t                  tried;     /* in this attempt */

    ngx_adm_redis_state_e       state;
    ngx_uint_t                  serial;    /* of this socket */
    ngx_uint_t                  failures;  /* in a row */

    ngx_queue_t                 calls;     /* oldest first */
    ngx_chain_t                *out;       /* not yet written */
    ngx_chain_t               **last_out;
    ngx_uint_t                  unwritten; /* calls since the last write */
    size_t                      pending;   /* bytes of a reply */
    ngx_pool_t                 *replies;   /* NULL: none yet */

    ngx_adm_redis_step_t        steps[4];
    ngx_uint_t                  nsteps;
    ngx_uint_t                  step;

    ngx_msec_t                  deadline;  /* of the attempt */
    ngx_event_t                 timer;
    ngx_event_t                 flush;

    ngx_adm_redis_failed_pt     failed;
    void                       *data;

    ngx_log_t                   log;
    ngx_log_t                   no_log;

    ngx_adm_redis_tls_t         tls;       /* if conf->ssl */
    ngx_adm_redis_health_t     *health;    /* of the host */
    ngx_adm_redis_health_t      own;       /* where the host has no room */
    ngx_adm_redis_breaker_t     breaker;
    ngx_adm_redis_breaker_state_e  counted;  /* in what state the breaker is
                                                counted */

    unsigned                               answered:1;
    unsigned                               failing:1;
};


/*
 * connect.c
 */

/*
 * Connects within ms, for conn.c: all addresses of the node are tried in turn.
 * NGX_OK: connected, or under way.  NGX_ERROR: not to be had, and the
 * connection has failed.
 */
ngx_int_t ngx_adm_redis_attempt(ngx_adm_redis_conn_t *conn, ngx_msec_t timeout);


/*
 * pipe.c
 *
 * Where a reply is read or a command written the connection may end, and with
 * it conn->connection; whoever goes on after it compares conn->serial.
 */

/*
 * Makes a connected socket a pipeline without steps, whose events pipe.c
 * handles; for connect.c.  NGX_ERROR: no memory.
 */
ngx_int_t ngx_adm_redis_pipe_open(ngx_adm_redis_conn_t *conn);

/*
 * Sends the command of a step, for connect.c, before any call.  The command
 * has to outlive the connection.
 */
void ngx_adm_redis_add_step(ngx_adm_redis_conn_t *conn, ngx_str_t *command,
    ngx_adm_redis_step_pt reply);

/* sends a call that is in conn->calls, by the end of this turn of the loop */
void ngx_adm_redis_push(ngx_adm_redis_conn_t *conn, ngx_adm_redis_call_t *call);

/* reads what is there, for connect.c, where no event will report it again */
void ngx_adm_redis_read(ngx_adm_redis_conn_t *conn);

/* handler of conn->flush */
void ngx_adm_redis_flush_handler(ngx_event_t *ev);


/*
 * fail.c
 *
 * A failure leaves the connection IDLE or DOWN and answers its calls, whose
 * handlers may send others at once: the state may be any after it.
 */

/* logs why, as "fmt" says; err: 0 or an errno */
void ngx_adm_redis_fail(ngx_adm_redis_conn_t *conn, ngx_adm_redis_fault_e fault,
    ngx_err_t err, const char *fmt, ...);

/* the same with "what" as the reason, unless TLS knows a better one */
void ngx_adm_redis_fail_lost(ngx_adm_redis_conn_t *conn, ngx_err_t err,
    char *what);

/* to be called after whatever may have changed the state of the breaker */
void ngx_adm_redis_breaker_changed(ngx_adm_redis_conn_t *conn);

/* a call failed; 1: the breaker is open by it, and the connection has to end */
ngx_uint_t ngx_adm_redis_bad(ngx_adm_redis_conn_t *conn);

/*
 * A worker that shuts down calls the read handler of a connection that is
 * marked as idle, to have it closed. 1: it had no calls, and was closed.
 */
ngx_uint_t ngx_adm_redis_end_idle(ngx_adm_redis_conn_t *conn);

/*
 * Takes the calls out of the pipeline and everything out of the event loop.
 * The calls are put into "lost", for _complete_lost(); the caller sets the
 * state.
 */
void ngx_adm_redis_end(ngx_adm_redis_conn_t *conn, ngx_queue_t *lost);

/* answers these calls with NGX_ERROR; their handlers may send others */
void ngx_adm_redis_complete_lost(ngx_queue_t *lost);

/* closes the socket, if there is one; calls and timer stay */
void ngx_adm_redis_disconnect(ngx_adm_redis_conn_t *conn);

/* has the timer come at the deadline, or before: it sets itself again */
void ngx_adm_redis_arm(ngx_adm_redis_conn_t *conn, ngx_msec_t deadline);

/*
 * To be called after every change of conn->calls or conn->connection: a worker
 * that shuts down waits for calls, and for nothing else of this.
 */
void ngx_adm_redis_queue_changed(ngx_adm_redis_conn_t *conn);


#endif /* _NGX_ADM_REDIS_CONN_PARTS_H_INCLUDED_ */
