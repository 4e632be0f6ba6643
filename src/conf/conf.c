
/*
 * Copyright (C) 2026 the admission module authors
 *
 * How configuration is made, how its levels inherit from each other, and what
 * has to be there together.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../host/zone.h"
#include "../token/draw.h"
#include "conf.h"
#include "parse.h"


#define NGX_ADM_ZONE_NAME  "admission"
#define NGX_ADM_ZONE_SIZE  (8 * 1024 * 1024)

#define NGX_ADM_KEYS_BUFFER  65536


static char *ngx_adm_merge_secrets(ngx_conf_t *cf, ngx_adm_loc_conf_t *prev,
    ngx_adm_loc_conf_t *conf);
static char *ngx_adm_merge_verifiers(ngx_conf_t *cf, ngx_adm_loc_conf_t *prev,
    ngx_adm_loc_conf_t *conf);
static ngx_int_t ngx_adm_derive(ngx_conf_t *cf, ngx_adm_loc_conf_t *prev,
    ngx_adm_loc_conf_t *conf, ngx_uint_t secret, ngx_adm_token_e kind,
    const char *label);
static void ngx_adm_check_keys(ngx_conf_t *cf, ngx_adm_loc_conf_t *conf);
static char *ngx_adm_require(ngx_conf_t *cf, ngx_adm_loc_conf_t *conf);
static char *ngx_adm_lacks(ngx_conf_t *cf, const char *what,
    const char *needs);


void *
ngx_adm_create_main_conf(ngx_conf_t *cf)
{
    ngx_adm_main_conf_t  *mcf;

    mcf = ngx_pcalloc(cf->pool, sizeof(ngx_adm_main_conf_t));
    if (mcf == NULL) {
        return NULL;
    }

    ngx_rbtree_init(&mcf->events, &mcf->sentinel, ngx_str_rbtree_insert_value);

    ngx_adm_event_builtin(&mcf->event_default);

    mcf->streams = NGX_CONF_UNSET;

    return mcf;
}


char *
ngx_adm_init_main_conf(ngx_conf_t *cf, void *conf)
{
    ngx_adm_main_conf_t  *mcf = conf;

    if (mcf->redis && ngx_adm_redis_init(cf, mcf->redis) != NGX_CONF_OK) {
        return NGX_CONF_ERROR;
    }

    if (!mcf->events_seen) {
        return ngx_adm_event_finish(cf, &mcf->event_default,
                                    &mcf->event_default);
    }

    return NGX_CONF_OK;
}


char *
ngx_adm_complete_main_conf(ngx_conf_t *cf, ngx_adm_main_conf_t *mcf)
{
    ngx_str_t  name = ngx_string(NGX_ADM_ZONE_NAME);

    ngx_adm_routes_check(cf, mcf);

    if (mcf->zone) {
        return NGX_CONF_OK;
    }

    mcf->zone = ngx_adm_zone_add(cf, &name, NGX_ADM_ZONE_SIZE,
                                 &ngx_http_admission_module);

    return mcf->zone ? NGX_CONF_OK : NGX_CONF_ERROR;
}


void *
ngx_adm_create_srv_conf(ngx_conf_t *cf)
{
    ngx_adm_srv_conf_t  *scf;

    scf = ngx_pcalloc(cf->pool, sizeof(ngx_adm_srv_conf_t));
    if (scf == NULL) {
        return NULL;
    }

    /*
     * set by the locations, when they merge:
     *
     *     scf->users = 0;
     *     scf->gated = 0;
     *     scf->edges = NULL;
     *     scf->assign = NULL;
     */

    return scf;
}


