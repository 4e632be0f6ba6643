
/*
 * Copyright (C) 2026 the admission module authors
 *
 * admission_secret, and where other directives get their secrets.  No message
 * ever shows a secret.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../base/text.h"
#include "../host/keys.h"
#include "conf.h"
#include "parse.h"


#define NGX_ADM_SECRET_FILE_MAX  65535


static void ngx_adm_secret_blanks(ngx_conf_t *cf, ngx_command_t *cmd,
    ngx_str_t *value, ngx_str_t *format, ngx_str_t *secret);
static ngx_int_t ngx_adm_secret_params(ngx_conf_t *cf, ngx_command_t *cmd,
    ngx_uint_t kind, ngx_str_t *format, ngx_uint_t *algs);
static ngx_int_t ngx_adm_secret_check(ngx_conf_t *cf, ngx_command_t *cmd,
    ngx_adm_loc_conf_t *lcf, ngx_uint_t kind, ngx_str_t *secret);
static ngx_uint_t ngx_adm_secret_public(ngx_str_t *secret);
static ngx_int_t ngx_adm_secret_keys(ngx_conf_t *cf, ngx_command_t *cmd,
    ngx_adm_keyring_t *ring);
static ngx_int_t ngx_adm_secret_location(ngx_conf_t *cf, ngx_command_t *cmd,
    ngx_adm_keyring_t *ring, ngx_str_t *uri);
static uint64_t ngx_adm_secret_server(ngx_conf_t *cf);
static uint64_t ngx_adm_secret_listens(ngx_http_conf_addr_t *addr,
    ngx_http_core_srv_conf_t *cscf);
static char *ngx_adm_secret_invalid(ngx_conf_t *cf, ngx_command_t *cmd,
    ngx_str_t *value, const char *allowed);
static ngx_int_t ngx_adm_secret_decode(ngx_conf_t *cf, ngx_str_t *format,
    ngx_str_t *secret);


ngx_conf_enum_t  ngx_adm_secret_kinds[] = {
    { ngx_string("tier1"), NGX_ADM_SECRET_TIER1 },
    { ngx_string("tier2"), NGX_ADM_SECRET_TIER2 },
    { ngx_string("user"), NGX_ADM_SECRET_USER },
    { ngx_string("admin"), NGX_ADM_SECRET_ADMIN },
    { ngx_null_string, 0 }
};


char *
ngx_adm_set_secret(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_adm_loc_conf_t  *lcf = conf;

    ngx_int_t           rc;
    ngx_str_t          *value, format, secret;
    ngx_uint_t          kind, algs;
    ngx_adm_keyring_t  *ring;

    value = cf->args->elts;

    if (ngx_adm_conf_enum(ngx_adm_secret_kinds, &value[1], &kind) != NGX_OK) {
        return ngx_adm_secret_invalid(cf, cmd, &value[1],
                   "\"tier1\", \"tier2\", \"user\" or \"admin\"");
    }

    ring = lcf->secrets[kind];

    if (ring == NULL) {
        ring = ngx_adm_keyring_create(cf->pool);
        if (ring == NULL) {
            return NGX_CONF_ERROR;
        }

        lcf->secrets[kind] = ring;
    }

    if (kind == NGX_ADM_SECRET_USER) {
        rc = ngx_adm_secret_keys(cf, cmd, ring);

        if (rc != NGX_DECLINED) {
            return rc == NGX_OK ? NGX_CONF_OK : NGX_CONF_ERROR;
        }
    }

    if (ngx_adm_secret_value(cf, cmd, &value[2], &secret) != NGX_OK
        || ngx_adm_secret_params(cf, cmd, kind, &format, &algs) != NGX_OK)
    {
        return NGX_CONF_ERROR;
    }

    rc = ngx_adm_secret_decode(cf, &format, &secret);

    if (rc == NGX_ERROR) {
        return NGX_CONF_ERROR;
    }

    if (rc == NGX_ABORT) {
        return ngx_adm_secret_invalid(cf, cmd, &format, "the formats "
                                      "\"raw\", \"base64\" and \"hex\"");
    }

    if (rc == NGX_DECLINED) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "the %V secret in \"%V\" "
                           "directive is not in the format \"%V\" that it is "
                           "said to be in", &value[1], &cmd->name, &format);
        return NGX_CONF_ERROR;
    }

    if (ngx_adm_secret_check(cf, cmd, lcf, kind, &secret) != NGX_OK
        || ngx_adm_keyring_add(cf->pool, ring, &secret, algs) != NGX_OK)
    {
        return NGX_CONF_ERROR;
    }

    if (secret.data != value[2].data) {
        ngx_adm_secret_blanks(cf, cmd, &value[2], &format, &secret);
        ngx_explicit_memzero(secret.data, secret.len);
    }

    return NGX_CONF_OK;
}


/* blanks count, and hardly anybody means them to */

