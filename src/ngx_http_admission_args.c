
/*
 * Copyright (C) 2026 the admission module authors
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_admission_args.h"
#include "ngx_http_admission_conf.h"
#include "ngx_http_admission_text.h"


/* an addition to a set under way; freed with the call */
typedef struct {
    void                      (*failed)(ngx_str_t *event);
    ngx_str_t                   event;
    u_char                      id[1];
} ngx_http_admission_set_add_t;


static ngx_int_t ngx_http_admission_keys(ngx_http_admission_keys_t *keys,
    ngx_str_t *event);
static ngx_uint_t ngx_http_admission_keys_are(ngx_http_admission_keys_t *keys,
    ngx_str_t *event);
static size_t ngx_http_admission_key_size(ngx_str_t *event, ngx_str_t *name);
static u_char *ngx_http_admission_put_key(u_char *p, ngx_str_t *event,
    ngx_str_t *name);

static void ngx_http_admission_set_added(void *data, ngx_int_t rc,
    redisReply *reply);


ngx_int_t
ngx_http_admission_event_key(ngx_str_t *key, ngx_str_t *event,
    ngx_str_t *name)
{
    if (ngx_http_admission_redis() == NULL) {
        return NGX_ERROR;
    }

    key->data = ngx_alloc(ngx_http_admission_key_size(event, name),
                          ngx_cycle->log);
    if (key->data == NULL) {
        return NGX_ERROR;
    }

    key->len = ngx_http_admission_put_key(key->data, event, name) - key->data;

    return NGX_OK;
}


ngx_int_t
ngx_http_admission_args_begin(ngx_http_admission_args_t *args,
    ngx_str_t *event, ngx_http_admission_keys_t *keys)
{
    if (ngx_http_admission_redis() == NULL) {
        return NGX_ERROR;
    }

    args->keys = keys;
    args->event = event;
    args->argc = 0;
    args->last = args->numbers;

    return NGX_OK;
}


void
ngx_http_admission_args_string(ngx_http_admission_args_t *args,
    ngx_str_t *value)
{
    args->argv[args->argc++] = *value;
}


void
ngx_http_admission_args_number(ngx_http_admission_args_t *args, int64_t value)
{
    ngx_str_t  *arg;

    arg = &args->argv[args->argc++];

    arg->data = args->last;
    args->last = ngx_http_admission_put_number(args->last, value);
    arg->len = args->last - arg->data;
}


ngx_http_admission_redis_call_t *
ngx_http_admission_args_run(ngx_http_admission_args_t *args,
    ngx_http_admission_script_t *script, ngx_http_admission_redis_done_pt done,
    void *data)
{
    ngx_http_admission_redis_call_t  *call;

    if (data == NULL) {
        return NULL;
    }

    call = NULL;

    if (ngx_http_admission_keys(args->keys, args->event) == NGX_OK) {
        call = ngx_http_admission_script_run_keys(ngx_http_admission_redis(),
                                                  script, &args->keys->last,
                                                  args->argc, args->argv,
                                                  done, data);
    }

    if (call) {
        ngx_http_admission_redis_own(call, data);

    } else {
        ngx_free(data);
    }

    return call;
}


/* those of the event become the last ones */

static ngx_int_t
ngx_http_admission_keys(ngx_http_admission_keys_t *keys, ngx_str_t *event)
{
    u_char      *p, *buf;
    size_t       size;
    ngx_int_t    rc;
    ngx_str_t    argv[NGX_HTTP_ADMISSION_KEYS];
    ngx_uint_t   i;

    if (ngx_http_admission_keys_are(keys, event)) {
        return NGX_OK;
    }

    size = 0;

    for (i = 0; i < keys->n; i++) {
        size += ngx_http_admission_key_size(event, &keys->names[i]);
    }

    buf = ngx_alloc(size, ngx_cycle->log);
    if (buf == NULL) {
        return NGX_ERROR;
    }

    p = buf;

    for (i = 0; i < keys->n; i++) {
        argv[i].data = p;
        p = ngx_http_admission_put_key(p, event, &keys->names[i]);
        argv[i].len = p - argv[i].data;
    }

    rc = ngx_http_admission_redis_keys(&keys->last, keys->n, argv);

    ngx_free(buf);

    return rc;
}


