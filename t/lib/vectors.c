
/*
 * Copyright (C) 2026 the admission module authors
 *
 * For t/token/vectors.t and bench/run keys: a module of NGINX beside the one
 * that is tested, which has its functions verify what a file lists, while the
 * configuration is read.
 *
 *     vectors FILE [TIMES];
 *
 * Each line has a key, and then a token, or an algorithm, a text and its
 * signature, separated by blanks.  The key is s: and a secret, j: and a JWK set,
 * p: and PEM, or several of them, separated by commas.  All of them, but for the
 * algorithm, are in hexadecimal, and "-" is an empty one.  What becomes of each
 * goes to FILE.out, a line each: "ok", "no", or what is wrong with the key or
 * the token.  With TIMES what is right is verified so often, and its line says
 * how many nanoseconds of the processor that took.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "token/jwt.h"


#define VECTORS_FIELDS  4


static char *vectors(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);


static ngx_command_t  vectors_commands[] = {

    { ngx_string("vectors"),
      NGX_MAIN_CONF|NGX_DIRECT_CONF|NGX_CONF_TAKE12,
      vectors,
      0,
      0,
      NULL },

      ngx_null_command
};


static ngx_core_module_t  vectors_ctx = {
    ngx_string("vectors"),
    NULL,
    NULL
};


ngx_module_t  vectors_module = {
    NGX_MODULE_V1,
    &vectors_ctx,
    vectors_commands,
    NGX_CORE_MODULE,
    NULL, NULL, NULL, NULL, NULL, NULL, NULL,
    NGX_MODULE_V1_PADDING
};


ngx_module_t  *ngx_modules[] = { &vectors_module, NULL };
char          *ngx_module_names[] = { "vectors_module", NULL };
char          *ngx_module_order[] = { NULL };


/* to memory of exactly its length, so that a byte past it is seen */

static ngx_str_t
vectors_bytes(ngx_pool_t *pool, u_char *hex, size_t len)
{
    size_t     i;
    ngx_int_t  c;
    ngx_str_t  bytes;

    bytes.len = len / 2;
    bytes.data = ngx_palloc(pool, bytes.len ? bytes.len : 1);

    for (i = 0; bytes.data && i < bytes.len; i++) {
        c = ngx_hextoi(hex + 2 * i, 2);
        bytes.data[i] = (u_char) c;
    }

    return bytes;
}


static ngx_int_t
vectors_key(ngx_conf_t *cf, ngx_adm_keyring_t *ring, u_char *text, size_t len,
    const char **why)
{
    ngx_str_t              bytes;
    ngx_adm_key_source_t  *source;

    *why = "no memory";

    bytes = vectors_bytes(cf->pool, text + 2, len - 2);

    if (bytes.data == NULL) {
        return NGX_ERROR;
    }

    if (*text == 's') {
        return ngx_adm_keyring_add(cf->pool, ring, &bytes, 0);
    }

    source = ngx_adm_keyring_source(ring);
    if (source == NULL) {
        return NGX_ERROR;
    }

    source->set = ngx_adm_keyset_create(&bytes, *text == 'p', cf->log, why);

    return source->set ? NGX_OK : NGX_ERROR;
}


/* ns of each of so many times */

static const char *
vectors_time(ngx_adm_keyring_t *ring, ngx_uint_t alg, ngx_str_t *data,
    ngx_str_t *signature, ngx_int_t times)
{
    u_char            buf[NGX_ADM_JWT_PART];
    double            ns;
    ngx_int_t         i;
    ngx_str_t         kid;
    struct timespec   begin, end;
    ngx_adm_object_t  payload;

    static char  text[NGX_INT64_LEN + 1];

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);

    ngx_str_null(&kid);

    for (i = 0; i < times; i++) {

        if (signature) {
            (void) ngx_adm_keyring_verify(ring, alg, &kid, data, signature);

        } else if (ngx_adm_jwt_verify(ring, ~(ngx_uint_t) 0, data, buf,
                                      &payload)
                   == NULL)
        {
            ngx_adm_object_free(&payload);
        }
    }

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);

    ns = (double) (end.tv_sec - begin.tv_sec) * 1e9
         + (double) (end.tv_nsec - begin.tv_nsec);

    (void) snprintf(text, sizeof(text), "%.0f", ns / (double) times);

    return text;
}


static const char *
vectors_one(ngx_conf_t *cf, u_char **field, size_t *len, ngx_uint_t n,
    ngx_int_t times)
{
    u_char              buf[NGX_ADM_JWT_PART];
    u_char             *p, *last, *next;
    ngx_str_t           name, data, signature, kid;
    ngx_uint_t          alg;
    const char         *why;
    ngx_adm_object_t    payload;
    ngx_adm_keyring_t  *ring;

    ring = ngx_adm_keyring_create(cf->pool);
    if (ring == NULL) {
        return "no memory";
    }

    last = field[0] + len[0];

    for (p = field[0]; p < last; p = next + 1) {
        next = ngx_strlchr(p, last, ',');

        if (next == NULL) {
            next = last;
        }

        if (vectors_key(cf, ring, p, next - p, &why) != NGX_OK) {
            return why;
        }
    }

    if (n == 2) {
        data = vectors_bytes(cf->pool, field[1], len[1]);

        why = ngx_adm_jwt_verify(ring, ~(ngx_uint_t) 0, &data, buf, &payload);

        if (why) {
            return why;
        }

        ngx_adm_object_free(&payload);
        return times ? vectors_time(ring, 0, &data, NULL, times) : "ok";
    }

    name.data = field[1];
    name.len = len[1];

    if (ngx_adm_alg(&name, &alg) != NGX_OK) {
        return "no such algorithm";
    }

    data = vectors_bytes(cf->pool, field[2], len[2]);
    signature = vectors_bytes(cf->pool, field[3], len[3]);
    ngx_str_null(&kid);

    switch (ngx_adm_keyring_verify(ring, alg, &kid, &data, &signature)) {
    case NGX_OK:
        return times ? vectors_time(ring, alg, &data, &signature, times) : "ok";
    case NGX_DECLINED:
        return "no";
    default:
        return "no key that fits it";
    }
}


static char *
vectors(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    FILE        *in, *out;
    char        *line, *p, name[NGX_MAX_PATH];
    size_t       size, len[VECTORS_FIELDS];
    u_char      *field[VECTORS_FIELDS];
    ngx_int_t    times;
    ngx_str_t   *value;
    ngx_uint_t   n;

    value = cf->args->elts;
    times = cf->args->nelts > 2 ? ngx_atoi(value[2].data, value[2].len) : 0;

    (void) ngx_snprintf((u_char *) name, sizeof(name), "%V.out%Z", &value[1]);

    in = fopen((char *) value[1].data, "r");
    out = fopen(name, "w");

    if (in == NULL || out == NULL) {
        return "has no such file";
    }

    line = NULL;
    size = 0;

    while (getline(&line, &size, in) != -1) {

        n = 0;

        for (p = strtok(line, " \n"); p && n < VECTORS_FIELDS;
             p = strtok(NULL, " \n"))
        {
            field[n] = (u_char *) p;
            len[n] = ngx_strcmp(p, "-") == 0 ? 0 : ngx_strlen(p);
            n++;
        }

        fprintf(out, "%s\n", vectors_one(cf, field, len, n, times));
    }

    free(line);
    fclose(in);

    return fclose(out) == 0 ? NGX_CONF_OK : "can not write";
}