void *
ngx_adm_create_loc_conf(ngx_conf_t *cf)
{
    ngx_adm_loc_conf_t  *conf;

    /*
     * set by ngx_pcalloc():
     *
     *     conf->event = NULL;
     *     conf->user = NULL;
     *     conf->tier1 = NULL;
     *     conf->tier2 = NULL;
     *     conf->waiting_uri = NULL;
     *     conf->queue_uri = NULL;
     *     conf->login_uri = NULL;
     *     conf->bypass = NULL;
     *     conf->edge = NULL;
     *     conf->cors = NULL;
     *     conf->limits = NULL;
     *     conf->cookies = { NULL };
     *     conf->secrets = { NULL };
     *     conf->verifiers = { { 0 } };
     *     conf->draw = NULL;
     *     conf->content = NGX_ADM_CONTENT_NONE;
     *     conf->content_name = NULL;
     *     conf->content_file = { 0, NULL };
     *     conf->content_line = 0;
     *     conf->handler = NULL;
     *     conf->routes = NULL;
     *     conf->page = NULL;
     *     conf->admin = 0;
     *     conf->intake = NULL;
     */

    conf = ngx_pcalloc(cf->pool, sizeof(ngx_adm_loc_conf_t));
    if (conf == NULL) {
        return NULL;
    }

    conf->deny = NGX_CONF_UNSET_UINT;
    conf->dry_run = NGX_CONF_UNSET;

    return conf;
}


char *
ngx_adm_merge_loc_conf(ngx_conf_t *cf, void *parent, void *child)
{
    ngx_adm_loc_conf_t  *prev = parent;
    ngx_adm_loc_conf_t  *conf = child;

    ngx_uint_t           i;
    ngx_adm_srv_conf_t  *scf;

#define ngx_adm_merge(member, value)                                          \
    if (conf->member == NULL) {                                               \
        conf->member = prev->member ? prev->member : value;                   \
    }

    ngx_adm_merge(event, NULL);
    ngx_adm_merge(user, &ngx_adm_user_default);
    ngx_adm_merge(tier1, &ngx_adm_tier1_default);
    ngx_adm_merge(tier2, &ngx_adm_tier2_default);
    ngx_adm_merge(waiting_uri, NULL);
    ngx_adm_merge(queue_uri, NULL);
    ngx_adm_merge(login_uri, NULL);
    ngx_adm_merge(bypass, NULL);
    ngx_adm_merge(cors, NULL);
    ngx_adm_merge(limits, NULL);

    for (i = 0; i < NGX_ADM_TOKEN_KINDS; i++) {
        ngx_adm_merge(cookies[i], &ngx_adm_cookie_defaults[i]);
    }

    ngx_conf_merge_uint_value(conf->deny, prev->deny, NGX_ADM_DENY_AUTO);
    ngx_conf_merge_value(conf->dry_run, prev->dry_run, 0);

    if (ngx_adm_cookies_differ(cf, conf) != NGX_CONF_OK
        || ngx_adm_merge_secrets(cf, prev, conf) != NGX_CONF_OK
        || ngx_adm_merge_verifiers(cf, prev, conf) != NGX_CONF_OK
        || ngx_adm_edge_merge(cf, prev, conf) != NGX_CONF_OK
        || ngx_adm_content_merge(cf, prev, conf) != NGX_CONF_OK
        || ngx_adm_routes_note(cf, prev, conf) != NGX_OK)
    {
        return NGX_CONF_ERROR;
    }

    ngx_adm_check_keys(cf, conf);

    scf = ngx_http_conf_get_module_srv_conf(cf, ngx_http_admission_module);

    if (conf->user->source != NGX_ADM_USER_OFF) {
        scf->users = 1;
    }

    if (conf->tier1->mode != NGX_ADM_OFF || conf->tier2->mode != NGX_ADM_OFF) {
        scf->gated = 1;
    }

    return ngx_adm_require(cf, conf);
}


