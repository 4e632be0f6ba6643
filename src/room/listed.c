
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Which events hosts tell each other of, in the list of active events, and
 * when.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "../host/room_list.h"
#include "../host/sale.h"
#include "listed.h"


static void ngx_adm_room_listed_missing(ngx_str_t *event);


static ngx_str_t  ngx_adm_room_listed_key = ngx_string("vwr:active-events");


ngx_adm_redis_call_t *
ngx_adm_room_listed_all(ngx_adm_redis_done_pt done, void *data)
{
    return ngx_adm_set_call("SMEMBERS", &ngx_adm_room_listed_key, NULL, done,
                            data);
}


ngx_adm_redis_call_t *
ngx_adm_room_listed_add(ngx_str_t *event, ngx_adm_redis_done_pt done,
    void *data)
{
    return ngx_adm_set_call("SADD", &ngx_adm_room_listed_key, event, done,
                            data);
}


ngx_adm_redis_call_t *
ngx_adm_room_listed_remove(ngx_str_t *event, ngx_adm_redis_done_pt done,
    void *data)
{
    return ngx_adm_set_call("SREM", &ngx_adm_room_listed_key, event, done,
                            data);
}


void
ngx_adm_room_listed_active(ngx_str_t *event)
{
    ngx_adm_set_add(&ngx_adm_room_listed_key, event, ngx_adm_room_unmark);
}


void
ngx_adm_room_listed_again(ngx_str_t *event)
{
    ngx_adm_set_add(&ngx_adm_room_listed_key, event,
                    ngx_adm_room_listed_missing);
}


static void
ngx_adm_room_listed_missing(ngx_str_t *event)
{
    ngx_adm_room_unmark(event);
    ngx_adm_sale_unmark(event);
}


void
ngx_adm_room_listed_sale(ngx_str_t *event)
{
    if (ngx_adm_sale_mark(event)) {
        ngx_adm_set_add(&ngx_adm_room_listed_key, event, ngx_adm_sale_unmark);
    }
}
