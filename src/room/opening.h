
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Sales that open, as a part of the schedule.
 */


#ifndef _NGX_ADM_ROOM_OPENING_H_INCLUDED_
#define _NGX_ADM_ROOM_OPENING_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "../host/schedule.h"


extern ngx_adm_schedule_part_t  ngx_adm_room_opening_part;


#endif /* _NGX_ADM_ROOM_OPENING_H_INCLUDED_ */
