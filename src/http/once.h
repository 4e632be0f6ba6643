
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Calls with an Idempotency-Key: the first one like that is carried out, and
 * others, on this host, get its answer.
 */


#ifndef _NGX_ADM_HTTP_ONCE_H_INCLUDED_
#define _NGX_ADM_HTTP_ONCE_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../host/idempotency.h"
#include "api.h"


typedef struct ngx_adm_once_s  ngx_adm_once_t;

struct ngx_adm_once_s {
    ngx_adm_api_call_t   *call;
    ngx_msec_t            deadline;      /* by when the call is answered */

    /* carries it out; return what a content handler returns */
    ngx_int_t           (*first)(ngx_adm_once_t *once);
    ngx_int_t           (*again)(ngx_adm_once_t *once,
                                 ngx_adm_answer_t *answer);

    /* bool: what will be refused is not noted; NGX_ERROR; NULL: never */
    ngx_int_t           (*refused)(ngx_adm_once_t *once);

    void                 *data;          /* the caller's */

    /* its own */
    ngx_adm_keyed_t       key;
    ngx_event_t           event;         /* waits for the first call */
    unsigned              keyed:1;
    unsigned              sent:1;        /* it may be carried out though the
                                            client goes: nobody else is to try
                                            before the deadline */
};


/*
 * Runs first, or again, before it returns or later, unless the client goes; or
 * answers itself.  The call is told by its key, and by who: parts, of which
 * there are n and one, the first, empty for the key.  body is what has to be
 * the same.  once is of the request's pool, zeroed but for what is the
 * caller's.  Returns what a content handler returns.
 */
ngx_int_t ngx_adm_once(ngx_adm_once_t *once, ngx_str_t *parts, ngx_uint_t n,
    ngx_str_t *body, ngx_uint_t nbody);

/* after first: the answer there is to such calls, or that there is none */
void ngx_adm_once_keep(ngx_adm_once_t *once, ngx_adm_answer_t *answer);
void ngx_adm_once_drop(ngx_adm_once_t *once);

/* answers with JSON, and keeps that */
ngx_int_t ngx_adm_once_json(ngx_adm_once_t *once, ngx_str_t *json);

/* the same, of one that was kept so: for "again" */
ngx_int_t ngx_adm_once_again_json(ngx_adm_once_t *once,
    ngx_adm_answer_t *answer);


#endif /* _NGX_ADM_HTTP_ONCE_H_INCLUDED_ */
