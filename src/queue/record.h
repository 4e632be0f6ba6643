
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Operators' calls that look at a record of an event, set it, or end it, for
 * the APIs of both tiers.  Other hosts are told as they are of a change in a
 * queue, and the schedule looks after the event from then on.
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


/* what calls about one kind of record have of their own */
typedef struct {
    ngx_adm_record_t  *record;

    /*
     * Reads what the request sets into "to", which is all 0; call->value
     * (NGX_ADM_RECORD_...) says what it does.  NGX_DECLINED: the value is
     * wrong, which is answered with code and message; other than NGX_OK: the
     * answer.
     */
    ngx_int_t        (*parse)(ngx_adm_api_call_t *call, void *to);
    const char        *code;
    const char        *message;

    /* answers with the value that stands, at us of Redis's time */
    ngx_int_t        (*answer)(ngx_adm_api_call_t *call, void *value,
                               int64_t us);

    /*
     * A command that has to succeed before the value is set, and is repeated
     * after it since others may undo it until then; or NULL.  Returns as
     * ngx_adm_set_call().  _missed(): the repetition failed.
     */
    ngx_adm_redis_call_t *(*around)(ngx_str_t *event,
                                    ngx_adm_redis_done_pt done, void *data);
    void             (*missed)(ngx_str_t *event);

    unsigned           told:1;           /* tells other hosts */
} ngx_adm_record_api_t;


ngx_int_t ngx_adm_record_handler(ngx_adm_api_call_t *call,
    ngx_adm_record_api_t *api);

/*
 * Reads a body of texts, or null, each into its field of "to".  NGX_DECLINED:
 * the body is something else, or one of the texts is wrong.
 */
typedef struct {
    const char        *name;             /* NULL ends the list */
    size_t             offset;
} ngx_adm_record_member_t;

typedef ngx_int_t (*ngx_adm_record_read_pt)(ngx_str_t *text, void *field);

ngx_int_t ngx_adm_record_members(json_t *body,
    ngx_adm_record_member_t *members, ngx_adm_record_read_pt read, void *to);

/* tells the log, and other hosts, what a call did, once it is answered */
void ngx_adm_record_changed(ngx_adm_api_call_t *call, const char *what,
    int64_t us);


#endif /* _NGX_ADM_QUEUE_RECORD_H_INCLUDED_ */
