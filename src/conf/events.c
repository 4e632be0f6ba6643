
/*
 * Copyright (C) 2026 the admission module authors
 *
 * admission_events { ... }: what is configured for each event.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "conf.h"
#include "parse.h"
#include "ngx_http_admission_names.h"
#include "../base/rfc3339.h"
#include "../base/text.h"
#include "../host/draw.h"
#include "../host/follow.h"
#include "../queue/queue.h"


#define NGX_ADM_DAY   (24 * 3600 * 1000)

#define NGX_ADM_DATE_ALLOWED                                                  \
    "a date with a time and an offset, such as "                              \
    "\"2026-12-24T20:00:00+09:00\", or \"off\""


static char *ngx_adm_events_line(ngx_conf_t *cf, ngx_command_t *dummy,
    void *conf);
static char *ngx_adm_events_key(ngx_conf_t *cf, ngx_adm_event_conf_t *ecf,
    ngx_str_t *arg);
static ngx_int_t ngx_adm_param_text(ngx_conf_t *cf, ngx_adm_param_t *param,
    ngx_str_t *value, void *field);
static ngx_int_t ngx_adm_param_most(ngx_conf_t *cf, ngx_adm_param_t *param,
    ngx_str_t *value, void *field);
static ngx_int_t ngx_adm_param_longest(ngx_conf_t *cf, ngx_adm_param_t *param,
    ngx_str_t *value, void *field);
static ngx_int_t ngx_adm_param_source(ngx_conf_t *cf, ngx_adm_param_t *param,
    ngx_str_t *value, void *field);
static ngx_int_t ngx_adm_param_date(ngx_conf_t *cf, ngx_adm_param_t *param,
    ngx_str_t *value, void *field);
static char *ngx_adm_event_sale(ngx_conf_t *cf, ngx_adm_main_conf_t *mcf,
    ngx_adm_event_conf_t *ecf);
static char *ngx_adm_event_standby(ngx_conf_t *cf, ngx_adm_event_conf_t *ecf,
    ngx_str_t *id);
static char *ngx_adm_event_terms(ngx_conf_t *cf, ngx_adm_event_conf_t *ecf);
static char *ngx_adm_event_info(ngx_conf_t *cf, ngx_adm_event_conf_t *ecf);


static ngx_conf_enum_t  ngx_adm_event_complete[] = {
    { ngx_string("off"), NGX_ADM_OFF },
    { ngx_string("user"), NGX_ADM_ON },
    { ngx_null_string, 0 }
};

static ngx_conf_enum_t  ngx_adm_event_vwr[] = {
    { ngx_string("off"), NGX_ADM_OFF },
    { ngx_string("on"), NGX_ADM_ON },
    { ngx_string("auto"), NGX_ADM_AUTO },
    { ngx_string("standby"), NGX_ADM_STANDBY },
    { ngx_null_string, 0 }
};

static ngx_conf_enum_t  ngx_adm_event_order[] = {
    { ngx_string("arrival"), NGX_ADM_ORDER_ARRIVAL },
    { ngx_string("draw"), NGX_ADM_ORDER_DRAW },
    { ngx_null_string, 0 }
};

static ngx_conf_enum_t  ngx_adm_event_lots[] = {
    { ngx_string("user"), NGX_ADM_LOTS_USER },
    { ngx_string("visitor"), NGX_ADM_LOTS_VISITOR },
    { ngx_null_string, 0 }
};

static ngx_conf_enum_t  ngx_adm_event_follow[] = {
    { ngx_string("off"), NGX_ADM_OFF },
    { ngx_string("on"), NGX_ADM_BACKEND_ON },
    { ngx_string("dry"), NGX_ADM_BACKEND_DRY },
    { ngx_null_string, 0 }
};


/* a key has the name of its member */

#define ngx_adm_event_key(name, type, min, max, allowed)                      \
    ngx_adm_param(event_conf, name, name, type, min, max, NULL, allowed)

#define ngx_adm_event_word(name, words, allowed)                              \
    ngx_adm_param(event_conf, name, name, enum, 0, 0, words, allowed)

