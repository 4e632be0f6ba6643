
/*
 * Copyright (C) 2026 the admission module authors
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_admission_compat.h"
#include "ngx_http_admission_headers.h"


static ngx_int_t ngx_http_admission_headers_cut(ngx_http_request_t *r,
    ngx_list_t *list, ngx_list_part_t *part, ngx_uint_t i);


ngx_int_t
ngx_http_admission_headers_remove(ngx_http_request_t *r,
    ngx_http_admission_header_pt match, void *data)
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

        if (ngx_http_admission_headers_cut(r, list, part, i) != NGX_OK) {
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
ngx_http_admission_headers_cut(ngx_http_request_t *r, ngx_list_t *list,
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


ngx_table_elt_t *
ngx_http_admission_headers_push(ngx_http_request_t *r)
{
    ngx_list_t       *list;
    ngx_table_elt_t  *h;

    list = &r->headers_in.headers;

    /* a request whose first line is wrong has no list, but an error_page */

    if (list->last == NULL
        && ngx_list_init(list, r->pool, 20, sizeof(ngx_table_elt_t)) != NGX_OK)
    {
        return NULL;
    }

    h = ngx_list_push(list);
    if (h == NULL) {
        return NULL;
    }

    ngx_http_admission_header_unchained(h);

    return h;
}


ngx_uint_t
ngx_http_admission_header_is(ngx_table_elt_t *h, ngx_str_t *name)
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
