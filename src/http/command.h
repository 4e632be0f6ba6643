
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What a backend says of the user whom it answers, by the header
 * X-Admission-Command of an answer: that a purchase is done, or that the user
 * leaves (docs/api.md).
 */


#ifndef _NGX_ADM_HTTP_COMMAND_H_INCLUDED_
#define _NGX_ADM_HTTP_COMMAND_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ctx.h"


/*
 * Takes a command of the backend's about the user of the entry token by which
 * the request passed; seats 0: the user leaves.  It is the queue's.  The
 * request does not wait for it.
 */
typedef void (*ngx_adm_command_pt)(ngx_http_request_t *r,
    ngx_adm_claims_t *entry, int64_t seats);

extern ngx_adm_command_pt  ngx_adm_command;

/*
 * Takes the header out of the answer, whatever the location, and has the
 * command carried out where it counts. ctx may be NULL.
 */
void ngx_adm_command_take(ngx_http_request_t *r, ngx_adm_ctx_t *ctx);


#endif /* _NGX_ADM_HTTP_COMMAND_H_INCLUDED_ */
