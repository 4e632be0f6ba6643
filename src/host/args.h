
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What calls about an event have in common: the keys and arguments of their
 * scripts, the numbers in their answers, and the sets of events, which are in
 * no event's cluster slot.  Knows no tier.
 */


#ifndef _NGX_ADM_HOST_ARGS_H_INCLUDED_
#define _NGX_ADM_HOST_ARGS_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "../redis/script.h"


#define NGX_ADM_ARGS        64       /* arguments; keys do not count */

/* Lua's numbers are exact below 2^53 */
#define NGX_ADM_NUMBER_MAX  9007199254740991


/*
 * Arguments while they are collected, on the caller's stack; the call copies
 * them.  Each is set by its name, NGX_ADM_ARG_... of
 * ngx_http_admission_names.h, in any order, as a number or as a text of the
 * caller's.  Groups begin at argc, which the caller then moves on.  An
 * argument that is not set is empty, which scripts take for an error.
 */
typedef struct {
    ngx_adm_script_t  *script;
    ngx_str_t         *event;
    ngx_uint_t         argc;
    ngx_str_t          argv[NGX_ADM_ARGS];
    int64_t            number[NGX_ADM_ARGS];
    ngx_uint_t         nmore;           /* texts of groups that are too */
    ngx_str_t         *more;            /* many for argv: they follow it */
} ngx_adm_args_t;


/*
 * One key of the event, <prefix>{<event>}:<name>, of ngx_alloc(); NGX_ERROR: no
 * Redis is configured, or no memory.
 */
ngx_int_t ngx_adm_event_key(ngx_str_t *key, ngx_str_t *event, ngx_str_t *name);

/* begins a call of a script that has the keys of an event */
void ngx_adm_args_begin(ngx_adm_args_t *args, ngx_uint_t script,
    ngx_str_t *event);

/*
 * Runs the script; there has to be a Redis client. data, of ngx_alloc(),
 * belongs to the call from now on; NULL: the caller had no memory, and nothing
 * is run.  Returns, completes and cancels as ngx_adm_redis_eval() does.
 */
ngx_adm_redis_call_t *ngx_adm_args_run(ngx_adm_args_t *args,
    ngx_adm_redis_done_pt done, void *data);


/*
 * Reads the first n elements of an answer, which has "more" others, as numbers
 * from -1 (for nothing) to NGX_ADM_NUMBER_MAX.  NGX_DECLINED: it is no such
 * answer.
 */
ngx_int_t ngx_adm_reply_numbers(redisReply *reply, int64_t *v, ngx_uint_t n,
    ngx_uint_t more);


/*
 * Whether an element is a list of rows of these types: "i" an integer, "n" one
 * from 0 to NGX_ADM_NUMBER_MAX, "s" a text.
 */
ngx_uint_t ngx_adm_reply_is_list(redisReply *reply, const char *types);


/*
 * Reads an element that should be the id of an event: *id is set to it, in
 * lower case, in buf of NGX_ADM_EVENT_MAX bytes.  NGX_DECLINED: it is none.
 */
ngx_int_t ngx_adm_reply_event(redisReply *element, ngx_str_t *id, u_char *buf);


/*
 * A command about the set <prefix><name>, with an event or, NULL, without.  A
 * worker that leaves does not stay for it.
 */
ngx_adm_redis_call_t *ngx_adm_set_call(const char *command, ngx_str_t *name,
    ngx_str_t *event, ngx_adm_redis_done_pt done, void *data);

/*
 * The same for any command: argv[1] is its key, before which the prefix is
 * put.
 */
ngx_adm_redis_call_t *ngx_adm_key_call(ngx_uint_t argc, ngx_str_t *argv,
    ngx_adm_redis_done_pt done, void *data);

/* adds an event to a set; done is told of a failure, at once or later */
void ngx_adm_set_add(ngx_str_t *name, ngx_str_t *event,
    void (*failed)(ngx_str_t *event));


#endif /* _NGX_ADM_HOST_ARGS_H_INCLUDED_ */
