
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Inside of the "admission_redis" directive: what its lines say, before
 * conf/redis.c puts it together.  Only redis.c includes this, and redis_url.c
 * and redis_param.c, which it calls.
 */


#ifndef _NGX_ADM_CONF_REDIS_H_INCLUDED_
#define _NGX_ADM_CONF_REDIS_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "conf.h"
#include "parse.h"


/*
 * "url", "shown", "name" and "db" are of the last URL, the rest of any;
 * strings are the arguments', or in cf->pool.
 */
typedef struct {
    ngx_str_t                   url;
    ngx_str_t                   shown;    /* without userinfo */
    ngx_str_t                   name;     /* nor with a scheme */

    ngx_str_t                   user;
    ngx_str_t                   password;
    ngx_str_t                   db;
    ngx_str_t                   select;   /* a db that is not 0 */

    /* parameters */
    ngx_str_t                   password_file;
    ngx_str_t                   prefix;
    ngx_msec_t                  timeout;
    ngx_uint_t                  cluster;
    ngx_adm_redis_ssl_params_t  ssl;
    ngx_uint_t                  given;    /* which of these, bits */

    ngx_adm_redis_conf_t       *conf;

    unsigned                    tls:1;        /* a URL has TLS */
    unsigned                    plain:1;      /* a URL has none */
    unsigned                    login:1;      /* a URL has one */
} ngx_adm_redis_url_t;


/* whether an argument is a URL: begins with a scheme, known or not */
ngx_uint_t ngx_adm_redis_is_url(ngx_str_t *arg);

/*
 * Reads a URL into u, with its endpoint, or several sentinels, in u->conf.
 * NGX_CONF_OK; or logs what is wrong, and returns NGX_CONF_ERROR.
 */
char *ngx_adm_redis_set_url(ngx_conf_t *cf, ngx_adm_redis_url_t *u,
    ngx_str_t *arg);

/*
 * the same for any other argument: a parameter in u, or the breaker in u->conf
 */
char *ngx_adm_redis_set_param(ngx_conf_t *cf, ngx_adm_redis_url_t *u,
    ngx_str_t *arg);


#endif /* _NGX_ADM_CONF_REDIS_H_INCLUDED_ */
