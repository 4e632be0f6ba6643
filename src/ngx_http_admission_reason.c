
/*
 * Copyright (C) 2026 the admission module authors
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_admission_reason.h"


ngx_str_t  ngx_http_admission_verdicts[] = {
    ngx_string("-"),
    ngx_string("pass"),
    ngx_string("bypass"),
    ngx_string("tier1"),
    ngx_string("tier2"),
    ngx_string("user"),
    ngx_string("limited"),
    ngx_string("error")
};


/* by ngx_http_admission_reason_e */

const char  ngx_http_admission_reasons[NGX_HTTP_ADMISSION_REASONS]
    [NGX_HTTP_ADMISSION_REASON_LEN] =
{
    "",
    "no token",
    "no secret to verify it",
    "token too long",
    "not three parts",
    "empty part",
    "bad header",
    "header with \"crit\"",
    "header without \"alg\"",
    "algorithm not allowed",
    "bad signature",
    "bad base64url",
    "bad JSON",
    "not an object",
    "claim \"sub\" missing or wrong",
    "claim \"uid\" missing or wrong",
    "claim \"vis\" missing or wrong",
    "claim \"tier\" missing or wrong",
    "claim \"position\" missing or wrong",
    "claim \"score\" missing or wrong",
    "claim \"at\" missing or wrong",
    "claim \"ticket\" missing or wrong",
    "claim \"act\" missing or wrong",
    "claim \"adm\" missing or wrong",
    "claim \"epoch\" missing or wrong",
    "claim \"iat\" missing or wrong",
    "claim \"nbf\" missing or wrong",
    "claim \"exp\" missing or wrong",
    "claim \"e\" missing or wrong",
    "claim \"u\" missing or wrong",
    "claim \"v\" missing or wrong",
    "claim \"p\" missing or wrong",
    "claim \"t\" missing or wrong",
    "claim \"a\" missing or wrong",
    "claim \"type\" says otherwise",
    "claim of the user's id missing or wrong",
    "not a token of tier 1",
    "not a token of tier 2",
    "expired",
    "not valid yet",
    "token of another event",
    "token of another user",
    "token was revoked",
    "token of another activation",
    "token of another visitor",
    "waiting room not known",
    "no user",
    "no visitor",
    "no event",
    "bad event",
    "unknown event",
    "token of an event without a line",
    "not active",
    "redis",
    "trusted edge"
};


ngx_http_admission_reason_e
ngx_http_admission_reason_number(const char *reason)
{
    uintptr_t  offset;

    /* another text lies outside, if only by its offset */

    offset = (uintptr_t) reason - (uintptr_t) ngx_http_admission_reasons;

    if (offset >= sizeof(ngx_http_admission_reasons)) {
        return NGX_HTTP_ADMISSION_REASON_NONE;
    }

    return offset / NGX_HTTP_ADMISSION_REASON_LEN;
}
