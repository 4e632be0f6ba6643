
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Whose windows a request is charged to, at each place that it comes to, and
 * what each is known by.
 *
 * A request that is redirected to another place was charged to some of the
 * windows there.  How it stands by other quotas follows from what was said
 * then.  If it has no room by them, or the window is of another kind, Redis is
 * asked to judge anew, as if it had not been charged.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>
#include <ngx_sha1.h>

#include "../base/address.h"
#include "../base/text.h"
#include "local.h"
#include "parts.h"


#define NGX_ADM_LIMIT_KEY         "rate:"

/* bytes of a client that its key shows; a longer one is hashed */
#define NGX_ADM_LIMIT_CLIENT_MAX  64


static ngx_int_t ngx_adm_limit_key(ngx_http_request_t *r, ngx_adm_ctx_t *ctx,
    ngx_adm_limit_conf_t *conf, ngx_str_t *key);
static ngx_adm_limit_t *ngx_adm_limit_find(ngx_adm_limits_t *limits,
    ngx_str_t *key);
static void ngx_adm_limit_stricter(ngx_adm_limit_t *limit,
    ngx_adm_limit_conf_t *conf);
static ngx_int_t ngx_adm_limit_again(ngx_adm_limit_t *limit,
    ngx_adm_limit_t *before);
static ngx_uint_t ngx_adm_limit_same(ngx_adm_limit_conf_t *a,
    ngx_adm_limit_conf_t *b);


ngx_int_t
ngx_adm_limits_collect(ngx_http_request_t *r, ngx_adm_ctx_t *ctx,
    ngx_array_t *confs)
{
    ngx_int_t              rc;
    ngx_str_t              key;
    ngx_uint_t             i, n;
    ngx_adm_limit_t       *limit, *before;
    ngx_adm_limits_t      *limits;
    ngx_adm_loc_conf_t    *lcf;
    ngx_adm_limit_conf_t  *conf;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    limits = ctx->limits;
    limits->first = limits->all.nelts;
    limits->nasked = 0;

    conf = confs->elts;

    for (i = 0; i < confs->nelts; i++) {

        rc = ngx_adm_limit_key(r, ctx, &conf[i], &key);

        if (rc == NGX_ERROR) {
            return NGX_ERROR;
        }

        if (rc == NGX_DECLINED) {
            continue;
        }

        limit = limits->all.elts;
        before = limits->all.nelts ? ngx_adm_limit_find(limits, &key) : NULL;

        if (before && before >= limit + limits->first) {
            ngx_adm_limit_stricter(before, &conf[i]);
            continue;
        }

        n = before ? before - limit : 0;

        limit = ngx_array_push(&limits->all);
        if (limit == NULL) {
            return NGX_ERROR;
        }

        ngx_memzero(limit, sizeof(ngx_adm_limit_t));

        limit->conf = &conf[i];
        limit->key = key;

        if (before) {
            before = limits->all.elts;

            if (ngx_adm_limit_again(limit, &before[n]) != NGX_OK) {
                limits->all.nelts--;
            }
        }
    }

    limit = limits->all.elts;

    for (i = limits->first; i < limits->all.nelts; i++) {

        limit[i].trial = limit[i].conf->dry_run || lcf->dry_run;

        if (!limit[i].known && !limit[i].missed) {
            limits->asked[limits->nasked++] = &limit[i];
        }
    }

    return (limits->all.nelts > limits->first) ? NGX_OK : NGX_DECLINED;
}


/*
 * The key of the request's window, with the prefix, in the request's pool;
 * NGX_DECLINED: nobody is limited.
 */

