
/*
 * Copyright (C) 2026 the admission module authors
 *
 * X-User-* and X-Admission-Event, and Authorization: a backend that knows users
 * of its own sees them the same way, whether they came by header or cookie.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "headers.h"
#include "identity.h"


typedef struct {
    ngx_str_t                   key;
    ngx_str_t                   lowcase;
    ngx_uint_t                  hash;       /* once it was needed */
} ngx_adm_identity_name_t;


static ngx_int_t ngx_adm_identity_is(ngx_table_elt_t *h, void *data);
static ngx_int_t ngx_adm_identity_is_that(ngx_table_elt_t *h, void *data);
static ngx_int_t ngx_adm_identity_user(ngx_http_request_t *r,
    ngx_adm_ctx_t *ctx);
static ngx_int_t ngx_adm_identity_authorization(ngx_http_request_t *r,
    ngx_adm_ctx_t *ctx);
static ngx_table_elt_t *ngx_adm_identity_push(ngx_http_request_t *r,
    ngx_adm_identity_name_t *name, ngx_str_t *value);


#define ngx_adm_identity_name(key, lowcase)                                   \
    { ngx_string(key), ngx_string(lowcase), 0 }

#define NGX_ADM_IDENTITY_ID     0
#define NGX_ADM_IDENTITY_EMAIL  1
#define NGX_ADM_IDENTITY_ROLE   2
#define NGX_ADM_IDENTITY_EVENT  3    /* the last */
#define NGX_ADM_IDENTITIES      4

static ngx_adm_identity_name_t
    ngx_adm_identity_names[] = {
    ngx_adm_identity_name("X-User-Id", "x-user-id"),
    ngx_adm_identity_name("X-User-Email", "x-user-email"),
    ngx_adm_identity_name("X-User-Role", "x-user-role"),
    ngx_adm_identity_name("X-Admission-Event", "x-admission-event") };


static ngx_adm_identity_name_t
    ngx_adm_identity_bearer = ngx_adm_identity_name("Authorization",
                                                    "authorization");


ngx_int_t
ngx_adm_identity_remove(ngx_http_request_t *r)
{
    ngx_table_elt_t        *h;
    ngx_adm_srv_conf_t     *scf;
    ngx_adm_headers_pos_t   pos;

    scf = ngx_http_get_module_srv_conf(r, ngx_http_admission_module);

    if (!scf->users && !scf->gated) {
        return NGX_OK;
    }

    ngx_memzero(&pos, sizeof(ngx_adm_headers_pos_t));

    while ((h = ngx_adm_headers_next(&r->headers_in.headers, &pos))) {

        if (ngx_adm_identity_is(h, scf) == NGX_OK) {
            return ngx_adm_headers_remove(r, ngx_adm_identity_is, scf);
        }
    }

    /* as nearly always */

    return NGX_OK;
}


ngx_int_t
ngx_adm_identity_set(ngx_http_request_t *r, ngx_adm_ctx_t *ctx)
{
    if (ctx->identity) {
        ctx->identity = 0;

        if (ngx_adm_identity_remove(r) != NGX_OK) {
            return NGX_ERROR;
        }
    }

    if (ctx->authorization) {

        if (ngx_adm_headers_remove(r, ngx_adm_identity_is_that,
                                   ctx->authorization) != NGX_OK)
        {
            return NGX_ERROR;
        }

        ctx->authorization = NULL;
        r->headers_in.authorization = NULL;
    }

    /* with bind=off there may be an entry token and no user */

    if (ctx->user.id.len == 0 && ctx->entry == NULL) {
        return NGX_OK;
    }

    ngx_log_debug2(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "admission: tells the backend of a user: %ui, of an entry "
                   "token: %ui", (ngx_uint_t) (ctx->user.id.len != 0),
                   (ngx_uint_t) (ctx->entry != NULL));

    if (ngx_adm_identity_user(r, ctx) != NGX_OK) {
        return NGX_ERROR;
    }

    if (ctx->user.id.len == 0) {
        return NGX_OK;
    }

    return ngx_adm_identity_authorization(r, ctx);
}


