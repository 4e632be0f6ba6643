
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The waiting room's call to leave.  A ticket is recorded nowhere, so it stays
 * good: who comes back with it goes on with its number.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../http/body.h"
#include "../http/form.h"
#include "../http/respond.h"
#include "../http/token_cookie.h"
#include "../http/visitor.h"
#include "api.h"


static ngx_int_t ngx_adm_room_leaves(ngx_adm_api_call_t *call);


/*
 * call->value: a beacon, which may be a page's refresh that needs its cookies
 */

ngx_int_t
ngx_adm_room_leave_handler(ngx_adm_api_call_t *call)
{
    call->value = ngx_adm_is_beacon(call->request);

    /* a page may send any body with its beacon */

    return call->value ? ngx_adm_room_leaves(call)
                       : ngx_adm_body_read(call, ngx_adm_room_leaves);
}


static ngx_int_t
ngx_adm_room_leaves(ngx_adm_api_call_t *call)
{
    int64_t              number, of;
    ngx_int_t            rc;
    ngx_http_request_t  *r;
    ngx_adm_claims_t    *ticket, *visitor;
    ngx_adm_standing_t   standing;

    r = call->request;

    rc = ngx_adm_room_ticket(call, 0, &ticket, &visitor, &standing);
    if (rc != NGX_DECLINED) {
        return rc;
    }

    if (visitor == NULL) {
        return ngx_adm_room_not_found(call);
    }

    number = ngx_adm_ticket_number(&standing, &of);

    if (number) {
        ngx_adm_there_left(&call->event, of, number);
    }

    if (!call->value
        && (ngx_adm_token_clear(r, NGX_ADM_TOKEN_TICKET, &call->event)
            != NGX_OK
            || ngx_adm_token_clear(r, NGX_ADM_TOKEN_TIER1, &call->event)
               != NGX_OK))
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    ngx_log_debug3(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "admission: room of event \"%V\" left, number %L, beacon "
                   "%L", &call->event, number, call->value);

    rc = ngx_adm_form_back(r);
    if (rc != NGX_DECLINED) {
        return rc;
    }

    return ngx_adm_api_json(r, 0, "{\"message\":\"Left\"}");
}
