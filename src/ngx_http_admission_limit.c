
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The limits of a location, judged together: all windows are charged, or
 * none.  On a single node that is one script; of windows on several nodes
 * each is asked by itself, at the same time, and what was charged in vain is
 * taken back.
 *
 * A request that is redirected to another place was charged to some of the
 * windows there.  How it stands by other quotas follows from what was said
 * then.  If it has no room by them, or the window is of another kind, Redis is
 * asked to judge anew, as if it had not been charged.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_admission_args.h"
#include "ngx_http_admission_counts.h"
#include "ngx_http_admission_gate.h"
#include "ngx_http_admission_limit.h"
#include "ngx_http_admission_limit_local.h"
#include "ngx_http_admission_reason.h"
#include "ngx_http_admission_user.h"


/* arguments of a window, to be judged and to be taken back from */
#define NGX_HTTP_ADMISSION_LIMIT_ARGS        4
#define NGX_HTTP_ADMISSION_LIMIT_BACK_ARGS   3


#define ngx_http_admission_limit_letter(conf)                                 \
    ((u_char *) ((conf)->algorithm == NGX_HTTP_ADMISSION_LIMIT_LOG            \
                 ? "l" : "c"))


/* a script under way, which charges n of the limits asked, from the first on */
typedef struct {
    ngx_http_admission_limits_t       *limits;
    ngx_http_admission_redis_call_t   *call;
    ngx_uint_t                         first;
    ngx_uint_t                         n;
} ngx_http_admission_limit_call_t;


struct ngx_http_admission_limits_s {
    ngx_http_request_t                *request;
    ngx_array_t                        all;         /* limit_t, of each place
                                                       the request came to */
    ngx_uint_t                         first;       /* of this one */
    ngx_uint_t                         pass;        /* r->uri_changes of it */

    /* of these, those that Redis is to judge; while it does, "all" stays */
    ngx_http_admission_limit_t        *asked[NGX_HTTP_ADMISSION_LIMITS_MAX];
    ngx_uint_t                         nasked;

    ngx_http_admission_limit_call_t    calls[NGX_HTTP_ADMISSION_LIMITS_MAX];
    ngx_uint_t                         pending;
};


static ngx_http_admission_limits_t *ngx_http_admission_limits_get(
    ngx_http_request_t *r, ngx_http_admission_ctx_t *ctx);
static ngx_int_t ngx_http_admission_limits_collect(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx, ngx_array_t *confs);
static ngx_http_admission_limit_t *ngx_http_admission_limit_find(
    ngx_http_admission_limits_t *limits, ngx_str_t *key);
static void ngx_http_admission_limit_stricter(
    ngx_http_admission_limit_t *limit, ngx_http_admission_limit_conf_t *conf);
static ngx_int_t ngx_http_admission_limit_again(
    ngx_http_admission_limit_t *limit, ngx_http_admission_limit_t *before);
static ngx_uint_t ngx_http_admission_limit_same(
    ngx_http_admission_limit_conf_t *a, ngx_http_admission_limit_conf_t *b);

static ngx_int_t ngx_http_admission_limits_ask(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx);
static ngx_http_admission_redis_call_t *ngx_http_admission_limit_run(
    ngx_http_admission_limit_call_t *call);
static void ngx_http_admission_limit_done(void *data, ngx_int_t rc,
    redisReply *reply);
static ngx_int_t ngx_http_admission_limit_reply(
    ngx_http_admission_limit_t **limit, ngx_uint_t n, redisReply *reply);

static ngx_int_t ngx_http_admission_limits_decide(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx);
static ngx_uint_t ngx_http_admission_limits_refused(
    ngx_http_admission_limit_t *limit, ngx_uint_t n);
static void ngx_http_admission_limits_changed(ngx_http_request_t *r,
    ngx_uint_t answered);
static void ngx_http_admission_limits_back_from(
    ngx_http_admission_limits_t *limits, ngx_uint_t first);
static void ngx_http_admission_limit_run_back(
    ngx_http_admission_redis_t *redis, ngx_http_admission_limit_t **back,
    ngx_uint_t n);
static ngx_int_t ngx_http_admission_limits_verdict(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx, ngx_uint_t refused, ngx_uint_t closed);
static void ngx_http_admission_limit_count(ngx_http_request_t *r,
    ngx_http_admission_limit_t *limit, ngx_uint_t refused);


