
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Taking headers out of a request's list, and putting some in.  They are
 * taken out of the list itself: whatever reads it, a variable or a proxy,
 * must not see what came from outside.  Other headers stay where they are in
 * memory, since NGINX keeps pointers to them.
 */


#ifndef _NGX_HTTP_ADMISSION_HEADERS_H_INCLUDED_
#define _NGX_HTTP_ADMISSION_HEADERS_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>


/* NGX_OK: this one goes; NGX_DECLINED: it stays; NGX_ERROR: no memory */
typedef ngx_int_t (*ngx_http_admission_header_pt)(ngx_table_elt_t *h,
    void *data);


/* takes out those that match says; NGX_ERROR: no memory */
ngx_int_t ngx_http_admission_headers_remove(ngx_http_request_t *r,
    ngx_http_admission_header_pt match, void *data);

/* puts in one whose fields are for the caller to fill; NULL: no memory */
ngx_table_elt_t *ngx_http_admission_headers_push(ngx_http_request_t *r);

/*
 * Whether it has the name (given in lower case), in any case and with "_"
 * for "-" too: CGI and variables do not tell them apart.
 */
ngx_uint_t ngx_http_admission_header_is(ngx_table_elt_t *h, ngx_str_t *name);


#endif /* _NGX_HTTP_ADMISSION_HEADERS_H_INCLUDED_ */
