
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
 * Reads a JWK into key, but for its kid.  NULL: key is set, for the caller to
 * free; else why it is no key, a constant text; ngx_adm_jwk_other: that is no
 * error.
 */
const char *ngx_adm_jwk_read(json_t *jwk, ngx_adm_pubkey_t *key);

/* a member that is a text; data NULL: there is none */
void ngx_adm_jwk_text(json_t *jwk, const char *name, ngx_str_t *text);


/* the key is for other things */
extern const char  ngx_adm_jwk_other[];


#endif /* _NGX_ADM_TOKEN_JWK_H_INCLUDED_ */
