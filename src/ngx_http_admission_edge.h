
/*
 * Copyright (C) 2026 the admission module authors
 *
 * admission_trusted_edge: requests that a CDN in front has checked, and says
 * so by a secret in a header.  The header itself goes no further than here.
 */


#ifndef _NGX_HTTP_ADMISSION_EDGE_H_INCLUDED_
#define _NGX_HTTP_ADMISSION_EDGE_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_admission_ctx.h"


/*
 * Takes the headers of this name, right or wrong, of all edges of the server
 * out of the request, and remembers them.  NGX_ERROR: no memory.
 */
ngx_int_t ngx_http_admission_edge_take(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx);

/*
 * Whether the edge of this location let the request pass: by its header, once
 * and with a secret of it.
 */
ngx_uint_t ngx_http_admission_edge_trusted(ngx_http_request_t *r,
    ngx_http_admission_ctx_t *ctx);


/*
 * Merges the directive, after the secrets, and notes the header for the
 * server.
 */
char *ngx_http_admission_edge_merge(ngx_conf_t *cf,
    ngx_http_admission_loc_conf_t *prev, ngx_http_admission_loc_conf_t *conf);


#endif /* _NGX_HTTP_ADMISSION_EDGE_H_INCLUDED_ */
