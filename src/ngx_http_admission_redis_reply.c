
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What Redis says, apart from the connection on which it does.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_admission_redis_reply.h"


#define NGX_HTTP_ADMISSION_REDIS_ELEMENTS_MAX  1048576

/* most replies fit into one block */
#define NGX_HTTP_ADMISSION_REDIS_REPLIES_SIZE  2048


#if (HIREDIS_MAJOR >= 1)
typedef size_t  ngx_http_admission_redis_elements_t;
#else
typedef int     ngx_http_admission_redis_elements_t;
#endif


static void *ngx_http_admission_redis_create_string(const redisReadTask *task,
    char *str, size_t len);
static void *ngx_http_admission_redis_create_array(const redisReadTask *task,
    ngx_http_admission_redis_elements_t elements);
static void *ngx_http_admission_redis_create_integer(
    const redisReadTask *task, long long value);
static void *ngx_http_admission_redis_create_nil(const redisReadTask *task);
#if (HIREDIS_MAJOR >= 1)
static void *ngx_http_admission_redis_create_double(const redisReadTask *task,
    double value, char *str, size_t len);
static void *ngx_http_admission_redis_create_bool(const redisReadTask *task,
    int value);
#endif
static void ngx_http_admission_redis_free_object(void *object);

static redisReply *ngx_http_admission_redis_create_reply(
    const redisReadTask *task);
static ngx_pool_t *ngx_http_admission_redis_reply_pool(
    const redisReadTask *task);


static redisReplyObjectFunctions  ngx_http_admission_redis_functions = {
    .createString = ngx_http_admission_redis_create_string,
    .createArray = ngx_http_admission_redis_create_array,
    .createInteger = ngx_http_admission_redis_create_integer,
    .createNil = ngx_http_admission_redis_create_nil,
#if (HIREDIS_MAJOR >= 1)
    .createDouble = ngx_http_admission_redis_create_double,
    .createBool = ngx_http_admission_redis_create_bool,
#endif
    .freeObject = ngx_http_admission_redis_free_object
};


redisReader *
ngx_http_admission_redis_create_reader(ngx_pool_t **replies)
{
    redisReader  *reader;

    reader = redisReaderCreateWithFunctions(
                                         &ngx_http_admission_redis_functions);
    if (reader == NULL) {
        return NULL;
    }

    reader->privdata = replies;

    return reader;
}


void
ngx_http_admission_redis_drop_replies(ngx_pool_t **replies)
{
    ngx_pool_t  *pool;

    pool = *replies;

    if (pool == NULL) {
        return;
    }

    if (pool->d.next) {

        /* a large one: its memory is not kept, nor gone through each time */

        ngx_destroy_pool(pool);
        *replies = NULL;

        return;
    }

    ngx_reset_pool(pool);
}


static void *
ngx_http_admission_redis_create_string(const redisReadTask *task, char *str,
    size_t len)
{
    redisReply  *reply;
    ngx_pool_t  *pool;

    reply = ngx_http_admission_redis_create_reply(task);
    if (reply == NULL) {
        return NULL;
    }

    pool = ngx_http_admission_redis_reply_pool(task);

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
 * It is allocated when it has been read how many elements it is to have: that
 * number is all that has to be rubbish.
 */

static void *
ngx_http_admission_redis_create_array(const redisReadTask *task,
    ngx_http_admission_redis_elements_t elements)
{
    redisReply  *reply;
    ngx_pool_t  *pool;

    if (elements > NGX_HTTP_ADMISSION_REDIS_ELEMENTS_MAX) {
        return NULL;
    }

    reply = ngx_http_admission_redis_create_reply(task);
    if (reply == NULL) {
        return NULL;
    }

    pool = ngx_http_admission_redis_reply_pool(task);

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
ngx_http_admission_redis_create_integer(const redisReadTask *task,
    long long value)
{
    redisReply  *reply;

    reply = ngx_http_admission_redis_create_reply(task);

    if (reply) {
        reply->integer = value;
    }

    return reply;
}


static void *
ngx_http_admission_redis_create_nil(const redisReadTask *task)
{
    redisReply  *reply;

    reply = ngx_http_admission_redis_create_reply(task);

    if (reply) {
        /* the task was to read a string, or an array */
        reply->type = REDIS_REPLY_NIL;
    }

    return reply;
}


#if (HIREDIS_MAJOR >= 1)

/* of a protocol that was not asked for: nobody looks at their values */

static void *
ngx_http_admission_redis_create_double(const redisReadTask *task,
    double value, char *str, size_t len)
{
    return ngx_http_admission_redis_create_reply(task);
}


static void *
ngx_http_admission_redis_create_bool(const redisReadTask *task, int value)
{
    return ngx_http_admission_redis_create_reply(task);
}

#endif


static void
ngx_http_admission_redis_free_object(void *object)
{
    /* the pool's */
}


static redisReply *
ngx_http_admission_redis_create_reply(const redisReadTask *task)
{
    redisReply  *reply, *parent;
    ngx_pool_t  *pool;

    pool = ngx_http_admission_redis_reply_pool(task);
    if (pool == NULL) {
        return NULL;
    }

    reply = ngx_pcalloc(pool, sizeof(redisReply));
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


static ngx_pool_t *
ngx_http_admission_redis_reply_pool(const redisReadTask *task)
{
    ngx_pool_t  **replies;

    replies = task->privdata;

    if (*replies == NULL) {
        *replies = ngx_create_pool(NGX_HTTP_ADMISSION_REDIS_REPLIES_SIZE,
                                   ngx_cycle->log);
    }

    return *replies;
}


ngx_uint_t
ngx_http_admission_redis_is(redisReply *reply, char *code)
{
    size_t  len;

    len = ngx_strlen(code);

    return (size_t) reply->len >= len
           && ngx_strncmp(reply->str, code, len) == 0
           && ((size_t) reply->len == len || reply->str[len] == ' ');
}


char *
ngx_http_admission_redis_text(char *buf, size_t size, redisReply *reply)
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
ngx_http_admission_redis_field(char *buf, size_t size, redisReply *reply,
    char *name)
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
ngx_http_admission_redis_is_wrong_node(redisReply *reply)
{
    ngx_uint_t  i;

    static char  *codes[] = {
        "READONLY",
        "MASTERDOWN",
        "NOAUTH",

        /* these come unasked, but look like the answer to the first call */

        "DENIED",
        "ERR max number of clients",

        NULL
    };

    for (i = 0; codes[i]; i++) {
        if (ngx_http_admission_redis_is(reply, codes[i])) {
            return 1;
        }
    }

    /* Redis before 7 wraps what a command of a script met */

    return ngx_strstr(reply->str, ": -READONLY ") != NULL;
}


ngx_uint_t
ngx_http_admission_redis_is_refusal(redisReply *reply)
{
    u_char      *p;
    ngx_uint_t   i;

    static char  *codes[] = {
        "OOM",
        "MISCONF",
        "NOREPLICAS",
        "READONLY",
        "LOADING",
        "MASTERDOWN",
        "CLUSTERDOWN",
        "BUSY",
        NULL
    };

    /* Redis before 7 wraps what a command of a script met, as above */

    p = (u_char *) ngx_strstr(reply->str, ": -");

    for (i = 0; codes[i]; i++) {
        if (ngx_http_admission_redis_is(reply, codes[i])
            || (p && ngx_strncmp(p + 3, codes[i], ngx_strlen(codes[i])) == 0))
        {
            return 1;
        }
    }

    return 0;
}
