
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The calls of admission_admin_api about one event (docs/api.md).
 */


#ifndef _NGX_ADM_ROOM_ADMIN_API_H_INCLUDED_
#define _NGX_ADM_ROOM_ADMIN_API_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../http/api.h"


/* the handler of these routes; call->value is an ngx_adm_room_calls_what_e */
ngx_int_t ngx_adm_admin_handler(ngx_adm_api_call_t *call);


#endif /* _NGX_ADM_ROOM_ADMIN_API_H_INCLUDED_ */
