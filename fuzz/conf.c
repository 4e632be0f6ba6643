
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Configurations: lines of which the first letter says where it stands.
 *
 *   m args   admission_ and args, in the http block     s  in the server
 *   l args   in a location                              k  in another one
 *   e args   in admission_events
 *   f bytes  a secret file, up to the end of the input, after a letter for its
 *            format (r, b, h)
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include <sys/mman.h>

#include "conf/parse.h"
#include "host/settings.h"
#include "fuzz.h"


static void fuzz_conf_text(ngx_str_t *data, ngx_str_t *text, ngx_pool_t *pool);
static void fuzz_conf_look(ngx_cycle_t *cycle);


static ngx_str_t  fuzz_file;      /* what a secret file says */
static u_char     fuzz_format;    /* 0: there is none */
static int        fuzz_conf_fd = -1;
static int        fuzz_file_fd = -1;


static void
fuzz_conf_init(void)
{
    fuzz_conf_fd = memfd_create("conf", 0);
    fuzz_file_fd = memfd_create("secret", 0);

    fuzz_check(fuzz_conf_fd != -1 && fuzz_file_fd != -1);
}


static void
fuzz_conf_put(int fd, ngx_str_t *text)
{
    fuzz_check(ftruncate(fd, 0) == 0);
    fuzz_check(pwrite(fd, text->data, text->len, 0) == (ssize_t) text->len);
}


/* as ngx_init_cycle() does, up to what is opened */

static ngx_int_t
fuzz_conf_parse(void (*look)(ngx_cycle_t *cycle))
{
    char                name[32];
    char               *rv;
    ngx_conf_t          cf;
    ngx_str_t           file;
    ngx_uint_t          i;
    ngx_pool_t         *pool;
    ngx_cycle_t        *cycle;
    ngx_core_module_t  *module;

    pool = ngx_create_pool(1024, ngx_cycle->log);
    fuzz_check(pool != NULL);

    cycle = ngx_pcalloc(pool, sizeof(ngx_cycle_t));
    fuzz_check(cycle != NULL);

    cycle->pool = pool;
    cycle->log = ngx_cycle->log;
    cycle->old_cycle = (ngx_cycle_t *) ngx_cycle;
    cycle->prefix = ngx_cycle->prefix;
    cycle->conf_prefix = ngx_cycle->conf_prefix;
    cycle->hostname = ngx_cycle->hostname;

    ngx_rbtree_init(&cycle->config_dump_rbtree, &cycle->config_dump_sentinel,
                    ngx_str_rbtree_insert_value);
    ngx_queue_init(&cycle->reusable_connections_queue);

    cycle->conf_ctx = ngx_pcalloc(pool, ngx_max_module * sizeof(void *));

    fuzz_check(ngx_array_init(&cycle->paths, pool, 4, sizeof(ngx_path_t *))
               == NGX_OK
               && ngx_array_init(&cycle->config_dump, pool, 1,
                                 sizeof(ngx_conf_dump_t)) == NGX_OK
               && ngx_list_init(&cycle->open_files, pool, 4,
                                sizeof(ngx_open_file_t)) == NGX_OK
               && ngx_list_init(&cycle->shared_memory, pool, 1,
                                sizeof(ngx_shm_zone_t)) == NGX_OK
               && ngx_array_init(&cycle->listening, pool, 4,
                                 sizeof(ngx_listening_t)) == NGX_OK
               && cycle->conf_ctx
               && ngx_cycle_modules(cycle) == NGX_OK);

    for (i = 0; cycle->modules[i]; i++) {
        module = cycle->modules[i]->ctx;

        if (cycle->modules[i]->type == NGX_CORE_MODULE && module->create_conf) {
            cycle->conf_ctx[cycle->modules[i]->index] =
                                                   module->create_conf(cycle);
        }
    }

    ngx_memzero(&cf, sizeof(ngx_conf_t));

    cf.args = ngx_array_create(pool, 10, sizeof(ngx_str_t));
    cf.temp_pool = ngx_create_pool(1024, ngx_cycle->log);
    fuzz_check(cf.args && cf.temp_pool);

    cf.ctx = cycle->conf_ctx;
    cf.cycle = cycle;
    cf.pool = pool;
    cf.log = ngx_cycle->log;
    cf.module_type = NGX_CORE_MODULE;
    cf.cmd_type = NGX_MAIN_CONF;

    snprintf(name, sizeof(name), "/proc/self/fd/%d", fuzz_conf_fd);
    file.data = (u_char *) name;
    file.len = ngx_strlen(name);

    rv = ngx_conf_parse(&cf, &file);

    if (rv == NGX_CONF_OK && look) {
        look(cycle);
    }

    ngx_destroy_pool(cf.temp_pool);
    ngx_destroy_pool(pool);

    return rv == NGX_CONF_OK ? NGX_OK : NGX_ERROR;
}


