
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Nodes by host and port, how each comes to its addresses, and sending to
 * them.  A name that has no address yet is looked up, and calls to it wait
 * meanwhile.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>

#include "../base/text.h"
#include "node.h"


/* how often the log is told that a name still has no address */
#define NGX_ADM_REDIS_NAME_REMIND  60000          /* ms */


static ngx_adm_redis_node_t *ngx_adm_redis_node_find(
    ngx_adm_redis_nodes_t *nodes, ngx_str_t *host, in_port_t port);
static ngx_adm_redis_node_t *ngx_adm_redis_node_create(
    ngx_adm_redis_nodes_t *nodes, ngx_str_t *name, ngx_str_t *host,
    in_port_t port);
static void ngx_adm_redis_node_free(ngx_adm_redis_node_t *node);
static ngx_int_t ngx_adm_redis_node_address(ngx_adm_redis_node_t *node,
    ngx_str_t *address);
static ngx_int_t ngx_adm_redis_node_resolve(ngx_adm_redis_node_t *node);
static void ngx_adm_redis_node_resolved(void *data, ngx_addr_t *addrs,
    ngx_uint_t n, char *text);
static void ngx_adm_redis_node_failed(void *data);
static void ngx_adm_redis_node_log(ngx_adm_redis_node_t *node, char *text);


void
ngx_adm_redis_nodes_init(ngx_adm_redis_nodes_t *nodes, ngx_cycle_t *cycle,
    ngx_adm_redis_conf_t *conf)
{
    ngx_queue_init(&nodes->queue);

    nodes->cycle = cycle;
    nodes->conf = conf;
    nodes->resolver = ngx_adm_redis_resolver(cycle);
}


void
ngx_adm_redis_nodes_close(ngx_adm_redis_nodes_t *nodes)
{
    ngx_queue_t  *q;

    while (!ngx_queue_empty(&nodes->queue)) {
        q = ngx_queue_head(&nodes->queue);

        ngx_adm_redis_node_free(ngx_queue_data(q, ngx_adm_redis_node_t, queue));
    }
}


void
ngx_adm_redis_nodes_sweep(ngx_adm_redis_nodes_t *nodes)
{
    ngx_queue_t           *q;
    ngx_adm_redis_node_t  *node;

    q = ngx_queue_head(&nodes->queue);

    while (q != ngx_queue_sentinel(&nodes->queue)) {
        node = ngx_queue_data(q, ngx_adm_redis_node_t, queue);
        q = ngx_queue_next(q);

        if (!node->used && !ngx_adm_redis_conn_busy(node->conn)) {
            ngx_adm_redis_node_free(node);
        }
    }
}


void
ngx_adm_redis_nodes_leave(ngx_adm_redis_nodes_t *nodes)
{
    ngx_queue_t           *q;
    ngx_adm_redis_node_t  *node;

    for (q = ngx_queue_head(&nodes->queue);
         q != ngx_queue_sentinel(&nodes->queue);
         q = ngx_queue_next(q))
    {
        node = ngx_queue_data(q, ngx_adm_redis_node_t, queue);
        ngx_adm_redis_conn_leave(node->conn);
    }
}


ngx_adm_redis_node_t *
ngx_adm_redis_node_of(ngx_adm_redis_nodes_t *nodes,
    ngx_adm_redis_endpoint_t *endpoint)
{
    ngx_adm_redis_node_t  *node;

    node = ngx_adm_redis_node_find(nodes, &endpoint->host, endpoint->port);
    if (node) {
        return node;
    }

    node = ngx_adm_redis_node_create(nodes, &endpoint->name, &endpoint->host,
                                     endpoint->port);
    if (node == NULL) {
        return NULL;
    }

    node->is_name = endpoint->is_name;

    if (endpoint->naddrs == 0) {
        return node;
    }

    if (ngx_adm_redis_conn_addrs(node->conn, endpoint->addrs,
                                 endpoint->naddrs) != NGX_OK)
    {
        ngx_adm_redis_node_free(node);
        return NULL;
    }

    node->found = 1;

    return node;
}


