
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The nodes of Redis that a worker knows of: each has a name, addresses, and
 * a connection that is made when the first call goes to it.
 *
 * The addresses of a host name are those of the start of NGINX, or what the
 * cluster says; with a "resolver" the name is looked up where there are
 * none, and after each failure of the connection.
 */


#ifndef _NGX_ADM_REDIS_NODE_H_INCLUDED_
#define _NGX_ADM_REDIS_NODE_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>

#include "conn.h"
#include "resolve.h"


typedef struct ngx_adm_redis_nodes_s  ngx_adm_redis_nodes_t;


struct ngx_adm_redis_node_s {
    ngx_queue_t                 queue;
    ngx_adm_redis_nodes_t      *nodes;
    ngx_adm_redis_conn_t       *conn;

    ngx_str_t                   name;      /* for the log */
    ngx_str_t                   host;      /* empty: a socket */
    in_port_t                   port;

    ngx_adm_redis_resolve_t     resolve;
    ngx_msec_t                  logged_at;

    unsigned                    is_name:1; /* no address */
    unsigned                    found:1;   /* has addresses */
    unsigned                    logged:1;

    /* the owner's */

    ngx_adm_redis_node_t       *master;    /* of a replica */
    ngx_msec_t                  probed_at;
    ngx_uint_t                  round;
    unsigned                    used:1;    /* it is kept */
    unsigned                    has_slots:1;
};


struct ngx_adm_redis_nodes_s {
    ngx_queue_t                 queue;
    ngx_cycle_t                *cycle;
    ngx_adm_redis_conf_t       *conf;      /* of connections */
    ngx_resolver_t             *resolver;

    /*
     * A connection failed, or the addresses of a node have become known;
     * neither may send or close anything
     */
    void                      (*failed)(void *data, ngx_adm_redis_node_t *node);
    void                      (*found)(void *data);
    void                       *data;
};


void ngx_adm_redis_nodes_init(ngx_adm_redis_nodes_t *nodes, ngx_cycle_t *cycle,
    ngx_adm_redis_conf_t *conf);

/* closes all connections and forgets all nodes */
void ngx_adm_redis_nodes_close(ngx_adm_redis_nodes_t *nodes);

/* forgets nodes that are not used; not from within an answer */
void ngx_adm_redis_nodes_sweep(ngx_adm_redis_nodes_t *nodes);

/* as ngx_adm_redis_conn_leave() */
void ngx_adm_redis_nodes_leave(ngx_adm_redis_nodes_t *nodes);

/* that of the configuration; NULL: no memory */
ngx_adm_redis_node_t *ngx_adm_redis_node_of(ngx_adm_redis_nodes_t *nodes,
    ngx_adm_redis_endpoint_t *endpoint);

/* that of a host name or address; NULL: no memory, or there can be none */
ngx_adm_redis_node_t *ngx_adm_redis_node_at(ngx_adm_redis_nodes_t *nodes,
    ngx_str_t *host, in_port_t port);

/* an address, as text, of a host name that has none yet */
void ngx_adm_redis_node_hint(ngx_adm_redis_node_t *node, ngx_str_t *address);

/*
 * As ngx_adm_redis_conn_send(); NGX_AGAIN: not taken, the
 * address is not known yet.
 */
ngx_int_t ngx_adm_redis_node_send(ngx_adm_redis_node_t *node,
    ngx_adm_redis_call_t *call);

/* ms, in which a question of the client's own is answered, or it is late */
#define NGX_ADM_REDIS_ASK_MAX  1000

/*
 * Sends a command of the client's own.  The answer comes with it as call->
 * data, and a call that is the handler's to free with ngx_free(), but for
 * NGX_AGAIN: it is late.  The connection ends where there is none in "wait" ms.
 */
ngx_int_t ngx_adm_redis_node_ask(ngx_adm_redis_node_t *node, ngx_str_t *command,
    ngx_msec_t wait, ngx_adm_redis_answer_pt answer, void *data);


/* sets the timer, unless it is to come earlier anyway */
void ngx_adm_redis_timer(ngx_event_t *ev, ngx_msec_t ms);


#endif /* _NGX_ADM_REDIS_NODE_H_INCLUDED_ */
