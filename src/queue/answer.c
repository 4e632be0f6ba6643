
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What check, status and heartbeat answer: how the user stands, or why there
 * is no answer to that.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../host/event_state.h"
#include "../host/line.h"
#include "../http/deny.h"
#include "../http/respond.h"
#include "../http/sale.h"
#include "../http/token_cookie.h"
#include "answer.h"
#include "told.h"


static ngx_int_t ngx_adm_queue_stands(ngx_adm_api_call_t *call,
    ngx_adm_queue_answer_t *answer);
static ngx_int_t ngx_adm_queue_position_used(ngx_adm_api_call_t *call);


ngx_int_t
ngx_adm_queue_answer(ngx_adm_api_call_t *call, ngx_adm_queue_answer_t *answer)
{
    ngx_log_debug4(NGX_LOG_DEBUG_HTTP, call->request->connection->log, 0,
                   "admission: queue, event \"%V\": state %d, position %L "
                   "of %L", &call->event, answer->state, answer->position,
                   answer->size);

    switch (answer->state) {

    case NGX_ADM_QUEUE_POSITION_USED:
        return ngx_adm_queue_position_used(call);

    case NGX_ADM_QUEUE_FULL:
        return ngx_adm_api_full(call, NGX_ADM_LINE_FULL);

    case NGX_ADM_QUEUE_TOO_LONG:
        return ngx_adm_api_full(call, NGX_ADM_LINE_LONG);

    case NGX_ADM_QUEUE_NEEDS_TIER1:
        return ngx_adm_deny_to_waiting(call->request, "TIER1_REQUIRED",
                                       "Waiting room token required",
                                       &call->event);

    case NGX_ADM_QUEUE_UNDRAWN:
        return ngx_adm_sale_refuse(call->request, &call->event, call->conf, 0,
                                   NULL);

    case NGX_ADM_QUEUE_SOLD_OUT:
        return ngx_adm_api_sold_out(call, NGX_ADM_TIER_2);

    default: /* NOT_IN, WAITING, ACTIVE, READY */
        return ngx_adm_queue_stands(call, answer);
    }
}


static ngx_int_t
ngx_adm_queue_stands(ngx_adm_api_call_t *call, ngx_adm_queue_answer_t *answer)
{
    ngx_str_t              json;
    ngx_http_request_t    *r;
    ngx_adm_queue_told_t   told;

    r = call->request;

    ngx_memzero(&told, sizeof(ngx_adm_queue_told_t));

    told.event = &call->event;
    told.user = &call->who;
    told.conf = call->conf;
    told.lcf = call->lcf;
    told.brief = (call->value == NGX_ADM_QUEUE_HEARTBEAT);

    if (!told.brief) {
        (void) ngx_adm_sale_get(&call->event, call->conf, &told.sale);

        if (ngx_adm_told_member(r, &call->event, &told.sale, &told.notice)
            != NGX_OK)
        {
            return NGX_HTTP_INTERNAL_SERVER_ERROR;
        }
    }

    if (ngx_adm_queue_told(&told, answer, r->pool, &json) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (told.token.len) {

        ngx_log_debug3(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                       "admission: issues \"%V\", event \"%V\", for %T s",
                       &call->lcf->cookies[told.kind]->name, &call->event,
                       told.life);

        if (ngx_adm_token_cookie(r, told.kind, &call->event, &told.token,
                                 told.life) != NGX_OK)
        {
            return NGX_HTTP_INTERNAL_SERVER_ERROR;
        }
    }

    return ngx_adm_respond_json(r, NGX_HTTP_OK, &json);
}


/* another user came with this position: back to where one gets a new ticket */

static ngx_int_t
ngx_adm_queue_position_used(ngx_adm_api_call_t *call)
{
    ngx_http_request_t  *r;

    r = call->request;

    if (ngx_adm_token_clear(r, NGX_ADM_TOKEN_TICKET,
                            &call->event)
        != NGX_OK
        || ngx_adm_token_clear(r, NGX_ADM_TOKEN_TIER1, &call->event)
           != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return ngx_adm_deny_to_waiting(r, "POSITION_USED", "Position already used",
                                   &call->event);
}
