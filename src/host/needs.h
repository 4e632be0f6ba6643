
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Whether Redis runs what the module needs: tried at the start, when Redis is
 * back, and when it refused something.
 */


#ifndef _NGX_ADM_HOST_NEEDS_H_INCLUDED_
#define _NGX_ADM_HOST_NEEDS_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "schedule.h"
#include "zone.h"


#define NGX_ADM_NEEDS_LEN  24        /* bytes of the name of a command */


extern ngx_adm_zone_part_t      ngx_adm_needs_part;
extern ngx_adm_schedule_part_t  ngx_adm_needs_schedule_part;


/*
 * Which command Redis refuses without which the host can't serve: its name in
 * buf, of NGX_ADM_NEEDS_LEN bytes; empty: none is known.
 */
void ngx_adm_needs_refused(ngx_str_t *name, u_char *buf);


#endif /* _NGX_ADM_HOST_NEEDS_H_INCLUDED_ */
