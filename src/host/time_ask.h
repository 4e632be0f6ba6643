
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What time it is for Redis, where no script tells it.  All who ask a worker
 * at one time share one call.
 */


#ifndef _NGX_ADM_HOST_TIME_ASK_H_INCLUDED_
#define _NGX_ADM_HOST_TIME_ASK_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>


typedef struct ngx_adm_time_ask_s  ngx_adm_time_ask_t;

/* Redis was asked; whether it told the time, ngx_adm_time_is_known() says */
typedef void (*ngx_adm_time_asked_pt)(void *data);

/*
 * Asks.  NULL: it could not (no Redis, known to be down, no memory), and no
 * completion follows.  _cancel(): the completion will not be called.
 */
ngx_adm_time_ask_t *ngx_adm_time_ask(ngx_adm_time_asked_pt asked, void *data);
void ngx_adm_time_ask_cancel(void *data);

/* asks, for nobody who waits */
void ngx_adm_time_look(void);


#endif /* _NGX_ADM_HOST_TIME_ASK_H_INCLUDED_ */
