
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Keys of an event's line in admission_events { ... }: what each takes, and
 * what holds where no line has it.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "conf.h"
#include "parse.h"
#include "../base/rfc3339.h"
#include "../base/text.h"
#include "../host/draw.h"
#include "../queue/queue.h"


#define NGX_ADM_DAY   (24 * 3600 * 1000)

#define NGX_ADM_DATE_ALLOWED                                                  \
    "a date with a time and an offset, such as "                              \
    "\"2026-12-24T20:00:00+09:00\", or \"off\""


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


void
ngx_adm_event_inherit(ngx_adm_event_conf_t *ecf, ngx_adm_event_conf_t *dflt)
{
    ngx_uint_t        i;
    ngx_adm_param_t  *key;

    key = ngx_adm_event_keys;

    for (i = 0; key[i].name.len; i++) {

        if (!(ecf->given & ((uint64_t) 1 << i))) {
            ngx_memcpy((u_char *) ecf + key[i].offset,
                       (u_char *) dflt + key[i].offset, key[i].size);
        }
    }
}


char *
ngx_adm_event_set_key(ngx_conf_t *cf, ngx_adm_event_conf_t *ecf, ngx_str_t *arg)
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


/*
 * "off" is what holds where no line says anything: for an event that is to be
 * without what the default line has
 */

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
