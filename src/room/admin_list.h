
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The operators' call about all events at once.
 */


#ifndef _NGX_ADM_ROOM_ADMIN_LIST_H_INCLUDED_
#define _NGX_ADM_ROOM_ADMIN_LIST_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../host/event.h"
#include "../http/api.h"


ngx_int_t ngx_adm_admin_list(ngx_adm_api_call_t *call);

/*
 * Puts what share of people come when it is their turn, as a member of JSON
 * with a comma in front; nothing where that is not looked at, or not known.
 */
#define NGX_ADM_ROOM_COME  (sizeof(",\"comePercent\":") + NGX_INT64_LEN)

u_char *ngx_adm_room_come(u_char *p, u_char *last, ngx_adm_room_t *room);


#endif /* _NGX_ADM_ROOM_ADMIN_LIST_H_INCLUDED_ */
