
/*
 * Copyright (C) 2026 the admission module authors
 *
 * All events with their numbers: those of the configuration, and others that
 * the host has heard of.  Answered from the host's memory, without Redis.
 *
 * There may be many thousands.  They are looked at a few at a time, so that
 * nobody waits long for the zone's lock, and only those that come first in the
 * order asked for are kept.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../base/text.h"
#include "../host/event_view.h"
#include "../host/standby.h"
#include "../host/streams.h"
#include "../host/view.h"
#include "../http/follow.h"
#include "../http/notice.h"
#include "../http/operator.h"
#include "../http/respond.h"
#include "../http/sale.h"
#include "admin_list.h"
#include "draw_api.h"


#define NGX_ADM_LIST_LIMIT  100
#define NGX_ADM_LIST_MAX    500      /* about 300 KB of JSON */
#define NGX_ADM_LIST_CHUNK  64       /* under one lock: as long as it takes
                                        to note a script's answer */

/* members of an event, after its id and info */
#define NGX_ADM_LIST_FORMAT                                                   \
    "{\"eventId\":\"%V\",\"eventInfo\":%V,\"vwr\":\"%s\",\"isActive\":%s,"    \
    "\"nextPosition\":%L,\"servingCounter\":%L,\"waiting\":%L,"               \
    "\"there\":%L,\"rate\":%L,"                                              \
    "\"configuredRate\":%L,\"activation\":%L,\"setBy\":%s,"                   \
    "\"queueSize\":%L,\"currentUsers\":%L,\"threshold\":%L,"                  \
    "\"configuredThreshold\":%L,\"available\":%L,\"admitted\":%L,"            \
    "\"restoring\":%L,\"notice\":%V,\"schedule\":%V%V"

/* members where there is a view of the line, a draw, an end of seats */
#define NGX_ADM_LIST_VIEW   ",\"viewAge\":%L"
#define NGX_ADM_LIST_DRAW   ",\"draw\":%V"
#define NGX_ADM_LIST_SEATS                                                    \
    ",\"slots\":%L,\"configuredSlots\":%N,\"sold\":%N"

#define NGX_ADM_LIST_SIZE                                                     \
    (sizeof(NGX_ADM_LIST_FORMAT) + sizeof(NGX_ADM_LIST_SEATS)                 \
     + sizeof(NGX_ADM_LIST_VIEW) + sizeof(NGX_ADM_LIST_DRAW)                  \
     + 18 * NGX_INT64_LEN + NGX_ADM_STANDBY_MEMBER + NGX_ADM_ROOM_COME        \
     + sizeof("standby") + sizeof("false") + sizeof("\"config\""))


typedef struct {
    ngx_adm_event_view_t          view;
    ngx_adm_event_conf_t   *conf;
    int64_t                 busy;
    ngx_str_t               notice;  /* JSON: the languages told, */
    ngx_str_t               schedule;    /* these members, */
    ngx_str_t               backend;     /* these members, */
    ngx_str_t               draw;        /* these, or empty */
} ngx_adm_listed_t;


/* what the API set, or else the configuration */
#define ngx_adm_list_rate(l)                                                  \
    ((l)->view.room.api_rate >= 0 ? (l)->view.room.api_rate                   \
                                  : (l)->conf->vwr_rate)

#define ngx_adm_list_threshold(l)                                             \
    ((l)->view.state.threshold >= 0 ? (int64_t) (l)->view.state.threshold     \
                                    : (l)->conf->threshold)


typedef struct {
    ngx_adm_main_conf_t    *mcf;

    /* of the request; empty: not asked for */
    ngx_str_t               find;
    ngx_str_t               after;
    ngx_uint_t              limit;
    unsigned                by_id:1;

    ngx_adm_listed_t      **kept;    /* in order; one more than limit, the last
                                        is spare */
    ngx_uint_t              nkept;
    ngx_uint_t              total;   /* that fit the question */
} ngx_adm_list_t;


static ngx_int_t ngx_adm_list_args(ngx_http_request_t *r, ngx_adm_list_t *list);
static ngx_int_t ngx_adm_list_make(ngx_pool_t *pool, ngx_adm_list_t *list);
static void ngx_adm_list_configured(ngx_adm_list_t *list);
static ngx_int_t ngx_adm_list_known(ngx_pool_t *pool, ngx_adm_list_t *list);
static void ngx_adm_list_add(ngx_adm_list_t *list, ngx_adm_event_view_t *view,
    ngx_adm_event_conf_t *conf);
static ngx_uint_t ngx_adm_list_wants(ngx_adm_list_t *list,
    ngx_adm_event_view_t *view, ngx_adm_event_conf_t *conf);
