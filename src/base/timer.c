
/*
 * Copyright (C) 2026 the admission module authors
 *
 * NGINX's debug log of timers looks at the connection of an event: those that
 * have none share a dumb one.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>

#include "timer.h"


static ngx_connection_t  ngx_adm_timer_dumb = { .fd = (ngx_socket_t) -1 };


void
ngx_adm_timer_init(ngx_event_t *ev, ngx_event_handler_pt handler,
    ngx_log_t *log)
{
    ev->handler = handler;
    ev->data = &ngx_adm_timer_dumb;
    ev->log = log;
}
