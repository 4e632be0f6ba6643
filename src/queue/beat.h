
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What users have to say to Redis although nobody asked it about them: many in
 * one call, in the order in which they said it.
 */


#ifndef _NGX_ADM_QUEUE_BEAT_H_INCLUDED_
#define _NGX_ADM_QUEUE_BEAT_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "queue.h"


/*
 * The heartbeat of a user whom the host told how it stands, by a place.  If
 * the line does not have the user at that score, Redis puts it there if the
 * place counts; if not, the user is to ask the next time. away: of a page that
 * nobody looks at.  NGX_ERROR: no memory.
 */
ngx_int_t ngx_adm_beat(ngx_str_t *event, ngx_adm_event_conf_t *conf,
    ngx_str_t *user, ngx_adm_claims_t *place, ngx_uint_t away);

/*
 * The gate took a verified entry token of the user, who by that has come.  It
 * is reported only when _is_due() says so, which is now and then.
 */
ngx_uint_t ngx_adm_beat_is_due(ngx_adm_event_conf_t *conf,
    ngx_adm_claims_t *entry);
void ngx_adm_beat_come(ngx_adm_event_conf_t *conf, ngx_adm_claims_t *entry);

/*
 * the user closed a stream, and leaves if nothing is heard of it for so many
 * ms
 */
void ngx_adm_beat_close(ngx_str_t *event, ngx_adm_event_conf_t *conf,
    ngx_str_t *user, ngx_msec_t after);


#endif /* _NGX_ADM_QUEUE_BEAT_H_INCLUDED_ */
