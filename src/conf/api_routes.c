
/*
 * Copyright (C) 2026 the admission module authors
 *
 * All calls of the HTTP APIs, a row each; http/api.h says what the fields are.
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


const ngx_adm_route_t  ngx_adm_queue_routes[] = {

    { "check/*",
      NGX_HTTP_POST, "POST",
      ngx_adm_queue_check_handler,
      NGX_ADM_QUEUE_CHECK, 0 },

    { "status/*",
      NGX_HTTP_GET|NGX_HTTP_HEAD, "GET, HEAD",
      ngx_adm_queue_check_handler,
      NGX_ADM_QUEUE_STATUS, 0 },

    { "stream/*",
      NGX_HTTP_GET|NGX_HTTP_HEAD, "GET, HEAD",
      ngx_adm_queue_stream_handler, 0, 0 },

    { "heartbeat/*",
      NGX_HTTP_POST, "POST",
      ngx_adm_queue_check_handler,
      NGX_ADM_QUEUE_HEARTBEAT, 0 },

    { "leave/*",
      NGX_HTTP_POST|NGX_HTTP_DELETE, "POST, DELETE",
      ngx_adm_queue_leave_handler, 0, 0 },

    { "complete/*",
      NGX_HTTP_POST, "POST",
      ngx_adm_queue_complete_handler,
      NGX_ADM_BY_USER, 0 },

    { NULL, 0, NULL, NULL, 0, 0 }
};


/*
 * Operators' calls and users' have locations of their own, and none answers
 * the others': what is asked of who joins is what the users' one says.
 */

const ngx_adm_route_t  ngx_adm_queue_admin_routes[] = {

    { "admin/clear/*",
      NGX_HTTP_POST, "POST",
      ngx_adm_queue_admin_handler,
      NGX_ADM_QUEUE_CLEAR, 0 },

    { "admin/threshold/*",
      NGX_HTTP_PUT|NGX_HTTP_POST|NGX_HTTP_DELETE, "PUT, POST, DELETE",
      ngx_adm_queue_admin_handler,
      NGX_ADM_QUEUE_SET_THRESHOLD, 0 },

    { "admin/backend/*",
      NGX_HTTP_GET|NGX_HTTP_HEAD, "GET, HEAD",
      ngx_adm_follow_handler, 0, 0 },

    { "admin/hold/*",
      NGX_HTTP_GET|NGX_HTTP_HEAD|NGX_HTTP_PUT|NGX_HTTP_DELETE,
      "GET, HEAD, PUT, DELETE",
      ngx_adm_hold_handler, 0, 0 },

    { "admin/notice/*",
      NGX_HTTP_GET|NGX_HTTP_HEAD|NGX_HTTP_PUT|NGX_HTTP_DELETE,
      "GET, HEAD, PUT, DELETE",
      ngx_adm_notice_handler, 0, 0 },

    { "admin/schedule/*",
      NGX_HTTP_GET|NGX_HTTP_HEAD|NGX_HTTP_PUT|NGX_HTTP_DELETE,
      "GET, HEAD, PUT, DELETE",
      ngx_adm_sale_handler, 0, 0 },

    { "admin/draw/*",
      NGX_HTTP_GET|NGX_HTTP_HEAD|NGX_HTTP_POST, "GET, HEAD, POST",
      ngx_adm_beacon_handler, 0, 0 },

    { "admin/slots/*",
      NGX_HTTP_GET|NGX_HTTP_HEAD|NGX_HTTP_PUT|NGX_HTTP_DELETE,
      "GET, HEAD, PUT, DELETE",
      ngx_adm_queue_admin_handler,
      NGX_ADM_QUEUE_SET_SLOTS, 0 },

    { "admin/complete/*",
      NGX_HTTP_POST, "POST",
      ngx_adm_queue_complete_handler,
      NGX_ADM_BY_OPERATOR, 0 },

    { "admin/*",
      NGX_HTTP_GET|NGX_HTTP_HEAD, "GET, HEAD",
      ngx_adm_queue_admin_handler,
      NGX_ADM_QUEUE_LOOK, 0 },

    { NULL, 0, NULL, NULL, 0, 0 }
};


