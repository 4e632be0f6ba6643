
/*
 * Copyright (C) 2026 the admission module authors
 *
 * A word of an operator's about an event, as the host knows it: pages and
 * answers show it.  Steps of the schedule tell its version, and where that is
 * news the text is fetched: what it costs goes by the number of changes.
 */


#ifndef _NGX_ADM_HOST_NOTICE_H_INCLUDED_
#define _NGX_ADM_HOST_NOTICE_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "../redis/script.h"
#include "zone.h"


#define NGX_ADM_NOTICE_CHARS  500        /* of a language, at most */
#define NGX_ADM_NOTICE_BYTES  (4 * NGX_ADM_NOTICE_CHARS)


typedef struct {
    int64_t      version;                /* us: when it was set, or ended */
    int64_t      at;                     /* s: when it was set; 0: there is
                                            none */
    ngx_str_t    ko;                     /* in the text, as is en; empty: not
                                            in this language */
    ngx_str_t    en;
    u_char       text[2 * NGX_ADM_NOTICE_BYTES];
} ngx_adm_notice_t;


extern ngx_adm_zone_part_t  ngx_adm_notice_part;


/* takes the lock, unless no event has any; NGX_DECLINED: this one has none */
ngx_int_t ngx_adm_notice_get(ngx_str_t *event, ngx_adm_notice_t *notice);

/*
 * Calls of the script.  They return, complete and cancel as those of
 * queue/queue.h do: rc NGX_OK: the notice is what stands, which the host
 * remembers, as of us, Redis's time.
 */
typedef enum {
    NGX_ADM_NOTICE_LOOK = 0,
    NGX_ADM_NOTICE_SET,
    NGX_ADM_NOTICE_UNSET
} ngx_adm_notice_what_e;

typedef void (*ngx_adm_notice_done_pt)(void *data, ngx_int_t rc,
    ngx_adm_notice_t *notice, int64_t us);

ngx_adm_redis_call_t *ngx_adm_notice_call(ngx_adm_notice_what_e what,
    ngx_str_t *ko, ngx_str_t *en, ngx_str_t *event,
    ngx_adm_notice_done_pt done, void *data);

/*
 * A step told its version, 0: there is none; it is fetched if that is news.
 * Returns 1 if it is: it may fail, so that another step is to follow.
 */
ngx_uint_t ngx_adm_notice_heard(ngx_str_t *event, int64_t version);


/* of notice.c, for notice_call.c: takes what Redis says; NGX_DECLINED: there
   is no room for it.  And the version that the host knows, 0: none */
ngx_int_t ngx_adm_notice_note(ngx_str_t *event, ngx_adm_notice_t *notice);
int64_t ngx_adm_notice_version(ngx_str_t *event);


#endif /* _NGX_ADM_HOST_NOTICE_H_INCLUDED_ */
