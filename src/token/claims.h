
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The kinds of signed tokens (docs/api.md: Tokens): what each must say to be
 * one, and what a verified one says.  Knows no request.
 *
 * Tokens that verified are remembered by all their bytes (verified.c): a token
 * seen before costs a hash and a comparison in constant time.
 */


#ifndef _NGX_ADM_TOKEN_CLAIMS_H_INCLUDED_
#define _NGX_ADM_TOKEN_CLAIMS_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "key.h"


#define NGX_ADM_USER_MAX     256          /* bytes of a user id */
#define NGX_ADM_EVENT_MAX    64           /* bytes of an event id */
#define NGX_ADM_LEEWAY       5            /* s, of exp and nbf, but for users
                                             where the configuration says so */


typedef enum {
    NGX_ADM_TOKEN_TIER1 = 0,
    NGX_ADM_TOKEN_TIER2,
    NGX_ADM_TOKEN_USER,
    NGX_ADM_TOKEN_VISITOR,
    NGX_ADM_TOKEN_TICKET,
    NGX_ADM_TOKEN_PLACE,
    NGX_ADM_TOKEN_KINDS } ngx_adm_token_e;


typedef struct {
    ngx_str_t                   sub;        /* event, in lower case */
    ngx_str_t                   uid;        /* user; of a user token its id;
                                               empty: absent */
    ngx_str_t                   vis;        /* visitor */
    ngx_str_t                   email;
    ngx_str_t                   role;       /* of a list of them all, joined by
                                               commas */
    ngx_uint_t                  admin;      /* bool: it is, or has, "admin" */

    int64_t                     tier;       /* 0: absent */
    int64_t                     position;   /* 0: absent */

    /* microseconds on the event's clock; 0: absent */
    int64_t                     at;         /* time of issue of the ticket, of a
                                               place its own */
    int64_t                     ticket;     /* of a tier 1 token without it:
                                               what at was */
    int64_t                     act;        /* activation */
    int64_t                     adm;        /* admission, or turn */
    int64_t                     score;      /* of a place */
    int64_t                     epoch;      /* of a place */

    int64_t                     lots;       /* of a drawn lot's token: how many
                                               there were, */
    int64_t                     drawn;      /* when they were counted (us), */
    ngx_str_t                   beacon;     /* and the beacon, in hexadecimal;
                                               empty: there was none */

    int64_t                     cookie;     /* of a visitor: the attributes that
                                               its cookie got (http/cookie.h);
                                               0: absent */

    /* seconds since 1970; 0: absent */
    int64_t                     iat;
    int64_t                     exp;
    int64_t                     nbf;

    ngx_uint_t                  older;      /* an entry token that was found in
                                               a request: it is of an earlier
                                               life of the data */
    ngx_str_t                   token;      /* in the request, if the claims are
                                               of a request */
} ngx_adm_claims_t;


typedef struct {
    ngx_adm_token_e      kind;
    ngx_adm_keyring_t   *keys;   /* NULL: nothing verifies */
    ngx_uint_t           algs;   /* mask; HS256 but for users, and for what an
                                    older issuer signed */
    time_t               leeway; /* s, of exp and nbf */

    /* names of the claims of user tokens, or paths of names, null-terminated;
       empty: the defaults */
    ngx_str_t            id;
    ngx_str_t            email;
    ngx_str_t            role;
    ngx_str_t            type;   /* what "type" must say, if there; empty: not
                                    looked at */
    ngx_str_t            iss;    /* what "iss" must say; empty: not looked at */
    ngx_str_t            aud;    /* of which "aud" must have one, separated by
                                    commas; likewise */
} ngx_adm_verifier_t;


/*
 * Verifies a token that an address shows (NULL: nobody's, see effort.h) at the
 * time now (seconds, Redis's).  NGX_OK: *claims is allocated from pool, its
 * strings too.  NGX_DECLINED: it is no token of this kind, *why says so in a
 * constant text.  NGX_ERROR: no memory.
 */
ngx_int_t ngx_adm_token_verify(ngx_adm_verifier_t *v, ngx_str_t *token,
    struct sockaddr *client, time_t now, ngx_pool_t *pool,
    ngx_adm_claims_t **claims, const char **why);

/*
 * Signs those of the claims that the kind has and that are present; the
 * token is allocated from pool.  NGX_ERROR: no memory, or OpenSSL failed.
 */
ngx_int_t ngx_adm_token_sign(ngx_adm_token_e kind, ngx_adm_keyring_t *keys,
    ngx_adm_claims_t *claims, ngx_pool_t *pool, ngx_str_t *token);

/*
 * Checks an event id ([A-Za-z0-9._-]{1,64}) and folds it to lower case into
 * dst, which has room for id->len bytes and may be id->data.
 * NGX_DECLINED: it is none.
 */
ngx_int_t ngx_adm_event_id(ngx_str_t *id, u_char *dst);

/* whether an id is a user's: 1 to 256 bytes, no control characters, UTF-8 */
ngx_uint_t ngx_adm_is_user_id(ngx_str_t *id);

/* UTF-8 without control characters: C0, DEL and C1 */
ngx_uint_t ngx_adm_is_text(ngx_str_t *s);


#endif /* _NGX_ADM_TOKEN_CLAIMS_H_INCLUDED_ */
