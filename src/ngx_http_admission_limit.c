
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The limits of a location, judged together: all windows are charged, or
 * none.  On a single node that is one script; of windows on several nodes
 * each is asked by itself, at the same time, and what was charged in vain is
 * given back.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>
#include <ngx_sha1.h>

#include "ngx_http_admission_address.h"
#include "ngx_http_admission_args.h"
#include "ngx_http_admission_counts.h"
#include "ngx_http_admission_gate.h"
#include "ngx_http_admission_limit.h"
#include "ngx_http_admission_limit_local.h"
#include "ngx_http_admission_reason.h"
#include "ngx_http_admission_user.h"


#define NGX_HTTP_ADMISSION_LIMIT_KEY         "rate:"

/* bytes of a client that its key shows */
#define NGX_HTTP_ADMISSION_LIMIT_CLIENT_MAX  64

#define NGX_HTTP_ADMISSION_LIMIT_ARGS        4      /* of the script, each */


#define ngx_http_admission_limit_letter(conf)                                 \
    ((u_char *) ((conf)->algorithm == NGX_HTTP_ADMISSION_LIMIT_LOG            \
                 ? "l" : "c"))


/* a script under way, which charges n limits from the first one on */
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

    ngx_http_admission_limit_call_t    calls[NGX_HTTP_ADMISSION_LIMITS_MAX];
    ngx_uint_t                         pending;
};


static ngx_http_admission_limits_t *ngx_http_admission_limits_get(
    ngx_http_request_t *r, ngx_http_admission_ctx_t *ctx);
static ngx_int_t ngx_http_admission_limits_collect(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx, ngx_array_t *confs);
static ngx_int_t ngx_http_admission_limit_key(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx, ngx_http_admission_limit_conf_t *conf,
    ngx_str_t *key);
static void ngx_http_admission_limit_client(ngx_str_t *client, u_char *hash);
static ngx_uint_t ngx_http_admission_limit_charged(
    ngx_http_admission_limits_t *limits, ngx_str_t *key);

static ngx_int_t ngx_http_admission_limits_ask(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx);
static ngx_http_admission_redis_call_t *ngx_http_admission_limit_run(
    ngx_http_admission_limit_call_t *call);
static void ngx_http_admission_limit_done(void *data, ngx_int_t rc,
    redisReply *reply);
static ngx_int_t ngx_http_admission_limit_reply(
    ngx_http_admission_limit_t *limit, ngx_uint_t n, redisReply *reply);

static ngx_int_t ngx_http_admission_limits_decide(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx);
static ngx_uint_t ngx_http_admission_limits_refused(
    ngx_http_admission_limit_t *limit, ngx_uint_t n);
static void ngx_http_admission_limits_changed(ngx_http_request_t *r,
    ngx_uint_t answered);
