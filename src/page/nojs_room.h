
/*
 * Copyright (C) 2026 the admission module authors
 *
 * ?nojs=: the waiting room of an event without JavaScript.
 */


#ifndef _NGX_ADM_PAGE_NOJS_ROOM_H_INCLUDED_
#define _NGX_ADM_PAGE_NOJS_ROOM_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../host/settings.h"


/*
 * values are those of the page, of r->pool; target: where to go on to, empty:
 * "next".  Returns what a content handler returns.
 */
ngx_int_t ngx_adm_page_without_script(ngx_http_request_t *r,
    ngx_adm_event_conf_t *conf, ngx_str_t *values, ngx_str_t *target);


#endif /* _NGX_ADM_PAGE_NOJS_ROOM_H_INCLUDED_ */
