
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What the module knows of a request.  Internal redirects clear r->ctx, so the
 * context is found again through the cleanup list of the request's pool, as
 * the realip module does.
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

/* sets headers about limits in the answer; NGX_ERROR: no memory */
typedef ngx_int_t (*ngx_adm_limits_headers_pt)(ngx_http_request_t *r,
    ngx_adm_limits_t *limits);
typedef struct ngx_adm_credentials_s  ngx_adm_credentials_t;
typedef struct ngx_adm_backend_s  ngx_adm_backend_t;


typedef struct {
    ngx_str_t            id;         /* empty: not known */
    ngx_str_t            email;
    ngx_str_t            role;
    ngx_adm_claims_t    *claims;     /* of the user token, or NULL */
} ngx_adm_user_t;


/* what Redis was asked about a user's entry tokens, and said */
typedef struct {
    ngx_str_t                       event;
    ngx_str_t                       user;
    ngx_uint_t                      pass;       /* in which it was asked */
    ngx_msec_t                      issued;
    ngx_int_t                       rc;         /* NGX_ERROR: no answer */
    int64_t                         revoked;    /* us, tokens are refused up
                                                   to then */
    ngx_uint_t                      active;     /* bool: the user is in */
} ngx_adm_asked_t;


typedef struct {
    /*
     * the user, found on first use and kept while the request stays in
     * locations with the same admission_user and cookie (user_of)
     */
    ngx_adm_user_t          user;
    ngx_adm_loc_conf_t     *user_of;     /* NULL: not looked for */
    unsigned                keys_waited:1;  /* keys of users' tokens, once */
    const char             *user_why;    /* why a token shown is no user's,
                                            constant text; NULL: it is one's */

    /* the user or the event is being worked out, */
    unsigned                user_asked:1;
    unsigned                event_asked:1;
    unsigned                cyclic:1;    /* and turned out to depend on
                                            itself */

    /*
     * headers that are not for the backend have been taken out of the request
     */
    unsigned                cleaned:1;
    ngx_array_t            *edges;       /* ngx_keyval_t, headers of trusted
                                            edges; NULL: none */

    /* identity_set() has put something into the request's headers */
    unsigned                identity:1;
    ngx_table_elt_t        *authorization;

    ngx_adm_credentials_t  *credentials; /* what credentials.c found, a list;
                                            NULL: not looked for yet */

    ngx_adm_claims_t       *entry;       /* by which a tier, or both, let the
                                            request pass */

    ngx_adm_verdict_e       verdict;
    const char             *reason;      /* constant text, or one of the
                                            configuration, or NULL */
    unsigned                dry_run:1;   /* the verdict was not carried out */
    int64_t                 position;    /* 0: none */

    /* for the gate */
    ngx_uint_t              pass;        /* r->uri_changes when last judged,
                                            0: never; each location has
                                            another */
    ngx_uint_t              passed;      /* in which the tiers let it go on */
    unsigned                denied:1;    /* in some location; what follows is
                                            only for the answer */
    ngx_str_t               denied_event;   /* event of the last denial */
    ngx_uint_t              error_pass;  /* the pass made by error_page for
                                            the last denial, not judged; 0:
                                            none */
    ngx_str_t               error_uri;   /* URI of that, before any rewrite */
    unsigned                gated:1;     /* a tier or limit looked at it */
    ngx_adm_wait_t          wait;
    ngx_adm_limits_t       *limits;      /* NULL: none yet */
    ngx_adm_limits_headers_pt  limits_headers;
    ngx_int_t               answer;      /* to strict=on */
    unsigned                answered:1;
    ngx_array_t            *asked;       /* NULL: nothing */

    unsigned                timed:1;     /* waited for Redis's time, once */

    /*
     * the last event that the host had not heard of, and Redis was asked about;
     * len 0: none was
     */
    ngx_str_t               first;
    ngx_msec_t              first_until; /* when answers have to be there */
    unsigned                first_more:1;   /* there is more to ask of it */
    unsigned                first_missed:1; /* there was no answer */

    /*
     * what Redis told the request of a waiting room that the host did not know
     */
    ngx_adm_room_t          room;
    unsigned                room_told:1;
    ngx_uint_t              looked;      /* the pass in which it was asked */

    unsigned                no_store:1;  /* the answer is the module's own */
    unsigned                personal:1;  /* it carries a token, */
    unsigned                given:1;     /* of a new visitor */
    ngx_str_t              *policy;      /* the only Content-Security-Policy
                                            of the module's page; NULL: no
                                            such page */
    ngx_str_t               retry_after; /* of the answer; len 0: none of
                                            ours */
    ngx_array_t            *cors;        /* origins that may read the answer,
                                            which is the module's or a
                                            denial, wherever error_page takes
                                            it; NULL: the site says which */
    const char             *allow;       /* methods, in answer to a
                                            preflight; or NULL */
    ngx_str_t               uri;         /* as it came, see $admission_uri;
                                            len 0: not noted */

    ngx_adm_backend_t      *backend;     /* of backend.c: the measuring of
                                            the backend; NULL: not measured */
    struct ngx_adm_unseen_s    *unseen;  /* of room/unseen.c: passing a room
                                            on standby; NULL: not tried */

    struct ngx_adm_api_call_s  *api;     /* the call that it is */
    struct ngx_adm_stream_s    *stream;  /* that the answer is */
} ngx_adm_ctx_t;


/* the context, of a subrequest that of the main request; NULL: none */
#define ngx_adm_ctx(r)                                                        \
    (ngx_adm_ctx_kept(r) ? ngx_adm_ctx_kept(r) : ngx_adm_ctx_find(r))

/* the same, made if need be; NULL: no memory */
#define ngx_adm_ctx_get(r)                                                    \
    (ngx_adm_ctx_kept(r) ? ngx_adm_ctx_kept(r) : ngx_adm_ctx_make(r))

/* where NGINX keeps it until it is cleared */
#define ngx_adm_ctx_kept(r)                                                   \
    ((ngx_adm_ctx_t *) ngx_http_get_module_ctx((r)->main,                     \
                                               ngx_http_admission_module))

/* for these macros only */
ngx_adm_ctx_t *ngx_adm_ctx_find(ngx_http_request_t *r);
ngx_adm_ctx_t *ngx_adm_ctx_make(ngx_http_request_t *r);

/*
 * what Redis was asked in this pass about an entry token's user; NULL: nothing
 */
ngx_adm_asked_t *ngx_adm_ctx_asked(ngx_http_request_t *r,
    ngx_adm_claims_t *entry);

/* a value depends on itself: user and event are empty for this request */
void ngx_adm_cyclic(ngx_http_request_t *r, ngx_adm_ctx_t *ctx);

/*
 * The event that a request names, by admission_event, in lower case, in
 * r->pool.  NGX_DECLINED: none.  NGX_ABORT: the value is no event's id, and
 * what a backend may read in it is not known; *event is empty.  NGX_ERROR: no
 * memory.
 */
ngx_int_t ngx_adm_request_event(ngx_http_request_t *r, ngx_str_t *event);


#endif /* _NGX_ADM_HTTP_CTX_H_INCLUDED_ */
