
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Keys as members of JWK sets (RFC 7517, RFC 7518, 6, and RFC 8037, 2).
 */


#ifndef _NGX_ADM_TOKEN_JWK_H_INCLUDED_
#define _NGX_ADM_TOKEN_JWK_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include <jansson.h>

#include "pubkey.h"


#define NGX_ADM_KID_MAX       256        /* bytes */


/*
 * Reads a JWK into key, but for its kid.  NULL: a key, for the caller to free;
 * else why it is none, a constant text: ngx_adm_jwk_other if that is no error.
 */
const char *ngx_adm_jwk_read(json_t *jwk, ngx_adm_pubkey_t *key);

/* a member; data NULL: it has none of that name that is a text */
void ngx_adm_jwk_text(json_t *jwk, const char *name, ngx_str_t *text);


/* the key is for others */
extern const char  ngx_adm_jwk_other[];


#endif /* _NGX_ADM_TOKEN_JWK_H_INCLUDED_ */
