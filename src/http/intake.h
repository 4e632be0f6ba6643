
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Making something new, a ticket or a visitor, is charged to the address that
 * asks: assign_rate= of admission_vwr_api, visitor_rate= of
 * admission_queue_api.  What is shown again, repeated, refused or failed costs
 * nothing.
 */


#ifndef _NGX_ADM_HTTP_INTAKE_H_INCLUDED_
#define _NGX_ADM_HTTP_INTAKE_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../host/bucket.h"
#include "ctx.h"


/* the caller sets kind and conf, and zeroes the rest */
typedef struct {
    ngx_adm_intake_e         kind;
    ngx_adm_intake_conf_t   *conf;       /* NULL: off */

    ngx_str_t                address;
    ngx_uint_t               retry;      /* s, if refused */
    unsigned                 full:1;     /* found by _look() */
    unsigned                 charged:1;
} ngx_adm_intake_t;


/*
 * Charges the address.  NGX_OK: charged, and _end() has to follow.
 * NGX_DECLINED: it is over its rate, which log, metrics and ctx have been
 * told, and is to be told so by ngx_adm_respond_limited() or a page.
 * NGX_ERROR: no memory.  In a dry run nobody is declined.
 */
ngx_int_t ngx_adm_intake(ngx_http_request_t *r, ngx_adm_ctx_t *ctx,
    ngx_str_t *event, ngx_adm_intake_t *in);

/*
 * Whether an address would be charged now: NGX_OK, NGX_DECLINED or NGX_ERROR;
 * after NGX_DECLINED the charge itself will be declined whatever room there is
 * then.
 */
ngx_int_t ngx_adm_intake_look(ngx_http_request_t *r, ngx_adm_intake_t *in);

/*
 * Ends a charge; made 0: nothing was made, and it is taken back.  If the
 * client goes while it waits this is not called: the charge stays, since what
 * was asked for is made all the same.
 */
void ngx_adm_intake_end(ngx_adm_intake_t *in, ngx_uint_t made);


#endif /* _NGX_ADM_HTTP_INTAKE_H_INCLUDED_ */
