
/*
 * Copyright (C) 2026 the admission module authors
 *
 * admission_trusted_edge: the directive.  No message ever shows a secret.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../base/text.h"
#include "conf.h"
#include "parse.h"


static char *ngx_adm_edge_name(ngx_conf_t *cf, ngx_command_t *cmd,
    ngx_str_t *value, ngx_str_t *name);
static char *ngx_adm_edge_secret(ngx_conf_t *cf, ngx_command_t *cmd,
    ngx_str_t *value, ngx_adm_keyring_t *keys);
static ngx_int_t ngx_adm_edge_note(ngx_conf_t *cf, ngx_str_t *name);


static ngx_adm_edge_conf_t  ngx_adm_edge_off = {
    ngx_null_string, NULL };


/* headers that the module reads itself: taken out they would tell it nothing */

static ngx_str_t  ngx_adm_edge_taken[] = {
    ngx_string("x-vwr-token"),
    ngx_string("x-queue-entry-token"),
    ngx_string("x-queue-place"),
    ngx_string("x-admission-visitor"),
    ngx_string("x-admission-ticket"),
    ngx_string("x-admission-event"),
    ngx_string("x-user-id"),
    ngx_string("x-user-email"),
    ngx_string("x-user-role"),
    ngx_string("x-http-method-override"),
    ngx_string("x-http-method"),
    ngx_string("x-method-override"),
    ngx_string("idempotency-key"),
    ngx_string("origin"),
    ngx_string("x-forwarded-proto"),
    ngx_string("x-requested-with"),
    ngx_string("hx-request"),
    ngx_string("x-pjax"),
    ngx_string("purpose"),
    ngx_string("access-control-request-method"),
    ngx_string("access-control-request-headers"),
    ngx_string("sec-fetch-mode"),
    ngx_string("sec-fetch-site"),
    ngx_string("sec-purpose") };

#define NGX_ADM_EDGE_TAKEN                                                    \
    (sizeof(ngx_adm_edge_taken) / sizeof(ngx_str_t))


/* another line with the same header adds a secret, for changing it */

char *
ngx_adm_set_trusted_edge(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_adm_loc_conf_t  *lcf = conf;

    ngx_str_t            *value, name;
    ngx_adm_edge_conf_t  *edge;

    value = cf->args->elts;
    edge = lcf->edge;

    if (cf->args->nelts == 2) {

        if (!ngx_adm_str_is(&value[1], "off")) {
            return ngx_adm_conf_invalid(cf, cmd, &value[1],
                                        "\"off\", or a header and its secret");
        }

        if (edge) {
            return "is duplicate";
        }

        lcf->edge = &ngx_adm_edge_off;

        return NGX_CONF_OK;
    }

    if (edge == &ngx_adm_edge_off) {
        return "is duplicate";
    }

    if (ngx_adm_edge_name(cf, cmd, &value[1], &name) != NGX_CONF_OK) {
        return NGX_CONF_ERROR;
    }

    if (edge == NULL) {
        edge = ngx_pcalloc(cf->pool, sizeof(ngx_adm_edge_conf_t));
        if (edge == NULL) {
            return NGX_CONF_ERROR;
        }

        edge->name = name;

        edge->keys = ngx_adm_keyring_create(cf->pool);
        if (edge->keys == NULL) {
            return NGX_CONF_ERROR;
        }

        lcf->edge = edge;

    } else if (!ngx_adm_str_same(&edge->name, &name)) {
        return ngx_adm_conf_invalid(cf, cmd, &value[1],
                                    "one header in one place");
    }

    return ngx_adm_edge_secret(cf, cmd, &value[2], edge->keys);
}


/*
 * NGINX keeps pointers to headers that it reads itself: taking those out of
 * the list would hide them from nobody.
 */

