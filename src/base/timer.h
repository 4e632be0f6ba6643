
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Timers of no connection.
 */


#ifndef _NGX_ADM_BASE_TIMER_H_INCLUDED_
#define _NGX_ADM_BASE_TIMER_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>


/*
 * The data of such a timer is not the caller's: a handler finds what its timer
 * is part of by ngx_queue_data(ev, type, member).
 */
void ngx_adm_timer_init(ngx_event_t *ev, ngx_event_handler_pt handler,
    ngx_log_t *log);


#endif /* _NGX_ADM_BASE_TIMER_H_INCLUDED_ */
