
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Cookies are parsed here and not by NGINX, which stops at the first of a
 * name, and whose versions differ in where a value ends.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../base/text.h"
#include "cookie.h"
#include "headers.h"


static void ngx_adm_cookie_trim(ngx_str_t *s, u_char *first, u_char *last);
static ngx_uint_t ngx_adm_cookie_secure(ngx_http_request_t *r,
    ngx_adm_cookie_conf_t *conf);
static ngx_table_elt_t *ngx_adm_cookie_header(ngx_http_request_t *r,
    ngx_str_t *name);


ngx_uint_t
ngx_adm_cookie_next(ngx_http_request_t *r, ngx_adm_cookie_t *cookie)
{
    ngx_table_elt_t  *h;

    while (!ngx_adm_cookie_of(cookie)) {

        do {
            h = ngx_adm_headers_next(&r->headers_in.headers, &cookie->line);
            if (h == NULL) {
                return 0;
            }

        } while (!ngx_adm_header_named(h, "Cookie"));

        cookie->pos = h->value.data;
        cookie->last = cookie->pos + h->value.len;
    }

    return 1;
}


ngx_uint_t
ngx_adm_cookie_of(ngx_adm_cookie_t *cookie)
{
    u_char  *first, *equal, *last;

    while (cookie->pos != cookie->last) {

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

        ngx_adm_cookie_trim(&cookie->name, first, equal);
        ngx_adm_cookie_trim(&cookie->value, equal + 1, last);

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

    return 0;
}


static void
ngx_adm_cookie_trim(ngx_str_t *s, u_char *first, u_char *last)
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


ngx_uint_t
ngx_adm_cookie_is(ngx_adm_cookie_t *cookie, ngx_str_t *name, ngx_str_t *suffix)
{
    ngx_str_null(suffix);

    if (cookie->name.len < name->len
        || ngx_memcmp(cookie->name.data, name->data, name->len) != 0)
    {
        return 0;
    }

    if (cookie->name.len == name->len) {
        return 1;
    }

    if (cookie->name.data[name->len] != '-'
        || cookie->name.len == name->len + 1)
    {
        return 0;
    }

    suffix->data = cookie->name.data + name->len + 1;
    suffix->len = cookie->name.len - name->len - 1;

    return 1;
}


ngx_int_t
ngx_adm_cookie_set(ngx_http_request_t *r, ngx_adm_cookie_conf_t *conf,
    ngx_str_t *name, ngx_str_t *value, time_t max_age)
{
    u_char           *p, *last;
    size_t            len;
    ngx_str_t         text;
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

    text.data = p;
    last = p + len;

    p = ngx_adm_put(p, last, "%V=%V%s%V%s%V; Max-Age=%L%s%s%s%V",
                    name, value,
                    conf->path.len ? "; Path=" : "", &conf->path,
                    conf->domain.len ? "; Domain=" : "", &conf->domain,
                    (int64_t) max_age, conf->httponly ? "; HttpOnly" : "",
                    ngx_adm_cookie_secure(r, conf) ? "; Secure" : "",
                    conf->samesite.len ? "; SameSite=" : "", &conf->samesite);

    text.len = p - text.data;

    h = ngx_adm_cookie_header(r, name);

    if (h == NULL) {
        return ngx_adm_header_push(r, "Set-Cookie", &text) ? NGX_OK : NGX_ERROR;
    }

    h->value = text;

    return NGX_OK;
}


int64_t
ngx_adm_cookie_attributes(ngx_adm_cookie_conf_t *conf)
{
    u_char    other[2];
    uint32_t  hash;

    other[0] = (u_char) conf->secure;
    other[1] = (u_char) conf->httponly;

    /* each text with a byte that ends it */

    ngx_crc32_init(hash);
    ngx_crc32_update(&hash, conf->path.data, conf->path.len);
    ngx_crc32_update(&hash, (u_char *) ";", 1);
    ngx_crc32_update(&hash, conf->domain.data, conf->domain.len);
    ngx_crc32_update(&hash, (u_char *) ";", 1);
    ngx_crc32_update(&hash, conf->samesite.data, conf->samesite.len);
    ngx_crc32_update(&hash, other, 2);
    ngx_crc32_final(hash);

    return (int64_t) hash + 1;
}


static ngx_uint_t
ngx_adm_cookie_secure(ngx_http_request_t *r, ngx_adm_cookie_conf_t *conf)
{
    if (conf->secure != NGX_ADM_AUTO) {
        return conf->secure == NGX_ADM_ON;
    }

#if (NGX_HTTP_SSL)
    return r->connection->ssl != NULL;
#else
    return 0;
#endif
}


/*
 * the answer's Set-Cookie with that name, if any: of two one would win by
 * chance
 */

static ngx_table_elt_t *
ngx_adm_cookie_header(ngx_http_request_t *r, ngx_str_t *name)
{
    ngx_table_elt_t        *h;
    ngx_adm_headers_pos_t   pos;

    ngx_memzero(&pos, sizeof(ngx_adm_headers_pos_t));

    while ((h = ngx_adm_headers_next(&r->headers_out.headers, &pos)))
    {
        if (h->hash
            && ngx_adm_header_named(h, "Set-Cookie")
            && h->value.len > name->len
            && ngx_memcmp(h->value.data, name->data, name->len) == 0
            && h->value.data[name->len] == '=')
        {
            break;
        }
    }

    return h;
}
