
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What there is to read on the page without JavaScript: numbers and times as
 * both of its languages write them, what an operator says, and which parts are
 * shown.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../host/notice.h"
#include "nojs_text.h"
#include "values.h"


ngx_int_t
ngx_adm_page_clock(ngx_http_request_t *r, int64_t seconds, ngx_str_t *text)
{
    text->data = ngx_pnalloc(r->pool, NGX_INT64_LEN + sizeof(":00:00") - 1);
    if (text->data == NULL) {
        return NGX_ERROR;
    }

    text->len = ngx_sprintf(text->data, "%L:%02L:%02L", seconds / 3600,
                            seconds / 60 % 60, seconds % 60) - text->data;

    return NGX_OK;
}


ngx_int_t
ngx_adm_page_number(ngx_http_request_t *r, int64_t n, ngx_str_t *text)
{
    u_char  *p, *src, *last, digits[NGX_INT64_LEN];

    last = ngx_sprintf(digits, "%L", n);

    text->data = ngx_pnalloc(r->pool, 2 * NGX_INT64_LEN);
    if (text->data == NULL) {
        return NGX_ERROR;
    }

    p = text->data;

    for (src = digits; src < last; src++) {

        if (src > digits && src[-1] != '-' && (last - src) % 3 == 0) {
            *p++ = ',';
        }

        *p++ = *src;
    }

    text->len = p - text->data;

    return NGX_OK;
}


ngx_int_t
ngx_adm_page_notice(ngx_http_request_t *r, ngx_str_t *event, ngx_str_t *values)
{
    ngx_tm_t           tm;
    ngx_str_t         *at;
    ngx_adm_notice_t  *notice;

    notice = ngx_palloc(r->pool, sizeof(ngx_adm_notice_t));
    if (notice == NULL) {
        return NGX_ERROR;
    }

    if (ngx_adm_notice_get(event, notice) != NGX_OK) {
        return NGX_OK;
    }

    at = &values[NGX_ADM_PAGE_NOTICE_AT];

    at->data = ngx_pnalloc(r->pool, sizeof("1970-01-01 00:00 UTC")
                                    + NGX_INT64_LEN);
    if (at->data == NULL) {
        return NGX_ERROR;
    }

    ngx_gmtime((time_t) notice->at, &tm);

    at->len = ngx_sprintf(at->data, "%4d-%02d-%02d %02d:%02d UTC",
                          tm.ngx_tm_year, tm.ngx_tm_mon, tm.ngx_tm_mday,
                          tm.ngx_tm_hour, tm.ngx_tm_min) - at->data;

    ngx_str_null(&values[NGX_ADM_PAGE_NOTICE]);

    values[NGX_ADM_PAGE_NOTICE_KO] = notice->ko;
    values[NGX_ADM_PAGE_NOTICE_EN] = notice->en;

    return NGX_OK;
}


void
ngx_adm_page_state(ngx_str_t *values, const char *state)
{
    ngx_uint_t  i;

    static struct {
        ngx_uint_t   value;
        const char  *state;
    }  shown[] = {
        { NGX_ADM_PAGE_WAITING, "waiting" },
        { NGX_ADM_PAGE_WAITING, "waiting paused" },
        { NGX_ADM_PAGE_GOING, "waiting" },
        { NGX_ADM_PAGE_PAUSED, "waiting paused" },
        { NGX_ADM_PAGE_WAITING, "waiting last" },
        { NGX_ADM_PAGE_LAST, "waiting last" },
        { NGX_ADM_PAGE_WAITING, "waiting gathering" },
        { NGX_ADM_PAGE_GATHERING, "waiting gathering" },
        { NGX_ADM_PAGE_LOT, "lot" },
        { NGX_ADM_PAGE_BEFORE, "before" },
        { NGX_ADM_PAGE_CLOSED, "closed" },
        { NGX_ADM_PAGE_SOLD, "sold" },
        { NGX_ADM_PAGE_COOKIES, "cookies" },
        { NGX_ADM_PAGE_BUSY, "busy" },
        { NGX_ADM_PAGE_CROWDED, "crowded" },
        { NGX_ADM_PAGE_FULL, "full" },
        { NGX_ADM_PAGE_UNKNOWN, "unknown" }
    };

    values[NGX_ADM_PAGE_STATE].data = (u_char *) state;
    values[NGX_ADM_PAGE_STATE].len = ngx_strlen(state);

    ngx_str_set(&values[NGX_ADM_PAGE_NOTICE], "hidden");

    for (i = NGX_ADM_PAGE_WAITING; i <= NGX_ADM_PAGE_UNKNOWN; i++) {
        ngx_str_set(&values[i], "hidden");
    }

    for (i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {

        if (ngx_strcmp(shown[i].state, state) == 0) {
            ngx_str_null(&values[shown[i].value]);
        }
    }
}
