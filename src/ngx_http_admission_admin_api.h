
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The content handler of admission_admin_api (contract, 5: Admin).
 */


#ifndef _NGX_HTTP_ADMISSION_ADMIN_API_H_INCLUDED_
#define _NGX_HTTP_ADMISSION_ADMIN_API_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>


ngx_int_t ngx_http_admission_admin_api_handler(ngx_http_request_t *r);


#endif /* _NGX_HTTP_ADMISSION_ADMIN_API_H_INCLUDED_ */
