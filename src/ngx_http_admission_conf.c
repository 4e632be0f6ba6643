
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The directives, how levels of configuration inherit from each other, and
 * what has to be there together.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_admission_conf_parse.h"
#include "ngx_http_admission_edge.h"
#include "ngx_http_admission_page.h"
#include "ngx_http_admission_zone.h"


#define NGX_HTTP_ADMISSION_ZONE_NAME  "admission"
#define NGX_HTTP_ADMISSION_ZONE_SIZE  (8 * 1024 * 1024)


#define NGX_HTTP_ADMISSION_ANY_CONF                                           \
    (NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF)


static char *ngx_http_admission_zone(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
static char *ngx_http_admission_set_redis(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);

static char *ngx_http_admission_merge_secrets(ngx_conf_t *cf,
    ngx_http_admission_loc_conf_t *prev, ngx_http_admission_loc_conf_t *conf);
static char *ngx_http_admission_merge_verifiers(ngx_conf_t *cf,
    ngx_http_admission_loc_conf_t *prev, ngx_http_admission_loc_conf_t *conf);
static ngx_int_t ngx_http_admission_derive(ngx_conf_t *cf,
    ngx_http_admission_loc_conf_t *prev, ngx_http_admission_loc_conf_t *conf,
    ngx_uint_t secret, ngx_http_admission_token_e kind, const char *label);
static char *ngx_http_admission_require(ngx_conf_t *cf,
    ngx_http_admission_loc_conf_t *conf);


static ngx_conf_enum_t  ngx_http_admission_deny_modes[] = {
    { ngx_string("auto"), NGX_HTTP_ADMISSION_DENY_AUTO },
    { ngx_string("redirect"), NGX_HTTP_ADMISSION_DENY_REDIRECT },
    { ngx_string("json"), NGX_HTTP_ADMISSION_DENY_JSON },
    { ngx_string("status"), NGX_HTTP_ADMISSION_DENY_STATUS },
    { ngx_null_string, 0 }
};


ngx_command_t  ngx_http_admission_commands[] = {

    { ngx_string("admission_zone"),
      NGX_HTTP_MAIN_CONF|NGX_CONF_TAKE1,
      ngx_http_admission_zone,
      NGX_HTTP_MAIN_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("admission_redis"),
      NGX_HTTP_MAIN_CONF|NGX_CONF_1MORE,
      ngx_http_admission_set_redis,
      NGX_HTTP_MAIN_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("admission_events"),
      NGX_HTTP_MAIN_CONF|NGX_CONF_BLOCK|NGX_CONF_NOARGS,
      ngx_http_admission_events,
      NGX_HTTP_MAIN_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("admission_secret"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_CONF_TAKE23,
      ngx_http_admission_secret,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("admission_event"),
      NGX_HTTP_ADMISSION_ANY_CONF|NGX_CONF_TAKE1,
      ngx_http_set_complex_value_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_admission_loc_conf_t, event),
      NULL },

    { ngx_string("admission_user"),
      NGX_HTTP_ADMISSION_ANY_CONF|NGX_CONF_1MORE,
      ngx_http_admission_user,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("admission_tier1"),
      NGX_HTTP_ADMISSION_ANY_CONF|NGX_CONF_1MORE,
      ngx_http_admission_tier1,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("admission_tier2"),
      NGX_HTTP_ADMISSION_ANY_CONF|NGX_CONF_1MORE,
      ngx_http_admission_tier2,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("admission_deny"),
      NGX_HTTP_ADMISSION_ANY_CONF|NGX_CONF_TAKE1,
      ngx_http_admission_enum,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_admission_loc_conf_t, deny),
      &ngx_http_admission_deny_modes },

    { ngx_string("admission_waiting_uri"),
      NGX_HTTP_ADMISSION_ANY_CONF|NGX_CONF_TAKE1,
      ngx_http_admission_target,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_admission_loc_conf_t, waiting_uri),
      NULL },

    { ngx_string("admission_queue_uri"),
      NGX_HTTP_ADMISSION_ANY_CONF|NGX_CONF_TAKE1,
      ngx_http_admission_target,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_admission_loc_conf_t, queue_uri),
      NULL },

    { ngx_string("admission_login_uri"),
      NGX_HTTP_ADMISSION_ANY_CONF|NGX_CONF_TAKE1,
      ngx_http_admission_target,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_admission_loc_conf_t, login_uri),
      NULL },

    { ngx_string("admission_bypass"),
      NGX_HTTP_ADMISSION_ANY_CONF|NGX_CONF_TAKE1,
      ngx_http_set_complex_value_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_admission_loc_conf_t, bypass),
      NULL },

    { ngx_string("admission_trusted_edge"),
      NGX_HTTP_ADMISSION_ANY_CONF|NGX_CONF_TAKE12,
      ngx_http_admission_trusted_edge,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("admission_rate_limit"),
      NGX_HTTP_ADMISSION_ANY_CONF|NGX_CONF_1MORE,
      ngx_http_admission_rate_limit,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("admission_dry_run"),
      NGX_HTTP_ADMISSION_ANY_CONF|NGX_CONF_FLAG,
      ngx_conf_set_flag_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_admission_loc_conf_t, dry_run),
      NULL },

    { ngx_string("admission_cookie"),
      NGX_HTTP_ADMISSION_ANY_CONF|NGX_CONF_2MORE,
      ngx_http_admission_cookie,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("admission_page"),
      NGX_HTTP_LOC_CONF|NGX_CONF_TAKE1234,
      ngx_http_admission_page,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("admission_cors"),
      NGX_HTTP_ADMISSION_ANY_CONF|NGX_CONF_1MORE,
      ngx_http_admission_cors,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("admission_vwr_api"),
      NGX_HTTP_LOC_CONF|NGX_CONF_ANY,
      ngx_http_admission_vwr_api,
      NGX_HTTP_LOC_CONF_OFFSET,
      NGX_HTTP_ADMISSION_CONTENT_VWR,
      NULL },

    { ngx_string("admission_admin_api"),
      NGX_HTTP_LOC_CONF|NGX_CONF_NOARGS,
      ngx_http_admission_content,
      NGX_HTTP_LOC_CONF_OFFSET,
      NGX_HTTP_ADMISSION_CONTENT_ADMIN,
      NULL },

    { ngx_string("admission_queue_api"),
      NGX_HTTP_LOC_CONF|NGX_CONF_ANY,
      ngx_http_admission_queue_api,
      NGX_HTTP_LOC_CONF_OFFSET,
      NGX_HTTP_ADMISSION_CONTENT_QUEUE,
      NULL },

    { ngx_string("admission_metrics"),
      NGX_HTTP_LOC_CONF|NGX_CONF_NOARGS|NGX_CONF_TAKE1,
      ngx_http_admission_metrics,
      NGX_HTTP_LOC_CONF_OFFSET,
      NGX_HTTP_ADMISSION_CONTENT_METRICS,
      NULL },

    { ngx_string("admission_health"),
      NGX_HTTP_LOC_CONF|NGX_CONF_TAKE1,
      ngx_http_admission_health,
      NGX_HTTP_LOC_CONF_OFFSET,
      NGX_HTTP_ADMISSION_CONTENT_HEALTH,
      NULL },

      ngx_null_command
};


