
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The slots of a Redis cluster, as numbers.
 */


#ifndef _NGX_ADM_REDIS_SLOTS_H_INCLUDED_
#define _NGX_ADM_REDIS_SLOTS_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>


#define NGX_ADM_REDIS_SLOTS  16384


/* the slot of a key: by what its first pair of braces has, if there is any */
ngx_uint_t ngx_adm_redis_slot(ngx_str_t *key);


#endif /* _NGX_ADM_REDIS_SLOTS_H_INCLUDED_ */
