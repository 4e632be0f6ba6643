
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The page of operators.
 */


#ifndef _NGX_ADM_PAGE_ADMIN_H_INCLUDED_
#define _NGX_ADM_PAGE_ADMIN_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>


/* the method is right, and there is no body */
ngx_int_t ngx_adm_page_of_operators(ngx_http_request_t *r);


#endif /* _NGX_ADM_PAGE_ADMIN_H_INCLUDED_ */
