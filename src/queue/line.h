
/*
 * Copyright (C) 2026 the admission module authors
 *
 * max_queue= and max_wait=: whether a line takes more, as answers about it
 * say, for the host to know.
 */


#ifndef _NGX_ADM_QUEUE_LINE_H_INCLUDED_
#define _NGX_ADM_QUEUE_LINE_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "../host/args.h"
#include "../host/line.h"
#include "reply.h"


/* of a call about an event: its terms, as settings.h has them */
typedef struct {
    int64_t                 max_queue;
    ngx_msec_t              max_wait;
    ngx_uint_t              round;       /* of what a step is to tell */
} ngx_adm_queue_line_t;


/* the arguments of a step that say whom it is to tell of */
void ngx_adm_queue_line_step(ngx_adm_queue_line_t *line, ngx_str_t *event,
    ngx_adm_args_t *args);

/*
 * An answer: user is who asked, or empty.  now.full of the reply is set, and
 * refusals are counted.
 */
void ngx_adm_queue_line_note(ngx_adm_queue_line_t *line, ngx_str_t *event,
    ngx_str_t *user, ngx_adm_queue_reply_t *r);


#endif /* _NGX_ADM_QUEUE_LINE_H_INCLUDED_ */
