
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Calls of scripts about an event, with keys made of its id and arguments given
 * by name, and commands about keys outside of any event's slot.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/text.h"
#include "args.h"
#include "settings.h"


/* an addition to a set, under way; freed with the call */
typedef struct {
    void                      (*failed)(ngx_str_t *event);
    ngx_str_t                   event;
    u_char                      id[1];
} ngx_adm_set_add_t;


static ngx_adm_redis_call_t *ngx_adm_args_issue(ngx_adm_args_t *args,
    ngx_adm_redis_done_pt done, void *data);
static ngx_int_t ngx_adm_keys(ngx_adm_script_t *script, ngx_str_t *event);
static size_t ngx_adm_key_size(ngx_str_t *event, ngx_str_t *name);
static u_char *ngx_adm_put_key(u_char *p, ngx_str_t *event, ngx_str_t *name);

static void ngx_adm_set_added(void *data, ngx_int_t rc, redisReply *reply);


ngx_int_t
ngx_adm_event_key(ngx_str_t *key, ngx_str_t *event, ngx_str_t *name)
{
    if (ngx_adm_redis == NULL) {
        return NGX_ERROR;
    }

    key->data = ngx_alloc(ngx_adm_key_size(event, name), ngx_cycle->log);
    if (key->data == NULL) {
        return NGX_ERROR;
    }

    key->len = ngx_adm_put_key(key->data, event, name) - key->data;

    return NGX_OK;
}


void
ngx_adm_args_begin(ngx_adm_args_t *args, ngx_uint_t script, ngx_str_t *event)
{
    args->script = &ngx_adm_scripts[script];
    args->event = event;
    args->argc = args->script->argc;
    args->nmore = 0;

    ngx_memzero(args->argv, sizeof(args->argv));
    ngx_memset(args->number, NGX_ADM_NO_NUMBER_BYTE, sizeof(args->number));
}


ngx_adm_redis_call_t *
ngx_adm_args_run(ngx_adm_args_t *args, ngx_adm_redis_done_pt done, void *data)
{
    ngx_adm_script_t      *script;
    ngx_adm_redis_call_t  *call;

    u_char  digits[NGX_ADM_ARGS * NGX_INT64_LEN];

    if (data == NULL) {
        return NULL;
    }

    call = NULL;
    script = args->script;

    if ((script->event.data
         && ngx_adm_str_same(&script->event, args->event))
        || ngx_adm_keys(script, args->event) == NGX_OK)
    {
        ngx_adm_put_numbers(digits, args->number, args->argc, args->argv);

        call = ngx_adm_args_issue(args, done, data);
    }

    ngx_log_debug3(NGX_LOG_DEBUG_HTTP, ngx_cycle->log, 0,
                   "admission: script %V of event \"%V\"%s",
                   &script->name, args->event, call ? "" : " is not sent");

    if (call) {
        ngx_adm_redis_own(call, data);

    } else {
        ngx_free(data);
    }

    return call;
}


static ngx_adm_redis_call_t *
ngx_adm_args_issue(ngx_adm_args_t *args, ngx_adm_redis_done_pt done, void *data)
{
    ngx_str_t             *argv;
    ngx_adm_script_t      *script;
    ngx_adm_redis_call_t  *call;

    script = args->script;

    if (args->nmore == 0) {
        return ngx_adm_redis_issue(ngx_adm_redis, &script->command,
                                   &script->last, args->argc, args->argv, done,
                                   data);
    }

    argv = ngx_alloc((args->argc + args->nmore) * sizeof(ngx_str_t),
                     ngx_cycle->log);
    if (argv == NULL) {
        return NULL;
    }

    ngx_memcpy(argv, args->argv, args->argc * sizeof(ngx_str_t));
    ngx_memcpy(argv + args->argc, args->more, args->nmore * sizeof(ngx_str_t));

    call = ngx_adm_redis_issue(ngx_adm_redis, &script->command, &script->last,
                               args->argc + args->nmore, argv, done, data);

    ngx_free(argv);

    return call;
}


/* makes the keys of another event, to be kept as those of the last one */

static ngx_int_t
ngx_adm_keys(ngx_adm_script_t *script, ngx_str_t *event)
{
    u_char      *p;
    size_t       size;
    ngx_str_t   *argv;
    ngx_uint_t   i;

    size = script->nkeys * sizeof(ngx_str_t);

    for (i = 0; i < script->nkeys; i++) {
        size += ngx_adm_key_size(event, &script->keys[i]);
    }

    argv = ngx_alloc(size, ngx_cycle->log);
    if (argv == NULL) {
        return NGX_ERROR;
    }

    p = (u_char *) &argv[script->nkeys];

    for (i = 0; i < script->nkeys; i++) {
        argv[i].data = p;
        p = ngx_adm_put_key(p, event, &script->keys[i]);
        argv[i].len = p - argv[i].data;
    }

    ngx_str_null(&script->event);

    if (ngx_adm_redis_keys(&script->last, script->nkeys, argv) == NGX_OK) {

        /*
         * the event is behind the first brace of the key, since a prefix has
         * none
         */

        script->event.data = script->last.first.data
                             + ngx_adm_key_prefix.len + 1;
        script->event.len = event->len;
    }

    ngx_free(argv);

    return script->event.data ? NGX_OK : NGX_ERROR;
}


