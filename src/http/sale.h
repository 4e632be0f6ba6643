
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What answers say of a sale with a time, and how they refuse what it is too
 * early or too late for.
 */


#ifndef _NGX_ADM_HTTP_SALE_H_INCLUDED_
#define _NGX_ADM_HTTP_SALE_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../host/sale.h"


/*
 * What answers about an event end with: the phase with opensIn or startsIn, if
 * its sale (as of sale_get()) has times, and an operator's word (see notice.h),
 * as members of JSON, from r->pool.  NGX_ERROR: no memory.
 */
ngx_int_t ngx_adm_told_member(ngx_http_request_t *r, ngx_str_t *event,
    ngx_adm_sale_t *sale, ngx_str_t *member);

/* the same, from pool, in this language: NGX_ADM_LANG_* */
ngx_int_t ngx_adm_told_in(ngx_pool_t *pool, ngx_str_t *event,
    ngx_adm_sale_t *sale, ngx_uint_t lang, ngx_str_t *member);

/* the members of the phase alone, none if it has no times; and the bytes of
   them at most */
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

/*
 * s until the next poll of one who is to come again in so many s by the people
 * before: until it starts all are to hear of another time, and not all in the
 * second in which it does; people: how many there are, about.
 */
ngx_uint_t ngx_adm_sale_next_poll(ngx_adm_sale_t *sale, ngx_uint_t poll,
    int64_t people);

/* the same of an event that has not opened, whose people nobody counted: by how
   many come to this host; for those who ask alone */
ngx_uint_t ngx_adm_sale_early_poll(ngx_str_t *event, ngx_adm_sale_t *sale);


#endif /* _NGX_ADM_HTTP_SALE_H_INCLUDED_ */
