
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Who may make an operator's calls.
 */


#ifndef _NGX_HTTP_ADMISSION_OPERATOR_H_INCLUDED_
#define _NGX_HTTP_ADMISSION_OPERATOR_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_admission_api.h"


/*
 * A verified user token with the role "admin", or the admin secret as a
 * bearer token.  NGX_DECLINED: the call may go on, call->who is the user, or
 * empty if it was the secret.  Anything else is the answer: 401
 * ADMIN_REQUIRED without a credential, 403 FORBIDDEN with one that does not
 * do, and where neither can be had.
 */
ngx_int_t ngx_http_admission_operator(ngx_http_admission_api_call_t *call);

/* one line of the log for what an operator did */
void ngx_http_admission_operator_log(ngx_http_admission_api_call_t *call,
    const char *what);


#endif /* _NGX_HTTP_ADMISSION_OPERATOR_H_INCLUDED_ */
