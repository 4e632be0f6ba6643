
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What answers say of a sale with times, and how requests are refused that
 * come too early or too late for it.
 */


#ifndef _NGX_ADM_HTTP_SALE_H_INCLUDED_
#define _NGX_ADM_HTTP_SALE_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../host/sale.h"


/*
 * What answers about an event end with: the phase, with opensIn or startsIn,
 * if its sale (of ngx_adm_sale_get()) has times, and an operator's notice (see
 * notice.h); as members of JSON, in r->pool.  NGX_ERROR: no memory.
 */
ngx_int_t ngx_adm_told_member(ngx_http_request_t *r, ngx_str_t *event,
    ngx_adm_sale_t *sale, ngx_str_t *member);

/* the same, from pool, in this language: NGX_ADM_LANG_* */
ngx_int_t ngx_adm_told_in(ngx_pool_t *pool, ngx_str_t *event,
    ngx_adm_sale_t *sale, ngx_uint_t lang, ngx_str_t *member);

/*
 * only the members about the phase, none if there are no times; and how many
 * bytes they have at most
 */
u_char *ngx_adm_sale_put(u_char *p, u_char *last, ngx_adm_sale_t *sale);

#define NGX_ADM_SALE_SIZE                                                     \
    (sizeof(",\"phase\":\"gathering\",\"startsIn\":") - 1 + NGX_INT64_LEN)

/*
 * 403 NOT_OPEN, or CLOSED, with these members, nextPoll, and redirectTo unless
 * the target is empty or NULL.  Returns what a content handler returns.
 */
ngx_int_t ngx_adm_sale_refuse(ngx_http_request_t *r, ngx_str_t *event,
    ngx_adm_event_conf_t *conf, ngx_uint_t closed, ngx_str_t *target);

/* {"phase":...,"opens":...,"starts":...,"closes":...,"setBy":...}, or null */
ngx_int_t ngx_adm_sale_json(ngx_pool_t *pool, ngx_adm_sale_t *sale,
    ngx_str_t *json);

/* as below, for a sale that is still to open, or to start */
ngx_uint_t ngx_adm_sale_poll_ahead(ngx_adm_sale_t *sale, ngx_uint_t poll,
    int64_t people);

/*
 * s until the next poll of somebody who would come again in so many s because
 * of the people before.  Until the sale starts all have to hear if its time is
 * moved, and not all in the second in which it starts; people: about how many
 * they are.
 */
static ngx_inline ngx_uint_t
ngx_adm_sale_next_poll(ngx_adm_sale_t *sale, ngx_uint_t poll, int64_t people)
{
    return sale->rest ? ngx_adm_sale_poll_ahead(sale, poll, people) : poll;
}

/*
 * The same before the sale has opened, when nobody has counted the people: by
 * how many come to this host.  For those who ask alone.
 */
ngx_uint_t ngx_adm_sale_early_poll(ngx_str_t *event, ngx_adm_sale_t *sale);


#endif /* _NGX_ADM_HTTP_SALE_H_INCLUDED_ */
