
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The phase of a sale in answers, and the answers to requests that come too
 * early or too late for it.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../base/crowd.h"
#include "../base/rfc3339.h"
#include "../base/text.h"
#include "../host/room_state.h"
#include "notice.h"
#include "respond.h"
#include "sale.h"


#define NGX_ADM_SALE_POLL    2           /* s, of so many people */
#define NGX_ADM_SALE_PEOPLE  20000


static ngx_int_t ngx_adm_sale_member(ngx_pool_t *pool, ngx_adm_sale_t *sale,
    ngx_str_t *notice, ngx_str_t *member);
static u_char *ngx_adm_sale_time(u_char *p, int64_t us);


ngx_int_t
ngx_adm_told_member(ngx_http_request_t *r, ngx_str_t *event,
    ngx_adm_sale_t *sale, ngx_str_t *member)
{
    ngx_str_t  notice;

    if (ngx_adm_notice_member(r, event, &notice) != NGX_OK) {
        return NGX_ERROR;
    }

    return ngx_adm_sale_member(r->pool, sale, &notice, member);
}


ngx_int_t
ngx_adm_told_in(ngx_pool_t *pool, ngx_str_t *event, ngx_adm_sale_t *sale,
    ngx_uint_t lang, ngx_str_t *member)
{
    ngx_str_t  notice;

    if (ngx_adm_notice_in(pool, event, lang, &notice) != NGX_OK) {
        return NGX_ERROR;
    }

    return ngx_adm_sale_member(pool, sale, &notice, member);
}


static ngx_int_t
ngx_adm_sale_member(ngx_pool_t *pool, ngx_adm_sale_t *sale, ngx_str_t *notice,
    ngx_str_t *member)
{
    u_char  *p, *last;
    size_t   size;

    *member = *notice;

    if (sale->phase == NGX_ADM_PHASE_NONE) {
        return NGX_OK;
    }

    size = NGX_ADM_SALE_SIZE + notice->len;

    p = ngx_pnalloc(pool, size);
    if (p == NULL) {
        return NGX_ERROR;
    }

    member->data = p;
    last = p + size;

    p = ngx_adm_sale_put(p, last, sale);
    p = ngx_adm_put(p, last, "%V", notice);

    member->len = p - member->data;

    return NGX_OK;
}


u_char *
ngx_adm_sale_put(u_char *p, u_char *last, ngx_adm_sale_t *sale)
{
    if (sale->phase == NGX_ADM_PHASE_NONE) {
        return p;
    }

    p = ngx_adm_put(p, last, ",\"phase\":\"%V\"",
                    &ngx_adm_phase_names[sale->phase]);

    switch (sale->phase) {

    case NGX_ADM_PHASE_BEFORE:
        return ngx_adm_put(p, last, ",\"opensIn\":%L", sale->rest);

    case NGX_ADM_PHASE_GATHERING:
        return ngx_adm_put(p, last, ",\"startsIn\":%L", sale->rest);

    default:
        return p;
    }
}