static ngx_int_t
ngx_adm_limit_key(ngx_http_request_t *r, ngx_adm_ctx_t *ctx,
    ngx_adm_limit_conf_t *conf, ngx_str_t *key)
{
    u_char      *p, hash[40], digest[20];
    size_t       i;
    ngx_str_t    client, prefix, *category;
    ngx_sha1_t   sha1;

    if (conf->key) {

        if (ngx_http_complex_value(r, conf->key, &client) != NGX_OK) {
            return NGX_ERROR;
        }

        if (client.len == 0) {
            return NGX_DECLINED;
        }

    } else {

        if (ngx_adm_client_name(r, &ctx->user.id, conf->ipv6_prefix, &client)
            != NGX_OK)
        {
            return NGX_ERROR;
        }
    }

    /* braces would choose the cluster slot */

    for (i = 0; i < client.len; i++) {
        if (client.data[i] == '{' || client.data[i] == '}') {
            break;
        }
    }

    if (i < client.len || client.len > NGX_ADM_LIMIT_CLIENT_MAX) {

        ngx_sha1_init(&sha1);
        ngx_sha1_update(&sha1, client.data, client.len);
        ngx_sha1_final(digest, &sha1);

        client.data = hash;
        client.len = ngx_hex_dump(hash, digest, sizeof(digest)) - hash;
    }

    ngx_str_null(&prefix);

    if (ngx_adm_redis) {
        prefix = ngx_adm_key_prefix;
    }

    category = &conf->category->name;

    key->len = prefix.len + sizeof(NGX_ADM_LIMIT_KEY ":") - 1
               + category->len + client.len;

    p = ngx_pnalloc(r->pool, key->len);
    if (p == NULL) {
        return NGX_ERROR;
    }

    key->data = p;

    if (prefix.len) {
        p = ngx_cpymem(p, prefix.data, prefix.len);
    }

    p = ngx_cpymem(p, NGX_ADM_LIMIT_KEY, sizeof(NGX_ADM_LIMIT_KEY) - 1);
    p = ngx_cpymem(p, category->data, category->len);
    *p++ = ':';
    ngx_memcpy(p, client.data, client.len);

    return NGX_OK;
}


/* the last one judged for itself, not one that followed from another */

static ngx_adm_limit_t *
ngx_adm_limit_find(ngx_adm_limits_t *limits, ngx_str_t *key)
{
    ngx_uint_t        i;
    ngx_adm_limit_t  *limit;

    limit = limits->all.elts;

    for (i = limits->all.nelts; i-- > 0; /* void */) {

        if (!limit[i].known && ngx_adm_str_same(&limit[i].key, key)) {
            return &limit[i];
        }
    }

    return NULL;
}


/* of two limits with the same window, and so the same key: the stricter */

static void
ngx_adm_limit_stricter(ngx_adm_limit_t *limit, ngx_adm_limit_conf_t *conf)
{
    if (conf->dry_run > limit->conf->dry_run) {
        return;
    }

    if (conf->dry_run < limit->conf->dry_run
        || (ngx_adm_limit_same(conf, limit->conf)
            && conf->quota < limit->conf->quota))
    {
        limit->conf = conf;
    }
}


/*
 * How a request that came through another location stands here.  NGX_DECLINED:
 * a trial that can't be judged without harm to what was charged.
 */

static ngx_int_t
ngx_adm_limit_again(ngx_adm_limit_t *limit, ngx_adm_limit_t *before)
{
    limit->missed = !before->redis;

    if (!before->charged) {
        /* a trial that was full, or that nobody judged */
        return NGX_OK;
    }

    limit->again = 1;

    limit->left = before->left
                  + ((int64_t) limit->conf->quota
                     - (int64_t) before->conf->quota);

    if (ngx_adm_limit_same(limit->conf, before->conf)
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
        ngx_adm_limit_local_back(before);

    } else {
        limit->instead = before->at;
    }

    before->charged = 0;

    return NGX_OK;
}


static ngx_uint_t
ngx_adm_limit_same(ngx_adm_limit_conf_t *a, ngx_adm_limit_conf_t *b)
{
    return a->window == b->window && a->algorithm == b->algorithm;
}
