
/*
 * Copyright (C) 2026 the admission module authors
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_sha1.h>

#include "ngx_http_admission_redis_counts.h"
#include "ngx_http_admission_script.h"
#include "ngx_http_admission_lua.h"


#define NGX_HTTP_ADMISSION_EVALSHA  "$7" CRLF "EVALSHA" CRLF "$40" CRLF
#define NGX_HTTP_ADMISSION_EVAL     "$4" CRLF "EVAL" CRLF "$"


#define ngx_http_admission_script(lua, kind)                                  \
    { { ngx_null_string, ngx_null_string, ngx_string(lua), kind },            \
      { 0 }, { 0 } }


struct ngx_http_admission_script_s {
    ngx_http_admission_redis_script_t      command;

    u_char                                 evalsha[
                                           sizeof(NGX_HTTP_ADMISSION_EVALSHA)
                                           + 40 + sizeof(CRLF)];
    u_char                                 eval[
                                           sizeof(NGX_HTTP_ADMISSION_EVAL)
                                           + NGX_SIZE_T_LEN + sizeof(CRLF)];
};


static void ngx_http_admission_script_init(
    ngx_http_admission_script_t *script);


/* by the kind of a call; what is no script is a command */

ngx_str_t  ngx_http_admission_call_names[NGX_HTTP_ADMISSION_REDIS_KINDS] = {
    ngx_string("command"),
    ngx_string("queue_check"),
    ngx_string("queue_leave"),
    ngx_string("queue_step"),
    ngx_string("queue_admin"),
    ngx_string("vwr_assign"),
    ngx_string("vwr_step"),
    ngx_string("vwr_admin"),
    ngx_string("limit"),
    ngx_string("limit_back"),
    ngx_string("queue_revoked")
};


ngx_http_admission_script_t  ngx_http_admission_script_queue_check =
    ngx_http_admission_script(ngx_http_admission_lua_queue_check, 1);

ngx_http_admission_script_t  ngx_http_admission_script_queue_leave =
    ngx_http_admission_script(ngx_http_admission_lua_queue_leave, 2);

ngx_http_admission_script_t  ngx_http_admission_script_queue_step =
    ngx_http_admission_script(ngx_http_admission_lua_queue_step, 3);

ngx_http_admission_script_t  ngx_http_admission_script_queue_admin =
    ngx_http_admission_script(ngx_http_admission_lua_queue_admin, 4);

ngx_http_admission_script_t  ngx_http_admission_script_vwr_assign =
    ngx_http_admission_script(ngx_http_admission_lua_vwr_assign, 5);

ngx_http_admission_script_t  ngx_http_admission_script_vwr_step =
    ngx_http_admission_script(ngx_http_admission_lua_vwr_step, 6);

ngx_http_admission_script_t  ngx_http_admission_script_vwr_admin =
    ngx_http_admission_script(ngx_http_admission_lua_vwr_admin, 7);

ngx_http_admission_script_t  ngx_http_admission_script_limit =
    ngx_http_admission_script(ngx_http_admission_lua_limit, 8);

ngx_http_admission_script_t  ngx_http_admission_script_limit_back =
    ngx_http_admission_script(ngx_http_admission_lua_limit_back, 9);

ngx_http_admission_script_t  ngx_http_admission_script_queue_revoked =
    ngx_http_admission_script(ngx_http_admission_lua_queue_revoked, 10);


void
ngx_http_admission_scripts_init(void)
{
    ngx_http_admission_script_init(&ngx_http_admission_script_queue_check);
    ngx_http_admission_script_init(&ngx_http_admission_script_queue_leave);
    ngx_http_admission_script_init(&ngx_http_admission_script_queue_step);
    ngx_http_admission_script_init(&ngx_http_admission_script_queue_admin);
    ngx_http_admission_script_init(&ngx_http_admission_script_vwr_assign);
    ngx_http_admission_script_init(&ngx_http_admission_script_vwr_step);
    ngx_http_admission_script_init(&ngx_http_admission_script_vwr_admin);
    ngx_http_admission_script_init(&ngx_http_admission_script_limit);
    ngx_http_admission_script_init(&ngx_http_admission_script_limit_back);
    ngx_http_admission_script_init(&ngx_http_admission_script_queue_revoked);
}


ngx_http_admission_redis_call_t *
ngx_http_admission_script_run(ngx_http_admission_redis_t *redis,
    ngx_http_admission_script_t *script, ngx_uint_t nkeys, ngx_uint_t argc,
    ngx_str_t *argv, ngx_http_admission_redis_done_pt done, void *data)
{
    return ngx_http_admission_redis_eval(redis, &script->command, nkeys, argc,
                                         argv, done, data);
}


ngx_http_admission_redis_call_t *
ngx_http_admission_script_run_keys(ngx_http_admission_redis_t *redis,
    ngx_http_admission_script_t *script, ngx_http_admission_redis_keys_t *keys,
    ngx_uint_t argc, ngx_str_t *argv, ngx_http_admission_redis_done_pt done,
    void *data)
{
    return ngx_http_admission_redis_eval_keys(redis, &script->command, keys,
                                              argc, argv, done, data);
}


static void
ngx_http_admission_script_init(ngx_http_admission_script_t *script)
{
    u_char      *p, sha1[20];
    ngx_str_t   *lua;
    ngx_sha1_t   ctx;

    lua = &script->command.lua;

    ngx_sha1_init(&ctx);
    ngx_sha1_update(&ctx, lua->data, lua->len);
    ngx_sha1_final(sha1, &ctx);

    p = ngx_cpymem(script->evalsha, NGX_HTTP_ADMISSION_EVALSHA,
                   sizeof(NGX_HTTP_ADMISSION_EVALSHA) - 1);
    p = ngx_hex_dump(p, sha1, sizeof(sha1));
    *p++ = CR;
    *p++ = LF;

    script->command.evalsha.data = script->evalsha;
    script->command.evalsha.len = p - script->evalsha;

    p = ngx_sprintf(script->eval, NGX_HTTP_ADMISSION_EVAL "%uz" CRLF,
                    lua->len);

    script->command.eval.data = script->eval;
    script->command.eval.len = p - script->eval;
}
