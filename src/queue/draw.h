
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The operators' call that tells a draw the value of its beacon.
 */


#ifndef _NGX_ADM_QUEUE_DRAW_H_INCLUDED_
#define _NGX_ADM_QUEUE_DRAW_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../http/api.h"


/* handler of a route: GET looks, POST tells it */
ngx_int_t ngx_adm_beacon_handler(ngx_adm_api_call_t *call);


#endif /* _NGX_ADM_QUEUE_DRAW_H_INCLUDED_ */
