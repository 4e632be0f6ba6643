
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What a host knows of its events, both tiers together, for those who look
 * at all of them.
 *
 * Every function takes and releases the zone's lock itself, briefly.
 */


#ifndef _NGX_HTTP_ADMISSION_VIEW_H_INCLUDED_
#define _NGX_HTTP_ADMISSION_VIEW_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_admission_room.h"
#include "ngx_http_admission_zone.h"


typedef struct {
    ngx_http_admission_event_state_t  state;
    ngx_msec_t                        restore;  /* for how long data is still
                                                   being restored */
    ngx_http_admission_room_t         room;     /* as room_get() says */
    size_t                            len;
    u_char                            id[NGX_HTTP_ADMISSION_EVENT_MAX];
} ngx_http_admission_view_t;


/* one event; of one that is not known all is 0, but for what is not set */
void ngx_http_admission_view_get(ngx_str_t *id,
    ngx_http_admission_view_t *view);

/*
 * The next events, max at most, after the one that *after is (NULL: from the
 * first on), in no order that means anything; returns how many.  Between two
 * calls events may come and go.
 */
ngx_uint_t ngx_http_admission_view_next(ngx_http_admission_view_t *after,
    ngx_http_admission_view_t *views, ngx_uint_t max);

/* us since all of it was last brought up to date by Redis; -1: never was */
int64_t ngx_http_admission_view_age(void);


#endif /* _NGX_HTTP_ADMISSION_VIEW_H_INCLUDED_ */
