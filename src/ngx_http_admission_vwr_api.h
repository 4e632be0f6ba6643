
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The content handler of admission_vwr_api (contract, 5: tier 1).  What it
 * does for a visitor pages do by ngx_http_admission_visit.h.
 */


#ifndef _NGX_HTTP_ADMISSION_VWR_API_H_INCLUDED_
#define _NGX_HTTP_ADMISSION_VWR_API_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_admission_api.h"


ngx_int_t ngx_http_admission_vwr_api_handler(ngx_http_request_t *r);

/* the route of assign */
ngx_int_t ngx_http_admission_assign_handler(
    ngx_http_admission_api_call_t *call);


#endif /* _NGX_HTTP_ADMISSION_VWR_API_H_INCLUDED_ */
