
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The text of a command, as Redis reads it, in the call that sends it.
 */


#ifndef _NGX_ADM_REDIS_COMMAND_H_INCLUDED_
#define _NGX_ADM_REDIS_COMMAND_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "call.h"


/* bytes of the argument that says how many keys of a script follow */
#define NGX_ADM_REDIS_COUNT_SIZE                                              \
    (sizeof("$20" CRLF CRLF) - 1 + NGX_INT64_LEN)


/* the keys of a script as they are sent, and their number before them */
typedef struct {
    ngx_uint_t                             n;
    ngx_str_t                              text;     /* of ngx_alloc() */
    ngx_str_t                              first;    /* key, in the text */
} ngx_adm_redis_keys_t;


/*
 * Puts n other keys, at least one (copied), in place of those that are there,
 * if any; NGX_ERROR: no memory, there are none then.
 */
ngx_int_t ngx_adm_redis_keys(ngx_adm_redis_keys_t *keys, ngx_uint_t n,
    ngx_str_t *argv);

/* the number of keys as an argument; p has room for COUNT_SIZE bytes */
u_char *ngx_adm_redis_put_count(u_char *p, ngx_uint_t n);

/*
 * Bytes of a command; script NULL: it is argv alone, else EVALSHA with the keys
 * and argv.
 */
size_t ngx_adm_redis_command_size(ngx_adm_redis_script_t *script,
    ngx_adm_redis_keys_t *keys, ngx_uint_t argc, ngx_str_t *argv);

/* writes the command into a call that has room for that many bytes */
void ngx_adm_redis_command_put(ngx_adm_redis_call_t *call,
    ngx_adm_redis_script_t *script, ngx_adm_redis_keys_t *keys,
    ngx_uint_t argc, ngx_str_t *argv);

/*
 * Makes EVAL with the script's text of an EVALSHA that was answered; keys and
 * arguments are the same.
 */
void ngx_adm_redis_command_eval(ngx_adm_redis_call_t *call,
    ngx_adm_redis_script_t *script);


#endif /* _NGX_ADM_REDIS_COMMAND_H_INCLUDED_ */