static void
ngx_adm_secret_blanks(ngx_conf_t *cf, ngx_command_t *cmd, ngx_str_t *value,
    ngx_str_t *format, ngx_str_t *secret)
{
    u_char       *last;
    size_t        len;
    ngx_uint_t    i;
    const char   *what;

    static ngx_str_t  marks[] = {
        ngx_string("\xef\xbb\xbf"),      /* UTF-8 */
        ngx_string("\xff\xfe"),          /* UTF-16 */
        ngx_string("\xfe\xff") };

    static const char  *blanks = " \t\n\r\v\f";

    len = secret->len;
    what = NULL;

    /* only where the file's bytes are the secret itself */

    if (len == 0 || !ngx_adm_str_is(format, "raw")) {
        return;
    }

    last = secret->data + len - 1;

    if (*last && ngx_strchr(blanks, *last)) {
        what = (*last == LF || *last == CR) ? "ends in further newlines"
                                            : "ends in a blank";

    } else if (*secret->data && ngx_strchr(blanks, *secret->data)) {
        what = "begins with a blank";
    }

    for (i = 0; i < 3; i++) {
        if (len >= marks[i].len
            && ngx_memcmp(secret->data, marks[i].data, marks[i].len) == 0)
        {
            what = "begins with a byte order mark";
        }
    }

    if (what) {
        ngx_conf_log_error(NGX_LOG_WARN, cf, 0, "the secret of \"%V\" in "
                           "\"%V\" directive %s, which is part of it", value,
                           &cmd->name, what);
    }
}


/*
 * parameters after the secret; NGX_ERROR: something else follows, which is
 * logged
 */

static ngx_int_t
ngx_adm_secret_params(ngx_conf_t *cf, ngx_command_t *cmd, ngx_uint_t kind,
    ngx_str_t *format, ngx_uint_t *algs)
{
    ngx_str_t   *value, alg, wrong;
    ngx_uint_t   i, n, formats;

    ngx_str_set(format, "raw");
    *algs = 0;

    formats = 0;
    value = cf->args->elts;

    for (i = 3; i < cf->args->nelts; i++) {

        if (ngx_adm_conf_param(&value[i], "format", format) == NGX_OK
            && formats++ == 0)
        {
            continue;
        }

        if (kind == NGX_ADM_SECRET_TIER2 && *algs == 0
            && ngx_adm_conf_param(&value[i], "alg", &alg) == NGX_OK)
        {
            if (ngx_adm_alg(&alg, &n) == NGX_OK
                && (n == NGX_ADM_HS384 || n == NGX_ADM_HS512))
            {
                *algs = ngx_adm_alg_bit(n);
                continue;
            }

            (void) ngx_adm_conf_invalid(cf, cmd, &value[i], "\"alg=\" with "
                                        "HS384 or HS512, which an older "
                                        "issuer signed with");
            return NGX_ERROR;
        }

        if (i == 4) {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "invalid number of "
                               "arguments in \"%V\" directive", &cmd->name);
            return NGX_ERROR;
        }

        /* not shown: it may be the rest of a secret that has a space in it */

        ngx_str_set(&wrong, "...");

        (void) ngx_adm_conf_invalid(cf, cmd, &wrong,
                                    "\"format=raw|base64|hex\" "
                                    "after the secret, which is in "
                                    "quotes if it has spaces");
        return NGX_ERROR;
    }

    return NGX_OK;
}


