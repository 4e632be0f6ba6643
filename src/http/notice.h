
/*
 * Copyright (C) 2026 the admission module authors
 *
 * An operator's notice in answers, in the language asked for.
 */


#ifndef _NGX_ADM_HTTP_NOTICE_H_INCLUDED_
#define _NGX_ADM_HTTP_NOTICE_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../host/notice.h"


/*
 * ,"notice":"...","noticeLang":"..","noticeAt":N at the end of members of
 * JSON, in r->pool; empty: there is no notice.  The language is that of lang=,
 * else of Accept-Language, else the first that the notice has.  NGX_ERROR: no
 * memory.
 */
ngx_int_t ngx_adm_notice_member(ngx_http_request_t *r, ngx_str_t *event,
    ngx_str_t *member);

/* the same from pool, in a language that ngx_adm_lang() found for a request */
ngx_int_t ngx_adm_notice_in(ngx_pool_t *pool, ngx_str_t *event, ngx_uint_t lang,
    ngx_str_t *member);

#define NGX_ADM_LANG_NONE  0
#define NGX_ADM_LANG_KO    1
#define NGX_ADM_LANG_EN    2

ngx_uint_t ngx_adm_notice_lang(ngx_http_request_t *r);

/* for an operator: {"ko":...,"en":...,"at":...}, or null */
ngx_int_t ngx_adm_notice_json(ngx_pool_t *pool, ngx_adm_notice_t *notice,
    ngx_str_t *json);


#endif /* _NGX_ADM_HTTP_NOTICE_H_INCLUDED_ */
