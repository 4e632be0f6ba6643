
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The public call that tells of a draw all that it takes to check it.
 */


#ifndef _NGX_ADM_ROOM_DRAW_API_H_INCLUDED_
#define _NGX_ADM_ROOM_DRAW_API_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../http/api.h"


/* handler of a route */
ngx_int_t ngx_adm_draw_handler(ngx_adm_api_call_t *call);


#endif /* _NGX_ADM_ROOM_DRAW_API_H_INCLUDED_ */