static ngx_int_t
ngx_adm_secret_check(ngx_conf_t *cf, ngx_command_t *cmd,
    ngx_adm_loc_conf_t *lcf, ngx_uint_t kind, ngx_str_t *secret)
{
    ngx_str_t   *name;
    ngx_uint_t   i;

    name = &ngx_adm_secret_kinds[kind].name;

    /* whoever has the public key, that is, anybody, could sign with it */

    if (kind == NGX_ADM_SECRET_USER && ngx_adm_secret_public(secret)) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "the %V secret in \"%V\" "
                           "directive is a key, or a set of keys, which "
                           "verify by \"pem=\" or \"jwks=\"", name, &cmd->name);
        return NGX_ERROR;
    }

    if (secret->len < NGX_ADM_SECRET_MIN) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "the %V secret in \"%V\" "
                           "directive is %uz bytes long, at least %d are "
                           "needed", name, &cmd->name, secret->len,
                           NGX_ADM_SECRET_MIN);
        return NGX_ERROR;
    }

    for (i = 0; i < NGX_ADM_SECRETS; i++) {

        if (i != kind && lcf->secrets[i]
            && ngx_adm_keyring_is_secret(lcf->secrets[i], secret))
        {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "the %V secret in \"%V\" "
                               "directive is the same as a %V secret: each "
                               "kind needs its own", name, &cmd->name,
                               &ngx_adm_secret_kinds[i].name);
            return NGX_ERROR;
        }
    }

    return NGX_OK;
}


/* whether a text is PEM, or JSON with "kty" or "keys" */

static ngx_uint_t
ngx_adm_secret_public(ngx_str_t *secret)
{
    u_char  *p, *last;

    p = secret->data;
    last = p + secret->len;

    while (p < last && *p <= ' ') {
        p++;
    }

    if (p == last || *p != '{') {
        return ngx_strlcasestrn(p, last, (u_char *) "-----BEGIN ",
                                sizeof("-----BEGIN ") - 2)
               != NULL;
    }

    return ngx_strlcasestrn(p, last, (u_char *) "\"kty\"",
                            sizeof("\"kty\"") - 2)
           != NULL;
}


/*
 * Public keys, by "jwks=", "pem=" or "jwks_uri=".  NGX_DECLINED: the argument
 * is none of these, and so a secret.
 */

static ngx_int_t
ngx_adm_secret_keys(ngx_conf_t *cf, ngx_command_t *cmd, ngx_adm_keyring_t *ring)
{
    ngx_err_t              err;
    ngx_int_t              rc;
    ngx_str_t             *value, name;
    ngx_uint_t             pem;
    const char            *why;
    ngx_adm_key_source_t  *source;

    value = cf->args->elts;

    if (ngx_adm_conf_param(&value[2], "jwks_uri", &name) == NGX_OK) {
        return ngx_adm_secret_location(cf, cmd, ring, &name);
    }

    pem = (ngx_adm_conf_param(&value[2], "pem", &name) == NGX_OK);

    if (!pem && ngx_adm_conf_param(&value[2], "jwks", &name) != NGX_OK) {
        return NGX_DECLINED;
    }

    if (name.len == 0 || cf->args->nelts > 3) {
        (void) ngx_adm_conf_invalid(cf, cmd,
                                    &value[name.len ? 3 : 2],
                                    "nothing after \"jwks=\" or \"pem=\" with "
                                    "the name of a file");
        return NGX_ERROR;
    }

    source = ngx_adm_keyring_source(ring);

    if (source == NULL
        || ngx_conf_full_name(cf->cycle, &name, 1) != NGX_OK)
    {
        return NGX_ERROR;
    }

    source->name = name;
    source->pem = pem;

    rc = ngx_adm_keys_read(source, cf->log, &why, &err);

    if (rc == NGX_DECLINED) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, err, "\"%s=\" of \"%V\" takes "
                           "public keys of RSA from 2048 bits, of P-256, "
                           "P-384 or Ed25519, in \"%V\" there is none: %s",
                           pem ? "pem" : "jwks", &cmd->name, &name, why);
        return NGX_ERROR;
    }

    if (rc == NGX_OK) {
        ngx_adm_keys_warn(source, cf->log);
    }

    return rc;
}


