
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The gate: judges requests in the access phase and, where the user is a
 * variable of another access module, right after it (contract, 6).
 */


#ifndef _NGX_HTTP_ADMISSION_GATE_H_INCLUDED_
#define _NGX_HTTP_ADMISSION_GATE_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>


/* phase handlers */
ngx_int_t ngx_http_admission_gate_post_read(ngx_http_request_t *r);
ngx_int_t ngx_http_admission_gate_access(ngx_http_request_t *r);
ngx_int_t ngx_http_admission_gate_precontent(ngx_http_request_t *r);


#endif /* _NGX_HTTP_ADMISSION_GATE_H_INCLUDED_ */
