
/*
 * Copyright (C) 2026 the admission module authors
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_admission_ready.h"
#include "ngx_http_admission_respond.h"
#include "ngx_http_admission_zone_shm.h"


/* the schedule asks Redis twice a second, whether there is something or not */
#define NGX_HTTP_ADMISSION_READY_SILENT  3000       /* ms without an answer */

/* other workers may be answered all the while, and then all is well */
#define NGX_HTTP_ADMISSION_READY_OPEN    1000       /* ms, with a breaker open
                                                       */

/* more than there are events for: people wait longer than they have to */
#define NGX_HTTP_ADMISSION_READY_LATE    5000       /* ms */

/* each event is looked at several times meanwhile */
#define NGX_HTTP_ADMISSION_READY_SEEN    3000       /* ms since a stale event
                                                       was seen */


static ngx_int_t ngx_http_admission_ready_send(ngx_http_request_t *r,
    ngx_uint_t reasons);


static ngx_str_t  ngx_http_admission_ready_texts[] = {
    ngx_string("redis_never_heard"),
    ngx_string("redis_unreachable"),
    ngx_string("redis_breaker_open"),
    ngx_string("schedule_stopped"),
    ngx_string("state_stale"),
    ngx_string("schedule_late")
};

#define NGX_HTTP_ADMISSION_READY_TEXTS                                        \
    (sizeof(ngx_http_admission_ready_texts) / sizeof(ngx_str_t))


ngx_int_t
ngx_http_admission_live_handler(ngx_http_request_t *r)
{
    ngx_str_t  body;

    if (!(r->method & (NGX_HTTP_GET|NGX_HTTP_HEAD))) {
        return ngx_http_admission_respond_method(r, "GET, HEAD");
    }

    ngx_str_set(&body, "{\"status\":\"live\"}");

    return ngx_http_admission_respond_json(r, NGX_HTTP_OK, &body);
}


ngx_int_t
ngx_http_admission_ready_handler(ngx_http_request_t *r)
{
    ngx_http_admission_main_conf_t  *mcf;

    if (!(r->method & (NGX_HTTP_GET|NGX_HTTP_HEAD))) {
        return ngx_http_admission_respond_method(r, "GET, HEAD");
    }

    mcf = ngx_http_get_module_main_conf(r, ngx_http_admission_module);

    return ngx_http_admission_ready_send(r,
                                         ngx_http_admission_not_ready(mcf));
}


static ngx_int_t
ngx_http_admission_ready_send(ngx_http_request_t *r, ngx_uint_t reasons)
{
    u_char      *p;
    size_t       len;
    ngx_str_t    body;
    ngx_uint_t   i;

    if (reasons == 0) {
        ngx_str_set(&body, "{\"status\":\"ready\"}");

        return ngx_http_admission_respond_json(r, NGX_HTTP_OK, &body);
    }

    len = sizeof("{\"status\":\"not_ready\",\"reasons\":[]}");

    for (i = 0; i < NGX_HTTP_ADMISSION_READY_TEXTS; i++) {
        len += ngx_http_admission_ready_texts[i].len + sizeof("\"\",") - 1;
    }

    body.data = ngx_pnalloc(r->pool, len);
    if (body.data == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    p = ngx_sprintf(body.data, "{\"status\":\"not_ready\",\"reasons\":[");

    for (i = 0; i < NGX_HTTP_ADMISSION_READY_TEXTS; i++) {

        if (reasons & ((ngx_uint_t) 1 << i)) {
            p = ngx_sprintf(p, "\"%V\",", &ngx_http_admission_ready_texts[i]);
        }
    }

    /* in place of the last comma */

    p = ngx_sprintf(p - 1, "]}");

    body.len = p - body.data;

    return ngx_http_admission_respond_json(r, NGX_HTTP_SERVICE_UNAVAILABLE,
                                           &body);
}


ngx_uint_t
ngx_http_admission_not_ready(ngx_http_admission_main_conf_t *mcf)
{
    ngx_msec_t                   age;
    ngx_uint_t                   reasons;
    ngx_http_admission_shctx_t  *sh;

    if (mcf->redis == NULL) {
        return 0;
    }

    if (ngx_http_admission_heard(&age) != NGX_OK) {
        return NGX_HTTP_ADMISSION_READY_NEVER;
    }

    sh = ngx_http_admission_zone->sh;
    reasons = 0;

    if (age > NGX_HTTP_ADMISSION_READY_SILENT) {
        reasons |= NGX_HTTP_ADMISSION_READY_UNREACHABLE;
    }

    if (age > NGX_HTTP_ADMISSION_READY_OPEN
        && ngx_http_admission_redis_breakers(&sh->redis,
                                        ngx_http_admission_redis_breaker_open))
    {
        reasons |= NGX_HTTP_ADMISSION_READY_BREAKER;
    }

    if (ngx_http_admission_zone_since(sh->beat) > NGX_HTTP_ADMISSION_STALE) {
        reasons |= NGX_HTTP_ADMISSION_READY_SCHEDULE;
    }

    if (ngx_http_admission_is_stale()) {
        reasons |= NGX_HTTP_ADMISSION_READY_STALE;
    }

    if (ngx_http_admission_schedule_lag() > NGX_HTTP_ADMISSION_READY_LATE) {
        reasons |= NGX_HTTP_ADMISSION_READY_LAG;
    }

    return reasons;
}


ngx_uint_t
ngx_http_admission_is_stale(void)
{
    ngx_msec_t  stale;

    stale = ngx_http_admission_zone->sh->stale;

    return stale && ngx_http_admission_zone_since(stale)
                    < NGX_HTTP_ADMISSION_READY_SEEN;
}


ngx_int_t
ngx_http_admission_heard(ngx_msec_t *age)
{
    ngx_msec_t  heard;

    heard = ngx_http_admission_zone->sh->redis.heard;

    if (heard == 0) {
        return NGX_DECLINED;
    }

    *age = ngx_http_admission_zone_since(heard);

    return NGX_OK;
}
