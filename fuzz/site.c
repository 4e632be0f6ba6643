
/*
 * Copyright (C) 2026 the admission module authors
 *
 * A whole site: requests as they come from clients, to the end of their
 * answers, with the queue, the room and limits behind them, and Redis as the
 * input has it.  What happens, each a letter and up to a byte 0x1e what
 * belongs to it:
 *
 *   q bytes  a request                  p bytes  more of it
 *   i 1,2,.  each command that Redis got is answered with these numbers
 *   r bytes  or with these bytes        d bytes  or with those, a digit says
 *                                                for the how many'th alone
 *   t n      so many ms pass            z        a connection to Redis ends
 *   h        the client hangs up        f n      Redis: refused (1), slow (2)
 *
 * In a request the bytes 0x01 to 0x06 stand for tokens that are right: tier 1,
 * tier 2, user, visitor, ticket, place, of the event e1, the user u1 and the
 * visitor v1.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>
#include <ngx_http.h>

#include <jansson.h>

#include <hiredis/hiredis.h>

#include "base/clock.h"
#include "host/settings.h"
#include "host/zone.h"
#include "token/claims.h"
#include "token/jwt.h"
#include "fuzz.h"


#define FUZZ_NOW  1700000000


static ngx_str_t       fuzz_tokens[NGX_ADM_TOKEN_KINDS];
static ngx_time_t      fuzz_time = { FUZZ_NOW, 0, 0 };
static ngx_cycle_t     fuzz_run_cycle;
static fuzz_peer_t    *fuzz_client_peer;


static void
fuzz_site_init(void)
{
    ngx_uint_t                   kind;
    ngx_adm_claims_t             claims;
    ngx_adm_loc_conf_t          *lcf;
    ngx_http_core_srv_conf_t   **cscfp;
    ngx_http_core_main_conf_t   *cmcf;

    static ngx_str_t  user = ngx_string("{\"userId\":\"u1\",\"role\":\"admin\","
                                        "\"exp\":4000000000}");

    cmcf = ngx_http_cycle_get_module_main_conf(ngx_cycle,
                                               ngx_http_core_module);
    cscfp = cmcf->servers.elts;
    lcf = cscfp[0]->ctx->loc_conf[ngx_http_admission_module.ctx_index];

    ngx_memzero(&claims, sizeof(claims));

    ngx_str_set(&claims.sub, "e1");
    ngx_str_set(&claims.uid, "u1");
    ngx_str_set(&claims.vis, "v1");
    claims.position = 7;
    claims.act = (int64_t) (FUZZ_NOW - 100) * 1000000;
    claims.at = claims.act + 1000;
    claims.adm = claims.at + 1000;
    claims.score = 2 * claims.at;
    claims.epoch = claims.act;
    claims.iat = FUZZ_NOW;
    claims.exp = FUZZ_NOW + 600;

    for (kind = 0; kind < NGX_ADM_TOKEN_KINDS; kind++) {

        claims.tier = (kind == NGX_ADM_TOKEN_TIER1) ? 1 : 2;

        if (kind == NGX_ADM_TOKEN_USER) {
            /* which the module verifies, and never signs */

            fuzz_tokens[kind].data = ngx_pnalloc(ngx_cycle->pool,
                                               ngx_adm_jwt_size(user.len));
            fuzz_check(fuzz_tokens[kind].data
                       && ngx_adm_jwt_sign(lcf->verifiers[kind].keys, &user,
                                           &fuzz_tokens[kind]) == NGX_OK);
            continue;
        }

        fuzz_check(ngx_adm_token_sign(kind, lcf->verifiers[kind].keys, &claims,
                                      ngx_cycle->pool, &fuzz_tokens[kind])
                   == NGX_OK);
    }
}


/* what bytes of the input stand for is put in their place */

static ngx_str_t
fuzz_request(ngx_str_t *data, ngx_pool_t *pool)
{
    size_t      i, len;
    u_char     *p, ch;
    ngx_str_t   text;

    for (i = 0, len = 0; i < data->len; i++) {
        ch = data->data[i];
        len += (ch && ch <= NGX_ADM_TOKEN_KINDS) ? fuzz_tokens[ch - 1].len : 1;
    }

    text.len = len;
    text.data = ngx_pnalloc(pool, len + 1);
    fuzz_check(text.data != NULL);

    for (i = 0, p = text.data; i < data->len; i++) {
        ch = data->data[i];

        if (ch && ch <= NGX_ADM_TOKEN_KINDS) {
            p = ngx_cpymem(p, fuzz_tokens[ch - 1].data,
                           fuzz_tokens[ch - 1].len);
        } else {
            *p++ = ch;
        }
    }

    return text;
}


