
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What tier 1 asks of who joins a queue, see ngx_adm_queue_join_pt.
 */


#ifndef _NGX_ADM_GATE_JOIN_H_INCLUDED_
#define _NGX_ADM_GATE_JOIN_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../queue/api.h"


ngx_int_t ngx_adm_gate_join(ngx_adm_api_call_t *call,
    ngx_adm_queue_join_t *join, ngx_adm_api_pt done);


#endif /* _NGX_ADM_GATE_JOIN_H_INCLUDED_ */