static char *
ngx_adm_edge_name(ngx_conf_t *cf, ngx_command_t *cmd, ngx_str_t *value,
    ngx_str_t *name)
{
    ngx_uint_t          i;
    ngx_http_header_t  *h;

    name->len = value->len;
    name->data = ngx_pnalloc(cf->pool, value->len + 1);
    if (name->data == NULL) {
        return NGX_CONF_ERROR;
    }

    ngx_strlow(name->data, value->data, value->len);
    name->data[name->len] = '\0';

    if (name->len == 0
        || strspn((char *) name->data, "abcdefghijklmnopqrstuvwxyz0123456789-")
           < name->len)
    {
        return ngx_adm_conf_invalid(cf, cmd, value, "\"off\", or a header of "
                                    "letters, digits and \"-\" and its secret");
    }

    for (h = ngx_http_headers_in; h->name.len; h++) {

        if (ngx_adm_str_same_case(&h->name, name)) {
            return ngx_adm_conf_invalid(cf, cmd, value, "a header of its "
                                        "own, none that NGINX reads");
        }
    }

    for (i = 0; i < NGX_ADM_EDGE_TAKEN; i++) {

        if (ngx_adm_str_same(&ngx_adm_edge_taken[i], name)) {
            return ngx_adm_conf_invalid(cf, cmd, value, "a header of its "
                                        "own, none that the module reads");
        }
    }

    return NGX_CONF_OK;
}


static char *
ngx_adm_edge_secret(ngx_conf_t *cf, ngx_command_t *cmd, ngx_str_t *value,
    ngx_adm_keyring_t *keys)
{
    ngx_int_t   rc;
    ngx_str_t   secret;
    ngx_uint_t  i;

    if (ngx_adm_secret_value(cf, cmd, value, &secret) != NGX_OK) {
        return NGX_CONF_ERROR;
    }

    if (secret.len < NGX_ADM_SECRET_MIN) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "the secret in \"%V\" directive is %uz bytes "
                           "long, at least %d are needed", &cmd->name,
                           secret.len, NGX_ADM_SECRET_MIN);
        return NGX_CONF_ERROR;
    }

    /*
     * with a character that no header can have it would never match, silently
     */

    for (i = 0; i < secret.len; i++) {
        if (secret.data[i] <= ' ' || secret.data[i] >= 0x7f) {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                               "the secret in \"%V\" directive has to be of "
                               "visible ASCII characters, byte %ui is none",
                               &cmd->name, i + 1);
            return NGX_CONF_ERROR;
        }
    }

    rc = ngx_adm_keyring_add(cf->pool, keys, &secret, 0);

    if (secret.data != value->data) {
        ngx_explicit_memzero(secret.data, secret.len);
    }

    return (rc == NGX_OK) ? NGX_CONF_OK : NGX_CONF_ERROR;
}


char *
ngx_adm_edge_merge(ngx_conf_t *cf, ngx_adm_loc_conf_t *prev,
    ngx_adm_loc_conf_t *conf)
{
    ngx_uint_t  i;

    if (conf->edge == NULL) {
        conf->edge = prev->edge ? prev->edge : &ngx_adm_edge_off;
    }

    if (conf->edge->name.len == 0) {
        return NGX_CONF_OK;
    }

    for (i = 0; i < NGX_ADM_SECRETS; i++) {

        if (conf->secrets[i]
            && ngx_adm_keyring_overlap(conf->secrets[i], conf->edge->keys))
        {
            ngx_log_error(NGX_LOG_EMERG, cf->log, 0,
                          "the secret of \"admission_trusted_edge\" is the "
                          "same as the %V secret: it needs its own",
                          &ngx_adm_secret_kinds[i].name);
            return NGX_CONF_ERROR;
        }
    }

    return (ngx_adm_edge_note(cf, &conf->edge->name) == NGX_OK)
           ? NGX_CONF_OK : NGX_CONF_ERROR;
}


/* the header is taken out before a location is known, whatever that will be */

static ngx_int_t
ngx_adm_edge_note(ngx_conf_t *cf, ngx_str_t *name)
{
    ngx_str_t           *noted;
    ngx_uint_t           i;
    ngx_adm_srv_conf_t  *scf;

    scf = ngx_http_conf_get_module_srv_conf(cf, ngx_http_admission_module);

    for (i = 0; scf->edges && i < scf->edges->nelts; i++) {
        noted = scf->edges->elts;

        if (ngx_adm_str_same(&noted[i], name)) {
            return NGX_OK;
        }
    }

    noted = ngx_adm_conf_push(cf, &scf->edges, sizeof(ngx_str_t));
    if (noted == NULL) {
        return NGX_ERROR;
    }

    *noted = *name;

    return NGX_OK;
}