static ngx_adm_param_t  ngx_adm_event_keys[] = {

    ngx_adm_event_key(threshold, number, 0, NGX_ADM_THRESHOLD_MAX,
                      "a number from 0 to 10000000"),

    ngx_adm_event_key(active_ttl, time, 1000, NGX_ADM_DAY,
                      "a time from 1s to 24h"),

    ngx_adm_event_key(session_max, time, 1000, 7 * NGX_ADM_DAY,
                      "a time from 1s to 7d"),

    ngx_adm_event_key(claim_ttl, time, 1000, NGX_ADM_DAY,
                      "a time from 1s to 24h"),

    ngx_adm_event_key(seen_ttl, time, 1000, NGX_ADM_DAY,
                      "a time from 1s to 24h"),

    ngx_adm_event_key(restore_wait, time, 0, 3600 * 1000,
                      "a time from 0 to 1h"),

    ngx_adm_event_key(admit_interval, time, 100, 3600 * 1000,
                      "a time from 100ms to 1h"),

    ngx_adm_event_key(admit_batch, number, 1, 1000, "a number from 1 to 1000"),

    ngx_adm_event_key(token_ttl, time, 1000, NGX_ADM_DAY,
                      "a time from 1s to 24h"),

    ngx_adm_event_key(admissions_stream, switch, 0, NGX_ADM_ON,
                      "\"on\" or \"off\""),

    ngx_adm_event_key(leave_on_close, switch, 0, NGX_ADM_ON,
                      "\"on\" or \"off\""),

    ngx_adm_event_key(max_queue, most, 0, NGX_ADM_LINE_MAX,
                      "a number from 0 to 1000000000, or \"off\""),

    ngx_adm_event_key(max_wait, longest, 1000, 7 * NGX_ADM_DAY,
                      "a time from 1s to 7d, or \"off\""),

    ngx_adm_event_key(slots, number, 0, NGX_ADM_SLOTS_MAX,
                      "a number from 0 to 10000000"),

    ngx_adm_event_word(complete, ngx_adm_event_complete,
                       "\"user\" or \"off\""),

    ngx_adm_event_word(vwr, ngx_adm_event_vwr,
                       "\"auto\", \"on\" or \"off\", or \"standby\""),

    ngx_adm_event_key(vwr_rate, number, 0, NGX_ADM_ROOM_RATE_MAX,
                      "a number from 0 to 1000000"),

    ngx_adm_event_key(vwr_burst, number, 0, NGX_ADM_ROOM_BURST_MAX,
                      "a number from 0 to 10000000"),

    ngx_adm_event_key(vwr_noshow, number, 1, NGX_ADM_ROOM_NOSHOW_MAX,
                      "a number from 1 to 20"),

    ngx_adm_event_key(vwr_max_queue, most, 0, NGX_ADM_LINE_MAX,
                      "a number from 0 to 1000000000, or \"off\""),

    ngx_adm_event_key(vwr_max_wait, longest, 1000, 7 * NGX_ADM_DAY,
                      "a time from 1s to 7d, or \"off\""),

    ngx_adm_event_key(ticket_ttl, time, 1000, 7 * NGX_ADM_DAY,
                      "a time from 1s to 7d"),

    ngx_adm_event_key(opens, date, 0, 0, NGX_ADM_DATE_ALLOWED),

    ngx_adm_event_key(starts, date, 0, 0, NGX_ADM_DATE_ALLOWED),

    ngx_adm_event_key(closes, date, 0, 0, NGX_ADM_DATE_ALLOWED),

    ngx_adm_event_word(order, ngx_adm_event_order,
                       "\"arrival\" or \"draw\""),

    ngx_adm_event_key(draw_beacon, source, 0, 0,
                      "the source and round of a beacon, 1 to 128 characters "
                      "of ASCII, or \"off\""),

    ngx_adm_event_word(lots, ngx_adm_event_lots, "\"user\" or \"visitor\""),

    ngx_adm_event_key(backend_latency, longest, 1, 60000,
                      "a time from 1ms to 60s, or \"off\""),

    ngx_adm_event_key(backend_errors, percent, 1, 10000,
                      "a percentage from 0.01% to 100%, or \"off\""),

    ngx_adm_event_key(backend_5xx, switch, 0, NGX_ADM_ON,
                      "\"on\" or \"off\""),

    ngx_adm_event_word(backend_follow, ngx_adm_event_follow,
                       "\"on\", \"off\" or \"dry\""),

    ngx_adm_event_key(vwr_rate_min, number, 1, NGX_ADM_ROOM_RATE_MAX,
                      "a number from 1 to 1000000"),

    ngx_adm_event_key(threshold_min, number, 1, NGX_ADM_THRESHOLD_MAX,
                      "a number from 1 to 10000000"),

    ngx_adm_event_key(unlisted, number, 1, 1000000,
                      "a number from 1 to 1000000"),

    ngx_adm_event_key(title, text, 0, 0,
                      "a text in UTF-8 without control characters"),

    ngx_adm_event_key(artist, text, 0, 0,
                      "a text in UTF-8 without control characters"),

    ngx_adm_params_end
};


