
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What answers say of a line that takes only so many, or only for so long:
 * whether one more may join, and who is there.  A join itself is decided in
 * lua/queue_refusal_lib.lua.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/clock.h"
#include "../host/event_work.h"
#include "../host/sale.h"
#include "../host/tally.h"
#include "../host/touch.h"
#include "../host/view.h"
#include "line.h"
#include "ngx_http_admission_names.h"


#define ngx_adm_queue_line_is(line)                                           \
    ((line)->max_queue >= 0 || (line)->max_wait || (line)->seats)


static ngx_uint_t ngx_adm_queue_line_full(ngx_adm_queue_line_t *line,
    ngx_adm_queue_reply_t *r);


void
ngx_adm_queue_line_step(ngx_adm_queue_line_t *line, ngx_str_t *event,
    ngx_adm_event_conf_t *conf, ngx_adm_args_t *args)
{
    ngx_adm_sale_t       sale;
    ngx_adm_line_scan_t  scan;

    scan.waiting = -1;
    scan.inside = -1;
    scan.round = 0;

    if (ngx_adm_queue_line_is(line)) {
        ngx_adm_line_from(event, &scan);
    }

    line->round = scan.round;

    args->number[NGX_ADM_ARG_QUEUE_STEP_WAITING] = scan.waiting;
    args->number[NGX_ADM_ARG_QUEUE_STEP_INSIDE] = scan.inside;

    ngx_adm_view_from(event, conf, &line->view);

    if (line->view.exact) {
        (void) ngx_adm_sale_get(event, conf, &sale);

        line->view.gathers = (sale.phase == NGX_ADM_PHASE_BEFORE
                              || sale.phase == NGX_ADM_PHASE_GATHERING);
    }

    args->number[NGX_ADM_ARG_QUEUE_STEP_VIEW] = line->view.exact;
    args->number[NGX_ADM_ARG_QUEUE_STEP_GONE] = line->view.since;
}


void
ngx_adm_queue_line_note(ngx_adm_queue_line_t *line, ngx_str_t *event,
    ngx_str_t *user, ngx_adm_queue_reply_t *r)
{
    size_t       i;
    ngx_str_t    member;
    redisReply  *members;

    if (!ngx_adm_queue_line_is(line)) {
        return;
    }

    members = r->members;

    if (members && r->scan.waiting >= 0) {

        for (i = 0; i < members->elements; i++) {
            member.len = members->element[i]->len;
            member.data = (u_char *) members->element[i]->str;

            ngx_adm_line_add(event, &member);
        }

        r->scan.round = line->round;
        ngx_adm_line_told(event, &r->scan, r->answer.more);
    }

    switch (r->answer.state) {

    case NGX_ADM_QUEUE_WAITING:
    case NGX_ADM_QUEUE_ACTIVE:
    case NGX_ADM_QUEUE_READY:

        if (user->len) {
            ngx_adm_line_add(event, user);
        }

        break;

    case NGX_ADM_QUEUE_FULL:
        ngx_adm_tally(event, NGX_ADM_TALLY_FULL, 1);
        break;

    case NGX_ADM_QUEUE_TOO_LONG:
        ngx_adm_tally(event, NGX_ADM_TALLY_LONG, 1);
        break;

    default:
        break;
    }

    r->now.full = ngx_adm_queue_line_full(line, r);
}


ngx_uint_t
ngx_adm_queue_line_sold(ngx_adm_queue_ask_t *ask)
{
    if ((ask->mode != NGX_ADM_QUEUE_CHECK && ask->mode != NGX_ADM_QUEUE_REPORT)
        || ask->unbound
        || ask->nplaces
        || ask->entry
        || ngx_adm_in_touch() == 0
        || ngx_adm_is_watchful())
    {
        return 0;
    }

    return ngx_adm_line_sold_refuses(&ask->event, ask->conf, &ask->user);
}


