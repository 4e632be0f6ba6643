
/*
 * Copyright (C) 2026 the admission module authors
 *
 * How a user stands, for whoever looks again and again and is told of the turn
 * by that: of any line, also one that is all head.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "event_node.h"
#include "range.h"
#include "view.h"


#define NGX_ADM_VIEW_PACE  3000000       /* us between two views, at most */


ngx_int_t
ngx_adm_view_look(ngx_str_t *event, ngx_adm_view_who_t *who,
    ngx_adm_view_t *view)
{
    ngx_int_t              rc;
    ngx_adm_event_node_t  *en;

    ngx_adm_zone_lock(ngx_adm_zone);

    en = ngx_adm_event_lookup_locked(ngx_adm_zone, event);
    rc = ngx_adm_view_look_locked(ngx_adm_zone, en, who, view);

    ngx_adm_zone_unlock(ngx_adm_zone);

    return rc;
}


/* Somebody who was last is further ahead by those who were let in or left. */

void
ngx_adm_view_pace_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en,
    ngx_adm_view_news_t *was, ngx_adm_view_news_t *is)
{
    int64_t  us, passed, position;

    us = is->clock - was->clock;
    passed = is->admitted - was->admitted;

    if (en->held
        || was->npoints == 0
        || was->size == 0
        || is->threshold == 0
        || us <= 0
        || us > NGX_ADM_VIEW_PACE
        || passed < 0)
    {
        return;
    }

    position = is->npoints ? ngx_adm_view_position(is,
                                          was->points[was->npoints - 1])
                           : 0;

    if (position == 0) {

        /* the user has left its place, and so have all behind */

        position = is->size;
    }

    ngx_adm_range_note_locked(zone, en, NGX_ADM_RANGE_QUEUE, us, passed * 1000,
                              was->size - position - passed, was->size);
}
