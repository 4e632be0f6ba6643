
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The Redis client, from calls to bytes and back, over sockets that are none.
 * The first byte is the kind: 1 one node, C a cluster, S sentinels, then what
 * happens, each a letter and up to "|" what belongs to it:
 *
 *   c key    a command is called       e key    a script is
 *   x        the oldest call is cancelled
 *   a        each command gets the answer that is its own
 *   r bytes  each command is answered so
 *   b bytes  are read from the last connection
 *   t n      so many ms pass           z        the last connection ends
 *   f n      connections: refused (1), on their way (2), made (else)
 *   w        the worker leaves
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>

#include "redis/client.h"
#include "redis/reply.h"
#include "redis/script.h"
#include "redis/shared.h"
#include "fuzz.h"


#define FUZZ_CALLS    64
#define FUZZ_TIMEOUT  200


typedef struct {
    ngx_adm_redis_call_t   *call;
    ngx_str_t               key;
    ngx_msec_t              issued;
    ngx_uint_t              done;
    ngx_uint_t              cancelled;
    ngx_uint_t              script;
} fuzz_call_t;


static fuzz_call_t  fuzz_calls[FUZZ_CALLS];
static ngx_uint_t   fuzz_ncalls;
static ngx_uint_t   fuzz_honest;   /* no answer was another's */
static ngx_uint_t   fuzz_issuing;


static ngx_adm_redis_conf_t *
fuzz_client_conf(u_char kind, ngx_pool_t *pool)
{
    ngx_uint_t                 i;
    ngx_addr_t                *addr;
    ngx_str_t                  names[] = { ngx_string("127.0.0.1:7000"),
                                           ngx_string("127.0.0.1:7001") };
    ngx_adm_redis_conf_t      *conf;
    ngx_adm_redis_endpoint_t  *e;

    conf = ngx_pcalloc(pool, sizeof(ngx_adm_redis_conf_t));
    fuzz_check(conf && ngx_array_init(&conf->endpoints, pool, 2,
                                      sizeof(ngx_adm_redis_endpoint_t))
                       == NGX_OK);

    for (i = 0; i < (kind == '1' ? 1 : 2); i++) {

        e = ngx_array_push(&conf->endpoints);
        addr = ngx_pcalloc(pool, sizeof(ngx_addr_t));
        fuzz_check(e && addr);

        ngx_memzero(e, sizeof(ngx_adm_redis_endpoint_t));

        fuzz_check(ngx_parse_addr_port(pool, addr, names[i].data, names[i].len)
                   == NGX_OK);

        addr->name = names[i];
        e->name = names[i];
        ngx_str_set(&e->host, "127.0.0.1");
        e->port = 7000 + i;
        e->addrs = addr;
        e->naddrs = 1;
    }

    conf->timeout = FUZZ_TIMEOUT;
    conf->cluster = (kind == 'C');

    if (kind == 'S') {
        ngx_str_set(&conf->master, "main");
    }

    ngx_adm_redis_breaker_default(&conf->breaker);

    return conf;
}


static void
fuzz_done(void *data, ngx_int_t rc, redisReply *reply)
{
    fuzz_call_t *fc = data;

    fuzz_check(!fuzz_issuing && !fc->done && !fc->cancelled);
    fuzz_check((rc == NGX_ERROR) == (reply == NULL));
    fuzz_check(rc != NGX_DECLINED || reply->type == REDIS_REPLY_ERROR);
    fuzz_check(rc != NGX_OK || reply->type != REDIS_REPLY_ERROR);

    fc->done = 1;
    fc->call = NULL;

    /* an answer is of the call that asked for it */

    if (rc == NGX_OK && fuzz_honest) {
        fuzz_check(reply->type == REDIS_REPLY_STRING
                   && reply->len == fc->key.len
                   && ngx_memcmp(reply->str, fc->key.data, reply->len) == 0);
    }
}


static void
fuzz_call(ngx_adm_redis_t *redis, ngx_str_t *key, ngx_uint_t script)
{
    ngx_str_t     argv[2];
    fuzz_call_t  *fc;

    if (fuzz_ncalls == FUZZ_CALLS) {
        return;
    }

    fc = &fuzz_calls[fuzz_ncalls++];
    ngx_memzero(fc, sizeof(fuzz_call_t));

    fc->key = *key;
    fc->issued = ngx_current_msec;
    fc->script = script;

    fuzz_issuing = 1;

    if (script) {
        fc->call = ngx_adm_redis_eval(redis,
                           &ngx_adm_scripts[NGX_ADM_CALL_VWR_STEP].command,
                           1, 1, key, fuzz_done, fc);
    } else {
        ngx_str_set(&argv[0], "GET");
        argv[1] = *key;
        fc->call = ngx_adm_redis_call(redis, 2, argv, 1, fuzz_done, fc);
    }

    fuzz_issuing = 0;

    /* not issued: no completion follows */

    fc->done = (fc->call == NULL);
}


/* the last argument of a command, which fakes answer with */

static ngx_str_t
fuzz_own(redisReply *command, ngx_pool_t *pool)
{
    ngx_str_t    text, s;
    redisReply  *key;

    fuzz_check(command->type == REDIS_REPLY_ARRAY && command->elements);

    key = command->element[command->elements - 1];

    s.data = (u_char *) key->str;
    s.len = key->len;

    text.data = ngx_pnalloc(pool, s.len + 32);
    fuzz_check(text.data != NULL);
    text.len = ngx_sprintf(text.data, "$%uz\r\n%V\r\n", s.len, &s)
               - text.data;

    return text;
}


