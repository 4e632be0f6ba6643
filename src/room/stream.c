
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Streams of the waiting room.  What all streams of an event have to tell is
 * looked up once a turn of the wheel.  A stream itself has no more than its
 * ticket, and sends Redis nothing.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../base/by_id.h"
#include "../base/clock.h"
#include "../host/event_state.h"
#include "../host/notice.h"
#include "../http/notice.h"
#include "../http/room.h"
#include "../stream/stream.h"
#include "stream.h"
#include "ticket.h"
#include "told.h"


/* what the streams of one event on this worker have in common */
typedef struct {
    ngx_str_node_t           sn;         /* str: the event */
    ngx_uint_t               streams;
    ngx_adm_event_conf_t    *conf;

    /* as of the last look, at ms */
    ngx_msec_t               looked;
    ngx_int_t                known;      /* NGX_OK: room is set */
    ngx_adm_room_t           room;
    ngx_adm_there_table_t    there;
    ngx_adm_seats_e          seats;
    ngx_adm_sale_t           sale;

    /* the notice of that version, by language */
    int64_t                  version;
    ngx_pool_t              *pool;       /* NULL: no notice */
    ngx_str_t                notice[NGX_ADM_LANG_EN + 1];
} ngx_adm_room_scene_t;


typedef struct {
    ngx_adm_room_scene_t    *scene;
    ngx_adm_loc_conf_t      *lcf;        /* whose keys sign, and draw */

    /* claims of the ticket */
    int64_t                  position;
    int64_t                  at;
    int64_t                  act;
    int64_t                  exp;
    u_short                  uid;        /* lengths of the texts */
    u_short                  vis;

    unsigned                 holder:1;
    unsigned                 away:1;
    unsigned                 admitted:1; /* as last told */
    unsigned                 lang:2;

    ngx_msec_t               told;       /* ms; 0: never */
    ngx_msec_t               heard;      /* ms; 0: never noted as there */
    int64_t                  ahead;      /* as last told; -1: never */
    uint32_t                 state;      /* hash of the last told, */
    uint32_t                 numbers;    /* hash of its numbers */

    u_char                   text[1];    /* uid and vis */
} ngx_adm_room_stream_t;


static ngx_adm_room_scene_t *ngx_adm_room_scene(ngx_adm_api_call_t *call);
static void ngx_adm_room_scene_look(ngx_adm_room_scene_t *scene);
static void ngx_adm_room_scene_notice(ngx_adm_room_scene_t *scene);
static void ngx_adm_room_scene_leave(ngx_adm_room_scene_t *scene);
static ngx_int_t ngx_adm_room_stream_look(ngx_adm_stream_t *s, void *data);
static void ngx_adm_room_stream_heard(ngx_adm_room_stream_t *rs,
    ngx_adm_standing_t *standing);
static ngx_uint_t ngx_adm_room_stream_due(ngx_adm_room_stream_t *rs,
    ngx_adm_standing_t *standing);
static ngx_int_t ngx_adm_room_stream_tell(ngx_adm_stream_t *s,
    ngx_adm_room_stream_t *rs, ngx_adm_claims_t *ticket,
    ngx_adm_standing_t *standing);
static ngx_int_t ngx_adm_room_stream_token(ngx_adm_room_stream_t *rs,
    ngx_adm_claims_t *ticket, ngx_adm_standing_t *standing, ngx_pool_t *pool,
    ngx_str_t *token);
static void ngx_adm_room_stream_gone(void *data, ngx_uint_t closed);


static const ngx_adm_stream_type_t  ngx_adm_room_stream_type = {
    NGX_ADM_TIER_1,
    ngx_adm_room_stream_look,
    ngx_adm_room_stream_gone };


static ngx_adm_by_id_t  ngx_adm_room_scenes;


