
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The calls of admission_vwr_api (docs/api.md).  What a visitor can do here
 * pages do by visit.h.
 */


#ifndef _NGX_ADM_ROOM_API_H_INCLUDED_
#define _NGX_ADM_ROOM_API_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../http/api.h"
#include "ticket.h"


/* handlers of routes */
ngx_int_t ngx_adm_room_check_handler(ngx_adm_api_call_t *call);
ngx_int_t ngx_adm_room_stream_handler(ngx_adm_api_call_t *call);
ngx_int_t ngx_adm_room_status_handler(ngx_adm_api_call_t *call);
ngx_int_t ngx_adm_assign_handler(ngx_adm_api_call_t *call);
ngx_int_t ngx_adm_room_leave_handler(ngx_adm_api_call_t *call);


/*
 * Sets the ticket that the call is about, how its holder stands, and the
 * visitor; visitor NULL: the request is somebody else's. asks: whoever has the
 * ticket wants in, also where its turn is over.  NGX_DECLINED: it is all set;
 * otherwise the call has been answered.
 */
ngx_int_t ngx_adm_room_ticket(ngx_adm_api_call_t *call, ngx_uint_t asks,
    ngx_adm_claims_t **ticket, ngx_adm_claims_t **visitor,
    ngx_adm_standing_t *standing);

/*
 * one answer for all that may be wrong with a ticket, so that nothing is
 * learned
 */
ngx_int_t ngx_adm_room_not_found(ngx_adm_api_call_t *call);


#endif /* _NGX_ADM_ROOM_API_H_INCLUDED_ */
