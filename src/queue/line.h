
/*
 * Copyright (C) 2026 the admission module authors
 *
 * max_queue= and max_wait=: whether a line takes more, as answers about it
 * say, for the host to know; and who is there, for who would join a line that
 * takes no more, or an event that is sold out.
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


/* of a call about an event: its terms, as settings.h has them */
typedef struct {
    int64_t                 max_queue;
    ngx_msec_t              max_wait;
    ngx_uint_t              round;       /* of what a step is to tell */
    ngx_adm_view_scan_t     view;        /* likewise; of others all 0 */
    unsigned                seats:1;     /* there is an end of them */
} ngx_adm_queue_line_t;


/* the arguments of a step that say whom it is to tell of */
void ngx_adm_queue_line_step(ngx_adm_queue_line_t *line, ngx_str_t *event,
    ngx_adm_event_conf_t *conf, ngx_adm_args_t *args);

/*
 * An answer: user is who asked, or empty.  now.full of the reply is set, and
 * refusals are counted.
 */
void ngx_adm_queue_line_note(ngx_adm_queue_line_t *line, ngx_str_t *event,
    ngx_str_t *user, ngx_adm_queue_reply_t *r);

/*
 * Whether a join is refused without asking, since all seats are sold: the host
 * knows that, and would hear if it changed, and who joins is nobody who may
 * wait or be in: shows neither a place nor an entry token, and is not known to
 * be there.
 */
ngx_uint_t ngx_adm_queue_line_sold(ngx_adm_queue_ask_t *ask);

/*
 * Whether it is, since the line takes no more: not of who shows what lets in
 * regardless, nor, by how long the wait is, of who may come before others.
 * Returns NGX_ADM_LINE_*.
 */
ngx_uint_t ngx_adm_queue_line_refuses(ngx_adm_queue_ask_t *ask);

/* and for the host's view of the line, when the event's state is noted */
void ngx_adm_queue_line_view(ngx_adm_queue_line_t *line, ngx_str_t *event,
    ngx_str_t *user, ngx_adm_queue_reply_t *r);


#endif /* _NGX_ADM_QUEUE_LINE_H_INCLUDED_ */
