
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What Redis says: the bytes, read in pieces of so many as the first one says,
 * by the module's reader and by hiredis's own, and then by all who make
 * something of a reply: scripts' answers, the map of a cluster, errors.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "host/args.h"
#include "host/view.h"
#include "host/zone.h"
#include "queue/reply.h"
#include "redis/map.h"
#include "redis/node.h"
#include "redis/reply.h"
#include "redis/shared.h"
#include "fuzz.h"


static ngx_adm_redis_conf_t   fuzz_settings;
static ngx_adm_redis_map_t    fuzz_map;
static ngx_adm_redis_nodes_t  fuzz_nodes;
static ngx_adm_redis_node_t  *fuzz_asked;


static void fuzz_node_failed(void *data, ngx_adm_redis_node_t *node);
static void fuzz_node_found(void *data);


/* whether two replies are the same; with as many elements as are read here */

static ngx_uint_t
fuzz_reply_same(redisReply *a, redisReply *b)
{
    size_t  i;

    if (a->type != b->type) {
        return 0;
    }

    switch (a->type) {

    case REDIS_REPLY_INTEGER:
        return a->integer == b->integer;

    case REDIS_REPLY_STRING:
    case REDIS_REPLY_STATUS:
    case REDIS_REPLY_ERROR:
        return a->len == b->len && a->str[a->len] == '\0'
               && memcmp(a->str, b->str, a->len) == 0;

    case REDIS_REPLY_NIL:
        return 1;

    default:
        if (a->elements != b->elements) {
            return 0;
        }

        for (i = 0; i < a->elements; i++) {
            if (!fuzz_reply_same(a->element[i], b->element[i])) {
                return 0;
            }
        }

        return 1;
    }
}


static void
fuzz_reply_error(redisReply *reply, ngx_pool_t *pool)
{
    char        text[128], *small;
    ngx_uint_t  i, size;
    ngx_int_t   rc;

    static char  *codes[] = { "MOVED", "ASK", "NOSCRIPT", "ERR max" };

    if (reply->type != REDIS_REPLY_ERROR) {

        rc = ngx_adm_redis_field(text, sizeof(text), reply,
                                 "maxmemory_policy");
        fuzz_check(rc == NGX_DECLINED || strlen(text) < sizeof(text));
        return;
    }

    for (i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        size = strlen(codes[i]);

        if (ngx_adm_redis_is(reply, codes[i])) {
            fuzz_check(reply->len >= size
                       && memcmp(reply->str, codes[i], size) == 0);
        }
    }

    (void) ngx_adm_redis_is_wrong_node(reply);
    (void) ngx_adm_redis_is_refusal(reply);

    for (size = 1; size < 64; size *= 2) {
        small = ngx_pnalloc(pool, size);
        fuzz_check(small != NULL);

        fuzz_check(strlen(ngx_adm_redis_text(small, size, reply)) < size);
    }

    for (i = 0; small[i]; i++) {
        fuzz_check((u_char) small[i] >= 0x20 && small[i] != 0x7f);
    }
}


static void
fuzz_reply_numbers(redisReply *reply)
{
    size_t      i;
    u_char      buf[NGX_ADM_EVENT_MAX];
    int64_t     v[4];
    ngx_str_t   id;

    if (ngx_adm_reply_event(reply, &id, buf) == NGX_OK) {
        fuzz_check(id.len >= 1 && id.len <= NGX_ADM_EVENT_MAX);
    }

    if (ngx_adm_reply_numbers(reply, v, 4, 0) == NGX_OK) {

        fuzz_check(reply->elements == 4);

        for (i = 0; i < 4; i++) {
            fuzz_check(v[i] == reply->element[i]->integer && v[i] >= -1);
        }
    }
}


/* whatever a script says, numbers are in bounds */

static void
fuzz_reply_queue(redisReply *reply)
{
    ngx_int_t              rc;
    ngx_str_t              event = ngx_string("e1");
    ngx_adm_queue_reply_t  r;

    rc = ngx_adm_queue_reply(reply, &r, 0);

    if (rc != NGX_OK) {
        fuzz_check(fuzz_logged(NGX_LOG_ERR));
        rc = ngx_adm_queue_reply_step(reply, &event, 1000, &r);

        if (rc == NGX_OK) {
            fuzz_check(r.points->elements <= NGX_ADM_VIEW_POINTS);
            fuzz_check(r.ranks->elements <= NGX_ADM_VIEW_SHARES);
            fuzz_check(r.gone->elements % 2 == 0);
        }
    }

    if (rc != NGX_OK) {
        rc = ngx_adm_queue_reply_beat(reply, &r);
    }

    if (rc != NGX_OK) {
        rc = ngx_adm_queue_reply_joins(reply, &r);

        if (rc == NGX_OK) {
            fuzz_check(r.answer.stands->elements % NGX_ADM_QUEUE_STANDS == 0);
        }
    }

    if (rc == NGX_OK) {
        fuzz_check(r.answer.position >= -1
                   && r.answer.position <= NGX_ADM_NUMBER_MAX);
        fuzz_check(r.answer.now >= -1 && r.answer.now <= NGX_ADM_NUMBER_MAX);
        fuzz_check(r.state.revoked >= 0
                   && r.state.revoked <= NGX_ADM_NUMBER_MAX);
        fuzz_check(r.answer.state < NGX_ADM_QUEUE_STATES);
    }
}


/* a slot is of a node that is there, and was said to have it */