/* a location of the server, asked when a request needs its keys */

static ngx_int_t
ngx_adm_secret_location(ngx_conf_t *cf, ngx_command_t *cmd,
    ngx_adm_keyring_t *ring, ngx_str_t *uri)
{
    ngx_str_t             *value;
    ngx_adm_key_source_t  *source;

    value = cf->args->elts;

    if (uri->len == 0 || uri->data[0] != '/' || cf->args->nelts > 3
        || ngx_strlchr(uri->data, uri->data + uri->len, '?'))
    {
        (void) ngx_adm_conf_invalid(cf, cmd, &value[cf->args->nelts - 1],
                                    "\"jwks_uri=\" with a location, from "
                                    "\"/\" on, and nothing after it");
        return NGX_ERROR;
    }

    source = ngx_adm_keyring_source(ring);
    if (source == NULL) {
        return NGX_ERROR;
    }

    source->name = *uri;
    source->uri = 1;

    return NGX_OK;
}


ngx_adm_keyring_t *
ngx_adm_secret_inherit(ngx_conf_t *cf, ngx_adm_keyring_t *ring)
{
    ngx_err_t              err;
    ngx_uint_t             i, uris;
    const char            *why;
    ngx_adm_keyring_t     *copy;
    ngx_adm_key_source_t  *sources;

    uris = 0;
    sources = ring->sources.elts;

    for (i = 0; i < ring->sources.nelts; i++) {
        uris += sources[i].uri;
    }

    if (uris == 0) {
        return ring;
    }

    copy = ngx_adm_keyring_copy(cf->pool, ring);
    if (copy == NULL) {
        return NULL;
    }

    sources = copy->sources.elts;

    for (i = 0; i < copy->sources.nelts; i++) {

        if (!sources[i].uri
            && ngx_adm_keys_read(&sources[i], cf->log, &why, &err) != NGX_OK)
        {
            ngx_log_error(NGX_LOG_EMERG, cf->log, 0,
                          "keys of \"%V\" can not be read again",
                          &sources[i].name);
            return NULL;
        }
    }

    return copy;
}


/*
 * A location is known by the names and addresses of its server, wherever that
 * stands in the files: keys outlive a change of the configuration, and no
 * server gets the keys of another that stood in its place before.
 */

void
ngx_adm_secret_locate(ngx_conf_t *cf, ngx_adm_keyring_t *ring)
{
    uint64_t               server;
    ngx_uint_t             i;
    ngx_adm_key_source_t  *sources;

    server = 0;
    sources = ring->sources.elts;

    for (i = 0; i < ring->sources.nelts; i++) {

        if (!sources[i].uri) {
            continue;
        }

        if (server == 0) {
            server = ngx_adm_secret_server(cf);
        }

        sources[i].id = server ^ ngx_adm_keys_id(&sources[i].name);
    }
}


static uint64_t
ngx_adm_secret_server(ngx_conf_t *cf)
{
    uint64_t                    id;
    ngx_uint_t                  i, n;
    ngx_http_conf_port_t       *port;
    ngx_http_conf_addr_t       *addr;
    ngx_http_server_name_t     *name;
    ngx_http_core_srv_conf_t   *cscf;
    ngx_http_core_main_conf_t  *cmcf;

    cscf = ngx_http_conf_get_module_srv_conf(cf, ngx_http_core_module);
    cmcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_core_module);

    id = 1;
    name = cscf->server_names.elts;

    for (i = 0; i < cscf->server_names.nelts; i++) {
        id = id * 31 + ngx_adm_keys_id(&name[i].name);
    }

    /* summed up in any order, as it also depends on other servers */

    port = cmcf->ports ? cmcf->ports->elts : NULL;

    for (i = 0; port && i < cmcf->ports->nelts; i++) {
        addr = port[i].addrs.elts;

        for (n = 0; n < port[i].addrs.nelts; n++) {
            id += ngx_adm_secret_listens(&addr[n], cscf);
        }
    }

    return id;
}