/*
 * Reads what was written to all peers: whole commands, as RESP has them, each
 * of which is answered.
 */

static void
fuzz_answer(ngx_str_t *reply, ngx_pool_t *pool)
{
    void         *command;
    ngx_str_t     text;
    ngx_uint_t    i;
    fuzz_peer_t  *peer;
    redisReader  *reader;

    for (i = 0; i < fuzz_npeers; i++) {
        peer = &fuzz_peers[i];

        if (peer->connection == NULL || peer->nout == 0) {
            continue;
        }

        reader = redisReaderCreate();
        fuzz_check(reader && redisReaderFeed(reader, (char *) peer->out,
                                             peer->nout) == REDIS_OK);

        for ( ;; ) {
            command = NULL;

            fuzz_check(redisReaderGetReply(reader, &command) == REDIS_OK);

            if (command == NULL) {
                break;
            }

            text = reply ? *reply : fuzz_own(command, pool);
            fuzz_feed(peer, text.data, text.len);

            freeReplyObject(command);
        }

        fuzz_check(reader->pos == reader->len);

        redisReaderFree(reader);

        peer->nout = 0;
    }
}


static fuzz_peer_t *
fuzz_last_peer(void)
{
    ngx_uint_t  i;

    for (i = fuzz_npeers; i > 0; i--) {
        if (fuzz_peers[i - 1].connection) {
            return &fuzz_peers[i - 1];
        }
    }

    return NULL;
}


static ngx_uint_t
fuzz_client_op(ngx_adm_redis_t *redis, ngx_str_t *op, ngx_pool_t *pool)
{
    u_char        what;
    ngx_int_t     n;
    ngx_uint_t    i;
    fuzz_peer_t  *peer;

    what = fuzz_byte(op);
    peer = fuzz_last_peer();
    n = ngx_atoi(op->data, op->len);

    switch (what) {

    case 'c':
    case 'e':
        fuzz_call(redis, op, what == 'e');
        break;

    case 'x':
        for (i = 0; i < fuzz_ncalls; i++) {
            if (fuzz_calls[i].call && !fuzz_calls[i].cancelled) {
                fuzz_calls[i].cancelled = 1;
                ngx_adm_redis_cancel(fuzz_calls[i].call);
                break;
            }
        }
        break;

    case 'a':
        fuzz_answer(NULL, pool);
        break;

    case 'r':
        fuzz_honest = 0;
        fuzz_answer(op, pool);
        break;

    case 'b':
        if (peer) {
            fuzz_honest = 0;
            fuzz_feed(peer, op->data, op->len);
        }
        break;

    case 't':
        fuzz_turn(n < 0 ? 1 : ngx_min(n, 100000));
        return 1;

    case 'z':
        if (peer) {
            fuzz_eof(peer);
        }
        break;

    case 'f':
        fuzz_refuse = n < 0 ? 0 : n;
        break;

    case 'w':
        ngx_adm_redis_leave(redis);
        break;

    default:
        return 0;
    }

    return 1;
}


/* each call has been answered, or waits no longer than it may */

static void
fuzz_client_late(void)
{
    ngx_uint_t    i;
    fuzz_call_t  *fc;

    for (i = 0; i < fuzz_ncalls; i++) {
        fc = &fuzz_calls[i];

        fuzz_check(fc->done || fc->cancelled
                   || ngx_current_msec - fc->issued <= FUZZ_TIMEOUT);
    }
}


static void
fuzz_client_run(ngx_str_t *data, ngx_pool_t *pool)
{
    u_char                   kind;
    ngx_str_t                op;
    ngx_uint_t               n;
    ngx_cycle_t              cycle;
    ngx_adm_redis_t         *redis;
    ngx_adm_redis_shared_t   shared;
    ngx_adm_redis_health_t   health[8];

    kind = fuzz_byte(data);

    ngx_memzero(&shared, sizeof(shared));
    ngx_memzero(health, sizeof(health));
    shared.health = health;
    shared.nhealth = 8;

    ngx_adm_redis_shared_use(&shared);

    cycle = *ngx_cycle;
    cycle.pool = pool;

    redis = ngx_adm_redis_create(&cycle, fuzz_client_conf(kind, pool));
    fuzz_check(redis != NULL);

    fuzz_ncalls = 0;
    fuzz_honest = (kind == '1');

    for (n = 0; data->len && n < 200; n++) {

        op = fuzz_until(data, '|', pool);

        if (!fuzz_client_op(redis, &op, pool)) {
            break;
        }

        fuzz_turn(0);
        fuzz_client_late();
    }

    fuzz_refuse = 0;
    fuzz_turn(FUZZ_TIMEOUT + 1);
    fuzz_client_late();

    ngx_adm_redis_close(redis);

    for (n = 0; n < fuzz_ncalls; n++) {
        fuzz_check(fuzz_calls[n].done || fuzz_calls[n].cancelled);
    }

    /* nothing of it is left in the event loop */

    fuzz_turn(0);
    fuzz_check(ngx_event_timer_rbtree.root == ngx_event_timer_rbtree.sentinel);

    fuzz_peers_reset();
}


fuzz_target_t  fuzz_client = { "client",
    "    server { location / { admission_metrics; } }\n",
    NULL, fuzz_client_run };
