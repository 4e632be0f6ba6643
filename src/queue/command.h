
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What backends say of users: told to Redis until it has answered, whatever
 * becomes of the request.
 */


#ifndef _NGX_ADM_QUEUE_COMMAND_H_INCLUDED_
#define _NGX_ADM_QUEUE_COMMAND_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../token/claims.h"


/* see http/command.h; entry tokens of the session are refused here at once */
void ngx_adm_queue_command(ngx_http_request_t *r, ngx_adm_claims_t *entry,
    int64_t seats);


#endif /* _NGX_ADM_QUEUE_COMMAND_H_INCLUDED_ */
