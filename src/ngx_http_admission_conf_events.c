
/*
 * Copyright (C) 2026 the admission module authors
 *
 * admission_events { ... }: what is configured for each event.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_admission_conf_parse.h"
#include "ngx_http_admission_queue.h"
#include "ngx_http_admission_respond.h"


typedef struct ngx_http_admission_event_key_s  ngx_http_admission_event_key_t;

struct ngx_http_admission_event_key_s {
    const char                      *name;
    ngx_int_t                      (*parse)(ngx_str_t *value,
                                            ngx_http_admission_event_key_t *key,
                                            void *field);
    size_t                           offset;
    size_t                           size;
    ngx_int_t                        min;
    ngx_int_t                        max;
    const char                      *allowed;
};


#define NGX_HTTP_ADMISSION_DAY   (24 * 3600 * 1000)


static char *ngx_http_admission_events_line(ngx_conf_t *cf,
    ngx_command_t *dummy, void *conf);
static char *ngx_http_admission_events_end(ngx_conf_t *cf,
    ngx_http_admission_main_conf_t *mcf, ngx_rbtree_node_t *node);
static char *ngx_http_admission_event_key(ngx_conf_t *cf,
    ngx_http_admission_event_conf_t *ecf, ngx_str_t *arg);
static ngx_int_t ngx_http_admission_event_time(ngx_str_t *value,
    ngx_http_admission_event_key_t *key, void *field);
static ngx_int_t ngx_http_admission_event_number(ngx_str_t *value,
    ngx_http_admission_event_key_t *key, void *field);
static ngx_int_t ngx_http_admission_event_flag(ngx_str_t *value,
    ngx_http_admission_event_key_t *key, void *field);
static ngx_int_t ngx_http_admission_event_vwr(ngx_str_t *value,
    ngx_http_admission_event_key_t *key, void *field);
static ngx_int_t ngx_http_admission_event_text(ngx_str_t *value,
    ngx_http_admission_event_key_t *key, void *field);
static char *ngx_http_admission_event_terms(ngx_conf_t *cf,
    ngx_http_admission_event_conf_t *ecf);
static char *ngx_http_admission_event_info(ngx_conf_t *cf,
    ngx_http_admission_event_conf_t *ecf);
static u_char *ngx_http_admission_event_member(u_char *p, const char *name,
    ngx_str_t *json);


#define ngx_http_admission_field(member)                                      \
    offsetof(ngx_http_admission_event_conf_t, member),                        \
    sizeof(((ngx_http_admission_event_conf_t *) NULL)->member)


static ngx_http_admission_event_key_t  ngx_http_admission_event_keys[] = {

    { "threshold", ngx_http_admission_event_number,
      ngx_http_admission_field(threshold),
      0, NGX_HTTP_ADMISSION_THRESHOLD_MAX,
      "a number from 0 to 10000000" },

    { "active_ttl", ngx_http_admission_event_time,
      ngx_http_admission_field(active_ttl),
      1000, NGX_HTTP_ADMISSION_DAY,
      "a time from 1s to 24h" },

    { "session_max", ngx_http_admission_event_time,
      ngx_http_admission_field(session_max),
      1000, 7 * NGX_HTTP_ADMISSION_DAY,
      "a time from 1s to 7d" },

    { "claim_ttl", ngx_http_admission_event_time,
      ngx_http_admission_field(claim_ttl),
      1000, NGX_HTTP_ADMISSION_DAY,
      "a time from 1s to 24h" },

    { "seen_ttl", ngx_http_admission_event_time,
      ngx_http_admission_field(seen_ttl),
      1000, NGX_HTTP_ADMISSION_DAY,
      "a time from 1s to 24h" },

    { "restore_wait", ngx_http_admission_event_time,
      ngx_http_admission_field(restore_wait),
      0, 3600 * 1000,
      "a time from 0 to 1h" },

    { "admit_interval", ngx_http_admission_event_time,
      ngx_http_admission_field(admit_interval),
      100, 3600 * 1000,
      "a time from 100ms to 1h" },

    { "admit_batch", ngx_http_admission_event_number,
      ngx_http_admission_field(admit_batch),
      1, 1000,
      "a number from 1 to 1000" },

    { "token_ttl", ngx_http_admission_event_time,
      ngx_http_admission_field(token_ttl),
      1000, NGX_HTTP_ADMISSION_DAY,
      "a time from 1s to 24h" },

    { "admissions_stream", ngx_http_admission_event_flag,
      ngx_http_admission_field(admissions_stream),
      0, 1,
      "\"on\" or \"off\"" },

    { "vwr", ngx_http_admission_event_vwr,
      ngx_http_admission_field(vwr),
      0, 0,
      "\"auto\", \"on\" or \"off\"" },

    { "vwr_rate", ngx_http_admission_event_number,
      ngx_http_admission_field(vwr_rate),
      0, NGX_HTTP_ADMISSION_VWR_RATE_MAX,
      "a number from 0 to 1000000" },

    { "vwr_burst", ngx_http_admission_event_number,
      ngx_http_admission_field(vwr_burst),
      0, NGX_HTTP_ADMISSION_VWR_BURST_MAX,
      "a number from 0 to 10000000" },

    { "ticket_ttl", ngx_http_admission_event_time,
      ngx_http_admission_field(ticket_ttl),
      1000, 7 * NGX_HTTP_ADMISSION_DAY,
      "a time from 1s to 7d" },

    { "unlisted", ngx_http_admission_event_number,
      ngx_http_admission_field(unlisted),
      1, 1000000,
      "a number from 1 to 1000000" },

    { "title", ngx_http_admission_event_text,
      ngx_http_admission_field(title), 0, 0,
      "a text in UTF-8 without control characters" },

    { "artist", ngx_http_admission_event_text,
      ngx_http_admission_field(artist), 0, 0,
      "a text in UTF-8 without control characters" },

    { NULL, NULL, 0, 0, 0, 0, NULL }
};


ngx_http_admission_event_conf_t *
ngx_http_admission_event_conf(ngx_http_admission_main_conf_t *mcf,
    ngx_str_t *id)
{
    ngx_http_admission_event_conf_t  *conf;

    conf = ngx_http_admission_event_line(mcf, id);

    if (conf) {
        return conf;
    }

    return mcf->events_listed_only ? NULL : &mcf->event_default;
}


ngx_http_admission_event_conf_t *
ngx_http_admission_event_line(ngx_http_admission_main_conf_t *mcf,
    ngx_str_t *id)
{
    uint32_t  hash;

    hash = ngx_murmur_hash2(id->data, id->len);

    return (ngx_http_admission_event_conf_t *)
               ngx_str_rbtree_lookup(&mcf->events, id, hash);
}


void
ngx_http_admission_event_builtin(ngx_http_admission_event_conf_t *ecf)
{
    ecf->threshold = 1000;
    ecf->active_ttl = 600000;
    ecf->session_max = 3600000;
    ecf->claim_ttl = 120000;
    ecf->seen_ttl = 600000;
    ecf->restore_wait = 60000;
    ecf->admit_interval = 1000;
    ecf->admit_batch = 100;
    ecf->token_ttl = 600000;
    ecf->admissions_stream = 1;

    ecf->vwr = NGX_HTTP_ADMISSION_VWR_AUTO;
    ecf->vwr_rate = 50;
    ecf->vwr_burst = -1;
    ecf->ticket_ttl = 86400000;

    ecf->unlisted = 1000;
}


char *
ngx_http_admission_event_finish(ngx_conf_t *cf,
    ngx_http_admission_event_conf_t *ecf,
    ngx_http_admission_event_conf_t *dflt)
{
    ngx_uint_t                       i;
    ngx_http_admission_event_key_t  *key;
    ngx_http_admission_main_conf_t  *mcf;

    for (i = 0; ngx_http_admission_event_keys[i].name; i++) {

        key = &ngx_http_admission_event_keys[i];

        if (ecf != dflt && !(ecf->given & (1 << i))) {
            ngx_memcpy((u_char *) ecf + key->offset,
                       (u_char *) dflt + key->offset, key->size);
        }
    }

    if (ngx_http_admission_event_terms(cf, ecf) != NGX_CONF_OK) {
        return NGX_CONF_ERROR;
    }

    mcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_admission_module);
    mcf->token_ttl = ngx_max(mcf->token_ttl, ecf->token_ttl);

    return ngx_http_admission_event_info(cf, ecf);
}


char *
ngx_http_admission_events(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_admission_main_conf_t  *mcf = conf;

    char        *rv;
    ngx_conf_t   save;

    if (mcf->events_seen) {
        return "is duplicate";
    }

    mcf->events_seen = 1;
    mcf->events_listed_only = 1;        /* until there is a default line */

    save = *cf;
    cf->handler = ngx_http_admission_events_line;
    cf->handler_conf = conf;

    rv = ngx_conf_parse(cf, NULL);

    *cf = save;

    if (rv != NGX_CONF_OK) {
        return rv;
    }

    if (ngx_http_admission_event_finish(cf, &mcf->event_default,
                                        &mcf->event_default)
        != NGX_CONF_OK)
    {
        return NGX_CONF_ERROR;
    }

    return ngx_http_admission_events_end(cf, mcf, mcf->events.root);
}


