
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Streams of the queue.  Users who wait are told how they stand by the host's
 * view of the line, and are heard of together with those who poll it.  Where
 * the view does not know, Redis is asked as for a poll.  When the view says
 * that a user is not in line any more, Redis is asked for the entry token:
 * being told of one's turn is not yet coming.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../base/clock.h"
#include "../host/event_state.h"
#include "../host/notice.h"
#include "../host/view.h"
#include "../http/notice.h"
#include "../http/sale.h"
#include "../stream/stream.h"
#include "answer.h"
#include "beat.h"
#include "stream.h"
#include "told.h"


/* a user who may be let in by the next step is asked about at each look */
#define NGX_ADM_STREAM_HEAD    100

/*
 * times in a row that Redis is asked at once, when the view says that a user
 * has left its place in line
 */
#define NGX_ADM_STREAM_DOUBTS  3

/* s for which a place has to be good yet, or Redis is asked for a new one */
#define NGX_ADM_STREAM_PLACE   3600

/* s between heartbeats at least, where polls would be closer */
#define NGX_ADM_STREAM_BEAT    5

/*
 * ms, at least, of silence after which a user gives up what it has with its
 * stream
 */
#define NGX_ADM_STREAM_CLOSED  30000


typedef struct {
    ngx_adm_stream_t          *stream;   /* NULL: not open yet */
    ngx_adm_redis_call_t      *pending;
    ngx_adm_event_conf_t      *conf;
    ngx_adm_loc_conf_t        *lcf;
    ngx_adm_view_who_t         who;      /* score 0: no place */
    int64_t                    iat;      /* s, of this place */
    int64_t                    exp;
    int64_t                    end;      /* s, exp of the user's token; 0:
                                            there is none */

    ngx_msec_t                 asked;    /* ms, Redis last was */
    ngx_msec_t                 beat;     /* ms, the last one */
    ngx_msec_t                 told;
    ngx_msec_t                 life;     /* ms, of the last token */
    uint32_t                   state;    /* hashes of the last told */
    uint32_t                   numbers;

    u_char                     is;       /* ngx_adm_queue_state_e */
    u_char                     next;     /* s, as nextPoll */
    u_char                     doubts;
    unsigned                   away:1;
    unsigned                   near:1;
    unsigned                   lang:2;

    ngx_str_t                  event;
    ngx_str_t                  user;
    u_char                     text[1];  /* event and user */
} ngx_adm_queue_stream_t;


static ngx_adm_queue_stream_t *ngx_adm_queue_stream_make(
    ngx_adm_api_call_t *call);
static ngx_int_t ngx_adm_queue_stream_look(ngx_adm_stream_t *s, void *data);
static ngx_int_t ngx_adm_queue_stream_view(ngx_adm_queue_stream_t *qs);
static void ngx_adm_queue_stream_place(ngx_adm_queue_stream_t *qs,
    ngx_adm_claims_t *place);
static ngx_uint_t ngx_adm_queue_stream_due(ngx_adm_queue_stream_t *qs);
static void ngx_adm_queue_stream_ask(ngx_adm_queue_stream_t *qs);
static void ngx_adm_queue_stream_answered(void *data, ngx_int_t rc,
    ngx_adm_queue_answer_t *answer);
static void ngx_adm_queue_stream_take(ngx_adm_queue_stream_t *qs,
    ngx_adm_queue_answer_t *answer);
static void ngx_adm_queue_stream_tell(ngx_adm_queue_stream_t *qs,
    ngx_adm_queue_answer_t *answer);
static ngx_uint_t ngx_adm_queue_stream_news(ngx_adm_queue_stream_t *qs,
    ngx_adm_queue_answer_t *answer);
static void ngx_adm_queue_stream_gone(void *data, ngx_uint_t closed);


static const ngx_adm_stream_type_t  ngx_adm_queue_stream_type = {
    NGX_ADM_TIER_2,
    ngx_adm_queue_stream_look,
    ngx_adm_queue_stream_gone };


/* the answer with which the stream that is being opened begins */
static ngx_adm_queue_answer_t  *ngx_adm_queue_stream_first;


