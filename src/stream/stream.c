
/*
 * Copyright (C) 2026 the admission module authors
 *
 * A stream is an answer that has no end yet.  All of a worker's are on the
 * spokes of a wheel, which a timer turns by one spoke each time: so a stream
 * needs no timer of its own, and messages are spread.  A message has memory of
 * its own until it is sent, mostly at once, and there is never more than one:
 * whoever does not read is told what is true when it has.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>
#include <ngx_http.h>

#include "../base/text.h"
#include "../base/timer.h"
#include "../host/settings.h"
#include "../host/streams.h"
#include "../http/ctx.h"
#include "../http/respond.h"
#include "../http/wait.h"
#include "parts.h"


#define NGX_ADM_STREAM_TURN      50          /* ms a spoke */
#define NGX_ADM_STREAM_WHEEL     (NGX_ADM_STREAM_LOOK / NGX_ADM_STREAM_TURN)

#define NGX_ADM_STREAM_COMMENT   15000       /* ms of silence */

/*
 * messages a second that a worker sends at most about what changes all the
 * time
 */
#define NGX_ADM_STREAM_MESSAGES  8192

/* s after which somebody who was refused may ask for a stream again */
#define NGX_ADM_STREAM_AGAIN     60

/*
 * ms after which clients come again, each told its own time: after a failure;
 * and when a worker leaves
 */
#define NGX_ADM_STREAM_RETRY     1000
#define NGX_ADM_STREAM_JITTER    4000
#define NGX_ADM_STREAM_SPREAD    8000

#define NGX_ADM_STREAM_RETRIES   (sizeof("retry: \n") - 1 + NGX_INT_T_LEN)


static void ngx_adm_stream_cancel(void *data);
static void ngx_adm_stream_cleanup(void *data);
static void ngx_adm_stream_free(ngx_adm_stream_t *s);
static void ngx_adm_stream_writable(ngx_http_request_t *r);
static void ngx_adm_stream_turn(ngx_event_t *ev);
static void ngx_adm_stream_look(ngx_adm_stream_t *s);
static ngx_uint_t ngx_adm_stream_sending(ngx_adm_stream_t *s);
static u_char *ngx_adm_stream_alloc(ngx_adm_stream_t *s, size_t size);
static void ngx_adm_stream_put(ngx_adm_stream_t *s, u_char *end);
static u_char *ngx_adm_stream_retry(u_char *p, ngx_uint_t jitter);
static void ngx_adm_stream_comment(ngx_adm_stream_t *s);
static void ngx_adm_stream_farewell(ngx_adm_stream_t *s);
static void ngx_adm_stream_leave(ngx_adm_stream_t *s,
    ngx_adm_stream_end_e why);
static void ngx_adm_stream_end(ngx_adm_stream_t *s, ngx_adm_stream_end_e why,
    ngx_int_t rc);


static ngx_queue_t       ngx_adm_stream_spokes[NGX_ADM_STREAM_WHEEL];
static ngx_queue_t       ngx_adm_stream_new;     /* not on a spoke yet */
static ngx_uint_t        ngx_adm_stream_spoke;   /* is next */
static ngx_uint_t        ngx_adm_stream_last;    /* got one */
static ngx_uint_t        ngx_adm_stream_n;
static ngx_event_t       ngx_adm_stream_timer;


ngx_int_t
ngx_adm_stream_full(ngx_http_request_t *r)
{
    ngx_uint_t            max;
    ngx_adm_main_conf_t  *mcf;

    mcf = ngx_http_get_module_main_conf(r, ngx_http_admission_module);

    max = (mcf->streams == NGX_CONF_UNSET) ? ngx_cycle->connection_n / 2
                                           : (ngx_uint_t) mcf->streams;

    if (ngx_adm_stream_n < max || r->method == NGX_HTTP_HEAD) {
        return NGX_DECLINED;
    }

    ngx_adm_count(NGX_ADM_COUNT_STREAMS_REFUSED);

    ngx_log_debug1(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "admission: no stream, %ui are open", ngx_adm_stream_n);

    return ngx_adm_respond_retry(r, NGX_HTTP_SERVICE_UNAVAILABLE,
                                 "STREAMS_FULL", "Too many streams",
                                 NGX_ADM_STREAM_AGAIN);
}