static ngx_int_t
ngx_adm_identity_is(ngx_table_elt_t *h, void *data)
{
    ngx_adm_srv_conf_t *scf = data;

    ngx_str_t   *name;
    ngx_uint_t   n;

    /* all of them begin like that, and few others do */

    if (h->key.len == 0 || ngx_tolower(h->key.data[0]) != 'x') {
        return NGX_DECLINED;
    }

    /* without admission_user the server has users of its own, or none */

    n = scf->users ? 0 : NGX_ADM_IDENTITY_EVENT;

    for ( /* void */ ; n < NGX_ADM_IDENTITIES; n++) {
        name = &ngx_adm_identity_names[n].lowcase;

        if (ngx_adm_header_is(h, name)) {
            return NGX_OK;
        }
    }

    return NGX_DECLINED;
}


static ngx_int_t
ngx_adm_identity_is_that(ngx_table_elt_t *h, void *data)
{
    return (h == data) ? NGX_OK : NGX_DECLINED;
}


static ngx_int_t
ngx_adm_identity_user(ngx_http_request_t *r, ngx_adm_ctx_t *ctx)
{
    ngx_str_t   *values[NGX_ADM_IDENTITIES];
    ngx_uint_t   i;

    values[NGX_ADM_IDENTITY_ID] = &ctx->user.id;
    values[NGX_ADM_IDENTITY_EMAIL] = &ctx->user.email;
    values[NGX_ADM_IDENTITY_ROLE] = &ctx->user.role;
    values[NGX_ADM_IDENTITY_EVENT] = ctx->entry ? &ctx->entry->sub : NULL;
    ctx->identity = 1;

    for (i = 0; i < NGX_ADM_IDENTITIES; i++) {

        if (values[i] == NULL || values[i]->len == 0) {
            continue;
        }

        /* readers of a header trim it: " bob" would turn into another user */

        if (values[i]->data[0] == ' '
            || values[i]->data[values[i]->len - 1] == ' ')
        {
            continue;
        }

        if (ngx_adm_identity_push(r, &ngx_adm_identity_names[i],
                                  values[i]) == NULL)
        {
            return NGX_ERROR;
        }
    }

    return NGX_OK;
}


static ngx_int_t
ngx_adm_identity_authorization(ngx_http_request_t *r, ngx_adm_ctx_t *ctx)
{
    ngx_str_t            value;
    ngx_adm_loc_conf_t  *lcf;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    /*
     * There is no upstream behind the module's own content handlers, for
     * which a Bearer header is what no other site's page can send.
     */

    if (ctx->user.claims == NULL
        || r->headers_in.authorization
        || lcf->content != NGX_ADM_CONTENT_NONE)
    {
        return NGX_OK;
    }

    value.len = sizeof("Bearer ") - 1 + ctx->user.claims->token.len;

    value.data = ngx_pnalloc(r->pool, value.len);
    if (value.data == NULL) {
        return NGX_ERROR;
    }

    ngx_memcpy(ngx_cpymem(value.data, "Bearer ", sizeof("Bearer ") - 1),
               ctx->user.claims->token.data, ctx->user.claims->token.len);

    ctx->authorization = ngx_adm_identity_push(r, &ngx_adm_identity_bearer,
                                               &value);
    if (ctx->authorization == NULL) {
        return NGX_ERROR;
    }

    r->headers_in.authorization = ctx->authorization;

    return NGX_OK;
}


static ngx_table_elt_t *
ngx_adm_identity_push(ngx_http_request_t *r, ngx_adm_identity_name_t *name,
    ngx_str_t *value)
{
    ngx_list_t       *list;
    ngx_table_elt_t  *h;

    list = &r->headers_in.headers;

    /* a request whose first line is wrong has no list, but an error_page */

    if (list->last == NULL
        && ngx_list_init(list, r->pool, 20, sizeof(ngx_table_elt_t)) != NGX_OK)
    {
        return NULL;
    }

    h = ngx_list_push(list);
    if (h == NULL) {
        return NULL;
    }

    ngx_memzero(h, sizeof(ngx_table_elt_t));

    if (name->hash == 0) {
        name->hash = ngx_hash_key(name->lowcase.data, name->lowcase.len);
    }

    h->hash = name->hash;
    h->key = name->key;
    h->value = *value;
    h->lowcase_key = name->lowcase.data;

    return h;
}