void
ngx_adm_event_builtin(ngx_adm_event_conf_t *ecf)
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
    ecf->admissions_stream = NGX_ADM_ON;
    ecf->leave_on_close = NGX_ADM_OFF;
    ecf->max_queue = -1;
    ecf->slots = -1;
    ecf->complete = NGX_ADM_OFF;

    ecf->vwr = NGX_ADM_AUTO;
    ecf->vwr_rate = 50;
    ecf->vwr_burst = -1;
    ecf->vwr_noshow = 4;
    ecf->vwr_max_queue = -1;
    ecf->ticket_ttl = 86400000;
    ecf->order = NGX_ADM_ORDER_ARRIVAL;

    ecf->backend_5xx = NGX_ADM_OFF;
    ecf->backend_follow = NGX_ADM_BACKEND_ON;
    ecf->threshold_min = 1;

    ecf->unlisted = 1000;
}


char *
ngx_adm_event_finish(ngx_conf_t *cf, ngx_adm_event_conf_t *ecf,
    ngx_adm_event_conf_t *dflt)
{
    ngx_uint_t            i;
    ngx_adm_param_t      *key;
    ngx_adm_main_conf_t  *mcf;

    key = ngx_adm_event_keys;

    for (i = 0; ecf != dflt && key[i].name.len; i++) {

        if (!(ecf->given & ((uint64_t) 1 << i))) {
            ngx_memcpy((u_char *) ecf + key[i].offset,
                       (u_char *) dflt + key[i].offset, key[i].size);
        }
    }

    mcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_admission_module);

    if (ngx_adm_event_sale(cf, mcf, ecf) != NGX_CONF_OK
        || ngx_adm_event_terms(cf, ecf) != NGX_CONF_OK)
    {
        return NGX_CONF_ERROR;
    }

    mcf->token_ttl = ngx_max(mcf->token_ttl, ecf->token_ttl);
    mcf->follows |= ngx_adm_is_followed(ecf) ? 1 : 0;

    return ngx_adm_event_info(cf, ecf);
}


char *
ngx_adm_set_events(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_adm_main_conf_t  *mcf = conf;

    char               *rv;
    ngx_conf_t          save;
    ngx_rbtree_node_t  *node;

    if (mcf->events_seen) {
        return "is duplicate";
    }

    mcf->events_seen = 1;
    mcf->events_listed_only = 1;        /* until there is a default line */

    save = *cf;
    cf->handler = ngx_adm_events_line;
    cf->handler_conf = conf;

    rv = ngx_conf_parse(cf, NULL);

    *cf = save;

    if (rv != NGX_CONF_OK) {
        return rv;
    }

    if (ngx_adm_event_finish(cf, &mcf->event_default,
                             &mcf->event_default) != NGX_CONF_OK)
    {
        return NGX_CONF_ERROR;
    }

    node = NULL;

    if (mcf->events.root != &mcf->sentinel) {
        node = ngx_rbtree_min(mcf->events.root, &mcf->sentinel);
    }

    while (node) {

        if (ngx_adm_event_finish(cf, (ngx_adm_event_conf_t *) node,
                                 &mcf->event_default) != NGX_CONF_OK)
        {
            return NGX_CONF_ERROR;
        }

        node = ngx_rbtree_next(&mcf->events, node);
    }

    return NGX_CONF_OK;
}


