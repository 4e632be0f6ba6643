
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Which of the two languages of a notice is asked for, and its JSON.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../base/text.h"
#include "headers.h"
#include "notice.h"


static ngx_int_t ngx_adm_notice_put(ngx_pool_t *pool, ngx_adm_notice_t *notice,
    ngx_uint_t lang, ngx_str_t *member);
static ngx_uint_t ngx_adm_lang_accepted(ngx_str_t *accept);
static ngx_uint_t ngx_adm_lang_of(u_char *p, u_char *last);
static ngx_uint_t ngx_adm_lang_weight(u_char *p, u_char *last);


ngx_int_t
ngx_adm_notice_member(ngx_http_request_t *r, ngx_str_t *event,
    ngx_str_t *member)
{
    ngx_adm_notice_t  notice;

    ngx_str_null(member);

    if (ngx_adm_notice_get(event, &notice) != NGX_OK) {
        return NGX_OK;
    }

    return ngx_adm_notice_put(r->pool, &notice, ngx_adm_notice_lang(r),
                              member);
}


ngx_int_t
ngx_adm_notice_in(ngx_pool_t *pool, ngx_str_t *event, ngx_uint_t lang,
    ngx_str_t *member)
{
    ngx_adm_notice_t  notice;

    ngx_str_null(member);

    if (ngx_adm_notice_get(event, &notice) != NGX_OK) {
        return NGX_OK;
    }

    return ngx_adm_notice_put(pool, &notice, lang, member);
}


static ngx_int_t
ngx_adm_notice_put(ngx_pool_t *pool, ngx_adm_notice_t *notice, ngx_uint_t lang,
    ngx_str_t *member)
{
    size_t      size;
    ngx_str_t  *text, json;

    if (lang == NGX_ADM_LANG_NONE) {
        lang = NGX_ADM_LANG_KO;
    }

    text = (lang == NGX_ADM_LANG_KO) ? &notice->ko : &notice->en;

    if (text->len == 0) {
        lang = NGX_ADM_LANG_KO + NGX_ADM_LANG_EN - lang;
        text = (lang == NGX_ADM_LANG_KO) ? &notice->ko : &notice->en;
    }

    if (ngx_adm_json_string(pool, text, &json) != NGX_OK) {
        return NGX_ERROR;
    }

    size = sizeof(",\"notice\":,\"noticeLang\":\"ko\",\"noticeAt\":") - 1
           + json.len + NGX_INT64_LEN;

    member->data = ngx_pnalloc(pool, size);
    if (member->data == NULL) {
        return NGX_ERROR;
    }

    member->len = ngx_adm_put(member->data, member->data + size,
                              ",\"notice\":%V,\"noticeLang\":\"%s\","
                              "\"noticeAt\":%L", &json,
                              lang == NGX_ADM_LANG_KO ? "ko" : "en",
                              notice->at) - member->data;

    return NGX_OK;
}


ngx_int_t
ngx_adm_notice_json(ngx_pool_t *pool, ngx_adm_notice_t *notice,
    ngx_str_t *json)
{
    size_t     size;
    ngx_str_t  ko, en;

    if (notice->at == 0) {
        ngx_str_set(json, "null");
        return NGX_OK;
    }

    if (ngx_adm_json_string(pool, &notice->ko, &ko) != NGX_OK
        || ngx_adm_json_string(pool, &notice->en, &en) != NGX_OK)
    {
        return NGX_ERROR;
    }

    size = sizeof("{\"ko\":,\"en\":,\"at\":}") - 1 + ko.len + en.len
           + NGX_INT64_LEN;

    json->data = ngx_pnalloc(pool, size);
    if (json->data == NULL) {
        return NGX_ERROR;
    }

    json->len = ngx_adm_put(json->data, json->data + size,
                            "{\"ko\":%V,\"en\":%V,\"at\":%L}", &ko, &en,
                            notice->at) - json->data;

    return NGX_OK;
}


ngx_uint_t
ngx_adm_notice_lang(ngx_http_request_t *r)
{
    ngx_str_t         value;
    ngx_uint_t        lang;
    ngx_table_elt_t  *h;

    lang = NGX_ADM_LANG_NONE;

    if (ngx_http_arg(r, (u_char *) "lang", sizeof("lang") - 1, &value)
        == NGX_OK)
    {
        lang = ngx_adm_lang_of(value.data, value.data + value.len);
    }

    if (lang == NGX_ADM_LANG_NONE) {
        h = ngx_adm_header(r, "accept-language");
        lang = h ? ngx_adm_lang_accepted(&h->value) : NGX_ADM_LANG_NONE;
    }

    return lang;
}


/* the language with the greatest weight, of equal ones the first */

static ngx_uint_t
ngx_adm_lang_accepted(ngx_str_t *accept)
{
    u_char      *p, *last, *end;
    ngx_uint_t   lang, weight, best, most;

    best = NGX_ADM_LANG_NONE;
    most = 0;

    p = accept->data;
    end = p + accept->len;

    while (p < end) {
        last = ngx_strlchr(p, end, ',');

        if (last == NULL) {
            last = end;
        }

        while (p < last && (*p == ' ' || *p == '\t')) {
            p++;
        }

        lang = ngx_adm_lang_of(p, last);
        weight = lang ? ngx_adm_lang_weight(p, last) : 0;

        if (weight > most) {
            best = lang;
            most = weight;
        }

        p = last + 1;
    }

    return best;
}


/* a language by the first part of a tag, "ko" or "en-GB" */

static ngx_uint_t
ngx_adm_lang_of(u_char *p, u_char *last)
{
    if (last - p < 2
        || (last - p > 2 && p[2] != '-' && p[2] != ';' && p[2] != ' '))
    {
        return NGX_ADM_LANG_NONE;
    }

    if (ngx_strncasecmp(p, (u_char *) "ko", 2) == 0) {
        return NGX_ADM_LANG_KO;
    }

    return ngx_strncasecmp(p, (u_char *) "en", 2) == 0 ? NGX_ADM_LANG_EN
                                                       : NGX_ADM_LANG_NONE;
}


/* q=, in thousandths; 1000 where it is missing */

static ngx_uint_t
ngx_adm_lang_weight(u_char *p, u_char *last)
{
    ngx_int_t  q;

    p = ngx_strlchr(p, last, ';');

    if (p == NULL) {
        return 1000;
    }

    while (p < last && *p != '=') {
        p++;
    }

    q = (last - p > 1) ? ngx_atofp(p + 1, last - p - 1, 3) : NGX_ERROR;

    return (q == NGX_ERROR) ? 0 : (ngx_uint_t) ngx_min(q, 1000);
}
