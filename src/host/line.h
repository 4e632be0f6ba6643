
/*
 * Copyright (C) 2026 the admission module authors
 *
 * A line that takes no more, or an event that is sold out, as a host knows it:
 * who would join is refused without asking Redis.  Not so somebody who may be
 * in the line, or inside, without showing that: the host keeps who is, as bits
 * of a filter that may name too many and leaves nobody out.  Steps of the
 * schedule tell who is there, and answers tell who has come.
 *
 * Every function takes and releases the zone's lock itself, briefly.
 */


#ifndef _NGX_ADM_HOST_LINE_H_INCLUDED_
#define _NGX_ADM_HOST_LINE_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "event_node.h"
#include "settings.h"
#include "zone.h"


/* why a line takes no more; numbers as in scripts */
#define NGX_ADM_LINE_OPEN  0
#define NGX_ADM_LINE_FULL  1             /* so many wait */
#define NGX_ADM_LINE_LONG  2             /* the wait would be too long */

/* for tickets only: the sale has not opened, or is closed */
#define NGX_ADM_LINE_BEFORE  3
#define NGX_ADM_LINE_CLOSED  4

/* for tickets only: the draw has to be committed to first */
#define NGX_ADM_LINE_UNCOMMITTED  5

/* s after which somebody who was refused may come again */
#define NGX_ADM_LINE_RETRY  30


/* what a step is to tell: members from these scores on; -1: none */
typedef struct {
    int64_t                     waiting;
    int64_t                     inside;
    ngx_uint_t                  round;          /* number of telling all */
} ngx_adm_line_scan_t;


extern ngx_adm_zone_part_t  ngx_adm_line_part;


/*
 * Whether a user who shows neither place nor entry token is refused, and why:
 * NGX_ADM_LINE_*. _OPEN: ask Redis, since the line may have room, the user may
 * be in it, or is one of those that are let through now and then.  Refusals
 * are counted.
 */
ngx_uint_t ngx_adm_line_refuses(ngx_str_t *event, ngx_str_t *user);

/*
 * Whether such a user is refused since all seats are sold.  That this has
 * changed is heard of from a step, or from one that is let through.
 */
ngx_uint_t ngx_adm_line_sold_refuses(ngx_str_t *event,
    ngx_adm_event_conf_t *conf, ngx_str_t *user);

/* whether somebody who would get a ticket of the waiting room is refused */
ngx_uint_t ngx_adm_line_room_refuses(ngx_str_t *event,
    ngx_adm_event_conf_t *conf);

/* the user waits, or is in */
void ngx_adm_line_add(ngx_str_t *event, ngx_str_t *user);

/*
 * _from(): sets what a step is to tell; _told(): what it told; more: not all
 * yet
 */
void ngx_adm_line_from(ngx_str_t *event, ngx_adm_line_scan_t *scan);
void ngx_adm_line_told(ngx_str_t *event, ngx_adm_line_scan_t *scan,
    ngx_uint_t more);


#endif /* _NGX_ADM_HOST_LINE_H_INCLUDED_ */
