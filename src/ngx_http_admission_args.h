
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What calls about an event have in common: the keys and arguments of its
 * scripts, the numbers that these return, and the sets of events outside of
 * any event's slot.  Knows no tier.
 */


#ifndef _NGX_HTTP_ADMISSION_ARGS_H_INCLUDED_
#define _NGX_HTTP_ADMISSION_ARGS_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_admission_script.h"


#define NGX_HTTP_ADMISSION_ARGS        56       /* without keys */
#define NGX_HTTP_ADMISSION_KEYS        16

/* Lua's numbers are exact below 2^53 */
#define NGX_HTTP_ADMISSION_NUMBER_MAX  9007199254740991


/*
 * The keys <prefix>{<event>}:<name> of n names that scripts of a kind have.
 * A crowd comes for one event: those of the last one are kept as they are
 * sent.
 */
typedef struct {
    ngx_str_t                        *names;
    ngx_uint_t                        n;
    ngx_http_admission_redis_keys_t   last;
} ngx_http_admission_keys_t;


/* being collected, on the caller's stack; the call copies them */
typedef struct {
    ngx_http_admission_keys_t  *keys;
    ngx_str_t                  *event;
    ngx_uint_t                  argc;
    ngx_str_t                   argv[NGX_HTTP_ADMISSION_ARGS];
    u_char                     *last;
    u_char                      numbers[NGX_HTTP_ADMISSION_ARGS
                                        * NGX_INT64_LEN];
} ngx_http_admission_args_t;


/*
 * One key, <prefix>{<event>}:<name>, of ngx_alloc(); NGX_ERROR: no Redis is
 * configured, or no memory.
 */
ngx_int_t ngx_http_admission_event_key(ngx_str_t *key, ngx_str_t *event,
    ngx_str_t *name);

/* NGX_ERROR: no Redis is configured */
ngx_int_t ngx_http_admission_args_begin(ngx_http_admission_args_t *args,
    ngx_str_t *event, ngx_http_admission_keys_t *keys);

/* value is the caller's until they are run, as the event is */
void ngx_http_admission_args_string(ngx_http_admission_args_t *args,
    ngx_str_t *value);
void ngx_http_admission_args_number(ngx_http_admission_args_t *args,
    int64_t value);

/*
 * Runs the script.  data, of ngx_alloc(), is the call's from now on; NULL: the
 * caller had no memory for it, nothing is run.  Returns as
 * ngx_http_admission_script_run() does.
 */
ngx_http_admission_redis_call_t *ngx_http_admission_args_run(
    ngx_http_admission_args_t *args, ngx_http_admission_script_t *script,
    ngx_http_admission_redis_done_pt done, void *data);


/*
 * The first n elements of an answer as numbers, each from -1 (for nothing)
 * to NGX_HTTP_ADMISSION_NUMBER_MAX; the answer has "more" elements besides.
 * NGX_DECLINED: it is no such answer.
 */
ngx_int_t ngx_http_admission_reply_numbers(redisReply *reply, int64_t *v,
    ngx_uint_t n, ngx_uint_t more);


/*
 * An element that is to be the id of an event: *id becomes it, in lower case
 * and in buf of NGX_HTTP_ADMISSION_EVENT_MAX bytes.  NGX_DECLINED: it is none.
 */
ngx_int_t ngx_http_admission_reply_event(redisReply *element, ngx_str_t *id,
    u_char *buf);


/*
 * A command of the set <prefix><name>, about an event or all of it (NULL), for
 * which no worker stays when it leaves.
 */
ngx_http_admission_redis_call_t *ngx_http_admission_set_call(
    const char *command, ngx_str_t *name, ngx_str_t *event,
    ngx_http_admission_redis_done_pt done, void *data);

/*
 * The same of any command: argv[1] is its key, ahead of which the prefix is
 * put.
 */
ngx_http_admission_redis_call_t *ngx_http_admission_key_call(ngx_uint_t argc,
    ngx_str_t *argv, ngx_http_admission_redis_done_pt done, void *data);

/* adds an event to a set; what failed is told, at once or later */
void ngx_http_admission_set_add(ngx_str_t *name, ngx_str_t *event,
    void (*failed)(ngx_str_t *event));


#endif /* _NGX_HTTP_ADMISSION_ARGS_H_INCLUDED_ */
