
/*
 * Copyright (C) 2026 the admission module authors
 *
 * A document of HTML becomes pieces of fixed text with values between them,
 * and a Content-Security-Policy that allows what it has.
 */


#ifndef _NGX_ADM_PAGE_COMPILE_H_INCLUDED_
#define _NGX_ADM_PAGE_COMPILE_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "page.h"


/*
 * which: NGX_ADM_PAGE_*, by which placeholders are known; name: for messages;
 * text stays as long as the configuration.  NGX_ERROR: logged.
 */
ngx_int_t ngx_adm_page_compile(ngx_conf_t *cf, ngx_adm_page_conf_t *page,
    ngx_uint_t which, ngx_str_t *name, ngx_str_t *text,
    ngx_adm_page_doc_t *doc);


#endif /* _NGX_ADM_PAGE_COMPILE_H_INCLUDED_ */
