
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What other hosts tell of queues: the reading of it, as a part of the
 * schedule.
 */


#ifndef _NGX_ADM_QUEUE_NEWS_H_INCLUDED_
#define _NGX_ADM_QUEUE_NEWS_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "../host/schedule.h"


extern ngx_adm_schedule_part_t  ngx_adm_queue_news_part;


#endif /* _NGX_ADM_QUEUE_NEWS_H_INCLUDED_ */
