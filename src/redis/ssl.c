
/*
 * Copyright (C) 2026 the admission module authors
 *
 * TLS to Redis.
 *
 * The chain is verified in the handshake, so that a client certificate is
 * not shown to whoever is there, and the name after it: nothing, a password
 * least of all, is sent before both are right.
 *
 * Sessions are resumed, which saves the certificates when all workers come
 * back at once.  A resumed session was verified when it began.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>

#include <openssl/x509v3.h>

#include "ssl.h"


struct ngx_adm_redis_ssl_s {
    ngx_ssl_t                              ssl;
    ngx_str_t                              name;
};


static ngx_int_t ngx_adm_redis_ssl_trust(ngx_conf_t *cf, ngx_ssl_t *ssl,
    ngx_str_t *ca);
static ngx_int_t ngx_adm_redis_ssl_certificate(ngx_conf_t *cf, ngx_ssl_t *ssl,
    ngx_adm_redis_ssl_params_t *params);
static ngx_int_t ngx_adm_redis_ssl_load(ngx_conf_t *cf, ngx_ssl_t *ssl,
    ngx_str_t cert, ngx_str_t key, u_char *error);
static ngx_int_t ngx_adm_redis_tls_prepare(ngx_adm_redis_tls_t *tls,
    ngx_connection_t *c);
static ngx_int_t ngx_adm_redis_tls_check_host(ngx_adm_redis_tls_t *tls,
    ngx_connection_t *c);
static void ngx_adm_redis_tls_forget(ngx_adm_redis_tls_t *tls);
static void ngx_adm_redis_tls_host(ngx_str_t *name, ngx_str_t *host);
static ngx_uint_t ngx_adm_redis_tls_is_addr(ngx_str_t *host);
static void ngx_adm_redis_ssl_log_init(ngx_adm_redis_ssl_log_t *log);
static void ngx_adm_redis_ssl_log_writer(ngx_log_t *log, ngx_uint_t level,
    u_char *buf, size_t len);


ngx_adm_redis_ssl_t *
ngx_adm_redis_ssl_create(ngx_conf_t *cf, ngx_adm_redis_ssl_params_t *params)
{
    ngx_pool_cleanup_t   *cln;
    ngx_adm_redis_ssl_t  *ssl;

    ssl = ngx_pcalloc(cf->pool, sizeof(ngx_adm_redis_ssl_t));
    if (ssl == NULL) {
        return NULL;
    }

    ssl->name = params->name;
    ssl->ssl.log = cf->log;

    cln = ngx_pool_cleanup_add(cf->pool, 0);
    if (cln == NULL) {
        return NULL;
    }

    if (ngx_ssl_create(&ssl->ssl, NGX_SSL_TLSv1_2|NGX_SSL_TLSv1_3,
                       NULL) != NGX_OK)
    {
        return NULL;
    }

    cln->handler = ngx_ssl_cleanup_ctx;
    cln->data = &ssl->ssl;

    if (ngx_adm_redis_ssl_trust(cf, &ssl->ssl, &params->ca) != NGX_OK) {
        return NULL;
    }

    if (ngx_adm_redis_ssl_certificate(cf, &ssl->ssl, params) != NGX_OK) {
        return NULL;
    }

    return ssl;
}


static ngx_int_t
ngx_adm_redis_ssl_trust(ngx_conf_t *cf, ngx_ssl_t *ssl, ngx_str_t *ca)
{
    ngx_str_t  none;
    u_char     error[NGX_MAX_ERROR_STR / 4];

    if (ca->len) {

        ngx_str_null(&none);

        if (ngx_adm_redis_ssl_load(cf, ssl, *ca, none, error) != NGX_OK) {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "\"tls_ca=%V\" in "
                               "\"admission_redis\" is no file of "
                               "certificates in PEM format: %s", ca, error);
            return NGX_ERROR;
        }

    } else if (SSL_CTX_set_default_verify_paths(ssl->ctx) == 0) {

        ngx_ssl_error(NGX_LOG_EMERG, cf->log, 0,
                      "SSL_CTX_set_default_verify_paths() failed");
        return NGX_ERROR;
    }

    /* not NGINX's own callback, with which a handshake never fails */

    SSL_CTX_set_verify(ssl->ctx, SSL_VERIFY_PEER, NULL);

    return NGX_OK;
}


