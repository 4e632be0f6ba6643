
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The calls of admission_vwr_api (docs/api.md).  What it does for a visitor
 * pages do by visit.h.
 */


#ifndef _NGX_ADM_ROOM_API_H_INCLUDED_
#define _NGX_ADM_ROOM_API_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../http/api.h"


/* handlers of routes */
ngx_int_t ngx_adm_room_check_handler(ngx_adm_api_call_t *call);
ngx_int_t ngx_adm_room_stream_handler(ngx_adm_api_call_t *call);
ngx_int_t ngx_adm_room_status_handler(ngx_adm_api_call_t *call);
ngx_int_t ngx_adm_assign_handler(ngx_adm_api_call_t *call);


#endif /* _NGX_ADM_ROOM_API_H_INCLUDED_ */
