
/*
 * Copyright (C) 2026 the admission module authors
 *
 * A notice of an operator's about an event, as the host knows it: pages and
 * answers show it.  Steps of the schedule tell its version; if that is news
 * the text is fetched, so that it costs as much as it changes.
 */


#ifndef _NGX_ADM_HOST_NOTICE_H_INCLUDED_
#define _NGX_ADM_HOST_NOTICE_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "record.h"


#define NGX_ADM_NOTICE_CHARS  500        /* of a language, at most */
#define NGX_ADM_NOTICE_BYTES  (4 * NGX_ADM_NOTICE_CHARS)


typedef struct {
    int64_t      version;                /* us: when it was set, or ended */
    int64_t      at;                     /* s: when it was set; 0: there is
                                            none */
    u_short      ko_len;
    u_short      en_len;
    u_char       text[2 * NGX_ADM_NOTICE_BYTES];

    /* the zone keeps the value as far as the text goes */

    ngx_str_t    ko;                     /* in text, as is en; empty: not in
                                            this language */
    ngx_str_t    en;
} ngx_adm_notice_t;


extern ngx_adm_record_t  ngx_adm_notice_record;


/* sets ko and en to where they are in the text */
static ngx_inline void
ngx_adm_notice_texts(ngx_adm_notice_t *notice)
{
    notice->ko.len = notice->ko_len;
    notice->ko.data = notice->text;
    notice->en.len = notice->en_len;
    notice->en.data = notice->text + notice->ko_len;
}

/* takes the lock if any event has one; NGX_DECLINED: this event has none */
static ngx_inline ngx_int_t
ngx_adm_notice_get(ngx_str_t *event, ngx_adm_notice_t *notice)
{
    if (ngx_adm_record_get(&ngx_adm_notice_record, event, notice) != NGX_OK) {
        return NGX_DECLINED;
    }

    ngx_adm_notice_texts(notice);

    return NGX_OK;
}

#define ngx_adm_notice_version(event)                                         \
    ngx_adm_record_version(&ngx_adm_notice_record, event)

/* a step told its version */
#define ngx_adm_notice_heard(event, version)                                  \
    ngx_adm_record_heard_of(&ngx_adm_notice_record, event, version)


#endif /* _NGX_ADM_HOST_NOTICE_H_INCLUDED_ */
