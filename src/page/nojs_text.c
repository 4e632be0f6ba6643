
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What there is to read on the page without JavaScript: numbers and times as
 * both of its languages write them, an operator's notice, and which parts are
 * shown.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../host/notice.h"
#include "nojs_text.h"
#include "values.h"
#include "words.h"


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
ngx_adm_page_wait(ngx_http_request_t *r, ngx_adm_range_t *range,
    ngx_str_t *values)
{
    u_char     *p;
    ngx_str_t  *en, *ko;

    en = &values[NGX_ADM_PAGE_WAIT_EN];
    ko = &values[NGX_ADM_PAGE_WAIT_KO];

    p = ngx_pnalloc(r->pool, 2 * NGX_ADM_WORDS_MAX);
    if (p == NULL) {
        return NGX_ERROR;
    }

    en->data = p;
    en->len = ngx_adm_words(p, range->low, range->high, NGX_ADM_WORDS_EN) - p;

    p += NGX_ADM_WORDS_MAX;

    ko->data = p;
    ko->len = ngx_adm_words(p, range->low, range->high, NGX_ADM_WORDS_KO) - p;

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


/*
 * the words of a state are classes of the page, each of which shows what it
 * names
 */

void
ngx_adm_page_state(ngx_str_t *values, const char *state)
{
    size_t       len;
    ngx_uint_t   i;
    const char  *word;

    static struct {
        ngx_uint_t  value;
        ngx_str_t   word;
    }  shown[] = {
        { NGX_ADM_PAGE_WAITING, ngx_string("waiting") },
        { NGX_ADM_PAGE_FIRST, ngx_string("first") },
        { NGX_ADM_PAGE_PAUSED, ngx_string("paused") },
        { NGX_ADM_PAGE_LAST, ngx_string("last") },
        { NGX_ADM_PAGE_GATHERING, ngx_string("gathering") },
        { NGX_ADM_PAGE_LOT, ngx_string("lot") },
        { NGX_ADM_PAGE_DRAWING, ngx_string("drawing") },
        { NGX_ADM_PAGE_LEAVING, ngx_string("leaving") },
        { NGX_ADM_PAGE_GONE, ngx_string("left") },
        { NGX_ADM_PAGE_SCRIPT, ngx_string("script") },
        { NGX_ADM_PAGE_BEFORE, ngx_string("before") },
        { NGX_ADM_PAGE_CLOSED, ngx_string("closed") },
        { NGX_ADM_PAGE_SOLD, ngx_string("sold") },
        { NGX_ADM_PAGE_SCRIPT, ngx_string("sold") },
        { NGX_ADM_PAGE_COOKIES, ngx_string("cookies") },
        { NGX_ADM_PAGE_BUSY, ngx_string("busy") },
        { NGX_ADM_PAGE_CROWDED, ngx_string("crowded") },
        { NGX_ADM_PAGE_FULL, ngx_string("full") },
        { NGX_ADM_PAGE_UNKNOWN, ngx_string("unknown") }
    };

    values[NGX_ADM_PAGE_STATE].data = (u_char *) state;
    values[NGX_ADM_PAGE_STATE].len = ngx_strlen(state);

    ngx_str_set(&values[NGX_ADM_PAGE_NOTICE], "hidden");

    for (i = NGX_ADM_PAGE_WAITING; i <= NGX_ADM_PAGE_UNKNOWN; i++) {
        ngx_str_set(&values[i], "hidden");
    }

    for (word = state; *word; word += len + strspn(word + len, " ")) {

        len = strcspn(word, " ");

        for (i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {

            if (shown[i].word.len == len
                && ngx_strncmp(shown[i].word.data, word, len) == 0)
            {
                ngx_str_null(&values[shown[i].value]);
            }
        }
    }

    if (ngx_strcmp(state, "waiting") == 0) {
        ngx_str_null(&values[NGX_ADM_PAGE_GOING]);
    }

    if (values[NGX_ADM_PAGE_NUMBER].len) {
        ngx_str_null(&values[NGX_ADM_PAGE_DRAW]);
    }

    /*
     * a number, or a place, can be given up; but a lot that is given up stays
     * one
     */

    if (values[NGX_ADM_PAGE_WAITING].len == 0) {
        ngx_str_null(&values[NGX_ADM_PAGE_HELD]);
    }
}
