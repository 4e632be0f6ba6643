
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The entry token of a request: which of those shown lets the user in.
 */


#ifndef _NGX_ADM_HTTP_ENTRY_H_INCLUDED_
#define _NGX_ADM_HTTP_ENTRY_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../token/claims.h"


/*
 * The first entry token shown that verifies, is not revoked, and is for this
 * event and user.  Either may be empty: any event; any user, also a token that
 * names none (its uid is empty).
 *
 * NGX_OK: *entry.  NGX_DECLINED: there is none, *why as in
 * ngx_adm_credentials_find().  NGX_AGAIN: Redis has to be asked about *entry
 * (see ngx_adm_revoked()); NGX_BUSY: it was asked, and did not answer.
 * NGX_ERROR: no memory.
 */
ngx_int_t ngx_adm_entry_find(ngx_http_request_t *r, ngx_str_t *event,
    ngx_str_t *user, ngx_adm_claims_t **entry, const char **why);


#endif /* _NGX_ADM_HTTP_ENTRY_H_INCLUDED_ */
