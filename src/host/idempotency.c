
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Answers to repeated calls, in a tree by the hash of the call, and in a queue
 * by when they were given.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_sha1.h>

#include "../base/clock.h"
#include "idempotency.h"


#define NGX_ADM_ANSWER_SIZE     1024     /* bytes, two tokens among them */
#define NGX_ADM_ANSWER_KEEP     300000   /* ms */

/* ms after its deadline by which a worker that still has no answer has died */
#define NGX_ADM_ANSWER_PENDING  10000


/* an answer; key: the first bytes of the call's hash */
typedef struct {
    ngx_str_node_t       sn;
    ngx_queue_t          queue;
    u_char               hash[NGX_ADM_IDEMPOTENCY_HASH];
    u_char               body[NGX_ADM_IDEMPOTENCY_HASH];
    ngx_msec_t           expire;
    uint64_t             owner;      /* who is to answer; 0: answered */
    ngx_adm_answer_t     answer;     /* strings are in data */
    u_char               data[1];
} ngx_adm_answer_node_t;


typedef struct {
    ngx_rbtree_t                    tree;
    ngx_rbtree_node_t               sentinel;
    ngx_queue_t                     queue;      /* latest first */
    ngx_uint_t                      n;
    ngx_uint_t                      max;
} ngx_adm_answers_t;


#define ngx_adm_answers(zone)                                                 \
    ((ngx_adm_answers_t *)                                                    \
        ngx_adm_zone_data(zone, &ngx_adm_answers_part))


static void ngx_adm_answers_empty(ngx_adm_zone_t *zone);
static ngx_adm_answer_node_t *
    ngx_adm_answer_lookup_locked(ngx_adm_zone_t *zone, u_char *hash);
static ngx_int_t ngx_adm_answer_copy_locked(ngx_adm_answer_node_t *an,
    ngx_pool_t *pool, ngx_adm_answer_t *answer);
static ngx_adm_answer_node_t *ngx_adm_answer_add_locked(ngx_adm_zone_t *zone,
    ngx_adm_keyed_t *keyed, ngx_adm_answer_t *answer);
static void *ngx_adm_answer_alloc_locked(ngx_adm_zone_t *zone, size_t size);
static void ngx_adm_answer_delete_locked(ngx_adm_zone_t *zone,
    ngx_adm_answer_node_t *an);


ngx_adm_zone_part_t  ngx_adm_answers_part = {
    .size = sizeof(ngx_adm_answers_t),
    .empty = ngx_adm_answers_empty };


static void
ngx_adm_answers_empty(ngx_adm_zone_t *zone)
{
    ngx_adm_answers_t  *answers;

    answers = ngx_adm_answers(zone);

    ngx_rbtree_init(&answers->tree, &answers->sentinel,
                    ngx_str_rbtree_insert_value);
    ngx_queue_init(&answers->queue);

    answers->n = 0;
    answers->max = zone->sh->size / 8 / NGX_ADM_ANSWER_SIZE;
}


void
ngx_adm_idempotency_hash(u_char *hash, ngx_str_t *parts, ngx_uint_t n)
{
    ngx_uint_t  i;
    ngx_sha1_t  sha1;

    ngx_sha1_init(&sha1);

    for (i = 0; i < n; i++) {
        ngx_sha1_update(&sha1, &parts[i].len, sizeof(size_t));
        ngx_sha1_update(&sha1, parts[i].data, parts[i].len);
    }

    ngx_sha1_final(hash, &sha1);
}


ngx_int_t
ngx_adm_idempotency_begin(ngx_adm_keyed_t *keyed, ngx_pool_t *pool,
    ngx_uint_t make, ngx_msec_t deadline, ngx_adm_answer_t *answer)
{
    ngx_int_t               rc;
    ngx_adm_zone_t         *zone;
    ngx_adm_answer_node_t  *an;

    static uint32_t  calls;

    zone = ngx_adm_zone;

    ngx_adm_zone_lock(zone);

    an = ngx_adm_answer_lookup_locked(zone, keyed->hash);

    if (an && ngx_adm_is_over(an->expire)) {
        ngx_adm_answer_delete_locked(zone, an);
        an = NULL;
    }

    if (an == NULL) {
        rc = NGX_DECLINED;
        keyed->owner = 0;

        if (make) {

            /* never 0, and no other worker's */

            keyed->owner = ((uint64_t) ngx_pid << 32) | ++calls;

            an = ngx_adm_answer_add_locked(zone, keyed, NULL);

            if (an) {
                an->owner = keyed->owner;
                an->expire = deadline + NGX_ADM_ANSWER_PENDING;
            }
        }

    } else if (ngx_memcmp(an->body, keyed->body, NGX_ADM_IDEMPOTENCY_HASH)
               != 0)
    {
        rc = NGX_ABORT;

    } else if (an->owner) {
        rc = NGX_AGAIN;

    } else {
        rc = ngx_adm_answer_copy_locked(an, pool, answer);
    }

    ngx_adm_zone_unlock(zone);

    return rc;
}


