
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Headers: reading a request's, taking some out of its list and putting some
 * in, and those of an answer.
 *
 * Headers are taken out of the list itself: whatever reads it, a variable or
 * a proxy, must not see what came from outside.  Other headers stay where they
 * are in memory, since NGINX keeps pointers to them.
 */


#ifndef _NGX_ADM_HTTP_HEADERS_H_INCLUDED_
#define _NGX_ADM_HTTP_HEADERS_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>


/* a place in a list; zeroed before the first call of ngx_adm_headers_next() */
typedef struct {
    ngx_list_part_t            *part;
    ngx_uint_t                  n;
} ngx_adm_headers_pos_t;


/*
 * The next header of a list, also one that was taken back (its hash is 0);
 * NULL after the last.
 */
static ngx_inline ngx_table_elt_t *
ngx_adm_headers_next(ngx_list_t *list, ngx_adm_headers_pos_t *pos)
{
    ngx_table_elt_t  *h;

    if (pos->part == NULL) {
        pos->part = &list->part;
    }

    while (pos->n == pos->part->nelts) {

        if (pos->part->next == NULL) {
            return NULL;
        }

        pos->part = pos->part->next;
        pos->n = 0;
    }

    h = pos->part->elts;

    return &h[pos->n++];
}

/* whether a header has the name, a constant text, in any case */
#define ngx_adm_header_named(h, name)                                         \
    ((h)->key.len == ngx_strlen(name)                                         \
     && ngx_strncasecmp((h)->key.data, (u_char *) (name), (h)->key.len) == 0)

/* the first header of the request that has the name, NULL if none has */
ngx_table_elt_t *ngx_adm_header(ngx_http_request_t *r, const char *name);

/* whether any line of it has the text (two bytes or more), in any case */
ngx_uint_t ngx_adm_header_says(ngx_http_request_t *r, const char *name,
    const char *text);


/*
 * A header of the answer; name is constant.  NULL, NGX_ERROR: no memory.
 * _set_header() puts it in the place of all that have the name, whoever set
 * them.
 */
ngx_table_elt_t *ngx_adm_header_push(ngx_http_request_t *r, const char *name,
    ngx_str_t *value);
ngx_int_t ngx_adm_add_header(ngx_http_request_t *r, const char *name,
    ngx_str_t *value);
ngx_int_t ngx_adm_set_header(ngx_http_request_t *r, const char *name,
    ngx_str_t *value);

/* the answer's Cache-Control, a constant text, in place of any other */
ngx_int_t ngx_adm_set_cache_control(ngx_http_request_t *r, const char *text);


/* NGX_OK: this one goes; NGX_DECLINED: it stays; NGX_ERROR: no memory */
typedef ngx_int_t (*ngx_adm_header_pt)(ngx_table_elt_t *h, void *data);


/* takes those that match says out of the request; NGX_ERROR: no memory */
ngx_int_t ngx_adm_headers_remove(ngx_http_request_t *r, ngx_adm_header_pt match,
    void *data);

/*
 * Whether it has the name (given in lower case), in any case and with "_"
 * for "-" too: CGI and variables do not tell them apart.
 */
ngx_uint_t ngx_adm_header_is(ngx_table_elt_t *h, ngx_str_t *name);


#endif /* _NGX_ADM_HTTP_HEADERS_H_INCLUDED_ */
