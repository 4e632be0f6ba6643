
/*
 * Copyright (C) 2026 the admission module authors
 *
 * $admission_event, $admission_user, $admission_client, $admission_address,
 * $admission_verdict, $admission_reason and $admission_position (contract,
 * 2): computed when used, in any phase, of a subrequest as of its request.
 */


#ifndef _NGX_HTTP_ADMISSION_VARIABLES_H_INCLUDED_
#define _NGX_HTTP_ADMISSION_VARIABLES_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>


ngx_int_t ngx_http_admission_add_variables(ngx_conf_t *cf);


#endif /* _NGX_HTTP_ADMISSION_VARIABLES_H_INCLUDED_ */
