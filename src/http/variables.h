
/*
 * Copyright (C) 2026 the admission module authors
 *
 * $admission_event, $admission_user, $admission_client, $admission_address,
 * $admission_verdict, $admission_reason and $admission_position
 * (docs/directives.md: Variables).  They are computed when used, in any phase;
 * in a subrequest they are those of the main request.
 */


#ifndef _NGX_ADM_HTTP_VARIABLES_H_INCLUDED_
#define _NGX_ADM_HTTP_VARIABLES_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>


ngx_int_t ngx_adm_add_variables(ngx_conf_t *cf);


#endif /* _NGX_ADM_HTTP_VARIABLES_H_INCLUDED_ */
