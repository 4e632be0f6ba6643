
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The text is a chain of buffers, each filled until the next line might not
 * fit.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "exposition.h"


#define NGX_ADM_EXPOSITION_PREFIX  "nginx_admission_"

/* of a buffer; and of what is added at once, labels besides, at most */
#define NGX_ADM_EXPOSITION_BUF     16384
#define NGX_ADM_EXPOSITION_LINE    2048


static void ngx_adm_exposition_sample(ngx_adm_exposition_t *e,
    const char *suffix, const char *fmt, ...);
static void ngx_adm_exposition_add(ngx_adm_exposition_t *e, const char *fmt,
    ...);
static ngx_int_t ngx_adm_exposition_room(ngx_adm_exposition_t *e, size_t size);
static u_char *ngx_adm_exposition_fraction(u_char *p, uint64_t n,
    ngx_uint_t unit);


void
ngx_adm_exposition_init(ngx_adm_exposition_t *e, ngx_pool_t *pool,
    ngx_uint_t openmetrics)
{
    ngx_memzero(e, sizeof(ngx_adm_exposition_t));

    e->pool = pool;
    e->openmetrics = openmetrics;
    e->last = &e->out;
}


/*
 * The older format calls a family a metric: of a counter that has the name of
 * the samples.
 */

void
ngx_adm_exposition_family(ngx_adm_exposition_t *e, const char *name,
    ngx_adm_metric_e type, const char *help)
{
    ngx_uint_t   bytes;
    const char  *total, *unit;

    static const char  *types[] = { "counter", "gauge", "histogram" };

    unit = strrchr(name, '_');
    unit = unit ? unit + 1 : name;
    bytes = (ngx_strcmp(unit, "bytes") == 0);

    e->name = name;
    e->counter = (type == NGX_ADM_COUNTER);
    e->seconds = (ngx_strcmp(unit, "seconds") == 0);

    total = (e->counter && !e->openmetrics) ? "_total" : "";

#define prefix  NGX_ADM_EXPOSITION_PREFIX

    ngx_adm_exposition_add(e, "# HELP " prefix "%s%s %s\n"
                              "# TYPE " prefix "%s%s %s\n",
                           name, total, help, name, total,
                           types[type]);

    if (e->openmetrics && (e->seconds || bytes)) {
        ngx_adm_exposition_add(e, "# UNIT " prefix "%s %s\n", name, unit);
    }
}


void
ngx_adm_exposition_label(ngx_adm_exposition_t *e, const char *name,
    const ngx_str_t *value)
{
    u_char  *p, *data;

    /* JSON needs the same escapes for what values have */

    data = ngx_pnalloc(e->pool, e->labels.len + ngx_strlen(name) + value->len
                                + ngx_escape_json(NULL, value->data, value->len)
                                + sizeof(",=\"\"") - 1);
    if (data == NULL) {
        e->failed = 1;
        return;
    }

    p = ngx_sprintf(data, "%V%s%s=\"", &e->labels, e->labels.len ? "," : "",
                    name);
    p = (u_char *) ngx_escape_json(p, value->data, value->len);
    *p++ = '"';

    e->labels.data = data;
    e->labels.len = p - data;
}


void
ngx_adm_exposition_value(ngx_adm_exposition_t *e, int64_t value)
{
    if (value == NGX_ADM_INFINITY) {
        ngx_adm_exposition_sample(e, "", "+Inf");

    } else if (e->seconds) {
        ngx_adm_exposition_sample(e, "", "%L.%03L", value / 1000, value % 1000);
    } else {
        ngx_adm_exposition_sample(e, "", "%L", value);
    }
}


void
ngx_adm_exposition_histogram(ngx_adm_exposition_t *e,
    ngx_atomic_uint_t *buckets, ngx_uint_t n, const ngx_uint_t *bounds,
    ngx_uint_t unit)
{
    u_char      text[NGX_INT64_LEN + sizeof(".000000")];
    uint64_t    count;
    ngx_str_t   labels, le;
    ngx_uint_t  i;

    count = 0;
    labels = e->labels;

    for (i = 0; i < n; i++) {
        count += buckets[i];

        ngx_str_set(&le, "+Inf");

        if (i < n - 1) {
            le.data = text;
            le.len = ngx_adm_exposition_fraction(text, bounds[i], unit) - text;
        }

        e->labels = labels;

        ngx_adm_exposition_label(e, "le", &le);
        ngx_adm_exposition_sample(e, "_bucket", "%uL", count);
    }

    *ngx_adm_exposition_fraction(text, buckets[n], unit) = '\0';

    e->labels = labels;
    ngx_adm_exposition_sample(e, "_sum", "%s", text);

    e->labels = labels;
    ngx_adm_exposition_sample(e, "_count", "%uL", count);
}


ngx_int_t
ngx_adm_exposition_end(ngx_adm_exposition_t *e)
{
    if (e->openmetrics) {
        ngx_adm_exposition_add(e, "# EOF\n");
    }

    return e->failed ? NGX_ERROR : NGX_OK;
}


static void
ngx_adm_exposition_sample(ngx_adm_exposition_t *e, const char *suffix,
    const char *fmt, ...)
{
    u_char     value[NGX_INT64_LEN + sizeof(".000")];
    va_list    args;

    va_start(args, fmt);
    *ngx_vslprintf(value, value + sizeof(value) - 1, fmt, args) = '\0';
    va_end(args);

    ngx_adm_exposition_add(e, NGX_ADM_EXPOSITION_PREFIX "%s%s%s%V%s %s\n",
                           e->name, e->counter ? "_total" : suffix,
                           e->labels.len ? "{" : "", &e->labels,
                           e->labels.len ? "}" : "", value);

    ngx_str_null(&e->labels);
}


static void
ngx_adm_exposition_add(ngx_adm_exposition_t *e, const char *fmt, ...)
{
    u_char   *p;
    va_list   args;

    if (ngx_adm_exposition_room(e, e->labels.len
                                          + NGX_ADM_EXPOSITION_LINE)
        != NGX_OK)
    {
        e->failed = 1;
        return;
    }

    va_start(args, fmt);
    p = ngx_vslprintf(e->buf->last, e->buf->end, fmt, args);
    va_end(args);

    e->size += p - e->buf->last;
    e->buf->last = p;
}


/* room for so many bytes at the end of the last buffer, or in a new one */

static ngx_int_t
ngx_adm_exposition_room(ngx_adm_exposition_t *e, size_t size)
{
    ngx_buf_t    *b;
    ngx_chain_t  *cl;

    if (e->buf && (size_t) (e->buf->end - e->buf->last) >= size) {
        return NGX_OK;
    }

    b = ngx_create_temp_buf(e->pool, ngx_max(size, NGX_ADM_EXPOSITION_BUF));
    cl = ngx_alloc_chain_link(e->pool);

    if (b == NULL || cl == NULL) {
        return NGX_ERROR;
    }

    cl->buf = b;
    cl->next = NULL;

    *e->last = cl;
    e->last = &cl->next;
    e->buf = b;

    return NGX_OK;
}


/* n / unit, with a point, and without zeros at the end */

static u_char *
ngx_adm_exposition_fraction(u_char *p, uint64_t n, ngx_uint_t unit)
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
