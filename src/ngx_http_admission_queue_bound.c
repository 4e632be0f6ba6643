
/*
 * Copyright (C) 2026 the admission module authors
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_admission_address.h"
#include "ngx_http_admission_queue_bound.h"
#include "ngx_http_admission_respond.h"
#include "ngx_http_admission_room.h"


#define NGX_HTTP_ADMISSION_BOUND_RETRY   30     /* s, and up to that many */
#define NGX_HTTP_ADMISSION_BOUND_SPREAD  10     /* more: they are not to come
                                                   again together */


static ngx_int_t ngx_http_admission_queue_guest(
    ngx_http_admission_api_call_t *call);
static void ngx_http_admission_queue_bound_count(
    ngx_http_admission_api_call_t *call, const char *what);


ngx_int_t
ngx_http_admission_queue_bound(ngx_http_admission_api_call_t *call,
    ngx_http_admission_queue_ask_t *ask)
{
    ngx_uint_t  empty;

    call->bound = NGX_HTTP_ADMISSION_BOUND_NONE;

    if (ngx_http_admission_queue_guest(call) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    /* REPORT is of who joins by a place alone */

    if (call->guest == NULL || ask->mode != NGX_HTTP_ADMISSION_QUEUE_CHECK) {
        return NGX_DECLINED;
    }

    empty = 0;

    call->bound = ngx_http_admission_unlisted_join(call->guest,
                                                   call->lcf->dry_run, &empty);

    if (call->bound == NGX_HTTP_ADMISSION_BOUND_NONE) {
        return NGX_DECLINED;
    }

    if (call->lcf->dry_run) {
        ngx_http_admission_queue_bound_count(call, ", dry run");
        call->bound = NGX_HTTP_ADMISSION_BOUND_NONE;

        return NGX_DECLINED;
    }

    /* who may be in, or may have been before a loss of data, is asked for */

    if (!empty || ask->entry || ask->nplaces) {
        ask->mode = NGX_HTTP_ADMISSION_QUEUE_REPORT;

        return NGX_DECLINED;
    }

    return ngx_http_admission_queue_over(call);
}


static ngx_int_t
ngx_http_admission_queue_guest(ngx_http_admission_api_call_t *call)
{
    ngx_http_request_t              *r;
    ngx_http_admission_guest_t      *guest;
    ngx_http_admission_main_conf_t  *mcf;

    r = call->request;
    mcf = ngx_http_get_module_main_conf(r, ngx_http_admission_module);

    call->guest = NULL;

    if (ngx_http_admission_event_line(mcf, &call->event)) {
        return NGX_OK;
    }

    guest = ngx_pcalloc(r->pool, sizeof(ngx_http_admission_guest_t));
    if (guest == NULL) {
        return NGX_ERROR;
    }

    guest->event = call->event;
    guest->user = call->who;

    /* one proxy on this machine is nobody's address */

    if (r->connection->sockaddr->sa_family != AF_UNIX
        && ngx_http_admission_address(r, NGX_HTTP_ADMISSION_IPV6_PREFIX,
                                      &guest->address)
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    call->guest = guest;

    return NGX_OK;
}


ngx_int_t
ngx_http_admission_queue_over(ngx_http_admission_api_call_t *call)
{
    ngx_http_admission_queue_bound_count(call, "");

    return ngx_http_admission_respond_retry(call->request,
                              NGX_HTTP_SERVICE_UNAVAILABLE,
                              "TOO_MANY_EVENTS", "Too many events",
                              NGX_HTTP_ADMISSION_BOUND_RETRY
                              + ngx_random() % NGX_HTTP_ADMISSION_BOUND_SPREAD);
}


ngx_uint_t
ngx_http_admission_queue_bound_named(ngx_http_admission_api_call_t *call)
{
    ngx_http_admission_main_conf_t  *mcf;

    mcf = ngx_http_get_module_main_conf(call->request,
                                        ngx_http_admission_module);

    return ngx_http_admission_event_is_named(mcf, &call->event);
}


static void
ngx_http_admission_queue_bound_count(ngx_http_admission_api_call_t *call,
    const char *what)
{
    u_char                           text[128];
    ngx_http_admission_main_conf_t  *mcf;

    if (!ngx_http_admission_unlisted_refused(call->bound)) {
        return;
    }

    switch (call->bound) {

    case NGX_HTTP_ADMISSION_BOUND_USER:
        ngx_sprintf(text, "a user is in %d already%Z",
                    NGX_HTTP_ADMISSION_UNLISTED_USER);
        break;

    case NGX_HTTP_ADMISSION_BOUND_ADDRESS:
        ngx_sprintf(text, "an address is in %d already%Z",
                    NGX_HTTP_ADMISSION_UNLISTED_ADDRESS);
        break;

    default: /* NGX_HTTP_ADMISSION_BOUND_EVENTS */

        mcf = ngx_http_get_module_main_conf(call->request,
                                            ngx_http_admission_module);

        ngx_sprintf(text, "\"unlisted=%L\" of them have users%Z",
                    mcf->event_default.unlisted);
        break;
    }

    ngx_log_error(NGX_LOG_WARN, call->request->connection->log, 0,
                  "admission: too many events without a line of their own: "
                  "%s, event \"%V\" refused%s", text, &call->event, what);
}


void
ngx_http_admission_queue_bound_told(ngx_http_admission_api_call_t *call,
    ngx_http_admission_queue_answer_t *answer)
{
    if (call->guest == NULL) {
        return;
    }

    if (answer->state == NGX_HTTP_ADMISSION_QUEUE_WAITING
        || answer->state == NGX_HTTP_ADMISSION_QUEUE_ACTIVE)
    {
        ngx_http_admission_unlisted_in(call->guest);

    } else {
        ngx_http_admission_unlisted_out(call->guest, 0);
    }
}


void
ngx_http_admission_queue_bound_failed(ngx_http_admission_api_call_t *call,
    ngx_uint_t sent)
{
    if (call->guest) {
        ngx_http_admission_unlisted_failed(call->guest, sent);
    }
}


/* with call->value it was a beacon: the page may come back */

void
ngx_http_admission_queue_bound_left(ngx_http_admission_api_call_t *call)
{
    ngx_http_admission_guest_t  guest;

    ngx_memzero(&guest, sizeof(ngx_http_admission_guest_t));

    guest.event = call->event;
    guest.user = call->who;

    ngx_http_admission_unlisted_out(&guest, call->value
                                            ? NGX_HTTP_ADMISSION_BEACON + 1000
                                            : 0);
}
