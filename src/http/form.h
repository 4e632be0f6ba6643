
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Calls that a form of a page without JavaScript makes: whoever does so is to
 * see a page, not JSON.
 */


#ifndef _NGX_ADM_HTTP_FORM_H_INCLUDED_
#define _NGX_ADM_HTTP_FORM_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>


/*
 * 303 to the "return" of the call's address, if a browser shows the answer as
 * a page and that is a path of this site.  NGX_DECLINED: answer in JSON;
 * otherwise what a content handler returns.
 */
ngx_int_t ngx_adm_form_back(ngx_http_request_t *r);


#endif /* _NGX_ADM_HTTP_FORM_H_INCLUDED_ */
