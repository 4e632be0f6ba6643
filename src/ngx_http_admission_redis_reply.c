
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What Redis says, apart from the connection on which it does.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_admission_redis_reply.h"


#define NGX_HTTP_ADMISSION_REDIS_ELEMENTS_MAX  1048576


#if (HIREDIS_MAJOR < 1)
static void *ngx_http_admission_redis_create_array(const redisReadTask *task,
    int elements);


static redisReplyObjectFunctions  ngx_http_admission_redis_functions;
static redisReplyObjectFunctions  ngx_http_admission_redis_hiredis_functions;
#endif


/*
 * hiredis allocates an array when it has read how many elements it is to
 * have: that number is all that has to be rubbish.
 */

redisReader *
ngx_http_admission_redis_create_reader(void)
{
    redisReader  *reader;

    reader = redisReaderCreate();
    if (reader == NULL) {
        return NULL;
    }

#if (HIREDIS_MAJOR >= 1)

    reader->maxelements = NGX_HTTP_ADMISSION_REDIS_ELEMENTS_MAX;

#else

    ngx_http_admission_redis_hiredis_functions = *reader->fn;

    ngx_http_admission_redis_functions = *reader->fn;
    ngx_http_admission_redis_functions.createArray =
                                        ngx_http_admission_redis_create_array;

    reader->fn = &ngx_http_admission_redis_functions;

#endif

    return reader;
}


#if (HIREDIS_MAJOR < 1)

static void *
ngx_http_admission_redis_create_array(const redisReadTask *task, int elements)
{
    if (elements > NGX_HTTP_ADMISSION_REDIS_ELEMENTS_MAX) {
        return NULL;
    }

    return ngx_http_admission_redis_hiredis_functions.createArray(task,
                                                                  elements);
}

#endif


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
