
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What the pages without JavaScript of both tiers share: what is known of the
 * request, and how it is answered.
 */


#ifndef _NGX_ADM_PAGE_NOJS_H_INCLUDED_
#define _NGX_ADM_PAGE_NOJS_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../queue/look.h"
#include "../room/visit.h"
#include "page.h"


#define NGX_ADM_NOJS_RETRY  5            /* s until another try without Redis */


typedef struct {
    ngx_adm_api_call_t    *call;
    ngx_adm_visit_t        visit;        /* of the waiting room */
    ngx_adm_queue_look_t   look;         /* of the queue */
    ngx_str_t             *values;
    ngx_str_t              target;
    int64_t                ahead;        /* as told; 0: not told */
    unsigned               shown:1;      /* the browser keeps the ticket's
                                            cookie: it has shown it */
} ngx_adm_nojs_t;


/* values and target as in ngx_adm_page_without_script(); NULL: no memory */
ngx_adm_nojs_t *ngx_adm_nojs_create(ngx_http_request_t *r,
    ngx_adm_event_conf_t *conf, ngx_str_t *values, ngx_str_t *target);

/* whether the address has an argument, whatever its value */
ngx_uint_t ngx_adm_nojs_says(ngx_http_request_t *r, const char *name);

/*
 * All of these return what a content handler returns.
 *
 * _send(): the page in a state; seconds 0: the browser does not come again by
 * itself.
 */
ngx_int_t ngx_adm_nojs_send(ngx_adm_nojs_t *nojs, const char *state,
    ngx_uint_t status, ngx_uint_t seconds);

/* asks whether to leave, with the ticket; empty: with a place */
ngx_int_t ngx_adm_nojs_leave(ngx_adm_nojs_t *nojs, ngx_str_t *ticket);

/* goes on to the target, or, without one, to "next" */
ngx_int_t ngx_adm_nojs_go(ngx_adm_nojs_t *nojs);


#endif /* _NGX_ADM_PAGE_NOJS_H_INCLUDED_ */
