
/*
 * Copyright (C) 2026 the admission module authors
 */


#ifndef _NGX_HTTP_ADMISSION_SCHEDULE_ROOMS_H_INCLUDED_
#define _NGX_HTTP_ADMISSION_SCHEDULE_ROOMS_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_admission_conf.h"


/* a worker starts; NGX_ERROR: no memory */
ngx_int_t ngx_http_admission_schedule_rooms_start(ngx_cycle_t *cycle,
    ngx_http_admission_main_conf_t *mcf);

/* issues what is due for the waiting rooms; at least every 50 ms */
void ngx_http_admission_schedule_rooms(ngx_log_t *log);


#endif /* _NGX_HTTP_ADMISSION_SCHEDULE_ROOMS_H_INCLUDED_ */