static ngx_int_t
ngx_adm_redis_ssl_certificate(ngx_conf_t *cf, ngx_ssl_t *ssl,
    ngx_adm_redis_ssl_params_t *params)
{
    u_char  error[NGX_MAX_ERROR_STR / 4];

    if (params->cert.len == 0 && params->key.len == 0) {
        return NGX_OK;
    }

    if (params->cert.len == 0 || params->key.len == 0) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"tls_cert=\" and \"tls_key=\" in "
                           "\"admission_redis\" need each other");
        return NGX_ERROR;
    }

    if (ngx_adm_redis_ssl_load(cf, ssl, params->cert, params->key,
                               error) != NGX_OK)
    {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "\"tls_cert=%V\" and "
                           "\"tls_key=%V\" in \"admission_redis\" are no "
                           "certificate and its key in PEM format: %s",
                           &params->cert, &params->key, error);
        return NGX_ERROR;
    }

    return NGX_OK;
}


/*
 * Loads a certificate, or, without a key, the authorities.  NGINX says what is
 * wrong with a file, the caller in which parameter: as that is one message,
 * NGINX's goes to "error" and neither to cf->log nor to stderr.
 */

static ngx_int_t
ngx_adm_redis_ssl_load(ngx_conf_t *cf, ngx_ssl_t *ssl, ngx_str_t cert,
    ngx_str_t key, u_char *error)
{
    ngx_int_t                 rc;
    ngx_uint_t                use_stderr;
    ngx_adm_redis_ssl_log_t   log;

    ngx_adm_redis_ssl_log_init(&log);

    ssl->log = &log.log;
    use_stderr = ngx_use_stderr;
    ngx_use_stderr = 0;

    if (key.len) {
        rc = ngx_ssl_certificate(cf, ssl, &cert, &key, NULL);

    } else {
        rc = ngx_ssl_trusted_certificate(cf, ssl, &cert,
                                         SSL_CTX_get_verify_depth(ssl->ctx));
    }

    ssl->log = cf->log;
    ngx_use_stderr = use_stderr;

    (void) ngx_cpystrn(error, log.text, sizeof(log.text));

    return rc;
}


void
ngx_adm_redis_tls_init(ngx_adm_redis_tls_t *tls, ngx_adm_redis_ssl_t *ssl,
    ngx_str_t *name)
{
    tls->ssl = ssl;

    if (ssl->name.len) {
        tls->host = ssl->name;

    } else {
        ngx_adm_redis_tls_host(name, &tls->host);
    }

    ngx_adm_redis_ssl_log_init(&tls->log);
}


void
ngx_adm_redis_tls_cleanup(ngx_adm_redis_tls_t *tls)
{
    ngx_adm_redis_tls_forget(tls);
}


ngx_int_t
ngx_adm_redis_tls_handshake(ngx_adm_redis_tls_t *tls, ngx_connection_t *c,
    ngx_connection_handler_pt handler)
{
    ngx_int_t  rc;

    tls->log.text[0] = '\0';
    c->log = &tls->log.log;

    /* the buffer makes one record of all calls that are sent together */

    if (ngx_ssl_create_connection(&tls->ssl->ssl, c,
                                  NGX_SSL_BUFFER|NGX_SSL_CLIENT) != NGX_OK)
    {
        return NGX_ERROR;
    }

    if (ngx_adm_redis_tls_prepare(tls, c) != NGX_OK) {
        return NGX_ERROR;
    }

    rc = ngx_ssl_handshake(c);

    if (rc == NGX_AGAIN) {
        c->ssl->handler = handler;
        return NGX_AGAIN;
    }

    return ngx_adm_redis_tls_done(tls, c);
}


static ngx_int_t
ngx_adm_redis_tls_prepare(ngx_adm_redis_tls_t *tls, ngx_connection_t *c)
{
    u_char  name[NGX_MAXHOSTNAMELEN];

    /* an address is no server name (RFC 6066) */

    if (!ngx_adm_redis_tls_is_addr(&tls->host) && tls->host.len < sizeof(name))
    {
        (void) ngx_cpystrn(name, tls->host.data, tls->host.len + 1);

        if (SSL_set_tlsext_host_name(c->ssl->connection, (char *) name) == 0) {
            ngx_ssl_error(NGX_LOG_ERR, c->log, 0,
                          "SSL_set_tlsext_host_name() failed");
            return NGX_ERROR;
        }
    }

    return ngx_ssl_set_session(c, tls->session);
}


ngx_int_t
ngx_adm_redis_tls_done(ngx_adm_redis_tls_t *tls, ngx_connection_t *c)
{
    long  rc;

    rc = SSL_get_verify_result(c->ssl->connection);

    if (rc != X509_V_OK) {
        ngx_log_error(NGX_LOG_ERR, c->log, 0, "the certificate is not "
                      "trusted: %s", X509_verify_cert_error_string(rc));

    } else if (c->ssl->handshaked
               && ngx_adm_redis_tls_check_host(tls, c) == NGX_OK)
    {
        return NGX_OK;
    }

    ngx_adm_redis_tls_forget(tls);

    return NGX_ERROR;
}


