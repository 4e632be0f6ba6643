
/*
 * Copyright (C) 2026 the admission module authors
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_admission_exposition.h"


#define NGX_HTTP_ADMISSION_EXPOSITION_PREFIX  "nginx_admission_"

/* of a buffer; and of a line without its labels, at most */
#define NGX_HTTP_ADMISSION_EXPOSITION_BUF     16384
#define NGX_HTTP_ADMISSION_EXPOSITION_LINE    1024


static void ngx_http_admission_exposition_sample(
    ngx_http_admission_exposition_t *e, const char *suffix, ngx_str_t *labels,
    const char *fmt, ...);
static u_char *ngx_http_admission_exposition_room(
    ngx_http_admission_exposition_t *e, size_t size);
static void ngx_http_admission_exposition_added(
    ngx_http_admission_exposition_t *e, u_char *last);
static u_char *ngx_http_admission_exposition_fraction(u_char *p, uint64_t n,
    ngx_uint_t unit);


void
ngx_http_admission_exposition_init(ngx_http_admission_exposition_t *e,
    ngx_pool_t *pool, ngx_uint_t openmetrics)
{
    ngx_memzero(e, sizeof(ngx_http_admission_exposition_t));

    e->pool = pool;
    e->openmetrics = openmetrics;
    e->last = &e->out;
}


/*
 * What OpenMetrics calls a family the older format calls a metric: of a
 * counter it has the name of the samples.
 */

void
ngx_http_admission_exposition_family(ngx_http_admission_exposition_t *e,
    const ngx_http_admission_family_t *family)
{
    u_char      *p, *last;
    const char  *total;

    static const char  *types[] = { "counter", "gauge", "histogram" };

    e->family = family;

    p = ngx_http_admission_exposition_room(e,
                                  2 * NGX_HTTP_ADMISSION_EXPOSITION_LINE);
    if (p == NULL) {
        return;
    }

    last = p + 2 * NGX_HTTP_ADMISSION_EXPOSITION_LINE;

    total = (family->type == NGX_HTTP_ADMISSION_COUNTER && !e->openmetrics)
            ? "_total" : "";

#define prefix  NGX_HTTP_ADMISSION_EXPOSITION_PREFIX

    p = ngx_slprintf(p, last, "# HELP " prefix "%s%s %s\n"
                              "# TYPE " prefix "%s%s %s\n",
                     family->name, total, family->help,
                     family->name, total, types[family->type]);

    if (e->openmetrics && family->unit) {
        p = ngx_slprintf(p, last, "# UNIT " prefix "%s %s\n",
                         family->name, family->unit);
    }

#undef prefix

    ngx_http_admission_exposition_added(e, p);
}


void
ngx_http_admission_exposition_label(ngx_http_admission_exposition_t *e,
    ngx_str_t *labels, const char *name, ngx_str_t *value)
{
    u_char  *p, *data;
    size_t   i;

    if (e->failed) {
        return;
    }

    data = ngx_pnalloc(e->pool, labels->len + ngx_strlen(name)
                                + 2 * value->len + sizeof(",=\"\"") - 1);
    if (data == NULL) {
        e->failed = 1;
        return;
    }

    p = data;

    if (labels->len) {
        p = ngx_cpymem(p, labels->data, labels->len);
        *p++ = ',';
    }

    p = ngx_cpymem(p, name, ngx_strlen(name));
    *p++ = '=';
    *p++ = '"';

    for (i = 0; i < value->len; i++) {

        switch (value->data[i]) {

        case '\n':
            *p++ = '\\';
            *p++ = 'n';
            break;

        case '\\':
        case '"':
            *p++ = '\\';
            /* fall through */

        default:
            *p++ = value->data[i];
        }
    }

    *p++ = '"';

    labels->data = data;
    labels->len = p - data;
}


void
ngx_http_admission_exposition_value(ngx_http_admission_exposition_t *e,
    ngx_str_t *labels, int64_t value)
{
    ngx_http_admission_exposition_sample(e, "", labels, "%L", value);
}


void
ngx_http_admission_exposition_ms(ngx_http_admission_exposition_t *e,
    ngx_str_t *labels, uint64_t ms)
{
    ngx_http_admission_exposition_sample(e, "", labels, "%uL.%03uL",
                                         ms / 1000, ms % 1000);
}


void
ngx_http_admission_exposition_infinity(ngx_http_admission_exposition_t *e,
    ngx_str_t *labels)
{
    ngx_http_admission_exposition_sample(e, "", labels, "+Inf");
}


