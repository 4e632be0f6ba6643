
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What backends say of users.  Redis is told until it has answered, whatever
 * becomes of the request.
 */


#ifndef _NGX_ADM_QUEUE_COMMAND_H_INCLUDED_
#define _NGX_ADM_QUEUE_COMMAND_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../token/claims.h"


/* for http/command.h; this host refuses entry tokens of the session at once */
void ngx_adm_queue_command(ngx_http_request_t *r, ngx_adm_claims_t *entry,
    int64_t seats);


#endif /* _NGX_ADM_QUEUE_COMMAND_H_INCLUDED_ */