void
ngx_adm_idempotency_keep(ngx_adm_keyed_t *keyed, ngx_adm_answer_t *answer)
{
    ngx_adm_zone_t         *zone;
    ngx_adm_answer_node_t  *an;

    zone = ngx_adm_zone;

    ngx_adm_zone_lock(zone);

    an = ngx_adm_answer_lookup_locked(zone, keyed->hash);

    if (an && an->owner == keyed->owner) {
        ngx_adm_answer_delete_locked(zone, an);
        an = NULL;
    }

    /* an owner who comes too late leaves it to whoever came after */

    if (an == NULL) {
        (void) ngx_adm_answer_add_locked(zone, keyed, answer);
    }

    keyed->owner = 0;

    ngx_adm_zone_unlock(zone);
}


void
ngx_adm_idempotency_drop(ngx_adm_keyed_t *keyed)
{
    ngx_adm_zone_t         *zone;
    ngx_adm_answer_node_t  *an;

    zone = ngx_adm_zone;

    ngx_adm_zone_lock(zone);

    an = ngx_adm_answer_lookup_locked(zone, keyed->hash);

    if (an && an->owner == keyed->owner) {
        ngx_adm_answer_delete_locked(zone, an);
    }

    keyed->owner = 0;

    ngx_adm_zone_unlock(zone);
}


static ngx_adm_answer_node_t *
ngx_adm_answer_lookup_locked(ngx_adm_zone_t *zone, u_char *hash)
{
    uint32_t   key;
    ngx_str_t  str;

    str.len = NGX_ADM_IDEMPOTENCY_HASH;
    str.data = hash;
    ngx_memcpy(&key, hash, sizeof(uint32_t));

    return (ngx_adm_answer_node_t *)
               ngx_str_rbtree_lookup(&ngx_adm_answers(zone)->tree, &str, key);
}


static ngx_int_t
ngx_adm_answer_copy_locked(ngx_adm_answer_node_t *an, ngx_pool_t *pool,
    ngx_adm_answer_t *answer)
{
    *answer = an->answer;

    answer->ticket.data = ngx_pstrdup(pool, &an->answer.ticket);
    answer->visitor.data = ngx_pstrdup(pool, &an->answer.visitor);

    return answer->ticket.data && answer->visitor.data ? NGX_OK : NGX_ERROR;
}


/*
 * answer NULL: there is none yet; returns NULL if there is no memory to
 * remember it
 */

static ngx_adm_answer_node_t *
ngx_adm_answer_add_locked(ngx_adm_zone_t *zone, ngx_adm_keyed_t *keyed,
    ngx_adm_answer_t *answer)
{
    size_t                  size;
    u_char                 *p;
    uint32_t                key;
    ngx_adm_answers_t      *answers;
    ngx_adm_answer_node_t  *an;

    answers = ngx_adm_answers(zone);
    size = sizeof(ngx_adm_answer_node_t);

    if (answer) {
        size += answer->ticket.len + answer->visitor.len;
    }

    an = ngx_adm_answer_alloc_locked(zone, size);
    if (an == NULL) {
        return NULL;
    }

    ngx_memcpy(an->hash, keyed->hash, NGX_ADM_IDEMPOTENCY_HASH);
    ngx_memcpy(an->body, keyed->body, NGX_ADM_IDEMPOTENCY_HASH);
    ngx_memcpy(&key, keyed->hash, sizeof(uint32_t));

    an->sn.node.key = key;
    an->sn.str.len = NGX_ADM_IDEMPOTENCY_HASH;
    an->sn.str.data = an->hash;

    an->owner = 0;
    an->expire = ngx_current_msec + NGX_ADM_ANSWER_KEEP;

    if (answer) {
        an->answer = *answer;

        p = an->data;
        an->answer.ticket.data = p;
        p = ngx_cpymem(p, answer->ticket.data, answer->ticket.len);
        an->answer.visitor.data = p;
        ngx_memcpy(p, answer->visitor.data, answer->visitor.len);
    }

    ngx_rbtree_insert(&answers->tree, &an->sn.node);
    ngx_queue_insert_head(&answers->queue, &an->queue);
    answers->n++;

    return an;
}


static void *
ngx_adm_answer_alloc_locked(ngx_adm_zone_t *zone, size_t size)
{
    void                   *p;
    ngx_queue_t            *q;
    ngx_adm_answers_t      *answers;
    ngx_adm_answer_node_t  *an;

    answers = ngx_adm_answers(zone);

    for ( ;; ) {

        p = (answers->n < answers->max)
            ? ngx_slab_alloc_locked(zone->shpool, size) : NULL;

        if (p || ngx_queue_empty(&answers->queue)) {
            return p;
        }

        q = ngx_queue_last(&answers->queue);
        an = ngx_queue_data(q, ngx_adm_answer_node_t, queue);

        ngx_adm_answer_delete_locked(zone, an);
    }
}


static void
ngx_adm_answer_delete_locked(ngx_adm_zone_t *zone, ngx_adm_answer_node_t *an)
{
    ngx_adm_answers_t  *answers;

    answers = ngx_adm_answers(zone);

    ngx_queue_remove(&an->queue);
    ngx_rbtree_delete(&answers->tree, &an->sn.node);
    ngx_slab_free_locked(zone->shpool, an);
    answers->n--;
}