void
ngx_http_admission_exposition_histogram(ngx_http_admission_exposition_t *e,
    ngx_str_t *labels, uint64_t *buckets, ngx_uint_t n,
    const ngx_uint_t *bounds, uint64_t sum, ngx_uint_t unit)
{
    u_char      text[NGX_INT64_LEN + sizeof(".000000")];
    uint64_t    count;
    ngx_str_t   le, all;
    ngx_uint_t  i;

    count = 0;

    for (i = 0; i < n; i++) {
        count += buckets[i];

        if (i == n - 1) {
            ngx_str_set(&le, "+Inf");

        } else {
            le.data = text;
            le.len = ngx_http_admission_exposition_fraction(text, bounds[i],
                                                            unit)
                     - text;
        }

        all = *labels;

        ngx_http_admission_exposition_label(e, &all, "le", &le);
        ngx_http_admission_exposition_sample(e, "_bucket", &all, "%uL", count);
    }

    le.data = text;
    le.len = ngx_http_admission_exposition_fraction(text, sum, unit) - text;

    ngx_http_admission_exposition_sample(e, "_sum", labels, "%V", &le);
    ngx_http_admission_exposition_sample(e, "_count", labels, "%uL", count);
}


ngx_int_t
ngx_http_admission_exposition_end(ngx_http_admission_exposition_t *e)
{
    u_char  *p;

    if (e->openmetrics) {
        p = ngx_http_admission_exposition_room(e, sizeof("# EOF\n"));

        if (p) {
            p = ngx_cpymem(p, "# EOF\n", sizeof("# EOF\n") - 1);
            ngx_http_admission_exposition_added(e, p);
        }
    }

    return e->failed ? NGX_ERROR : NGX_OK;
}


static void
ngx_http_admission_exposition_sample(ngx_http_admission_exposition_t *e,
    const char *suffix, ngx_str_t *labels, const char *fmt, ...)
{
    u_char   *p, *last;
    size_t    size;
    va_list   args;

    size = NGX_HTTP_ADMISSION_EXPOSITION_LINE + (labels ? labels->len : 0);

    p = ngx_http_admission_exposition_room(e, size);
    if (p == NULL) {
        return;
    }

    last = p + size;

    if (e->family->type == NGX_HTTP_ADMISSION_COUNTER) {
        suffix = "_total";
    }

    p = ngx_slprintf(p, last, NGX_HTTP_ADMISSION_EXPOSITION_PREFIX "%s%s",
                     e->family->name, suffix);

    if (labels && labels->len) {
        p = ngx_slprintf(p, last, "{%V}", labels);
    }

    *p++ = ' ';

    va_start(args, fmt);
    p = ngx_vslprintf(p, last, fmt, args);
    va_end(args);

    *p++ = '\n';

    ngx_http_admission_exposition_added(e, p);
}


/* so many bytes at the end of the last buffer, or of a new one */

static u_char *
ngx_http_admission_exposition_room(ngx_http_admission_exposition_t *e,
    size_t size)
{
    ngx_buf_t    *b;
    ngx_chain_t  *cl;

    if (e->failed) {
        return NULL;
    }

    if (e->buf && (size_t) (e->buf->end - e->buf->last) >= size) {
        return e->buf->last;
    }

    size = ngx_max(size, NGX_HTTP_ADMISSION_EXPOSITION_BUF);

    b = ngx_create_temp_buf(e->pool, size);
    cl = ngx_alloc_chain_link(e->pool);

    if (b == NULL || cl == NULL) {
        e->failed = 1;
        return NULL;
    }

    cl->buf = b;
    cl->next = NULL;

    *e->last = cl;
    e->last = &cl->next;
    e->buf = b;

    return b->last;
}


static void
ngx_http_admission_exposition_added(ngx_http_admission_exposition_t *e,
    u_char *last)
{
    e->size += last - e->buf->last;
    e->buf->last = last;
}


/* n units, "unit" of which are one: with a point, without zeros at its end */

static u_char *
ngx_http_admission_exposition_fraction(u_char *p, uint64_t n, ngx_uint_t unit)
{
    uint64_t  rest;

    p = ngx_sprintf(p, "%uL.", n / unit);
    rest = n % unit;

    do {
        rest *= 10;
        *p++ = (u_char) ('0' + rest / unit);
        rest %= unit;
    } while (rest);

    return p;
}
