
/*
 * Copyright (C) 2026 the admission module authors
 *
 * TLS to Redis, by NGINX's own OpenSSL: what "tls_ca=" and so on say, and the
 * handshake of a connection.  The server's certificate is always verified.
 */


#ifndef _NGX_ADM_REDIS_SSL_H_INCLUDED_
#define _NGX_ADM_REDIS_SSL_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>


typedef struct ngx_adm_redis_ssl_s  ngx_adm_redis_ssl_t;


/* the parameters of "admission_redis"; empty: not given */
typedef struct {
    ngx_str_t                              ca;       /* empty: the system's */
    ngx_str_t                              cert;     /* empty: shows none */
    ngx_str_t                              key;
    ngx_str_t                              name;     /* empty: the node's
                                                        host */
} ngx_adm_redis_ssl_params_t;


/* a log that keeps the last message, without what NGINX puts before the text */
typedef struct {
    ngx_log_t                              log;
    u_char                                 text[NGX_MAX_ERROR_STR / 4];
} ngx_adm_redis_ssl_log_t;


/* what the connections to one node, one after the other, have in common */
typedef struct {
    ngx_adm_redis_ssl_t        *ssl;
    ngx_str_t                   host;
    ngx_ssl_session_t          *session;  /* to be resumed */
    ngx_adm_redis_ssl_log_t     log;
} ngx_adm_redis_tls_t;


/* NULL: failed, with a line in the log */
ngx_adm_redis_ssl_t *ngx_adm_redis_ssl_create(ngx_conf_t *cf,
    ngx_adm_redis_ssl_params_t *params);


/* name is the node's, "host[:port][/database]" */
void ngx_adm_redis_tls_init(ngx_adm_redis_tls_t *tls, ngx_adm_redis_ssl_t *ssl,
    ngx_str_t *name);
void ngx_adm_redis_tls_cleanup(ngx_adm_redis_tls_t *tls);

/*
 * Begins the handshake.  NGX_AGAIN: handler will be called, and then calls
 * _done(), with the event handlers of c to be set anew.  NGX_OK: done at
 * once, and _done() has been called.  NGX_ERROR: _error() says why.
 *
 * From now on what NGINX would log of c is not logged, but kept as _error().
 */
ngx_int_t ngx_adm_redis_tls_handshake(ngx_adm_redis_tls_t *tls,
    ngx_connection_t *c, ngx_connection_handler_pt handler);

/* whether it succeeded and the other end is Redis; else _error() says why */
ngx_int_t ngx_adm_redis_tls_done(ngx_adm_redis_tls_t *tls, ngx_connection_t *c);

/* to be called before c is closed, whatever has become of it */
void ngx_adm_redis_tls_shutdown(ngx_adm_redis_tls_t *tls, ngx_connection_t *c);

/* what went wrong on the last connection; "": nothing is known */
u_char *ngx_adm_redis_tls_error(ngx_adm_redis_tls_t *tls);


#endif /* _NGX_ADM_REDIS_SSL_H_INCLUDED_ */
