
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What may be a return target: a path of this site, which no browser takes for
 * an address of another.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "return.h"


static ngx_int_t ngx_adm_return_arg(ngx_http_request_t *r, const char *name,
    ngx_str_t *value);
static ngx_uint_t ngx_adm_return_is_raw(u_char ch);


ngx_uint_t
ngx_adm_return_is_safe(ngx_str_t *uri)
{
    size_t  i;
    u_char  ch;

    if (uri->len == 0 || uri->len > NGX_ADM_RETURN_MAX || uri->data[0] != '/') {
        return 0;
    }

    if (uri->len > 1 && uri->data[1] == '/') {
        return 0;
    }

    for (i = 0; i < uri->len; i++) {

        ch = uri->data[i];

        if (ch < 0x20 || ch == 0x7f || ch == '\\') {
            return 0;
        }
    }

    return 1;
}


ngx_int_t
ngx_adm_return_address(ngx_str_t *text)
{
    u_char  ch;
    size_t  i, n;

    if (text->len && text->data[0] == '/') {
        return NGX_OK;
    }

    for (i = 0; i < text->len; i++) {
        ch = text->data[i];

        if (!((ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z')
              || (i && ((ch >= '0' && ch <= '9')
                        || ch == '+' || ch == '-' || ch == '.'))))
        {
            break;
        }
    }

    n = ngx_min(text->len - i, sizeof("://") - 1);

    if ((i == 0 && n) || ngx_strncmp(text->data + i, "://", n) != 0) {
        return NGX_DECLINED;
    }

    return (n == sizeof("://") - 1) ? NGX_OK : NGX_AGAIN;
}


ngx_int_t
ngx_adm_return_add(ngx_http_request_t *r, ngx_str_t *target, ngx_uint_t ours,
    ngx_str_t *location)
{
    size_t     len;
    u_char    *p, *end, *fragment;
    ngx_str_t  wanted;

    if (ngx_adm_return_wanted(r, ours, &wanted) != NGX_OK) {
        return NGX_ERROR;
    }

    if (!ngx_adm_return_is_safe(&wanted)) {
        *location = *target;
        return NGX_OK;
    }

    end = target->data + target->len;

    fragment = ngx_strlchr(target->data, end, '#');
    if (fragment == NULL) {
        fragment = end;
    }

    len = target->len + sizeof("?return=") - 1 + wanted.len
          + 2 * ngx_escape_uri(NULL, wanted.data, wanted.len,
                               NGX_ESCAPE_URI_COMPONENT);

    location->data = ngx_pnalloc(r->pool, len);
    if (location->data == NULL) {
        return NGX_ERROR;
    }

    p = ngx_cpymem(location->data, target->data, fragment - target->data);

    *p++ = ngx_strlchr(target->data, fragment, '?') ? '&' : '?';

    p = ngx_cpymem(p, "return=", sizeof("return=") - 1);
    p = (u_char *) ngx_escape_uri(p, wanted.data, wanted.len,
                                  NGX_ESCAPE_URI_COMPONENT);
    p = ngx_cpymem(p, fragment, end - fragment);

    location->len = p - location->data;

    return NGX_OK;
}


ngx_int_t
ngx_adm_return_wanted(ngx_http_request_t *r, ngx_uint_t ours, ngx_str_t *uri)
{
    ngx_int_t  rc;

    rc = ngx_adm_return_arg(r, NGX_ADM_RETURN, uri);

    if (rc == NGX_DECLINED && ours) {
        rc = ngx_adm_return_arg(r, "return", uri);
    }

    if (rc == NGX_DECLINED) {
        *uri = r->unparsed_uri;
        rc = NGX_OK;
    }

    return rc;
}


/*
 * An argument of the address that the client has, if it is a safe target.
 * r->args may be those of a redirect by now.
 */

static ngx_int_t
ngx_adm_return_arg(ngx_http_request_t *r, const char *name, ngx_str_t *value)
{
    u_char  *p, *arg, *last, *dst;
    size_t   len;

    len = ngx_strlen(name);

    last = r->unparsed_uri.data + r->unparsed_uri.len;
    arg = ngx_strlchr(r->unparsed_uri.data, last, '?');

    while (arg) {
        arg++;

        p = ngx_strlchr(arg, last, '&');

        if ((size_t) (last - arg) > len
            && ngx_strncasecmp(arg, (u_char *) name, len) == 0
            && arg[len] == '=')
        {
            arg += len + 1;
            len = (p ? p : last) - arg;

            dst = ngx_pnalloc(r->pool, len);
            if (dst == NULL) {
                return NGX_ERROR;
            }

            value->data = dst;
            ngx_unescape_uri(&dst, &arg, len, 0);
            value->len = dst - value->data;

            return ngx_adm_return_is_safe(value) ? NGX_OK : NGX_DECLINED;
        }

        arg = p;
    }

    return NGX_DECLINED;
}


ngx_int_t
ngx_adm_return_encode(ngx_http_request_t *r, ngx_str_t *location)
{
    u_char      *p, *src, *last;
    ngx_uint_t   n;

    static u_char  hex[] = "0123456789ABCDEF";

    last = location->data + location->len;
    n = 0;

    for (src = location->data; src < last; src++) {
        n += ngx_adm_return_is_raw(*src);
    }

    if (n == 0) {
        return NGX_OK;
    }

    p = ngx_pnalloc(r->pool, location->len + 2 * n);
    if (p == NULL) {
        return NGX_ERROR;
    }

    src = location->data;
    location->data = p;

    for ( /* void */ ; src < last; src++) {

        if (ngx_adm_return_is_raw(*src)) {
            *p++ = '%';
            *p++ = hex[*src >> 4];
            *p++ = hex[*src & 0xf];

        } else {
            *p++ = *src;
        }
    }

    location->len = p - location->data;

    return NGX_OK;
}


static ngx_uint_t
ngx_adm_return_is_raw(u_char ch)
{
    return ch <= 0x20 || ch >= 0x7f || ch == '"' || ch == '\'' || ch == '<'
           || ch == '>' || ch == '\\' || ch == '`';
}
