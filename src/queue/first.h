
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The first step of an event that the host has not heard of, asked for by a
 * request that depends on it: who was put out, and whether an operator holds
 * the event.  It is a step as any other.
 */


#ifndef _NGX_ADM_QUEUE_FIRST_H_INCLUDED_
#define _NGX_ADM_QUEUE_FIRST_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "../host/look.h"


/*
 * As in host/look.h.  The answer is an ngx_adm_queue_answer_t, whose score is
 * not 0 if there is more to be heard.
 */
ngx_adm_look_t *ngx_adm_queue_first(ngx_str_t *event,
    ngx_adm_event_conf_t *conf, ngx_adm_look_done_pt done, void *data);


#endif /* _NGX_ADM_QUEUE_FIRST_H_INCLUDED_ */
