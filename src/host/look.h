
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Looks at what a host does not know of an event: while one is out, all others
 * of the worker at that event wait for its answer.  It may be older than some
 * of them by as much as it takes, which is no longer than hosts take to hear of
 * each other.
 */


#ifndef _NGX_ADM_HOST_LOOK_H_INCLUDED_
#define _NGX_ADM_HOST_LOOK_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/by_id.h"
#include "settings.h"


typedef struct ngx_adm_look_s      ngx_adm_look_t;
typedef struct ngx_adm_look_out_s  ngx_adm_look_out_t;

/*
 * rc NGX_ERROR: no answer, which is NULL; else the answer has the kind's type
 */
typedef void (*ngx_adm_look_done_pt)(void *data, ngx_int_t rc, void *answer);


/*
 * A kind of look: how its call is issued, which then ends with
 * ngx_adm_look_told(), but not before this has returned; NULL: it could not be
 * issued, and does not end.
 */
typedef struct {
    ngx_adm_redis_call_t  *(*call)(ngx_str_t *event, ngx_adm_event_conf_t *conf,
                                   ngx_adm_look_out_t *out);
    ngx_adm_by_id_t          events;     /* of which a look is out */
} ngx_adm_look_kind_t;


/*
 * Asks, and completes when the call does, with its answer or failure.  NULL:
 * it could not be issued, and no completion follows.  _cancel(): the request
 * goes away; not to be called after the completion.
 */
ngx_adm_look_t *ngx_adm_look_at(ngx_adm_look_kind_t *kind, ngx_str_t *event,
    ngx_adm_event_conf_t *conf, ngx_adm_look_done_pt done, void *data);
void ngx_adm_look_cancel(void *look);

/* for kinds: the event and conf of a look, until it is told */
ngx_str_t *ngx_adm_look_event(ngx_adm_look_out_t *out);
ngx_adm_event_conf_t *ngx_adm_look_conf(ngx_adm_look_out_t *out);

void ngx_adm_look_told(ngx_adm_look_out_t *out, ngx_int_t rc, void *answer);


#endif /* _NGX_ADM_HOST_LOOK_H_INCLUDED_ */
