
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The way of a visitor through a waiting room on standby, while that is unseen.
 */


#ifndef _NGX_ADM_ROOM_UNSEEN_H_INCLUDED_
#define _NGX_ADM_ROOM_UNSEEN_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../host/settings.h"


/*
 * For the gate, of a request that shows no token of the activation.  NGX_OK:
 * it passes, and its answer carries a token; that is counted once a request,
 * whatever locations it comes to.  NGX_AGAIN: it waits in its phase, a second
 * at most.  NGX_DECLINED: the request is no page of a browser's, its address
 * is over assign_rate=, or the room shows; NGX_ERROR: no memory.
 */
ngx_int_t ngx_adm_room_unseen(ngx_http_request_t *r, ngx_str_t *event,
    ngx_adm_event_conf_t *conf, int64_t activation);


#endif /* _NGX_ADM_ROOM_UNSEEN_H_INCLUDED_ */
