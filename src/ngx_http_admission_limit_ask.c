
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What Redis is asked of windows: to judge and charge a request, and to take
 * back what was charged in vain.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_admission_args.h"
#include "ngx_http_admission_gate.h"
#include "ngx_http_admission_limit_local.h"
#include "ngx_http_admission_limit_parts.h"


/* arguments of a window, to be judged and to be taken back from */
#define NGX_HTTP_ADMISSION_LIMIT_ARGS        4
#define NGX_HTTP_ADMISSION_LIMIT_BACK_ARGS   3


#define ngx_http_admission_limit_letter(conf)                                 \
    ((u_char *) ((conf)->algorithm == NGX_HTTP_ADMISSION_LIMIT_LOG            \
                 ? "l" : "c"))


static ngx_http_admission_redis_call_t *ngx_http_admission_limit_run(
    ngx_http_admission_limit_call_t *call);
static void ngx_http_admission_limit_done(void *data, ngx_int_t rc,
    redisReply *reply);
static ngx_int_t ngx_http_admission_limit_reply(
    ngx_http_admission_limit_t **limit, ngx_uint_t n, redisReply *reply);
static void ngx_http_admission_limit_run_back(
    ngx_http_admission_redis_t *redis, ngx_http_admission_limit_t **back,
    ngx_uint_t n);


ngx_int_t
ngx_http_admission_limits_ask(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx)
{
    ngx_uint_t                        i, n, each;
    ngx_http_admission_redis_t       *redis;
    ngx_http_admission_limits_t      *limits;
    ngx_http_admission_limit_call_t  *call;

    redis = ngx_http_admission_redis();

    if (redis == NULL) {
        return NGX_OK;
    }

    limits = ctx->limits;
    n = limits->nasked;
    each = ngx_http_admission_redis_one_node(redis) ? n : 1;

    call = limits->calls;

    for (i = 0; i < n; i += each) {

        call->limits = limits;
        call->first = i;
        call->n = each;
        call->call = ngx_http_admission_limit_run(call);

        if (call->call) {
            limits->pending++;
        }

        call++;
    }

    if (limits->pending == 0) {
        return NGX_OK;
    }

    if (ngx_http_admission_watch(r) != NGX_OK) {
        ngx_http_admission_limits_cancel(limits);
        return NGX_ERROR;
    }

    return NGX_AGAIN;
}


void
ngx_http_admission_limits_cancel(ngx_http_admission_limits_t *limits)
{
    ngx_uint_t  i;

    if (limits->pending == 0) {
        return;
    }

    for (i = 0; i < NGX_HTTP_ADMISSION_LIMITS_MAX; i++) {
        if (limits->calls[i].call) {
            ngx_http_admission_redis_cancel(limits->calls[i].call);
            limits->calls[i].call = NULL;
        }
    }

    limits->pending = 0;
}


static ngx_http_admission_redis_call_t *
ngx_http_admission_limit_run(ngx_http_admission_limit_call_t *call)
{
    ngx_str_t                        *arg;
    ngx_uint_t                        i, argc;
    ngx_http_admission_limit_t      **limit;
    ngx_http_admission_limit_conf_t  *conf;

    u_char     trials[NGX_HTTP_ADMISSION_LIMITS_MAX][1 + NGX_INT64_LEN];
    ngx_str_t  argv[NGX_HTTP_ADMISSION_LIMITS_MAX
                    * (1 + NGX_HTTP_ADMISSION_LIMIT_ARGS)];

    limit = call->limits->asked + call->first;

    arg = argv + call->n;

    for (i = 0; i < call->n; i++) {

        conf = limit[i]->conf;
        argv[i] = limit[i]->key;

        arg[0].len = 1;
        arg[0].data = ngx_http_admission_limit_letter(conf);
        arg[1] = conf->quota_text;
        arg[2] = conf->window_text;
        arg[3].len = 1;
        arg[3].data = (u_char *) (conf->dry_run ? "1" : "0");

        if (limit[i]->instead) {
            arg[3].data = trials[i];
            arg[3].len = ngx_sprintf(trials[i], "%s%L",
                                     conf->dry_run ? "1" : "0",
                                     limit[i]->instead)
                         - trials[i];
        }

        arg += NGX_HTTP_ADMISSION_LIMIT_ARGS;
    }

    argc = arg - argv;

    return ngx_http_admission_script_run(ngx_http_admission_redis(),
                                         &ngx_http_admission_script_limit,
                                         call->n, argc, argv,
                                         ngx_http_admission_limit_done, call);
}


