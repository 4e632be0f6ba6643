
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What is known of an event's queue, and how an answer changes that.  Answers
 * of several workers may be noted out of order.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/clock.h"
#include "event_node.h"
#include "event_state.h"
#include "event_work.h"
#include "tally.h"
#include "unlisted.h"


static ngx_uint_t ngx_adm_event_take_state_locked(ngx_adm_zone_t *zone,
    ngx_adm_event_node_t *en, ngx_adm_event_state_t *state,
    ngx_adm_event_now_t *now);


void
ngx_adm_event_get(ngx_str_t *id, ngx_adm_event_state_t *state,
    ngx_adm_event_now_t *now)
{
    ngx_adm_event_node_t  *en;

    ngx_adm_zone_lock(ngx_adm_zone);

    en = ngx_adm_event_lookup_locked(ngx_adm_zone, id);

    if (en) {
        *state = en->state;
        now->restore = ngx_adm_event_restore_locked(en);
        now->named = ngx_adm_event_is_set_locked(en);
        now->idle = ngx_adm_ms_since(en->busy);
        now->unmarked = ngx_adm_event_unmarked_locked(en);

    } else {
        ngx_memzero(state, sizeof(ngx_adm_event_state_t));
        ngx_memzero(now, sizeof(ngx_adm_event_now_t));
        now->unmarked = 1;
        state->threshold = -1;
        state->slots = -1;
        state->sold = -1;
    }

    now->life = ngx_adm_zone->sh->life;

    ngx_adm_zone_unlock(ngx_adm_zone);
}


ngx_uint_t
ngx_adm_event_note(ngx_str_t *id, ngx_adm_event_state_t *state,
    ngx_adm_event_now_t *now, ngx_uint_t work, ngx_adm_heard_t *heard,
    ngx_adm_tally_t *tally)
{
    int64_t                clear, since;
    ngx_uint_t             news;
    ngx_adm_zone_t        *zone;
    ngx_adm_event_node_t  *en;

    news = 0;
    zone = ngx_adm_zone;

    ngx_adm_zone_lock(zone);

    /* an event of which nothing is to be known gets no node */

    en = (state->epoch || state->threshold >= 0 || state->slots >= 0
          || state->sold > 0)
         ? ngx_adm_event_make_locked(zone, id)
         : ngx_adm_event_lookup_locked(zone, id);

    if (en && state->epoch == 0) {

        /* without data there is only what was set, and sold */

        if (en->state.epoch == 0) {
            en->state.threshold = state->threshold;
            en->state.slots = state->slots;
            en->state.sold = ngx_max(en->state.sold, state->sold);
            ngx_adm_unlisted_locked(zone, en);
        }

    } else if (en) {

        ngx_adm_event_mend_locked(en);

        clear = ngx_max(en->state.clear, state->clear);
        since = en->state.revoked;

        /* what the host asked with may have been forgotten since */

        if (heard && heard->life == zone->sh->life) {
            since = ngx_max(since, state->revoked);
            en->heard |= heard->all;
        }

        if (state->stored >= en->state.stored) {
            news = ngx_adm_event_take_state_locked(zone, en, state, now);

        } else if (!en->unsold) {
            en->state.sold = ngx_max(en->state.sold, state->sold);
        }

        en->state.clear = clear;
        en->state.revoked = since;

        if (tally) {
            en->untold = 1;
        }

        if (ngx_adm_event_tell_locked(en)) {
            news |= NGX_ADM_NEWS_TELL;
        }

        if (work) {
            ngx_adm_event_work_locked(zone, en, state->size > 0, now->ends);
        }
    }

    if (tally) {
        ngx_adm_tally_locked(zone, en, tally);
    }

    ngx_adm_zone_unlock(zone);

    ngx_log_debug8(NGX_LOG_DEBUG_HTTP, ngx_cycle->log, 0,
                   "admission: event \"%V\": epoch %L, %L wait, %L in, "
                   "threshold %L, clock %L, stored %L, news %ui",
                   id, state->epoch, (int64_t) state->size,
                   (int64_t) state->active, (int64_t) state->threshold,
                   state->clock, state->stored, news);

    return news;
}


static ngx_uint_t
ngx_adm_event_take_state_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en,
    ngx_adm_event_state_t *state, ngx_adm_event_now_t *now)
{
    ngx_uint_t  news;

    news = 0;

    /* scripts of the waiting room may have told of a later clock */

    state->clock = ngx_max(state->clock, en->state.clock);

    if (state->epoch != en->state.epoch) {

        /* with the data went the list that tells other hosts of the event */

        en->marked = 0;

        if (en->state.epoch) {
            news |= NGX_ADM_NEWS_LOST;
        }
    }

    if (en->restoring != (now->restore != 0)) {
        en->restoring = (now->restore != 0);
        news |= en->restoring ? NGX_ADM_NEWS_RESTORE : NGX_ADM_NEWS_RESTORED;
    }

    if (now->unsold && !en->unsold) {
        news |= NGX_ADM_NEWS_UNSOLD;
    }

    /* unknown stays unknown, even if some were sold since the loss */

    state->sold = now->unsold ? -1 : ngx_max(en->state.sold, state->sold);

    ngx_adm_sum_locked(zone, en, -1);

    en->state = *state;
    en->unsold = now->unsold;
    en->restore = (uint32_t) (ngx_current_msec + now->restore);
    en->full = (u_char) now->full;
    en->synced = (uint32_t) ngx_current_msec;

    ngx_adm_sum_locked(zone, en, 1);
    ngx_adm_unlisted_locked(zone, en);
    ngx_adm_name_locked(zone, en);

    return news;
}


void
ngx_adm_event_empty(ngx_str_t *id)
{
    ngx_adm_zone_t        *zone;
    ngx_adm_event_node_t  *en;

    zone = ngx_adm_zone;

    ngx_adm_zone_lock(zone);

    en = ngx_adm_event_lookup_locked(zone, id);

    if (en) {
        ngx_adm_sum_locked(zone, en, -1);

        en->state.size = 0;
        en->state.active = 0;

        ngx_adm_sum_locked(zone, en, 1);
        ngx_adm_unlisted_locked(zone, en);
    }

    ngx_adm_zone_unlock(zone);
}


ngx_adm_seats_e
ngx_adm_event_seats(ngx_str_t *id, ngx_adm_event_conf_t *conf)
{
    ngx_adm_event_now_t    now;
    ngx_adm_event_state_t  state;

    ngx_adm_event_get(id, &state, &now);

    return ngx_adm_seats(conf, state.slots, state.sold, state.active);
}


ngx_uint_t
ngx_adm_event_is_named(ngx_adm_main_conf_t *mcf, ngx_str_t *event)
{
    ngx_uint_t             named;
    ngx_adm_zone_t        *zone;
    ngx_adm_event_node_t  *en;

    if (ngx_adm_event_line(mcf, event)) {
        return 1;
    }

    zone = ngx_adm_zone;

    if (zone == NULL) {
        /* a log that asks for the event, where nothing uses the module */
        return 0;
    }

    ngx_adm_zone_lock(zone);

    en = ngx_adm_event_lookup_locked(zone, event);

    named = (en && ngx_adm_event_is_set_locked(en));

    ngx_adm_zone_unlock(zone);

    return named;
}
