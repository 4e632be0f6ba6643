
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What belongs to the draw of a sale besides its numbers, which are the room's
 * (event.h): the commitment, and the source and value of the beacon.  Few
 * events have a draw.  Once these are known Redis keeps them, and hosts give
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


/* order= of an event, in force; numbers as in scripts */
#define NGX_ADM_ORDER_ARRIVAL  0
#define NGX_ADM_ORDER_DRAW     1
#define NGX_ADM_ORDER_BEACON   2


/*
 * What a call of the script did.  "to" has the activation and, where the
 * caller has them, its commitment, by a key of its own, and its beacon.
 */
typedef enum {
    NGX_ADM_DRAW_TOLD = 0,       /* a look: what stands */
    NGX_ADM_DRAW_SET,            /* the value was set */
    NGX_ADM_DRAW_NONE,           /* there is no draw */
    NGX_ADM_DRAW_NO_BEACON,      /* which waits for one */
    NGX_ADM_DRAW_NOT_COUNTED,    /* lots are not counted */
    NGX_ADM_DRAW_OTHER           /* another value stands */
} ngx_adm_draw_result_e;


/* parts of the draw of an activation; those that are empty are not known */
typedef struct {
    int64_t         activation;
    int64_t         committed;   /* us, Redis's time */
    int64_t         of;          /* us: the draw that the beacon belongs to,
                                    as "drawn" of the room */
    u_short         commitment;  /* bytes: 0 or all */
    u_short         source;
    u_short         beacon;
    u_short         result;      /* of an answer: draw_result_e */
    u_char          commitment_text[NGX_ADM_DRAW_SIZE];
    u_char          source_text[NGX_ADM_DRAW_SOURCE_MAX];
    u_char          beacon_text[NGX_ADM_DRAW_BEACON_MAX];
} ngx_adm_drawn_t;


/* the order in force by the event's line */
#define ngx_adm_order(conf)                                                   \
    ((conf)->order != NGX_ADM_ORDER_DRAW ? NGX_ADM_ORDER_ARRIVAL              \
     : (conf)->draw_beacon.len ? NGX_ADM_ORDER_BEACON : NGX_ADM_ORDER_DRAW)

/*
 * Whether the lots of a room are counted, and whether all is there that makes
 * the draw: each only once a second, later answer of Redis has said so.
 */
ngx_uint_t ngx_adm_draw_counted(ngx_adm_room_t *room);
ngx_uint_t ngx_adm_draw_ready(ngx_adm_room_t *room);

/* what the host knows of an activation; all 0: nothing */
void ngx_adm_draw_known(ngx_str_t *event, int64_t activation,
    ngx_adm_drawn_t *drawn);

/*
 * What a drawn lot's token, verified, says of its draw: so the host, and then
 * Redis, have the draw again if both lost it.  Of two the earlier stands.
 */
void ngx_adm_draw_heard(ngx_str_t *event, ngx_adm_claims_t *claims,
    ngx_msec_t session_max);

#endif /* _NGX_ADM_HOST_DRAW_H_INCLUDED_ */
