
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Somebody who shows neither place nor entry token costs Redis nothing: all
 * that a page could say is that one has to join.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../http/entry.h"
#include "../http/token_cookie.h"
#include "../http/user.h"
#include "bound.h"
#include "look.h"
#include "told.h"
#include "view.h"


/* a look under way */
typedef struct {
    ngx_adm_queue_look_t   *look;
    ngx_adm_queue_guest_t   guest;
    ngx_adm_queue_ask_t     ask;
} ngx_adm_queue_looking_t;


static ngx_int_t ngx_adm_queue_look_shown(ngx_adm_queue_looking_t *looking);
static ngx_int_t ngx_adm_queue_look_ask(ngx_adm_queue_looking_t *looking);
static void ngx_adm_queue_looked(void *data, ngx_int_t rc,
    ngx_adm_queue_answer_t *answer);


ngx_int_t
ngx_adm_queue_look(ngx_adm_queue_look_t *look)
{
    ngx_int_t                 rc;
    ngx_adm_queue_looking_t  *looking;

    looking = ngx_pcalloc(look->call->request->pool,
                          sizeof(ngx_adm_queue_looking_t));
    if (looking == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    looking->look = look;

    rc = ngx_adm_queue_look_shown(looking);

    if (rc == NGX_ERROR) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return (rc == NGX_OK) ? ngx_adm_queue_look_ask(looking) : rc;
}


/* NGX_DECLINED: nothing is shown, or the host can not say whose it would be */

static ngx_int_t
ngx_adm_queue_look_shown(ngx_adm_queue_looking_t *looking)
{
    const char           *why;
    ngx_adm_api_call_t   *call;
    ngx_adm_queue_ask_t  *ask;

    call = looking->look->call;
    ask = &looking->ask;

    if (call->lcf->verifiers[NGX_ADM_TOKEN_TIER2].keys == NULL
        || call->lcf->verifiers[NGX_ADM_TOKEN_PLACE].keys == NULL)
    {
        return NGX_DECLINED;
    }

    if (call->lcf->user->source == NGX_ADM_USER_VISITOR) {

        /* of several users shown the one of this event */

        call->ctx->user_of = NULL;
    }

    if (ngx_adm_user_find(call->request, call->ctx) != NGX_OK) {
        return NGX_ERROR;
    }

    call->who = call->ctx->user.id;

    if (call->who.len == 0) {
        return NGX_DECLINED;
    }

    ask->event = call->event;
    ask->conf = call->conf;
    ask->user = call->who;
    ask->mode = NGX_ADM_QUEUE_STATUS;

    if (ngx_adm_queue_places(call, ask) != NGX_OK
        || ngx_adm_entry_find(call->request, &call->event, &call->who,
                              &ask->entry, &why)
           == NGX_ERROR)
    {
        return NGX_ERROR;
    }

    return (ask->nplaces || ask->entry) ? NGX_OK : NGX_DECLINED;
}


static ngx_int_t
ngx_adm_queue_look_ask(ngx_adm_queue_looking_t *looking)
{
    ngx_int_t                rc;
    ngx_adm_api_call_t      *call;
    ngx_adm_queue_ask_t     *ask;
    ngx_adm_queue_look_t    *look;
    ngx_adm_redis_call_t    *pending;
    ngx_adm_queue_answer_t   answer;

    look = looking->look;
    call = look->call;
    ask = &looking->ask;

    rc = ngx_adm_queue_bound(call, &looking->guest, ask);
    if (rc != NGX_DECLINED) {
        return rc;
    }

    if (ngx_adm_queue_view(ask, &answer) == NGX_OK) {
        ngx_adm_queue_bound_note(&looking->guest, &answer);

        return look->done(look, &answer);
    }

    ngx_log_debug3(NGX_LOG_DEBUG_HTTP, call->request->connection->log, 0,
                   "admission: queue asked by a page, event \"%V\", "
                   "places %ui, entry token %d", &call->event, ask->nplaces,
                   ask->entry != NULL);

    pending = ngx_adm_queue_ask(ask, ngx_adm_queue_looked, looking);

    if (pending == NULL) {
        return look->done(look, NULL);
    }

    return ngx_adm_wait_content(call->request, ngx_adm_redis_cancel, pending);
}


static void
ngx_adm_queue_looked(void *data, ngx_int_t rc, ngx_adm_queue_answer_t *answer)
{
    ngx_adm_queue_looking_t *looking = data;

    ngx_http_request_t    *r;
    ngx_adm_queue_look_t  *look;

    look = looking->look;
    r = look->call->request;

    ngx_adm_wait_over(r);

    if (rc != NGX_OK) {
        answer = NULL;

    } else {
        ngx_adm_queue_bound_note(&looking->guest, answer);
    }

    ngx_adm_wait_finish(r, look->done(look, answer));
}


ngx_int_t
ngx_adm_queue_look_cookie(ngx_adm_queue_look_t *look,
    ngx_adm_queue_answer_t *answer)
{
    ngx_str_t              json;
    ngx_adm_api_call_t    *call;
    ngx_adm_queue_told_t   told;

    call = look->call;

    ngx_memzero(&told, sizeof(ngx_adm_queue_told_t));

    told.event = &call->event;
    told.user = &call->who;
    told.conf = call->conf;
    told.lcf = call->lcf;

    if (ngx_adm_queue_told(&told, answer, call->request->pool, &json) != NGX_OK)
    {
        return NGX_ERROR;
    }

    return told.token.len ? ngx_adm_token_cookie(call->request, told.kind,
                                                 &call->event, &told.token,
                                                 told.life)
                          : NGX_OK;
}
