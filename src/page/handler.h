
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The content handler of admission_page.
 */


#ifndef _NGX_ADM_PAGE_HANDLER_H_INCLUDED_
#define _NGX_ADM_PAGE_HANDLER_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>


ngx_int_t ngx_adm_page_handler(ngx_http_request_t *r);


#endif /* _NGX_ADM_PAGE_HANDLER_H_INCLUDED_ */