static void
fuzz_conf_line(ngx_str_t *text, const char *name, ngx_str_t *line)
{
    u_char  *p, *last;

    p = text->data + text->len;
    p = ngx_cpymem(p, name, ngx_strlen(name));

    for (last = p + line->len; p < last; p++) {
        *p = line->data[p + line->len - last];

        /* no other directive, or block, begins here */

        if (*p == ';' || *p == '{' || *p == '}') {
            *p = ',';
        }
    }

    *p++ = ';';
    *p++ = '\n';

    text->len = p - text->data;
}


static void
fuzz_conf_add(ngx_str_t *text, const char *more)
{
    text->len = ngx_cpymem(text->data + text->len, more, ngx_strlen(more))
                - text->data;
}


/* the lines of one place */

static void
fuzz_conf_lines(ngx_str_t *text, ngx_str_t data, u_char place, const char *name,
    ngx_pool_t *pool)
{
    ngx_str_t  line;

    while (data.len) {
        line = fuzz_until(&data, '\n', pool);

        if (line.len > 1 && line.data[0] == place) {
            line.data++;
            line.len--;
            fuzz_conf_line(text, name, &line);
        }
    }
}


static void
fuzz_conf_text(ngx_str_t *data, ngx_str_t *text, ngx_pool_t *pool)
{
    text->data = ngx_pnalloc(pool, data->len * 20 + 2048);
    text->len = 0;
    fuzz_check(text->data != NULL);

    fuzz_conf_add(text, "events { }\nhttp {\naccess_log off;\n");
    fuzz_conf_lines(text, *data, 'm', "admission_", pool);
    fuzz_conf_add(text, "admission_events {\n");
    fuzz_conf_lines(text, *data, 'e', "", pool);
    fuzz_conf_add(text, "}\nserver {\nlisten 127.0.0.1:8080;\n");
    fuzz_conf_lines(text, *data, 's', "admission_", pool);
    fuzz_conf_add(text, "location /a {\n");
    fuzz_conf_lines(text, *data, 'l', "admission_", pool);
    fuzz_conf_add(text, "}\nlocation /b {\n");
    fuzz_conf_lines(text, *data, 'k', "admission_", pool);
    fuzz_conf_add(text, "}\n}\n}\n");
}


/* what is read is in bounds */

static void
fuzz_conf_event(ngx_adm_event_conf_t *e)
{
    fuzz_check(e->threshold >= 0 && e->threshold <= 10000000);
    fuzz_check(e->active_ttl >= 1000 && e->active_ttl <= 86400000);
    fuzz_check(e->claim_ttl >= 1000 && e->claim_ttl <= 86400000);
    fuzz_check(e->seen_ttl >= 1000 && e->seen_ttl <= 86400000);
    fuzz_check(e->restore_wait <= 3600000);
    fuzz_check(e->admit_interval > 0 && e->admit_batch > 0);
    fuzz_check(e->slots >= -1 && e->slots <= NGX_ADM_SLOTS_MAX);
    fuzz_check(e->complete == NGX_ADM_OFF || e->complete == NGX_ADM_ON);
    fuzz_check(e->vwr_rate >= 0 && e->vwr_rate <= NGX_ADM_ROOM_RATE_MAX);
    fuzz_check(e->vwr_burst >= -1 && e->vwr_burst <= NGX_ADM_ROOM_BURST_MAX);
}


static void
fuzz_conf_look(ngx_cycle_t *cycle)
{
    ngx_uint_t                  i;
    ngx_rbtree_node_t          *node;
    ngx_adm_main_conf_t        *mcf;
    ngx_adm_redis_conf_t       *redis;
    ngx_adm_redis_endpoint_t   *e;

    mcf = ngx_http_cycle_get_module_main_conf(cycle, ngx_http_admission_module);

    fuzz_conf_event(&mcf->event_default);

    if (mcf->events.root != mcf->events.sentinel) {

        for (node = ngx_rbtree_min(mcf->events.root, mcf->events.sentinel);
             node; node = ngx_rbtree_next(&mcf->events, node))
        {
            fuzz_conf_event((ngx_adm_event_conf_t *) node);
        }
    }

    redis = mcf->redis;

    if (redis == NULL) {
        return;
    }

    fuzz_check(redis->timeout >= 1 && redis->timeout <= 60000);
    fuzz_check(redis->endpoints.nelts > 0);
    fuzz_check(memchr(redis->prefix.data, '{', redis->prefix.len) == NULL);

    e = redis->endpoints.elts;

    for (i = 0; i < redis->endpoints.nelts; i++) {
        fuzz_check(e[i].host.len == 0 || e[i].port != 0);
        fuzz_check(e[i].naddrs || e[i].is_name);
        fuzz_check(memchr(e[i].name.data, '@', e[i].name.len) == NULL);
    }
}


