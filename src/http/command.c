
/*
 * Copyright (C) 2026 the admission module authors
 *
 * A command counts once an answer, if a backend was asked for that answer: one
 * from a cache was meant for somebody else.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../base/text.h"
#include "command.h"
#include "headers.h"


static ngx_int_t ngx_adm_command_counts(ngx_http_request_t *r,
    ngx_adm_ctx_t *ctx);
static ngx_int_t ngx_adm_command_parse(ngx_str_t *value, int64_t *seats);
static void ngx_adm_command_skip(ngx_str_t *text, size_t n);
static void ngx_adm_command_refused(ngx_http_request_t *r, ngx_str_t *value,
    const char *why);


ngx_adm_command_pt  ngx_adm_command;


void
ngx_adm_command_take(ngx_http_request_t *r, ngx_adm_ctx_t *ctx)
{
    int64_t                 seats;
    ngx_str_t               value;
    ngx_uint_t              n;
    ngx_table_elt_t        *h;
    ngx_adm_headers_pos_t   pos;

    n = 0;
    ngx_memzero(&pos, sizeof(ngx_adm_headers_pos_t));

    while ((h = ngx_adm_headers_next(&r->headers_out.headers, &pos))) {

        if (h->hash == 0 || !ngx_adm_header_named(h, "X-Admission-Command")) {
            continue;
        }

        h->hash = 0;

        if (n == 0) {
            value = h->value;
            n = 1;

        } else if (!ngx_adm_str_same(&h->value, &value)) {
            n++;
        }
    }

    if (n == 0 || ctx == NULL
        || ngx_adm_command_counts(r, ctx) != NGX_OK)
    {
        return;
    }

    if (n > 1) {
        ngx_adm_command_refused(r, &value, "there are several "
                                "that differ");

    } else if (ngx_adm_command_parse(&value, &seats) != NGX_OK) {
        ngx_adm_command_refused(r, &value, "it is none of \"complete\", "
                                "\"complete; seats=N\", N from 1 to 10000, "
                                "and \"leave\"");

    } else if (ctx->entry == NULL || ctx->entry->uid.len == 0) {
        ngx_adm_command_refused(r, &value, "the request shows no entry token "
                                "of a user");

    } else {
        ngx_adm_command(r, ctx->entry, seats);
    }
}


/* a tier let the request pass in this location, and a backend answered it */

static ngx_int_t
ngx_adm_command_counts(ngx_http_request_t *r, ngx_adm_ctx_t *ctx)
{
    ngx_adm_loc_conf_t  *lcf;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_admission_module);

    if (lcf->content != NGX_ADM_CONTENT_NONE
        || (lcf->tier1->mode == NGX_ADM_OFF && lcf->tier2->mode == NGX_ADM_OFF)
        || ctx->denied
        || ctx->passed != r->uri_changes)
    {
        return NGX_DECLINED;
    }

#if (NGX_HTTP_CACHE)
    if (r->cached) {
        return NGX_DECLINED;
    }
#endif

    return NGX_OK;
}


/* *seats 0: the user leaves */

static ngx_int_t
ngx_adm_command_parse(ngx_str_t *value, int64_t *seats)
{
    ngx_int_t  n;
    ngx_str_t  text;

    static ngx_str_t  complete = ngx_string("complete");
    static ngx_str_t  leave = ngx_string("leave");
    static ngx_str_t  number = ngx_string("seats=");

    text = *value;
    ngx_adm_command_skip(&text, 0);

    if (ngx_adm_str_same_case(&text, &leave)) {
        *seats = 0;
        return NGX_OK;
    }

    if (text.len < complete.len
        || ngx_strncasecmp(text.data, complete.data, complete.len) != 0)
    {
        return NGX_DECLINED;
    }

    ngx_adm_command_skip(&text, complete.len);

    if (text.len == 0) {
        *seats = 1;
        return NGX_OK;
    }

    if (text.data[0] != ';') {
        return NGX_DECLINED;
    }

    ngx_adm_command_skip(&text, 1);

    if (text.len <= number.len
        || ngx_strncasecmp(text.data, number.data, number.len) != 0)
    {
        return NGX_DECLINED;
    }

    n = ngx_atoi(text.data + number.len, text.len - number.len);

    if (n < 1 || n > NGX_ADM_SEATS_MAX) {
        return NGX_DECLINED;
    }

    *seats = n;

    return NGX_OK;
}


/* skips n bytes, and blanks before and after them */

static void
ngx_adm_command_skip(ngx_str_t *text, size_t n)
{
    text->data += n;
    text->len -= n;

    while (text->len && (text->data[0] == ' ' || text->data[0] == '\t')) {
        text->data++;
        text->len--;
    }

    while (text->len && (text->data[text->len - 1] == ' '
                         || text->data[text->len - 1] == '\t'))
    {
        text->len--;
    }
}


/* a line a second at most, since it may be about all answers of a backend */

static void
ngx_adm_command_refused(ngx_http_request_t *r, ngx_str_t *value,
    const char *why)
{
    static time_t  logged;

    if (logged == ngx_time()) {
        return;
    }

    logged = ngx_time();

    ngx_log_error(NGX_LOG_WARN, r->connection->log, 0,
                  "admission: \"X-Admission-Command: %V\" of a backend counts "
                  "for nothing: %s", value, why);
}
