
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What the module is put together of, for those who call it without knowing
 * it by name.
 */


#ifndef _NGX_ADM_PARTS_H_INCLUDED_
#define _NGX_ADM_PARTS_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>


/* tells the zone and the schedule; before any directive is read */
void ngx_adm_parts_init(void);


#endif /* _NGX_ADM_PARTS_H_INCLUDED_ */
