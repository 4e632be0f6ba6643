
/*
 * Copyright (C) 2026 the admission module authors
 *
 * NGINX keeps headers in lists of parts.  Its own functions find only headers
 * that they know by name, and take none out.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../base/compat.h"
#include "headers.h"


static ngx_int_t ngx_adm_headers_cut(ngx_http_request_t *r, ngx_list_t *list,
    ngx_list_part_t *part, ngx_uint_t i);


ngx_table_elt_t *
ngx_adm_header(ngx_http_request_t *r, const char *name)
{
    size_t            len;
    ngx_uint_t        i;
    ngx_list_part_t  *part;
    ngx_table_elt_t  *h;

    len = ngx_strlen(name);

    for (part = &r->headers_in.headers.part; part; part = part->next) {
        h = part->elts;

        for (i = 0; i < part->nelts; i++) {
            if (h[i].key.len == len
                && ngx_strncasecmp(h[i].key.data, (u_char *) name, len) == 0)
            {
                return &h[i];
            }
        }
    }

    return NULL;
}


ngx_uint_t
ngx_adm_header_says(ngx_http_request_t *r, const char *name, const char *text)
{
    ngx_table_elt_t        *h;
    ngx_adm_headers_pos_t   pos;

    ngx_memzero(&pos, sizeof(ngx_adm_headers_pos_t));

    while ((h = ngx_adm_headers_next(&r->headers_in.headers, &pos))) {

        if (ngx_adm_header_named(h, name)
            && ngx_strlcasestrn(h->value.data, h->value.data + h->value.len,
                                (u_char *) text, ngx_strlen(text) - 1))
        {
            return 1;
        }
    }

    return 0;
}


ngx_table_elt_t *
ngx_adm_header_push(ngx_http_request_t *r, const char *name, ngx_str_t *value)
{
    ngx_table_elt_t  *h;

    h = ngx_list_push(&r->headers_out.headers);
    if (h == NULL) {
        return NULL;
    }

    /* with all that some version of NGINX has of a header */

    ngx_memzero(h, sizeof(ngx_table_elt_t));

    h->hash = 1;
    h->key.len = ngx_strlen(name);
    h->key.data = (u_char *) name;
    h->value = *value;

    return h;
}


ngx_int_t
ngx_adm_add_header(ngx_http_request_t *r, const char *name, ngx_str_t *value)
{
    return ngx_adm_header_push(r, name, value) ? NGX_OK : NGX_ERROR;
}


ngx_int_t
ngx_adm_set_header(ngx_http_request_t *r, const char *name, ngx_str_t *value)
{
    ngx_table_elt_t        *h;
    ngx_adm_headers_pos_t   pos;

    ngx_memzero(&pos, sizeof(ngx_adm_headers_pos_t));

    while ((h = ngx_adm_headers_next(&r->headers_out.headers, &pos)))
    {
        if (ngx_adm_header_named(h, name)) {
            h->hash = 0;
        }
    }

    return ngx_adm_header_push(r, name, value) ? NGX_OK : NGX_ERROR;
}


ngx_int_t
ngx_adm_set_cache_control(ngx_http_request_t *r, const char *text)
{
    ngx_str_t         value;
    ngx_table_elt_t  *h;

    value.len = ngx_strlen(text);
    value.data = (u_char *) text;

    h = ngx_adm_header_push(r, "Cache-Control", &value);

    return h ? ngx_adm_take_cache_control(r, h) : NGX_ERROR;
}


ngx_int_t
ngx_adm_headers_remove(ngx_http_request_t *r, ngx_adm_header_pt match,
    void *data)
{
    ngx_int_t         rc;
    ngx_list_t       *list;
    ngx_uint_t        i;
    ngx_list_part_t  *part, *prev;
    ngx_table_elt_t  *h;

    list = &r->headers_in.headers;
    part = &list->part;
    prev = NULL;
    i = 0;

    for ( ;; ) {

        if (i >= part->nelts) {

            if (part->nelts == 0 && prev) {

                /* readers of a list expect only its first part to be empty */

                prev->next = part->next;

                if (list->last == part) {
                    list->last = prev;
                    list->nalloc = ngx_max(prev->nelts, 1);
                }

            } else {
                prev = part;
            }

            part = part->next;

            if (part == NULL) {
                return NGX_OK;
            }

            i = 0;
            continue;
        }

        h = part->elts;

        rc = match(&h[i], data);

        if (rc == NGX_ERROR) {
            return NGX_ERROR;
        }

        if (rc == NGX_DECLINED) {
            i++;
            continue;
        }

        if (ngx_adm_headers_cut(r, list, part, i) != NGX_OK) {
            return NGX_ERROR;
        }
    }
}


/*
 * Takes element i out of a part, which may become empty, without moving the
 * others.  What is before it stays in the part, what is behind it becomes a
 * part of its own.  list->nalloc is what the last part has room for, and how
 * much the next one will have: at least one.
 */

static ngx_int_t
ngx_adm_headers_cut(ngx_http_request_t *r, ngx_list_t *list,
    ngx_list_part_t *part, ngx_uint_t i)
{
    ngx_list_part_t  *tail;

    if (i == part->nelts - 1) {
        part->nelts--;
        return NGX_OK;
    }

    if (i == 0) {
        part->elts = (u_char *) part->elts + list->size;
        part->nelts--;

        if (list->last == part) {
            list->nalloc--;
        }

        return NGX_OK;
    }

    tail = ngx_palloc(r->pool, sizeof(ngx_list_part_t));
    if (tail == NULL) {
        return NGX_ERROR;
    }

    tail->elts = (u_char *) part->elts + list->size * (i + 1);
    tail->nelts = part->nelts - i - 1;
    tail->next = part->next;

    part->nelts = i;
    part->next = tail;

    if (list->last == part) {
        list->last = tail;
        list->nalloc -= i + 1;
    }

    return NGX_OK;
}


ngx_uint_t
ngx_adm_header_is(ngx_table_elt_t *h, ngx_str_t *name)
{
    u_char      c;
    ngx_uint_t  i;

    if (h->key.len != name->len) {
        return 0;
    }

    for (i = 0; i < name->len; i++) {
        c = ngx_tolower(h->key.data[i]);

        if (c != name->data[i] && !(c == '_' && name->data[i] == '-')) {
            return 0;
        }
    }

    return 1;
}
