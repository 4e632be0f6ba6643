
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What Redis is asked about windows: to judge and charge a request, and to
 * take back what was charged in vain.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../base/counter.h"
#include "../host/args.h"
#include "../redis/reply.h"
#include "limit.h"
#include "local.h"
#include "parts.h"
#include "ngx_http_admission_names.h"


/* that Redis answers something else is logged again after this time */
#define NGX_ADM_LIMIT_REMIND  60         /* s */


static void ngx_adm_limits_cancel(void *data);
static void ngx_adm_limit_algorithm(ngx_str_t *arg, ngx_adm_limit_conf_t *conf);
static ngx_adm_redis_call_t *ngx_adm_limit_run(ngx_adm_limit_call_t *call);
static void ngx_adm_limit_done(void *data, ngx_int_t rc, redisReply *reply);
static void ngx_adm_limit_log(ngx_http_request_t *r, redisReply *reply,
    ngx_uint_t error);
static void ngx_adm_limit_run_back(ngx_adm_redis_t *redis,
    ngx_adm_limit_t **back, ngx_uint_t n);


ngx_int_t
ngx_adm_limits_ask(ngx_http_request_t *r, ngx_adm_limits_t *limits)
{
    ngx_uint_t             i, n, each;
    ngx_adm_redis_t       *redis;
    ngx_adm_limit_call_t  *call;

    redis = ngx_adm_redis;

    if (redis == NULL) {
        return NGX_OK;
    }

    n = limits->nasked;
    each = (n > 1 && !ngx_adm_redis_one_node(redis)) ? 1 : n;

    call = limits->calls;

    for (i = 0; i < n; i += each) {

        call->limits = limits;
        call->first = i;
        call->n = each;
        call->call = ngx_adm_limit_run(call);

        if (call->call) {
            limits->pending++;
        }

        call++;
    }

    ngx_log_debug2(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "admission: rate limits, %ui windows asked in %ui calls",
                   n, limits->pending);

    if (limits->pending == 0) {
        return NGX_OK;
    }

    return ngx_adm_wait(r, ngx_adm_limits_cancel, limits);
}


/* the request goes away while Redis is being asked */

static void
ngx_adm_limits_cancel(void *data)
{
    ngx_adm_limits_t *limits = data;

    ngx_uint_t  i;

    for (i = 0; i < NGX_ADM_LIMITS_MAX; i++) {
        if (limits->calls[i].call) {
            ngx_adm_redis_cancel(limits->calls[i].call);
            limits->calls[i].call = NULL;
        }
    }

    limits->pending = 0;
}


static ngx_adm_redis_call_t *
ngx_adm_limit_run(ngx_adm_limit_call_t *call)
{
    ngx_str_t             *arg, *trial;
    ngx_uint_t             i;
    ngx_adm_limit_t      **limit;
    ngx_adm_script_t      *script;
    ngx_adm_limit_conf_t  *conf;

    u_char     trials[NGX_ADM_LIMITS_MAX][1 + NGX_INT64_LEN];
    ngx_str_t  argv[NGX_ADM_LIMITS_MAX * (1 + NGX_ADM_EACH_LIMIT_COUNT)];

    limit = call->limits->asked + call->first;

    arg = argv + call->n;

    for (i = 0; i < call->n; i++) {

        conf = limit[i]->conf;
        argv[i] = limit[i]->key;

        ngx_adm_limit_algorithm(&arg[NGX_ADM_EACH_LIMIT_ALGORITHM], conf);
        arg[NGX_ADM_EACH_LIMIT_QUOTA] = conf->quota_text;
        arg[NGX_ADM_EACH_LIMIT_WINDOW] = conf->window_text;

        trial = &arg[NGX_ADM_EACH_LIMIT_TRIAL];

        trial->data = trials[i];
        trial->len = 1;
        trials[i][0] = conf->dry_run ? '1' : '0';

        if (limit[i]->instead) {
            trial->len = ngx_sprintf(&trials[i][1], "%L",
                                     limit[i]->instead) - trials[i];
        }

        arg += NGX_ADM_EACH_LIMIT_COUNT;
    }

    script = &ngx_adm_scripts[NGX_ADM_CALL_LIMIT];

    ngx_log_debug2(NGX_LOG_DEBUG_HTTP, call->limits->request->connection->log,
                   0, "admission: script %V, %ui windows", &script->name,
                   call->n);

    return ngx_adm_redis_eval(ngx_adm_redis, &script->command, call->n,
                              arg - argv, argv, ngx_adm_limit_done, call);
}


/*
 * Without a proper answer windows stay as if nobody had counted them.  An
 * error of Redis (NGX_DECLINED) is logged as any wrong answer is.
 */