static char *
ngx_adm_events_line(ngx_conf_t *cf, ngx_command_t *dummy, void *conf)
{
    ngx_adm_main_conf_t  *mcf = conf;

    uint32_t               hash;
    ngx_str_t             *value, id;
    ngx_uint_t             i;
    ngx_adm_event_conf_t  *ecf;

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
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "duplicate \"default\" "
                               "in \"admission_events\"");
            return NGX_CONF_ERROR;
        }

        mcf->events_listed_only = 0;
        ecf = &mcf->event_default;

    } else {

        id = value[0];

        if (ngx_adm_event_id(&id, id.data) != NGX_OK) {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "invalid event id \"%V\" "
                               "in \"admission_events\", it has 1 to %d of "
                               "letters, digits, \".\", \"_\" and \"-\"",
                               &value[0], NGX_ADM_EVENT_MAX);
            return NGX_CONF_ERROR;
        }

        hash = ngx_murmur_hash2(id.data, id.len);

        if (ngx_str_rbtree_lookup(&mcf->events, &id, hash)) {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "duplicate event \"%V\" "
                               "in \"admission_events\"", &id);
            return NGX_CONF_ERROR;
        }

        ecf = ngx_pcalloc(cf->pool, sizeof(ngx_adm_event_conf_t));
        if (ecf == NULL) {
            return NGX_CONF_ERROR;
        }

        ecf->sn.node.key = hash;
        ecf->sn.str = id;

        ngx_rbtree_insert(&mcf->events, &ecf->sn.node);
    }

    for (i = 1; i < cf->args->nelts; i++) {
        if (ngx_adm_events_key(cf, ecf, &value[i]) != NGX_CONF_OK) {
            return NGX_CONF_ERROR;
        }
    }

    return NGX_CONF_OK;
}


static char *
ngx_adm_events_key(ngx_conf_t *cf, ngx_adm_event_conf_t *ecf, ngx_str_t *arg)
{
    u_char           *last, known[1024];
    uint64_t          bit;
    ngx_str_t         value;
    ngx_adm_param_t  *key;

    key = ngx_adm_conf_find(ngx_adm_event_keys, arg, &value);

    if (key == NULL) {
        last = known;

        for (key = ngx_adm_event_keys; key->name.len; key++) {
            last = ngx_slprintf(last, known + sizeof(known),
                                last == known ? "%V" : ", %V", &key->name);
        }

        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "unknown \"%V\" in "
                           "\"admission_events\", a line takes key=value of: "
                           "%*s", arg, last - known, known);
        return NGX_CONF_ERROR;
    }

    bit = (uint64_t) 1 << (key - ngx_adm_event_keys);

    if (ecf->given & bit) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "duplicate \"%V=\" in a line "
                           "of \"admission_events\"", &key->name);
        return NGX_CONF_ERROR;
    }

    if (key->offset == offsetof(ngx_adm_event_conf_t, unlisted)
        && ecf->sn.str.len)
    {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "\"unlisted=\" is of the "
                           "\"default\" line of \"admission_events\" alone, "
                           "not of \"%V\"", &ecf->sn.str);
        return NGX_CONF_ERROR;
    }

    ecf->given |= bit;

    if (key->read(cf, key, &value, (u_char *) ecf + key->offset) != NGX_OK) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "invalid value \"%V\" of "
                           "\"%V=\" in \"admission_events\", it takes %s",
                           &value, &key->name, key->allowed);
        return NGX_CONF_ERROR;
    }

    return NGX_CONF_OK;
}