ngx_int_t
ngx_http_admission_gate_limits(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx)
{
    ngx_int_t                       rc;
    ngx_http_admission_limits_t    *limits;
    ngx_http_admission_loc_conf_t  *lcf;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    if (lcf->limits == NULL || lcf->limits->nelts == 0) {
        return NGX_OK;
    }

    limits = ngx_http_admission_limits_get(r, ctx);
    if (limits == NULL) {
        return NGX_ERROR;
    }

    if (limits->pass != r->uri_changes) {
        limits->pass = r->uri_changes;

        rc = ngx_http_admission_limits_collect(r, ctx, lcf->limits);

        if (rc == NGX_OK) {
            rc = ngx_http_admission_limits_ask(r, ctx);
        }

        if (rc != NGX_OK) {
            return (rc == NGX_DECLINED) ? NGX_OK : rc;
        }
    }

    return ngx_http_admission_limits_decide(r, ctx);
}


void
ngx_http_admission_limits_back(ngx_http_admission_limits_t *limits)
{
    ngx_http_admission_limits_back_from(limits, 0);
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


/* a full one; else that with the fewest requests left, for longest */

ngx_http_admission_limit_t *
ngx_http_admission_limit_told(ngx_http_admission_ctx_t *ctx)
{
    ngx_uint_t                   i;
    ngx_http_admission_limit_t  *limit, *told;

    if (ctx->limits == NULL) {
        return NULL;
    }

    limit = ctx->limits->all.elts;
    told = NULL;

    for (i = 0; i < ctx->limits->all.nelts; i++) {

        if (limit[i].conf->dry_run || !(limit[i].redis || limit[i].local)) {
            continue;
        }

        if (told == NULL
            || limit[i].left < told->left
            || (limit[i].left == told->left && limit[i].wait > told->wait))
        {
            told = &limit[i];
        }
    }

    return told;
}


static ngx_http_admission_limits_t *
ngx_http_admission_limits_get(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx)
{
    ngx_http_admission_limits_t  *limits;

    if (ctx->limits) {
        return ctx->limits;
    }

    limits = ngx_pcalloc(r->pool, sizeof(ngx_http_admission_limits_t));
    if (limits == NULL) {
        return NULL;
    }

    if (ngx_array_init(&limits->all, r->pool, 2,
                       sizeof(ngx_http_admission_limit_t))
        != NGX_OK)
    {
        return NULL;
    }

    limits->request = r;
    ctx->limits = limits;

    return limits;
}


/* NGX_DECLINED: there is none */

static ngx_int_t
ngx_http_admission_limits_collect(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx, ngx_array_t *confs)
{
    ngx_int_t                         rc;
    ngx_str_t                         key;
    ngx_uint_t                        i, n;
    ngx_http_admission_limit_t       *limit, *before;
    ngx_http_admission_limits_t      *limits;
    ngx_http_admission_limit_conf_t  *conf;

    limits = ctx->limits;
    limits->first = limits->all.nelts;
    limits->nasked = 0;

    conf = confs->elts;

    for (i = 0; i < confs->nelts; i++) {

        rc = ngx_http_admission_limit_key(r, ctx, &conf[i], &key);

        if (rc == NGX_ERROR) {
            return NGX_ERROR;
        }

        if (rc == NGX_DECLINED) {
            continue;
        }

        before = ngx_http_admission_limit_find(limits, &key);
        limit = limits->all.elts;

        if (before && before >= limit + limits->first) {
            ngx_http_admission_limit_stricter(before, &conf[i]);
            continue;
        }

        n = before ? before - limit : 0;

        limit = ngx_array_push(&limits->all);
        if (limit == NULL) {
            return NGX_ERROR;
        }

        ngx_memzero(limit, sizeof(ngx_http_admission_limit_t));

        limit->conf = &conf[i];
        limit->key = key;

        if (before) {
            before = limits->all.elts;

            if (ngx_http_admission_limit_again(limit, &before[n]) != NGX_OK) {
                limits->all.nelts--;
            }
        }
    }

    limit = limits->all.elts;

    for (i = limits->first; i < limits->all.nelts; i++) {
        if (!limit[i].known && !limit[i].missed) {
            limits->asked[limits->nasked++] = &limit[i];
        }
    }

    return (limits->all.nelts > limits->first) ? NGX_OK : NGX_DECLINED;
}


/* the last that was to be judged, not one that followed from another */

static ngx_http_admission_limit_t *
ngx_http_admission_limit_find(ngx_http_admission_limits_t *limits,
    ngx_str_t *key)
{
    ngx_uint_t                   i;
    ngx_http_admission_limit_t  *limit;

    limit = limits->all.elts;

    for (i = limits->all.nelts; i-- > 0; /* void */) {

        if (!limit[i].known
            && limit[i].key.len == key->len
            && ngx_memcmp(limit[i].key.data, key->data, key->len) == 0)
        {
            return &limit[i];
        }
    }

    return NULL;
}


/* two "key=" of one place have the same value */

static void
ngx_http_admission_limit_stricter(ngx_http_admission_limit_t *limit,
    ngx_http_admission_limit_conf_t *conf)
{
    if (conf->dry_run > limit->conf->dry_run) {
        return;
    }

    if (conf->dry_run < limit->conf->dry_run
        || (ngx_http_admission_limit_same(conf, limit->conf)
            && conf->quota < limit->conf->quota))
    {
        limit->conf = conf;
    }
}


/*
 * How a request that came by another place stands here.  NGX_DECLINED: a
 * trial that can not be judged without harm to what was charged.
 */

static ngx_int_t
ngx_http_admission_limit_again(ngx_http_admission_limit_t *limit,
    ngx_http_admission_limit_t *before)
{
    limit->missed = !before->redis;

    if (!before->charged) {
        /* a trial was full, or nobody judged it */
        return NGX_OK;
    }

    limit->again = 1;

    limit->left = before->left
                  + ((int64_t) limit->conf->quota
                     - (int64_t) before->conf->quota);

    if (ngx_http_admission_limit_same(limit->conf, before->conf)
        && (limit->left >= 0 || limit->conf->dry_run))
    {
        limit->left = ngx_max(limit->left, -1);
        limit->wait = before->wait;
        limit->redis = before->redis;
        limit->local = before->local;
        limit->known = 1;

        return NGX_OK;
    }

    if (limit->conf->dry_run) {
        return NGX_DECLINED;
    }

    limit->left = 0;

    if (before->local) {
        ngx_http_admission_limit_local_back(before);

    } else {
        limit->instead = before->at;
    }

    before->charged = 0;

    return NGX_OK;
}


static ngx_uint_t
ngx_http_admission_limit_same(ngx_http_admission_limit_conf_t *a,
    ngx_http_admission_limit_conf_t *b)
{
    return a->window == b->window && a->algorithm == b->algorithm;
}


/* NGX_AGAIN; or NGX_OK: Redis can not be asked */

static ngx_int_t
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


/* with what Redis said, and without it by "fail=" */

static ngx_int_t
ngx_http_admission_limits_decide(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx)
{
    ngx_uint_t                   i, n, alone, missing, closed, refused;
    ngx_http_admission_limit_t  *limit;
    ngx_http_admission_limit_t  *local[NGX_HTTP_ADMISSION_LIMITS_MAX];

    limit = ctx->limits->all.elts;
    limit += ctx->limits->first;
    n = ctx->limits->all.nelts - ctx->limits->first;

    alone = 0;
    missing = 0;
    closed = 0;

    for (i = 0; i < n; i++) {

        if (limit[i].redis || limit[i].local) {
            continue;
        }

        missing = 1;

        switch (limit[i].conf->fail) {

        case NGX_HTTP_ADMISSION_FAIL_LOCAL:
            local[alone++] = &limit[i];
            break;

        case NGX_HTTP_ADMISSION_FAIL_CLOSED:
            closed |= !limit[i].conf->dry_run;
            break;
        }
    }

    if (ctx->limits->nasked) {
        ngx_http_admission_limits_changed(r, !missing);
    }

    refused = ngx_http_admission_limits_refused(limit, n);

    if (!refused && !closed && alone) {

        ngx_http_admission_limit_local(local, alone);

        for (i = 0; i < alone; i++) {
            local[i]->local = 1;
        }

        refused = ngx_http_admission_limits_refused(limit, n);
    }

    /* some node charged it; in a dry run that is all that has to go */

    if (refused || closed) {
        ngx_http_admission_limits_back_from(ctx->limits, ctx->limits->first);
    }

    return ngx_http_admission_limits_verdict(r, ctx, refused, closed);
}


/* whether one is full that is not there for a trial */

static ngx_uint_t
ngx_http_admission_limits_refused(ngx_http_admission_limit_t *limit,
    ngx_uint_t n)
{
    ngx_uint_t  i;

    for (i = 0; i < n; i++) {
        if (limit[i].left < 0 && !limit[i].conf->dry_run) {
            return 1;
        }
    }

    return 0;
}


static void
ngx_http_admission_limits_changed(ngx_http_request_t *r, ngx_uint_t answered)
{
    if (!ngx_http_admission_limit_changed(answered)) {
        return;
    }

    if (answered) {
        ngx_log_error(NGX_LOG_NOTICE, r->connection->log, 0,
                      "admission: redis answers again, "
                      "rate limits are counted there");

    } else {
        ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
                      "admission: redis does not answer, rate limits go by "
                      "\"fail=\"");
    }
}


