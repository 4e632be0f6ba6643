
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What makes something new, a ticket or a visitor, is charged to the address
 * that asks: assign_rate= of admission_vwr_api, visitor_rate= of
 * admission_queue_api.  What is shown, repeated, refused or failed is free.
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
    ngx_uint_t               retry;      /* s, of a refusal */
    unsigned                 full:1;     /* as _look() found */
    unsigned                 charged:1;
} ngx_adm_intake_t;


/*
 * Charges the address: NGX_OK, and _end() says what came of it; NGX_DECLINED:
 * it is over its rate, as log, metrics and ctx say, and is to be told so by
 * ngx_adm_respond_limited() or a page; NGX_ERROR: no memory.  In a
 * dry run nobody is declined.
 */
ngx_int_t ngx_adm_intake(ngx_http_request_t *r, ngx_adm_ctx_t *ctx,
    ngx_str_t *event, ngx_adm_intake_t *in);

/*
 * Whether it would be declined now, as NGX_OK, NGX_DECLINED or NGX_ERROR;
 * NGX_DECLINED: the charge will be, whatever room there is by then.
 */
ngx_int_t ngx_adm_intake_look(ngx_http_request_t *r, ngx_adm_intake_t *in);

/*
 * made 0: nothing was made, and the charge is taken back.  Where the client
 * goes while it waits nobody calls this: the charge stays, since what was asked
 * for is made all the same.
 */
void ngx_adm_intake_end(ngx_adm_intake_t *in, ngx_uint_t made);


#endif /* _NGX_ADM_HTTP_INTAKE_H_INCLUDED_ */