static void
fuzz_reply_map(redisReply *reply)
{
    size_t                 i;
    redisReply            *range;
    ngx_uint_t             n, found, said;
    ngx_queue_t           *q;
    ngx_adm_redis_node_t  *node, *before[16];

    for (n = 0; n < 16; n++) {
        before[n] = fuzz_map.slots[n * 1024];
    }

    if (ngx_adm_redis_map_read(&fuzz_map, reply, fuzz_asked) != NGX_OK) {

        for (n = 0; n < 16; n++) {
            fuzz_check(before[n] == fuzz_map.slots[n * 1024]);
        }

        return;
    }

    for (n = 0; n < NGX_ADM_REDIS_SLOTS; n += 117) {

        node = fuzz_map.slots[n];

        if (node == NULL) {
            continue;
        }

        said = 0;

        for (i = 0; i < reply->elements; i++) {
            range = reply->element[i];

            said |= range->element[0]->integer <= (long long) n
                    && range->element[1]->integer >= (long long) n
                    && range->element[2]->element[1]->integer == node->port;
        }

        found = 0;

        for (q = ngx_queue_head(&fuzz_nodes.queue);
             q != ngx_queue_sentinel(&fuzz_nodes.queue);
             q = ngx_queue_next(q))
        {
            found |= ngx_queue_data(q, ngx_adm_redis_node_t, queue) == node;
        }

        fuzz_check(said && found && node->used && node->has_slots);
    }

    /* what is not used goes, and nothing that is */

    ngx_adm_redis_nodes_sweep(&fuzz_nodes);

    for (n = 0; n < NGX_ADM_REDIS_SLOTS; n++) {
        fuzz_check(fuzz_map.slots[n] == NULL || fuzz_map.slots[n]->used);
    }
}


static void
fuzz_reply_nodes(void)
{
    ngx_str_t  host = ngx_string("127.0.0.1");

    ngx_memzero(&fuzz_map, sizeof(ngx_adm_redis_map_t));

    ngx_adm_redis_nodes_init(&fuzz_nodes, (ngx_cycle_t *) ngx_cycle,
                             &fuzz_settings);

    fuzz_nodes.failed = fuzz_node_failed;
    fuzz_nodes.found = fuzz_node_found;

    fuzz_map.nodes = &fuzz_nodes;
    fuzz_map.log = ngx_cycle->log;

    fuzz_asked = ngx_adm_redis_node_at(&fuzz_nodes, &host, 6379);
    fuzz_check(fuzz_asked != NULL);
}


static void
fuzz_node_failed(void *data, ngx_adm_redis_node_t *node)
{
}


static void
fuzz_node_found(void *data)
{
}


static void
fuzz_reply_use(redisReply *reply, ngx_pool_t *pool)
{
    ngx_str_t  host;

    fuzz_reply_error(reply, pool);
    fuzz_reply_numbers(reply);
    fuzz_reply_queue(reply);

    /* the one that was asked is always there */

    ngx_str_set(&host, "127.0.0.1");

    fuzz_asked = ngx_adm_redis_node_at(&fuzz_nodes, &host, 6379);
    fuzz_check(fuzz_asked != NULL);
    fuzz_asked->used = 1;

    fuzz_reply_map(reply);
}


static void
fuzz_reply_run(ngx_str_t *data, ngx_pool_t *pool)
{
    int           rc;
    void         *reply, *other;
    size_t        piece;
    ngx_str_t     part;
    ngx_pool_t   *replies;
    redisReader  *reader, *plain;

    replies = NULL;

    reader = ngx_adm_redis_create_reader(&replies);
    plain = redisReaderCreate();
    fuzz_check(reader && plain);

    fuzz_reply_nodes();

    piece = fuzz_byte(data);
    piece = piece ? piece : 65536;

    while (data->len) {
        part = fuzz_take(data, piece, pool);

        (void) redisReaderFeed(reader, (char *) part.data, part.len);
        (void) redisReaderFeed(plain, (char *) part.data, part.len);

        do {
            reply = NULL;
            other = NULL;

            rc = redisReaderGetReply(reader, &reply);

            /*
             * Of the two the module's refuses more: hiredis would make room
             * for as many elements as it is told of.
             */

            if (rc != REDIS_OK) {
                break;
            }

            fuzz_check(redisReaderGetReply(plain, &other) == REDIS_OK);

            if (reply) {
                fuzz_check(other && fuzz_reply_same(reply, other));
                fuzz_reply_use(reply, pool);
            }

            if (other) {
                freeReplyObject(other);
            }

            /* what has come of the next one stays */

            if (reply) {
                ngx_adm_redis_drop_replies(&replies);
            }

        } while (reply);

        if (rc != REDIS_OK) {
            break;
        }
    }

    ngx_adm_redis_nodes_close(&fuzz_nodes);

    redisReaderFree(reader);
    redisReaderFree(plain);

    if (replies) {
        ngx_destroy_pool(replies);
    }
}


static void
fuzz_reply_init(void)
{
    ngx_adm_redis_breaker_default(&fuzz_settings.breaker);
    fuzz_settings.timeout = 200;
}


fuzz_target_t  fuzz_reply = { "reply",
    "    admission_zone fuzz:1m;\n    admission_redis redis://127.0.0.1;\n"
    "    admission_secret tier1 0123456789abcdef0123456789abcdef;\n"
    "    server { location / { admission_vwr_api; } }\n",
    fuzz_reply_init, fuzz_reply_run };
