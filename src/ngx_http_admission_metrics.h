
/*
 * Copyright (C) 2026 the admission module authors
 *
 * admission_metrics: what all workers of the host counted, and what the host
 * knows, as docs/metrics.md says.
 */


#ifndef _NGX_HTTP_ADMISSION_METRICS_H_INCLUDED_
#define _NGX_HTTP_ADMISSION_METRICS_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_admission_conf.h"
#include "ngx_http_admission_exposition.h"


ngx_int_t ngx_http_admission_metrics_handler(ngx_http_request_t *r);

/* those that are about events; NGX_ERROR: no memory */
ngx_int_t ngx_http_admission_metrics_events(
    ngx_http_admission_exposition_t *e, ngx_http_admission_main_conf_t *mcf);


#endif /* _NGX_HTTP_ADMISSION_METRICS_H_INCLUDED_ */
