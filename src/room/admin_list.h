
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The operators' call about all events at once.
 */


#ifndef _NGX_ADM_ROOM_ADMIN_LIST_H_INCLUDED_
#define _NGX_ADM_ROOM_ADMIN_LIST_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../http/api.h"


ngx_int_t ngx_adm_admin_list(ngx_adm_api_call_t *call);


#endif /* _NGX_ADM_ROOM_ADMIN_LIST_H_INCLUDED_ */
