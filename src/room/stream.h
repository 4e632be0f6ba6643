
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The stream of a ticket: what "check" tells, when it changes.
 */


#ifndef _NGX_ADM_ROOM_STREAM_H_INCLUDED_
#define _NGX_ADM_ROOM_STREAM_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../http/api.h"


/*
 * Answers the call with a stream, or refuses it; holder: the ticket's visitor
 * asks, who gets the token.
 */
ngx_int_t ngx_adm_room_stream(ngx_adm_api_call_t *call,
    ngx_adm_claims_t *ticket, ngx_uint_t holder);


#endif /* _NGX_ADM_ROOM_STREAM_H_INCLUDED_ */