/* as ngx_event_accept() does */

static void
fuzz_site_request(ngx_str_t *data)
{
    ngx_log_t         *log;
    ngx_pool_t        *pool;
    ngx_str_t          text;
    fuzz_peer_t       *peer;
    ngx_listening_t   *ls;
    ngx_connection_t  *c;

    static struct sockaddr_in  sin;

    pool = ngx_create_pool(512, ngx_cycle->log);
    fuzz_check(pool != NULL);

    text = fuzz_request(data, pool);

    peer = fuzz_accept(pool);

    if (peer == NULL) {
        ngx_destroy_pool(pool);
        return;
    }

    peer->client = 1;
    fuzz_client_peer = peer;

    ls = ngx_cycle->listening.elts;

    sin.sin_family = AF_INET;
    sin.sin_port = htons(1234);
    sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);

    log = ngx_palloc(pool, sizeof(ngx_log_t));
    fuzz_check(log != NULL);
    *log = *ngx_cycle->log;

    c = peer->connection;
    c->log = log;
    pool->log = log;
    c->read->log = log;
    c->write->log = log;
    c->listening = ls;
    c->sockaddr = (struct sockaddr *) &sin;
    c->socklen = sizeof(sin);
    ngx_str_set(&c->addr_text, "127.0.0.1");
    c->local_sockaddr = ls->sockaddr;
    c->local_socklen = ls->socklen;
    c->start_time = ngx_current_msec;

    log->data = NULL;
    log->handler = NULL;

    ngx_http_init_connection(c);

    fuzz_feed(peer, text.data, text.len);
}


/* numbers as a script answers them */

static ngx_str_t
fuzz_numbers(ngx_str_t *data, ngx_pool_t *pool)
{
    u_char      *p;
    ngx_str_t    text;
    ngx_uint_t   i, n;

    for (i = 0, n = 1; i < data->len; i++) {
        n += data->data[i] == ',';
    }

    text.data = ngx_pnalloc(pool, data->len + 3 * n + 16);
    fuzz_check(text.data != NULL);

    p = ngx_sprintf(text.data, "*%ui\r\n:", n);

    for (i = 0; i < data->len; i++) {

        if (data->data[i] == ',') {
            p = ngx_cpymem(p, "\r\n:", 3);
        } else {
            *p++ = data->data[i];
        }
    }

    p = ngx_cpymem(p, "\r\n", 2);
    text.len = p - text.data;

    return text;
}


/* answers what Redis got; which: that command alone, -1 all of them */

static void
fuzz_site_reply(ngx_str_t *reply, ngx_int_t which)
{
    void         *command;
    ngx_int_t     n;
    ngx_uint_t    i;
    fuzz_peer_t  *peer;
    redisReader  *reader;

    static ngx_str_t  other = ngx_string("*0\r\n");

    n = 0;

    for (i = 0; i < fuzz_npeers; i++) {
        peer = &fuzz_peers[i];

        if (peer->client || peer->connection == NULL || peer->nout == 0) {
            continue;
        }

        reader = redisReaderCreate();
        fuzz_check(reader && redisReaderFeed(reader, (char *) peer->out,
                                             peer->nout) == REDIS_OK);

        for ( ;; ) {
            command = NULL;

            /* all that is sent is commands */

            fuzz_check(redisReaderGetReply(reader, &command) == REDIS_OK);

            if (command == NULL) {
                break;
            }

            freeReplyObject(command);

            if (which == -1 || which == n) {
                fuzz_feed(peer, reply->data, reply->len);

            } else {
                fuzz_feed(peer, other.data, other.len);
            }

            n++;
        }

        redisReaderFree(reader);
        peer->nout = 0;
    }
}


static void
fuzz_site_hang_up(ngx_uint_t clients)
{
    ngx_uint_t  i;

    for (i = fuzz_npeers; i > 0; i--) {

        if (fuzz_peers[i - 1].connection
            && fuzz_peers[i - 1].client == clients)
        {
            fuzz_eof(&fuzz_peers[i - 1]);
            return;
        }
    }
}