static ngx_uint_t ngx_adm_list_has(ngx_str_t *text, ngx_str_t *part);
static ngx_int_t ngx_adm_list_compare(ngx_adm_list_t *list, int64_t busy,
    ngx_adm_event_view_t *view, ngx_adm_listed_t *listed);
static ngx_int_t ngx_adm_list_answer(ngx_adm_api_call_t *call,
    ngx_adm_list_t *list);
static ngx_int_t ngx_adm_list_told(ngx_adm_api_call_t *call,
    ngx_adm_listed_t *listed);
static u_char *ngx_adm_list_event(u_char *p, u_char *last,
    ngx_adm_listed_t *listed);


ngx_int_t
ngx_adm_admin_list(ngx_adm_api_call_t *call)
{
    ngx_int_t             rc;
    ngx_http_request_t   *r;
    ngx_adm_list_t        list;

    r = call->request;

    rc = ngx_adm_operator(call);
    if (rc != NGX_DECLINED) {
        return rc;
    }

    rc = ngx_http_discard_request_body(r);
    if (rc != NGX_OK) {
        return rc;
    }

    ngx_memzero(&list, sizeof(ngx_adm_list_t));

    list.mcf = ngx_http_get_module_main_conf(r, ngx_http_admission_module);

    rc = ngx_adm_list_args(r, &list);
    if (rc != NGX_DECLINED) {
        return rc;
    }

    if (ngx_adm_list_make(r->pool, &list) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    ngx_adm_list_configured(&list);

    if (ngx_adm_list_known(r->pool, &list) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return ngx_adm_list_answer(call, &list);
}


/* NGX_DECLINED: the arguments are right */

static ngx_int_t
ngx_adm_list_args(ngx_http_request_t *r, ngx_adm_list_t *list)
{
    ngx_int_t  rc, limit;
    ngx_str_t  value;

    limit = NGX_ADM_LIST_LIMIT;

    rc = ngx_adm_arg(r, "limit", &value);

    if (rc == NGX_ERROR) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (rc == NGX_OK) {
        limit = ngx_atoi(value.data, value.len);
    }

    if (limit < 1 || limit > NGX_ADM_LIST_MAX) {
        return ngx_adm_respond_error(r, NGX_HTTP_BAD_REQUEST, "INVALID_LIMIT",
                                     "limit= must be a number from 1 to 500",
                                     NULL);
    }

    list->limit = limit;

    rc = ngx_adm_arg(r, "after", &list->after);

    if (rc == NGX_ERROR || ngx_adm_arg(r, "find", &list->find) == NGX_ERROR) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    list->by_id = (rc == NGX_OK);

    if (list->after.len
        && ngx_adm_event_id(&list->after, list->after.data)
           != NGX_OK)
    {
        return ngx_adm_respond_error(r, NGX_HTTP_BAD_REQUEST, "INVALID_EVENT",
                                     "after= is not an event id", NULL);
    }

    return NGX_DECLINED;
}


static ngx_int_t
ngx_adm_list_make(ngx_pool_t *pool, ngx_adm_list_t *list)
{
    ngx_uint_t         i;
    ngx_adm_listed_t  *listed;

    list->kept = ngx_palloc(pool,
                            (list->limit + 1) * sizeof(ngx_adm_listed_t *));
    listed = ngx_palloc(pool, (list->limit + 1) * sizeof(ngx_adm_listed_t));

    if (list->kept == NULL || listed == NULL) {
        return NGX_ERROR;
    }

    for (i = 0; i <= list->limit; i++) {
        list->kept[i] = &listed[i];
    }

    return NGX_OK;
}


/* adds events of the configuration, whether anybody has come or not */

static void
ngx_adm_list_configured(ngx_adm_list_t *list)
{
    ngx_rbtree_t                     *events;
    ngx_rbtree_node_t                *node;
    ngx_adm_event_view_t         view;
    ngx_adm_event_conf_t  *conf;

    events = &list->mcf->events;

    if (events->root == events->sentinel) {
        return;
    }

    for (node = ngx_rbtree_min(events->root, events->sentinel);
         node;
         node = ngx_rbtree_next(events, node))
    {
        conf = (ngx_adm_event_conf_t *) node;

        ngx_adm_event_view_get(&conf->sn.str, &view);
        ngx_adm_list_add(list, &view, conf);
    }
}


/* adds others that the host has heard of and that are events here */

static ngx_int_t
ngx_adm_list_known(ngx_pool_t *pool, ngx_adm_list_t *list)
{
    ngx_str_t                         id;
    ngx_uint_t                        i, n;
    ngx_adm_event_view_t        *views, last, *after;
    ngx_adm_event_conf_t  *conf, *dflt;

    views = ngx_palloc(pool, NGX_ADM_LIST_CHUNK * sizeof(ngx_adm_event_view_t));
    if (views == NULL) {
        return NGX_ERROR;
    }

    after = NULL;
    dflt = &list->mcf->event_default;

    do {
        n = ngx_adm_event_view_next(after, views, NGX_ADM_LIST_CHUNK);

        for (i = 0; i < n; i++) {
            id.len = views[i].len;
            id.data = views[i].id;

            conf = ngx_adm_event_conf(list->mcf, &id);

            if (conf == NULL && views[i].room.activation) {
                conf = dflt;
            }

            if (conf == dflt) {
                ngx_adm_list_add(list, &views[i], conf);
            }
        }

        if (n) {
            last = views[n - 1];
            after = &last;
        }

    } while (n == NGX_ADM_LIST_CHUNK);

    return NGX_OK;
}


static void
ngx_adm_list_add(ngx_adm_list_t *list, ngx_adm_event_view_t *view,
    ngx_adm_event_conf_t *conf)
{
    int64_t             busy;
    ngx_uint_t          first, last, middle;
    ngx_adm_listed_t   *spare, **kept;

    if (!ngx_adm_list_wants(list, view, conf)) {
        return;
    }

    list->total++;

    busy = view->room.active + view->state.size + view->state.active
           + ngx_max(view->room.next - view->room.serving, 0);

    kept = list->kept;

    first = 0;
    last = list->nkept;

    /* most of many thousands come after the last one kept */

    if (last == list->limit
        && ngx_adm_list_compare(list, busy, view, kept[last - 1])
           > 0)
    {
        return;
    }

    while (first < last) {
        middle = (first + last) / 2;

        if (ngx_adm_list_compare(list, busy, view, kept[middle]) < 0) {
            last = middle;

        } else {
            first = middle + 1;
        }
    }

    spare = kept[list->nkept];

    ngx_memmove(&kept[first + 1], &kept[first],
                (list->nkept - first) * sizeof(ngx_adm_listed_t *));

    kept[first] = spare;

    spare->view = *view;
    spare->conf = conf;
    spare->busy = busy;

    if (list->nkept < list->limit) {
        list->nkept++;
    }
}


static ngx_uint_t
ngx_adm_list_wants(ngx_adm_list_t *list, ngx_adm_event_view_t *view,
    ngx_adm_event_conf_t *conf)
{
    ngx_str_t  id;

    id.len = view->len;
    id.data = view->id;

    if (list->after.len
        && ngx_memn2cmp(id.data, list->after.data, id.len, list->after.len)
           <= 0)
    {
        return 0;
    }

    return list->find.len == 0
           || ngx_adm_list_has(&id, &list->find)
           || ngx_adm_list_has(&conf->title, &list->find)
           || ngx_adm_list_has(&conf->artist, &list->find);
}


/* upper and lower case of ASCII are the same here */

static ngx_uint_t
ngx_adm_list_has(ngx_str_t *text, ngx_str_t *part)
{
    size_t  i;

    for (i = 0; i + part->len <= text->len; i++) {

        if (ngx_strncasecmp(text->data + i, part->data, part->len) == 0) {
            return 1;
        }
    }

    return 0;
}


/* less than 0: the event comes before the listed one */

static ngx_int_t
ngx_adm_list_compare(ngx_adm_list_t *list, int64_t busy,
    ngx_adm_event_view_t *view, ngx_adm_listed_t *listed)
{
    if (!list->by_id && busy != listed->busy) {
        return busy > listed->busy ? -1 : 1;
    }

    return ngx_memn2cmp(view->id, listed->view.id, view->len, listed->view.len);
}


static ngx_int_t
ngx_adm_list_answer(ngx_adm_api_call_t *call, ngx_adm_list_t *list)
{
    size_t              size;
    u_char             *p, *last;
    int64_t             age;
    ngx_str_t           body, id;
    ngx_uint_t          i;
    ngx_adm_listed_t  **kept;

    kept = list->kept;

    size = sizeof("{\"events\":[],\"total\":,\"age\":null,\"streams\":,"
                  "\"next\":\"\"}")
           + 3 * NGX_INT64_LEN + NGX_ADM_EVENT_MAX;

    for (i = 0; i < list->nkept; i++) {

        if (ngx_adm_list_told(call, kept[i]) != NGX_OK) {
            return NGX_HTTP_INTERNAL_SERVER_ERROR;
        }

        size += NGX_ADM_LIST_SIZE + kept[i]->view.len + kept[i]->conf->info.len
                + kept[i]->notice.len + kept[i]->schedule.len
                + kept[i]->backend.len + kept[i]->draw.len;
    }

    body.data = ngx_pnalloc(call->request->pool, size);
    if (body.data == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    last = body.data + size;
    p = ngx_adm_put(body.data, last, "{\"events\":[");

    for (i = 0; i < list->nkept; i++) {

        if (i) {
            *p++ = ',';
        }

        p = ngx_adm_list_event(p, last, kept[i]);
    }

    p = ngx_adm_put(p, last, "],\"total\":%ui", list->total);

    /* s, rounded down, since the view is brought up to date twice a second */

    age = ngx_adm_event_view_age();

    p = ngx_adm_put(p, last, ",\"age\":%N", age < 0 ? -1 : age / 1000000);

    p = ngx_adm_put(p, last, ",\"streams\":%ui", ngx_adm_streams_open());

    if (list->by_id && list->total > list->nkept) {
        id.len = kept[list->nkept - 1]->view.len;
        id.data = kept[list->nkept - 1]->view.id;

        p = ngx_adm_put(p, last, ",\"next\":\"%V\"", &id);
    }

    p = ngx_adm_put(p, last, "}");

    body.len = p - body.data;

    return ngx_adm_respond_json(call->request, NGX_HTTP_OK, &body);
}


static ngx_int_t
ngx_adm_list_told(ngx_adm_api_call_t *call, ngx_adm_listed_t *listed)
{
    ngx_str_t         id;
    ngx_uint_t        made;
    ngx_pool_t       *pool;
    ngx_adm_sale_t    sale;
    ngx_adm_notice_t  notice;

    pool = call->request->pool;

    id.len = listed->view.len;
    id.data = listed->view.id;

    (void) ngx_adm_sale_get(&id, listed->conf, &sale);

    if (ngx_adm_follow_members(pool, &id, listed->conf,
                               ngx_adm_list_rate(listed),
                               ngx_adm_list_threshold(listed),
                               &listed->backend) != NGX_OK
        || ngx_adm_sale_json(pool, &sale, &listed->schedule) != NGX_OK)
    {
        return NGX_ERROR;
    }

    ngx_str_null(&listed->draw);

    if (ngx_adm_draw_is(&listed->view.room, listed->conf)
        && ngx_adm_draw_json(pool, call->lcf, &id, listed->conf,
                             &listed->view.room, &listed->draw, &made)
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    if (ngx_adm_notice_get(&id, &notice) != NGX_OK) {
        notice.at = 0;
    }

    return ngx_adm_notice_json(pool, &notice, &listed->notice);
}


static u_char *
ngx_adm_list_event(u_char *p, u_char *last, ngx_adm_listed_t *listed)
{
    int64_t                 threshold, n;
    ngx_int_t               age;
    ngx_str_t               id;
    const char             *set_by;
    ngx_adm_room_t         *room;
    ngx_adm_event_conf_t   *conf;
    ngx_adm_event_state_t  *state;

    /* by NGX_ADM_OFF, _ON, _AUTO, _STANDBY */
    static const char  *modes[] = { "off", "on", "auto", "standby" };

    conf = listed->conf;
    room = &listed->view.room;
    state = &listed->view.state;

    id.len = listed->view.len;
    id.data = listed->view.id;

    threshold = ngx_adm_list_threshold(listed);
    n = (state->slots >= 0) ? state->slots : conf->slots;

    set_by = "null";

    if (room->activation) {
        set_by = room->by_config ? "\"config\"" : "\"api\"";
    }

    p = ngx_adm_put(p, last, NGX_ADM_LIST_FORMAT "%s",
               &id, &conf->info, modes[conf->vwr],
               room->active ? "true" : "false", room->next, room->serving,
               ngx_max(room->next - room->serving, 0), listed->view.there,
               ngx_adm_list_rate(listed),
               conf->vwr_rate, room->activation, set_by,
               (int64_t) state->size, (int64_t) state->active, threshold,
               conf->threshold, ngx_max(threshold - state->active, 0),
               state->admitted, (int64_t) (listed->view.restore + 999) / 1000,
               &listed->notice, &listed->schedule, &listed->backend,
               ngx_adm_standby_member(&id, conf));

    p = ngx_adm_room_come(p, last, room);

    age = ngx_adm_view_age(&id);

    if (age >= 0) {
        p = ngx_adm_put(p, last, NGX_ADM_LIST_VIEW, (int64_t) age / 1000);
    }

    if (n >= 0) {
        p = ngx_adm_put(p, last, NGX_ADM_LIST_SEATS, n, conf->slots,
                        (int64_t) state->sold);
    }

    if (listed->draw.len) {
        p = ngx_adm_put(p, last, NGX_ADM_LIST_DRAW, &listed->draw);
    }

    return ngx_adm_put(p, last, "}");
}


u_char *
ngx_adm_room_come(u_char *p, u_char *last, ngx_adm_room_t *room)
{
    if (!room->active || room->shows <= 0) {
        return p;
    }

    return ngx_adm_put(p, last, ",\"comePercent\":%L", room->shows / 10);
}