ngx_int_t
ngx_adm_stream_open(ngx_http_request_t *r, const ngx_adm_stream_type_t *type,
    void *data)
{
    ngx_int_t            rc;
    ngx_uint_t           i;
    ngx_adm_stream_t    *s;
    ngx_pool_cleanup_t  *cln;

    ngx_http_core_loc_conf_t  *clcf;

    rc = ngx_adm_respond_events(r);

    if (rc != NGX_OK) {
        type->gone(data, 0);
        return (rc == NGX_DONE) ? NGX_OK : rc;
    }

    s = NULL;

    cln = ngx_pool_cleanup_add(r->pool, 0);
    if (cln) {
        s = ngx_calloc(sizeof(ngx_adm_stream_t), r->connection->log);
    }

    if (s == NULL) {
        type->gone(data, 0);
        return NGX_ERROR;
    }

    clcf = ngx_http_get_module_loc_conf(r, ngx_http_core_module);

    if (ngx_adm_stream_timer.handler == NULL) {

        for (i = 0; i < NGX_ADM_STREAM_WHEEL; i++) {
            ngx_queue_init(&ngx_adm_stream_spokes[i]);
        }

        ngx_queue_init(&ngx_adm_stream_new);

        ngx_adm_timer_init(&ngx_adm_stream_timer, ngx_adm_stream_turn,
                           ngx_cycle->log);
    }

    s->type = type;
    s->data = data;
    s->request = r;
    s->connection = r->connection;
    s->cleanup = cln;
    s->told = ngx_current_msec;
    s->timeout = clcf->send_timeout;

    cln->handler = ngx_adm_stream_cleanup;
    cln->data = s;

    ngx_queue_insert_tail(&ngx_adm_stream_new, &s->queue);

    ngx_adm_streams_note(++ngx_adm_stream_n);
    ngx_adm_count(NGX_ADM_COUNT_STREAMS + type->tier);

    /* a worker that leaves stays until its streams have ended */

    if (!ngx_adm_stream_timer.timer_set) {
        ngx_add_timer(&ngx_adm_stream_timer, NGX_ADM_STREAM_TURN);
    }

    ngx_log_debug1(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "admission: stream opened, %ui are", ngx_adm_stream_n);

    if (type->look(s, data) == NGX_DONE) {
        s->over = 1;
    }

    if (!s->begun) {
        ngx_adm_stream_comment(s);
    }

    if (ngx_adm_wait_content(r, ngx_adm_stream_cancel, s) != NGX_DONE) {
        return NGX_ERROR;
    }

    ngx_adm_ctx(r)->stream = s;
    r->write_event_handler = ngx_adm_stream_writable;

    return NGX_DONE;
}


/* no operation could complete: the cleanup does all */

static void
ngx_adm_stream_cancel(void *data)
{
}


/* the request goes, for whatever reason, and the stream with it */

static void
ngx_adm_stream_cleanup(void *data)
{
    ngx_adm_stream_t *s = data;

    ngx_adm_stream_leave(s, NGX_ADM_STREAM_END_CLIENT);
    ngx_adm_stream_free(s);
}


static void
ngx_adm_stream_free(ngx_adm_stream_t *s)
{
    if (s->text) {
        ngx_free(s->text);
    }

    ngx_free(s);
}


static void
ngx_adm_stream_writable(ngx_http_request_t *r)
{
    ngx_connection_t  *c;
    ngx_adm_stream_t  *s;

    c = r->connection;
    s = ngx_adm_ctx(r)->stream;

    if (c->write->delayed || c->error) {
        return;
    }

    if ((r->buffered || r->postponed || c->buffered)
        && ngx_http_output_filter(r, NULL) == NGX_ERROR)
    {
        s->failed = 1;
        return;
    }

    (void) ngx_adm_stream_sending(s);

    if (ngx_handle_write_event(c->write, 0) != NGX_OK) {
        s->failed = 1;
    }
}


/*
 * A message of one stream may end any other request of its connection; so each
 * stream is taken off the list of those that are still to be asked before it
 * is asked.
 */

static void
ngx_adm_stream_turn(ngx_event_t *ev)
{
    ngx_queue_t       *spoke, *q, todo;
    ngx_adm_stream_t  *s;

    while (!ngx_queue_empty(&ngx_adm_stream_new)) {
        q = ngx_queue_head(&ngx_adm_stream_new);
        s = ngx_queue_data(q, ngx_adm_stream_t, queue);

        ngx_queue_remove(q);
        ngx_queue_insert_tail(&ngx_adm_stream_spokes[ngx_adm_stream_last], q);

        ngx_adm_stream_last = (ngx_adm_stream_last + 1) % NGX_ADM_STREAM_WHEEL;

        if (!ngx_adm_stream_sending(s)) {
            ngx_adm_stream_detach(s);
        }
    }

    spoke = &ngx_adm_stream_spokes[ngx_adm_stream_spoke];

    ngx_adm_stream_spoke = (ngx_adm_stream_spoke + 1) % NGX_ADM_STREAM_WHEEL;

    ngx_queue_init(&todo);

    if (!ngx_queue_empty(spoke)) {
        ngx_queue_add(&todo, spoke);
        ngx_queue_init(spoke);
    }

    while (!ngx_queue_empty(&todo)) {
        q = ngx_queue_head(&todo);

        ngx_queue_remove(q);
        ngx_queue_insert_tail(spoke, q);

        s = ngx_queue_data(q, ngx_adm_stream_t, queue);

        ngx_adm_stream_look(s);
    }

    if (ngx_adm_stream_n && !ev->timer_set) {
        ngx_add_timer(ev, NGX_ADM_STREAM_TURN);
    }
}