static ngx_int_t
ngx_adm_param_text(ngx_conf_t *cf, ngx_adm_param_t *param, ngx_str_t *value,
    void *field)
{
    if (!ngx_adm_is_text(value)) {
        return NGX_DECLINED;
    }

    *(ngx_str_t *) field = *value;

    return NGX_OK;
}


/* "off" is what holds where nothing is said, for an event that is to be without
   what the default line has */

static ngx_int_t
ngx_adm_param_most(ngx_conf_t *cf, ngx_adm_param_t *param, ngx_str_t *value,
    void *field)
{
    if (ngx_adm_str_is(value, "off")) {
        *(int64_t *) field = -1;
        return NGX_OK;
    }

    return ngx_adm_param_number(cf, param, value, field);
}


static ngx_int_t
ngx_adm_param_longest(ngx_conf_t *cf, ngx_adm_param_t *param, ngx_str_t *value,
    void *field)
{
    if (ngx_adm_str_is(value, "off")) {
        *(ngx_msec_t *) field = 0;
        return NGX_OK;
    }

    return ngx_adm_param_time(cf, param, value, field);
}


static ngx_int_t
ngx_adm_param_date(ngx_conf_t *cf, ngx_adm_param_t *param, ngx_str_t *value,
    void *field)
{
    if (ngx_adm_str_is(value, "off")) {
        *(int64_t *) field = 0;
        return NGX_OK;
    }

    return ngx_adm_rfc3339_read(value, field);
}


static ngx_int_t
ngx_adm_param_source(ngx_conf_t *cf, ngx_adm_param_t *param, ngx_str_t *value,
    void *field)
{
    ngx_str_t *source = field;

    if (ngx_adm_str_is(value, "off")) {
        ngx_str_null(source);
        return NGX_OK;
    }

    if (!ngx_adm_draw_is_source(value)) {
        return NGX_DECLINED;
    }

    *source = *value;

    return NGX_OK;
}


/* the order of its times, whichever line they are of */

static char *
ngx_adm_event_sale(ngx_conf_t *cf, ngx_adm_main_conf_t *mcf,
    ngx_adm_event_conf_t *ecf)
{
    ngx_str_t             *id;
    ngx_adm_event_conf_t  **sale;

    static ngx_str_t  dflt = ngx_string("default");

    id = ecf->sn.str.len ? &ecf->sn.str : &dflt;

    if ((ecf->starts && ecf->starts < ecf->opens)
        || (ecf->closes && ecf->closes < ngx_max(ecf->opens, ecf->starts)))
    {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "invalid times of \"%V\" in "
                           "\"admission_events\", \"opens=\" can not be after "
                           "\"starts=\", nor either of them after "
                           "\"closes=\"", id);
        return NGX_CONF_ERROR;
    }

    if (ecf->order == NGX_ADM_ORDER_DRAW && ecf->vwr == NGX_ADM_OFF) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "\"order=draw\" of \"%V\" in "
                           "\"admission_events\" needs a waiting room, without "
                           "\"vwr=off\"", id);
        return NGX_CONF_ERROR;
    }

    if (ecf->order == NGX_ADM_ORDER_DRAW && ecf->vwr == NGX_ADM_ON
        && ecf->starts && !ecf->opens)
    {
        ngx_conf_log_error(NGX_LOG_WARN, cf, 0, "\"order=draw\" of \"%V\" in "
                           "\"admission_events\" with \"vwr=on\" and without "
                           "\"opens=\": if the waiting room has let people in "
                           "before it is told of this sale, it goes on by "
                           "arrival", id);
    }

    if (ecf->vwr == NGX_ADM_STANDBY
        && ngx_adm_event_standby(cf, ecf, id) != NGX_CONF_OK)
    {
        return NGX_CONF_ERROR;
    }

    if (ecf->sn.str.len && ecf->opens + ecf->starts) {

        sale = ngx_adm_conf_push(cf, &mcf->sales,
                                 sizeof(ngx_adm_event_conf_t *));
        if (sale == NULL) {
            return NGX_CONF_ERROR;
        }

        *sale = ecf;
    }

    return NGX_CONF_OK;
}