ngx_int_t
ngx_adm_queue_stream(ngx_adm_api_call_t *call, ngx_adm_queue_answer_t *answer)
{
    ngx_int_t                rc;
    ngx_adm_queue_stream_t  *qs;

    switch (answer->state) {

    case NGX_ADM_QUEUE_NOT_IN:
    case NGX_ADM_QUEUE_WAITING:
    case NGX_ADM_QUEUE_ACTIVE:
    case NGX_ADM_QUEUE_READY:
        break;

    default:
        return ngx_adm_queue_answer(call, answer);
    }

    /* others may have been opened while Redis was asked */

    rc = ngx_adm_stream_full(call->request);
    if (rc != NGX_DECLINED) {
        return rc;
    }

    qs = ngx_adm_queue_stream_make(call);
    if (qs == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    ngx_adm_queue_stream_first = answer;

    rc = ngx_adm_stream_open(call->request, &ngx_adm_queue_stream_type, qs);

    ngx_adm_queue_stream_first = NULL;

    return rc;
}


static ngx_adm_queue_stream_t *
ngx_adm_queue_stream_make(ngx_adm_api_call_t *call)
{
    ngx_adm_claims_t        *claims;
    ngx_adm_queue_stream_t  *qs;

    qs = ngx_calloc(sizeof(ngx_adm_queue_stream_t) + call->event.len
                    + call->who.len, call->request->connection->log);
    if (qs == NULL) {
        return NULL;
    }

    qs->event.len = call->event.len;
    qs->event.data = qs->text;
    ngx_memcpy(qs->event.data, call->event.data, call->event.len);

    qs->user.len = call->who.len;
    qs->user.data = qs->text + qs->event.len;
    ngx_memcpy(qs->user.data, call->who.data, call->who.len);

    qs->conf = call->conf;
    qs->lcf = call->lcf;
    qs->away = (unsigned) ngx_adm_arg_flag(call->request, "away");
    qs->lang = (unsigned) ngx_adm_notice_lang(call->request);

    qs->who.key = ngx_adm_view_key(&qs->event, &qs->user);

    qs->asked = ngx_current_msec;
    qs->beat = ngx_current_msec;

    claims = call->ctx->user.claims;

    if (claims && call->ctx->user_of->user->source == NGX_ADM_USER_JWT) {
        qs->end = claims->exp;
    }

    return qs;
}


static ngx_int_t
ngx_adm_queue_stream_look(ngx_adm_stream_t *s, void *data)
{
    ngx_adm_queue_stream_t *qs = data;

    ngx_int_t  rc;

    if (ngx_adm_queue_stream_first) {
        qs->stream = s;
        ngx_adm_queue_stream_take(qs, ngx_adm_queue_stream_first);
        return NGX_OK;
    }

    if (qs->end && qs->end <= ngx_adm_now()) {
        return NGX_DONE;
    }

    if (qs->pending) {
        return NGX_OK;
    }

    rc = NGX_AGAIN;

    if (qs->is == NGX_ADM_QUEUE_WAITING
        && qs->exp - ngx_adm_now() >= NGX_ADM_STREAM_PLACE)
    {
        rc = ngx_adm_queue_stream_view(qs);
    }

    if (rc == NGX_OK) {
        qs->doubts = 0;
        return NGX_OK;
    }

    if (rc == NGX_DECLINED && qs->doubts < NGX_ADM_STREAM_DOUBTS) {
        qs->doubts++;
        ngx_adm_queue_stream_ask(qs);

    } else if (ngx_adm_queue_stream_due(qs)) {
        ngx_adm_queue_stream_ask(qs);
    }

    return NGX_OK;
}


/* looks at the host's view; NGX_DECLINED, NGX_AGAIN: as ngx_adm_view_look() */

static ngx_int_t
ngx_adm_queue_stream_view(ngx_adm_queue_stream_t *qs)
{
    ngx_int_t                rc;
    ngx_uint_t               beat;
    ngx_adm_view_t           view;
    ngx_adm_claims_t         place;
    ngx_adm_queue_answer_t   answer;

    rc = ngx_adm_view_look(&qs->event, &qs->who, &view);
    if (rc != NGX_OK) {
        return rc;
    }

    ngx_adm_queue_stream_place(qs, &place);

    /* by a heartbeat a user takes no turn */

    beat = ngx_min(ngx_max(qs->next, NGX_ADM_STREAM_BEAT) * 1000,
                   qs->conf->seen_ttl / 3);

    if (ngx_current_msec - qs->beat >= beat
        && ngx_adm_beat(&qs->event, qs->conf, &qs->user, &place, 1) == NGX_OK)
    {
        qs->beat = ngx_current_msec;
    }

    ngx_memzero(&answer, sizeof(ngx_adm_queue_answer_t));

    answer.state = NGX_ADM_QUEUE_WAITING;
    answer.position = view.position;
    answer.size = view.size;
    answer.active = view.active;
    answer.threshold = view.threshold;
    answer.slots = view.slots;
    answer.sold = view.sold;
    answer.rate = view.rate;
    answer.now = ngx_adm_now_us();
    answer.place = &place;

    ngx_adm_queue_stream_take(qs, &answer);

    return NGX_OK;
}


static void
ngx_adm_queue_stream_place(ngx_adm_queue_stream_t *qs, ngx_adm_claims_t *place)
{
    ngx_memzero(place, sizeof(ngx_adm_claims_t));

    place->sub = qs->event;
    place->uid = qs->user;
    place->score = qs->who.score;
    place->at = qs->who.at;
    place->epoch = qs->who.epoch;
    place->iat = qs->iat;
    place->exp = qs->exp;
}


/*
 * whether to ask Redis: as often as for a poll, or more often for a user who
 * may be next
 */

static ngx_uint_t
ngx_adm_queue_stream_due(ngx_adm_queue_stream_t *qs)
{
    ngx_msec_t  passed;

    passed = ngx_current_msec - qs->asked + NGX_ADM_STREAM_LOOK / 2;

    return passed >= (qs->near ? NGX_ADM_STREAM_LOOK
                               : (ngx_msec_t) qs->next * 1000);
}


static void
ngx_adm_queue_stream_ask(ngx_adm_queue_stream_t *qs)
{
    ngx_adm_claims_t      place, *places[1];
    ngx_adm_queue_ask_t   ask;

    ngx_memzero(&ask, sizeof(ngx_adm_queue_ask_t));

    ask.event = qs->event;
    ask.conf = qs->conf;
    ask.user = qs->user;
    ask.mode = qs->away ? NGX_ADM_QUEUE_AWAY : NGX_ADM_QUEUE_STATUS;
    ask.looks = 1;

    if (qs->who.score) {
        ngx_adm_queue_stream_place(qs, &place);

        places[0] = &place;
        ask.places = places;
        ask.nplaces = 1;
    }

    qs->asked = ngx_current_msec;

    qs->pending = ngx_adm_queue_ask(&ask, ngx_adm_queue_stream_answered, qs);
}


static void
ngx_adm_queue_stream_answered(void *data, ngx_int_t rc,
    ngx_adm_queue_answer_t *answer)
{
    ngx_adm_queue_stream_t *qs = data;

    qs->pending = NULL;

    if (rc != NGX_OK) {

        /* not at once: those who failed together would ask together again */

        qs->near = 0;
        qs->next = ngx_max(qs->next, 1 + ngx_random() % 3);
        return;
    }

    qs->beat = ngx_current_msec;

    ngx_adm_queue_stream_take(qs, answer);
}


static void
ngx_adm_queue_stream_take(ngx_adm_queue_stream_t *qs,
    ngx_adm_queue_answer_t *answer)
{
    if (answer->state == NGX_ADM_QUEUE_READY && !qs->away) {

        /* the user's turn has come, but not yet the user */

        answer->state = NGX_ADM_QUEUE_ACTIVE;
    }

    if (answer->state == NGX_ADM_QUEUE_WAITING) {

        if (answer->place) {
            qs->who.score = answer->place->score;
            qs->who.at = answer->place->at;
            qs->who.epoch = answer->place->epoch;
            qs->iat = answer->place->iat;
            qs->exp = answer->place->exp;

        } else {
            qs->who.score = answer->score;
            qs->who.at = answer->clock;
            qs->who.epoch = answer->epoch;
            qs->iat = answer->now / 1000000;
            qs->exp = qs->iat + NGX_ADM_PLACE_LIFE;
        }

        qs->near = (answer->position <= NGX_ADM_STREAM_HEAD);
        qs->next = (u_char) ngx_adm_queue_next_poll(answer->position,
                                                    qs->conf);
    } else {
        qs->near = 0;
        qs->next = (u_char) ngx_adm_queue_next_poll(0, qs->conf);
    }

    qs->is = (u_char) answer->state;

    ngx_adm_queue_stream_tell(qs, answer);
}


static void
ngx_adm_queue_stream_tell(ngx_adm_queue_stream_t *qs,
    ngx_adm_queue_answer_t *answer)
{
    u_char                *p;
    ngx_str_t              json;
    ngx_pool_t            *pool;
    ngx_adm_queue_told_t   told;

    if (!ngx_adm_queue_stream_news(qs, answer)) {
        return;
    }

    pool = ngx_create_pool(1024, ngx_cycle->log);
    if (pool == NULL) {
        return;
    }

    ngx_memzero(&told, sizeof(ngx_adm_queue_told_t));

    told.event = &qs->event;
    told.user = &qs->user;
    told.conf = qs->conf;
    told.lcf = qs->lcf;

    /* what was not sent now is sent after the next look */

    qs->told = 0;

    (void) ngx_adm_sale_get(&qs->event, qs->conf, &told.sale);

    if (ngx_adm_told_in(pool, &qs->event, &told.sale, qs->lang, &told.notice)
        == NGX_OK
        && ngx_adm_queue_told(&told, answer, pool, &json) == NGX_OK)
    {
        p = ngx_adm_stream_begin(qs->stream, json.len);

        if (p) {
            qs->told = ngx_current_msec ? ngx_current_msec : 1;
            qs->life = (ngx_msec_t) told.life * 1000;

            ngx_adm_stream_tell(qs->stream,
                                ngx_cpymem(p, json.data, json.len));
        }
    }

    ngx_destroy_pool(pool);
}


/*
 * A turn is told at once, another state soon.  Numbers change all the time:
 * they are told as fast as the worker can, and at least as often as to a poll.
 */

static ngx_uint_t
ngx_adm_queue_stream_news(ngx_adm_queue_stream_t *qs,
    ngx_adm_queue_answer_t *answer)
{
    uint32_t        state, numbers;
    ngx_msec_t      passed;
    ngx_uint_t      due;
    ngx_adm_sale_t  sale;
    struct {
        int64_t  state;
        int64_t  seats;
        int64_t  paused;
        int64_t  notice;
        int64_t  phase;
        int64_t  opens;
        int64_t  starts;
    } is;
    struct {
        int64_t  position;
        int64_t  size;
        int64_t  active;
        int64_t  threshold;
        int64_t  rate;
    } n;

    is.state = answer->state;
    is.notice = ngx_adm_notice_version(&qs->event);
    is.phase = ngx_adm_sale_get(&qs->event, qs->conf, &sale);
    is.opens = sale.opens;
    is.starts = sale.starts;
    is.seats = 0;
    is.paused = 0;

    if (answer->state == NGX_ADM_QUEUE_NOT_IN
        || answer->state == NGX_ADM_QUEUE_WAITING)
    {
        is.seats = ngx_adm_seats(qs->conf, answer->slots, answer->sold,
                                 answer->active);
        is.paused = (answer->threshold == 0);
    }

    n.position = answer->position;
    n.size = answer->size;
    n.active = answer->active;
    n.threshold = answer->threshold;
    n.rate = answer->rate;

    state = ngx_murmur_hash2((u_char *) &is, sizeof(is));
    numbers = ngx_murmur_hash2((u_char *) &n, sizeof(n));

    passed = ngx_current_msec - qs->told;

    if (qs->told == 0) {
        due = 1;

    } else if (state != qs->state) {
        due = answer->state == NGX_ADM_QUEUE_ACTIVE
              || answer->state == NGX_ADM_QUEUE_READY
              || passed >= ngx_adm_stream_pace(1);

    } else if (answer->state == NGX_ADM_QUEUE_ACTIVE) {
        /* a new token comes before the last one is of no use any more */
        due = (passed >= qs->life / 2);

    } else {
        due = passed >= ngx_adm_stream_pace(1)
              && ((numbers != qs->numbers
                   && passed >= ngx_adm_stream_pace(qs->next))
                  || passed + NGX_ADM_STREAM_LOOK
                     >= (ngx_msec_t) qs->next * 1000);
    }

    if (due) {
        qs->state = state;
        qs->numbers = numbers;

    } else if (state != qs->state) {

        /*
         * if it was Redis that said so, it is asked again as soon as the user
         * may be told
         */

        qs->near = 1;
    }

    return due;
}


static void
ngx_adm_queue_stream_gone(void *data, ngx_uint_t closed)
{
    ngx_adm_queue_stream_t *qs = data;

    if (qs->pending) {
        ngx_adm_redis_cancel(qs->pending);
    }

    if (closed && qs->conf->leave_on_close) {
        ngx_adm_beat_close(&qs->event, qs->conf, &qs->user,
                           ngx_max(NGX_ADM_STREAM_CLOSED,
                                   2 * (ngx_msec_t) qs->next * 1000));
    }

    ngx_free(qs);
}
