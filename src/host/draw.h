
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What belongs to the draw of a sale besides its numbers, which are the room's
 * (event.h): the commitment, the source of the beacon and its value.  A few
 * events have a draw; Redis keeps these once they are known, and hosts bring
 * back what it lost.
 */


#ifndef _NGX_ADM_HOST_DRAW_H_INCLUDED_
#define _NGX_ADM_HOST_DRAW_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "../token/claims.h"
#include "../token/draw.h"
#include "event.h"
#include "record.h"


extern ngx_adm_record_t  ngx_adm_draw_record;


/* order= of an event, as scripts have it */
#define NGX_ADM_ORDER_ARRIVAL  0
#define NGX_ADM_ORDER_DRAW     1
#define NGX_ADM_ORDER_BEACON   2


/*
 * What became of a call of the script, of which "to" has the activation, and
 * its commitment, by a key of the caller's, and its beacon where it has them.
 */
typedef enum {
    NGX_ADM_DRAW_TOLD = 0,       /* what stands, of a look */
    NGX_ADM_DRAW_SET,            /* the value */
    NGX_ADM_DRAW_NONE,           /* there is no draw */
    NGX_ADM_DRAW_NO_BEACON,      /* which waits for one */
    NGX_ADM_DRAW_NOT_COUNTED,    /* the lots are */
    NGX_ADM_DRAW_OTHER           /* another value stands */
} ngx_adm_draw_result_e;


/* of an activation; what is empty is not known */
typedef struct {
    int64_t         activation;
    int64_t         committed;   /* us, Redis's time */
    int64_t         of;          /* the draw that the beacon belongs to: us, as
                                    drawn of the room */
    u_short         commitment;  /* bytes: none, or all of them */
    u_short         source;
    u_short         beacon;
    u_short         result;      /* of an answer: ngx_adm_draw_result_e */
    u_char          commitment_text[NGX_ADM_DRAW_SIZE];
    u_char          source_text[NGX_ADM_DRAW_SOURCE_MAX];
    u_char          beacon_text[NGX_ADM_DRAW_BEACON_MAX];
} ngx_adm_drawn_t;


/* order of an event, by its line */
#define ngx_adm_order(conf)                                                   \
    ((conf)->order != NGX_ADM_ORDER_DRAW ? NGX_ADM_ORDER_ARRIVAL              \
     : (conf)->draw_beacon.len ? NGX_ADM_ORDER_BEACON : NGX_ADM_ORDER_DRAW)

/*
 * Whether a room's lots are counted, as a later answer of Redis than that said
 * again, and whether all that makes the draw is there, likewise.
 */
ngx_uint_t ngx_adm_draw_counted(ngx_adm_room_t *room);
ngx_uint_t ngx_adm_draw_ready(ngx_adm_room_t *room);

/* what the host knows of the activation; all is 0 if that is nothing */
void ngx_adm_draw_known(ngx_str_t *event, int64_t activation,
    ngx_adm_drawn_t *drawn);

/*
 * What the token of a drawn lot says of its draw, verified: the host, and by it
 * Redis, has the draw again if both lost it.  Of two the earlier stands.
 */
void ngx_adm_draw_heard(ngx_str_t *event, ngx_adm_claims_t *claims,
    ngx_msec_t session_max);

#endif /* _NGX_ADM_HOST_DRAW_H_INCLUDED_ */
