
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The pages that people wait on, and that of operators (docs/directives.md:
 * admission_page).
 *
 * A page is one HTML document, which is compiled when the configuration is
 * read into pieces of fixed text with values between them.  Values depend on
 * the address and the configuration alone, so that caches may keep the answer.
 * The page without JavaScript, and that of operators, are exceptions, and are
 * not stored.
 */


#ifndef _NGX_ADM_PAGE_PAGE_H_INCLUDED_
#define _NGX_ADM_PAGE_PAGE_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../host/settings.h"
#include "values.h"


#define NGX_ADM_PAGE_MAX  262144        /* bytes of a file */


/* pages, as a mask of those in which a placeholder is known */
#define NGX_ADM_PAGE_TIER1  1
#define NGX_ADM_PAGE_TIER2  2
#define NGX_ADM_PAGE_NOJS   4
#define NGX_ADM_PAGE_ADMIN  8


/* a document, compiled */
typedef struct {
    ngx_array_t                 parts;      /* ngx_adm_page_part_t */
    ngx_str_t                   csp;        /* Content-Security-Policy */
    ngx_str_t                   tag;        /* hash of what is fixed, hex */
} ngx_adm_page_doc_t;


typedef struct {
    ngx_str_t                   text;
    ngx_uint_t                  value;      /* that follows the text;
                                               _VALUES: none */
} ngx_adm_page_part_t;


/* of a location with admission_page */
struct ngx_adm_page_conf_s {
    ngx_uint_t           which;  /* NGX_ADM_PAGE_TIER* or _ADMIN */
    ngx_str_t            next;
    ngx_str_t            api;
    ngx_str_t            queue;  /* the other API, of _ADMIN */
    ngx_adm_page_doc_t   doc;
    ngx_adm_page_doc_t   nojs;   /* of tiers */
};


/*
 * Whether the page is the error_page of a denial: then the browser has the
 * address of what was denied, and goes on to that.
 */
ngx_uint_t ngx_adm_page_in_place(ngx_http_request_t *r);

/*
 * Answers with a document and its values (_VALUES of them, plain text: they
 * are escaped here). store: caches may keep it.  Returns what a content
 * handler returns.
 */
ngx_int_t ngx_adm_page_send(ngx_http_request_t *r, ngx_adm_page_doc_t *doc,
    ngx_str_t *values, ngx_uint_t status, ngx_uint_t store);


/* the built-in documents */
extern ngx_str_t  ngx_adm_page_tier1;
extern ngx_str_t  ngx_adm_page_tier2;
extern ngx_str_t  ngx_adm_page_nojs;
extern ngx_str_t  ngx_adm_page_script;
extern ngx_str_t  ngx_adm_page_admin;


#endif /* _NGX_ADM_PAGE_PAGE_H_INCLUDED_ */
