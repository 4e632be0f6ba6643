
/*
 * Copyright (C) 2026 the admission module authors
 *
 * An entry token may have been revoked.  The host knows, or has had to forget:
 * then only Redis can tell.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../base/clock.h"
#include "../base/reason.h"
#include "../base/text.h"
#include "../host/event_state.h"
#include "../host/revoked.h"
#include "credentials.h"
#include "ctx.h"
#include "entry.h"


/* the search: for whom, and the first token in doubt */

typedef struct {
    ngx_str_t         *event;
    ngx_str_t         *user;
    ngx_int_t          doubt;    /* NGX_AGAIN, NGX_BUSY; NGX_DECLINED: none
                                    in doubt */
    ngx_adm_claims_t  *doubted;
} ngx_adm_entry_search_t;


static ngx_int_t ngx_adm_entry_match(ngx_http_request_t *r,
    ngx_adm_claims_t *entry, void *data, const char **why);
static const char *ngx_adm_entry_mismatch(ngx_http_request_t *r,
    ngx_adm_claims_t *entry, ngx_adm_entry_search_t *search);
static ngx_int_t ngx_adm_entry_revoked(ngx_http_request_t *r,
    ngx_adm_claims_t *entry);


ngx_int_t
ngx_adm_entry_find(ngx_http_request_t *r, ngx_str_t *event, ngx_str_t *user,
    ngx_adm_claims_t **entry, const char **why)
{
    ngx_int_t               rc;
    ngx_adm_entry_search_t  search;

    search.event = event;
    search.user = user;
    search.doubt = NGX_DECLINED;
    search.doubted = NULL;

    rc = ngx_adm_credentials_find(r, NGX_ADM_TOKEN_TIER2, event,
                                  ngx_adm_entry_match, &search, entry, why);
    if (rc != NGX_DECLINED) {
        return rc;
    }

    *entry = search.doubted;

    return search.doubt;
}


/* puts a token in doubt aside, since a good one may follow */

static ngx_int_t
ngx_adm_entry_match(ngx_http_request_t *r, ngx_adm_claims_t *entry, void *data,
    const char **why)
{
    ngx_adm_entry_search_t *search = data;

    ngx_int_t          rc;
    ngx_adm_claims_t  *doubted;

    *why = ngx_adm_entry_mismatch(r, entry, search);

    if (*why) {
        return NGX_DECLINED;
    }

    rc = ngx_adm_entry_revoked(r, entry);

    if (rc == NGX_DECLINED) {
        *why = ngx_adm_reason(REVOKED);
        return NGX_DECLINED;
    }

    doubted = search->doubted;

    if (rc == NGX_OK) {

        /* one token is as good as another of the same user and event */

        return (search->doubt != NGX_AGAIN
                || (ngx_adm_str_same(&entry->sub, &doubted->sub)
                    && ngx_adm_str_same(&entry->uid, &doubted->uid)))
               ? NGX_OK : NGX_DECLINED;
    }

    /*
     * the first one in doubt; but one that Redis can be asked about goes
     * before others
     */

    if (search->doubt != NGX_AGAIN
        && (rc == NGX_AGAIN || search->doubt == NGX_DECLINED))
    {
        search->doubt = rc;
        search->doubted = entry;
    }

    return NGX_DECLINED;
}


static const char *
ngx_adm_entry_mismatch(ngx_http_request_t *r, ngx_adm_claims_t *entry,
    ngx_adm_entry_search_t *search)
{
    ngx_adm_main_conf_t  *mcf;

    mcf = ngx_http_get_module_main_conf(r, ngx_http_admission_module);

    if (search->event->len) {

        if (!ngx_adm_str_same(&entry->sub, search->event)) {
            return ngx_adm_reason(EVENT);
        }

    } else if (!ngx_adm_event_is_named(mcf, &entry->sub)) {
        return ngx_adm_reason(NOT_NAMED);
    }

    if (search->user->len == 0) {
        return NULL;
    }

    /* a token that names no user can't be revoked for one */

    if (entry->uid.len == 0) {
        return ngx_adm_reason(CLAIM_uid);
    }

    if (!ngx_adm_str_same(&entry->uid, search->user)) {
        return ngx_adm_reason(ANOTHER_USER);
    }

    return NULL;
}


/*
 * By what the host knows, and what Redis told this request.  NGX_DECLINED:
 * revoked; NGX_AGAIN, NGX_BUSY: as in ngx_adm_entry_find().
 */

static ngx_int_t
ngx_adm_entry_revoked(ngx_http_request_t *r, ngx_adm_claims_t *entry)
{
    int64_t           adm;
    ngx_int_t         rc;
    ngx_adm_asked_t  *asked;

    adm = entry->adm ? entry->adm
                     : ngx_min(entry->iat, ngx_adm_now()) * 1000000;

    rc = ngx_adm_revoked(&entry->sub, &entry->uid, adm, &entry->older);
    if (rc != NGX_AGAIN) {
        return rc;
    }

    asked = ngx_adm_ctx_asked(r, entry);

    if (asked == NULL) {
        return NGX_AGAIN;
    }

    if (asked->rc != NGX_OK) {
        return NGX_BUSY;
    }

    return (adm <= asked->revoked) ? NGX_DECLINED : NGX_OK;
}
