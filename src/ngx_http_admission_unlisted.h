
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Events that no operator named: neither by a line of their own nor by a
 * setting.  Anybody may make their ids up, so about so many of them may have
 * users at a time ("unlisted=" of the "default" line), a user may be in a few
 * of them and an address in some more, all as this host knows it.  The bounds
 * are on joining alone: who is in, or shows a place that counts, goes on.
 *
 * An event counts while it has users, and from when somebody is about to join
 * it.  Shares are kept in the zone, as hashes: of a user the events, for as
 * long as it may be in them without being heard of, each counted in the share
 * of the address that it was joined from.  Those unused for longest go if
 * there are too many: then the bound on all events still holds.
 *
 * Functions take and release the zone's lock themselves, briefly.
 */


#ifndef _NGX_HTTP_ADMISSION_UNLISTED_H_INCLUDED_
#define _NGX_HTTP_ADMISSION_UNLISTED_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_admission_conf.h"


#define NGX_HTTP_ADMISSION_UNLISTED_USER     4      /* events of a user, */
#define NGX_HTTP_ADMISSION_UNLISTED_ADDRESS  16     /* and of an address */


typedef enum {
    NGX_HTTP_ADMISSION_BOUND_NONE = 0,
    NGX_HTTP_ADMISSION_BOUND_EVENTS,
    NGX_HTTP_ADMISSION_BOUND_USER,
    NGX_HTTP_ADMISSION_BOUND_ADDRESS,
    NGX_HTTP_ADMISSION_BOUNDS
} ngx_http_admission_bound_e;


/* a user who calls about an event that has no line of its own */
typedef struct {
    ngx_str_t                   event;
    ngx_str_t                   user;
    ngx_str_t                   address;    /* empty: it has none */

    /* what ngx_http_admission_unlisted_join() took, to be given back */
    unsigned                    charged:1;
    unsigned                    fresh:1;    /* the id was new */
    unsigned                    reserved:1;
} ngx_http_admission_guest_t;


typedef struct {
    ngx_uint_t                  events;     /* that count */
    uint64_t                    refused[NGX_HTTP_ADMISSION_BOUNDS];
} ngx_http_admission_unlisted_counts_t;


/* the configuration of this worker; when it starts */
void ngx_http_admission_unlisted_use(ngx_http_admission_main_conf_t *mcf);

/*
 * Whether the guest may join the event, and if so takes what that takes; with
 * dry_run it does so in any case.  Otherwise says which bound is in the way;
 * *empty: nobody is in the event, as the host knows, and so not the guest.  Of
 * ids that it does not know it says so as well, but for a few a second, which
 * an operator may have named elsewhere.
 */
ngx_http_admission_bound_e ngx_http_admission_unlisted_join(
    ngx_http_admission_guest_t *guest, ngx_uint_t dry_run, ngx_uint_t *empty);

/*
 * What became of a call: the guest is in, or waits; is not (left is 0), or
 * will not be in so many ms unless it is heard of; nobody knows, since no
 * answer came, or since the call was not sent.
 */
void ngx_http_admission_unlisted_in(ngx_http_admission_guest_t *guest);
void ngx_http_admission_unlisted_out(ngx_http_admission_guest_t *guest,
    ngx_msec_t left);
void ngx_http_admission_unlisted_failed(ngx_http_admission_guest_t *guest,
    ngx_uint_t sent);

/* counts a refusal; returns 1 if it is to be logged: once a second */
ngx_uint_t ngx_http_admission_unlisted_refused(
    ngx_http_admission_bound_e bound);

void ngx_http_admission_unlisted_counts(
    ngx_http_admission_unlisted_counts_t *counts);


#endif /* _NGX_HTTP_ADMISSION_UNLISTED_H_INCLUDED_ */