/* cookies as they are without admission_cookie, by token kind */

ngx_http_admission_cookie_conf_t  ngx_http_admission_cookie_defaults[] = {

#define ngx_http_admission_cookie_default(name, per_event)                    \
    { ngx_string(name), ngx_string("/"), ngx_null_string, ngx_string("Lax"),  \
      NGX_HTTP_ADMISSION_SECURE_AUTO, 1, per_event }

    ngx_http_admission_cookie_default("urr-vwr-token", 1),
    ngx_http_admission_cookie_default("urr-entry-token", 1),
    ngx_http_admission_cookie_default("access_token", 0),
    ngx_http_admission_cookie_default("admission-visitor", 0),
    ngx_http_admission_cookie_default("admission-ticket", 1),
    ngx_http_admission_cookie_default("urr-queue-place", 1)
};


static ngx_http_admission_user_conf_t  ngx_http_admission_user_default = {
    NGX_HTTP_ADMISSION_USER_OFF,
    { ngx_null_string, NULL, NULL, NULL, { 0 } },
    1 << NGX_HTTP_ADMISSION_HS256,
    ngx_null_string,
    ngx_null_string,
    ngx_null_string,
    ngx_null_string
};


ngx_http_admission_tier1_conf_t  ngx_http_admission_tier1_default = {
    NGX_HTTP_ADMISSION_OFF,
    { ngx_null_string, NULL, NULL, NULL, { 0 } },
    0, 1
};