static void
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


static ngx_int_t
ngx_http_admission_limits_verdict(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx, ngx_uint_t refused, ngx_uint_t closed)
{
    const char                     *reason;
    ngx_uint_t                      i, n;
    ngx_http_admission_limit_t     *limit, *full;
    ngx_http_admission_loc_conf_t  *lcf;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    limit = ctx->limits->all.elts;
    limit += ctx->limits->first;
    n = ctx->limits->all.nelts - ctx->limits->first;

    full = NULL;

    for (i = 0; i < n; i++) {

        if (!limit[i].conf->dry_run && !lcf->dry_run) {
            /* others get another answer: a trial tells the client nothing */
            ctx->gated = 1;
        }

        ngx_http_admission_limit_count(r, &limit[i], refused || closed);

        if (limit[i].left < 0
            && (full == NULL
                || full->conf->dry_run > limit[i].conf->dry_run
                || (full->conf->dry_run == limit[i].conf->dry_run
                    && full->wait < limit[i].wait)))
        {
            full = &limit[i];
        }
    }

    reason = full ? (const char *) full->conf->category->name.data : NULL;

    if (refused) {
        return ngx_http_admission_gate_deny(ctx,
                                          NGX_HTTP_ADMISSION_VERDICT_LIMITED,
                                          reason);
    }

    if (closed) {
        return ngx_http_admission_gate_deny(ctx,
                                            NGX_HTTP_ADMISSION_VERDICT_ERROR,
                                            ngx_http_admission_reason(REDIS));
    }

    if (full) {
        ctx->verdict = NGX_HTTP_ADMISSION_VERDICT_LIMITED;
        ctx->reason = reason;
        ctx->dry_run = 1;

        ngx_log_error(NGX_LOG_INFO, r->connection->log, 0,
                      "admission: rate limit \"%s\" exceeded, dry run",
                      reason);

    } else if (ctx->verdict != NGX_HTTP_ADMISSION_VERDICT_BYPASS) {
        ctx->verdict = NGX_HTTP_ADMISSION_VERDICT_PASS;
        ctx->reason = NULL;
        ctx->dry_run = 0;
    }

    return NGX_OK;
}


