
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The Lua scripts, built in from lua/ (see config.make).  They run by
 * EVALSHA; a NOSCRIPT reply, and no other, has the script sent in whole by
 * EVAL once, within the deadline of the call.
 *
 * A script's head lists its keys and arguments, and the fields of its answer;
 * of these lists lua/embed.sh makes ngx_http_admission_names.h, by which C
 * gives them and reads it.
 */


#ifndef _NGX_ADM_REDIS_SCRIPT_H_INCLUDED_
#define _NGX_ADM_REDIS_SCRIPT_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/counter.h"
#include "client.h"


typedef struct {
    ngx_str_t                name;
    ngx_adm_redis_script_t   command;

    /*
     * The keys of an event, <prefix>{<event>}:<name> for each name, and the
     * number of arguments without those that come in groups.  Calls of a crowd
     * are mostly about one event: the keys of the last one, whose id is part
     * of them, are kept as they are sent.
     */
    ngx_str_t               *keys;
    ngx_uint_t               nkeys;
    ngx_uint_t               argc;
    ngx_adm_redis_keys_t     last;
    ngx_str_t                event;      /* NULL: none yet */
} ngx_adm_script_t;


/* by NGX_ADM_CALL_...; the first, which stands for commands, is no script */
extern ngx_adm_script_t  ngx_adm_scripts[];


/* hashes the scripts; once, while the configuration is read */
void ngx_adm_scripts_init(void);


#endif /* _NGX_ADM_REDIS_SCRIPT_H_INCLUDED_ */