static ngx_http_admission_tier2_conf_t  ngx_http_admission_tier2_default = {
    NGX_HTTP_ADMISSION_OFF,
    { ngx_null_string, NULL, NULL, NULL, { 0 } },
    0, 0, 1, 0
};


void *
ngx_http_admission_create_main_conf(ngx_conf_t *cf)
{
    ngx_http_admission_main_conf_t  *mcf;

    mcf = ngx_pcalloc(cf->pool, sizeof(ngx_http_admission_main_conf_t));
    if (mcf == NULL) {
        return NULL;
    }

    ngx_rbtree_init(&mcf->events, &mcf->sentinel, ngx_str_rbtree_insert_value);

    ngx_http_admission_event_builtin(&mcf->event_default);

    return mcf;
}


char *
ngx_http_admission_init_main_conf(ngx_conf_t *cf, void *conf)
{
    ngx_http_admission_main_conf_t  *mcf = conf;

    if (mcf->redis
        && ngx_http_admission_redis_init(cf, mcf->redis) != NGX_CONF_OK)
    {
        return NGX_CONF_ERROR;
    }

    if (!mcf->events_seen) {
        return ngx_http_admission_event_finish(cf, &mcf->event_default,
                                               &mcf->event_default);
    }

    return NGX_CONF_OK;
}


char *
ngx_http_admission_complete_main_conf(ngx_conf_t *cf,
    ngx_http_admission_main_conf_t *mcf)
{
    ngx_str_t  name = ngx_string(NGX_HTTP_ADMISSION_ZONE_NAME);

    ngx_http_admission_routes_check(cf, mcf);

    if (mcf->zone) {
        return NGX_CONF_OK;
    }

    mcf->zone = ngx_http_admission_zone_add(cf, &name,
                                            NGX_HTTP_ADMISSION_ZONE_SIZE,
                                            &ngx_http_admission_module);

    return mcf->zone ? NGX_CONF_OK : NGX_CONF_ERROR;
}


