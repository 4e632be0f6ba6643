
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The schedule: one worker of each host steps every event that has work to
 * do; the steps themselves are atomic in Redis, so that any number of hosts
 * may run it.
 */


#ifndef _NGX_HTTP_ADMISSION_SCHEDULE_H_INCLUDED_
#define _NGX_HTTP_ADMISSION_SCHEDULE_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_admission_conf.h"


/* a worker starts; NGX_ERROR: no memory */
ngx_int_t ngx_http_admission_schedule_start(ngx_cycle_t *cycle,
    ngx_http_admission_main_conf_t *mcf);

/* a worker leaves: another one of the host takes over at once */
void ngx_http_admission_schedule_stop(void);


#endif /* _NGX_HTTP_ADMISSION_SCHEDULE_H_INCLUDED_ */
