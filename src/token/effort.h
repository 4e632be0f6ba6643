
/*
 * Copyright (C) 2026 the admission module authors
 *
 * How much of a worker's time goes to signatures of public keys that turn out
 * to be wrong, or right in a token that is none all the same: anybody can send
 * such, or who once had one that counted, and they cost more than a request.
 * An address may take a fiftieth; once all together took a quarter, an address
 * that has just shown one has to wait.  What is right costs nothing here.
 */


#ifndef _NGX_ADM_TOKEN_EFFORT_H_INCLUDED_
#define _NGX_ADM_TOKEN_EFFORT_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>


/* as a worker starts; NGX_ERROR: no random numbers */
ngx_int_t ngx_adm_effort_init(void);

/* whose signatures come next; it is looked at until they are verified.  NULL:
   nobody's, which are verified in any case */
void ngx_adm_effort_client(struct sockaddr *sockaddr);

/* a signature is to be verified: returns 0 if it is not to be looked at */
ngx_uint_t ngx_adm_effort_begin(void);

/* it was wrong, or in vain; counts once */
void ngx_adm_effort_wasted(void);


#endif /* _NGX_ADM_TOKEN_EFFORT_H_INCLUDED_ */
