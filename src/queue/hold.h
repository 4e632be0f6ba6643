
/*
 * Copyright (C) 2026 the admission module authors
 *
 * An operator holds an event: calls of the APIs of both tiers.
 */


#ifndef _NGX_ADM_QUEUE_HOLD_H_INCLUDED_
#define _NGX_ADM_QUEUE_HOLD_H_INCLUDED_


#include "../http/api.h"


ngx_int_t ngx_adm_hold_handler(ngx_adm_api_call_t *call);


#endif /* _NGX_ADM_QUEUE_HOLD_H_INCLUDED_ */