ngx_int_t
ngx_adm_room_stream(ngx_adm_api_call_t *call, ngx_adm_claims_t *ticket,
    ngx_uint_t holder)
{
    u_char                 *p;
    ngx_int_t               rc;
    ngx_http_request_t     *r;
    ngx_adm_room_stream_t  *rs;

    r = call->request;

    rc = ngx_adm_stream_full(r);
    if (rc != NGX_DECLINED) {
        return rc;
    }

    rs = ngx_calloc(sizeof(ngx_adm_room_stream_t) + ticket->uid.len
                    + ticket->vis.len, r->connection->log);
    if (rs == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    rs->scene = ngx_adm_room_scene(call);
    if (rs->scene == NULL) {
        ngx_free(rs);
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    rs->lcf = call->lcf;
    rs->position = ticket->position;
    rs->at = ticket->at;
    rs->act = ticket->act;
    rs->exp = ticket->exp;
    rs->ahead = ngx_adm_told_before(r);
    rs->uid = (u_short) ticket->uid.len;
    rs->vis = (u_short) ticket->vis.len;
    rs->holder = (unsigned) holder;
    rs->away = (unsigned) ngx_adm_arg_flag(r, "away");
    rs->lang = (unsigned) ngx_adm_notice_lang(r);

    p = rs->text;

    if (ticket->uid.len) {
        p = ngx_cpymem(p, ticket->uid.data, ticket->uid.len);
    }

    if (ticket->vis.len) {
        ngx_memcpy(p, ticket->vis.data, ticket->vis.len);
    }

    return ngx_adm_stream_open(r, &ngx_adm_room_stream_type, rs);
}


static ngx_adm_room_scene_t *
ngx_adm_room_scene(ngx_adm_api_call_t *call)
{
    ngx_adm_room_scene_t  *scene;

    scene = ngx_adm_by_id_find(&ngx_adm_room_scenes, &call->event, 0);

    if (scene == NULL) {

        scene = ngx_calloc(sizeof(ngx_adm_room_scene_t) + call->event.len,
                           ngx_cycle->log);
        if (scene == NULL) {
            return NULL;
        }

        scene->conf = call->conf;
        scene->looked = ngx_current_msec - 1;

        ngx_adm_by_id_add(&ngx_adm_room_scenes, &scene->sn, &call->event, 0,
                          (u_char *) (scene + 1));
    }

    scene->streams++;

    return scene;
}


static void
ngx_adm_room_scene_look(ngx_adm_room_scene_t *scene)
{
    int64_t     version;
    ngx_str_t  *event;

    if (scene->looked == ngx_current_msec) {
        return;
    }

    scene->looked = ngx_current_msec;

    event = &scene->sn.str;

    scene->known = ngx_adm_room_get(event, &scene->room);

    ngx_adm_there_copy(event, &scene->there);

    (void) ngx_adm_sale_get(event, scene->conf, &scene->sale);

    if (ngx_adm_tier1_pending(event, scene->conf, &scene->room)) {
        scene->known = NGX_DECLINED;
    }

    scene->seats = ngx_adm_event_seats(event, scene->conf);

    version = ngx_adm_notice_version(event);

    if (version != scene->version) {
        ngx_adm_room_scene_notice(scene);
        scene->version = version;
    }
}


static void
ngx_adm_room_scene_notice(ngx_adm_room_scene_t *scene)
{
    ngx_uint_t  lang;

    if (scene->pool) {
        ngx_destroy_pool(scene->pool);
        scene->pool = NULL;
    }

    ngx_memzero(scene->notice, sizeof(scene->notice));

    scene->pool = ngx_create_pool(1024, ngx_cycle->log);

    if (scene->pool == NULL) {
        return;
    }

    for (lang = NGX_ADM_LANG_NONE; lang <= NGX_ADM_LANG_EN; lang++) {

        if (ngx_adm_notice_in(scene->pool, &scene->sn.str, lang,
                              &scene->notice[lang]) != NGX_OK)
        {
            ngx_str_null(&scene->notice[lang]);
        }
    }
}


static void
ngx_adm_room_scene_leave(ngx_adm_room_scene_t *scene)
{
    if (--scene->streams) {
        return;
    }

    ngx_adm_by_id_delete(&ngx_adm_room_scenes, &scene->sn);

    if (scene->pool) {
        ngx_destroy_pool(scene->pool);
    }

    ngx_adm_there_free(&scene->there);
    ngx_free(scene);
}


static ngx_int_t
ngx_adm_room_stream_look(ngx_adm_stream_t *s, void *data)
{
    ngx_adm_room_stream_t *rs = data;

    ngx_int_t              rc;
    ngx_adm_claims_t       ticket;
    ngx_adm_standing_t     standing;
    ngx_adm_room_scene_t  *scene;

    scene = rs->scene;

    if (rs->exp <= ngx_adm_now()) {
        return NGX_DONE;
    }

    ngx_adm_room_scene_look(scene);

    if (scene->known != NGX_OK) {
        return NGX_OK;
    }

    ngx_memzero(&ticket, sizeof(ngx_adm_claims_t));

    ticket.sub = scene->sn.str;
    ticket.uid.data = rs->text;
    ticket.uid.len = rs->uid;
    ticket.vis.data = rs->text + rs->uid;
    ticket.vis.len = rs->vis;
    ticket.position = rs->position;
    ticket.at = rs->at;
    ticket.act = rs->act;
    ticket.exp = rs->exp;

    standing.room = scene->room;

    rc = ngx_adm_ticket_stands(rs->lcf, &ticket, scene->conf, rs->holder,
                               &standing);

    if (rc == NGX_ERROR) {
        return NGX_OK;
    }

    if (rc != NGX_OK || (standing.admitted && !rs->holder)) {
        return NGX_DONE;
    }

    ngx_adm_ticket_count(&scene->sn.str, &scene->there, &standing);

    if (rs->holder) {
        ngx_adm_room_stream_heard(rs, &standing);
    }

    if (!ngx_adm_room_stream_due(rs, &standing)) {
        return NGX_OK;
    }

    return ngx_adm_room_stream_tell(s, rs, &ticket, &standing);
}


/* notes that the visitor is there, as often as a poll would */

static void
ngx_adm_room_stream_heard(ngx_adm_room_stream_t *rs,
    ngx_adm_standing_t *standing)
{
    ngx_uint_t  next;

    next = ngx_adm_room_next_poll(standing->ahead);

    if (rs->heard && ngx_current_msec - rs->heard < next * 1000) {
        return;
    }

    rs->heard = ngx_adm_mark_now();

    ngx_adm_ticket_heard(&rs->scene->sn.str, standing, next);
}


/*
 * A turn, or another state, is told at once.  Numbers change all the time:
 * they are told as fast as the worker can, and at least as often as to a poll.
 */

static ngx_uint_t
ngx_adm_room_stream_due(ngx_adm_room_stream_t *rs, ngx_adm_standing_t *standing)
{
    uint32_t               state, numbers;
    ngx_msec_t             passed;
    ngx_uint_t             next, due;
    ngx_adm_room_t        *room;
    ngx_adm_room_scene_t  *scene;
    struct {
        int64_t            version;
        int64_t            activation;
        int64_t            seats;
        int64_t            admitted;
        int64_t            paused;
        int64_t            phase;
        int64_t            opens;
        int64_t            starts;
        int64_t            position;
        int64_t            undrawn;
    } is;
    struct {
        int64_t            serving;
        int64_t            next;
        int64_t            rate;
        int64_t            measured;
        int64_t            ahead;
    } n;

    scene = rs->scene;
    room = &standing->room;

    is.version = scene->version;
    is.activation = room->activation;
    is.admitted = standing->admitted;
    is.seats = standing->admitted ? 0 : scene->seats;
    is.phase = scene->sale.phase;
    is.opens = scene->sale.opens;
    is.starts = scene->sale.starts;
    is.position = standing->position;
    is.undrawn = standing->undrawn;
    is.paused = !standing->admitted && ngx_adm_told_paused(room);

    n.serving = room->serving;
    n.next = room->next;
    n.rate = room->rate;
    n.measured = room->measured;
    n.ahead = standing->ahead;

    state = ngx_murmur_hash2((u_char *) &is, sizeof(is));
    numbers = ngx_murmur_hash2((u_char *) &n, sizeof(n));

    passed = ngx_current_msec - rs->told;
    next = ngx_adm_room_next_poll(standing->ahead);

    if (rs->told == 0 || standing->admitted > rs->admitted) {
        due = 1;

    } else if (state != rs->state) {
        due = (passed >= ngx_adm_stream_pace(1));

    } else if (standing->admitted) {
        /* a new token comes before the last one is of no use any more */
        due = (passed >= scene->conf->token_ttl / 2);

    } else {
        due = (numbers != rs->numbers && passed >= ngx_adm_stream_pace(next))
              || passed + NGX_ADM_STREAM_LOOK >= next * 1000;
    }

    if (due) {
        rs->state = state;
        rs->numbers = numbers;
    }

    return due;
}


static ngx_int_t
ngx_adm_room_stream_tell(ngx_adm_stream_t *s, ngx_adm_room_stream_t *rs,
    ngx_adm_claims_t *ticket, ngx_adm_standing_t *standing)
{
    size_t           size;
    u_char          *p;
    ngx_int_t        rc;
    ngx_pool_t      *pool;
    ngx_adm_told_t   told;

    ngx_memzero(&told, sizeof(ngx_adm_told_t));

    told.event = &rs->scene->sn.str;
    told.conf = rs->scene->conf;
    told.position = rs->position;
    told.standing = standing;
    told.seats = rs->scene->seats;
    told.sale = &rs->scene->sale;
    told.holder = rs->holder;
    told.notice = rs->scene->notice[rs->lang];

    ngx_adm_told_ahead(&told, rs->ahead);

    pool = NULL;
    rc = NGX_OK;

    if (standing->admitted && !rs->away) {

        pool = ngx_create_pool(1024, ngx_cycle->log);
        if (pool == NULL) {
            return NGX_OK;
        }

        rc = ngx_adm_room_stream_token(rs, ticket, standing, pool,
                                       &told.token);
    }

    if (rc == NGX_OK) {
        size = ngx_adm_told_size(&told);
        p = ngx_adm_stream_begin(s, size);

        if (p) {
            rs->told = ngx_current_msec ? ngx_current_msec : 1;
            rs->admitted = standing->admitted;
            rs->ahead = standing->undrawn ? -1 : told.ahead;

            ngx_adm_stream_tell(s, ngx_adm_told_put(p, p + size, &told));
        }
    }

    if (pool) {
        ngx_destroy_pool(pool);
    }

    return rc;
}


/* NGX_DONE: the session is over */

static ngx_int_t
ngx_adm_room_stream_token(ngx_adm_room_stream_t *rs, ngx_adm_claims_t *ticket,
    ngx_adm_standing_t *standing, ngx_pool_t *pool, ngx_str_t *token)
{
    ngx_adm_claims_t  claims, made;

    ngx_adm_ticket_claims(ticket, standing, &claims);

    if (ngx_adm_tier1_claims(rs->scene->conf, &claims, &made) != NGX_OK) {
        return NGX_DONE;
    }

    if (ngx_adm_token_sign(NGX_ADM_TOKEN_TIER1,
                           rs->lcf->verifiers[NGX_ADM_TOKEN_TIER1].keys,
                           &made, pool, token) != NGX_OK)
    {
        return NGX_AGAIN;
    }

    ngx_adm_ticket_came(ticket, rs->scene->conf, standing);

    return NGX_OK;
}


static void
ngx_adm_room_stream_gone(void *data, ngx_uint_t closed)
{
    ngx_adm_room_stream_t *rs = data;

    ngx_adm_room_scene_leave(rs->scene);
    ngx_free(rs);
}
