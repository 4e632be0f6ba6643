
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What replies of Redis say, apart from the connection on which they came.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "reply.h"


#define NGX_ADM_REDIS_ELEMENTS_MAX  1048576

/* most replies fit into one block */
#define NGX_ADM_REDIS_REPLIES_SIZE  2048


#if (HIREDIS_MAJOR >= 1)
typedef size_t  ngx_adm_redis_elements_t;
#else
typedef int     ngx_adm_redis_elements_t;
#endif


static void *ngx_adm_redis_create_string(const redisReadTask *task, char *str,
    size_t len);
static void *ngx_adm_redis_create_array(const redisReadTask *task,
    ngx_adm_redis_elements_t elements);
static void *ngx_adm_redis_create_integer(const redisReadTask *task,
    long long value);
static void *ngx_adm_redis_create_nil(const redisReadTask *task);
#if (HIREDIS_MAJOR >= 1)
static void *ngx_adm_redis_create_double(const redisReadTask *task,
    double value, char *str, size_t len);
static void *ngx_adm_redis_create_bool(const redisReadTask *task, int value);
#endif
static void ngx_adm_redis_free_object(void *object);

static redisReply *ngx_adm_redis_create_reply(const redisReadTask *task);
static ngx_uint_t ngx_adm_redis_is_any(redisReply *reply, char **codes);
static char *ngx_adm_redis_cause(redisReply *reply);


static redisReplyObjectFunctions  ngx_adm_redis_functions = {
    .createString = ngx_adm_redis_create_string,
    .createArray = ngx_adm_redis_create_array,
    .createInteger = ngx_adm_redis_create_integer,
    .createNil = ngx_adm_redis_create_nil,
#if (HIREDIS_MAJOR >= 1)
    .createDouble = ngx_adm_redis_create_double,
    .createBool = ngx_adm_redis_create_bool,
#endif
    .freeObject = ngx_adm_redis_free_object };


redisReader *
ngx_adm_redis_create_reader(ngx_pool_t **replies)
{
    redisReader  *reader;

    reader = redisReaderCreateWithFunctions(&ngx_adm_redis_functions);
    if (reader == NULL) {
        return NULL;
    }

    reader->privdata = replies;

    return reader;
}


void
ngx_adm_redis_drop_replies(ngx_pool_t **replies)
{
    ngx_pool_t  *pool;

    pool = *replies;

    if (pool == NULL) {
        return;
    }

    if (pool->d.next) {

        /* of a large reply: not kept, or it would be gone through each time */

        ngx_destroy_pool(pool);
        *replies = NULL;

        return;
    }

    ngx_reset_pool(pool);
}


static void *
ngx_adm_redis_create_string(const redisReadTask *task, char *str, size_t len)
{
    redisReply  *reply;
    ngx_pool_t  *pool;

    reply = ngx_adm_redis_create_reply(task);
    if (reply == NULL) {
        return NULL;
    }

    pool = *(ngx_pool_t **) task->privdata;

    reply->str = ngx_pnalloc(pool, len + 1);
    if (reply->str == NULL) {
        return NULL;
    }

    ngx_memcpy(reply->str, str, len);
    reply->str[len] = '\0';
    reply->len = len;

    return reply;
}


/*
 * hiredis has an array allocated as soon as its number of elements was read:
 * with rubbish that number may be anything.
 */

static void *
ngx_adm_redis_create_array(const redisReadTask *task,
    ngx_adm_redis_elements_t elements)
{
    redisReply  *reply;
    ngx_pool_t  *pool;

    if (elements > NGX_ADM_REDIS_ELEMENTS_MAX) {
        return NULL;
    }

    reply = ngx_adm_redis_create_reply(task);
    if (reply == NULL) {
        return NULL;
    }

    pool = *(ngx_pool_t **) task->privdata;

    if (elements) {
        reply->element = ngx_palloc(pool, elements * sizeof(redisReply *));
        if (reply->element == NULL) {
            return NULL;
        }
    }

    reply->elements = elements;

    return reply;
}


static void *
ngx_adm_redis_create_integer(const redisReadTask *task, long long value)
{
    redisReply  *reply;

    reply = ngx_adm_redis_create_reply(task);

    if (reply) {
        reply->integer = value;
    }

    return reply;
}


static void *
ngx_adm_redis_create_nil(const redisReadTask *task)
{
    redisReply  *reply;

    reply = ngx_adm_redis_create_reply(task);

    if (reply) {
        /* hiredis's task was to read a string, or an array */
        reply->type = REDIS_REPLY_NIL;
    }

    return reply;
}


#if (HIREDIS_MAJOR >= 1)

/* types of a protocol that was not asked for: nobody looks at their values */

static void *
ngx_adm_redis_create_double(const redisReadTask *task, double value, char *str,
    size_t len)
{
    return ngx_adm_redis_create_reply(task);
}


