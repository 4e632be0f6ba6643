
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What the files of this folder share: a stream, and the connection of a
 * stream that needs no request any more.
 */


#ifndef _NGX_ADM_STREAM_PARTS_H_INCLUDED_
#define _NGX_ADM_STREAM_PARTS_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>
#include <ngx_http.h>

#include "stream.h"


/* of a chunk: its size before the text, and the end of the line after it */
#define NGX_ADM_STREAM_AHEAD   (NGX_SIZE_T_LEN + sizeof(CRLF) - 1)
#define NGX_ADM_STREAM_BEHIND  (sizeof(CRLF) - 1)


struct ngx_adm_stream_s {
    ngx_queue_t                    queue;        /* of its spoke */
    const ngx_adm_stream_type_t   *type;
    void                          *data;

    ngx_connection_t              *connection;
    ngx_http_request_t            *request;      /* NULL: the connection
                                                    belongs to the stream */
    ngx_pool_cleanup_t            *cleanup;      /* of the request */

    ngx_msec_t                     told;         /* ms, last message or
                                                    comment */
    ngx_msec_t                     timeout;      /* ms for that to be taken */

    u_char                        *text;         /* is being sent; NULL:
                                                    nothing is */
    ngx_buf_t                      buf;          /* of the text */

    unsigned                       begun:1;      /* the first message was
                                                    sent */
    unsigned                       over:1;
    unsigned                       failed:1;     /* the connection has */
    unsigned                       ended:1;      /* taken out of the wheel */
    unsigned                       chunked:1;    /* on its own connection */
};


/*
 * Ends the request of the stream, and keeps the connection.  Does nothing
 * where somebody counts on the request, or the connection is not the request's
 * own, as with HTTP/2.
 */
void ngx_adm_stream_detach(ngx_adm_stream_t *s);

/* sends what is in buf, or as much as it can, on the stream's own connection */
void ngx_adm_stream_send(ngx_adm_stream_t *s);

/* closes the stream's own connection; rc NGX_OK: after the end of the answer */
void ngx_adm_stream_close(ngx_adm_stream_t *s, ngx_int_t rc);

/*
 * of stream.c: the stream's own connection is closed, and the stream is freed
 */
void ngx_adm_stream_gone(ngx_adm_stream_t *s);


#endif /* _NGX_ADM_STREAM_PARTS_H_INCLUDED_ */
