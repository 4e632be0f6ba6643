
/*
 * Copyright (C) 2026 the admission module authors
 *
 * A call of a script of the waiting room, from where it is issued (calls.c) to
 * where its answer is read.
 */


#ifndef _NGX_ADM_ROOM_HEARD_H_INCLUDED_
#define _NGX_ADM_ROOM_HEARD_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "../host/there.h"
#include "calls.h"


/* a call under way; freed with the call of the Redis client */
typedef struct {
    union {
        ngx_adm_room_calls_done_pt    step;
        ngx_adm_room_calls_admin_pt   admin;
        ngx_adm_room_calls_issued_pt  issue;
    } done;

    void                              *data;
    ngx_msec_t                         issued;
    ngx_msec_t                         session_max;
    ngx_adm_event_conf_t              *conf;
    int64_t                            starts;      /* of the configuration:
                                                       when the sale starts,
                                                       or opens if that is
                                                       later */
    unsigned                           admin:1;
    unsigned                           issue:1;
    unsigned                           standby:1;
    unsigned                           step:1;
    unsigned                           told:1;      /* whoever has called
                                                       logs what changes */
    ngx_uint_t                         n;           /* positions asked for */
    ngx_adm_there_batch_t             *there;       /* marks that a step
                                                       carries */
    ngx_str_t                          event;
    u_char                             text[1];
} ngx_adm_room_call_t;


/* completion of the call that data is */
void ngx_adm_room_heard(void *data, ngx_int_t rc, redisReply *reply);


#endif /* _NGX_ADM_ROOM_HEARD_H_INCLUDED_ */
