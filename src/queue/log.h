
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What the log is told of queues: a line for each queue that changed; of what
 * may be about all events of the host, a line a second and worker at most.
 */


#ifndef _NGX_ADM_QUEUE_LOG_H_INCLUDED_
#define _NGX_ADM_QUEUE_LOG_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include <hiredis/hiredis.h>


/* news: of ngx_adm_event_note(); restore: ms for which nobody is let in */
void ngx_adm_queue_log(ngx_str_t *event, ngx_uint_t news, ngx_msec_t restore);

/* nobody is let in for a moment, since steps were missing */
void ngx_adm_queue_log_settle(ngx_str_t *event);

/* something that a script did besides was refused; it tells what in a text */
void ngx_adm_queue_log_refused(redisReply *refused);


#endif /* _NGX_ADM_QUEUE_LOG_H_INCLUDED_ */
