
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Values of the page without JavaScript, in r->pool.
 */


#ifndef _NGX_ADM_PAGE_NOJS_TEXT_H_INCLUDED_
#define _NGX_ADM_PAGE_NOJS_TEXT_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../base/forecast.h"


/* seconds as 1:02:03 */
ngx_int_t ngx_adm_page_clock(ngx_http_request_t *r, int64_t seconds,
    ngx_str_t *text);

/* 1,234,567 */
ngx_int_t ngx_adm_page_number(ngx_http_request_t *r, int64_t n,
    ngx_str_t *text);

/* from when to when, in words of both languages, among the page's values */
ngx_int_t ngx_adm_page_wait(ngx_http_request_t *r, ngx_adm_range_t *range,
    ngx_str_t *values);

/* the notice of an operator, if there is one, among the page's values */
ngx_int_t ngx_adm_page_notice(ngx_http_request_t *r, ngx_str_t *event,
    ngx_str_t *values);

/* shows the parts of the page for that state, and hides the others */
void ngx_adm_page_state(ngx_str_t *values, const char *state);


#endif /* _NGX_ADM_PAGE_NOJS_TEXT_H_INCLUDED_ */