static char *
ngx_adm_merge_secrets(ngx_conf_t *cf, ngx_adm_loc_conf_t *prev,
    ngx_adm_loc_conf_t *conf)
{
    ngx_uint_t                 i, j, own, server;
    ngx_http_core_srv_conf_t  *cscf;

    own = 0;

    cscf = ngx_http_conf_get_module_srv_conf(cf, ngx_http_core_module);

    server = (conf
              == cscf->ctx->loc_conf[ngx_http_admission_module.ctx_index]);

    for (i = 0; i < NGX_ADM_SECRETS; i++) {
        if (conf->secrets[i]) {
            own = 1;
            continue;
        }

        conf->secrets[i] = prev->secrets[i];

        /* each server has the locations of its own asked */

        if (conf->secrets[i] && server) {
            conf->secrets[i] = ngx_adm_secret_inherit(cf, conf->secrets[i]);

            if (conf->secrets[i] == NULL) {
                return NGX_CONF_ERROR;
            }
        }
    }

    if (conf->secrets[NGX_ADM_SECRET_USER] && server) {
        ngx_adm_secret_locate(cf, conf->secrets[NGX_ADM_SECRET_USER]);
    }

    if (!own) {
        return NGX_CONF_OK;
    }

    for (i = 1; i < NGX_ADM_SECRETS; i++) {
        for (j = 0; j < i; j++) {

            if (conf->secrets[i] && conf->secrets[j]
                && ngx_adm_keyring_overlap(conf->secrets[i], conf->secrets[j]))
            {
                ngx_log_error(NGX_LOG_EMERG, cf->log, 0,
                              "two kinds of \"admission_secret\", \"%V\" and "
                              "\"%V\", have the same secret in one server: "
                              "each kind needs its own",
                              &ngx_adm_secret_kinds[j].name,
                              &ngx_adm_secret_kinds[i].name);
                return NGX_CONF_ERROR;
            }
        }
    }

    return NGX_CONF_OK;
}


static char *
ngx_adm_merge_verifiers(ngx_conf_t *cf, ngx_adm_loc_conf_t *prev,
    ngx_adm_loc_conf_t *conf)
{
    ngx_uint_t           i;
    ngx_adm_verifier_t  *v;

    static const struct {
        ngx_uint_t       secret;
        ngx_adm_token_e  kind;
        const char      *label;
    } derived[] = {
        { NGX_ADM_SECRET_TIER1, NGX_ADM_TOKEN_VISITOR,
          "admission visitor" },
        { NGX_ADM_SECRET_TIER1, NGX_ADM_TOKEN_TICKET,
          "admission ticket" },
        { NGX_ADM_SECRET_TIER2, NGX_ADM_TOKEN_PLACE,
          "admission place" }
    };

    v = conf->verifiers;

    for (i = 0; i < NGX_ADM_TOKEN_KINDS; i++) {
        v[i].kind = i;
        v[i].algs = ngx_adm_alg_bit(NGX_ADM_HS256);
        v[i].leeway = NGX_ADM_LEEWAY;
    }

    v[NGX_ADM_TOKEN_TIER1].keys = conf->secrets[NGX_ADM_SECRET_TIER1];
    v[NGX_ADM_TOKEN_TIER2].keys = conf->secrets[NGX_ADM_SECRET_TIER2];

    if (conf->secrets[NGX_ADM_SECRET_TIER2]) {
        v[NGX_ADM_TOKEN_TIER2].algs |=
                                   conf->secrets[NGX_ADM_SECRET_TIER2]->older;
    }

    v += NGX_ADM_TOKEN_USER;

    v->keys = conf->secrets[NGX_ADM_SECRET_USER];
    v->algs = conf->user->algs;
    v->id = conf->user->id;
    v->email = conf->user->email;
    v->role = conf->user->role;
    v->type = conf->user->type;
    v->iss = conf->user->iss;
    v->aud = conf->user->aud;
    v->leeway = conf->user->leeway;

    if (v->algs == 0 && v->keys) {
        v->algs = (v->keys->keys.nelts ? ngx_adm_alg_bit(NGX_ADM_HS256) : 0)
                  | (v->keys->sources.nelts ? NGX_ADM_KEY_ALGS : 0);
    }

    for (i = 0; i < sizeof(derived) / sizeof(derived[0]); i++) {

        if (ngx_adm_derive(cf, prev, conf, derived[i].secret, derived[i].kind,
                           derived[i].label) != NGX_OK)
        {
            return NGX_CONF_ERROR;
        }
    }

    if (conf->secrets[NGX_ADM_SECRET_TIER1] == NULL) {
        return NGX_CONF_OK;
    }

    conf->draw = (prev->secrets[NGX_ADM_SECRET_TIER1]
                  == conf->secrets[NGX_ADM_SECRET_TIER1]) ? prev->draw : NULL;

    if (conf->draw == NULL) {
        conf->draw = ngx_adm_keyring_derive(cf->pool,
                                            conf->secrets[NGX_ADM_SECRET_TIER1],
                                            NGX_ADM_DRAW_LABEL);
    }

    return conf->draw ? NGX_CONF_OK : NGX_CONF_ERROR;
}


