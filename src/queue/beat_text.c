
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Names go as one list, since that takes Redis less than arguments do, and
 * ages as two bytes each.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_admission_names.h"
#include "beat_text.h"


#define NGX_ADM_BEAT_PLACE  (2 * NGX_INT64_LEN + sizeof("  0") - 1)


static u_char *ngx_adm_beat_age(u_char *p, ngx_msec_t said);


ngx_int_t
ngx_adm_beat_group(ngx_pool_t *pool, ngx_array_t *groups, ngx_array_t *said,
    ngx_adm_beat_t *beat)
{
    u_char      *p;
    ngx_str_t   *group;
    ngx_msec_t  *when;

    p = ngx_pnalloc(pool, beat->user.len + NGX_INT64_LEN + NGX_ADM_BEAT_PLACE);
    if (p == NULL) {
        return NGX_ERROR;
    }

    group = ngx_array_push_n(groups, NGX_ADM_EACH_QUEUE_BEAT_COUNT);
    if (group == NULL) {
        return NGX_ERROR;
    }

    when = ngx_array_push(said);
    if (when == NULL) {
        groups->nelts -= NGX_ADM_EACH_QUEUE_BEAT_COUNT;
        return NGX_ERROR;
    }

    *when = beat->said;

    group[NGX_ADM_EACH_QUEUE_BEAT_USER].len = beat->user.len;
    group[NGX_ADM_EACH_QUEUE_BEAT_USER].data = p;
    p = ngx_cpymem(p, beat->user.data, beat->user.len);

    group[NGX_ADM_EACH_QUEUE_BEAT_SCORE].data = p;
    p = ngx_sprintf(p, "%L", beat->score);
    group[NGX_ADM_EACH_QUEUE_BEAT_SCORE].len =
                               p - group[NGX_ADM_EACH_QUEUE_BEAT_SCORE].data;

    group[NGX_ADM_EACH_QUEUE_BEAT_PLACE].data = p;
    p = ngx_sprintf(p, "%L %L %ui", beat->n, beat->epoch, beat->what);
    group[NGX_ADM_EACH_QUEUE_BEAT_PLACE].len =
                               p - group[NGX_ADM_EACH_QUEUE_BEAT_PLACE].data;

    return NGX_OK;
}


ngx_int_t
ngx_adm_beat_name(ngx_pool_t *pool, ngx_array_t *names, ngx_adm_beat_t *beat)
{
    u_char          *p;
    ngx_adm_beat_t  *named;

    p = ngx_pnalloc(pool, beat->user.len);
    if (p == NULL) {
        return NGX_ERROR;
    }

    named = ngx_array_push(names);
    if (named == NULL) {
        return NGX_ERROR;
    }

    *named = *beat;

    named->user.data = p;
    ngx_memcpy(p, beat->user.data, beat->user.len);

    return NGX_OK;
}


/* in the format that cmsgpack reads as a list of texts: array 16, raw 16 */

ngx_int_t
ngx_adm_beat_names(ngx_pool_t *pool, ngx_array_t *of, ngx_str_t *names)
{
    size_t           len;
    u_char          *p;
    ngx_uint_t       i, n;
    ngx_adm_beat_t  *named;

    ngx_str_null(names);

    named = of->elts;
    n = of->nelts;

    if (n == 0) {
        return NGX_OK;
    }

    len = 3;

    for (i = 0; i < n; i++) {
        len += 3 + named[i].user.len;
    }

    p = ngx_pnalloc(pool, len);
    if (p == NULL) {
        return NGX_ERROR;
    }

    names->len = len;
    names->data = p;

    *p++ = 0xdc;
    *p++ = (u_char) (n >> 8);
    *p++ = (u_char) n;

    for (i = 0; i < n; i++) {
        *p++ = 0xda;
        *p++ = (u_char) (named[i].user.len >> 8);
        *p++ = (u_char) named[i].user.len;
        p = ngx_cpymem(p, named[i].user.data, named[i].user.len);
    }

    return NGX_OK;
}


ngx_int_t
ngx_adm_beat_ages(ngx_pool_t *pool, ngx_array_t *named, ngx_array_t *lately,
    ngx_array_t *said, ngx_str_t *ages)
{
    u_char          *p;
    ngx_uint_t       i;
    ngx_msec_t      *when;
    ngx_adm_beat_t  *beat;

    ages->len = 2 * (named->nelts + lately->nelts + said->nelts);

    p = ngx_pnalloc(pool, ages->len);
    if (p == NULL) {
        return NGX_ERROR;
    }

    ages->data = p;

    beat = named->elts;

    for (i = 0; i < named->nelts; i++) {
        p = ngx_adm_beat_age(p, beat[i].said);
    }

    beat = lately->elts;

    for (i = 0; i < lately->nelts; i++) {
        p = ngx_adm_beat_age(p, beat[i].said);
    }

    when = said->elts;

    for (i = 0; i < said->nelts; i++) {
        p = ngx_adm_beat_age(p, when[i]);
    }

    return NGX_OK;
}


static u_char *
ngx_adm_beat_age(u_char *p, ngx_msec_t said)
{
    ngx_msec_t  age;

    age = ngx_min(ngx_current_msec - said, 0xffff);

    *p++ = (u_char) (age >> 8);
    *p++ = (u_char) age;

    return p;
}
