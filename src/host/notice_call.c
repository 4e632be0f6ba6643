
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Calls of the script of operators' words: each brings what the host knows, so
 * that the latest stands though Redis lost it.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/clock.h"
#include "../token/claims.h"
#include "args.h"
#include "ngx_http_admission_names.h"
#include "notice.h"
#include "settings.h"


#define NGX_ADM_NOTICES_OUT    64        /* fetched at once */
#define NGX_ADM_NOTICES_AGAIN  5000      /* ms, where there is no room */


/* a call under way; freed with the call of the client */
typedef struct {
    ngx_adm_notice_done_pt   done;
    void                    *data;
    unsigned                 fetch:1;    /* for the host alone */
    ngx_str_t                event;
    u_char                   id[NGX_ADM_EVENT_MAX];
} ngx_adm_notice_ask_t;


static void ngx_adm_notice_detach(void *data);
static void ngx_adm_notice_answered(void *data, ngx_int_t rc,
    redisReply *reply);
static ngx_int_t ngx_adm_notice_read(redisReply *reply,
    ngx_adm_notice_t *notice, int64_t *us);
static ngx_int_t ngx_adm_notice_text(redisReply *element, ngx_str_t *text,
    u_char *buf);


static ngx_uint_t  ngx_adm_notices_out;
static ngx_msec_t  ngx_adm_notices_full;        /* since when there is no room;
                                                   0: there is */


ngx_adm_redis_call_t *
ngx_adm_notice_call(ngx_adm_notice_what_e what, ngx_str_t *ko, ngx_str_t *en,
    ngx_str_t *event, ngx_adm_notice_done_pt done, void *data)
{
    ngx_adm_args_t         args;
    ngx_adm_notice_t       known;
    ngx_adm_notice_ask_t  *na;
    ngx_adm_redis_call_t  *call;

    static ngx_str_t  names[] = {
        ngx_string("look"),
        ngx_string("set"),
        ngx_string("unset") };

    if (ngx_adm_redis == NULL) {
        return NULL;
    }

    na = ngx_alloc(sizeof(ngx_adm_notice_ask_t), ngx_cycle->log);
    if (na == NULL) {
        return NULL;
    }

    na->done = done;
    na->data = data;
    na->fetch = (done == NULL);
    na->event.len = event->len;
    na->event.data = na->id;
    ngx_memcpy(na->id, event->data, event->len);

    if (ngx_adm_notice_get(event, &known) != NGX_OK) {
        known.version = 0;
        known.at = 0;
        ngx_str_set(&known.ko, "");
        ngx_str_set(&known.en, "");
    }

    ngx_adm_args_begin(&args, NGX_ADM_CALL_NOTICE, event);

    args.argv[NGX_ADM_ARG_NOTICE_WHAT] = names[what];

    if (what == NGX_ADM_NOTICE_SET) {
        args.argv[NGX_ADM_ARG_NOTICE_KO] = *ko;
        args.argv[NGX_ADM_ARG_NOTICE_EN] = *en;
    }

    args.number[NGX_ADM_ARG_NOTICE_HOST_VERSION] = known.version;
    args.number[NGX_ADM_ARG_NOTICE_HOST_AT] = known.at;
    args.argv[NGX_ADM_ARG_NOTICE_HOST_KO] = known.ko;
    args.argv[NGX_ADM_ARG_NOTICE_HOST_EN] = known.en;

    call = ngx_adm_args_run(&args, ngx_adm_notice_answered, na);
    if (call) {
        ngx_adm_redis_on_detach(call, ngx_adm_notice_detach);
    }

    return call;
}


/* what was changed is for the host all the same */

static void
ngx_adm_notice_detach(void *data)
{
    ngx_adm_notice_ask_t *na = data;

    na->done = NULL;
}


ngx_uint_t
ngx_adm_notice_heard(ngx_str_t *event, int64_t version)
{
    if (version == ngx_adm_notice_version(event)) {
        return 0;
    }

    if (ngx_adm_notices_out >= NGX_ADM_NOTICES_OUT
        || (ngx_adm_notices_full
            && ngx_adm_since(ngx_adm_notices_full) < NGX_ADM_NOTICES_AGAIN))
    {
        return 1;
    }

    ngx_log_debug2(NGX_LOG_DEBUG_HTTP, ngx_cycle->log, 0,
                   "admission: notice of event \"%V\" is asked for, %L",
                   event, version);

    ngx_adm_notices_full = 0;

    if (ngx_adm_notice_call(NGX_ADM_NOTICE_LOOK, NULL, NULL, event, NULL, NULL)
        != NULL)
    {
        ngx_adm_notices_out++;
    }

    return 1;
}


static void
ngx_adm_notice_answered(void *data, ngx_int_t rc, redisReply *reply)
{
    ngx_adm_notice_ask_t *na = data;

    int64_t           us;
    ngx_adm_notice_t  notice;

    us = 0;

    if (na->fetch) {
        ngx_adm_notices_out--;
    }

    if (rc == NGX_OK && ngx_adm_notice_read(reply, &notice, &us) != NGX_OK) {
        ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                      "admission: the notice of event \"%V\" in redis is not "
                      "ours", &na->event);
        rc = NGX_ERROR;
    }

    if (rc != NGX_OK) {

        if (na->done) {
            na->done(na->data, NGX_ERROR, NULL, 0);
        }

        return;
    }

    if (ngx_adm_notice_note(&na->event, &notice) != NGX_OK) {
        ngx_adm_notices_full = ngx_adm_mark_now();

        ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                      "admission: the zone has no room for the notice of event "
                      "\"%V\", which this host does not show: make "
                      "\"admission_zone\" larger", &na->event);
    }

    if (na->done) {
        na->done(na->data, NGX_OK, &notice, us);
    }
}


static ngx_int_t
ngx_adm_notice_read(redisReply *reply, ngx_adm_notice_t *notice, int64_t *us)
{
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
        || ngx_adm_notice_text(element[NGX_ADM_REPLY_NOTICE_KO], &notice->ko,
                               notice->text) != NGX_OK
        || ngx_adm_notice_text(element[NGX_ADM_REPLY_NOTICE_EN], &notice->en,
                               notice->text + NGX_ADM_NOTICE_BYTES) != NGX_OK)
    {
        return NGX_ERROR;
    }

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
ngx_adm_notice_text(redisReply *element, ngx_str_t *text, u_char *buf)
{
    if (element->type != REDIS_REPLY_STRING
        || (size_t) element->len > NGX_ADM_NOTICE_BYTES)
    {
        return NGX_ERROR;
    }

    text->len = element->len;
    text->data = buf;
    ngx_memcpy(buf, element->str, text->len);

    return ngx_adm_is_text(text) ? NGX_OK : NGX_ERROR;
}
