
/*
 * Copyright (C) 2026 the admission module authors
 *
 * All calls of the HTTP APIs.  Whoever adds one adds a line here and has a
 * handler get it; http/api.h says what the fields are.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../http/follow.h"
#include "../queue/api.h"
#include "../queue/queue.h"
#include "../queue/record.h"
#include "../room/admin_api.h"
#include "../room/admin_list.h"
#include "../room/api.h"
#include "../room/calls.h"
#include "../room/draw_api.h"
#include "api_routes.h"


/* methods, and the same in words */

#define READ    NGX_HTTP_GET|NGX_HTTP_HEAD, "GET, HEAD"
#define POST    NGX_HTTP_POST, "POST"
#define RECORD  NGX_HTTP_GET|NGX_HTTP_HEAD|NGX_HTTP_PUT|NGX_HTTP_DELETE,      \
                "GET, HEAD, PUT, DELETE"


/* what operators ask of an event, and set, at the locations of both tiers */

#define EVENT_ROUTES(prefix)                                                  \
    { prefix "backend/*", READ, ngx_adm_follow_handler, 0, 0 },               \
    { prefix "hold/*", RECORD, ngx_adm_hold_handler, 0, 0 },                  \
    { prefix "notice/*", RECORD, ngx_adm_notice_handler, 0, 0 },              \
    { prefix "schedule/*", RECORD, ngx_adm_sale_handler, 0, 0 },              \
    { prefix "draw/*", NGX_HTTP_GET|NGX_HTTP_HEAD|NGX_HTTP_POST,              \
      "GET, HEAD, POST", ngx_adm_beacon_handler, 0, 0 },                      \
    { prefix "slots/*", RECORD, ngx_adm_queue_admin_handler,                  \
      NGX_ADM_QUEUE_SET_SLOTS, 0 }


const ngx_adm_route_t  ngx_adm_queue_routes[] = {

    { "check/*", POST, ngx_adm_queue_check_handler,
      NGX_ADM_QUEUE_CHECK, 0 },

    { "status/*", READ, ngx_adm_queue_check_handler,
      NGX_ADM_QUEUE_STATUS, 0 },

    { "stream/*", READ, ngx_adm_queue_stream_handler, 0, 0 },

    { "heartbeat/*", POST, ngx_adm_queue_check_handler,
      NGX_ADM_QUEUE_HEARTBEAT, 0 },

    { "leave/*", NGX_HTTP_POST|NGX_HTTP_DELETE, "POST, DELETE",
      ngx_adm_queue_leave_handler, 0, 0 },

    { "complete/*", POST, ngx_adm_queue_complete_handler,
      NGX_ADM_BY_USER, 0 },

    { NULL, 0, NULL, NULL, 0, 0 }
};


/*
 * Operators' calls and users' have locations of their own, and none answers
 * the others': what is asked of who joins is what the users' one says.
 */

const ngx_adm_route_t  ngx_adm_queue_admin_routes[] = {

    { "admin/clear/*", POST, ngx_adm_queue_admin_handler,
      NGX_ADM_QUEUE_CLEAR, 0 },

    { "admin/threshold/*",
      NGX_HTTP_PUT|NGX_HTTP_POST|NGX_HTTP_DELETE, "PUT, POST, DELETE",
      ngx_adm_queue_admin_handler,
      NGX_ADM_QUEUE_SET_THRESHOLD, 0 },

    EVENT_ROUTES("admin/"),

    { "admin/complete/*", POST, ngx_adm_queue_complete_handler,
      NGX_ADM_BY_OPERATOR, 0 },

    { "admin/*", READ, ngx_adm_queue_admin_handler,
      NGX_ADM_QUEUE_LOOK, 0 },

    { NULL, 0, NULL, NULL, 0, 0 }
};


const ngx_adm_route_t  ngx_adm_room_routes[] = {

    { "assign/*", POST, ngx_adm_assign_handler, 0, 0 },
    { "check/*/*", READ, ngx_adm_room_check_handler, 0, 0 },
    { "leave/*/*", POST, ngx_adm_room_leave_handler, 0, 0 },
    { "stream/*/*", READ, ngx_adm_room_stream_handler, 0, 0 },
    { "status/*", READ, ngx_adm_room_status_handler, 0, 1 },
    { "draw/*", READ, ngx_adm_draw_handler, 0, 0 },

    { NULL, 0, NULL, NULL, 0, 0 }
};


const ngx_adm_route_t  ngx_adm_admin_routes[] = {

    { "activate/*", POST, ngx_adm_admin_handler,
      NGX_ADM_ROOM_CALL_ACTIVATE, 1 },

    { "deactivate/*", POST, ngx_adm_admin_handler,
      NGX_ADM_ROOM_CALL_DEACTIVATE, 0 },

    { "status/*", READ, ngx_adm_admin_handler,
      NGX_ADM_ROOM_CALL_LOOK, 0 },

    { "advance/*", POST, ngx_adm_admin_handler,
      NGX_ADM_ROOM_CALL_ADVANCE, 0 },

    { "rate/*", NGX_HTTP_PUT|NGX_HTTP_DELETE, "PUT, DELETE",
      ngx_adm_admin_handler,
      NGX_ADM_ROOM_CALL_SET_RATE, 0 },

    EVENT_ROUTES(""),

    { "status", READ, ngx_adm_admin_list, 0, 0 },

    { NULL, 0, NULL, NULL, 0, 0 }
};
