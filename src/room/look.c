
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Looks at waiting rooms that the host does not know.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "calls.h"


static ngx_adm_redis_call_t *ngx_adm_room_look_call(ngx_str_t *event,
    ngx_adm_event_conf_t *conf, ngx_adm_look_out_t *out);
static void ngx_adm_room_look_done(void *data, ngx_int_t rc, int64_t changed,
    ngx_adm_room_t *room);


static ngx_adm_look_kind_t  ngx_adm_room_looks = {
    .call = ngx_adm_room_look_call };


ngx_adm_look_t *
ngx_adm_room_look_at(ngx_str_t *event, ngx_adm_event_conf_t *conf,
    ngx_adm_look_done_pt done, void *data)
{
    return ngx_adm_look_at(&ngx_adm_room_looks, event, conf, done, data);
}


static ngx_adm_redis_call_t *
ngx_adm_room_look_call(ngx_str_t *event, ngx_adm_event_conf_t *conf,
    ngx_adm_look_out_t *out)
{
    return ngx_adm_room_calls_admin(NGX_ADM_ROOM_CALL_LOOK, 0, event, conf,
                                    ngx_adm_room_look_done, out);
}


static void
ngx_adm_room_look_done(void *data, ngx_int_t rc, int64_t changed,
    ngx_adm_room_t *room)
{
    ngx_adm_look_told(data, rc, room);
}
