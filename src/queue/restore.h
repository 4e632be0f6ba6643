
/*
 * Copyright (C) 2026 the admission module authors
 *
 * After a loss of Redis's data the gate reports the entry tokens that pass it:
 * they are the sessions of those who are inside.
 */


#ifndef _NGX_ADM_QUEUE_RESTORE_H_INCLUDED_
#define _NGX_ADM_QUEUE_RESTORE_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../token/claims.h"


/*
 * Reports a verified entry token that is older than the data, while the event
 * is being restored; once a worker.  Nobody waits for the answer.
 */
void ngx_adm_restore_report(ngx_http_request_t *r, ngx_adm_claims_t *entry);


#endif /* _NGX_ADM_QUEUE_RESTORE_H_INCLUDED_ */