static void
ngx_http_admission_limit_done(void *data, ngx_int_t rc, redisReply *reply)
{
    ngx_http_admission_limit_call_t *call = data;

    ngx_http_request_t           *r;
    ngx_http_admission_limits_t  *limits;

    static time_t  logged;

    limits = call->limits;
    r = limits->request;

    call->call = NULL;
    limits->pending--;

    if (rc == NGX_OK) {
        rc = ngx_http_admission_limit_reply(&limits->asked[call->first],
                                            call->n, reply);
    }

    if (rc == NGX_DECLINED && logged != ngx_time()) {
        logged = ngx_time();

        ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
                      "admission: redis answered a rate limit with \"%*s\"",
                      reply->str ? ngx_min(reply->len, 256) : 0,
                      reply->str ? reply->str : "");
    }

    if (limits->pending == 0) {
        ngx_http_admission_gate_resume(r);
    }
}


static ngx_int_t
ngx_http_admission_limit_reply(ngx_http_admission_limit_t **limit,
    ngx_uint_t n, redisReply *reply)
{
    int64_t     v[3 * NGX_HTTP_ADMISSION_LIMITS_MAX];
    ngx_uint_t  i, refused;

    if (ngx_http_admission_reply_numbers(reply, v, 3 * n, 0) != NGX_OK) {
        return NGX_DECLINED;
    }

    refused = 0;

    for (i = 0; i < n; i++) {
        limit[i]->at = v[3 * i];
        limit[i]->left = v[3 * i + 1];
        limit[i]->wait = v[3 * i + 2];
        limit[i]->redis = 1;

        refused |= limit[i]->left < 0 && !limit[i]->conf->dry_run;
    }

    for (i = 0; i < n; i++) {
        limit[i]->charged = !refused && limit[i]->left >= 0;
    }

    return NGX_OK;
}


void
ngx_http_admission_limits_back(ngx_http_admission_limits_t *limits)
{
    ngx_http_admission_limits_back_from(limits, 0);
}


void
ngx_http_admission_limits_back_from(ngx_http_admission_limits_t *limits,
    ngx_uint_t first)
{
    ngx_uint_t                   i, n, most;
    ngx_http_admission_limit_t  *limit;
    ngx_http_admission_redis_t  *redis;
    ngx_http_admission_limit_t  *back[NGX_HTTP_ADMISSION_LIMITS_MAX];

    redis = ngx_http_admission_redis();

    most = (redis && ngx_http_admission_redis_one_node(redis))
           ? NGX_HTTP_ADMISSION_LIMITS_MAX : 1;

    limit = limits->all.elts;
    n = 0;

    for (i = first; i < limits->all.nelts; i++) {

        if (!limit[i].charged) {
            continue;
        }

        limit[i].charged = 0;

        if (limit[i].local) {
            ngx_http_admission_limit_local_back(&limit[i]);
            continue;
        }

        back[n++] = &limit[i];

        if (n == most) {
            ngx_http_admission_limit_run_back(redis, back, n);
            n = 0;
        }
    }

    if (n) {
        ngx_http_admission_limit_run_back(redis, back, n);
    }
}


/* nobody waits for it: if it fails, the client has a request less for once */

static void
ngx_http_admission_limit_run_back(ngx_http_admission_redis_t *redis,
    ngx_http_admission_limit_t **back, ngx_uint_t n)
{
    ngx_str_t   *arg;
    ngx_uint_t   i;

    u_char     at[NGX_HTTP_ADMISSION_LIMITS_MAX][NGX_INT64_LEN];
    ngx_str_t  argv[NGX_HTTP_ADMISSION_LIMITS_MAX
                    * (1 + NGX_HTTP_ADMISSION_LIMIT_BACK_ARGS)];

    arg = argv + n;

    for (i = 0; i < n; i++) {
        argv[i] = back[i]->key;

        arg[0].len = 1;
        arg[0].data = ngx_http_admission_limit_letter(back[i]->conf);
        arg[1] = back[i]->conf->window_text;
        arg[2].data = at[i];
        arg[2].len = ngx_sprintf(at[i], "%L", back[i]->at) - at[i];

        arg += NGX_HTTP_ADMISSION_LIMIT_BACK_ARGS;
    }

    (void) ngx_http_admission_script_run(redis,
                                        &ngx_http_admission_script_limit_back,
                                        n, arg - argv, argv, NULL, NULL);
}
