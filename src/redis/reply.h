
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Replies of Redis: reading them with hiredis, and what they mean.
 */


#ifndef _NGX_ADM_REDIS_REPLY_H_INCLUDED_
#define _NGX_ADM_REDIS_REPLY_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include <hiredis/hiredis.h>


/*
 * A reader that does not believe any number of elements; NULL: no memory.
 * Replies are allocated from *replies, a pool that is made when there is none:
 * hiredis by itself allocates each element.
 */
redisReader *ngx_adm_redis_create_reader(ngx_pool_t **replies);

/* drops all replies that were read; the pool stays for others, or is NULL */
void ngx_adm_redis_drop_replies(ngx_pool_t **replies);

/* whether an error reply begins with this code, of one word or more */
ngx_uint_t ngx_adm_redis_is(redisReply *reply, char *code);

/* a hash of an error, the same wherever in which script it was met */
uint32_t ngx_adm_redis_sort(redisReply *reply);

/* what Redis said, made fit for a log, in buf of size bytes, null-terminated */
char *ngx_adm_redis_text(char *buf, size_t size, redisReply *reply);

/*
 * The value of a field of INFO, null-terminated and fit for a log.
 * NGX_DECLINED: there is no such field, or it does not fit.
 */
ngx_int_t ngx_adm_redis_field(char *buf, size_t size, redisReply *reply,
    char *name);

/* whether on this connection Redis will answer any call with the same error */
ngx_uint_t ngx_adm_redis_is_wrong_node(redisReply *reply);

/* whether Redis takes no writes for now, whoever asks for them */
ngx_uint_t ngx_adm_redis_is_refusal(redisReply *reply);


#endif /* _NGX_ADM_REDIS_REPLY_H_INCLUDED_ */