/* what of a file is the secret, by the contract */

static ngx_str_t
fuzz_conf_expected(ngx_pool_t *pool)
{
    size_t     i;
    u_char     *p;
    ngx_str_t  s, decoded;

    s = fuzz_file;

    if (s.len && s.data[s.len - 1] == LF) {
        s.len--;

        if (s.len && s.data[s.len - 1] == CR) {
            s.len--;
        }
    }

    if (fuzz_format == 'r') {
        return s;
    }

    decoded.data = ngx_pnalloc(pool, s.len + 4);
    decoded.len = 0;
    fuzz_check(decoded.data != NULL);

    if (fuzz_format == 'b') {

        if (ngx_decode_base64(&decoded, &s) != NGX_OK
            && ngx_decode_base64url(&decoded, &s) != NGX_OK)
        {
            decoded.len = 0;
        }

        return decoded;
    }

    for (i = 0, p = decoded.data; i + 1 < s.len; i += 2) {
        *p++ = (u_char) ngx_hextoi(s.data + i, 2);
    }

    decoded.len = p - decoded.data;

    return decoded;
}


static void
fuzz_conf_secret(ngx_cycle_t *cycle)
{
    ngx_str_t                   secret;
    ngx_pool_t                 *pool;
    ngx_adm_loc_conf_t         *lcf;
    ngx_http_core_srv_conf_t  **cscfp;
    ngx_http_core_main_conf_t  *cmcf;

    cmcf = ngx_http_cycle_get_module_main_conf(cycle, ngx_http_core_module);
    cscfp = cmcf->servers.elts;
    lcf = cscfp[0]->ctx->loc_conf[ngx_http_admission_module.ctx_index];

    pool = ngx_create_pool(1024, ngx_cycle->log);
    fuzz_check(pool != NULL);

    secret = fuzz_conf_expected(pool);

    fuzz_check(secret.len >= NGX_ADM_SECRET_MIN);
    fuzz_check(ngx_adm_keyring_is_secret(lcf->secrets[NGX_ADM_SECRET_TIER1],
                                         &secret));
    ngx_destroy_pool(pool);
}


static void
fuzz_conf_secret_file(ngx_str_t *data, ngx_pool_t *pool)
{
    ngx_str_t   text;
    ngx_int_t   rc;

    fuzz_format = fuzz_byte(data);
    fuzz_format = fuzz_format == 'b' || fuzz_format == 'h' ? fuzz_format : 'r';
    fuzz_file = *data;

    fuzz_conf_put(fuzz_file_fd, &fuzz_file);

    text.data = ngx_pnalloc(pool, 1024);
    fuzz_check(text.data != NULL);

    text.len = ngx_sprintf(text.data, "events { }\nhttp {\naccess_log off;\n"
                           "admission_secret tier1 file=/proc/self/fd/%d "
                           "format=%s;\nserver {\nlisten 127.0.0.1:8080;\n"
                           "location / {\nadmission_vwr_api;\n}\n}\n}\n",
                           fuzz_file_fd,
                           fuzz_format == 'b' ? "base64"
                           : fuzz_format == 'h' ? "hex" : "raw") - text.data;

    fuzz_conf_put(fuzz_conf_fd, &text);

    rc = fuzz_conf_parse(fuzz_conf_secret);

    fuzz_check(rc == NGX_OK || fuzz_logged(NGX_LOG_EMERG));

    if (rc != NGX_OK) {
        /* none of it is shown */

        fuzz_check(fuzz_file.len < NGX_ADM_SECRET_MIN
                   || memmem(fuzz_last_log(), ngx_strlen(fuzz_last_log()),
                             fuzz_file.data, NGX_ADM_SECRET_MIN) == NULL);
    }
}


static void
fuzz_conf_run(ngx_str_t *data, ngx_pool_t *pool)
{
    ngx_int_t  rc;
    ngx_str_t  text;

    if (data->len && data->data[0] == 'f') {
        (void) fuzz_byte(data);
        fuzz_conf_secret_file(data, pool);
        return;
    }

    fuzz_conf_text(data, &text, pool);
    fuzz_conf_put(fuzz_conf_fd, &text);

    rc = fuzz_conf_parse(fuzz_conf_look);

    /* what is refused is said why */

    fuzz_check(rc == NGX_OK || fuzz_logged(NGX_LOG_EMERG));

    fuzz_check(fuzz_conf_parse(NULL) == rc);
}


fuzz_target_t  fuzz_conf = { "conf", NULL, fuzz_conf_init, fuzz_conf_run };
