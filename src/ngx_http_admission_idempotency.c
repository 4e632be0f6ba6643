
/*
 * Copyright (C) 2026 the admission module authors
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_sha1.h>

#include "ngx_http_admission_idempotency.h"
#include "ngx_http_admission_zone_shm.h"


#define NGX_HTTP_ADMISSION_ANSWER_SIZE     1024     /* bytes, with two tokens */
#define NGX_HTTP_ADMISSION_ANSWER_KEEP     300000   /* ms */

/* ms after which whoever is answering it has died */
#define NGX_HTTP_ADMISSION_ANSWER_PENDING  10000


/* the rbtree node has the first bytes of the hash as its key */
typedef struct {
    ngx_rbtree_node_t               node;
    ngx_queue_t                     queue;
    u_char                          hash[NGX_HTTP_ADMISSION_IDEMPOTENCY_HASH];
    ngx_msec_t                      expire;
    ngx_uint_t                      pending;
    ngx_http_admission_answer_t     answer;     /* its strings in data */
    u_char                          data[1];
} ngx_http_admission_answer_node_t;


static void ngx_http_admission_answer_insert(ngx_rbtree_node_t *temp,
    ngx_rbtree_node_t *node, ngx_rbtree_node_t *sentinel);
static ngx_http_admission_answer_node_t *
    ngx_http_admission_answer_lookup_locked(ngx_http_admission_zone_t *zone,
    u_char *hash);
static ngx_int_t ngx_http_admission_answer_copy_locked(
    ngx_http_admission_answer_node_t *an, ngx_pool_t *pool,
    ngx_http_admission_answer_t *answer);
static void ngx_http_admission_answer_add_locked(
    ngx_http_admission_zone_t *zone, u_char *hash,
    ngx_http_admission_answer_t *answer);
static void *ngx_http_admission_answer_alloc_locked(
    ngx_http_admission_zone_t *zone, size_t size);
static void ngx_http_admission_answer_delete_locked(
    ngx_http_admission_zone_t *zone, ngx_http_admission_answer_node_t *an);


void
ngx_http_admission_answers_init(ngx_http_admission_shctx_t *sh, size_t size)
{
    ngx_rbtree_init(&sh->answers, &sh->answers_sentinel,
                    ngx_http_admission_answer_insert);
    ngx_queue_init(&sh->answered);
    sh->nanswers = 0;

    sh->answers_max = size / 8 / NGX_HTTP_ADMISSION_ANSWER_SIZE;
}


void
ngx_http_admission_idempotency_hash(u_char *hash, ngx_str_t *parts,
    ngx_uint_t n)
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
ngx_http_admission_idempotency_begin(u_char *hash, ngx_pool_t *pool,
    ngx_uint_t make, ngx_http_admission_answer_t *answer)
{
    ngx_int_t                          rc;
    ngx_http_admission_zone_t         *zone;
    ngx_http_admission_answer_node_t  *an;

    zone = ngx_http_admission_zone;

    ngx_http_admission_zone_lock(zone);

    an = ngx_http_admission_answer_lookup_locked(zone, hash);

    if (an && (ngx_msec_int_t) (an->expire - ngx_current_msec) <= 0) {
        ngx_http_admission_answer_delete_locked(zone, an);
        an = NULL;
    }

    if (an == NULL) {
        rc = NGX_DECLINED;

        if (make) {
            ngx_http_admission_answer_add_locked(zone, hash, NULL);
        }

    } else if (an->pending) {
        rc = NGX_AGAIN;

    } else {
        rc = ngx_http_admission_answer_copy_locked(an, pool, answer);
    }

    ngx_http_admission_zone_unlock(zone);

    return rc;
}


void
ngx_http_admission_idempotency_keep(u_char *hash,
    ngx_http_admission_answer_t *answer)
{
    ngx_http_admission_zone_t         *zone;
    ngx_http_admission_answer_node_t  *an;

    zone = ngx_http_admission_zone;

    ngx_http_admission_zone_lock(zone);

    an = ngx_http_admission_answer_lookup_locked(zone, hash);

    if (an) {
        ngx_http_admission_answer_delete_locked(zone, an);
    }

    ngx_http_admission_answer_add_locked(zone, hash, answer);

    ngx_http_admission_zone_unlock(zone);
}


void
ngx_http_admission_idempotency_drop(u_char *hash)
{
    ngx_http_admission_zone_t         *zone;
    ngx_http_admission_answer_node_t  *an;

    zone = ngx_http_admission_zone;

    ngx_http_admission_zone_lock(zone);

    an = ngx_http_admission_answer_lookup_locked(zone, hash);

    if (an && an->pending) {
        ngx_http_admission_answer_delete_locked(zone, an);
    }

    ngx_http_admission_zone_unlock(zone);
}