static size_t
ngx_adm_key_size(ngx_str_t *event, ngx_str_t *name)
{
    return ngx_adm_key_prefix.len + sizeof("{}:") - 1 + event->len + name->len;
}


static u_char *
ngx_adm_put_key(u_char *p, ngx_str_t *event, ngx_str_t *name)
{
    p = ngx_cpymem(p, ngx_adm_key_prefix.data, ngx_adm_key_prefix.len);
    *p++ = '{';
    p = ngx_cpymem(p, event->data, event->len);
    *p++ = '}';
    *p++ = ':';

    return ngx_cpymem(p, name->data, name->len);
}


ngx_int_t
ngx_adm_reply_numbers(redisReply *reply, int64_t *v, ngx_uint_t n,
    ngx_uint_t more)
{
    ngx_uint_t   i;
    redisReply  *element;

    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != n + more) {
        return NGX_DECLINED;
    }

    for (i = 0; i < n; i++) {
        element = reply->element[i];

        if (element->type != REDIS_REPLY_INTEGER
            || element->integer < -1
            || element->integer > NGX_ADM_NUMBER_MAX)
        {
            return NGX_DECLINED;
        }

        v[i] = element->integer;
    }

    return NGX_OK;
}


ngx_uint_t
ngx_adm_reply_is_list(redisReply *reply, const char *types)
{
    size_t       i, n;
    redisReply  *element;

    n = ngx_strlen(types);

    if (reply->type != REDIS_REPLY_ARRAY || reply->elements % n) {
        return 0;
    }

    for (i = 0; i < reply->elements; i++) {
        element = reply->element[i];

        if (types[i % n] == 's') {

            if (element->type != REDIS_REPLY_STRING) {
                return 0;
            }

            continue;
        }

        if (element->type != REDIS_REPLY_INTEGER
            || (types[i % n] == 'n'
                && (element->integer < 0
                    || element->integer > NGX_ADM_NUMBER_MAX)))
        {
            return 0;
        }
    }

    return 1;
}


ngx_int_t
ngx_adm_reply_event(redisReply *element, ngx_str_t *id, u_char *buf)
{
    if (element->type != REDIS_REPLY_STRING) {
        return NGX_DECLINED;
    }

    id->len = element->len;
    id->data = (u_char *) element->str;

    if (ngx_adm_event_id(id, buf) != NGX_OK) {
        return NGX_DECLINED;
    }

    id->data = buf;

    return NGX_OK;
}


ngx_adm_redis_call_t *
ngx_adm_set_call(const char *command, ngx_str_t *name, ngx_str_t *event,
    ngx_adm_redis_done_pt done, void *data)
{
    ngx_str_t  argv[3];

    argv[0].len = ngx_strlen(command);
    argv[0].data = (u_char *) command;
    argv[1] = *name;

    if (event) {
        argv[2] = *event;
    }

    return ngx_adm_key_call(event ? 3 : 2, argv, done, data);
}


ngx_adm_redis_call_t *
ngx_adm_key_call(ngx_uint_t argc, ngx_str_t *argv, ngx_adm_redis_done_pt done,
    void *data)
{
    ngx_str_t              key;
    ngx_uint_t             background;
    ngx_adm_redis_call_t  *call;

    if (ngx_adm_redis == NULL) {
        return NULL;
    }

    key.len = ngx_adm_key_prefix.len + argv[1].len;
    key.data = ngx_alloc(key.len, ngx_cycle->log);

    if (key.data == NULL) {
        return NULL;
    }

    ngx_memcpy(ngx_cpymem(key.data, ngx_adm_key_prefix.data,
                          ngx_adm_key_prefix.len),
               argv[1].data, argv[1].len);

    argv[1] = key;

    /* no request waits for what hosts tell each other of events */

    background = ngx_adm_redis_background(ngx_adm_redis, 1);

    call = ngx_adm_redis_call(ngx_adm_redis, argc, argv, 1, done, data);

    ngx_adm_redis_background(ngx_adm_redis, background);

    ngx_free(key.data);

    return call;
}


void
ngx_adm_set_add(ngx_str_t *name, ngx_str_t *event,
    void (*failed)(ngx_str_t *event))
{
    ngx_adm_set_add_t     *add;
    ngx_adm_redis_call_t  *call;

    call = NULL;

    add = ngx_alloc(sizeof(ngx_adm_set_add_t) + event->len, ngx_cycle->log);

    if (add) {
        add->failed = failed;
        add->event.len = event->len;
        add->event.data = add->id;
        ngx_memcpy(add->id, event->data, event->len);

        call = ngx_adm_set_call("SADD", name, event, ngx_adm_set_added, add);
    }

    if (call) {
        ngx_adm_redis_own(call, add);
        return;
    }

    if (add) {
        ngx_free(add);
    }

    failed(event);
}


static void
ngx_adm_set_added(void *data, ngx_int_t rc, redisReply *reply)
{
    ngx_adm_set_add_t  *add = data;

    if (rc != NGX_OK) {
        add->failed(&add->event);
    }
}