/* one that had room for what another one refused counts nothing */

static void
ngx_http_admission_limit_count(ngx_http_request_t *r,
    ngx_http_admission_limit_t *limit, ngx_uint_t refused)
{
    ngx_http_admission_count_e      what;
    ngx_http_admission_loc_conf_t  *lcf;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    if (limit->left < 0) {

        if (limit->conf->dry_run || lcf->dry_run) {
            what = NGX_HTTP_ADMISSION_COUNT_DRY_RUN;

        } else {
            what = limit->local ? NGX_HTTP_ADMISSION_COUNT_LOCAL_LIMITED
                                : NGX_HTTP_ADMISSION_COUNT_LIMITED;
        }

    } else if (limit->redis || limit->local) {

        /* likewise what an earlier place has counted */

        if (refused || limit->again) {
            return;
        }

        what = limit->local ? NGX_HTTP_ADMISSION_COUNT_LOCAL_ALLOWED
                            : NGX_HTTP_ADMISSION_COUNT_ALLOWED;

    } else if (limit->conf->fail == NGX_HTTP_ADMISSION_FAIL_LOCAL) {
        /* it was not asked any more */
        return;

    } else {
        what = NGX_HTTP_ADMISSION_COUNT_ERROR;
    }

    ngx_http_admission_count(limit->conf->category, what);
}