static void *
ngx_adm_redis_create_bool(const redisReadTask *task, int value)
{
    return ngx_adm_redis_create_reply(task);
}

#endif


static void
ngx_adm_redis_free_object(void *object)
{
    /* nothing is freed here, the pool has it all */
}


static redisReply *
ngx_adm_redis_create_reply(const redisReadTask *task)
{
    redisReply   *reply, *parent;
    ngx_pool_t  **replies;

    replies = task->privdata;

    if (*replies == NULL) {
        *replies = ngx_create_pool(NGX_ADM_REDIS_REPLIES_SIZE, ngx_cycle->log);
        if (*replies == NULL) {
            return NULL;
        }
    }

    reply = ngx_pcalloc(*replies, sizeof(redisReply));
    if (reply == NULL) {
        return NULL;
    }

    reply->type = task->type;

    if (task->parent) {
        parent = task->parent->obj;
        parent->element[task->idx] = reply;
    }

    return reply;
}


ngx_uint_t
ngx_adm_redis_is(redisReply *reply, char *code)
{
    size_t  len;

    len = ngx_strlen(code);

    return (size_t) reply->len >= len
           && ngx_strncmp(reply->str, code, len) == 0
           && ((size_t) reply->len == len || reply->str[len] == ' ');
}


char *
ngx_adm_redis_text(char *buf, size_t size, redisReply *reply)
{
    size_t  i, n;

    n = ngx_min((size_t) reply->len, size - 1);

    for (i = 0; i < n; i++) {
        buf[i] = (reply->str[i] < 0x20 || reply->str[i] > 0x7e)
                 ? '?' : reply->str[i];
    }

    buf[n] = '\0';

    return buf;
}


/* lines of "name:value" */

ngx_int_t
ngx_adm_redis_field(char *buf, size_t size, redisReply *reply, char *name)
{
    char    *p, *end, *last;
    size_t   len;

    if (reply->type != REDIS_REPLY_STRING) {
        return NGX_DECLINED;
    }

    len = ngx_strlen(name);
    last = reply->str + reply->len;

    for (p = reply->str; p < last; p = end + 1) {

        end = memchr(p, LF, last - p);
        if (end == NULL) {
            end = last;
        }

        if ((size_t) (end - p) <= len
            || ngx_strncmp(p, name, len) != 0
            || p[len] != ':')
        {
            continue;
        }

        p += len + 1;

        for ( ; size > 1 && p < end && *p > 0x20 && *p < 0x7f; size--) {
            *buf++ = *p++;
        }

        *buf = '\0';

        return (size > 1) ? NGX_OK : NGX_DECLINED;
    }

    return NGX_DECLINED;
}


ngx_uint_t
ngx_adm_redis_is_wrong_node(redisReply *reply)
{
    static char  *codes[] = {
        "READONLY",
        "MASTERDOWN",
        "NOAUTH",

        /* come unasked, but look like the answer to the first call: */

        "DENIED",
        "ERR max number of clients",

        NULL };

    return ngx_adm_redis_is_any(reply, codes);
}


ngx_uint_t
ngx_adm_redis_is_refusal(redisReply *reply)
{
    static char  *codes[] = {
        "OOM",
        "MISCONF",
        "NOREPLICAS",
        "READONLY",
        "LOADING",
        "MASTERDOWN",
        "CLUSTERDOWN",
        "BUSY",
        NULL };

    return ngx_adm_redis_is_any(reply, codes);
}


static ngx_uint_t
ngx_adm_redis_is_any(redisReply *reply, char **codes)
{
    char        *p;
    size_t       len;
    ngx_uint_t   i;

    p = ngx_adm_redis_cause(reply);

    for (i = 0; codes[i]; i++) {
        len = ngx_strlen(codes[i]);

        if (ngx_strncmp(p, codes[i], len) == 0
            && (p[len] == ' ' || p[len] == '\0'))
        {
            return 1;
        }
    }

    return 0;
}


uint32_t
ngx_adm_redis_sort(redisReply *reply)
{
    char  *p, *last, *end;

    p = ngx_adm_redis_cause(reply);
    last = reply->str + reply->len;

    /* "... script: HASH, on @user_script:LINE." */

    for (end = last; end > p; end--) {
        if (ngx_strncmp(end, " script: ", sizeof(" script: ") - 1) == 0) {
            last = end;
            break;
        }
    }

    return ngx_max(ngx_murmur_hash2((u_char *) p, last - p), 1);
}


/* the error itself: Redis before 7 puts words around what a script met */

static char *
ngx_adm_redis_cause(redisReply *reply)
{
    char  *p;

    if (!ngx_adm_redis_is(reply, "ERR Error running script")) {
        return reply->str;
    }

    p = ngx_strstr(reply->str, ": -");

    return p ? p + 3 : reply->str;
}
