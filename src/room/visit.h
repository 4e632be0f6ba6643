
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Somebody comes to a waiting room, by the API or by a page: becomes a visitor
 * if need be, keeps the ticket shown if that counts, and gets one otherwise.
 */


#ifndef _NGX_ADM_ROOM_VISIT_H_INCLUDED_
#define _NGX_ADM_ROOM_VISIT_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../http/api.h"
#include "../http/intake.h"
#include "ticket.h"


typedef struct ngx_adm_visit_s  ngx_adm_visit_t;

/*
 * rc NGX_OK: visitor, ticket and standing are set, with the tokens of the
 * first two, and the answer has their cookies.  NGX_DECLINED: the waiting room
 * is inactive.  NGX_AGAIN: it takes no more, as "full" says (NGX_ADM_LINE_*).
 * NGX_BUSY: Redis did not answer.  NGX_ABORT: the address is over its rate,
 * until intake.retry.  NGX_HTTP_UNAUTHORIZED: here a lot belongs to a user,
 * and the request has none.  NGX_ERROR: no memory.
 *
 * Returns what a content handler returns.
 */
typedef ngx_int_t (*ngx_adm_visit_pt)(ngx_adm_visit_t *visit, ngx_int_t rc);

struct ngx_adm_visit_s {
    ngx_adm_api_call_t   *call;      /* request, event and conf */
    ngx_adm_visit_pt      done;
    void                 *data;      /* for done */

    ngx_str_t             uid;       /* of the ticket, or empty */
    ngx_str_t             user;      /* who has the lot, or empty */
    ngx_msec_t            deadline;  /* of all calls to Redis */
    ngx_adm_intake_t      intake;    /* of a new ticket */

    ngx_adm_claims_t     *visitor;   /* vis, exp, token */
    ngx_adm_claims_t     *ticket;
    ngx_adm_standing_t    standing;
    ngx_uint_t            full;

    unsigned              made:1;    /* the visitor is new */
    unsigned              looked:1;
    unsigned              committed:1;  /* asked to commit to the draw */
};


/*
 * Runs visit->done, before it returns or later, unless the client goes.  The
 * caller sets call, done, data, uid, deadline, and kind and conf of intake,
 * and zeroes the rest; visit is in the request's pool.  Returns what a content
 * handler returns.
 *
 * A visitor who is admitted gets the token by ngx_adm_visit_token().
 */
ngx_int_t ngx_adm_visit(ngx_adm_visit_t *visit);

/*
 * Sets visit->user, and uid to the same, where each user has one lot.
 * NGX_HTTP_UNAUTHORIZED: the request has no user; NGX_ERROR: no memory.
 * ngx_adm_visit() does it, too.
 */
ngx_int_t ngx_adm_visit_user(ngx_adm_visit_t *visit);

/*
 * Signs the tier 1 token of a visit that was NGX_OK and is admitted, and sets
 * its cookie.  NGX_DECLINED: the session is over; NGX_ERROR: no memory.
 */
ngx_int_t ngx_adm_visit_token(ngx_adm_visit_t *visit, ngx_str_t *token);


#endif /* _NGX_ADM_ROOM_VISIT_H_INCLUDED_ */