void *
ngx_http_admission_create_srv_conf(ngx_conf_t *cf)
{
    ngx_http_admission_srv_conf_t  *scf;

    scf = ngx_pcalloc(cf->pool, sizeof(ngx_http_admission_srv_conf_t));
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
ngx_http_admission_create_loc_conf(ngx_conf_t *cf)
{
    ngx_http_admission_loc_conf_t  *conf;

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
     *     conf->content = NGX_HTTP_ADMISSION_CONTENT_NONE;
     *     conf->content_name = NULL;
     *     conf->content_file = { 0, NULL };
     *     conf->content_line = 0;
     *     conf->handler = NULL;
     *     conf->page = NULL;
     *     conf->admin = 0;
     *     conf->intake = NULL;
     */

    conf = ngx_pcalloc(cf->pool, sizeof(ngx_http_admission_loc_conf_t));
    if (conf == NULL) {
        return NULL;
    }

    conf->deny = NGX_CONF_UNSET_UINT;
    conf->dry_run = NGX_CONF_UNSET;

    return conf;
}


char *
ngx_http_admission_merge_loc_conf(ngx_conf_t *cf, void *parent, void *child)
{
    ngx_http_admission_loc_conf_t  *prev = parent;
    ngx_http_admission_loc_conf_t  *conf = child;

    ngx_uint_t                      i;
    ngx_http_admission_srv_conf_t  *scf;

#define ngx_http_admission_merge(member, value)                               \
    if (conf->member == NULL) {                                               \
        conf->member = prev->member ? prev->member : value;                   \
    }

    ngx_http_admission_merge(event, NULL);
    ngx_http_admission_merge(user, &ngx_http_admission_user_default);
    ngx_http_admission_merge(tier1, &ngx_http_admission_tier1_default);
    ngx_http_admission_merge(tier2, &ngx_http_admission_tier2_default);
    ngx_http_admission_merge(waiting_uri, NULL);
    ngx_http_admission_merge(queue_uri, NULL);
    ngx_http_admission_merge(login_uri, NULL);
    ngx_http_admission_merge(bypass, NULL);
    ngx_http_admission_merge(cors, NULL);
    ngx_http_admission_merge(limits, NULL);

    for (i = 0; i < NGX_HTTP_ADMISSION_TOKEN_KINDS; i++) {
        ngx_http_admission_merge(cookies[i],
                                 &ngx_http_admission_cookie_defaults[i]);
    }

    ngx_conf_merge_uint_value(conf->deny, prev->deny,
                              NGX_HTTP_ADMISSION_DENY_AUTO);
    ngx_conf_merge_value(conf->dry_run, prev->dry_run, 0);

    if (ngx_http_admission_cookies_differ(cf, conf) != NGX_CONF_OK
        || ngx_http_admission_merge_secrets(cf, prev, conf) != NGX_CONF_OK
        || ngx_http_admission_merge_verifiers(cf, prev, conf) != NGX_CONF_OK
        || ngx_http_admission_edge_merge(cf, prev, conf) != NGX_CONF_OK
        || ngx_http_admission_content_merge(cf, prev, conf) != NGX_CONF_OK
        || ngx_http_admission_routes_note(cf, conf) != NGX_OK)
    {
        return NGX_CONF_ERROR;
    }

    scf = ngx_http_conf_get_module_srv_conf(cf, ngx_http_admission_module);

    if (conf->user->source != NGX_HTTP_ADMISSION_USER_OFF) {
        scf->users = 1;
    }

    if (conf->tier1->mode != NGX_HTTP_ADMISSION_OFF
        || conf->tier2->mode != NGX_HTTP_ADMISSION_OFF)
    {
        scf->gated = 1;
    }

    return ngx_http_admission_require(cf, conf);
}


static char *
ngx_http_admission_merge_secrets(ngx_conf_t *cf,
    ngx_http_admission_loc_conf_t *prev, ngx_http_admission_loc_conf_t *conf)
{
    ngx_uint_t  i, j, own;

    own = 0;

    for (i = 0; i < NGX_HTTP_ADMISSION_SECRETS; i++) {
        if (conf->secrets[i]) {
            own = 1;

        } else {
            conf->secrets[i] = prev->secrets[i];
        }
    }

    if (!own) {
        return NGX_CONF_OK;
    }

    for (i = 1; i < NGX_HTTP_ADMISSION_SECRETS; i++) {
        for (j = 0; j < i; j++) {

            if (conf->secrets[i] && conf->secrets[j]
                && ngx_http_admission_keyring_overlap(conf->secrets[i],
                                                      conf->secrets[j]))
            {
                ngx_log_error(NGX_LOG_EMERG, cf->log, 0,
                              "two kinds of \"admission_secret\", \"%V\" and "
                              "\"%V\", have the same secret in one server: "
                              "each kind needs its own",
                              &ngx_http_admission_secret_names[j],
                              &ngx_http_admission_secret_names[i]);
                return NGX_CONF_ERROR;
            }
        }
    }

    return NGX_CONF_OK;
}


static char *
ngx_http_admission_merge_verifiers(ngx_conf_t *cf,
    ngx_http_admission_loc_conf_t *prev, ngx_http_admission_loc_conf_t *conf)
{
    ngx_uint_t                      i;
    ngx_http_admission_verifier_t  *v;

    v = conf->verifiers;

    for (i = 0; i < NGX_HTTP_ADMISSION_TOKEN_KINDS; i++) {
        v[i].kind = i;
        v[i].algs = 1 << NGX_HTTP_ADMISSION_HS256;
    }

    v[NGX_HTTP_ADMISSION_TOKEN_TIER1].keys =
                              conf->secrets[NGX_HTTP_ADMISSION_SECRET_TIER1];
    v[NGX_HTTP_ADMISSION_TOKEN_TIER2].keys =
                              conf->secrets[NGX_HTTP_ADMISSION_SECRET_TIER2];

    v += NGX_HTTP_ADMISSION_TOKEN_USER;

    v->keys = conf->secrets[NGX_HTTP_ADMISSION_SECRET_USER];
    v->algs = conf->user->algs;
    v->id = conf->user->id;
    v->email = conf->user->email;
    v->role = conf->user->role;
    v->type = conf->user->type;

    if (ngx_http_admission_derive(cf, prev, conf,
                                  NGX_HTTP_ADMISSION_SECRET_TIER1,
                                  NGX_HTTP_ADMISSION_TOKEN_VISITOR,
                                  "admission visitor")
        != NGX_OK
        || ngx_http_admission_derive(cf, prev, conf,
                                     NGX_HTTP_ADMISSION_SECRET_TIER1,
                                     NGX_HTTP_ADMISSION_TOKEN_TICKET,
                                     "admission ticket")
           != NGX_OK
        || ngx_http_admission_derive(cf, prev, conf,
                                     NGX_HTTP_ADMISSION_SECRET_TIER2,
                                     NGX_HTTP_ADMISSION_TOKEN_PLACE,
                                     "admission place")
           != NGX_OK)
    {
        return NGX_CONF_ERROR;
    }

    return NGX_CONF_OK;
}


/* locations that inherit their secrets share what is derived of them */

static ngx_int_t
ngx_http_admission_derive(ngx_conf_t *cf, ngx_http_admission_loc_conf_t *prev,
    ngx_http_admission_loc_conf_t *conf, ngx_uint_t secret,
    ngx_http_admission_token_e kind, const char *label)
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

    conf->verifiers[kind].keys = ngx_http_admission_keyring_derive(cf->pool,
                                                 conf->secrets[secret], label);

    return conf->verifiers[kind].keys ? NGX_OK : NGX_ERROR;
}


