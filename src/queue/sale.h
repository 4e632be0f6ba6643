
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The operators' call that sets the times of a sale.
 */


#ifndef _NGX_ADM_QUEUE_SALE_H_INCLUDED_
#define _NGX_ADM_QUEUE_SALE_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../http/api.h"


/* handler of a route: GET looks, PUT sets, DELETE goes back */
ngx_int_t ngx_adm_sale_handler(ngx_adm_api_call_t *call);


#endif /* _NGX_ADM_QUEUE_SALE_H_INCLUDED_ */
