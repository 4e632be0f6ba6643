
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Claims of users' tokens, which other services issue.
 */


#ifndef _NGX_ADM_TOKEN_USER_CLAIMS_H_INCLUDED_
#define _NGX_ADM_TOKEN_USER_CLAIMS_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "claims.h"
#include "object.h"


/*
 * Reads who the user of a payload is, if it is issued by and for those that
 * the verifier says.  NULL, or what is wrong, a constant text.  Strings are
 * the payload's, or in buf: that has room for the digits of a number,
 * NGX_ADM_EVENT_MAX, and behind them for the roles, as long as a payload.
 */
const char *ngx_adm_claims_user(ngx_adm_verifier_t *v,
    ngx_adm_object_t *payload, u_char *buf, ngx_adm_claims_t *claims);


#endif /* _NGX_ADM_TOKEN_USER_CLAIMS_H_INCLUDED_ */
