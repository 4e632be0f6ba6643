
/*
 * Copyright (C) 2026 the admission module authors
 *
 * From libFuzzer to a target: NGINX's own start with a configuration, without
 * its processes, then one run after the other.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>
#include <ngx_http.h>

#include "fuzz.h"


int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const u_char *data, size_t size);


static void fuzz_start(const char *conf);
static void fuzz_cycle(const char *conf);
static void fuzz_log_writer(ngx_log_t *log, ngx_uint_t level, u_char *buf,
    size_t len);


static fuzz_target_t  *fuzz_targets[] = {
    &fuzz_token, &fuzz_text, &fuzz_conf, &fuzz_reply, &fuzz_client,
    &fuzz_http, &fuzz_site, NULL };


static fuzz_target_t  *fuzz_target;
static ngx_log_t       fuzz_log;
static ngx_cycle_t     fuzz_init;
static ngx_uint_t      fuzz_log_level;
static char            fuzz_log_text[NGX_MAX_ERROR_STR + 1];


int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
    char        *name;
    ngx_uint_t   i;

    name = strrchr((*argv)[0], '/');
    name = name ? name + 1 : (*argv)[0];

    for (i = 0; fuzz_targets[i]; i++) {
        if (ngx_strcmp(fuzz_targets[i]->name, name) == 0) {
            fuzz_target = fuzz_targets[i];
        }
    }

    if (fuzz_target == NULL) {
        fprintf(stderr, "no target is called %s:", name);

        for (i = 0; fuzz_targets[i]; i++) {
            fprintf(stderr, " %s", fuzz_targets[i]->name);
        }

        fprintf(stderr, "\n");
        exit(2);
    }

    ngx_argc = *argc;
    ngx_argv = *argv;
    ngx_os_argv = *argv;

    fuzz_start(fuzz_target->conf);

    if (fuzz_target->init) {
        fuzz_target->init();
    }

    return 0;
}


int
LLVMFuzzerTestOneInput(const u_char *data, size_t size)
{
    ngx_str_t    input;
    ngx_pool_t  *pool;

    pool = ngx_create_pool(1024, &fuzz_log);
    fuzz_check(pool != NULL);

    fuzz_log_level = NGX_LOG_DEBUG + 1;

    input.data = (u_char *) data;
    input.len = size;
    input = fuzz_copy(&input, pool);

    fuzz_target->run(&input, pool);

    ngx_destroy_pool(pool);

    return 0;
}


/* as main() of NGINX does */

static void
fuzz_start(const char *conf)
{
    ngx_debug_init();

    fuzz_check(ngx_strerror_init() == NGX_OK);

    ngx_max_sockets = -1;
    ngx_time_init();
    ngx_pid = ngx_getpid();

    fuzz_log.writer = fuzz_log_writer;
    fuzz_log.log_level = NGX_LOG_DEBUG_ALL;

    fuzz_init.log = &fuzz_log;
    ngx_cycle = &fuzz_init;

    fuzz_check(ngx_os_init(&fuzz_log) == NGX_OK);
    fuzz_check(ngx_crc32_table_init() == NGX_OK);
    fuzz_check(ngx_ssl_init(&fuzz_log) == NGX_OK);
    ngx_slab_sizes_init();
    fuzz_check(ngx_preinit_modules() == NGX_OK);

    fuzz_cycle(conf);
    fuzz_loop_init((ngx_cycle_t *) ngx_cycle);
}


/* a prefix of its own, for files that NGINX opens, is gone when it has */