static char *
ngx_http_admission_events_end(ngx_conf_t *cf,
    ngx_http_admission_main_conf_t *mcf, ngx_rbtree_node_t *node)
{
    ngx_rbtree_node_t  *last;

    if (node == mcf->events.sentinel) {
        return NGX_CONF_OK;
    }

    for (node = ngx_rbtree_min(node, mcf->events.sentinel);
         node;
         node = ngx_rbtree_next(&mcf->events, last))
    {
        last = node;

        if (ngx_http_admission_event_finish(cf,
                                    (ngx_http_admission_event_conf_t *) node,
                                    &mcf->event_default)
            != NGX_CONF_OK)
        {
            return NGX_CONF_ERROR;
        }
    }

    return NGX_CONF_OK;
}


static char *
ngx_http_admission_events_line(ngx_conf_t *cf, ngx_command_t *dummy,
    void *conf)
{
    ngx_http_admission_main_conf_t  *mcf = conf;

    uint32_t                          hash;
    ngx_str_t                        *value, id;
    ngx_uint_t                        i;
    ngx_http_admission_event_conf_t  *ecf;

    value = cf->args->elts;

    /* with key=value it is an event of that name */

    if (cf->args->nelts == 2
        && ngx_strcmp(value[0].data, "include") == 0
        && ngx_strchr(value[1].data, '=') == NULL)
    {
        return ngx_conf_include(cf, dummy, conf);
    }

    if (ngx_strcmp(value[0].data, "default") == 0) {

        if (!mcf->events_listed_only) {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                               "duplicate \"default\" in "
                               "\"admission_events\"");
            return NGX_CONF_ERROR;
        }

        mcf->events_listed_only = 0;
        ecf = &mcf->event_default;

    } else {

        id = value[0];

        if (ngx_http_admission_event_id(&id, id.data) != NGX_OK) {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                               "invalid event id \"%V\" in "
                               "\"admission_events\", it has 1 to %d of "
                               "letters, digits, \".\", \"_\" and \"-\"",
                               &value[0], NGX_HTTP_ADMISSION_EVENT_MAX);
            return NGX_CONF_ERROR;
        }

        hash = ngx_murmur_hash2(id.data, id.len);

        if (ngx_str_rbtree_lookup(&mcf->events, &id, hash)) {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                               "duplicate event \"%V\" in "
                               "\"admission_events\"", &id);
            return NGX_CONF_ERROR;
        }

        ecf = ngx_pcalloc(cf->pool, sizeof(ngx_http_admission_event_conf_t));
        if (ecf == NULL) {
            return NGX_CONF_ERROR;
        }

        ecf->sn.node.key = hash;
        ecf->sn.str = id;

        ngx_rbtree_insert(&mcf->events, &ecf->sn.node);
    }

    for (i = 1; i < cf->args->nelts; i++) {
        if (ngx_http_admission_event_key(cf, ecf, &value[i]) != NGX_CONF_OK) {
            return NGX_CONF_ERROR;
        }
    }

    return NGX_CONF_OK;
}


