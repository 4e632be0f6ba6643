
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Operators' calls that look at a record of an event, set it, or end it, of the
 * APIs of both tiers: what Redis keeps is told to other hosts as what changes
 * in a queue is, and the schedule looks after the event from then on.
 */


#ifndef _NGX_ADM_QUEUE_RECORD_H_INCLUDED_
#define _NGX_ADM_QUEUE_RECORD_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../host/record.h"
#include "../http/api.h"


/* handlers of routes: GET looks, PUT or POST sets, DELETE ends */
ngx_int_t ngx_adm_notice_handler(ngx_adm_api_call_t *call);
ngx_int_t ngx_adm_sale_handler(ngx_adm_api_call_t *call);
ngx_int_t ngx_adm_hold_handler(ngx_adm_api_call_t *call);
ngx_int_t ngx_adm_beacon_handler(ngx_adm_api_call_t *call);


/* what a call about a kind of record has of its own */
typedef struct {
    ngx_adm_record_t  *record;

    /*
     * What the request sets, if call->value (NGX_ADM_RECORD_...) says so; to,
     * all 0, is a value.  NGX_DECLINED: it is not what it should be, which is
     * answered with code and message; anything but NGX_OK is the answer.
     */
    ngx_int_t        (*parse)(ngx_adm_api_call_t *call, void *to);
    const char        *code;
    const char        *message;

    /* the answer, with what stands as of us, Redis's time */
    ngx_int_t        (*answer)(ngx_adm_api_call_t *call, void *value,
                               int64_t us);

    /*
     * A command whose success is awaited ahead of what is set, and which is
     * repeated after it, as others may undo it until then; or NULL.  It returns
     * as ngx_adm_set_call() does.  _missed(): the repetition failed.
     */
    ngx_adm_redis_call_t *(*around)(ngx_str_t *event,
                                    ngx_adm_redis_done_pt done, void *data);
    void             (*missed)(ngx_str_t *event);

    unsigned           told:1;           /* other hosts are */
} ngx_adm_record_api_t;


ngx_int_t ngx_adm_record_handler(ngx_adm_api_call_t *call,
    ngx_adm_record_api_t *api);

/*
 * A body of texts, or null, each of which is read into its field of "to".
 * NGX_DECLINED: it is no such thing, or one is not what it should be.
 */
typedef struct {
    const char        *name;             /* NULL: the last one */
    size_t             offset;
} ngx_adm_record_member_t;

typedef ngx_int_t (*ngx_adm_record_read_pt)(ngx_str_t *text, void *field);

ngx_int_t ngx_adm_record_members(json_t *body,
    ngx_adm_record_member_t *members, ngx_adm_record_read_pt read, void *to);

/* of an answer: the log, and other hosts, are told what the call did */
void ngx_adm_record_changed(ngx_adm_api_call_t *call, const char *what,
    int64_t us);


#endif /* _NGX_ADM_QUEUE_RECORD_H_INCLUDED_ */
