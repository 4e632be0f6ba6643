
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The table of the Lua scripts, and the beginnings of the commands that run
 * them, made once: a call copies them.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_sha1.h>

#include "../base/counter.h"
#include "script.h"
#include "ngx_http_admission_lua.h"


#define NGX_ADM_EVALSHA  "$7" CRLF "EVALSHA" CRLF "$40" CRLF
#define NGX_ADM_EVAL     "$4" CRLF "EVAL" CRLF "$"


#define ngx_adm_script(name)                                                  \
    { ngx_string(#name),                                                      \
      { ngx_null_string, ngx_null_string,                                     \
        ngx_string(ngx_adm_lua_##name), 0 },                                  \
      ngx_adm_lua_##name##_keys,                                              \
      ngx_adm_lua_##name##_nkeys,                                             \
      ngx_adm_lua_##name##_argc,                                              \
      { 0, ngx_null_string, ngx_null_string },                                \
      ngx_null_string }


typedef struct {
    u_char       evalsha[sizeof(NGX_ADM_EVALSHA) + 40 + sizeof(CRLF)];
    u_char       eval[sizeof(NGX_ADM_EVAL) + NGX_SIZE_T_LEN + sizeof(CRLF)];
} ngx_adm_script_text_t;


ngx_adm_script_t
    ngx_adm_scripts[NGX_ADM_CALLS] = {
    [NGX_ADM_CALL_QUEUE_CHECK] = ngx_adm_script(queue_check),
    [NGX_ADM_CALL_QUEUE_LEAVE] = ngx_adm_script(queue_leave),
    [NGX_ADM_CALL_QUEUE_STEP] = ngx_adm_script(queue_step),
    [NGX_ADM_CALL_QUEUE_ADMIN] = ngx_adm_script(queue_admin),
    [NGX_ADM_CALL_VWR_ASSIGN] = ngx_adm_script(vwr_assign),
    [NGX_ADM_CALL_VWR_STEP] = ngx_adm_script(vwr_step),
    [NGX_ADM_CALL_VWR_ADMIN] = ngx_adm_script(vwr_admin),
    [NGX_ADM_CALL_LIMIT] = ngx_adm_script(limit),
    [NGX_ADM_CALL_LIMIT_BACK] = ngx_adm_script(limit_back),
    [NGX_ADM_CALL_QUEUE_REVOKED] = ngx_adm_script(queue_revoked),
    [NGX_ADM_CALL_NEEDS] = ngx_adm_script(needs),
    [NGX_ADM_CALL_NOTICE] = ngx_adm_script(notice),
    [NGX_ADM_CALL_SALE] = ngx_adm_script(sale),
    [NGX_ADM_CALL_DRAW] = ngx_adm_script(draw),
    [NGX_ADM_CALL_QUEUE_COMPLETE] = ngx_adm_script(queue_complete),
    [NGX_ADM_CALL_QUEUE_BEAT] = ngx_adm_script(queue_beat),
    [NGX_ADM_CALL_QUEUE_JOIN] = ngx_adm_script(queue_join),
    [NGX_ADM_CALL_FOLLOW] = ngx_adm_script(follow),
    [NGX_ADM_CALL_HOLD] = ngx_adm_script(hold) };


static ngx_adm_script_text_t
    ngx_adm_script_texts[NGX_ADM_CALLS];


void
ngx_adm_scripts_init(void)
{
    u_char                  *p, sha1[20];
    ngx_str_t               *lua;
    ngx_uint_t               i;
    ngx_sha1_t               ctx;
    ngx_adm_script_text_t   *text;
    ngx_adm_redis_script_t  *command;

    /* 0 stands for commands */

    for (i = 1; i < NGX_ADM_CALLS; i++) {
        command = &ngx_adm_scripts[i].command;
        text = &ngx_adm_script_texts[i];
        lua = &command->lua;

        ngx_sha1_init(&ctx);
        ngx_sha1_update(&ctx, lua->data, lua->len);
        ngx_sha1_final(sha1, &ctx);

        p = ngx_cpymem(text->evalsha, NGX_ADM_EVALSHA,
                       sizeof(NGX_ADM_EVALSHA) - 1);
        p = ngx_hex_dump(p, sha1, sizeof(sha1));
        *p++ = CR;
        *p++ = LF;

        command->evalsha.data = text->evalsha;
        command->evalsha.len = p - text->evalsha;

        p = ngx_sprintf(text->eval, NGX_ADM_EVAL "%uz" CRLF, lua->len);

        command->eval.data = text->eval;
        command->eval.len = p - text->eval;

        command->kind = i;
    }
}
