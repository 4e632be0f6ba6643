
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What host/view.h has is told as Redis would tell it, by the place that was
 * shown: it stays the one that Redis gave out, so that whatever happened since
 * is later than it.  A place that is old gets a new one, from Redis.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/clock.h"
#include "../base/counter.h"
#include "../host/view.h"
#include "beat.h"
#include "view.h"


#define NGX_ADM_VIEW_PLACE  43200        /* s that a place is good for yet, at
                                            least */


ngx_int_t
ngx_adm_queue_view(ngx_adm_queue_ask_t *ask, ngx_adm_queue_answer_t *answer)
{
    ngx_uint_t           i;
    ngx_adm_view_t       view;
    ngx_adm_claims_t    *place, *best;
    ngx_adm_view_who_t   who;

    if (ask->nplaces == 0
        || ask->entry
        || ask->mode == NGX_ADM_QUEUE_RESTORE)
    {
        return NGX_DECLINED;
    }

    best = NULL;
    who.key = ngx_adm_view_key(&ask->event, &ask->user);

    for (i = 0; i < ask->nplaces; i++) {
        place = ask->places[i];

        /* by the lowest score that counts: whether one does Redis may know */

        if (place->exp - ngx_adm_now() < NGX_ADM_VIEW_PLACE) {
            return NGX_DECLINED;
        }

        if (best && place->score >= best->score) {
            place = best;
        }

        who.score = place->score;
        who.at = ask->places[i]->at;
        who.epoch = ask->places[i]->epoch;

        if (ngx_adm_view_poll(&ask->event, &who, &view) != NGX_OK
            || view.head)
        {
            return NGX_DECLINED;
        }

        best = place;
    }

    if (ngx_adm_beat(&ask->event, ask->conf, &ask->user, best,
                     ask->mode == NGX_ADM_QUEUE_AWAY) != NGX_OK)
    {
        return NGX_DECLINED;
    }

    ngx_adm_count(NGX_ADM_COUNT_VIEW_POLLS);

    ngx_memzero(answer, sizeof(ngx_adm_queue_answer_t));

    answer->state = NGX_ADM_QUEUE_WAITING;
    answer->position = view.position;
    answer->size = view.size;
    answer->active = view.active;
    answer->threshold = view.threshold;
    answer->slots = view.slots;
    answer->sold = view.sold;
    answer->rate = view.rate;
    answer->now = ngx_adm_now_us();
    answer->place = best;

    return NGX_OK;
}