const ngx_adm_route_t  ngx_adm_room_routes[] = {

    { "assign/*",
      NGX_HTTP_POST, "POST",
      ngx_adm_assign_handler, 0, 0 },

    { "check/*/*",
      NGX_HTTP_GET|NGX_HTTP_HEAD, "GET, HEAD",
      ngx_adm_room_check_handler, 0, 0 },

    { "leave/*/*",
      NGX_HTTP_POST, "POST",
      ngx_adm_room_leave_handler, 0, 0 },

    { "stream/*/*",
      NGX_HTTP_GET|NGX_HTTP_HEAD, "GET, HEAD",
      ngx_adm_room_stream_handler, 0, 0 },

    { "status/*",
      NGX_HTTP_GET|NGX_HTTP_HEAD, "GET, HEAD",
      ngx_adm_room_status_handler, 0, 1 },

    { "draw/*",
      NGX_HTTP_GET|NGX_HTTP_HEAD, "GET, HEAD",
      ngx_adm_draw_handler, 0, 0 },

    { NULL, 0, NULL, NULL, 0, 0 }
};


const ngx_adm_route_t  ngx_adm_admin_routes[] = {

    { "activate/*",
      NGX_HTTP_POST, "POST",
      ngx_adm_admin_handler,
      NGX_ADM_ROOM_CALL_ACTIVATE, 1 },

    { "deactivate/*",
      NGX_HTTP_POST, "POST",
      ngx_adm_admin_handler,
      NGX_ADM_ROOM_CALL_DEACTIVATE, 0 },

    { "status/*",
      NGX_HTTP_GET|NGX_HTTP_HEAD, "GET, HEAD",
      ngx_adm_admin_handler,
      NGX_ADM_ROOM_CALL_LOOK, 0 },

    { "advance/*",
      NGX_HTTP_POST, "POST",
      ngx_adm_admin_handler,
      NGX_ADM_ROOM_CALL_ADVANCE, 0 },

    { "rate/*",
      NGX_HTTP_PUT|NGX_HTTP_DELETE, "PUT, DELETE",
      ngx_adm_admin_handler,
      NGX_ADM_ROOM_CALL_SET_RATE, 0 },

    { "backend/*",
      NGX_HTTP_GET|NGX_HTTP_HEAD, "GET, HEAD",
      ngx_adm_follow_handler, 0, 0 },

    { "hold/*",
      NGX_HTTP_GET|NGX_HTTP_HEAD|NGX_HTTP_PUT|NGX_HTTP_DELETE,
      "GET, HEAD, PUT, DELETE",
      ngx_adm_hold_handler, 0, 0 },

    { "notice/*",
      NGX_HTTP_GET|NGX_HTTP_HEAD|NGX_HTTP_PUT|NGX_HTTP_DELETE,
      "GET, HEAD, PUT, DELETE",
      ngx_adm_notice_handler, 0, 0 },

    { "schedule/*",
      NGX_HTTP_GET|NGX_HTTP_HEAD|NGX_HTTP_PUT|NGX_HTTP_DELETE,
      "GET, HEAD, PUT, DELETE",
      ngx_adm_sale_handler, 0, 0 },

    { "draw/*",
      NGX_HTTP_GET|NGX_HTTP_HEAD|NGX_HTTP_POST, "GET, HEAD, POST",
      ngx_adm_beacon_handler, 0, 0 },

    { "slots/*",
      NGX_HTTP_GET|NGX_HTTP_HEAD|NGX_HTTP_PUT|NGX_HTTP_DELETE,
      "GET, HEAD, PUT, DELETE",
      ngx_adm_queue_admin_handler,
      NGX_ADM_QUEUE_SET_SLOTS, 0 },

    { "status",
      NGX_HTTP_GET|NGX_HTTP_HEAD, "GET, HEAD",
      ngx_adm_admin_list, 0, 0 },

    { NULL, 0, NULL, NULL, 0, 0 }
};
