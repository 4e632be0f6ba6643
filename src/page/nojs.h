
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What the pages without JavaScript of both tiers have in common: what is
 * known of the request, and how it is sent.
 */


#ifndef _NGX_ADM_PAGE_NOJS_H_INCLUDED_
#define _NGX_ADM_PAGE_NOJS_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../queue/look.h"
#include "../room/visit.h"
#include "page.h"


#define NGX_ADM_NOJS_RETRY  5            /* s, with Redis gone */


typedef struct {
    ngx_adm_api_call_t    *call;
    ngx_adm_visit_t        visit;        /* of the waiting room */
    ngx_adm_queue_look_t   look;         /* of the queue */
    ngx_str_t             *values;
    ngx_str_t              target;
    int64_t                ahead;        /* as it is told; 0: it is not */
    unsigned               shown:1;      /* the ticket's cookie is kept, as we
                                            saw */
} ngx_adm_nojs_t;


/* values and target as of page_without_script(); NULL: no memory */
ngx_adm_nojs_t *ngx_adm_nojs_create(ngx_http_request_t *r,
    ngx_adm_event_conf_t *conf, ngx_str_t *values, ngx_str_t *target);

/* whether an argument of the address is there, whatever it says */
ngx_uint_t ngx_adm_nojs_says(ngx_http_request_t *r, const char *name);

/*
 * All of these return what a content handler returns.
 *
 * The page in a state; seconds 0: the browser is not to come again by itself.
 */
ngx_int_t ngx_adm_nojs_send(ngx_adm_nojs_t *nojs, const char *state,
    ngx_uint_t status, ngx_uint_t seconds);

/* the page that asks whether to leave, with the ticket; empty: a place */
ngx_int_t ngx_adm_nojs_leave(ngx_adm_nojs_t *nojs, ngx_str_t *ticket);

/* on to the target, or, without one, to "next" */
ngx_int_t ngx_adm_nojs_go(ngx_adm_nojs_t *nojs);


#endif /* _NGX_ADM_PAGE_NOJS_H_INCLUDED_ */
