
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Asks for the map of a cluster: one node after the other until one answers,
 * those first that have slots and a connection.
 *
 * It asks when there is no map, when a node says that the map is out of date,
 * when a connection to a node with slots fails, and now and then; at most once
 * a second.
 */


#ifndef _NGX_ADM_REDIS_SURVEY_H_INCLUDED_
#define _NGX_ADM_REDIS_SURVEY_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>

#include "parked.h"
#include "map.h"


typedef struct {
    ngx_adm_redis_map_t        *map;
    ngx_adm_redis_parked_t     *parked;
    ngx_log_t                  *log;

    ngx_event_t                 timer;     /* begins the next survey */
    ngx_event_t                 swept;

    ngx_uint_t                  round;
    ngx_msec_t                  asked_at;
    ngx_msec_t                  read_at;   /* when the map that is known was
                                              asked for */
    ngx_msec_t                  interval;  /* at least, to the next */
    ngx_msec_t                  logged_at;

    unsigned                    asking:1;
    unsigned                    known:1;   /* there is a map */
    unsigned                    wanted:1;  /* one more after this */
    unsigned                    logged:1;
    unsigned                    closed:1;
} ngx_adm_redis_survey_t;


/* survey is all zero; parked is given the news when there is a map */
void ngx_adm_redis_survey_init(ngx_adm_redis_survey_t *survey,
    ngx_cycle_t *cycle, ngx_adm_redis_map_t *map,
    ngx_adm_redis_parked_t *parked);

/* to be called before the nodes are closed */
void ngx_adm_redis_survey_close(ngx_adm_redis_survey_t *survey);

/* asks soon */
void ngx_adm_redis_survey_want(ngx_adm_redis_survey_t *survey);


#endif /* _NGX_ADM_REDIS_SURVEY_H_INCLUDED_ */
