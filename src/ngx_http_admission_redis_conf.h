
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Inside of the "admission_redis" directive: what its lines say, before
 * redis_conf.c puts it together.  Only redis_conf.c, which calls the other two,
 * redis_url.c and redis_param.c include this.
 */


#ifndef _NGX_HTTP_ADMISSION_REDIS_CONF_H_INCLUDED_
#define _NGX_HTTP_ADMISSION_REDIS_CONF_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_admission_redis_conn.h"
#include "ngx_http_admission_redis_ssl.h"


/*
 * Of the last URL are "url", "shown", "name" and "db", of any the rest; strings
 * are those of the arguments, or of cf->pool.
 */
typedef struct {
    ngx_str_t                              url;
    ngx_str_t                              shown;    /* without userinfo */
    ngx_str_t                              name;     /* nor scheme */

    ngx_str_t                              user;
    ngx_str_t                              password;
    ngx_str_t                              password_file;
    ngx_str_t                              db;
    ngx_str_t                              select;   /* a db that is not 0 */

    ngx_http_admission_redis_ssl_params_t  ssl;

    ngx_http_admission_redis_conf_t       *conf;

    unsigned                               tls:1;        /* a URL has it */
    unsigned                               plain:1;      /* one has not */
    unsigned                               timeout:1;
    unsigned                               login:1;      /* of a URL */
    unsigned                               prefix:1;
    unsigned                               breaker:1;
    unsigned                               cluster:1;
} ngx_http_admission_redis_url_t;


/*
 * redis_url.c
 */

/* whether an argument is a URL: it begins with a scheme, known or not */
ngx_uint_t ngx_http_admission_redis_is_url(ngx_str_t *arg);

/*
 * Takes a URL: u, and an endpoint, or several sentinels, in u->conf.
 * NGX_CONF_OK, or logs what is wrong and returns NGX_CONF_ERROR.
 */
char *ngx_http_admission_redis_set_url(ngx_conf_t *cf,
    ngx_http_admission_redis_url_t *u, ngx_str_t *arg);


/*
 * redis_param.c
 */

/*
 * Takes any other argument: u and u->conf.  NGX_CONF_OK, NGX_CONF_ERROR as
 * above, or what a handler of a directive returns to be logged.
 */
char *ngx_http_admission_redis_set_param(ngx_conf_t *cf,
    ngx_http_admission_redis_url_t *u, ngx_str_t *arg);


#endif /* _NGX_HTTP_ADMISSION_REDIS_CONF_H_INCLUDED_ */