/* what a location needs to work at all, said by "nginx -t" */

static char *
ngx_http_admission_require(ngx_conf_t *cf, ngx_http_admission_loc_conf_t *conf)
{
    const char                      *what, *needs;
    ngx_http_admission_main_conf_t  *mcf;

    what = NULL;
    needs = NULL;

    switch (conf->user->source) {

    case NGX_HTTP_ADMISSION_USER_JWT:
        if (conf->secrets[NGX_HTTP_ADMISSION_SECRET_USER] == NULL) {
            what = "admission_user jwt";
            needs = "\"admission_secret user\"";
        }
        break;

    case NGX_HTTP_ADMISSION_USER_VISITOR:
        if (conf->secrets[NGX_HTTP_ADMISSION_SECRET_TIER1] == NULL) {
            what = "admission_user visitor";
            needs = "\"admission_secret tier1\", which visitors are signed "
                    "with";
        }
        break;
    }

    if (conf->tier1->mode != NGX_HTTP_ADMISSION_OFF
        && conf->secrets[NGX_HTTP_ADMISSION_SECRET_TIER1] == NULL)
    {
        what = "admission_tier1";
        needs = "\"admission_secret tier1\"";
    }

    if (conf->tier2->mode != NGX_HTTP_ADMISSION_OFF) {

        if (conf->secrets[NGX_HTTP_ADMISSION_SECRET_TIER2] == NULL) {
            what = "admission_tier2";
            needs = "\"admission_secret tier2\"";

        } else if (conf->tier2->bind
                   && conf->user->source == NGX_HTTP_ADMISSION_USER_OFF)
        {
            what = "admission_tier2";
            needs = "\"admission_user\", or \"bind=off\" to let the holder "
                    "of a token pass whoever it is";
        }
    }

    if (conf->content == NGX_HTTP_ADMISSION_CONTENT_QUEUE) {

        if (conf->secrets[NGX_HTTP_ADMISSION_SECRET_TIER2] == NULL) {
            what = "admission_queue_api";
            needs = "\"admission_secret tier2\"";

        } else if (!conf->admin
                   && conf->user->source == NGX_HTTP_ADMISSION_USER_OFF)
        {
            what = "admission_queue_api";
            needs = "\"admission_user\"";
        }
    }

    if (conf->content == NGX_HTTP_ADMISSION_CONTENT_VWR
        && conf->secrets[NGX_HTTP_ADMISSION_SECRET_TIER1] == NULL)
    {
        what = "admission_vwr_api";
        needs = "\"admission_secret tier1\"";
    }

    if (what) {
        ngx_log_error(NGX_LOG_EMERG, cf->log, 0,
                      "\"%s\" needs %s in the same location, or above it",
                      what, needs);
        return NGX_CONF_ERROR;
    }

    /*
     * A secret of tier 2 alone: $admission_event says what an entry token
     * does, anywhere, and whether that has ended is in the zone.
     */

    if (conf->user->source != NGX_HTTP_ADMISSION_USER_OFF
        || conf->tier1->mode != NGX_HTTP_ADMISSION_OFF
        || conf->tier2->mode != NGX_HTTP_ADMISSION_OFF
        || conf->limits
        || conf->edge->name.len
        || conf->secrets[NGX_HTTP_ADMISSION_SECRET_TIER2]
        || conf->content != NGX_HTTP_ADMISSION_CONTENT_NONE)
    {
        mcf = ngx_http_conf_get_module_main_conf(cf,
                                                 ngx_http_admission_module);
        mcf->in_use = 1;
    }

    return NGX_CONF_OK;
}