ngx_int_t
ngx_adm_sale_refuse(ngx_http_request_t *r, ngx_str_t *event,
    ngx_adm_event_conf_t *conf, ngx_uint_t closed, ngx_str_t *target)
{
    u_char               *last;
    size_t                size;
    ngx_str_t             member, to, more;
    ngx_uint_t            poll;
    ngx_adm_room_t        room;
    ngx_adm_sale_t        sale;
    ngx_adm_main_conf_t  *mcf;

    if (conf == NULL) {
        mcf = ngx_http_get_module_main_conf(r, ngx_http_admission_module);
        conf = ngx_adm_event_conf(mcf, event);
    }

    /* tickets may be given out already: lots, or of a sale that was moved */

    (void) ngx_adm_sale_get(event, conf, &sale);
    (void) ngx_adm_room_get(event, &room);

    poll = ngx_adm_room_next_poll(ngx_max(room.next - room.serving, 0));
    poll = ngx_max(ngx_adm_sale_next_poll(&sale, poll, room.next),
                   NGX_ADM_SALE_POLL);

    if (sale.phase == NGX_ADM_PHASE_BEFORE) {
        poll = ngx_max(ngx_adm_sale_early_poll(event, &sale), poll);
    }

    ngx_str_null(&to);

    if (ngx_adm_told_member(r, event, &sale, &member) != NGX_OK
        || (target && target->len
            && ngx_adm_json_string(r->pool, target, &to) != NGX_OK))
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    size = sizeof("\"nextPoll\":,\"redirectTo\":") - 1 + NGX_INT64_LEN + to.len
           + member.len;

    more.data = ngx_pnalloc(r->pool, size);
    if (more.data == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    last = more.data + size;

    more.len = ngx_adm_put(more.data, last, "\"nextPoll\":%ui%s%V%V", poll,
                           to.len ? ",\"redirectTo\":" : "", &to, &member)
               - more.data;

    if (closed) {
        return ngx_adm_respond_error(r, NGX_HTTP_FORBIDDEN, "CLOSED",
                                     "The sale is closed", &more);
    }

    return ngx_adm_respond_error(r, NGX_HTTP_FORBIDDEN, "NOT_OPEN",
                                 "The sale is not open yet", &more);
}


ngx_int_t
ngx_adm_sale_json(ngx_pool_t *pool, ngx_adm_sale_t *sale, ngx_str_t *json)
{
    u_char  *p;

    if (sale->phase == NGX_ADM_PHASE_NONE && !sale->set) {
        ngx_str_set(json, "null");
        return NGX_OK;
    }

    p = ngx_pnalloc(pool, sizeof("{\"phase\":\"gathering\",\"opens\":,"
                                 "\"starts\":,\"closes\":,"
                                 "\"setBy\":\"config\"}") - 1
                          + 3 * (NGX_ADM_RFC3339_LEN + sizeof("\"\"") - 1));
    if (p == NULL) {
        return NGX_ERROR;
    }

    json->data = p;

    if (sale->phase == NGX_ADM_PHASE_NONE) {
        p = ngx_cpymem(p, "{\"phase\":null", sizeof("{\"phase\":null") - 1);

    } else {
        p = ngx_sprintf(p, "{\"phase\":\"%V\"",
                        &ngx_adm_phase_names[sale->phase]);
    }

    p = ngx_cpymem(p, ",\"opens\":", sizeof(",\"opens\":") - 1);
    p = ngx_adm_sale_time(p, sale->opens);
    p = ngx_cpymem(p, ",\"starts\":", sizeof(",\"starts\":") - 1);
    p = ngx_adm_sale_time(p, sale->starts);
    p = ngx_cpymem(p, ",\"closes\":", sizeof(",\"closes\":") - 1);
    p = ngx_adm_sale_time(p, sale->closes);
    p = ngx_sprintf(p, ",\"setBy\":\"%s\"}", sale->set ? "api" : "config");

    json->len = p - json->data;

    return NGX_OK;
}


static u_char *
ngx_adm_sale_time(u_char *p, int64_t us)
{
    if (us == 0) {
        return ngx_cpymem(p, "null", sizeof("null") - 1);
    }

    *p++ = '"';
    p = ngx_adm_rfc3339_put(p, us);
    *p++ = '"';

    return p;
}


ngx_uint_t
ngx_adm_sale_poll_ahead(ngx_adm_sale_t *sale, ngx_uint_t poll, int64_t people)
{
    if (people <= NGX_ADM_SALE_PEOPLE) {
        return NGX_ADM_SALE_POLL;
    }

    if (poll <= NGX_ADM_SALE_POLL || sale->rest >= (int64_t) poll) {
        return poll;
    }

    return sale->rest + 1 + ngx_random() % poll;
}


ngx_uint_t
ngx_adm_sale_early_poll(ngx_str_t *event, ngx_adm_sale_t *sale)
{
    ngx_uint_t        wait, rate;
    ngx_core_conf_t  *ccf;

    static ngx_adm_crowd_t  crowds[NGX_ADM_CROWDS];

    ccf = (ngx_core_conf_t *) ngx_get_conf(ngx_cycle->conf_ctx,
                                           ngx_core_module);

    rate = NGX_ADM_SALE_PEOPLE / NGX_ADM_SALE_POLL
           / ngx_max(ccf->worker_processes, 1);

    wait = ngx_adm_crowd_wait(crowds,
                              ngx_murmur_hash2(event->data, event->len),
                              ngx_current_msec, ngx_max(rate, 1));

    return ngx_adm_sale_next_poll(sale, wait, wait > NGX_ADM_SALE_POLL
                                              ? NGX_ADM_SALE_PEOPLE + 1 : 0);
}
