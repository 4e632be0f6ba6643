
/*
 * Copyright (C) 2026 the admission module authors
 *
 * A word of an operator's in answers, in the language asked for.
 */


#ifndef _NGX_ADM_HTTP_NOTICE_H_INCLUDED_
#define _NGX_ADM_HTTP_NOTICE_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../host/notice.h"


/*
 * ,"notice":"...","noticeLang":"..","noticeAt":N as members of JSON end with
 * them, from r->pool; empty: there is none.  The text is in the language that
 * lang= names, else the one of Accept-Language, else the first that there is.
 * NGX_ERROR: no memory.
 */
ngx_int_t ngx_adm_notice_member(ngx_http_request_t *r, ngx_str_t *event,
    ngx_str_t *member);

/* the same, from a pool, in a language that a request asked for by _lang() */
ngx_int_t ngx_adm_notice_in(ngx_pool_t *pool, ngx_str_t *event, ngx_uint_t lang,
    ngx_str_t *member);

#define NGX_ADM_LANG_NONE  0
#define NGX_ADM_LANG_KO    1
#define NGX_ADM_LANG_EN    2

ngx_uint_t ngx_adm_notice_lang(ngx_http_request_t *r);

/* {"ko":...,"en":...,"at":...}, or null, of one that an operator asks for */
ngx_int_t ngx_adm_notice_json(ngx_pool_t *pool, ngx_adm_notice_t *notice,
    ngx_str_t *json);


#endif /* _NGX_ADM_HTTP_NOTICE_H_INCLUDED_ */