static void
fuzz_cycle(const char *conf)
{
    FILE                *f;
    char                 dir[] = "/tmp/fuzz." "XX" "XX" "XX", name[64];
    const char          *server;
    ngx_core_conf_t     *ccf;

    fuzz_check(mkdtemp(dir) != NULL);

    snprintf(name, sizeof(name), "%s/nginx.conf", dir);

    f = fopen(name, "w");
    fuzz_check(f != NULL);

    fprintf(f, "error_log /dev/null;\nworker_processes 1;\n"
               "events { worker_connections 512; }\n"
               "http {\n    access_log off;\n"
               "    client_body_temp_path %s/b;\n    proxy_temp_path %s/p;\n"
               "    server_tokens off;\n", dir, dir);

    /* its server listens where no other process does */

    server = conf ? strstr(conf, "server {") : NULL;

    if (server) {
        fprintf(f, "%.*sserver { listen unix:%s/s; %s", (int) (server - conf),
                conf, dir, server + 8);
    }

    fprintf(f, "}\n");
    fclose(f);

    fuzz_init.pool = ngx_create_pool(1024, &fuzz_log);
    fuzz_check(fuzz_init.pool != NULL);

    fuzz_init.conf_file.data = (u_char *) strdup(name);
    fuzz_init.conf_file.len = ngx_strlen(name);

    fuzz_init.prefix.data = (u_char *) strdup(name);
    fuzz_init.prefix.len = ngx_strlen(dir) + 1;
    fuzz_init.conf_prefix = fuzz_init.prefix;

    ngx_process = NGX_PROCESS_SINGLE;

    ngx_cycle = ngx_init_cycle(&fuzz_init);

    if (ngx_cycle == NULL) {
        fprintf(stderr, "%s\n", fuzz_log_text);
        exit(2);
    }

    /* later configurations are not told of there */

    ngx_use_stderr = 0;

    ((ngx_cycle_t *) ngx_cycle)->log = &fuzz_log;
    ((ngx_cycle_t *) ngx_cycle)->pool->log = &fuzz_log;

    ccf = (ngx_core_conf_t *) ngx_get_conf(ngx_cycle->conf_ctx,
                                           ngx_core_module);
    ccf->master = 0;

    ngx_close_listening_sockets((ngx_cycle_t *) ngx_cycle);

    unlink(name);
    snprintf(name, sizeof(name), "%s/s", dir);
    unlink(name);
    snprintf(name, sizeof(name), "%s/b", dir);
    rmdir(name);
    snprintf(name, sizeof(name), "%s/p", dir);
    rmdir(name);
    rmdir(dir);
}


/*
 * An alert of NGINX tells of what was done wrong with it; those of the module
 * are for operators.
 */

static void
fuzz_log_writer(ngx_log_t *log, ngx_uint_t level, u_char *buf, size_t len)
{
    fuzz_log_level = ngx_min(fuzz_log_level, level);

    if (level > NGX_LOG_NOTICE) {
        return;
    }

    len = ngx_min(len, NGX_MAX_ERROR_STR);

    ngx_memcpy(fuzz_log_text, buf, len);
    fuzz_log_text[len] = '\0';

    if (getenv("FUZZ_LOG")) {
        fprintf(stderr, "%s", fuzz_log_text);
    }

    if (level == NGX_LOG_ALERT
        && strstr(fuzz_log_text, "admission:") == NULL
        && strstr(fuzz_log_text, "getrlimit") == NULL)
    {
        fuzz_failed(__FILE__, __LINE__, fuzz_log_text);
    }
}


ngx_uint_t
fuzz_logged(ngx_uint_t level)
{
    return fuzz_log_level <= level;
}


const char *
fuzz_last_log(void)
{
    return fuzz_log_text;
}


void
fuzz_failed(const char *file, int line, const char *what)
{
    fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
    fflush(stderr);
    __builtin_trap();
}


ngx_str_t
fuzz_copy(ngx_str_t *s, ngx_pool_t *pool)
{
    ngx_str_t  copy;

    copy.len = s->len;
    copy.data = ngx_pnalloc(pool, s->len);
    fuzz_check(copy.data != NULL);

    if (s->len) {
        ngx_memcpy(copy.data, s->data, s->len);
    }

    return copy;
}


ngx_str_t
fuzz_copy_z(ngx_str_t *s, ngx_pool_t *pool)
{
    ngx_str_t  copy;

    copy.len = s->len;
    copy.data = ngx_pnalloc(pool, s->len + 1);
    fuzz_check(copy.data != NULL);

    *ngx_cpymem(copy.data, s->data, s->len) = '\0';

    return copy;
}


ngx_str_t
fuzz_take(ngx_str_t *data, size_t len, ngx_pool_t *pool)
{
    ngx_str_t  part;

    part.data = data->data;
    part.len = ngx_min(len, data->len);

    data->data += part.len;
    data->len -= part.len;

    return fuzz_copy(&part, pool);
}


ngx_str_t
fuzz_until(ngx_str_t *data, u_char ch, ngx_pool_t *pool)
{
    u_char     *p;
    ngx_str_t   part;

    p = data->len ? memchr(data->data, ch, data->len) : NULL;

    part = fuzz_take(data, p ? (size_t) (p - data->data) : data->len, pool);

    if (p) {
        data->data++;
        data->len--;
    }

    return part;
}


u_char
fuzz_byte(ngx_str_t *data)
{
    if (data->len == 0) {
        return 0;
    }

    data->len--;
    return *data->data++;
}


uint64_t
fuzz_number(ngx_str_t *data, ngx_uint_t bytes)
{
    uint64_t  n;

    for (n = 0; bytes; bytes--) {
        n = n << 8 | fuzz_byte(data);
    }

    return n;
}


ngx_uint_t
fuzz_same(ngx_str_t *a, ngx_str_t *b)
{
    return a->len == b->len
           && (a->len == 0 || ngx_memcmp(a->data, b->data, a->len) == 0);
}
