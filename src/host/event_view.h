
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What a host knows of its events, both tiers together, for those who look
 * at all of them.
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
    ngx_msec_t             restore;  /* for how long data is still being
                                        restored */
    ngx_adm_room_t         room;     /* as room_get() says */
    int64_t                there;    /* who waits in it and is there */
    size_t                 len;
    u_char                 id[NGX_ADM_EVENT_MAX];
} ngx_adm_event_view_t;


/* one event; of one that is not known all is 0, but for what is not set */
void ngx_adm_event_view_get(ngx_str_t *id, ngx_adm_event_view_t *view);

/*
 * The next events, max at most, after the one that *after is (NULL: from the
 * first on), in no order that means anything; returns how many.  Between two
 * calls events may come and go.
 */
ngx_uint_t ngx_adm_event_view_next(ngx_adm_event_view_t *after,
    ngx_adm_event_view_t *views, ngx_uint_t max);

/* us since all of it was last brought up to date by Redis; -1: never was */
int64_t ngx_adm_event_view_age(void);


#endif /* _NGX_ADM_HOST_EVENT_VIEW_H_INCLUDED_ */
