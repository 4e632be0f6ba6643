
/*
 * Copyright (C) 2026 the admission module authors
 *
 * ?nojs=: the queue of an event, which takes JavaScript to join.  The page
 * says so, with an operator's notice, and whether all is sold; to somebody who
 * is in line already it says how it stands.
 */


#ifndef _NGX_ADM_PAGE_NOJS_QUEUE_H_INCLUDED_
#define _NGX_ADM_PAGE_NOJS_QUEUE_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../host/settings.h"


/* as of page_without_script() */
ngx_int_t ngx_adm_page_needs_script(ngx_http_request_t *r,
    ngx_adm_event_conf_t *conf, ngx_str_t *values, ngx_str_t *target);


#endif /* _NGX_ADM_PAGE_NOJS_QUEUE_H_INCLUDED_ */
