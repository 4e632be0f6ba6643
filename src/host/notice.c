
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The notices of operators, as records.  Each has a length of its own, and
 * there is a bound on all of them together.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "../token/claims.h"
#include "event_node.h"
#include "ngx_http_admission_names.h"
#include "notice.h"


#define NGX_ADM_NOTICE_SHARE  32         /* of the zone, one part, at most */


static size_t ngx_adm_notice_kept(void *value);
static ngx_uint_t ngx_adm_notice_stands(void *value);
static void ngx_adm_notice_noted_locked(ngx_adm_zone_t *zone,
    ngx_adm_event_node_t *en, void *value);
static void ngx_adm_notice_args(ngx_adm_args_t *args,
    ngx_adm_record_ask_t *ask, void *value);
static ngx_int_t ngx_adm_notice_read(redisReply *reply, void *value,
    int64_t *us);
static ngx_int_t ngx_adm_notice_text(redisReply *element, u_char *buf,
    u_short *len);


ngx_adm_record_t  ngx_adm_notice_record = {
    .script = NGX_ADM_CALL_NOTICE,
    .size = sizeof(ngx_adm_notice_t),
    .share = NGX_ADM_NOTICE_SHARE,
    .end = NGX_ADM_RECORD_FORGOTTEN,
    .kept = ngx_adm_notice_kept,
    .stands = ngx_adm_notice_stands,
    .noted_locked = ngx_adm_notice_noted_locked,
    .args = ngx_adm_notice_args,
    .read = ngx_adm_notice_read,
    .not_ours = "admission: the notice of event \"%V\" in redis is not ours",
    .no_room = "admission: the zone has no room for the notice of event "
               "\"%V\", which this host does not show: make "
               "\"admission_zone\" larger" };


static size_t
ngx_adm_notice_kept(void *value)
{
    ngx_adm_notice_t *notice = value;

    return offsetof(ngx_adm_notice_t, text) + notice->ko_len + notice->en_len;
}


static ngx_uint_t
ngx_adm_notice_stands(void *value)
{
    ngx_adm_notice_t *notice = value;

    return notice->at != 0;
}


static void
ngx_adm_notice_noted_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en,
    void *value)
{
    en->noticed = (value && ngx_adm_notice_stands(value));
}


static void
ngx_adm_notice_args(ngx_adm_args_t *args, ngx_adm_record_ask_t *ask,
    void *value)
{
    ngx_adm_notice_t *to, *known = value;

    args->argv[NGX_ADM_ARG_NOTICE_WHAT] = ngx_adm_record_what[ask->what];

    if (ask->what == NGX_ADM_RECORD_SET) {
        to = ask->to;

        args->argv[NGX_ADM_ARG_NOTICE_KO] = to->ko;
        args->argv[NGX_ADM_ARG_NOTICE_EN] = to->en;
    }

    ngx_adm_notice_texts(known);

    args->number[NGX_ADM_ARG_NOTICE_HOST_VERSION] = known->version;
    args->number[NGX_ADM_ARG_NOTICE_HOST_AT] = known->at;
    args->argv[NGX_ADM_ARG_NOTICE_HOST_KO] = known->ko;
    args->argv[NGX_ADM_ARG_NOTICE_HOST_EN] = known->en;
}


static ngx_int_t
ngx_adm_notice_read(redisReply *reply, void *value, int64_t *us)
{
    ngx_adm_notice_t *notice = value;

    redisReply  **element;

    if (reply->type != REDIS_REPLY_ARRAY
        || reply->elements != NGX_ADM_REPLY_NOTICE_COUNT)
    {
        return NGX_ERROR;
    }

    element = reply->element;

    if (element[NGX_ADM_REPLY_NOTICE_VERSION]->type != REDIS_REPLY_INTEGER
        || element[NGX_ADM_REPLY_NOTICE_AT]->type != REDIS_REPLY_INTEGER
        || element[NGX_ADM_REPLY_NOTICE_US]->type != REDIS_REPLY_INTEGER
        || ngx_adm_notice_text(element[NGX_ADM_REPLY_NOTICE_KO], notice->text,
                               &notice->ko_len) != NGX_OK
        || ngx_adm_notice_text(element[NGX_ADM_REPLY_NOTICE_EN],
                               notice->text + notice->ko_len,
                               &notice->en_len) != NGX_OK)
    {
        return NGX_ERROR;
    }

    ngx_adm_notice_texts(notice);

    notice->version = element[NGX_ADM_REPLY_NOTICE_VERSION]->integer;
    notice->at = element[NGX_ADM_REPLY_NOTICE_AT]->integer;
    *us = element[NGX_ADM_REPLY_NOTICE_US]->integer;

    if (notice->ko.len + notice->en.len == 0) {
        notice->at = 0;
    }

    return (notice->version >= 0 && notice->at >= 0
            && notice->version <= NGX_ADM_NUMBER_MAX
            && notice->at <= NGX_ADM_NUMBER_MAX / 1000000)
           ? NGX_OK : NGX_ERROR;
}


static ngx_int_t
ngx_adm_notice_text(redisReply *element, u_char *buf, u_short *len)
{
    ngx_str_t  text;

    if (element->type != REDIS_REPLY_STRING
        || (size_t) element->len > NGX_ADM_NOTICE_BYTES)
    {
        return NGX_ERROR;
    }

    text.len = element->len;
    text.data = buf;
    ngx_memcpy(buf, element->str, text.len);

    *len = (u_short) text.len;

    return ngx_adm_is_text(&text) ? NGX_OK : NGX_ERROR;
}
