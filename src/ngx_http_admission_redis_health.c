
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What the log is told of a node.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_admission_redis_health.h"


/* while Redis is down, the same reason is logged again after this time */
#define NGX_HTTP_ADMISSION_REDIS_REMIND  60000      /* ms */


/*
 * A line when Redis goes down, when the reason changes, and now and then
 * while it stays so; never more than one a second.
 */

void
ngx_http_admission_redis_log_fault(ngx_http_admission_redis_health_t *health,
    ngx_str_t *name, ngx_log_t *log, ngx_http_admission_redis_fault_e fault,
    ngx_err_t err, u_char *text)
{
    ngx_msec_t  now, since;

    now = ngx_current_msec;
    since = health->logged ? now - health->logged_at : NGX_MAX_INT32_VALUE;

    if (!health->failing) {
        health->failing = 1;
        health->told = 0;
        health->failed_at = now;
        health->fault = ngx_http_admission_redis_no_fault;
    }

    if (since < 1000
        || (fault == health->fault && since < NGX_HTTP_ADMISSION_REDIS_REMIND))
    {
        health->unlogged++;
        return;
    }

    if (health->told) {
        ngx_log_error(NGX_LOG_ERR, log, err,
                      "admission: redis %V still down after %M ms: %s "
                      "(%ui failures since the last line)", name,
                      now - health->failed_at, text, health->unlogged);

    } else if (health->unlogged) {
        ngx_log_error(NGX_LOG_ERR, log, err,
                      "admission: redis %V down: %s "
                      "(%ui failures since the last line)", name,
                      text, health->unlogged);

    } else {
        ngx_log_error(NGX_LOG_ERR, log, err,
                      "admission: redis %V down: %s", name, text);
    }

    health->told = 1;
    health->logged = 1;
    health->logged_at = now;
    health->fault = fault;
    health->unlogged = 0;
}


void
ngx_http_admission_redis_log_back(ngx_http_admission_redis_health_t *health,
    ngx_str_t *name, ngx_log_t *log)
{
    health->failing = 0;

    if (health->told) {
        ngx_log_error(NGX_LOG_NOTICE, log, 0,
                      "admission: redis %V back after %M ms", name,
                      ngx_current_msec - health->failed_at);
    }
}
