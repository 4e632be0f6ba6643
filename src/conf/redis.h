
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Inside of the "admission_redis" directive: what its lines say, before
 * conf/redis.c puts it together.  Only that one, which calls the other two,
 * redis_url.c and redis_param.c include this.
 */


#ifndef _NGX_ADM_CONF_REDIS_H_INCLUDED_
#define _NGX_ADM_CONF_REDIS_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "conf.h"
#include "parse.h"


/*
 * Of the last URL are "url", "shown", "name" and "db", of any the rest; strings
 * are those of the arguments, or of cf->pool.
 */
typedef struct {
    ngx_str_t                   url;
    ngx_str_t                   shown;    /* without userinfo */
    ngx_str_t                   name;     /* nor scheme */

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
    ngx_uint_t                  given;    /* of them, bits */

    ngx_adm_redis_conf_t       *conf;

    unsigned                    tls:1;        /* a URL has it */
    unsigned                    plain:1;      /* one has not */
    unsigned                    login:1;      /* of a URL */
} ngx_adm_redis_url_t;


/* whether an argument is a URL: it begins with a scheme, known or not */
ngx_uint_t ngx_adm_redis_is_url(ngx_str_t *arg);

/*
 * Takes a URL: u, and an endpoint, or several sentinels, in u->conf.
 * NGX_CONF_OK, or logs what is wrong and returns NGX_CONF_ERROR.
 */
char *ngx_adm_redis_set_url(ngx_conf_t *cf, ngx_adm_redis_url_t *u,
    ngx_str_t *arg);

/* the same of any other argument, a parameter of u or the breaker of u->conf */
char *ngx_adm_redis_set_param(ngx_conf_t *cf, ngx_adm_redis_url_t *u,
    ngx_str_t *arg);


#endif /* _NGX_ADM_CONF_REDIS_H_INCLUDED_ */