static void
ngx_adm_stream_look(ngx_adm_stream_t *s)
{
    ngx_uint_t  sending;

    if (s->request) {
        ngx_http_set_log_request(s->connection->log, s->request);
    }

    sending = ngx_adm_stream_sending(s);

    if (s->failed) {
        ngx_adm_stream_end(s, NGX_ADM_STREAM_END_CLIENT, NGX_ERROR);
        return;
    }

    if (sending && !ngx_exiting) {

        if (ngx_current_msec - s->told > s->timeout) {
            ngx_adm_stream_end(s, NGX_ADM_STREAM_END_SLOW, NGX_ERROR);
        }

        return;
    }

    if (ngx_exiting) {

        /* whoever does not read is not waited for */

        if (!sending) {
            ngx_adm_stream_farewell(s);
        }

        ngx_adm_stream_end(s, NGX_ADM_STREAM_END_WORKER,
                           sending ? NGX_ERROR : NGX_OK);
        return;
    }

    if (s->request) {
        ngx_adm_stream_detach(s);
    }

    if (s->over || s->type->look(s, s->data) == NGX_DONE) {
        ngx_adm_stream_end(s, NGX_ADM_STREAM_END_OVER, NGX_OK);
        return;
    }

    if (ngx_current_msec - s->told >= NGX_ADM_STREAM_COMMENT
        && !ngx_adm_stream_sending(s))
    {
        ngx_adm_stream_comment(s);
    }
}


/* whether the last message is still being sent */

static ngx_uint_t
ngx_adm_stream_sending(ngx_adm_stream_t *s)
{
    if (s->text == NULL) {
        return 0;
    }

    if (s->buf.pos != s->buf.last) {
        return 1;
    }

    ngx_free(s->text);
    s->text = NULL;

#if (NGX_HTTP_SSL)

    /* gives back 16 KB, which the next message has to allocate again */

    if (s->connection->ssl && !s->connection->buffered) {
        ngx_ssl_free_buffer(s->connection);
    }

#endif

    return 0;
}


/* room for a text, of which nothing is sent before it is complete */

static u_char *
ngx_adm_stream_alloc(ngx_adm_stream_t *s, size_t size)
{
    if (s->ended || s->failed || ngx_adm_stream_sending(s)) {
        return NULL;
    }

    s->text = ngx_alloc(NGX_ADM_STREAM_AHEAD + size + NGX_ADM_STREAM_BEHIND,
                        s->connection->log);
    if (s->text == NULL) {
        return NULL;
    }

    s->buf.pos = s->text + NGX_ADM_STREAM_AHEAD;
    s->buf.last = s->buf.pos;

    return s->buf.pos;
}


/* ms after which the client comes again */

static u_char *
ngx_adm_stream_retry(u_char *p, ngx_uint_t jitter)
{
    return ngx_sprintf(p, "retry: %ui\n",
                       (ngx_uint_t) (NGX_ADM_STREAM_RETRY
                                     + ngx_random() % jitter));
}


u_char *
ngx_adm_stream_begin(ngx_adm_stream_t *s, size_t size)
{
    u_char  *p;

    p = ngx_adm_stream_alloc(s, NGX_ADM_STREAM_RETRIES
                                + sizeof("data: \n\n") - 1 + size);
    if (p == NULL) {
        return NULL;
    }

    if (!s->begun) {
        p = ngx_adm_stream_retry(p, NGX_ADM_STREAM_JITTER);
    }

    return ngx_cpymem(p, "data: ", sizeof("data: ") - 1);
}


void
ngx_adm_stream_tell(ngx_adm_stream_t *s, u_char *end)
{
    *end++ = '\n';
    *end++ = '\n';

    ngx_adm_stream_put(s, end);
}