/* locations that inherit their secrets share what is derived from them */

static ngx_int_t
ngx_adm_derive(ngx_conf_t *cf, ngx_adm_loc_conf_t *prev,
    ngx_adm_loc_conf_t *conf, ngx_uint_t secret, ngx_adm_token_e kind,
    const char *label)
{
    if (conf->secrets[secret] == NULL) {
        return NGX_OK;
    }

    if (prev->verifiers[kind].keys
        && prev->secrets[secret] == conf->secrets[secret])
    {
        conf->verifiers[kind].keys = prev->verifiers[kind].keys;
        return NGX_OK;
    }

    conf->verifiers[kind].keys = ngx_adm_keyring_derive(cf->pool,
                                                 conf->secrets[secret], label);

    return conf->verifiers[kind].keys ? NGX_OK : NGX_ERROR;
}


/*
 * a larger answer counts for nothing, and key sets with certificates are long
 */

static void
ngx_adm_check_keys(ngx_conf_t *cf, ngx_adm_loc_conf_t *conf)
{
    ngx_uint_t                 i;
    ngx_adm_keyring_t         *keys;
    ngx_adm_key_source_t      *sources;
    ngx_http_core_loc_conf_t  *clcf;

    keys = conf->secrets[NGX_ADM_SECRET_USER];

    clcf = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);

    if (keys == NULL || clcf->noname
        || clcf->subrequest_output_buffer_size >= NGX_ADM_KEYS_BUFFER)
    {
        return;
    }

    sources = keys->sources.elts;

    for (i = 0; i < keys->sources.nelts; i++) {

        if (sources[i].uri && ngx_adm_str_same(&sources[i].name, &clcf->name)) {
            ngx_log_error(NGX_LOG_WARN, cf->log, 0,
                          "location \"%V\", which \"jwks_uri=\" of "
                          "\"admission_secret\" names, may answer with %uz "
                          "bytes at most: a key set needs "
                          "\"subrequest_output_buffer_size 64k\", or more",
                          &clcf->name, clcf->subrequest_output_buffer_size);
        }
    }
}


/* what a location needs to work at all, for "nginx -t" to say */

