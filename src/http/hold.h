
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What the gate answers while an operator holds an event.
 */


#ifndef _NGX_ADM_HTTP_HOLD_H_INCLUDED_
#define _NGX_ADM_HTTP_HOLD_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>


/*
 * 503 ON_HOLD with the event's notice: a page that tries again by itself where
 * a browser shows one, else JSON, or the status alone, as admission_deny
 * says.
 * Returns what a content handler does.
 */
ngx_int_t ngx_adm_hold_refuse(ngx_http_request_t *r, ngx_str_t *event);


#endif /* _NGX_ADM_HTTP_HOLD_H_INCLUDED_ */