static void ngx_http_admission_limits_back(ngx_http_admission_limit_t *limit,
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
ngx_http_admission_limits_cancel(ngx_http_admission_limits_t *limits)
{
    ngx_uint_t  i;

    for (i = 0; i < NGX_HTTP_ADMISSION_LIMITS_MAX; i++) {
        if (limits->calls[i].call) {
            ngx_http_admission_redis_cancel(limits->calls[i].call);
            limits->calls[i].call = NULL;
        }
    }
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


/* NGX_DECLINED: there is none that the request was not charged to before */

static ngx_int_t
ngx_http_admission_limits_collect(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx, ngx_array_t *confs)
{
    ngx_int_t                         rc;
    ngx_str_t                         key;
    ngx_uint_t                        i;
    ngx_http_admission_limit_t       *limit;
    ngx_http_admission_limits_t      *limits;
    ngx_http_admission_limit_conf_t  *conf;

    limits = ctx->limits;
    limits->first = limits->all.nelts;

    conf = confs->elts;

    for (i = 0; i < confs->nelts; i++) {

        rc = ngx_http_admission_limit_key(r, ctx, &conf[i], &key);

        if (rc == NGX_ERROR) {
            return NGX_ERROR;
        }

        if (rc == NGX_DECLINED
            || ngx_http_admission_limit_charged(limits, &key))
        {
            continue;
        }

        limit = ngx_array_push(&limits->all);
        if (limit == NULL) {
            return NGX_ERROR;
        }

        ngx_memzero(limit, sizeof(ngx_http_admission_limit_t));

        limit->conf = &conf[i];
        limit->key = key;
    }

    return (limits->all.nelts > limits->first) ? NGX_OK : NGX_DECLINED;
}


/* NGX_DECLINED: nobody is limited */

static ngx_int_t
ngx_http_admission_limit_key(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx, ngx_http_admission_limit_conf_t *conf,
    ngx_str_t *key)
{
    u_char      hash[40];
    ngx_str_t   client, prefix, *category;

    if (conf->key) {

        if (ngx_http_complex_value(r, conf->key, &client) != NGX_OK) {
            return NGX_ERROR;
        }

        if (client.len == 0) {
            return NGX_DECLINED;
        }

    } else {

        if (ngx_http_admission_user_find(r, ctx) != NGX_OK
            || ngx_http_admission_client_name(r, &ctx->user.id,
                                              conf->ipv6_prefix, &client)
               != NGX_OK)
        {
            return NGX_ERROR;
        }
    }

    ngx_http_admission_limit_client(&client, hash);

    ngx_str_null(&prefix);

    if (ngx_http_admission_redis()) {
        prefix = *ngx_http_admission_key_prefix();
    }

    category = &conf->category->name;

    key->len = prefix.len + sizeof(NGX_HTTP_ADMISSION_LIMIT_KEY ":") - 1
               + category->len + client.len;

    key->data = ngx_pnalloc(r->pool, key->len);
    if (key->data == NULL) {
        return NGX_ERROR;
    }

    ngx_sprintf(key->data, "%V" NGX_HTTP_ADMISSION_LIMIT_KEY "%V:%V",
                &prefix, category, &client);

    return NGX_OK;
}


/* braces would choose the slot */

static void
ngx_http_admission_limit_client(ngx_str_t *client, u_char *hash)
{
    u_char      digest[20];
    ngx_sha1_t  sha1;

    if (client->len <= NGX_HTTP_ADMISSION_LIMIT_CLIENT_MAX
        && ngx_strlchr(client->data, client->data + client->len, '{') == NULL
        && ngx_strlchr(client->data, client->data + client->len, '}') == NULL)
    {
        return;
    }

    ngx_sha1_init(&sha1);
    ngx_sha1_update(&sha1, client->data, client->len);
    ngx_sha1_final(digest, &sha1);

    client->data = hash;
    client->len = ngx_hex_dump(hash, digest, sizeof(digest)) - hash;
}


static ngx_uint_t
ngx_http_admission_limit_charged(ngx_http_admission_limits_t *limits,
    ngx_str_t *key)
{
    ngx_uint_t                   i;
    ngx_http_admission_limit_t  *limit;

    limit = limits->all.elts;

    for (i = 0; i < limits->all.nelts; i++) {

        /* a trial that was full charged nothing */

        if (limit[i].left >= 0
            && limit[i].key.len == key->len
            && ngx_memcmp(limit[i].key.data, key->data, key->len) == 0)
        {
            return 1;
        }
    }

    return 0;
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
    n = limits->all.nelts - limits->first;
    each = ngx_http_admission_redis_one_node(redis) ? n : 1;

    call = limits->calls;

    for (i = 0; i < n; i += each) {

        call->limits = limits;
        call->first = limits->first + i;
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
    ngx_http_admission_limit_t       *limit;
    ngx_http_admission_limit_conf_t  *conf;

    ngx_str_t  argv[NGX_HTTP_ADMISSION_LIMITS_MAX
                    * (1 + NGX_HTTP_ADMISSION_LIMIT_ARGS)];

    limit = call->limits->all.elts;
    limit += call->first;

    arg = argv + call->n;

    for (i = 0; i < call->n; i++) {

        conf = limit[i].conf;
        argv[i] = limit[i].key;

        arg[0].len = 1;
        arg[0].data = ngx_http_admission_limit_letter(conf);
        arg[1] = conf->quota_text;
        arg[2] = conf->window_text;
        arg[3].len = 1;
        arg[3].data = (u_char *) (conf->dry_run ? "1" : "0");

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
    ngx_http_admission_limit_t   *limit;
    ngx_http_admission_limits_t  *limits;

    static time_t  logged;

    limits = call->limits;
    r = limits->request;

    limit = limits->all.elts;

    call->call = NULL;
    limits->pending--;

    if (rc == NGX_OK) {
        rc = ngx_http_admission_limit_reply(&limit[call->first], call->n,
                                            reply);
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
ngx_http_admission_limit_reply(ngx_http_admission_limit_t *limit,
    ngx_uint_t n, redisReply *reply)
{
    int64_t     v[1 + 2 * NGX_HTTP_ADMISSION_LIMITS_MAX];
    ngx_uint_t  i;

    if (ngx_http_admission_reply_numbers(reply, v, 1 + 2 * n, 0) != NGX_OK) {
        return NGX_DECLINED;
    }

    for (i = 0; i < n; i++) {
        limit[i].at = v[0];
        limit[i].left = v[1 + 2 * i];
        limit[i].wait = v[2 + 2 * i];
        limit[i].redis = 1;
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

        if (limit[i].redis) {
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

    ngx_http_admission_limits_changed(r, !missing);

    refused = ngx_http_admission_limits_refused(limit, n);

    if (!refused && !closed && alone) {

        ngx_http_admission_limit_local(local, alone);

        for (i = 0; i < alone; i++) {
            local[i]->local = 1;
        }

        refused = ngx_http_admission_limits_refused(limit, n);
    }

    if (refused || closed) {
        ngx_http_admission_limits_back(limit, n);
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


/* of several nodes, those that charged it did so in vain */

static void
ngx_http_admission_limits_back(ngx_http_admission_limit_t *limit,
    ngx_uint_t n)
{
    u_char                       at[NGX_INT64_LEN];
    ngx_str_t                    argv[3];
    ngx_uint_t                   i;
    ngx_http_admission_redis_t  *redis;

    redis = ngx_http_admission_redis();

    if (redis == NULL || ngx_http_admission_redis_one_node(redis)) {
        return;
    }

    for (i = 0; i < n; i++) {

        if (!limit[i].redis || limit[i].left < 0) {
            continue;
        }

        argv[0] = limit[i].key;
        argv[1].len = 1;
        argv[1].data = ngx_http_admission_limit_letter(limit[i].conf);
        argv[2].data = at;
        argv[2].len = ngx_sprintf(at, "%L", limit[i].at) - at;

        (void) ngx_http_admission_script_run(redis,
                                        &ngx_http_admission_script_limit_back,
                                        1, 3, argv, NULL, NULL);
    }
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

        if (refused) {
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
