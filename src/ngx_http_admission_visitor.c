
/*
 * Copyright (C) 2026 the admission module authors
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include <openssl/rand.h>

#include "ngx_http_admission_token.h"
#include "ngx_http_admission_visitor.h"
#include "ngx_http_admission_zone.h"


#define NGX_HTTP_ADMISSION_VISITOR_RANDOM  16                 /* bytes */
#define NGX_HTTP_ADMISSION_VISITOR_BATCH   32                 /* of them */
#define NGX_HTTP_ADMISSION_VISITOR_LIFE    (400 * 24 * 3600)  /* s */


static u_char *ngx_http_admission_visitor_random(ngx_log_t *log);


ngx_int_t
ngx_http_admission_visitor_find(ngx_http_request_t *r,
    ngx_http_admission_claims_t **visitor)
{
    ngx_str_t    any;
    const char  *why;

    ngx_str_null(&any);

    return ngx_http_admission_token_find(r, NGX_HTTP_ADMISSION_TOKEN_VISITOR,
                                         &any, &any, visitor, &why);
}


ngx_int_t
ngx_http_admission_visitor_make(ngx_http_request_t *r,
    ngx_http_admission_claims_t **visitor)
{
    ngx_str_t                     src;
    ngx_http_admission_claims_t  *claims;

    src.len = NGX_HTTP_ADMISSION_VISITOR_RANDOM;

    src.data = ngx_http_admission_visitor_random(r->connection->log);
    if (src.data == NULL) {
        return NGX_ERROR;
    }

    claims = ngx_pcalloc(r->pool, sizeof(ngx_http_admission_claims_t));
    if (claims == NULL) {
        return NGX_ERROR;
    }

    claims->vis.data = ngx_pnalloc(r->pool,
                                   ngx_base64_encoded_length(src.len));
    if (claims->vis.data == NULL) {
        return NGX_ERROR;
    }

    ngx_encode_base64url(&claims->vis, &src);

    claims->iat = ngx_http_admission_now();
    claims->exp = claims->iat + NGX_HTTP_ADMISSION_VISITOR_LIFE;

    *visitor = claims;

    return ngx_http_admission_token_issue(r, NGX_HTTP_ADMISSION_TOKEN_VISITOR,
                                          claims,
                                          NGX_HTTP_ADMISSION_VISITOR_LIFE,
                                          &claims->token);
}


/*
 * Bytes that nobody else gets, until the next call.  One call of RAND_bytes()
 * costs about as much for many visitors as for one.
 */

static u_char *
ngx_http_admission_visitor_random(ngx_log_t *log)
{
    static u_char      random[NGX_HTTP_ADMISSION_VISITOR_BATCH]
                             [NGX_HTTP_ADMISSION_VISITOR_RANDOM];
    static ngx_uint_t  left;

    if (left == 0) {

        if (RAND_bytes(random[0], sizeof(random)) != 1) {
            ngx_log_error(NGX_LOG_ERR, log, 0,
                          "admission: RAND_bytes() failed");
            return NULL;
        }

        left = NGX_HTTP_ADMISSION_VISITOR_BATCH;
    }

    return random[--left];
}


ngx_int_t
ngx_http_admission_visitor_cookie(ngx_http_request_t *r,
    ngx_str_t *token, int64_t exp)
{
    ngx_str_t  any;

    ngx_str_null(&any);

    return ngx_http_admission_token_cookie(r, NGX_HTTP_ADMISSION_TOKEN_VISITOR,
                                     &any, token,
                                     ngx_max(exp - ngx_http_admission_now(),
                                             1));
}


ngx_int_t
ngx_http_admission_visitor_is(ngx_http_request_t *r, ngx_str_t *vis,
    ngx_http_admission_claims_t **visitor)
{
    ngx_int_t                         rc;
    ngx_str_t                         any;
    ngx_uint_t                        i;
    const char                       *why;
    ngx_http_admission_claims_t      *claims;
    ngx_http_admission_loc_conf_t    *lcf;
    ngx_http_admission_candidates_t   found;

    if (vis->len == 0) {
        return NGX_DECLINED;
    }

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    ngx_str_null(&any);

    ngx_http_admission_token_candidates(r, NGX_HTTP_ADMISSION_TOKEN_VISITOR,
                                        &any, &found);

    for (i = 0; i < found.n; i++) {

        rc = ngx_http_admission_token_verify(
                        &lcf->verifiers[NGX_HTTP_ADMISSION_TOKEN_VISITOR],
                        &found.value[i], ngx_http_admission_now(), r->pool,
                        &claims, &why);

        if (rc == NGX_ERROR) {
            return NGX_ERROR;
        }

        if (rc == NGX_OK
            && claims->vis.len == vis->len
            && ngx_memcmp(claims->vis.data, vis->data, vis->len) == 0)
        {
            if (visitor) {
                claims->token = found.value[i];
                *visitor = claims;
            }

            return NGX_OK;
        }
    }

    return NGX_DECLINED;
}
