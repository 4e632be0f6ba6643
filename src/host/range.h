
/*
 * Copyright (C) 2026 the admission module authors
 *
 * How the lines of an event went of late, of either tier, in the zone, and
 * what that means for those who wait in them.  An event has a node while
 * somebody waits.  Where the zone has no room for it, or the line has not gone
 * like this for long, the range is as wide as that calls for.
 */


#ifndef _NGX_ADM_HOST_RANGE_H_INCLUDED_
#define _NGX_ADM_HOST_RANGE_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/forecast.h"
#include "event_node.h"
#include "settings.h"


typedef enum {
    NGX_ADM_RANGE_ROOM = 0,
    NGX_ADM_RANGE_QUEUE,
    NGX_ADM_RANGES
} ngx_adm_range_e;


extern ngx_adm_zone_part_t  ngx_adm_range_part;


/*
 * as pace_note() of base/forecast.h; and: the line goes differently from now
 * on
 */
void ngx_adm_range_note_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en,
    ngx_adm_range_e which, int64_t us, int64_t passed, int64_t left,
    int64_t stood);
void ngx_adm_range_reset_locked(ngx_adm_zone_t *zone,
    ngx_adm_event_node_t *en, ngx_adm_range_e which);

/*
 * The range for the last of so many people. rate (1/1000 a second) is the rate
 * that is told of the line; of a room, people's own rate where that is known.
 * Both take the lock.
 */
void ngx_adm_range_room(ngx_str_t *event, int64_t rate, int64_t people,
    ngx_adm_range_t *range);
void ngx_adm_range_queue(ngx_str_t *event, int64_t rate, int64_t people,
    ngx_adm_range_t *range);

/*
 * Whether nobody is let in, whatever rate and threshold are: an operator holds
 * the event, or its backend stopped it.
 */
ngx_uint_t ngx_adm_range_stopped(ngx_str_t *event, ngx_adm_event_conf_t *conf,
    ngx_adm_range_e which);

/*
 * Members of JSON, without a comma at either end, null-terminated; range NULL:
 * there is no number to tell.
 */
#define NGX_ADM_RANGE_TEXT                                                    \
    (sizeof("\"estimatedWait\":,\"estimatedWaitRange\":[,]")                  \
     + 3 * NGX_INT64_LEN)

void ngx_adm_range_text(ngx_adm_range_t *range, u_char *text);


#endif /* _NGX_ADM_HOST_RANGE_H_INCLUDED_ */