ngx_adm_redis_node_t *
ngx_adm_redis_node_at(ngx_adm_redis_nodes_t *nodes, ngx_str_t *host,
    in_port_t port)
{
    u_char                *p, buf[NGX_MAXHOSTNAMELEN + 16];
    ngx_str_t              name;
    ngx_int_t              rc;
    ngx_adm_redis_node_t  *node;

    if (host->len == 0 || host->len > NGX_MAXHOSTNAMELEN || port == 0) {
        return NULL;
    }

    node = ngx_adm_redis_node_find(nodes, host, port);
    if (node) {
        return node;
    }

    p = host->data;

    p = ngx_snprintf(buf, sizeof(buf),
                     ngx_strlchr(p, p + host->len, ':') ? "[%V]:%ui" : "%V:%ui",
                     host, (ngx_uint_t) port);

    name.data = buf;
    name.len = p - buf;

    node = ngx_adm_redis_node_create(nodes, &name, host, port);
    if (node == NULL) {
        return NULL;
    }

    rc = ngx_adm_redis_node_address(node, host);

    if (rc == NGX_ERROR) {
        ngx_adm_redis_node_free(node);
        return NULL;
    }

    node->is_name = (rc == NGX_DECLINED);

    return node;
}


void
ngx_adm_redis_node_hint(ngx_adm_redis_node_t *node, ngx_str_t *address)
{
    if (!node->found) {
        (void) ngx_adm_redis_node_address(node, address);
    }
}


ngx_int_t
ngx_adm_redis_node_send(ngx_adm_redis_node_t *node, ngx_adm_redis_call_t *call)
{
    ngx_int_t   rc;
    ngx_uint_t  i;

    if (!node->found) {

        rc = ngx_adm_redis_node_resolve(node);

        if (!node->found) {
            return rc;
        }
    }

    call->node = node;

    /* buffers are full again: the call may have been sent before */

    for (i = 0; i < call->nbufs; i++) {
        call->bufs[i].pos = call->bufs[i].start;
    }

    call->bufs[i - 1].flush = 1;

    return ngx_adm_redis_conn_send(node->conn, call);
}


ngx_int_t
ngx_adm_redis_node_ask(ngx_adm_redis_node_t *node, ngx_str_t *command,
    ngx_msec_t wait, ngx_adm_redis_answer_pt answer, void *data)
{
    ngx_int_t              rc;
    ngx_adm_redis_call_t  *call;

    call = ngx_calloc(sizeof(ngx_adm_redis_call_t), node->nodes->cycle->log);
    if (call == NULL) {
        return NGX_ERROR;
    }

    call->deadline = ngx_current_msec + ngx_min(wait, NGX_ADM_REDIS_ASK_MAX);
    call->wait = wait;
    call->answer = answer;
    call->data = data;

    call->nbufs = 1;
    ngx_adm_redis_set_buf(call, 0, command->data,
                          command->data + command->len);

    rc = ngx_adm_redis_node_send(node, call);

    if (rc != NGX_OK) {
        ngx_free(call);
    }

    return rc;
}


static ngx_adm_redis_node_t *
ngx_adm_redis_node_find(ngx_adm_redis_nodes_t *nodes, ngx_str_t *host,
    in_port_t port)
{
    ngx_queue_t           *q;
    ngx_adm_redis_node_t  *node;

    for (q = ngx_queue_head(&nodes->queue);
         q != ngx_queue_sentinel(&nodes->queue);
         q = ngx_queue_next(q))
    {
        node = ngx_queue_data(q, ngx_adm_redis_node_t, queue);

        if (node->port == port && ngx_adm_str_same_case(&node->host, host)) {
            return node;
        }
    }

    return NULL;
}


