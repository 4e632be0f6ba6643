
/*
 * Copyright (C) 2026 the admission module authors
 *
 * A request that waits for an operation, such as a call of Redis.  Whoever
 * makes it wait says how the operation is cancelled, so that nobody else has
 * to know what a request waits for.
 *
 * The operation has one deadline, its own, and completes once: by then, or
 * never if it was cancelled.  A request waits for one operation at a time.
 */


#ifndef _NGX_ADM_HTTP_WAIT_H_INCLUDED_
#define _NGX_ADM_HTTP_WAIT_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>


/* the request goes away: the operation of data is not to complete any more */
typedef void (*ngx_adm_wait_cancel_pt)(void *data);

/*
 * Part of the request's context, whose cleanup cancels what the request waits
 * for; cancel NULL: it waits for nothing.
 */
typedef struct {
    ngx_adm_wait_cancel_pt   cancel;
    void                    *data;
} ngx_adm_wait_t;


/*
 * For phase handlers: the request waits in its phase.  That the client goes
 * is seen, and cancels the operation.  Returns NGX_AGAIN, or NGX_ERROR: it can
 * not wait, and the operation was cancelled.  When the operation completes,
 * _resume() runs the phase again.
 */
ngx_int_t ngx_adm_wait(ngx_http_request_t *r, ngx_adm_wait_cancel_pt cancel,
    void *data);
void ngx_adm_wait_resume(ngx_http_request_t *r);

/*
 * For content handlers: NGX_DONE, or what the handler is to return, and the
 * operation was cancelled.  Its completion begins with _over(), after which
 * the request may wait anew, and ends with _finish(); rc is what a content
 * handler returns.
 */
ngx_int_t ngx_adm_wait_content(ngx_http_request_t *r,
    ngx_adm_wait_cancel_pt cancel, void *data);
void ngx_adm_wait_over(ngx_http_request_t *r);
void ngx_adm_wait_finish(ngx_http_request_t *r, ngx_int_t rc);

#endif /* _NGX_ADM_HTTP_WAIT_H_INCLUDED_ */