/*
 * What holds of every answer: it is HTTP, no header is what somebody put into
 * another, and JSON is JSON.
 */

static void
fuzz_site_header(ngx_str_t *line)
{
    u_char  *colon, *p;

    colon = memchr(line->data, ':', line->len);
    fuzz_check(colon && colon > line->data);

    for (p = line->data; p < colon; p++) {
        fuzz_check(isalnum(*p) || *p == '-' || *p == '_');
    }

    for ( /* void */ ; p < line->data + line->len; p++) {
        fuzz_check(*p >= 0x20 && *p != 0x7f);
    }

    if (line->len > 10
        && ngx_strncasecmp(line->data, (u_char *) "Location: ", 10) == 0)
    {
        p = line->data + 10;

        fuzz_check(*p == '/'
                   && (line->len == 11 || (p[1] != '/' && p[1] != '\\')));
    }
}


static void
fuzz_site_answer(fuzz_peer_t *peer)
{
    u_char        *p, *last, *end;
    json_t        *json;
    ngx_str_t      line;
    ngx_uint_t     is_json, length;
    json_error_t   error;

    p = peer->out;
    last = p + peer->nout;

    if (peer->nout == 0) {
        return;
    }

    /* HTTP/0.9 has no header, and "100 Continue" goes before */

    if (peer->nout < 9 || ngx_strncmp(p, "HTTP/1.1 ", 9) != 0) {
        return;
    }

    is_json = 0;
    length = 0;

    for ( ;; ) {
        end = ngx_strlchr(p, last, LF);
        fuzz_check(end != NULL && end > p && end[-1] == CR);

        line.data = p;
        line.len = end - 1 - p;
        p = end + 1;

        if (line.len == 0) {
            break;
        }

        if (line.data == peer->out) {
            fuzz_check(line.len >= 12 && line.data[9] >= '1'
                       && line.data[9] <= '5');

            if (line.data[9] == '1') {
                return;
            }

            /* the module, and what is in NGINX here, make no 500 */

            fuzz_check(ngx_strncmp(line.data + 9, "500", 3) != 0);
            continue;
        }

        fuzz_site_header(&line);

        is_json |= line.len >= 30
                   && ngx_strncasecmp(line.data, (u_char *) "Content-Type: "
                                      "application/json", 30) == 0;

        if (line.len > 16
            && ngx_strncasecmp(line.data, (u_char *) "Content-Length: ", 16)
               == 0)
        {
            length = ngx_atoi(line.data + 16, line.len - 16);
        }
    }

    /* after one to HEAD the next answer may come, and some are in chunks */

    if (!is_json || length != (ngx_uint_t) (last - p) || *p == 'H') {
        return;
    }

    json = json_loadb((char *) p, length, JSON_ALLOW_NUL, &error);
    fuzz_check(json != NULL);
    json_decref(json);
}


static ngx_uint_t
fuzz_site_op(ngx_str_t *op, ngx_pool_t *pool)
{
    u_char      what;
    ngx_int_t   n;
    ngx_str_t   text;

    what = fuzz_byte(op);
    n = ngx_atoi(op->data, op->len);

    switch (what) {

    case 'q':
        fuzz_site_request(op);
        break;

    case 'p':
        if (fuzz_client_peer) {
            text = fuzz_request(op, pool);
            fuzz_feed(fuzz_client_peer, text.data, text.len);
        }
        break;

    case 'i':
        text = fuzz_numbers(op, pool);
        fuzz_site_reply(&text, -1);
        break;

    case 'r':
        fuzz_site_reply(op, -1);
        break;

    case 'd':
        n = fuzz_byte(op) - '0';
        fuzz_site_reply(op, n);
        break;

    case 't':
        fuzz_turn(n < 0 ? 20 : ngx_min(n, 5000));
        break;

    case 'z':
        fuzz_site_hang_up(0);
        break;

    case 'h':
        fuzz_site_hang_up(1);
        break;

    case 'f':
        fuzz_refuse = n < 0 ? 0 : n;
        break;

    default:
        return 0;
    }

    fuzz_turn(0);

    return 1;
}


/* nothing of the run before is known */