static ngx_uint_t
ngx_http_admission_keys_are(ngx_http_admission_keys_t *keys, ngx_str_t *event)
{
    u_char     *p;
    ngx_str_t  *first, *prefix;

    first = &keys->last.first;
    prefix = ngx_http_admission_key_prefix();

    if (first->len != ngx_http_admission_key_size(event, &keys->names[0])
        || ngx_memcmp(first->data, prefix->data, prefix->len) != 0)
    {
        return 0;
    }

    /* neither a prefix nor an event has braces */

    p = first->data + prefix->len;

    return p[0] == '{'
           && ngx_memcmp(&p[1], event->data, event->len) == 0
           && p[1 + event->len] == '}';
}


static size_t
ngx_http_admission_key_size(ngx_str_t *event, ngx_str_t *name)
{
    return ngx_http_admission_key_prefix()->len + sizeof("{}:") - 1
           + event->len + name->len;
}


static u_char *
ngx_http_admission_put_key(u_char *p, ngx_str_t *event, ngx_str_t *name)
{
    ngx_str_t  *prefix;

    prefix = ngx_http_admission_key_prefix();

    p = ngx_cpymem(p, prefix->data, prefix->len);
    *p++ = '{';
    p = ngx_cpymem(p, event->data, event->len);
    *p++ = '}';
    *p++ = ':';

    return ngx_cpymem(p, name->data, name->len);
}


ngx_int_t
ngx_http_admission_reply_numbers(redisReply *reply, int64_t *v, ngx_uint_t n,
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
            || element->integer > NGX_HTTP_ADMISSION_NUMBER_MAX)
        {
            return NGX_DECLINED;
        }

        v[i] = element->integer;
    }

    return NGX_OK;
}


ngx_int_t
ngx_http_admission_reply_event(redisReply *element, ngx_str_t *id,
    u_char *buf)
{
    if (element->type != REDIS_REPLY_STRING) {
        return NGX_DECLINED;
    }

    id->len = element->len;
    id->data = (u_char *) element->str;

    if (ngx_http_admission_event_id(id, buf) != NGX_OK) {
        return NGX_DECLINED;
    }

    id->data = buf;

    return NGX_OK;
}


ngx_http_admission_redis_call_t *
ngx_http_admission_set_call(const char *command, ngx_str_t *name,
    ngx_str_t *event, ngx_http_admission_redis_done_pt done, void *data)
{
    ngx_str_t  argv[3];

    argv[0].len = ngx_strlen(command);
    argv[0].data = (u_char *) command;
    argv[1] = *name;

    if (event) {
        argv[2] = *event;
    }

    return ngx_http_admission_key_call(event ? 3 : 2, argv, done, data);
}


ngx_http_admission_redis_call_t *
ngx_http_admission_key_call(ngx_uint_t argc, ngx_str_t *argv,
    ngx_http_admission_redis_done_pt done, void *data)
{
    ngx_str_t                         key, *prefix;
    ngx_uint_t                        background;
    ngx_http_admission_redis_t       *redis;
    ngx_http_admission_redis_call_t  *call;

    redis = ngx_http_admission_redis();

    if (redis == NULL) {
        return NULL;
    }

    prefix = ngx_http_admission_key_prefix();

    key.len = prefix->len + argv[1].len;
    key.data = ngx_alloc(key.len, ngx_cycle->log);

    if (key.data == NULL) {
        return NULL;
    }

    ngx_memcpy(ngx_cpymem(key.data, prefix->data, prefix->len),
               argv[1].data, argv[1].len);

    argv[1] = key;

    /* no request waits for what is said of events outside of their slots */

    background = ngx_http_admission_redis_background(redis, 1);

    call = ngx_http_admission_redis_call(redis, argc, argv, 1, done, data);

    ngx_http_admission_redis_background(redis, background);

    ngx_free(key.data);

    return call;
}


void
ngx_http_admission_set_add(ngx_str_t *name, ngx_str_t *event,
    void (*failed)(ngx_str_t *event))
{
    ngx_http_admission_set_add_t     *add;
    ngx_http_admission_redis_call_t  *call;

    call = NULL;

    add = ngx_alloc(sizeof(ngx_http_admission_set_add_t) + event->len,
                    ngx_cycle->log);

    if (add) {
        add->failed = failed;
        add->event.len = event->len;
        add->event.data = add->id;
        ngx_memcpy(add->id, event->data, event->len);

        call = ngx_http_admission_set_call("SADD", name, event,
                                           ngx_http_admission_set_added, add);
    }

    if (call) {
        ngx_http_admission_redis_own(call, add);
        return;
    }

    if (add) {
        ngx_free(add);
    }

    failed(event);
}


static void
ngx_http_admission_set_added(void *data, ngx_int_t rc, redisReply *reply)
{
    ngx_http_admission_set_add_t  *add = data;

    if (rc != NGX_OK) {
        add->failed(&add->event);
    }
}
