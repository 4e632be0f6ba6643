
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Whether a node of Redis works, and what the log has been told of it: by all
 * workers of the host together, so that a change is one line.  Lock-free.
 */


#ifndef _NGX_ADM_REDIS_HEALTH_H_INCLUDED_
#define _NGX_ADM_REDIS_HEALTH_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>


typedef enum {
    ngx_adm_redis_no_fault = 0,
    ngx_adm_redis_no_connection,
    ngx_adm_redis_no_connect,
    ngx_adm_redis_no_tls,
    ngx_adm_redis_timed_out,
    ngx_adm_redis_lost,
    ngx_adm_redis_rubbish,
    ngx_adm_redis_refused,
    ngx_adm_redis_wrong_node } ngx_adm_redis_fault_e;


/* sorts of errors that the log has been told of lately */
#define NGX_ADM_REDIS_ERRORS  4

typedef struct {
    ngx_atomic_t                           hash;
    ngx_atomic_t                           logged_at;
    ngx_atomic_t                           seen_at;
} ngx_adm_redis_error_t;


/* times are of ngx_current_msec */
typedef struct {
    ngx_atomic_t                           hash;      /* of the node's name;
                                                         0: the entry is free */

    ngx_atomic_t                           failing;   /* bool */
    ngx_atomic_t                           told;      /* bool: in the log */
    ngx_atomic_t                           failed_at;
    ngx_atomic_t                           logged_at; /* 0: never */
    ngx_atomic_t                           fault;     /* the last in the log */
    ngx_atomic_t                           unlogged;

    ngx_atomic_t                           open;      /* bool: some worker's
                                                         breaker is open */
    ngx_atomic_t                           opened_at; /* last logged; 0: never
                                                         */
    ngx_atomic_t                           evicts;    /* bool: it may drop
                                                         keys, which was logged
                                                         */
    ngx_adm_redis_error_t                  errors[NGX_ADM_REDIS_ERRORS];
    ngx_atomic_t                           error_at;  /* last logged */
    ngx_atomic_t                           more;      /* errors since then */
} ngx_adm_redis_health_t;


/* the entry of the node, for all workers; NULL: there is no room */
ngx_adm_redis_health_t *ngx_adm_redis_health(ngx_str_t *name);

/* the node failed: a line in the log, at a limited rate */
void ngx_adm_redis_log_fault(ngx_adm_redis_health_t *health, ngx_str_t *name,
    ngx_log_t *log, ngx_adm_redis_fault_e fault, ngx_err_t err, u_char *text);

/* the node works again, for a worker for which it had failed */
void ngx_adm_redis_log_back(ngx_adm_redis_health_t *health, ngx_str_t *name,
    ngx_log_t *log);

/* the node answered a call with an error; hash: of what sort */
void ngx_adm_redis_log_error(ngx_adm_redis_health_t *health, ngx_str_t *name,
    ngx_log_t *log, uint32_t hash, char *text);

/* a worker's breaker has opened, or closed; 1: which is to be logged */
ngx_uint_t ngx_adm_redis_opened(ngx_adm_redis_health_t *health);
ngx_uint_t ngx_adm_redis_shut(ngx_adm_redis_health_t *health);


#endif /* _NGX_ADM_REDIS_HEALTH_H_INCLUDED_ */