static ngx_adm_redis_node_t *
ngx_adm_redis_node_create(ngx_adm_redis_nodes_t *nodes, ngx_str_t *name,
    ngx_str_t *host, in_port_t port)
{
    u_char                *p;
    ngx_adm_redis_node_t  *node;

    node = ngx_calloc(sizeof(ngx_adm_redis_node_t) + name->len
                      + host->len, nodes->cycle->log);
    if (node == NULL) {
        return NULL;
    }

    p = (u_char *) node + sizeof(ngx_adm_redis_node_t);

    node->name.len = name->len;
    node->name.data = p;
    p = ngx_cpymem(p, name->data, name->len);

    node->host.len = host->len;
    node->host.data = p;

    if (host->len) {
        ngx_memcpy(p, host->data, host->len);
    }

    node->port = port;
    node->nodes = nodes;

    node->resolve.resolver = nodes->resolver;
    node->resolve.done = ngx_adm_redis_node_resolved;
    node->resolve.data = node;

    node->conn = ngx_adm_redis_conn_create(nodes->cycle, nodes->conf,
                                           &node->name,
                                           ngx_adm_redis_node_failed, node);
    if (node->conn == NULL) {
        ngx_free(node);
        return NULL;
    }

    ngx_queue_insert_tail(&nodes->queue, &node->queue);

    return node;
}


static void
ngx_adm_redis_node_free(ngx_adm_redis_node_t *node)
{
    ngx_queue_remove(&node->queue);

    ngx_adm_redis_resolve_cancel(&node->resolve);
    ngx_adm_redis_conn_close(node->conn);

    ngx_free(node);
}


/* NGX_DECLINED: the text is no address */

static ngx_int_t
ngx_adm_redis_node_address(ngx_adm_redis_node_t *node, ngx_str_t *address)
{
    ngx_int_t    rc;
    ngx_addr_t   addr;
    ngx_pool_t  *pool;

    pool = ngx_create_pool(512, node->nodes->cycle->log);
    if (pool == NULL) {
        return NGX_ERROR;
    }

    rc = ngx_parse_addr(pool, &addr, address->data, address->len);

    if (rc == NGX_OK) {
        ngx_inet_set_port(addr.sockaddr, node->port);
        addr.name = node->name;

        rc = ngx_adm_redis_conn_addrs(node->conn, &addr, 1);

        if (rc == NGX_OK) {
            node->found = 1;
        }
    }

    ngx_destroy_pool(pool);

    return rc;
}


static ngx_int_t
ngx_adm_redis_node_resolve(ngx_adm_redis_node_t *node)
{
    ngx_int_t  rc;

    rc = ngx_adm_redis_resolve(&node->resolve, &node->host, node->port);

    if (rc == NGX_OK) {
        return NGX_AGAIN;
    }

    if (rc == NGX_DECLINED) {
        ngx_adm_redis_node_log(node, "there is no \"resolver\"");
    }

    return NGX_ERROR;
}


static void
ngx_adm_redis_node_resolved(void *data, ngx_addr_t *addrs, ngx_uint_t n,
    char *text)
{
    ngx_adm_redis_node_t *node = data;

    if (n == 0) {
        ngx_adm_redis_node_log(node, text);
        return;
    }

    if (ngx_adm_redis_conn_addrs(node->conn, addrs, n) != NGX_OK) {
        return;
    }

    if (!node->found) {
        node->found = 1;
        node->nodes->found(node->nodes->data);
    }
}


static void
ngx_adm_redis_node_failed(void *data)
{
    ngx_adm_redis_node_t *node = data;

    /* without a resolver a name has the addresses of the start alone */

    if (node->is_name && node->resolve.resolver) {
        (void) ngx_adm_redis_node_resolve(node);
    }

    node->nodes->failed(node->nodes->data, node);
}


static void
ngx_adm_redis_node_log(ngx_adm_redis_node_t *node, char *text)
{
    if (node->logged
        && ngx_current_msec - node->logged_at
           < NGX_ADM_REDIS_NAME_REMIND)
    {
        return;
    }

    node->logged = 1;
    node->logged_at = ngx_current_msec;

    ngx_log_error(NGX_LOG_ERR, node->nodes->cycle->log, 0,
                  "admission: redis %V: the address of the host could not be "
                  "found: %s", &node->name, text);
}


void
ngx_adm_redis_timer(ngx_event_t *ev, ngx_msec_t ms)
{
    if (ev->timer_set) {

        if ((ngx_msec_int_t) (ngx_current_msec + ms - ev->timer.key) >= 0) {
            return;
        }

        ngx_del_timer(ev);
    }

    ngx_add_timer(ev, ms);
}