/* 0: the server does not listen there */

static uint64_t
ngx_adm_secret_listens(ngx_http_conf_addr_t *addr,
    ngx_http_core_srv_conf_t *cscf)
{
    uint64_t                    id;
    ngx_uint_t                  i;
    ngx_http_core_srv_conf_t  **servers;

    servers = addr->servers.elts;

    for (i = 0; i < addr->servers.nelts; i++) {

        if (servers[i] != cscf) {
            continue;
        }

        id = ngx_adm_keys_id(&addr->opt.addr_text);

        /* of several servers with one name only one ever answers */

        return (addr->opt.default_server && addr->default_server == cscf)
               ? id * 3 : id;
    }

    return 0;
}


/* not shown: a text as long as a secret may be one, in the wrong place */

static char *
ngx_adm_secret_invalid(ngx_conf_t *cf, ngx_command_t *cmd, ngx_str_t *value,
    const char *allowed)
{
    ngx_str_t  shown;

    shown = *value;

    if (shown.len >= NGX_ADM_SECRET_MIN) {
        ngx_str_set(&shown, "...");
    }

    return ngx_adm_conf_invalid(cf, cmd, &shown, allowed);
}


ngx_int_t
ngx_adm_secret_value(ngx_conf_t *cf, ngx_command_t *cmd, ngx_str_t *value,
    ngx_str_t *secret)
{
    ngx_str_t  file;

    if (ngx_adm_conf_param(value, "file", &file) != NGX_OK) {
        *secret = *value;
        return NGX_OK;
    }

    if (file.len == 0) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "\"file=\" in \"%V\" "
                           "directive needs the name of a file", &cmd->name);
        return NGX_ERROR;
    }

    if (ngx_adm_conf_file(cf, cmd, "\"file=\" of ", &file,
                          NGX_ADM_SECRET_FILE_MAX, cf->temp_pool,
                          secret) != NGX_OK)
    {
        return NGX_ERROR;
    }

    if (secret->len > NGX_ADM_SECRET_FILE_MAX) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "the secret in \"%V\" of "
                           "\"%V\" is too long, at most %d bytes are allowed",
                           &file, &cmd->name, NGX_ADM_SECRET_FILE_MAX);
        return NGX_ERROR;
    }

    /* editors end files with a newline */

    if (secret->len && secret->data[secret->len - 1] == LF) {
        secret->len--;

        if (secret->len && secret->data[secret->len - 1] == CR) {
            secret->len--;
        }
    }

    return NGX_OK;
}


/* NGX_DECLINED: not of that format; NGX_ABORT: no such format */

static ngx_int_t
ngx_adm_secret_decode(ngx_conf_t *cf, ngx_str_t *format, ngx_str_t *secret)
{
    ngx_int_t  rc;
    ngx_str_t  decoded;

    if (ngx_adm_str_is(format, "raw")) {
        return NGX_OK;
    }

    decoded.data = ngx_pnalloc(cf->temp_pool, secret->len + 4);
    if (decoded.data == NULL) {
        return NGX_ERROR;
    }

    if (ngx_adm_str_is(format, "base64")) {
        rc = ngx_decode_base64(&decoded, secret);

        if (rc != NGX_OK) {
            rc = ngx_decode_base64url(&decoded, secret);
        }

    } else if (ngx_adm_str_is(format, "hex")) {
        rc = ngx_adm_hex(decoded.data, secret, &decoded.len);

    } else {
        return NGX_ABORT;
    }

    if (rc != NGX_OK) {
        return NGX_DECLINED;
    }

    *secret = decoded;

    return NGX_OK;
}