static char *
ngx_adm_require(ngx_conf_t *cf, ngx_adm_loc_conf_t *conf)
{
    ngx_uint_t            tier1, tier2, user, algs;
    const char           *what, *needs;
    ngx_adm_keyring_t    *keys;
    ngx_adm_main_conf_t  *mcf;

    what = NULL;
    needs = NULL;

    tier1 = conf->secrets[NGX_ADM_SECRET_TIER1] != NULL;
    tier2 = conf->secrets[NGX_ADM_SECRET_TIER2] != NULL;
    user = conf->user->source != NGX_ADM_USER_OFF;
    keys = conf->secrets[NGX_ADM_SECRET_USER];
    algs = conf->user->algs;

    if (conf->user->source == NGX_ADM_USER_JWT && keys == NULL) {
        what = "admission_user jwt";
        needs = "\"admission_secret user\"";

    } else if (keys && (algs & NGX_ADM_KEY_ALGS) && !keys->sources.nelts) {
        what = "admission_user jwt alg=";
        needs = "\"admission_secret user\" with \"jwks=\", \"jwks_uri=\" or "
                "\"pem=\" for what is not HS256, HS384 or HS512";

    } else if (keys && (algs & NGX_ADM_MAC_ALGS) && !keys->keys.nelts) {
        what = "admission_user jwt alg=";
        needs = "\"admission_secret user\" with a secret for HS256, HS384 and "
                "HS512";

    } else if (conf->secrets[NGX_ADM_SECRET_TIER2]
               && !ngx_adm_keyring_signs(conf->secrets[NGX_ADM_SECRET_TIER2]))
    {
        what = "admission_secret tier2 alg=";
        needs = "\"admission_secret tier2\" without \"alg=\", which signs";

    } else if (conf->user->source == NGX_ADM_USER_VISITOR && !tier1)
    {
        what = "admission_user visitor";
        needs = "\"admission_secret tier1\", which visitors are signed with";

    } else if (conf->tier1->mode != NGX_ADM_OFF && !tier1) {
        what = "admission_tier1";
        needs = "\"admission_secret tier1\"";

    } else if (conf->tier2->mode != NGX_ADM_OFF && !tier2) {
        what = "admission_tier2";
        needs = "\"admission_secret tier2\"";

    } else if (conf->tier2->mode != NGX_ADM_OFF
               && conf->tier2->bind && !user)
    {
        what = "admission_tier2";
        needs = "\"admission_user\", or \"bind=off\" to let the holder of a "
                "token pass whoever it is";

    } else if (conf->content == NGX_ADM_CONTENT_QUEUE && !tier2) {
        what = "admission_queue_api";
        needs = "\"admission_secret tier2\"";

    } else if (conf->content == NGX_ADM_CONTENT_QUEUE
               && !conf->admin && !user)
    {
        what = "admission_queue_api";
        needs = "\"admission_user\"";

    } else if (conf->content == NGX_ADM_CONTENT_ROOM && !tier1) {
        what = "admission_vwr_api";
        needs = "\"admission_secret tier1\"";
    }

    if (what) {
        return ngx_adm_lacks(cf, what, needs);
    }

    /*
     * A secret of tier 2 is enough: $admission_event says, anywhere, what an
     * entry token does, and the zone has whether that token has ended.
     */

    if (user
        || conf->tier1->mode != NGX_ADM_OFF
        || conf->tier2->mode != NGX_ADM_OFF
        || conf->limits
        || conf->edge->name.len
        || tier2
        || conf->content != NGX_ADM_CONTENT_NONE)
    {
        mcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_admission_module);
        mcf->in_use = 1;
    }

    return NGX_CONF_OK;
}


static char *
ngx_adm_lacks(ngx_conf_t *cf, const char *what, const char *needs)
{
    ngx_http_core_loc_conf_t  *clcf;
    ngx_http_core_srv_conf_t  *cscf;

    clcf = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);
    cscf = ngx_http_conf_get_module_srv_conf(cf, ngx_http_core_module);

    ngx_log_error(NGX_LOG_EMERG, cf->log, 0, "\"%s\" needs %s; there is none "
                  "in %s%V%sthe server in %s:%ui, nor above", what, needs,
                  clcf->name.len ? "location \"" : "", &clcf->name,
                  clcf->name.len ? "\" of " : "", cscf->file_name, cscf->line);

    return NGX_CONF_ERROR;
}


char *
ngx_adm_set_zone(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_adm_main_conf_t  *mcf = conf;

    u_char     *p, *last;
    ssize_t     size;
    ngx_str_t  *value, name, s;

    if (mcf->zone) {
        return "is duplicate: the module has one zone";
    }

    value = cf->args->elts;
    last = value[1].data + value[1].len;

    p = ngx_strlchr(value[1].data, last, ':');

    if (p == NULL || p == value[1].data) {
        return ngx_adm_conf_invalid(cf, cmd, &value[1], "name:size, as "
                                    "\"admission:8m\"");
    }

    name.data = value[1].data;
    name.len = p - value[1].data;

    s.data = p + 1;
    s.len = last - s.data;

    size = ngx_parse_size(&s);

    if (size == NGX_ERROR || size < (ssize_t) (8 * ngx_pagesize)) {
        return ngx_adm_conf_invalid(cf, cmd, &value[1], "name:size with a "
                                    "size of at least 32k, as "
                                    "\"admission:8m\"");
    }

    mcf->zone = ngx_adm_zone_add(cf, &name, size, &ngx_http_admission_module);

    return mcf->zone ? NGX_CONF_OK : NGX_CONF_ERROR;
}