ngx_uint_t
ngx_adm_queue_line_refuses(ngx_adm_queue_ask_t *ask)
{
    if ((ask->conf->max_queue < 0 && ask->conf->max_wait == 0)
        || ask->unbound
        || ask->mode != NGX_ADM_QUEUE_CHECK
        || ask->nplaces
        || ask->entry
        || (ask->tier1 && ask->conf->max_wait))
    {
        return NGX_ADM_LINE_OPEN;
    }

    return ngx_adm_line_refuses(&ask->event, &ask->user);
}


void
ngx_adm_queue_line_view(ngx_adm_queue_line_t *line, ngx_str_t *event,
    ngx_str_t *user, ngx_adm_queue_reply_t *r)
{
    size_t                   i;
    int64_t                  time;
    ngx_str_t                who;
    ngx_adm_queue_answer_t  *answer;
    ngx_adm_view_news_t      news;

    static int64_t           points[NGX_ADM_VIEW_POINTS];
    static uint32_t          ranks[NGX_ADM_VIEW_SHARES];

    answer = &r->answer;

    if (user->len) {

        if (answer->state == NGX_ADM_QUEUE_ACTIVE
            || answer->state == NGX_ADM_QUEUE_READY)
        {
            ngx_adm_view_gone(event, user, answer->adm);

        } else if (answer->state == NGX_ADM_QUEUE_WAITING
                   && r->tally.n[NGX_ADM_TALLY_PLACES])
        {
            /* ahead of where the user's older places have it */

            ngx_adm_view_gone(event, user, answer->clock - 1);
        }
    }

    if (line->view.exact == 0 || r->told < 0) {
        return;
    }

    for (i = 0; i < r->gone->elements; i += 2) {
        who.len = r->gone->element[i]->len;
        who.data = (u_char *) r->gone->element[i]->str;

        time = r->gone->element[i + 1]->integer;

        if (!ngx_adm_is_far_ahead(time)) {
            ngx_adm_view_gone(event, &who, time);
        }
    }

    for (i = 0; i < r->points->elements; i++) {
        points[i] = r->points->element[i]->integer;
    }

    for (i = 0; i < r->ranks->elements; i++) {
        ranks[i] = (uint32_t) r->ranks->element[i]->integer;
    }

    news.told = r->told;
    news.clock = answer->clock;
    news.epoch = answer->epoch;
    news.admitted = r->state.admitted;
    news.size = answer->size;
    news.threshold = answer->threshold;
    news.rate = answer->rate;
    news.exact = r->exact;
    news.npoints = r->points->elements;
    news.points = points;
    news.ranks = ranks;

    ngx_adm_view_take(event, &line->view, &news);
}


/*
 * How long one who joins now, at the end, is told to wait; where nobody waits
 * the answer is none, since one may be let in at once.
 */

static ngx_uint_t
ngx_adm_queue_line_full(ngx_adm_queue_line_t *line, ngx_adm_queue_reply_t *r)
{
    int64_t                  wait;
    ngx_adm_queue_answer_t  *answer;

    answer = &r->answer;

    if (answer->state == NGX_ADM_QUEUE_FULL) {
        return NGX_ADM_LINE_FULL;
    }

    if (answer->state == NGX_ADM_QUEUE_TOO_LONG) {
        return NGX_ADM_LINE_LONG;
    }

    if (answer->size == 0
        && answer->active < answer->threshold
        && r->now.restore == 0)
    {
        return NGX_ADM_LINE_OPEN;
    }

    if (line->max_queue >= 0 && answer->size >= line->max_queue) {
        return NGX_ADM_LINE_FULL;
    }

    wait = ngx_adm_queue_estimate(answer->size + 1, answer->rate);

    return (line->max_wait && wait * 1000 > (int64_t) line->max_wait)
           ? NGX_ADM_LINE_LONG : NGX_ADM_LINE_OPEN;
}
