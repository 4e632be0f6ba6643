
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Requests that come before the host has heard what time it is for Redis, and
 * that go by it: they wait for that, once, for as long as a call takes.
 * NGX_DECLINED: there is nothing to wait for, or no more.
 */


#ifndef _NGX_ADM_HTTP_TIME_WAIT_H_INCLUDED_
#define _NGX_ADM_HTTP_TIME_WAIT_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../host/settings.h"
#include "../host/touch.h"


/*
 * Whether it goes by the time: it shows what ends, or the event has times by
 * its line (conf NULL: it has none).
 */
ngx_uint_t ngx_adm_time_matters(ngx_http_request_t *r,
    ngx_adm_event_conf_t *conf);

/* whether it waited in vain: Redis did not answer just now */
#define ngx_adm_time_is_missed(ctx)                                           \
    ((ctx)->timed && !ngx_adm_time_is_known())

/* for phase handlers; else as ngx_adm_wait() */
ngx_int_t ngx_adm_time_wait(ngx_http_request_t *r);

/*
 * For a content handler, which is called again then; else what that is to
 * return.
 */
ngx_int_t ngx_adm_time_wait_content(ngx_http_request_t *r,
    ngx_http_handler_pt handler);


#endif /* _NGX_ADM_HTTP_TIME_WAIT_H_INCLUDED_ */
