
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Calls with an Idempotency-Key: the first of its kind is carried out, others
 * on this host get its answer.
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
    ngx_msec_t            deadline;      /* of the call's answer */

    /*
     * first() carries it out, again() gives a kept answer; both return what a
     * content handler returns
     */
    ngx_int_t           (*first)(ngx_adm_once_t *once);
    ngx_int_t           (*again)(ngx_adm_once_t *once,
                                 ngx_adm_answer_t *answer);

    /*
     * bool: it is going to be refused, and is not noted; NGX_ERROR; NULL:
     * never
     */
    ngx_int_t           (*refused)(ngx_adm_once_t *once);

    void                 *data;          /* for these */

    /* its own from here on */
    ngx_adm_keyed_t       key;
    ngx_event_t           event;         /* waits for the first call */
    unsigned              keyed:1;
    unsigned              sent:1;        /* may be carried out even if the
                                            client goes: no other is to try
                                            before the deadline */
};


/*
 * Runs first or again, before it returns or later, unless the client goes; or
 * answers by itself.  A call is known by n parts: the first is left empty, for
 * the key, the others say who asks, and for what. body: what has to be the
 * same. once is in the request's pool, zeroed but for what the caller sets.
 * Returns what a content handler returns.
 */
ngx_int_t ngx_adm_once(ngx_adm_once_t *once, ngx_str_t *parts, ngx_uint_t n,
    ngx_str_t *body, ngx_uint_t nbody);

/*
 * after first(): keeps the answer for calls of this kind, or says there is
 * none
 */
void ngx_adm_once_keep(ngx_adm_once_t *once, ngx_adm_answer_t *answer);
void ngx_adm_once_drop(ngx_adm_once_t *once);

/* answers with JSON, and keeps it */
ngx_int_t ngx_adm_once_json(ngx_adm_once_t *once, ngx_str_t *json);

/* for again(): answers with JSON that was kept so */
ngx_int_t ngx_adm_once_again_json(ngx_adm_once_t *once,
    ngx_adm_answer_t *answer);


#endif /* _NGX_ADM_HTTP_ONCE_H_INCLUDED_ */
