
/*
 * Copyright (C) 2026 the admission module authors
 *
 * max_queue= and max_wait=. Whether a line takes more, as answers about it
 * say, for the host to know; and who is there, since those may call again even
 * where the line is full or the event is sold out.
 */


#ifndef _NGX_ADM_QUEUE_LINE_H_INCLUDED_
#define _NGX_ADM_QUEUE_LINE_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "../host/args.h"
#include "../host/line.h"
#include "../host/view.h"
#include "queue.h"
#include "reply.h"


/* of a call about an event; conf has its terms, see settings.h */
typedef struct {
    int64_t                 max_queue;
    ngx_msec_t              max_wait;
    ngx_uint_t              round;       /* of a step: which members, */
    ngx_adm_view_scan_t     view;        /* and points, it is to tell; 0:
                                            none */
    unsigned                seats:1;     /* the event has slots= */
} ngx_adm_queue_line_t;


/* sets the arguments of a step that say which members it is to tell */
void ngx_adm_queue_line_step(ngx_adm_queue_line_t *line, ngx_str_t *event,
    ngx_adm_event_conf_t *conf, ngx_adm_args_t *args);

/*
 * Notes an answer; user: who asked, or empty.  Sets now.full of the reply, and
 * counts refusals.
 */
void ngx_adm_queue_line_note(ngx_adm_queue_line_t *line, ngx_str_t *event,
    ngx_str_t *user, ngx_adm_queue_reply_t *r);

/*
 * Whether a join is refused without asking Redis, since all seats are sold:
 * the host knows that, and would hear if it changed.  Only of somebody who
 * can't be waiting or in: shows neither place nor entry token, and is not
 * known as there.
 */
ngx_uint_t ngx_adm_queue_line_sold(ngx_adm_queue_ask_t *ask);

/*
 * Whether a join is refused without asking Redis, since the line takes no
 * more: not of somebody who shows what lets in all the same nor, by how long
 * the wait is, of somebody who may come before others.  Returns
 * NGX_ADM_LINE_*.
 */
ngx_uint_t ngx_adm_queue_line_refuses(ngx_adm_queue_ask_t *ask);

/* notes a step's line for the host's view, after the event's state was noted */
void ngx_adm_queue_line_view(ngx_adm_queue_line_t *line, ngx_str_t *event,
    ngx_str_t *user, ngx_adm_queue_reply_t *r);


#endif /* _NGX_ADM_QUEUE_LINE_H_INCLUDED_ */