static char *
ngx_http_admission_event_key(ngx_conf_t *cf,
    ngx_http_admission_event_conf_t *ecf, ngx_str_t *arg)
{
    u_char                          *last, known[512];
    ngx_str_t                        value;
    ngx_uint_t                       i;
    ngx_http_admission_event_key_t  *key;

    last = known;

    for (i = 0; ngx_http_admission_event_keys[i].name; i++) {

        key = &ngx_http_admission_event_keys[i];

        if (ngx_http_admission_conf_param(arg, key->name, &value) != NGX_OK) {
            last = ngx_snprintf(last, known + sizeof(known) - last,
                                last == known ? "%s" : ", %s", key->name);
            continue;
        }

        if (ecf->given & (1 << i)) {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                               "duplicate \"%s=\" in a line of "
                               "\"admission_events\"", key->name);
            return NGX_CONF_ERROR;
        }

        if (key->offset == offsetof(ngx_http_admission_event_conf_t, unlisted)
            && ecf->sn.str.len)
        {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                               "\"unlisted=\" is of the \"default\" line of "
                               "\"admission_events\" alone, not of \"%V\"",
                               &ecf->sn.str);
            return NGX_CONF_ERROR;
        }

        ecf->given |= 1 << i;

        if (key->parse(&value, key, (u_char *) ecf + key->offset) != NGX_OK) {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                               "invalid value \"%V\" of \"%s=\" in "
                               "\"admission_events\", it takes %s",
                               &value, key->name, key->allowed);
            return NGX_CONF_ERROR;
        }

        return NGX_CONF_OK;
    }

    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                       "unknown \"%V\" in \"admission_events\", a line takes "
                       "key=value of: %*s", arg, last - known, known);

    return NGX_CONF_ERROR;
}


