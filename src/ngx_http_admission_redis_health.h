
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Whether a node of Redis works, and what the log has been told of it.
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


typedef struct {
    ngx_http_admission_redis_fault_e       fault;     /* the last logged */
    ngx_msec_t                             failed_at;
    ngx_msec_t                             logged_at;
    ngx_uint_t                             unlogged;

    unsigned                               failing:1;
    unsigned                               told:1;
    unsigned                               logged:1;
} ngx_http_admission_redis_health_t;


/* it failed: a line, at a limited rate */
void ngx_http_admission_redis_log_fault(
    ngx_http_admission_redis_health_t *health, ngx_str_t *name,
    ngx_log_t *log, ngx_http_admission_redis_fault_e fault, ngx_err_t err,
    u_char *text);

/* it works again, after "failing" */
void ngx_http_admission_redis_log_back(
    ngx_http_admission_redis_health_t *health, ngx_str_t *name,
    ngx_log_t *log);


#endif /* _NGX_HTTP_ADMISSION_REDIS_HEALTH_H_INCLUDED_ */
