
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What makes a host not ready, and the answers that say so.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../host/event_work.h"
#include "../host/lease.h"
#include "../host/needs.h"
#include "../host/streams.h"
#include "../host/touch.h"
#include "../http/respond.h"
#include "../redis/shared.h"
#include "ready.h"


/* the schedule asks Redis twice a second, in any case */
#define NGX_ADM_READY_SILENT  3000       /* ms without an answer */

/* as long as other workers are answered meanwhile all is well */
#define NGX_ADM_READY_OPEN    1000       /* ms without an answer, with a
                                            breaker open */

/* more than there are events for: people wait longer than they have to */
#define NGX_ADM_READY_LATE    5000       /* ms */

/* each event is looked at several times in that */
#define NGX_ADM_READY_SEEN    3000       /* ms since a stale event was seen */


/* the longest answer is shorter */
#define NGX_ADM_READY_LEN     320


/* names, by bits of why it is not ready */
static ngx_str_t  ngx_adm_ready_texts[] = {
    ngx_string("redis_never_heard"),
    ngx_string("redis_unreachable"),
    ngx_string("redis_breaker_open"),
    ngx_string("schedule_stopped"),
    ngx_string("state_stale"),
    ngx_string("schedule_late"),
    ngx_string("redis_refuses") };

#define NGX_ADM_READY_TEXTS                                                   \
    (sizeof(ngx_adm_ready_texts) / sizeof(ngx_str_t))


ngx_int_t
ngx_adm_live_handler(ngx_http_request_t *r)
{
    static ngx_str_t  body = ngx_string("{\"status\":\"live\"}");

    if (!(r->method & (NGX_HTTP_GET|NGX_HTTP_HEAD))) {
        return ngx_adm_respond_method(r, "GET, HEAD");
    }

    return ngx_adm_respond_json(r, NGX_HTTP_OK, &body);
}


ngx_int_t
ngx_adm_ready_handler(ngx_http_request_t *r)
{
    u_char               *p, *last, name[NGX_ADM_NEEDS_LEN];
    ngx_str_t             body, refused;
    ngx_uint_t            i, reasons;
    ngx_adm_main_conf_t  *mcf;

    if (!(r->method & (NGX_HTTP_GET|NGX_HTTP_HEAD))) {
        return ngx_adm_respond_method(r, "GET, HEAD");
    }

    mcf = ngx_http_get_module_main_conf(r, ngx_http_admission_module);
    reasons = ngx_adm_not_ready(mcf);

    if (reasons == 0) {
        ngx_str_set(&body, "{\"status\":\"ready\"}");

        return ngx_adm_respond_json(r, NGX_HTTP_OK, &body);
    }

    p = ngx_pnalloc(r->pool, NGX_ADM_READY_LEN);
    if (p == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    body.data = p;
    last = p + NGX_ADM_READY_LEN;

    p = ngx_slprintf(p, last, "{\"status\":\"not_ready\",\"reasons\":[");

    for (i = 0; i < NGX_ADM_READY_TEXTS; i++) {

        if (reasons & ((ngx_uint_t) 1 << i)) {
            p = ngx_slprintf(p, last, "\"%V\",", &ngx_adm_ready_texts[i]);
        }
    }

    /* in place of the last comma */

    p = ngx_slprintf(p - 1, last, "]");

    if (reasons & NGX_ADM_READY_REFUSES) {
        ngx_adm_needs_refused(&refused, name);
        p = ngx_slprintf(p, last, ",\"refused\":\"%V\"", &refused);
    }

    p = ngx_slprintf(p, last, "}");

    body.len = p - body.data;

    return ngx_adm_respond_json(r, NGX_HTTP_SERVICE_UNAVAILABLE, &body);
}


ngx_uint_t
ngx_adm_not_ready(ngx_adm_main_conf_t *mcf)
{
    u_char      name[NGX_ADM_NEEDS_LEN];
    ngx_str_t   refused;
    ngx_msec_t  age;
    ngx_uint_t  reasons;

    if (mcf->redis == NULL) {
        return mcf->asks ? NGX_ADM_READY_NEVER : 0;
    }

    ngx_adm_needs_refused(&refused, name);

    reasons = refused.len ? NGX_ADM_READY_REFUSES : 0;

    if (ngx_adm_heard(&age) != NGX_OK) {
        return reasons | NGX_ADM_READY_NEVER;
    }

    if (age > NGX_ADM_READY_SILENT) {
        reasons |= NGX_ADM_READY_UNREACHABLE;
    }

    if (age > NGX_ADM_READY_OPEN
        && ngx_adm_redis_in_state(ngx_adm_redis_breaker_open,
                                  ngx_adm_streams_killed))
    {
        reasons |= NGX_ADM_READY_BREAKER;
    }

    if (ngx_adm_lease_age() > NGX_ADM_STALE) {
        reasons |= NGX_ADM_READY_SCHEDULE;
    }

    if (ngx_adm_is_stale()) {
        reasons |= NGX_ADM_READY_STALE;
    }

    if (ngx_adm_schedule_lag() > NGX_ADM_READY_LATE) {
        reasons |= NGX_ADM_READY_LAG;
    }

    return reasons;
}


ngx_uint_t
ngx_adm_is_stale(void)
{
    return ngx_adm_events_stale(NGX_ADM_READY_SEEN);
}