static ngx_int_t
ngx_http_admission_event_time(ngx_str_t *value,
    ngx_http_admission_event_key_t *key, void *field)
{
    ngx_int_t  ms;

    ms = ngx_parse_time(value, 0);

    if (ms == NGX_ERROR || ms < key->min || ms > key->max) {
        return NGX_DECLINED;
    }

    *(ngx_msec_t *) field = ms;

    return NGX_OK;
}


static ngx_int_t
ngx_http_admission_event_number(ngx_str_t *value,
    ngx_http_admission_event_key_t *key, void *field)
{
    ngx_int_t  n;

    n = ngx_atoi(value->data, value->len);

    if (n == NGX_ERROR || n < key->min || n > key->max) {
        return NGX_DECLINED;
    }

    *(int64_t *) field = n;

    return NGX_OK;
}


static ngx_int_t
ngx_http_admission_event_flag(ngx_str_t *value,
    ngx_http_admission_event_key_t *key, void *field)
{
    ngx_uint_t  flag;

    if (ngx_http_admission_conf_flag(value, &flag) != NGX_OK) {
        return NGX_DECLINED;
    }

    *(ngx_flag_t *) field = flag;

    return NGX_OK;
}


static ngx_int_t
ngx_http_admission_event_vwr(ngx_str_t *value,
    ngx_http_admission_event_key_t *key, void *field)
{
    ngx_uint_t  *vwr = field;

    ngx_uint_t  flag;

    if (value->len == 4 && ngx_strncmp(value->data, "auto", 4) == 0) {
        *vwr = NGX_HTTP_ADMISSION_VWR_AUTO;
        return NGX_OK;
    }

    if (ngx_http_admission_conf_flag(value, &flag) != NGX_OK) {
        return NGX_DECLINED;
    }

    *vwr = flag ? NGX_HTTP_ADMISSION_VWR_ON : NGX_HTTP_ADMISSION_VWR_OFF;

    return NGX_OK;
}


static ngx_int_t
ngx_http_admission_event_text(ngx_str_t *value,
    ngx_http_admission_event_key_t *key, void *field)
{
    if (!ngx_http_admission_is_text(value)) {
        return NGX_DECLINED;
    }

    *(ngx_str_t *) field = *value;

    return NGX_OK;
}


static char *
ngx_http_admission_event_terms(ngx_conf_t *cf,
    ngx_http_admission_event_conf_t *ecf)
{
    u_char      *p;
    ngx_uint_t   i;

    int64_t  terms[NGX_HTTP_ADMISSION_QUEUE_TERMS] = {
        ecf->threshold,
        ecf->active_ttl,
        ecf->session_max,
        ecf->claim_ttl,
        ecf->seen_ttl,
        ecf->restore_wait,
        ecf->admit_interval,
        ecf->admit_batch,
        ecf->token_ttl,
        ecf->admissions_stream
    };

    p = ngx_pnalloc(cf->pool, NGX_HTTP_ADMISSION_QUEUE_TERMS * NGX_INT64_LEN);
    if (p == NULL) {
        return NGX_CONF_ERROR;
    }

    for (i = 0; i < NGX_HTTP_ADMISSION_QUEUE_TERMS; i++) {
        ecf->terms[i].data = p;
        p = ngx_sprintf(p, "%L", terms[i]);
        ecf->terms[i].len = p - ecf->terms[i].data;
    }

    return NGX_CONF_OK;
}


/* eventInfo, as every answer says it */

static char *
ngx_http_admission_event_info(ngx_conf_t *cf,
    ngx_http_admission_event_conf_t *ecf)
{
    u_char     *p;
    ngx_str_t   title, artist;

    if (ngx_http_admission_json_string(cf->pool, &ecf->title, &title) != NGX_OK
        || ngx_http_admission_json_string(cf->pool, &ecf->artist, &artist)
           != NGX_OK)
    {
        return NGX_CONF_ERROR;
    }

    p = ngx_pnalloc(cf->pool, sizeof("{\"title\":,\"artist\":}") - 1
                              + title.len + artist.len);
    if (p == NULL) {
        return NGX_CONF_ERROR;
    }

    ecf->info.data = p;

    *p++ = '{';

    if (ecf->title.len) {
        p = ngx_http_admission_event_member(p, "\"title\":", &title);
    }

    if (ecf->title.len && ecf->artist.len) {
        *p++ = ',';
    }

    if (ecf->artist.len) {
        p = ngx_http_admission_event_member(p, "\"artist\":", &artist);
    }

    *p++ = '}';

    ecf->info.len = p - ecf->info.data;

    return NGX_CONF_OK;
}


static u_char *
ngx_http_admission_event_member(u_char *p, const char *name, ngx_str_t *json)
{
    p = ngx_cpymem(p, name, ngx_strlen(name));

    return ngx_cpymem(p, json->data, json->len);
}
