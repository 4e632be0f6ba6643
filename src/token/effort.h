
/*
 * Copyright (C) 2026 the admission module authors
 *
 * How much of a worker's time goes to public-key signatures that turn out to
 * be wrong, or right on a token that is not good anyway.  Anybody can send
 * wrong ones, and whoever once had a good token the other ones, and they cost
 * more than a request.  An address may take a fiftieth; once all together took
 * a quarter, an address that has just shown one has to wait.  Good tokens cost
 * nothing here.
 */


#ifndef _NGX_ADM_TOKEN_EFFORT_H_INCLUDED_
#define _NGX_ADM_TOKEN_EFFORT_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>


/* to be called when a worker starts; NGX_ERROR: no random numbers */
ngx_int_t ngx_adm_effort_init(void);

/*
 * from where the next signatures come; sockaddr stays until they are verified;
 * NULL: from nowhere, and they are verified in any case
 */
void ngx_adm_effort_client(struct sockaddr *sockaddr);

/* a signature is about to be verified; returns 0 if it has to be left */
ngx_uint_t ngx_adm_effort_begin(void);

/* that signature was wrong, or of no use; counts once */
void ngx_adm_effort_wasted(void);


#endif /* _NGX_ADM_TOKEN_EFFORT_H_INCLUDED_ */