/*
 * A room on standby goes by its rate; what begins with a crowd, as a sale does,
 * has no use for one.
 */

static char *
ngx_adm_event_standby(ngx_conf_t *cf, ngx_adm_event_conf_t *ecf, ngx_str_t *id)
{
    const char  *why;

    if (ecf->order == NGX_ADM_ORDER_DRAW) {
        why = "takes no \"order=draw\"";

    } else if (ecf->opens || ecf->starts) {
        why = "takes no \"opens=\" and no \"starts=\", which gather people";

    } else if (ecf->vwr_rate == 0) {
        why = "needs a \"vwr_rate=\" of 1 at least, over which it shows";

    } else if (ecf->vwr_burst >= 0
               && ecf->vwr_burst < (ecf->vwr_rate + 3) / 4)
    {
        why = "needs a \"vwr_burst=\" of a quarter of \"vwr_rate=\" at least";

    } else {
        return NGX_CONF_OK;
    }

    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "\"vwr=standby\" of \"%V\" in "
                       "\"admission_events\" %s", id, why);

    return NGX_CONF_ERROR;
}


static char *
ngx_adm_event_terms(ngx_conf_t *cf, ngx_adm_event_conf_t *ecf)
{
    u_char      *p;
    ngx_uint_t   i;

    int64_t  terms[] = {
        [NGX_ADM_ARG_QUEUE_THRESHOLD] = ecf->threshold,
        [NGX_ADM_ARG_QUEUE_ACTIVE_TTL] = ecf->active_ttl,
        [NGX_ADM_ARG_QUEUE_SESSION_MAX] = ecf->session_max,
        [NGX_ADM_ARG_QUEUE_CLAIM_TTL] = ecf->claim_ttl,
        [NGX_ADM_ARG_QUEUE_SEEN_TTL] = ecf->seen_ttl
                                        + ngx_adm_seen_late(ecf),
        [NGX_ADM_ARG_QUEUE_RESTORE_WAIT] = ecf->restore_wait,
        [NGX_ADM_ARG_QUEUE_ADMIT_INTERVAL] = ecf->admit_interval,
        [NGX_ADM_ARG_QUEUE_ADMIT_BATCH] = ecf->admit_batch,
        [NGX_ADM_ARG_QUEUE_TOKEN_TTL] = ecf->token_ttl,
        [NGX_ADM_ARG_QUEUE_STREAM] = ecf->admissions_stream,
        [NGX_ADM_ARG_QUEUE_SLOTS] = ecf->slots,
        [NGX_ADM_ARG_QUEUE_STARTS] = ngx_max(ecf->starts, ecf->opens),
        [NGX_ADM_ARG_QUEUE_ORDER] = ecf->order };

    p = ngx_pnalloc(cf->pool, NGX_ADM_QUEUE_TERMS * NGX_INT64_LEN);
    if (p == NULL) {
        return NGX_CONF_ERROR;
    }

    for (i = 0; i < NGX_ADM_QUEUE_TERMS; i++) {
        ecf->terms[i].data = p;
        p = ngx_sprintf(p, "%L", terms[NGX_ADM_ARG_QUEUE_THRESHOLD + i]);
        ecf->terms[i].len = p - ecf->terms[i].data;
    }

    return NGX_CONF_OK;
}


/* eventInfo, as every answer says it */

static char *
ngx_adm_event_info(ngx_conf_t *cf, ngx_adm_event_conf_t *ecf)
{
    u_char     *p;
    ngx_str_t   title, artist;

    if (ngx_adm_json_string(cf->pool, &ecf->title, &title) != NGX_OK
        || ngx_adm_json_string(cf->pool, &ecf->artist, &artist)
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
        p = ngx_sprintf(p, "\"title\":%V", &title);
    }

    if (ecf->artist.len) {
        p = ngx_sprintf(p, ecf->title.len ? ",\"artist\":%V"
                                          : "\"artist\":%V", &artist);
    }

    *p++ = '}';

    ecf->info.len = p - ecf->info.data;

    return NGX_CONF_OK;
}
