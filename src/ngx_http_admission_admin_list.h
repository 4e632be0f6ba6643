
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The operators' call about all events at once.
 */


#ifndef _NGX_HTTP_ADMISSION_ADMIN_LIST_H_INCLUDED_
#define _NGX_HTTP_ADMISSION_ADMIN_LIST_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_admission_api.h"


ngx_int_t ngx_http_admission_admin_list(ngx_http_admission_api_call_t *call);


#endif /* _NGX_HTTP_ADMISSION_ADMIN_LIST_H_INCLUDED_ */