static void
ngx_adm_limit_done(void *data, ngx_int_t rc, redisReply *reply)
{
    ngx_adm_limit_call_t *call = data;

    int64_t              *window;
    ngx_uint_t            i, refused;
    ngx_http_request_t   *r;
    ngx_adm_limit_t     **limit;
    ngx_adm_limits_t     *limits;

    int64_t  v[NGX_ADM_LIMITS_MAX * NGX_ADM_REPLY_LIMIT_COUNT];

    limits = call->limits;
    limit = &limits->asked[call->first];
    r = limits->request;

    call->call = NULL;
    limits->pending--;

    ngx_log_debug2(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "admission: script limit answered %i, %ui pending", rc,
                   limits->pending);

    if (rc == NGX_OK
        && ngx_adm_reply_numbers(reply, v,
                                 call->n * NGX_ADM_REPLY_LIMIT_COUNT,
                                 0)
           == NGX_OK)
    {
        refused = 0;

        for (i = 0; i < call->n; i++) {
            window = &v[i * NGX_ADM_REPLY_LIMIT_COUNT];

            limit[i]->at = window[NGX_ADM_REPLY_LIMIT_AT];
            limit[i]->left = window[NGX_ADM_REPLY_LIMIT_LEFT];
            limit[i]->wait = window[NGX_ADM_REPLY_LIMIT_WAIT];
            limit[i]->redis = 1;

            refused |= limit[i]->left < 0 && !limit[i]->conf->dry_run;
        }

        for (i = 0; i < call->n; i++) {
            limit[i]->charged = !refused && limit[i]->left >= 0;
        }

    } else if (rc != NGX_ERROR) {
        ngx_adm_limit_log(r, reply, rc == NGX_DECLINED);
    }

    if (limits->pending == 0) {
        ngx_adm_wait_resume(r);
    }
}


/* once, then now and then; of errors the Redis client tells the log as well */

static void
ngx_adm_limit_log(ngx_http_request_t *r, redisReply *reply, ngx_uint_t error)
{
    uint32_t  sort;

    static time_t    logged;
    static uint32_t  last;

    sort = error ? ngx_adm_redis_sort(reply) : 0;

    if (ngx_time() == logged
        || (sort == last && ngx_time() - logged < NGX_ADM_LIMIT_REMIND))
    {
        return;
    }

    logged = ngx_time();
    last = sort;

    ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
                  "admission: redis answered a rate limit with \"%*s\"",
                  reply->str ? ngx_min(reply->len, 256) : 0,
                  reply->str ? reply->str : "");
}


void
ngx_adm_limits_back(ngx_adm_limits_t *limits, ngx_uint_t first)
{
    ngx_uint_t        i, n, most;
    ngx_adm_limit_t  *limit;
    ngx_adm_redis_t  *redis;
    ngx_adm_limit_t  *back[NGX_ADM_LIMITS_MAX];

    redis = ngx_adm_redis;

    most = (redis && ngx_adm_redis_one_node(redis)) ? NGX_ADM_LIMITS_MAX : 1;

    limit = limits->all.elts;
    n = 0;

    for (i = first; i < limits->all.nelts; i++) {

        if (!limit[i].charged) {
            continue;
        }

        limit[i].charged = 0;

        if (limit[i].local) {
            ngx_adm_limit_local_back(&limit[i]);
            continue;
        }

        back[n++] = &limit[i];

        if (n == most) {
            ngx_adm_limit_run_back(redis, back, n);
            n = 0;
        }
    }

    if (n) {
        ngx_adm_limit_run_back(redis, back, n);
    }
}


/* nobody waits for it: if it fails the client has one request less, once */

static void
ngx_adm_limit_run_back(ngx_adm_redis_t *redis, ngx_adm_limit_t **back,
    ngx_uint_t n)
{
    ngx_str_t         *arg, *time;
    ngx_uint_t         i;
    ngx_adm_script_t  *script;

    u_char     at[NGX_ADM_LIMITS_MAX][NGX_INT64_LEN];
    ngx_str_t  argv[NGX_ADM_LIMITS_MAX * (1 + NGX_ADM_EACH_LIMIT_BACK_COUNT)];

    arg = argv + n;

    for (i = 0; i < n; i++) {
        argv[i] = back[i]->key;

        ngx_adm_limit_algorithm(&arg[NGX_ADM_EACH_LIMIT_BACK_ALGORITHM],
                                back[i]->conf);
        arg[NGX_ADM_EACH_LIMIT_BACK_WINDOW] = back[i]->conf->window_text;

        time = &arg[NGX_ADM_EACH_LIMIT_BACK_AT];

        time->data = at[i];
        time->len = ngx_sprintf(at[i], "%L", back[i]->at) - at[i];

        arg += NGX_ADM_EACH_LIMIT_BACK_COUNT;
    }

    script = &ngx_adm_scripts[NGX_ADM_CALL_LIMIT_BACK];

    ngx_log_debug2(NGX_LOG_DEBUG_HTTP, ngx_cycle->log, 0,
                   "admission: script %V, %ui windows", &script->name, n);

    (void) ngx_adm_redis_eval(redis, &script->command,
                              n, arg - argv, argv, NULL, NULL);
}


static void
ngx_adm_limit_algorithm(ngx_str_t *arg, ngx_adm_limit_conf_t *conf)
{
    arg->len = 1;
    arg->data = (u_char *) (conf->algorithm == NGX_ADM_LIMIT_LOG ? "l" : "c");
}