static void
fuzz_site_begin(ngx_pool_t *pool)
{
    ngx_adm_main_conf_t  *mcf;

    *(ngx_time_t *) ngx_cached_time = fuzz_time;

    mcf = ngx_http_cycle_get_module_main_conf(ngx_cycle,
                                              ngx_http_admission_module);

    ngx_adm_zone_use(mcf->zone);

    ngx_adm_zone->sh->inside = 1;
    ngx_adm_zone_lock(ngx_adm_zone);
    ngx_adm_zone->sh->made_anew = 0;
    ngx_adm_zone_unlock(ngx_adm_zone);

    fuzz_run_cycle = *ngx_cycle;
    fuzz_run_cycle.pool = pool;

    fuzz_check(ngx_http_admission_module.init_process(&fuzz_run_cycle) == NGX_OK);

    fuzz_client_peer = NULL;
}


static void
fuzz_site_end(void)
{
    ngx_uint_t  i, n;

    fuzz_refuse = 1;

    for (i = 0; i < fuzz_npeers; i++) {
        if (fuzz_peers[i].client) {
            fuzz_site_answer(&fuzz_peers[i]);
            fuzz_eof(&fuzz_peers[i]);
        }
    }

    /* every request ends, whatever Redis does */

    for (n = 0; n < 100; n++) {
        fuzz_turn(1000);

        for (i = 0; i < fuzz_npeers; i++) {
            if (fuzz_peers[i].client && fuzz_peers[i].connection) {
                break;
            }
        }

        if (i == fuzz_npeers && n > 2) {
            break;
        }
    }

    fuzz_check(n < 100);

    ngx_http_admission_module.exit_process(&fuzz_run_cycle);
    fuzz_turn(0);

    fuzz_check(ngx_event_timer_rbtree.root == ngx_event_timer_rbtree.sentinel);

    fuzz_peers_reset();
}


static void
fuzz_site_run(ngx_str_t *data, ngx_pool_t *pool)
{
    ngx_str_t   op;
    ngx_uint_t  n;

    fuzz_site_begin(pool);

    for (n = 0; data->len && n < 64; n++) {

        op = fuzz_until(data, 0x1e, pool);

        if (!fuzz_site_op(&op, pool)) {
            break;
        }
    }

    fuzz_site_end();
}


fuzz_target_t  fuzz_site = { "site",
    "    admission_zone fuzz:512k;\n"
    "    admission_redis redis://127.0.0.1:6379 timeout=200ms;\n"
    "    admission_secret tier1 tier1-0123456789abcdef0123456789abcdef;\n"
    "    admission_secret tier2 tier2-0123456789abcdef0123456789abcdef;\n"
    "    admission_secret user user-0123456789abcdef0123456789abcdef;\n"
    "    admission_secret admin admin-0123456789abcdef0123456789abcdef;\n"
    "    admission_events { default threshold=2 vwr_rate=50;\n"
    "        e1 threshold=1 \"title=A \\\"title\\\"\" artist=B;\n"
    "        e2 vwr=on; }\n"
    "    map $uri $event_id { volatile;\n"
    "        \"~*^/(?:events|api/queue)/(?<id>[^/]+)\" $id; }\n"
    "    server {\n"
    "        admission_event $event_id;\n"
    "        admission_user jwt;\n"
    "        admission_cors https://shop.example;\n"
    "        location /events/ { admission_tier1 auto; return 204; }\n"
    "        location /strict/ { admission_tier2 on strict=on event=any;\n"
    "            return 204; }\n"
    "        location /book/ { admission_event $arg_e; admission_tier2 on;\n"
    "            admission_rate_limit book rate=2r/s;\n"
    "            admission_rate_limit hour rate=30r/h algorithm=counter;\n"
    "            return 204; }\n"
    "        location /vwr-api/ { admission_vwr_api; }\n"
    "        location /api/queue/ { admission_queue_api; }\n"
    "        location /api/queue/admin/ { admission_queue_api admin=on; }\n"
    "        location /api/admin/vwr/ { admission_admin_api; }\n"
    "        location /vwr/ { admission_page tier1; }\n"
    "        location /queue/ { admission_page tier2; }\n"
    "        location /metrics { admission_metrics; }\n"
    "        location /readyz { admission_health ready; }\n"
    "    }\n",
    fuzz_site_init, fuzz_site_run };
