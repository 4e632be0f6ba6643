
/*
 * Copyright (C) 2026 the admission module authors
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_admission_return.h"


static ngx_uint_t ngx_http_admission_return_is_nested(u_char *arg,
    u_char *last);


ngx_uint_t
ngx_http_admission_return_is_safe(ngx_str_t *uri)
{
    size_t  i;
    u_char  ch;

    if (uri->len == 0
        || uri->len > NGX_HTTP_ADMISSION_RETURN_MAX
        || uri->data[0] != '/')
    {
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
ngx_http_admission_return_address(ngx_str_t *text)
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
ngx_http_admission_return_add(ngx_http_request_t *r, ngx_str_t *target,
    ngx_str_t *location)
{
    size_t     len;
    u_char    *p, *end, *fragment;
    ngx_str_t  wanted;

    if (ngx_http_admission_return_wanted(r, &wanted) != NGX_OK) {
        return NGX_ERROR;
    }

    if (!ngx_http_admission_return_is_safe(&wanted)) {
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
ngx_http_admission_return_wanted(ngx_http_request_t *r, ngx_str_t *uri)
{
    u_char  *p, *arg, *next, *last, sep;

    *uri = r->unparsed_uri;

    last = uri->data + uri->len;

    arg = ngx_strlchr(uri->data, last, '?');

    if (arg == NULL || uri->len > NGX_HTTP_ADMISSION_RETURN_MAX) {
        return NGX_OK;
    }

    p = ngx_pnalloc(r->pool, uri->len);
    if (p == NULL) {
        return NGX_ERROR;
    }

    uri->data = p;
    p = ngx_cpymem(p, r->unparsed_uri.data, arg - r->unparsed_uri.data);

    sep = '?';

    while (arg < last) {

        arg++;

        next = ngx_strlchr(arg, last, '&');
        if (next == NULL) {
            next = last;
        }

        if (!ngx_http_admission_return_is_nested(arg, next)) {
            *p++ = sep;
            p = ngx_cpymem(p, arg, next - arg);

            sep = '&';
        }

        arg = next;
    }

    uri->len = p - uri->data;

    return NGX_OK;
}


static ngx_uint_t
ngx_http_admission_return_is_nested(u_char *arg, u_char *last)
{
    size_t  len;

    len = sizeof("return") - 1;

    return (size_t) (last - arg) >= len
           && ngx_strncmp(arg, "return", len) == 0
           && (arg + len == last || arg[len] == '=');
}
