
/*
 * Copyright (C) 2026 the admission module authors
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_admission_compat.h"
#include "ngx_http_admission_cookie.h"
#include "ngx_http_admission_text.h"


static void ngx_http_admission_cookie_trim(ngx_str_t *s, u_char *first,
    u_char *last);
static ngx_uint_t ngx_http_admission_cookie_secure(ngx_http_request_t *r,
    ngx_http_admission_cookie_conf_t *conf);
static ngx_table_elt_t *ngx_http_admission_cookie_header(
    ngx_http_request_t *r, ngx_str_t *name);


ngx_uint_t
ngx_http_admission_cookie_next(ngx_http_request_t *r,
    ngx_http_admission_cookie_t *cookie)
{
    u_char  *first, *equal, *last;

    for ( ;; ) {

        if (cookie->pos == cookie->last) {

            cookie->line = ngx_http_admission_next_cookie_line(r,
                                                   cookie->line, &cookie->n);
            if (cookie->line == NULL) {
                return 0;
            }

            cookie->pos = cookie->line->value.data;
            cookie->last = cookie->pos + cookie->line->value.len;

            continue;
        }

        first = cookie->pos;
        last = memchr(first, ';', cookie->last - first);

        if (last) {
            cookie->pos = last + 1;

        } else {
            last = cookie->last;
            cookie->pos = last;
        }

        equal = memchr(first, '=', last - first);

        if (equal == NULL) {
            continue;
        }

        ngx_http_admission_cookie_trim(&cookie->name, first, equal);
        ngx_http_admission_cookie_trim(&cookie->value, equal + 1, last);

        if (cookie->value.len >= 2
            && cookie->value.data[0] == '"'
            && cookie->value.data[cookie->value.len - 1] == '"')
        {
            cookie->value.data++;
            cookie->value.len -= 2;
        }

        if (cookie->name.len && cookie->value.len) {
            return 1;
        }
    }
}


static void
ngx_http_admission_cookie_trim(ngx_str_t *s, u_char *first, u_char *last)
{
    while (first < last && (*first == ' ' || *first == '\t')) {
        first++;
    }

    while (last > first && (last[-1] == ' ' || last[-1] == '\t')) {
        last--;
    }

    s->data = first;
    s->len = last - first;
}


ngx_int_t
ngx_http_admission_cookie_set(ngx_http_request_t *r,
    ngx_http_admission_cookie_conf_t *conf, ngx_str_t *name,
    ngx_str_t *value, time_t max_age)
{
    u_char           *p, *last;
    size_t            len;
    ngx_table_elt_t  *h;

    len = name->len + sizeof("=") - 1 + value->len
          + sizeof("; Path=") - 1 + conf->path.len
          + sizeof("; Domain=") - 1 + conf->domain.len
          + sizeof("; Max-Age=") - 1 + NGX_INT64_LEN
          + sizeof("; HttpOnly; Secure; SameSite=") - 1 + conf->samesite.len;

    p = ngx_pnalloc(r->pool, len);
    if (p == NULL) {
        return NGX_ERROR;
    }

    h = ngx_http_admission_cookie_header(r, name);

    if (h == NULL) {
        h = ngx_list_push(&r->headers_out.headers);
        if (h == NULL) {
            return NGX_ERROR;
        }

        ngx_memzero(h, sizeof(ngx_table_elt_t));

        h->hash = 1;
        ngx_str_set(&h->key, "Set-Cookie");
    }

    h->value.data = p;
    last = p + len;

    p = ngx_http_admission_put(p, last, "%V=%V", name, value);

    if (conf->path.len) {
        p = ngx_http_admission_put(p, last, "; Path=%V", &conf->path);
    }

    if (conf->domain.len) {
        p = ngx_http_admission_put(p, last, "; Domain=%V", &conf->domain);
    }

    p = ngx_http_admission_put(p, last, "; Max-Age=%L", (int64_t) max_age);

    if (conf->httponly) {
        p = ngx_cpymem(p, "; HttpOnly", sizeof("; HttpOnly") - 1);
    }

    if (ngx_http_admission_cookie_secure(r, conf)) {
        p = ngx_cpymem(p, "; Secure", sizeof("; Secure") - 1);
    }

    if (conf->samesite.len) {
        p = ngx_http_admission_put(p, last, "; SameSite=%V", &conf->samesite);
    }

    h->value.len = p - h->value.data;

    return NGX_OK;
}


static ngx_uint_t
ngx_http_admission_cookie_secure(ngx_http_request_t *r,
    ngx_http_admission_cookie_conf_t *conf)
{
    if (conf->secure != NGX_HTTP_ADMISSION_SECURE_AUTO) {
        return conf->secure == NGX_HTTP_ADMISSION_SECURE_ON;
    }

#if (NGX_HTTP_SSL)
    return r->connection->ssl != NULL;
#else
    return 0;
#endif
}


/* a Set-Cookie of that name already in the answer: one would win by chance */

static ngx_table_elt_t *
ngx_http_admission_cookie_header(ngx_http_request_t *r, ngx_str_t *name)
{
    ngx_uint_t        i;
    ngx_list_part_t  *part;
    ngx_table_elt_t  *h;

    part = &r->headers_out.headers.part;
    h = part->elts;

    for (i = 0; /* void */ ; i++) {

        if (i >= part->nelts) {
            if (part->next == NULL) {
                return NULL;
            }

            part = part->next;
            h = part->elts;
            i = 0;
        }

        if (h[i].hash
            && h[i].key.len == sizeof("Set-Cookie") - 1
            && ngx_strncasecmp(h[i].key.data, (u_char *) "Set-Cookie",
                               sizeof("Set-Cookie") - 1)
               == 0
            && h[i].value.len > name->len
            && ngx_memcmp(h[i].value.data, name->data, name->len) == 0
            && h[i].value.data[name->len] == '=')
        {
            return &h[i];
        }
    }
}
