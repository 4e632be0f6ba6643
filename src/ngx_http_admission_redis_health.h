
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Whether a node of Redis works, and what the log has been told of it: by all
 * workers of the host together, so that a change is one line.  Lock-free.
 */


#ifndef _NGX_HTTP_ADMISSION_REDIS_HEALTH_H_INCLUDED_
#define _NGX_HTTP_ADMISSION_REDIS_HEALTH_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>


typedef enum {
    ngx_http_admission_redis_no_fault = 0,
    ngx_http_admission_redis_no_connection,
    ngx_http_admission_redis_no_connect,
    ngx_http_admission_redis_no_tls,
    ngx_http_admission_redis_timed_out,
    ngx_http_admission_redis_lost,
    ngx_http_admission_redis_rubbish,
    ngx_http_admission_redis_refused,
    ngx_http_admission_redis_wrong_node
} ngx_http_admission_redis_fault_e;


/* times are of ngx_current_msec */
typedef struct {
    ngx_queue_t                            queue;
    uint32_t                               hash;      /* of the node's name */

    ngx_atomic_t                           failing;   /* bool */
    ngx_atomic_t                           told;      /* bool: the log was */
    ngx_atomic_t                           failed_at;
    ngx_atomic_t                           logged_at; /* 0: never */
    ngx_atomic_t                           fault;     /* the last logged */
    ngx_atomic_t                           unlogged;

    ngx_atomic_t                           open;      /* bool: the breaker of
                                                         some worker is */
    ngx_atomic_t                           opened_at; /* last logged; 0: never
                                                         */
    ngx_atomic_t                           evicts;    /* bool: it may drop
                                                         keys, which was logged
                                                         */
} ngx_http_admission_redis_health_t;


/*
 * That of a node, in the zone; NULL: there is no room.  Takes the zone's
 * lock.
 */
ngx_http_admission_redis_health_t *ngx_http_admission_redis_health(
    ngx_str_t *name);

/* it failed: a line, at a limited rate */
void ngx_http_admission_redis_log_fault(
    ngx_http_admission_redis_health_t *health, ngx_str_t *name,
    ngx_log_t *log, ngx_http_admission_redis_fault_e fault, ngx_err_t err,
    u_char *text);

/* it works again, for a worker for which it failed */
void ngx_http_admission_redis_log_back(
    ngx_http_admission_redis_health_t *health, ngx_str_t *name,
    ngx_log_t *log);

/* a worker's breaker has opened, or closed; 1: which is to be logged */
ngx_uint_t ngx_http_admission_redis_opened(
    ngx_http_admission_redis_health_t *health);
ngx_uint_t ngx_http_admission_redis_shut(
    ngx_http_admission_redis_health_t *health);


#endif /* _NGX_HTTP_ADMISSION_REDIS_HEALTH_H_INCLUDED_ */
