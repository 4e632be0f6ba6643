
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The Lua scripts, built in from lua/ (see config.make).  They run by
 * EVALSHA; a NOSCRIPT reply, and no other, has the script sent in whole by
 * EVAL once, within the deadline of the call.
 */


#ifndef _NGX_HTTP_ADMISSION_SCRIPT_H_INCLUDED_
#define _NGX_HTTP_ADMISSION_SCRIPT_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_admission_redis.h"


typedef struct ngx_http_admission_script_s  ngx_http_admission_script_t;


extern ngx_http_admission_script_t  ngx_http_admission_script_queue_check;
extern ngx_http_admission_script_t  ngx_http_admission_script_queue_leave;
extern ngx_http_admission_script_t  ngx_http_admission_script_queue_step;
extern ngx_http_admission_script_t  ngx_http_admission_script_queue_admin;
extern ngx_http_admission_script_t  ngx_http_admission_script_queue_revoked;
extern ngx_http_admission_script_t  ngx_http_admission_script_vwr_assign;
extern ngx_http_admission_script_t  ngx_http_admission_script_vwr_step;
extern ngx_http_admission_script_t  ngx_http_admission_script_vwr_admin;
extern ngx_http_admission_script_t  ngx_http_admission_script_limit;
extern ngx_http_admission_script_t  ngx_http_admission_script_limit_back;


/* by NGX_HTTP_ADMISSION_REDIS_KINDS */
extern ngx_str_t  ngx_http_admission_call_names[];


/* names and hashes the scripts; once, while the configuration is read */
void ngx_http_admission_scripts_init(void);

/*
 * Runs a script: argv is its keys, nkeys of them (at least one, all of one
 * slot), then its arguments.  Returns, completes and cancels as
 * ngx_http_admission_redis_call() does; the completion is always preceded
 * by at most one EVALSHA and one EVAL, but for those that a node of a cluster
 * sent away.
 */
ngx_http_admission_redis_call_t *ngx_http_admission_script_run(
    ngx_http_admission_redis_t *redis, ngx_http_admission_script_t *script,
    ngx_uint_t nkeys, ngx_uint_t argc, ngx_str_t *argv,
    ngx_http_admission_redis_done_pt done, void *data);

/* the same with keys made before, and argv the arguments alone */
ngx_http_admission_redis_call_t *ngx_http_admission_script_run_keys(
    ngx_http_admission_redis_t *redis, ngx_http_admission_script_t *script,
    ngx_http_admission_redis_keys_t *keys, ngx_uint_t argc, ngx_str_t *argv,
    ngx_http_admission_redis_done_pt done, void *data);


#endif /* _NGX_HTTP_ADMISSION_SCRIPT_H_INCLUDED_ */