static void
ngx_http_admission_answer_insert(ngx_rbtree_node_t *temp,
    ngx_rbtree_node_t *node, ngx_rbtree_node_t *sentinel)
{
    ngx_rbtree_node_t                **p;
    ngx_http_admission_answer_node_t  *an, *ant;

    an = (ngx_http_admission_answer_node_t *) node;

    for ( ;; ) {

        ant = (ngx_http_admission_answer_node_t *) temp;

        if (node->key != temp->key) {
            p = (node->key < temp->key) ? &temp->left : &temp->right;

        } else {
            p = (ngx_memcmp(an->hash, ant->hash,
                            NGX_HTTP_ADMISSION_IDEMPOTENCY_HASH)
                 < 0) ? &temp->left : &temp->right;
        }

        if (*p == sentinel) {
            break;
        }

        temp = *p;
    }

    *p = node;
    node->parent = temp;
    node->left = sentinel;
    node->right = sentinel;
    ngx_rbt_red(node);
}


static ngx_http_admission_answer_node_t *
ngx_http_admission_answer_lookup_locked(ngx_http_admission_zone_t *zone,
    u_char *hash)
{
    ngx_int_t                          rc;
    ngx_rbtree_key_t                   key;
    ngx_rbtree_node_t                 *node, *sentinel;
    ngx_http_admission_answer_node_t  *an;

    ngx_memcpy(&key, hash, sizeof(ngx_rbtree_key_t));

    node = zone->sh->answers.root;
    sentinel = zone->sh->answers.sentinel;

    while (node != sentinel) {

        if (key != node->key) {
            node = (key < node->key) ? node->left : node->right;
            continue;
        }

        an = (ngx_http_admission_answer_node_t *) node;

        rc = ngx_memcmp(hash, an->hash, NGX_HTTP_ADMISSION_IDEMPOTENCY_HASH);

        if (rc == 0) {
            return an;
        }

        node = (rc < 0) ? node->left : node->right;
    }

    return NULL;
}


static ngx_int_t
ngx_http_admission_answer_copy_locked(ngx_http_admission_answer_node_t *an,
    ngx_pool_t *pool, ngx_http_admission_answer_t *answer)
{
    *answer = an->answer;

    answer->ticket.data = ngx_pstrdup(pool, &an->answer.ticket);
    answer->visitor.data = ngx_pstrdup(pool, &an->answer.visitor);

    return answer->ticket.data && answer->visitor.data ? NGX_OK : NGX_ERROR;
}


/* answer NULL: there is none yet.  Without memory it is not remembered */

static void
ngx_http_admission_answer_add_locked(ngx_http_admission_zone_t *zone,
    u_char *hash, ngx_http_admission_answer_t *answer)
{
    size_t                             size;
    u_char                            *p;
    ngx_http_admission_answer_node_t  *an;

    size = sizeof(ngx_http_admission_answer_node_t);

    if (answer) {
        size += answer->ticket.len + answer->visitor.len;
    }

    an = ngx_http_admission_answer_alloc_locked(zone, size);
    if (an == NULL) {
        return;
    }

    ngx_memcpy(an->hash, hash, NGX_HTTP_ADMISSION_IDEMPOTENCY_HASH);
    ngx_memcpy(&an->node.key, hash, sizeof(ngx_rbtree_key_t));

    an->pending = (answer == NULL);
    an->expire = ngx_current_msec
                 + (answer ? NGX_HTTP_ADMISSION_ANSWER_KEEP
                           : NGX_HTTP_ADMISSION_ANSWER_PENDING);

    if (answer) {
        an->answer = *answer;

        p = an->data;
        an->answer.ticket.data = p;
        p = ngx_cpymem(p, answer->ticket.data, answer->ticket.len);
        an->answer.visitor.data = p;
        ngx_memcpy(p, answer->visitor.data, answer->visitor.len);
    }

    ngx_rbtree_insert(&zone->sh->answers, &an->node);
    ngx_queue_insert_head(&zone->sh->answered, &an->queue);
    zone->sh->nanswers++;
}


static void *
ngx_http_admission_answer_alloc_locked(ngx_http_admission_zone_t *zone,
    size_t size)
{
    void                              *p;
    ngx_queue_t                       *q;
    ngx_http_admission_shctx_t        *sh;
    ngx_http_admission_answer_node_t  *an;

    sh = zone->sh;

    for ( ;; ) {

        p = (sh->nanswers < sh->answers_max)
            ? ngx_slab_alloc_locked(zone->shpool, size) : NULL;

        if (p || ngx_queue_empty(&sh->answered)) {
            return p;
        }

        q = ngx_queue_last(&sh->answered);
        an = ngx_queue_data(q, ngx_http_admission_answer_node_t, queue);

        ngx_http_admission_answer_delete_locked(zone, an);
    }
}


static void
ngx_http_admission_answer_delete_locked(ngx_http_admission_zone_t *zone,
    ngx_http_admission_answer_node_t *an)
{
    ngx_queue_remove(&an->queue);
    ngx_rbtree_delete(&zone->sh->answers, &an->node);
    ngx_slab_free_locked(zone->shpool, an);
    zone->sh->nanswers--;
}
