
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The public call that tells of a draw all that it takes to check it.
 */


#ifndef _NGX_ADM_ROOM_DRAW_API_H_INCLUDED_
#define _NGX_ADM_ROOM_DRAW_API_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../http/api.h"
#include "../token/draw.h"


/* handler of a route */
ngx_int_t ngx_adm_draw_handler(ngx_adm_api_call_t *call);

/* member of "status": the commitment, or an empty text; null-terminated */
#define NGX_ADM_DRAW_MEMBER  (sizeof(",\"commitment\":\"\"")                   \
                              + 2 * NGX_ADM_DRAW_SIZE)

void ngx_adm_draw_member(ngx_str_t *event, ngx_adm_room_t *room, u_char *text);

/* whether lots of the event are drawn, or are going to be */
ngx_uint_t ngx_adm_draw_is(ngx_adm_room_t *room, ngx_adm_event_conf_t *conf);

/*
 * The JSON of a draw; *made: it has been made, and the JSON will be the same
 * from now on.  NGX_ERROR: no memory, or OpenSSL failed.
 */
ngx_int_t ngx_adm_draw_json(ngx_pool_t *pool, ngx_adm_loc_conf_t *lcf,
    ngx_str_t *event, ngx_adm_event_conf_t *conf, ngx_adm_room_t *room,
    ngx_str_t *json, ngx_uint_t *made);


#endif /* _NGX_ADM_ROOM_DRAW_API_H_INCLUDED_ */
