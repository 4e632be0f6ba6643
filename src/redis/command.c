
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Writes commands in Redis's protocol, each argument behind its length.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/text.h"
#include "command.h"


static ngx_uint_t ngx_adm_redis_command_count(ngx_adm_redis_script_t *script,
    ngx_adm_redis_keys_t *keys, ngx_uint_t argc);
static size_t ngx_adm_redis_args_size(ngx_uint_t argc, ngx_str_t *argv);
static u_char *ngx_adm_redis_put_args(u_char *p, ngx_uint_t argc,
    ngx_str_t *argv);
static u_char *ngx_adm_redis_put_number(u_char *p, u_char type, size_t n);


ngx_int_t
ngx_adm_redis_keys(ngx_adm_redis_keys_t *keys, ngx_uint_t n, ngx_str_t *argv)
{
    u_char  *p;

    if (keys->text.data) {
        ngx_free(keys->text.data);
    }

    ngx_memzero(keys, sizeof(ngx_adm_redis_keys_t));

    p = ngx_alloc(NGX_ADM_REDIS_COUNT_SIZE + ngx_adm_redis_args_size(n, argv),
                  ngx_cycle->log);
    if (p == NULL) {
        return NGX_ERROR;
    }

    keys->n = n;
    keys->text.data = p;

    p = ngx_adm_redis_put_count(p, n);

    keys->first.data = p + sizeof("$" CRLF) - 1 + ngx_adm_digits(argv[0].len);
    keys->first.len = argv[0].len;

    p = ngx_adm_redis_put_args(p, n, argv);

    keys->text.len = p - keys->text.data;

    return NGX_OK;
}


size_t
ngx_adm_redis_command_size(ngx_adm_redis_script_t *script,
    ngx_adm_redis_keys_t *keys, ngx_uint_t argc, ngx_str_t *argv)
{
    ngx_uint_t  n;

    n = ngx_adm_redis_command_count(script, keys, argc);

    return sizeof("*" CRLF) - 1 + ngx_adm_digits(n)
           + (script ? script->evalsha.len : 0) + keys->text.len
           + ngx_adm_redis_args_size(argc, argv);
}


void
ngx_adm_redis_command_put(ngx_adm_redis_call_t *call,
    ngx_adm_redis_script_t *script, ngx_adm_redis_keys_t *keys,
    ngx_uint_t argc, ngx_str_t *argv)
{
    u_char  *p;

    p = ngx_adm_redis_put_number(call->command, '*',
                              ngx_adm_redis_command_count(script, keys, argc));

    call->count = p - call->command;

    if (script) {
        p = ngx_cpymem(p, script->evalsha.data, script->evalsha.len);
    }

    p = ngx_cpymem(p, keys->text.data, keys->text.len);
    (void) ngx_adm_redis_put_args(p, argc, argv);

    call->nbufs = 1;
    ngx_adm_redis_set_buf(call, 0, call->command, call->command + call->size);
}


void
ngx_adm_redis_command_eval(ngx_adm_redis_call_t *call,
    ngx_adm_redis_script_t *script)
{
    u_char  *p, *rest;

    /*
     * Nobody reads the command any more, so that its beginning can change; the
     * line end of the hash becomes that of the script.
     */

    p = call->command + call->count;
    rest = p + script->evalsha.len - (sizeof(CRLF) - 1);

    p = ngx_cpymem(p, script->eval.data, script->eval.len);

    call->nbufs = 3;
    ngx_adm_redis_set_buf(call, 0, call->command, p);
    ngx_adm_redis_set_buf(call, 1, script->lua.data,
                          script->lua.data + script->lua.len);
    ngx_adm_redis_set_buf(call, 2, rest, call->command + call->size);
}


u_char *
ngx_adm_redis_put_count(u_char *p, ngx_uint_t n)
{
    p = ngx_adm_redis_put_number(p, '$', ngx_adm_digits(n));
    p = ngx_adm_put_number(p, n);
    *p++ = CR;
    *p++ = LF;

    return p;
}


/* how many arguments the command has, its name among them */

static ngx_uint_t
ngx_adm_redis_command_count(ngx_adm_redis_script_t *script,
    ngx_adm_redis_keys_t *keys, ngx_uint_t argc)
{
    /* EVALSHA, the hash and the number of keys besides */

    return script ? argc + keys->n + 3 : argc;
}


static size_t
ngx_adm_redis_args_size(ngx_uint_t argc, ngx_str_t *argv)
{
    size_t      size;
    ngx_uint_t  i;

    size = 0;

    for (i = 0; i < argc; i++) {
        size += sizeof("$" CRLF CRLF) - 1 + ngx_adm_digits(argv[i].len)
                + argv[i].len;
    }

    return size;
}


static u_char *
ngx_adm_redis_put_args(u_char *p, ngx_uint_t argc, ngx_str_t *argv)
{
    ngx_uint_t  i;

    for (i = 0; i < argc; i++) {
        p = ngx_adm_redis_put_number(p, '$', argv[i].len);

        if (argv[i].len) {
            p = ngx_cpymem(p, argv[i].data, argv[i].len);
        }

        *p++ = CR;
        *p++ = LF;
    }

    return p;
}


/* not ngx_sprintf(): these numbers are most of what writing a command costs */

static u_char *
ngx_adm_redis_put_number(u_char *p, u_char type, size_t n)
{
    *p++ = type;
    p = ngx_adm_put_number(p, n);
    *p++ = CR;
    *p++ = LF;

    return p;
}
