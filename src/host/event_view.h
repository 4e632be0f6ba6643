
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What a host knows of its events, of both tiers together, for those who look
 * at all events.
 *
 * Every function takes and releases the zone's lock itself, briefly.
 */


#ifndef _NGX_ADM_HOST_EVENT_VIEW_H_INCLUDED_
#define _NGX_ADM_HOST_EVENT_VIEW_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "event.h"
#include "settings.h"


typedef struct {
    ngx_adm_event_state_t  state;
    ngx_msec_t             restore;  /* ms for which data is still being
                                        restored */
    ngx_adm_room_t         room;     /* as of ngx_adm_room_get() */
    int64_t                there;    /* how many wait in it and are there */
    size_t                 len;
    u_char                 id[NGX_ADM_EVENT_MAX];
} ngx_adm_event_view_t;


/*
 * a view of one event; if that is not known all is 0, but -1 where that means
 * that nothing is set, or known
 */
void ngx_adm_event_view_get(ngx_str_t *id, ngx_adm_event_view_t *view);

/*
 * The next events, max at most, after that of *after (NULL: from the first
 * on), in no meaningful order.  Returns how many.  Events may come and go
 * between calls.
 */
ngx_uint_t ngx_adm_event_view_next(ngx_adm_event_view_t *after,
    ngx_adm_event_view_t *views, ngx_uint_t max);

/* us since all of this was last brought up to date from Redis; -1: never */
int64_t ngx_adm_event_view_age(void);


#endif /* _NGX_ADM_HOST_EVENT_VIEW_H_INCLUDED_ */
