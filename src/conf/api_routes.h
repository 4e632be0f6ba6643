
/*
 * Copyright (C) 2026 the admission module authors
 *
 * All calls of the HTTP APIs (docs/api.md), a table for each kind of location:
 * path, methods, handler.
 */


#ifndef _NGX_ADM_CONF_API_ROUTES_H_INCLUDED_
#define _NGX_ADM_CONF_API_ROUTES_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../http/api.h"


/* of admission_queue_api, and of the same with "admin=on" */
extern const ngx_adm_route_t  ngx_adm_queue_routes[];
extern const ngx_adm_route_t
    ngx_adm_queue_admin_routes[];

/* of admission_vwr_api */
extern const ngx_adm_route_t  ngx_adm_room_routes[];

/* of admission_admin_api */
extern const ngx_adm_route_t  ngx_adm_admin_routes[];


#endif /* _NGX_ADM_CONF_API_ROUTES_H_INCLUDED_ */
