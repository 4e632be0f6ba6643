
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Texts of verdicts and reasons, and the rows in which requests are counted.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "reason.h"


ngx_str_t  ngx_adm_verdicts[] = {
    ngx_string("-"),
    ngx_string("pass"),
    ngx_string("bypass"),
    ngx_string("tier1"),
    ngx_string("tier2"),
    ngx_string("user"),
    ngx_string("limited"),
    ngx_string("error") };


const char  ngx_adm_reasons[NGX_ADM_REASONS] [NGX_ADM_REASON_LEN] = {
#define reason(id, text)  text,
    NGX_ADM_REASON_LIST(reason)
#undef reason
};


ngx_uint_t
ngx_adm_verdict_row(ngx_adm_verdict_e verdict, const char *reason,
    ngx_uint_t dry_run)
{
    uintptr_t         offset;
    ngx_uint_t        row;
    ngx_adm_reason_e  number;

    row = verdict;

    /* any other text is outside, if only by its offset */

    offset = (uintptr_t) reason - (uintptr_t) ngx_adm_reasons;

    number = (offset < sizeof(ngx_adm_reasons)) ? offset / NGX_ADM_REASON_LEN
                                                : NGX_ADM_REASON_NONE;

    if (verdict == NGX_ADM_VERDICT_TIER1 || verdict == NGX_ADM_VERDICT_TIER2) {
        row = NGX_ADM_VERDICTS + number
              + (verdict - NGX_ADM_VERDICT_TIER1)
                * NGX_ADM_REASONS;

    } else if (verdict == NGX_ADM_VERDICT_ERROR
               && (number == NGX_ADM_REASON_KEYS
                   || number == NGX_ADM_REASON_FLOOD))
    {
        row = NGX_ADM_VERDICTS + number;

    } else if (number == NGX_ADM_REASON_EDGE) {
        return 0;
    }

    return row + (dry_run ? NGX_ADM_ROWS : 0);
}


void
ngx_adm_row_verdict(ngx_uint_t row, ngx_adm_verdict_e *verdict,
    ngx_adm_reason_e *reason)
{
    *reason = NGX_ADM_REASON_NONE;

    if (row >= NGX_ADM_VERDICTS) {
        row -= NGX_ADM_VERDICTS;

        *verdict = NGX_ADM_VERDICT_TIER1 + row / NGX_ADM_REASONS;
        *reason = row % NGX_ADM_REASONS;

        if (*reason == NGX_ADM_REASON_KEYS || *reason == NGX_ADM_REASON_FLOOD) {
            *verdict = NGX_ADM_VERDICT_ERROR;
        }

        return;
    }

    *verdict = row;

    if (row == 0) {
        *verdict = NGX_ADM_VERDICT_BYPASS;
        *reason = NGX_ADM_REASON_EDGE;

    } else if (row == NGX_ADM_VERDICT_USER) {
        *reason = NGX_ADM_REASON_NO_USER;

    } else if (row == NGX_ADM_VERDICT_ERROR) {
        *reason = NGX_ADM_REASON_REDIS;
    }
}
