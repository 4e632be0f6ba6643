
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The steps of queues, as a part of the schedule.
 */


#ifndef _NGX_ADM_QUEUE_STEPS_H_INCLUDED_
#define _NGX_ADM_QUEUE_STEPS_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "../host/schedule.h"
#include "queue.h"


extern ngx_adm_schedule_part_t  ngx_adm_queue_steps_part;


/* issues a step for each event that is due */
void ngx_adm_queue_steps(ngx_log_t *log);

/* issues one for the event, if not all errands are out */
void ngx_adm_queue_step_now(ngx_str_t *event);

/*
 * takes from a step's answer what operators set of the event, which the host
 * has heard of if the step told all
 */
void ngx_adm_queue_stepped_sets(ngx_str_t *event, ngx_adm_event_conf_t *conf,
    ngx_adm_queue_answer_t *answer);


#endif /* _NGX_ADM_QUEUE_STEPS_H_INCLUDED_ */
