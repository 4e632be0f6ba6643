
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Streams (docs/api.md): answers that stay open and tell of what changes, as
 * server-sent events.  One timer a worker has each asked twice a second
 * whether it has something to tell; if a reader has not taken the last message
 * there is no next.
 */


#ifndef _NGX_ADM_STREAM_STREAM_H_INCLUDED_
#define _NGX_ADM_STREAM_STREAM_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../base/counter.h"


/* ms between two times that a stream is asked */
#define NGX_ADM_STREAM_LOOK  500


typedef struct ngx_adm_stream_s  ngx_adm_stream_t;

/* how a tier tells its streams */
typedef struct {
    ngx_adm_tier_e   tier;

    /*
     * Called when the stream opens, and twice a second from then on, but not
     * while the reader still has to take the last message.  NGX_DONE: the
     * stream is over.
     */
    ngx_int_t      (*look)(ngx_adm_stream_t *s, void *data);

    /*
     * Called once, when the stream is not asked any more, to free data;
     * closed: the client ended it, after it was open.
     */
    void           (*gone)(void *data, ngx_uint_t closed);
} ngx_adm_stream_type_t;


/*
 * Whether the worker has as many streams as it may: then that is answered, and
 * the return value is the content handler's; NGX_DECLINED: there is room.
 */
ngx_int_t ngx_adm_stream_full(ngx_http_request_t *r);

/*
 * Answers with a stream, to which data belongs from now on, whatever is
 * returned: what a content handler returns.
 */
ngx_int_t ngx_adm_stream_open(ngx_http_request_t *r,
    const ngx_adm_stream_type_t *type, void *data);

/*
 * A message: room for JSON of at most size bytes, without a line feed; then it
 * is sent up to where that ended.  NULL: not now, since the last message has
 * not been taken, or there is no memory.
 */
u_char *ngx_adm_stream_begin(ngx_adm_stream_t *s, size_t size);
void ngx_adm_stream_tell(ngx_adm_stream_t *s, u_char *end);

/*
 * ms between two messages of a stream about what changes all the time, where
 * nextPoll is so many s: 1000, or more as a worker has very many streams.
 */
ngx_msec_t ngx_adm_stream_pace(ngx_uint_t next_poll);


#endif /* _NGX_ADM_STREAM_STREAM_H_INCLUDED_ */
