
/*
 * Copyright (C) 2026 the admission module authors
 *
 * admission_metrics: what all workers of the host counted, and what the host
 * knows, as docs/metrics.md says.
 */


#ifndef _NGX_ADM_METRICS_METRICS_H_INCLUDED_
#define _NGX_ADM_METRICS_METRICS_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>


ngx_int_t ngx_adm_metrics_handler(ngx_http_request_t *r);


#endif /* _NGX_ADM_METRICS_METRICS_H_INCLUDED_ */
