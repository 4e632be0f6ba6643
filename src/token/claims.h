
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The kinds of signed tokens (docs/api.md: Tokens): what a token of each kind
 * has to say, and what a verified one says.  Knows no request.
 *
 * Tokens that verified are remembered by all their bytes (verified.c): for a
 * token seen before it takes a hash and a comparison in constant time.
 */


#ifndef _NGX_ADM_TOKEN_CLAIMS_H_INCLUDED_
#define _NGX_ADM_TOKEN_CLAIMS_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "key.h"


#define NGX_ADM_USER_MAX     256          /* bytes of a user id */
#define NGX_ADM_EVENT_MAX    64           /* bytes of an event id */
#define NGX_ADM_LEEWAY       5            /* s, for exp and nbf; of users'
                                             tokens the configuration may say
                                             another */


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
    ngx_str_t                   role;       /* several roles are joined by
                                               commas */
    ngx_uint_t                  admin;      /* bool: "admin" is the role, or
                                               one of them */

    int64_t                     tier;       /* 0: absent */
    int64_t                     position;   /* 0: absent */

    /* microseconds on the event's clock; 0: absent */
    int64_t                     at;         /* when the ticket was issued; of a
                                               place, when that was */
    int64_t                     ticket;     /* of a tier 1 token without at:
                                               what that was */
    int64_t                     act;        /* the activation */
    int64_t                     adm;        /* when let in, or when the turn
                                               came */
    int64_t                     score;      /* of a place */
    int64_t                     epoch;      /* of a place */

    int64_t                     lots;       /* of a drawn lot's token: how
                                               many lots, */
    int64_t                     drawn;      /* when these were counted (us), */
    ngx_str_t                   beacon;     /* and the beacon, in
                                               hexadecimal; empty: none */

    int64_t                     cookie;     /* of a visitor: attributes of
                                               its cookie (http/cookie.h); 0:
                                               absent */

    /* seconds since 1970; 0: absent */
    int64_t                     iat;
    int64_t                     exp;
    int64_t                     nbf;

    ngx_uint_t                  older;      /* set by the search in a
                                               request: an entry token of an
                                               earlier epoch */
    ngx_str_t                   token;      /* text of the token, if a
                                               request showed it */
} ngx_adm_claims_t;


typedef struct {
    ngx_adm_token_e      kind;
    ngx_adm_keyring_t   *keys;   /* NULL: nothing verifies */
    ngx_uint_t           algs;   /* mask; HS256, but for users, and for what
                                    an older issuer signed */
    time_t               leeway; /* s, of exp and nbf */

    /*
     * of user tokens: names of claims, or paths of names, null-terminated;
     * empty: the defaults
     */
    ngx_str_t            id;
    ngx_str_t            email;
    ngx_str_t            role;
    ngx_str_t            type;   /* that a "type" claim must have; empty: any */
    ngx_str_t            iss;    /* that "iss" must be; empty: any */
    ngx_str_t            aud;    /* of which "aud" must have one, separated
                                    by commas; empty: any */
} ngx_adm_verifier_t;


/*
 * Verifies a token, shown from an address (of ngx_adm_effort_client()), at the
 * time now (s, Redis's).  NGX_OK: *claims is in pool, its strings too.
 * NGX_DECLINED: it is no token of this kind; *why says so, a constant text.
 * NGX_ERROR: no memory.
 */
ngx_int_t ngx_adm_token_verify(ngx_adm_verifier_t *v, ngx_str_t *token,
    struct sockaddr *client, time_t now, ngx_pool_t *pool,
    ngx_adm_claims_t **claims, const char **why);

/*
 * Signs the claims that a kind has, as far as they are present; the token is
 * in pool.  NGX_ERROR: no memory, or OpenSSL failed.
 */
ngx_int_t ngx_adm_token_sign(ngx_adm_token_e kind, ngx_adm_keyring_t *keys,
    ngx_adm_claims_t *claims, ngx_pool_t *pool, ngx_str_t *token);

/*
 * Checks the id of an event ([A-Za-z0-9._-]{1,64}), and folds it to lower case
 * into dst, which has room for id->len bytes and may be id->data.
 * NGX_DECLINED: it is no id.
 */
ngx_int_t ngx_adm_event_id(ngx_str_t *id, u_char *dst);

/*
 * whether a text may be a user's id: 1 to 256 bytes, UTF-8, no control
 * characters
 */
ngx_uint_t ngx_adm_is_user_id(ngx_str_t *id);

/* whether a text is UTF-8 without control characters (C0, DEL, C1) */
ngx_uint_t ngx_adm_is_text(ngx_str_t *s);


#endif /* _NGX_ADM_TOKEN_CLAIMS_H_INCLUDED_ */