static ngx_int_t
ngx_adm_redis_tls_check_host(ngx_adm_redis_tls_t *tls, ngx_connection_t *c)
{
    X509       *cert;
    u_char      addr[NGX_SOCKADDR_STRLEN + 1];
    ngx_int_t   rc;

    if (ngx_adm_redis_tls_is_addr(&tls->host)) {

        rc = NGX_ERROR;
        cert = SSL_get_peer_certificate(c->ssl->connection);

        if (cert) {
            (void) ngx_cpystrn(addr, tls->host.data,
                               ngx_min(tls->host.len + 1, sizeof(addr)));

            if (X509_check_ip_asc(cert, (char *) addr, 0) == 1) {
                rc = NGX_OK;
            }

            X509_free(cert);
        }

    } else {
        rc = ngx_ssl_check_host(c, &tls->host);
    }

    if (rc != NGX_OK) {
        ngx_log_error(NGX_LOG_ERR, c->log, 0, "the certificate does not match "
                      "\"%V\", see \"tls_name=\"", &tls->host);
    }

    return rc;
}


void
ngx_adm_redis_tls_shutdown(ngx_adm_redis_tls_t *tls, ngx_connection_t *c)
{
    ngx_ssl_session_t  *session;

    if (c->ssl == NULL) {
        return;
    }

    /* TLS 1.3 gives the session some time after the handshake */

    if (c->ssl->handshaked
        && SSL_get_verify_result(c->ssl->connection) == X509_V_OK)
    {
        session = ngx_ssl_get_session(c);

        if (session) {
            ngx_adm_redis_tls_forget(tls);
            tls->session = session;
        }
    }

    c->ssl->no_wait_shutdown = 1;

    if (ngx_ssl_shutdown(c) == NGX_AGAIN) {

        /* closes without an alert, for which there is no room */

        c->timedout = 1;
        (void) ngx_ssl_shutdown(c);
    }
}


u_char *
ngx_adm_redis_tls_error(ngx_adm_redis_tls_t *tls)
{
    return tls->log.text;
}


static void
ngx_adm_redis_tls_forget(ngx_adm_redis_tls_t *tls)
{
    if (tls->session) {
        ngx_ssl_free_session(tls->session);
        tls->session = NULL;
    }
}


static void
ngx_adm_redis_tls_host(ngx_str_t *name, ngx_str_t *host)
{
    u_char  *p, *last;

    p = name->data;
    last = p + name->len;

    if (name->len && *p == '[') {
        host->data = p + 1;
        p = ngx_strlchr(p, last, ']');

    } else {
        host->data = p;

        while (p < last && *p != ':' && *p != '/') {
            p++;
        }
    }

    host->len = (p ? p : last) - host->data;
}


static ngx_uint_t
ngx_adm_redis_tls_is_addr(ngx_str_t *host)
{
#if (NGX_HAVE_INET6)
    u_char  addr[16];

    if (ngx_inet6_addr(host->data, host->len, addr) == NGX_OK) {
        return 1;
    }
#endif

    return ngx_inet_addr(host->data, host->len) != INADDR_NONE;
}


static void
ngx_adm_redis_ssl_log_init(ngx_adm_redis_ssl_log_t *log)
{
    ngx_memzero(log, sizeof(ngx_adm_redis_ssl_log_t));

    log->log.log_level = NGX_LOG_INFO;
    log->log.writer = ngx_adm_redis_ssl_log_writer;
    log->log.wdata = log;
}


/*
 * Gets "time [level] pid#tid: text" and a line feed.  OpenSSL's last message
 * tells the reason of those before it.
 */

static void
ngx_adm_redis_ssl_log_writer(ngx_log_t *log, ngx_uint_t level, u_char *buf,
    size_t len)
{
    u_char                   *p, *last;
    ngx_adm_redis_ssl_log_t  *sl;

    sl = log->wdata;
    last = buf + len;

    if (len && last[-1] == LF) {
        last--;
    }

    p = ngx_strlchr(buf, last, '#');
    p = p ? ngx_strlchr(p, last, ' ') : NULL;
    p = p ? p + 1 : buf;

    (void) ngx_cpystrn(sl->text, p,
                       ngx_min((size_t) (last - p) + 1, sizeof(sl->text)));
}
