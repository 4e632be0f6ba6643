
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


static void ngx_http_admission_set_added(void *data, ngx_int_t rc,
    redisReply *reply);


ngx_int_t
ngx_http_admission_args_begin(ngx_http_admission_args_t *args,
    ngx_str_t *event, ngx_str_t *names, ngx_uint_t n)
{
    size_t      size, head;
    u_char     *p;
    ngx_str_t  *prefix;
    ngx_uint_t  i;

    if (ngx_http_admission_redis() == NULL) {
        return NGX_ERROR;
    }

    prefix = ngx_http_admission_key_prefix();

    head = prefix->len + event->len + sizeof("{}:") - 1;
    size = n * head;

    for (i = 0; i < n; i++) {
        size += names[i].len;
    }

    p = ngx_alloc(size, ngx_cycle->log);
    if (p == NULL) {
        return NGX_ERROR;
    }

    args->nkeys = n;
    args->argc = n;
    args->keys = p;
    args->last = args->numbers;

    for (i = 0; i < n; i++) {
        args->argv[i].data = p;
        args->argv[i].len = head + names[i].len;

        if (i == 0) {
            p = ngx_cpymem(p, prefix->data, prefix->len);
            *p++ = '{';
            p = ngx_cpymem(p, event->data, event->len);
            *p++ = '}';
            *p++ = ':';

        } else {
            p = ngx_cpymem(p, args->keys, head);
        }

        p = ngx_cpymem(p, names[i].data, names[i].len);
    }

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

    call = NULL;

    if (data) {
        call = ngx_http_admission_script_run(ngx_http_admission_redis(),
                                             script, args->nkeys, args->argc,
                                             args->argv, done, data);
        if (call) {
            ngx_http_admission_redis_own(call, data);

        } else {
            ngx_free(data);
        }
    }

    ngx_http_admission_args_end(args);

    return call;
}


void
ngx_http_admission_args_end(ngx_http_admission_args_t *args)
{
    ngx_free(args->keys);
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


ngx_http_admission_redis_call_t *
ngx_http_admission_set_call(const char *command, ngx_str_t *name,
    ngx_str_t *event, ngx_http_admission_redis_done_pt done, void *data)
{
    ngx_str_t                         argv[3], *prefix;
    ngx_uint_t                        background;
    ngx_http_admission_redis_t       *redis;
    ngx_http_admission_redis_call_t  *call;

    redis = ngx_http_admission_redis();

    if (redis == NULL) {
        return NULL;
    }

    prefix = ngx_http_admission_key_prefix();

    argv[0].len = ngx_strlen(command);
    argv[0].data = (u_char *) command;

    argv[1].len = prefix->len + name->len;
    argv[1].data = ngx_alloc(argv[1].len, ngx_cycle->log);

    if (argv[1].data == NULL) {
        return NULL;
    }

    ngx_memcpy(ngx_cpymem(argv[1].data, prefix->data, prefix->len),
               name->data, name->len);

    if (event) {
        argv[2] = *event;
    }

    /* no request waits for what the sets say of events */

    background = ngx_http_admission_redis_background(redis, 1);

    call = ngx_http_admission_redis_call(redis, event ? 3 : 2, argv, 1, done,
                                         data);

    ngx_http_admission_redis_background(redis, background);

    ngx_free(argv[1].data);

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
