
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The users' call of admission_queue_api to leave a queue or a session: by a
 * button, or by the beacon of a page that goes away and may come back.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../host/unlisted.h"
#include "../http/body.h"
#include "../http/entry.h"
#include "../http/form.h"
#include "../http/once.h"
#include "../http/respond.h"
#include "../http/token_cookie.h"
#include "api.h"


static ngx_int_t ngx_adm_queue_leaves_once(ngx_adm_api_call_t *call);
static ngx_int_t ngx_adm_queue_leaves(ngx_adm_once_t *once);
static ngx_int_t ngx_adm_queue_left_again(ngx_adm_once_t *once,
    ngx_adm_answer_t *answer);
static ngx_int_t ngx_adm_queue_held(ngx_adm_api_call_t *call);
static void ngx_adm_queue_left(void *data, ngx_int_t rc,
    ngx_adm_queue_answer_t *answer);


/* call->value: it is a beacon */

ngx_int_t
ngx_adm_queue_leave_handler(ngx_adm_api_call_t *call)
{
    ngx_int_t  rc;

    rc = ngx_adm_queue_user(call, 0);
    if (rc != NGX_DECLINED) {
        return rc;
    }

    call->value = ngx_adm_is_beacon(call->request);

    if (!call->value) {
        return ngx_adm_body_read(call, ngx_adm_queue_leaves_once);
    }

    /* a page may send any body with its beacon */

    rc = ngx_http_discard_request_body(call->request);
    if (rc != NGX_OK) {
        return rc;
    }

    return ngx_adm_queue_leaves_once(call);
}


static ngx_int_t
ngx_adm_queue_leaves_once(ngx_adm_api_call_t *call)
{
    ngx_str_t        parts[4], body[2];
    ngx_adm_once_t  *once;

    once = ngx_pcalloc(call->request->pool, sizeof(ngx_adm_once_t));
    if (once == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    once->call = call;
    once->deadline = ngx_adm_api_deadline(call);
    once->first = ngx_adm_queue_leaves;
    once->again = ngx_adm_queue_left_again;

    ngx_str_set(&parts[1], "leave");
    parts[2] = call->event;
    parts[3] = call->who;

    ngx_str_set(&body[0], "beacon");

    if (!call->value) {
        ngx_str_null(&body[0]);
    }

    body[1] = call->body_text;

    return ngx_adm_once(once, parts, 4, body, 2);
}


static ngx_int_t
ngx_adm_queue_leaves(ngx_adm_once_t *once)
{
    ngx_int_t              held;
    ngx_adm_api_call_t    *call;
    ngx_adm_redis_call_t  *pending;

    call = once->call;
    held = ngx_adm_queue_held(call);

    if (held == NGX_ERROR) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    pending = ngx_adm_queue_leave(&call->event, call->conf, &call->who,
                                  call->value, held, ngx_adm_queue_left, once);
    if (pending == NULL) {
        ngx_adm_once_drop(once);

    } else {
        once->sent = 1;
    }

    ngx_log_debug3(NGX_LOG_DEBUG_HTTP, call->request->connection->log, 0,
                   "admission: queue left, event \"%V\", beacon %L, shows %i",
                   &call->event, call->value, held);

    return ngx_adm_api_wait(call, pending);
}


/*
 * tokens of this module that the user shows, as NGX_ADM_HELD_*; NGX_ERROR: no
 * memory
 */

static ngx_int_t
ngx_adm_queue_held(ngx_adm_api_call_t *call)
{
    ngx_int_t             rc;
    const char           *why;
    ngx_adm_claims_t     *entry;
    ngx_adm_queue_ask_t   ask;

    rc = ngx_adm_entry_find(call->request, &call->event,
                            &call->who, &entry, &why);
    if (rc == NGX_ERROR) {
        return NGX_ERROR;
    }

    if (rc != NGX_DECLINED) {
        /* an entry token counts here even if it may have been ended */
        return NGX_ADM_HELD_ENTRY;
    }

    ngx_memzero(&ask, sizeof(ngx_adm_queue_ask_t));

    ask.event = call->event;
    ask.user = call->who;

    if (ngx_adm_queue_places(call, &ask) != NGX_OK) {
        return NGX_ERROR;
    }

    return ask.nplaces ? NGX_ADM_HELD_PLACE : NGX_ADM_HELD_NOTHING;
}


static void
ngx_adm_queue_left(void *data, ngx_int_t rc, ngx_adm_queue_answer_t *answer)
{
    ngx_adm_once_t *once = data;

    ngx_str_t             json;
    ngx_http_request_t   *r;
    ngx_adm_guest_t       guest;
    ngx_adm_api_call_t   *call;

    call = once->call;
    r = call->request;

    ngx_adm_wait_over(r);

    if (rc != NGX_OK) {
        ngx_adm_once_drop(once);

        rc = ngx_adm_form_back(r);

        ngx_adm_wait_finish(r, (rc == NGX_DECLINED)
                               ? ngx_adm_api_unavailable(r) : rc);
        return;
    }

    ngx_memzero(&guest, sizeof(ngx_adm_guest_t));

    guest.event = call->event;
    guest.user = call->who;

    ngx_adm_unlisted_out(&guest, call->value ? NGX_ADM_BEACON + 1000 : 0);

    ngx_str_set(&json, "{\"message\":\"Left queue\"}");

    /* a beacon may be a page's refresh, which needs its cookies */

    if (!call->value && ngx_adm_queue_clear(call) != NGX_OK) {
        rc = NGX_HTTP_INTERNAL_SERVER_ERROR;

    } else {
        rc = once->keyed ? NGX_DECLINED : ngx_adm_form_back(r);

        if (rc == NGX_DECLINED) {
            rc = ngx_adm_once_json(once, &json);
        }
    }

    ngx_adm_wait_finish(r, rc);
}


static ngx_int_t
ngx_adm_queue_left_again(ngx_adm_once_t *once, ngx_adm_answer_t *answer)
{
    if (!once->call->value && ngx_adm_queue_clear(once->call) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return ngx_adm_once_again_json(once, answer);
}


ngx_int_t
ngx_adm_queue_clear(ngx_adm_api_call_t *call)
{
    return (ngx_adm_token_clear(call->request, NGX_ADM_TOKEN_PLACE,
                                &call->event) == NGX_OK
            && ngx_adm_token_clear(call->request, NGX_ADM_TOKEN_TIER2,
                                   &call->event) == NGX_OK)
           ? NGX_OK : NGX_ERROR;
}