static void
ngx_adm_stream_comment(ngx_adm_stream_t *s)
{
    u_char  *p;

    p = ngx_adm_stream_alloc(s, NGX_ADM_STREAM_RETRIES + sizeof(":\n\n") - 1);
    if (p == NULL) {
        return;
    }

    if (!s->begun) {
        p = ngx_adm_stream_retry(p, NGX_ADM_STREAM_JITTER);
    }

    ngx_adm_stream_put(s, ngx_cpymem(p, ":\n\n", sizeof(":\n\n") - 1));
}


/*
 * clients come again spread over some seconds; the worker does not wait for
 * that
 */

static void
ngx_adm_stream_farewell(ngx_adm_stream_t *s)
{
    u_char  *p;

    static u_char  text[] = "data: {\"status\":\"reconnect\"}\n\n";

    p = ngx_adm_stream_alloc(s, NGX_ADM_STREAM_RETRIES + sizeof(text) - 1);
    if (p == NULL) {
        return;
    }

    p = ngx_adm_stream_retry(p, NGX_ADM_STREAM_SPREAD);

    ngx_adm_stream_put(s, ngx_cpymem(p, text, sizeof(text) - 1));
}


/* sends the text that was begun, up to p */

static void
ngx_adm_stream_put(ngx_adm_stream_t *s, u_char *end)
{
    u_char       *text, size[NGX_ADM_STREAM_AHEAD];
    size_t        len;
    ngx_buf_t    *b;
    ngx_chain_t   out;

    b = &s->buf;
    text = b->pos;

    ngx_memzero(b, sizeof(ngx_buf_t));

    if (s->chunked) {
        len = ngx_sprintf(size, "%xz" CRLF, (size_t) (end - text)) - size;
        text -= len;

        ngx_memcpy(text, size, len);
        end = ngx_cpymem(end, CRLF, sizeof(CRLF) - 1);
    }

    b->start = text;
    b->pos = text;
    b->last = end;
    b->end = end;
    b->memory = 1;
    b->flush = 1;

    s->begun = 1;
    s->told = ngx_current_msec;

    if (s->request == NULL) {
        ngx_adm_stream_send(s);

    } else {
        out.buf = b;
        out.next = NULL;

        if (ngx_http_output_filter(s->request, &out) == NGX_ERROR) {
            s->failed = 1;
        }
    }

    if (!s->failed) {
        (void) ngx_adm_stream_sending(s);
    }
}


/* out of the wheel; the request may still have something to send */

static void
ngx_adm_stream_leave(ngx_adm_stream_t *s, ngx_adm_stream_end_e why)
{
    if (s->ended) {
        return;
    }

    s->ended = 1;

    ngx_queue_remove(&s->queue);

    ngx_adm_streams_note(--ngx_adm_stream_n);
    ngx_adm_count(NGX_ADM_COUNT_STREAMS_ENDED + why);

    /* if the worker leaves it was not the client that went */

    s->type->gone(s->data, why == NGX_ADM_STREAM_END_CLIENT && !ngx_exiting);

    ngx_log_debug2(NGX_LOG_DEBUG_HTTP, s->connection->log, 0,
                   "admission: stream ended, %d, %ui are open", why,
                   ngx_adm_stream_n);

    if (ngx_adm_stream_n == 0 && ngx_adm_stream_timer.timer_set) {
        ngx_del_timer(&ngx_adm_stream_timer);
    }
}


/* NGX_ERROR: at once, without an end of the answer */

static void
ngx_adm_stream_end(ngx_adm_stream_t *s, ngx_adm_stream_end_e why, ngx_int_t rc)
{
    ngx_http_request_t  *r;

    ngx_adm_stream_leave(s, why);

    r = s->request;

    if (r == NULL) {
        ngx_adm_stream_close(s, ngx_adm_stream_sending(s) ? NGX_ERROR : rc);
        ngx_adm_stream_free(s);
        return;
    }

    if (rc == NGX_OK && !s->failed) {
        rc = ngx_http_send_special(r, NGX_HTTP_LAST);

    } else {
        rc = NGX_ERROR;
    }

    ngx_adm_wait_finish(r, rc);
}


void
ngx_adm_stream_gone(ngx_adm_stream_t *s)
{
    ngx_adm_stream_end(s, NGX_ADM_STREAM_END_CLIENT, NGX_ERROR);
}


ngx_msec_t
ngx_adm_stream_pace(ngx_uint_t next_poll)
{
    ngx_uint_t  s;

    s = 1 + ngx_adm_stream_n / NGX_ADM_STREAM_MESSAGES;

    s = ngx_max(ngx_min(s, next_poll), 1);

    /* by the turn that is nearest to it */

    return 1000 * s - NGX_ADM_STREAM_TURN;
}
