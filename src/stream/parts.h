
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What the files of this folder share: a stream, and the connection of one that
 * needs no request any more.
 */


#ifndef _NGX_ADM_STREAM_PARTS_H_INCLUDED_
#define _NGX_ADM_STREAM_PARTS_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>
#include <ngx_http.h>

#include "stream.h"


/* of a chunk: its size ahead of the text, and the end of the line behind it */
#define NGX_ADM_STREAM_AHEAD   (NGX_SIZE_T_LEN + sizeof(CRLF) - 1)
#define NGX_ADM_STREAM_BEHIND  (sizeof(CRLF) - 1)


struct ngx_adm_stream_s {
    ngx_queue_t                    queue;        /* of its slot */
    const ngx_adm_stream_type_t   *type;
    void                          *data;

    ngx_connection_t              *connection;
    ngx_http_request_t            *request;      /* NULL: the connection is the
                                                    stream's own */
    ngx_pool_cleanup_t            *cleanup;      /* of the request */

    ngx_msec_t                     told;         /* when something last was */
    ngx_msec_t                     timeout;      /* for it to be taken */

    u_char                        *text;         /* what is being sent; NULL:
                                                    nothing */
    ngx_buf_t                      buf;          /* of it */

    unsigned                       begun:1;      /* the first was told */
    unsigned                       over:1;
    unsigned                       failed:1;     /* the connection */
    unsigned                       ended:1;      /* out of the wheel */
    unsigned                       chunked:1;    /* of an own connection */
};


/*
 * Ends the request of the stream, and keeps the connection; without effect
 * where somebody counts on the request, or the connection is not its own, as
 * with HTTP/2.
 */
void ngx_adm_stream_detach(ngx_adm_stream_t *s);

/* sends what is in buf, or some of it, on an own connection */
void ngx_adm_stream_send(ngx_adm_stream_t *s);

/* ends an own connection, with an end of the answer where rc is NGX_OK */
void ngx_adm_stream_close(ngx_adm_stream_t *s, ngx_int_t rc);

/* of stream.c: an own connection is closed; the stream is gone then */
void ngx_adm_stream_gone(ngx_adm_stream_t *s);


#endif /* _NGX_ADM_STREAM_PARTS_H_INCLUDED_ */
