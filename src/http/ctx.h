
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What the module knows of a request.  Internal redirects clear r->ctx, so
 * the context is found again through the cleanup list of the request's
 * pool, as the realip module does.
 */


#ifndef _NGX_ADM_HTTP_CTX_H_INCLUDED_
#define _NGX_ADM_HTTP_CTX_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../base/reason.h"
#include "../host/room_state.h"
#include "../host/settings.h"
#include "wait.h"


typedef struct ngx_adm_limits_s  ngx_adm_limits_t;

/* puts headers of limits into the answer; NGX_ERROR: no memory */
typedef ngx_int_t (*ngx_adm_limits_headers_pt)(ngx_http_request_t *r,
    ngx_adm_limits_t *limits);
typedef struct ngx_adm_credentials_s  ngx_adm_credentials_t;
typedef struct ngx_adm_backend_s  ngx_adm_backend_t;


typedef struct {
    ngx_str_t            id;         /* empty: nobody known */
    ngx_str_t            email;
    ngx_str_t            role;
    ngx_adm_claims_t    *claims;     /* of a user token, or NULL */
} ngx_adm_user_t;


/* what Redis was asked about a user's entry tokens */
typedef struct {
    ngx_str_t                       event;
    ngx_str_t                       user;
    ngx_uint_t                      pass;       /* of the request */
    ngx_msec_t                      issued;
    ngx_int_t                       rc;         /* NGX_ERROR: no answer */
    int64_t                         revoked;    /* us, up to when they are
                                                   refused */
    ngx_uint_t                      active;     /* bool: the user is */
} ngx_adm_asked_t;


typedef struct {
    /*
     * who asks, found on first use and kept while the request stays in
     * locations with the same admission_user and cookie (user_of)
     */
    ngx_adm_user_t          user;
    ngx_adm_loc_conf_t     *user_of;     /* NULL: not looked yet */
    unsigned                keys_waited:1;  /* for keys of users' tokens */
    const char             *user_why;    /* a token shown is none of a user,
                                            constant text; NULL: it is */

    /* admission_user and $admission_event are being worked out */
    unsigned                user_asked:1;
    unsigned                event_asked:1;
    unsigned                cyclic:1;    /* and were found to be made of
                                            themselves */

    /* headers that are not for the backend were taken out of the request */
    unsigned                cleaned:1;
    ngx_array_t            *edges;       /* ngx_keyval_t: those of trusted
                                            edges; NULL: there was none */

    /* what identity_set() put into the request's headers */
    unsigned                identity:1;
    ngx_table_elt_t        *authorization;

    ngx_adm_credentials_t  *credentials; /* of credentials.c: what was found to
                                            be shown, a list; NULL: not looked
                                            yet */

    ngx_adm_claims_t       *entry;       /* verified entry token that let it
                                            pass, a tier or both */

    ngx_adm_verdict_e       verdict;
    const char             *reason;      /* constant text, or of the
                                            configuration, or NULL */
    unsigned                dry_run:1;   /* of the verdict: it went on all the
                                            same */
    int64_t                 position;    /* 0: none */

    /* the gate */
    ngx_uint_t              pass;        /* r->uri_changes when it last was
                                            judged, 0: not yet; each location
                                            has its own */
    ngx_uint_t              passed;      /* the pass that the tiers let go on */
    unsigned                denied:1;    /* in some location: what comes after
                                            is for the answer alone */
    ngx_str_t               denied_event;   /* of the last denial */
    ngx_uint_t              error_pass;  /* the pass that error_page of the last
                                            denial makes, which is not judged;
                                            0: none */
    ngx_str_t               error_uri;   /* its URI, before any rewrite */
    unsigned                gated:1;     /* a tier or limit looked at it */
    ngx_adm_wait_t          wait;
    ngx_adm_limits_t       *limits;      /* NULL: none yet */
    ngx_adm_limits_headers_pt  limits_headers;
    ngx_int_t               answer;      /* of strict=on */
    unsigned                answered:1;
    ngx_array_t            *asked;       /* NULL: nothing was */

    unsigned                timed:1;     /* it waited for Redis's time */

    /* an event that the host had not heard of, and Redis was asked about, the
       last one; len 0: none was */
    ngx_str_t               first;
    ngx_msec_t              first_until; /* by when answers are to be there */
    unsigned                first_more:1;   /* there is more of it */
    unsigned                first_missed:1; /* there was no answer */

    /* what it was told of a waiting room that the host did not know */
    ngx_adm_room_t          room;
    unsigned                room_told:1;
    ngx_uint_t              looked;      /* the pass in which it asked */

    unsigned                no_store:1;  /* the answer is ours */
    unsigned                personal:1;  /* it carries a token, */
    unsigned                given:1;     /* of a visitor who had none */
    ngx_str_t              *policy;      /* the one Content-Security-Policy of
                                            a page; NULL: it is none */
    ngx_str_t               retry_after; /* of the answer; len 0:
                                            we have none */
    ngx_array_t            *cors;        /* origins that the answer, ours or of
                                            a denial, is for, wherever an
                                            error_page takes it; NULL: whatever
                                            the site says */
    const char             *allow;       /* methods, of a preflight; or NULL */
    ngx_str_t               uri;         /* as the request came, see
                                            $admission_uri; len 0: not noted */

    ngx_adm_backend_t      *backend;     /* of backend.c: how it is measured;
                                            NULL: it is not */
    struct ngx_adm_unseen_s    *unseen;  /* room/unseen.c: it is to pass a room
                                            on standby; NULL: it did not try */

    struct ngx_adm_api_call_s  *api;     /* the call that the request is */
    struct ngx_adm_stream_s    *stream;  /* that the answer is */
} ngx_adm_ctx_t;


/* the request's context, the main request's for a subrequest; NULL: none */
#define ngx_adm_ctx(r)                                                        \
    (ngx_adm_ctx_kept(r) ? ngx_adm_ctx_kept(r) : ngx_adm_ctx_find(r))

/* the same, made if there is none; NULL: no memory */
#define ngx_adm_ctx_get(r)                                                    \
    (ngx_adm_ctx_kept(r) ? ngx_adm_ctx_kept(r) : ngx_adm_ctx_make(r))

/* where NGINX has it, unless it was cleared */
#define ngx_adm_ctx_kept(r)                                                   \
    ((ngx_adm_ctx_t *) ngx_http_get_module_ctx((r)->main,                     \
                                               ngx_http_admission_module))

/* for these alone */
ngx_adm_ctx_t *ngx_adm_ctx_find(ngx_http_request_t *r);
ngx_adm_ctx_t *ngx_adm_ctx_make(ngx_http_request_t *r);

/* what Redis was asked in this pass about an entry token; NULL: nothing */
ngx_adm_asked_t *ngx_adm_ctx_asked(ngx_http_request_t *r,
    ngx_adm_claims_t *entry);

/* what asks for a value asks for itself: both have none in this request */
void ngx_adm_cyclic(ngx_http_request_t *r, ngx_adm_ctx_t *ctx);

/*
 * The event of a request by admission_event, in lower case, allocated from
 * r->pool.  NGX_DECLINED: it names none; NGX_ABORT: what it names is no event
 * id, and what the backend makes of it is not known; *event is empty then.
 * NGX_ERROR: no memory.
 */
ngx_int_t ngx_adm_request_event(ngx_http_request_t *r, ngx_str_t *event);


#endif /* _NGX_ADM_HTTP_CTX_H_INCLUDED_ */
