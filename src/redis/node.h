
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

    unsigned                    is_name:1; /* not an address */
    unsigned                    found:1;   /* has addresses */
    unsigned                    logged:1;

    /* for the owner of the nodes */

    ngx_adm_redis_node_t       *master;    /* of a replica */
    ngx_msec_t                  probed_at;
    ngx_uint_t                  round;
    unsigned                    used:1;    /* to be kept */
    unsigned                    has_slots:1;
};


struct ngx_adm_redis_nodes_s {
    ngx_queue_t                 queue;
    ngx_cycle_t                *cycle;
    ngx_adm_redis_conf_t       *conf;      /* of connections */
    ngx_resolver_t             *resolver;

    /*
     * A connection failed, or the addresses of a node have become known.  The
     * handlers neither send nor close anything.
     */
    void                      (*failed)(void *data, ngx_adm_redis_node_t *node);
    void                      (*found)(void *data);
    void                       *data;
};


void ngx_adm_redis_nodes_init(ngx_adm_redis_nodes_t *nodes, ngx_cycle_t *cycle,
    ngx_adm_redis_conf_t *conf);

/* closes all connections and forgets all nodes */
void ngx_adm_redis_nodes_close(ngx_adm_redis_nodes_t *nodes);

/* forgets nodes that are not "used"; not to be called while one answers */
void ngx_adm_redis_nodes_sweep(ngx_adm_redis_nodes_t *nodes);

/* has every connection _leave(), see conn.h */
void ngx_adm_redis_nodes_leave(ngx_adm_redis_nodes_t *nodes);

/* the node of an endpoint of the configuration; NULL: no memory */
ngx_adm_redis_node_t *ngx_adm_redis_node_of(ngx_adm_redis_nodes_t *nodes,
    ngx_adm_redis_endpoint_t *endpoint);

/* the node of a host name or address; NULL: no memory, or it is neither */
ngx_adm_redis_node_t *ngx_adm_redis_node_at(ngx_adm_redis_nodes_t *nodes,
    ngx_str_t *host, in_port_t port);

/* an address, as text, for a host name that has none yet */
void ngx_adm_redis_node_hint(ngx_adm_redis_node_t *node, ngx_str_t *address);

/*
 * As ngx_adm_redis_conn_send(); NGX_AGAIN: not taken, since the address is not
 * known yet.
 */
ngx_int_t ngx_adm_redis_node_send(ngx_adm_redis_node_t *node,
    ngx_adm_redis_call_t *call);

/* ms for a question of the client's own, after which the node counts as late */
#define NGX_ADM_REDIS_ASK_MAX  1000

/*
 * Sends a command of the client's own.  Its answer handler gets the call,
 * whose data is this data, and frees it with ngx_free(), but for NGX_AGAIN:
 * the answer is late.  Without any answer in "wait" ms the connection ends.
 */
ngx_int_t ngx_adm_redis_node_ask(ngx_adm_redis_node_t *node, ngx_str_t *command,
    ngx_msec_t wait, ngx_adm_redis_answer_pt answer, void *data);


/* sets the timer, unless it would come earlier anyway */
void ngx_adm_redis_timer(ngx_event_t *ev, ngx_msec_t ms);


#endif /* _NGX_ADM_REDIS_NODE_H_INCLUDED_ */
