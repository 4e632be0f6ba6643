
/*
 * Copyright (C) 2026 the admission module authors
 *
 * A request that waits for an operation, such as a call to Redis.  Whoever
 * makes it wait says how the operation is cancelled, so that nobody else has
 * to know what requests wait for.
 *
 * An operation has one deadline, its own, and completes once: by then, or
 * never if it was cancelled.  A request waits for one operation at a time.
 */


#ifndef _NGX_ADM_HTTP_WAIT_H_INCLUDED_
#define _NGX_ADM_HTTP_WAIT_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>


/* the request goes away: the operation is not to complete any more */
typedef void (*ngx_adm_wait_cancel_pt)(void *data);

/*
 * In the request's context, whose cleanup cancels what the request waits for;
 * cancel NULL: it does not wait.
 */
typedef struct {
    ngx_adm_wait_cancel_pt   cancel;
    void                    *data;
} ngx_adm_wait_t;


/*
 * For phase handlers: the request waits in its phase.  If the client goes that
 * is noticed, and cancels the operation.  Returns NGX_AGAIN; or NGX_ERROR: the
 * request can not wait, and the operation was cancelled.  When the operation
 * completes, _resume() runs the phase again.
 */
ngx_int_t ngx_adm_wait(ngx_http_request_t *r, ngx_adm_wait_cancel_pt cancel,
    void *data);
void ngx_adm_wait_resume(ngx_http_request_t *r);

/*
 * For content handlers.  Returns NGX_DONE; or what the handler has to return,
 * and the operation was cancelled.  A completion begins with _over(), after
 * which the request may wait again, and ends with _finish(), where rc is what
 * a content handler returns.
 */
ngx_int_t ngx_adm_wait_content(ngx_http_request_t *r,
    ngx_adm_wait_cancel_pt cancel, void *data);
void ngx_adm_wait_over(ngx_http_request_t *r);
void ngx_adm_wait_finish(ngx_http_request_t *r, ngx_int_t rc);

#endif /* _NGX_ADM_HTTP_WAIT_H_INCLUDED_ */