static char *
ngx_http_admission_zone(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_admission_main_conf_t  *mcf = conf;

    u_char     *p;
    ssize_t     size;
    ngx_str_t  *value, name, s;

    if (mcf->zone) {
        return "is duplicate: the module has one zone";
    }

    value = cf->args->elts;

    p = ngx_strlchr(value[1].data, value[1].data + value[1].len, ':');

    if (p == NULL || p == value[1].data) {
        return ngx_http_admission_conf_invalid(cf, cmd, &value[1],
                                               "name:size, as "
                                               "\"admission:8m\"");
    }

    name.data = value[1].data;
    name.len = p - value[1].data;

    s.data = p + 1;
    s.len = value[1].data + value[1].len - s.data;

    size = ngx_parse_size(&s);

    if (size == NGX_ERROR || size < (ssize_t) (8 * ngx_pagesize)) {
        return ngx_http_admission_conf_invalid(cf, cmd, &value[1],
                                               "name:size with a size of "
                                               "at least 32k, as "
                                               "\"admission:8m\"");
    }

    mcf->zone = ngx_http_admission_zone_add(cf, &name, size,
                                            &ngx_http_admission_module);

    return mcf->zone ? NGX_CONF_OK : NGX_CONF_ERROR;
}


static char *
ngx_http_admission_set_redis(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_admission_main_conf_t  *mcf = conf;

    if (mcf->redis) {
        return "is duplicate";
    }

    return ngx_http_admission_redis_parse(cf, &mcf->redis);
}
