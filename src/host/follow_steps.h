
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The part of the schedule that has backends followed.
 */


#ifndef _NGX_ADM_HOST_FOLLOW_STEPS_H_INCLUDED_
#define _NGX_ADM_HOST_FOLLOW_STEPS_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "schedule.h"


extern ngx_adm_schedule_part_t  ngx_adm_follow_schedule_part;


#endif /* _NGX_ADM_HOST_FOLLOW_STEPS_H_INCLUDED_ */
