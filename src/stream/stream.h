
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Streams (docs/api.md): answers that stay open, and tell of what changes, as
 * server-sent events.  Who has something to tell is asked twice a second, by
 * one timer a worker; what a reader has not taken yet is not added to.
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

/* what a tier has of its streams */
typedef struct {
    ngx_adm_tier_e   tier;

    /*
     * Is asked when the stream opens, and twice a second from then on, but not
     * while a reader has to take what was told before.  NGX_DONE: it is over.
     */
    ngx_int_t      (*look)(ngx_adm_stream_t *s, void *data);

    /*
     * Once: it is not asked any more, and its data is to be freed; closed: it
     * was open, and it is the client that ended it.
     */
    void           (*gone)(void *data, ngx_uint_t closed);
} ngx_adm_stream_type_t;


/*
 * Whether the worker has as many streams as it may: it is answered then, with
 * what is returned; NGX_DECLINED: there is room.
 */
ngx_int_t ngx_adm_stream_full(ngx_http_request_t *r);

/*
 * Answers with a stream; data is its own from here on, whatever is returned:
 * what a content handler returns.
 */
ngx_int_t ngx_adm_stream_open(ngx_http_request_t *r,
    const ngx_adm_stream_type_t *type, void *data);

/*
 * A message: room for JSON of at most size bytes, without a line's end, and
 * then up to where it goes.  NULL: not now, what was told before has not been
 * taken, or there is no memory.
 */
u_char *ngx_adm_stream_begin(ngx_adm_stream_t *s, size_t size);
void ngx_adm_stream_tell(ngx_adm_stream_t *s, u_char *end);

/*
 * ms between two messages of a stream about what changes all the time, where
 * nextPoll is so many s: one, or more as the worker has very many of them.
 */
ngx_msec_t ngx_adm_stream_pace(ngx_uint_t next_poll);


#endif /* _NGX_ADM_STREAM_STREAM_H_INCLUDED_ */
