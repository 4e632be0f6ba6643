
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The documents of pages/, built in: the build makes a header of them.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "page.h"
#include "ngx_http_admission_pages.h"


ngx_str_t  ngx_adm_page_tier1 = ngx_string(ngx_adm_pages_tier1);
ngx_str_t  ngx_adm_page_tier2 = ngx_string(ngx_adm_pages_tier2);
ngx_str_t  ngx_adm_page_nojs = ngx_string(ngx_adm_pages_nojs);
ngx_str_t  ngx_adm_page_script = ngx_string(ngx_adm_pages_script);
ngx_str_t  ngx_adm_page_admin = ngx_string(ngx_adm_pages_admin);
