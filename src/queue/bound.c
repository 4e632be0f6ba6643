
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Joins of events that have no line of their own are bounded, since anybody
 * may have made their ids up: see unlisted.h.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../base/address.h"
#include "../host/event_state.h"
#include "../http/respond.h"
#include "bound.h"


#define NGX_ADM_BOUND_RETRY   30     /* s until users come again, and */
#define NGX_ADM_BOUND_SPREAD  10     /* s more at most, so that they do not
                                        come together */


static void ngx_adm_queue_bound_count(ngx_adm_api_call_t *call,
    ngx_adm_bound_e bound, const char *what);


ngx_int_t
ngx_adm_queue_bound(ngx_adm_api_call_t *call, ngx_adm_queue_guest_t *guest,
    ngx_adm_queue_ask_t *ask)
{
    ngx_uint_t            empty;
    ngx_http_request_t   *r;
    ngx_adm_bound_e       bound;

    r = call->request;

    ngx_memzero(guest, sizeof(ngx_adm_queue_guest_t));

    if (call->conf->sn.str.len) {
        /* the event has a line of its own */
        return NGX_DECLINED;
    }

    guest->user.event = call->event;
    guest->user.user = call->who;

    /* behind a proxy on this machine all clients would have one address */

    if (r->connection->sockaddr->sa_family != AF_UNIX
        && ngx_adm_address(r, NGX_ADM_IPV6_PREFIX, &guest->user.address)
           != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    guest->unlisted = 1;

    /* of those who would join, REPORT lets in only who has a place */

    if (ask->mode != NGX_ADM_QUEUE_CHECK) {
        return NGX_DECLINED;
    }

    empty = 0;

    bound = ngx_adm_unlisted_join(&guest->user, call->lcf->dry_run, &empty);

    if (bound == NGX_ADM_BOUND_NONE) {
        return NGX_DECLINED;
    }

    if (call->lcf->dry_run) {
        ngx_adm_queue_bound_count(call, bound, ", dry run");

        return NGX_DECLINED;
    }

    guest->bound = bound;

    /*
     * whoever may be in, or may have been before a loss of data, is asked
     * about
     */

    if (!empty || ask->entry || ask->nplaces) {
        ask->mode = NGX_ADM_QUEUE_REPORT;

        return NGX_DECLINED;
    }

    return ngx_adm_queue_over(call, guest);
}


ngx_int_t
ngx_adm_queue_over(ngx_adm_api_call_t *call, ngx_adm_queue_guest_t *guest)
{
    ngx_adm_queue_bound_count(call, guest->bound, "");

    return ngx_adm_respond_retry(call->request,
                                 NGX_HTTP_SERVICE_UNAVAILABLE,
                                 "TOO_MANY_EVENTS", "Too many events",
                                 NGX_ADM_BOUND_RETRY
                                 + ngx_random() % NGX_ADM_BOUND_SPREAD);
}


void
ngx_adm_queue_bound_note(ngx_adm_queue_guest_t *guest,
    ngx_adm_queue_answer_t *answer)
{
    if (!guest->unlisted) {
        return;
    }

    if (answer->state == NGX_ADM_QUEUE_WAITING
        || answer->state == NGX_ADM_QUEUE_ACTIVE
        || answer->state == NGX_ADM_QUEUE_READY)
    {
        ngx_adm_unlisted_in(&guest->user);

    } else {
        ngx_adm_unlisted_out(&guest->user, 0);
    }
}


static void
ngx_adm_queue_bound_count(ngx_adm_api_call_t *call, ngx_adm_bound_e bound,
    const char *what)
{
    u_char                text[128];
    ngx_adm_main_conf_t  *mcf;

    if (!ngx_adm_unlisted_refused(bound)) {
        return;
    }

    switch (bound) {

    case NGX_ADM_BOUND_USER:
        ngx_sprintf(text, "a user is in %d already%Z", NGX_ADM_UNLISTED_USER);
        break;

    case NGX_ADM_BOUND_ADDRESS:
        ngx_sprintf(text, "an address is in %d already%Z",
                    NGX_ADM_UNLISTED_ADDRESS);
        break;

    default: /* NGX_ADM_BOUND_EVENTS */

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
