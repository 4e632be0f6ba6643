
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Scripts and styles are allowed by their hashes, so they are found here in
 * the way a browser finds them.  For the same reason nothing is replaced
 * inside of them: a script reads what it needs from an attribute.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>
#include <ngx_md5.h>

#include <openssl/evp.h>

#include "../base/text.h"
#include "compile.h"


#define NGX_ADM_SHA256_LEN  32

/* " 'sha256-" and "'" around base64 */
#define NGX_ADM_CSP_HASH_LEN                                                  \
    (sizeof(" 'sha256-'") - 1                                                 \
     + ngx_base64_encoded_length(NGX_ADM_SHA256_LEN))

#define NGX_ADM_CSP                                                           \
    "default-src 'none'; script-src%V; style-src%V; connect-src 'self'; "     \
    "img-src data:; base-uri 'none'; form-action 'self'; "                    \
    "frame-ancestors 'none'"


/* fixed when the configuration is read; their numbers follow the others' */
#define NGX_ADM_PAGE_NEXT  (NGX_ADM_PAGE_VALUES + 1)
#define NGX_ADM_PAGE_API   (NGX_ADM_PAGE_VALUES + 2)
#define NGX_ADM_PAGE_QUEUE (NGX_ADM_PAGE_VALUES + 3)

#define NGX_ADM_PAGE_TIERS                                                    \
    (NGX_ADM_PAGE_TIER1|NGX_ADM_PAGE_TIER2)

#define NGX_ADM_PAGE_ANY                                                      \
    (NGX_ADM_PAGE_TIERS|NGX_ADM_PAGE_NOJS)


typedef struct {
    ngx_conf_t                     *cf;
    ngx_str_t                      *name;    /* for messages */
    ngx_uint_t                      which;
    ngx_adm_page_conf_t *page;
    ngx_adm_page_doc_t  *doc;

    u_char              *text;               /* not in a part yet */
    u_char              *pos;
    u_char              *last;

    ngx_array_t          scripts;            /* hashes of a kind, as text */
    ngx_array_t          styles;
} ngx_adm_compile_t;


typedef struct {
    ngx_str_t                       name;
    ngx_uint_t                      value;
    ngx_uint_t                      pages;
} ngx_adm_placeholder_t;


static ngx_int_t ngx_adm_page_comment(ngx_adm_compile_t *c);
static ngx_int_t ngx_adm_page_element(ngx_adm_compile_t *c, const char *tag,
    ngx_array_t *hashes);
static ngx_int_t ngx_adm_page_hash(ngx_adm_compile_t *c, ngx_str_t *content,
    ngx_array_t *hashes);
static ngx_int_t ngx_adm_page_placeholder(ngx_adm_compile_t *c);
static ngx_adm_placeholder_t *ngx_adm_page_find(ngx_adm_compile_t *c,
    ngx_str_t *name);
static ngx_int_t ngx_adm_page_part(ngx_adm_compile_t *c, ngx_str_t *text,
    ngx_uint_t value);
static ngx_int_t ngx_adm_page_policy(ngx_adm_compile_t *c);
static ngx_int_t ngx_adm_page_tag(ngx_adm_compile_t *c);


static ngx_adm_placeholder_t  ngx_adm_placeholders[] = {

    { ngx_string("next"), NGX_ADM_PAGE_NEXT,
      NGX_ADM_PAGE_TIERS },

    { ngx_string("return"), NGX_ADM_PAGE_RETURN,
      NGX_ADM_PAGE_TIERS },

    { ngx_string("api"), NGX_ADM_PAGE_API,
      NGX_ADM_PAGE_ANY|NGX_ADM_PAGE_ADMIN },

    { ngx_string("queue"), NGX_ADM_PAGE_QUEUE,
      NGX_ADM_PAGE_ADMIN },

    { ngx_string("login"), NGX_ADM_PAGE_LOGIN,
      NGX_ADM_PAGE_ADMIN },

    { ngx_string("event"), NGX_ADM_PAGE_EVENT,
      NGX_ADM_PAGE_ANY },

    { ngx_string("title"), NGX_ADM_PAGE_TITLE,
      NGX_ADM_PAGE_ANY },

    { ngx_string("artist"), NGX_ADM_PAGE_ARTIST,
      NGX_ADM_PAGE_ANY },

    { ngx_string("nojs"), NGX_ADM_PAGE_NOJS_URI,
      NGX_ADM_PAGE_ANY },

    { ngx_string("state"), NGX_ADM_PAGE_STATE,
      NGX_ADM_PAGE_NOJS },

    { ngx_string("ahead"), NGX_ADM_PAGE_AHEAD,
      NGX_ADM_PAGE_NOJS },

    { ngx_string("position"), NGX_ADM_PAGE_POSITION,
      NGX_ADM_PAGE_NOJS },

    { ngx_string("number"), NGX_ADM_PAGE_NUMBER,
      NGX_ADM_PAGE_NOJS },

    { ngx_string("commitment"), NGX_ADM_PAGE_COMMITMENT,
      NGX_ADM_PAGE_NOJS },

    { ngx_string("serving"), NGX_ADM_PAGE_SERVING,
      NGX_ADM_PAGE_NOJS },

    { ngx_string("behind"), NGX_ADM_PAGE_BEHIND,
      NGX_ADM_PAGE_NOJS },

    { ngx_string("wait"), NGX_ADM_PAGE_WAIT_EN,
      NGX_ADM_PAGE_NOJS },

    { ngx_string("waitko"), NGX_ADM_PAGE_WAIT_KO,
      NGX_ADM_PAGE_NOJS },

    { ngx_string("leave"), NGX_ADM_PAGE_LEAVE,
      NGX_ADM_PAGE_NOJS },

    { ngx_string("stay"), NGX_ADM_PAGE_STAY,
      NGX_ADM_PAGE_NOJS },

    { ngx_string("leaves"), NGX_ADM_PAGE_LEAVES,
      NGX_ADM_PAGE_NOJS },

    { ngx_string("notice"), NGX_ADM_PAGE_NOTICE,
      NGX_ADM_PAGE_NOJS },

    { ngx_string("korean"), NGX_ADM_PAGE_NOTICE_KO,
      NGX_ADM_PAGE_NOJS },

    { ngx_string("english"), NGX_ADM_PAGE_NOTICE_EN,
      NGX_ADM_PAGE_NOJS },

    { ngx_string("noticed"), NGX_ADM_PAGE_NOTICE_AT,
      NGX_ADM_PAGE_NOJS },

    { ngx_string("waiting"), NGX_ADM_PAGE_WAITING,
      NGX_ADM_PAGE_NOJS },

    { ngx_string("going"), NGX_ADM_PAGE_GOING,
      NGX_ADM_PAGE_NOJS },

    { ngx_string("first"), NGX_ADM_PAGE_FIRST,
      NGX_ADM_PAGE_NOJS },

    { ngx_string("paused"), NGX_ADM_PAGE_PAUSED,
      NGX_ADM_PAGE_NOJS },

    { ngx_string("last"), NGX_ADM_PAGE_LAST,
      NGX_ADM_PAGE_NOJS },

    { ngx_string("left"), NGX_ADM_PAGE_LEFT,
      NGX_ADM_PAGE_NOJS },

    { ngx_string("gathering"), NGX_ADM_PAGE_GATHERING,
      NGX_ADM_PAGE_NOJS },

    { ngx_string("lot"), NGX_ADM_PAGE_LOT,
      NGX_ADM_PAGE_NOJS },

    { ngx_string("drawing"), NGX_ADM_PAGE_DRAWING,
      NGX_ADM_PAGE_NOJS },

    { ngx_string("draw"), NGX_ADM_PAGE_DRAW,
      NGX_ADM_PAGE_NOJS },

    { ngx_string("page"), NGX_ADM_PAGE_PAGE_URI,
      NGX_ADM_PAGE_NOJS },

    { ngx_string("held"), NGX_ADM_PAGE_HELD,
      NGX_ADM_PAGE_NOJS },

    { ngx_string("leaving"), NGX_ADM_PAGE_LEAVING,
      NGX_ADM_PAGE_NOJS },

    { ngx_string("gone"), NGX_ADM_PAGE_GONE,
      NGX_ADM_PAGE_NOJS },

    { ngx_string("script"), NGX_ADM_PAGE_SCRIPT,
      NGX_ADM_PAGE_NOJS },

    { ngx_string("before"), NGX_ADM_PAGE_BEFORE,
      NGX_ADM_PAGE_NOJS },

    { ngx_string("closed"), NGX_ADM_PAGE_CLOSED,
      NGX_ADM_PAGE_NOJS },

    { ngx_string("sold"), NGX_ADM_PAGE_SOLD,
      NGX_ADM_PAGE_NOJS },

    { ngx_string("cookies"), NGX_ADM_PAGE_COOKIES,
      NGX_ADM_PAGE_NOJS },

    { ngx_string("busy"), NGX_ADM_PAGE_BUSY,
      NGX_ADM_PAGE_NOJS },

    { ngx_string("crowded"), NGX_ADM_PAGE_CROWDED,
      NGX_ADM_PAGE_NOJS },

    { ngx_string("full"), NGX_ADM_PAGE_FULL,
      NGX_ADM_PAGE_NOJS },

    { ngx_string("unknown"), NGX_ADM_PAGE_UNKNOWN,
      NGX_ADM_PAGE_NOJS },

    { ngx_null_string, 0, 0 }
};


ngx_int_t
ngx_adm_page_compile(ngx_conf_t *cf, ngx_adm_page_conf_t *page,
    ngx_uint_t which, ngx_str_t *name, ngx_str_t *text, ngx_adm_page_doc_t *doc)
{
    ngx_int_t          rc;
    ngx_str_t          rest;
    ngx_adm_compile_t  c;

    c.cf = cf;
    c.name = name;
    c.which = which;
    c.page = page;
    c.doc = doc;
    c.text = text->data;
    c.pos = text->data;
    c.last = text->data + text->len;

    if (ngx_array_init(&doc->parts, cf->pool, 16,
                       sizeof(ngx_adm_page_part_t))
        != NGX_OK
        || ngx_array_init(&c.scripts, cf->temp_pool, 256, 1) != NGX_OK
        || ngx_array_init(&c.styles, cf->temp_pool, 256, 1) != NGX_OK)
    {
        return NGX_ERROR;
    }

    while (c.pos < c.last) {

        if (*c.pos != '<' && *c.pos != '{') {
            c.pos++;
            continue;
        }

        rc = ngx_adm_page_comment(&c);

        if (rc == NGX_DECLINED) {
            rc = ngx_adm_page_element(&c, "script", &c.scripts);
        }

        if (rc == NGX_DECLINED) {
            rc = ngx_adm_page_element(&c, "style", &c.styles);
        }

        if (rc == NGX_DECLINED) {
            rc = ngx_adm_page_placeholder(&c);
        }

        if (rc == NGX_DECLINED) {
            c.pos++;
            continue;
        }

        if (rc != NGX_OK) {
            return NGX_ERROR;
        }
    }

    rest.data = c.text;
    rest.len = c.last - c.text;

    if (ngx_adm_page_part(&c, &rest, NGX_ADM_PAGE_VALUES)
        != NGX_OK
        || ngx_adm_page_policy(&c) != NGX_OK)
    {
        return NGX_ERROR;
    }

    return ngx_adm_page_tag(&c);
}


/* these return NGX_OK: it was that, and pos is behind it; or NGX_DECLINED */

static ngx_int_t
ngx_adm_page_comment(ngx_adm_compile_t *c)
{
    u_char  *p;

    if (c->last - c->pos < 4 || ngx_strncmp(c->pos, "<!--", 4) != 0) {
        return NGX_DECLINED;
    }

    p = ngx_strlcasestrn(c->pos + 4, c->last, (u_char *) "-->", 3 - 1);

    c->pos = p ? p + 3 : c->last;

    return NGX_OK;
}


static ngx_int_t
ngx_adm_page_element(ngx_adm_compile_t *c, const char *tag, ngx_array_t *hashes)
{
    size_t      len;
    u_char     *p, quote;
    ngx_str_t   content, name;

    len = ngx_strlen(tag);

    if ((size_t) (c->last - c->pos) < len + 2
        || c->pos[0] != '<'
        || ngx_strncasecmp(c->pos + 1, (u_char *) tag, len) != 0
        || ngx_strchr("> /\t\r\n\f", c->pos[len + 1]) == NULL)
    {
        return NGX_DECLINED;
    }

    quote = 0;

    for (p = c->pos + len + 1; p < c->last; p++) {

        if (quote) {
            quote = (*p == quote) ? 0 : quote;

        } else if (*p == '"' || *p == '\'') {
            quote = *p;

        } else if (*p == '>') {
            break;
        }
    }

    if (p == c->last) {
        goto unterminated;
    }

    content.data = ++p;

    for ( ; (size_t) (c->last - p) >= len + 2; p++) {

        if (p[0] == '<' && p[1] == '/'
            && ngx_strncasecmp(p + 2, (u_char *) tag, len) == 0)
        {
            content.len = p - content.data;
            c->pos = p;

            return ngx_adm_page_hash(c, &content, hashes);
        }

        if (p[0] == '{' && p[1] == '{') {

            name.data = p + 2;

            for (name.len = 0;
                 name.data + name.len < c->last
                 && name.data[name.len] >= 'a' && name.data[name.len] <= 'z';
                 name.len++)
            {
                /* void */
            }

            if (name.data + name.len < c->last
                && name.data[name.len] == '}'
                && ngx_adm_page_find(c, &name))
            {
                ngx_conf_log_error(NGX_LOG_EMERG, c->cf, 0,
                                   "{{%V}} is inside a <%s> of the page "
                                   "\"%V\" in \"admission_page\" directive: "
                                   "put it in an attribute, and read that",
                                   &name, tag, c->name);
                return NGX_ERROR;
            }
        }
    }

unterminated:

    ngx_conf_log_error(NGX_LOG_EMERG, c->cf, 0,
                       "a <%s> does not end in the page \"%V\" in "
                       "\"admission_page\" directive", tag, c->name);

    return NGX_ERROR;
}


/* of the content as a browser has it: with a line feed for any line ending */

static ngx_int_t
ngx_adm_page_hash(ngx_adm_compile_t *c, ngx_str_t *content, ngx_array_t *hashes)
{
    u_char     *p, *last, *text, *dst;
    u_char      digest[EVP_MAX_MD_SIZE];
    ngx_str_t   sum, base64;

    text = ngx_pnalloc(c->cf->temp_pool, content->len + 1);
    if (text == NULL) {
        return NGX_ERROR;
    }

    dst = text;
    last = content->data + content->len;

    for (p = content->data; p < last; p++) {

        if (*p != CR) {
            *dst++ = *p;

        } else if (p + 1 == last || p[1] != LF) {
            *dst++ = LF;
        }
    }

    if (EVP_Digest(text, dst - text, digest, NULL, EVP_sha256(), NULL) != 1) {
        ngx_conf_log_error(NGX_LOG_EMERG, c->cf, 0, "EVP_Digest() failed");
        return NGX_ERROR;
    }

    p = ngx_array_push_n(hashes, NGX_ADM_CSP_HASH_LEN);
    if (p == NULL) {
        return NGX_ERROR;
    }

    p = ngx_cpymem(p, " 'sha256-", sizeof(" 'sha256-") - 1);

    sum.data = digest;
    sum.len = NGX_ADM_SHA256_LEN;
    base64.data = p;

    ngx_encode_base64(&base64, &sum);

    p[base64.len] = '\'';

    return NGX_OK;
}


static ngx_int_t
ngx_adm_page_placeholder(ngx_adm_compile_t *c)
{
    u_char                 *p;
    ngx_str_t               name, text, *fixed;
    ngx_uint_t              value;
    ngx_adm_placeholder_t  *found;

    if (c->last - c->pos < 5 || c->pos[0] != '{' || c->pos[1] != '{') {
        return NGX_DECLINED;
    }

    name.data = c->pos + 2;

    for (p = name.data; p < c->last && *p >= 'a' && *p <= 'z'; p++) {
        /* void */
    }

    name.len = p - name.data;

    if (name.len == 0 || c->last - p < 2 || p[0] != '}' || p[1] != '}') {
        return NGX_DECLINED;
    }

    found = ngx_adm_page_find(c, &name);

    if (found == NULL) {
        ngx_conf_log_error(NGX_LOG_EMERG, c->cf, 0,
                           "{{%V}} is unknown in the page \"%V\" in "
                           "\"admission_page\" directive, it takes %s%s",
                           &name, c->name,
                           c->which == NGX_ADM_PAGE_ADMIN
                           ? "{{api}}, {{queue}}, {{login}}"
                           : "{{event}}, {{title}}, {{artist}}, {{next}}, "
                             "{{api}}",
                           c->which == NGX_ADM_PAGE_ADMIN
                           ? "" : " and {{nojs}}");
        return NGX_ERROR;
    }

    text.data = c->text;
    text.len = c->pos - c->text;

    c->pos = p + 2;
    c->text = c->pos;

    if (found->value < NGX_ADM_PAGE_VALUES) {
        return ngx_adm_page_part(c, &text, found->value);
    }

    value = NGX_ADM_PAGE_VALUES;

    if (ngx_adm_page_part(c, &text, value) != NGX_OK) {
        return NGX_ERROR;
    }

    switch (found->value) {

    case NGX_ADM_PAGE_NEXT:
        fixed = &c->page->next;
        break;

    case NGX_ADM_PAGE_API:
        fixed = &c->page->api;
        break;

    default: /* NGX_ADM_PAGE_QUEUE */
        fixed = &c->page->queue;
        break;
    }

    text.len = fixed->len + ngx_escape_html(NULL, fixed->data, fixed->len);

    text.data = ngx_pnalloc(c->cf->pool, text.len);
    if (text.data == NULL) {
        return NGX_ERROR;
    }

    ngx_escape_html(text.data, fixed->data, fixed->len);

    return ngx_adm_page_part(c, &text, value);
}


static ngx_adm_placeholder_t *
ngx_adm_page_find(ngx_adm_compile_t *c, ngx_str_t *name)
{
    ngx_adm_placeholder_t  *p;

    for (p = ngx_adm_placeholders; p->name.len; p++) {

        if ((p->pages & c->which) && ngx_adm_str_same(&p->name, name)) {
            return p;
        }
    }

    return NULL;
}


static ngx_int_t
ngx_adm_page_part(ngx_adm_compile_t *c, ngx_str_t *text, ngx_uint_t value)
{
    ngx_adm_page_part_t  *part;

    part = ngx_array_push(&c->doc->parts);
    if (part == NULL) {
        return NGX_ERROR;
    }

    part->text = *text;
    part->value = value;

    return NGX_OK;
}


static ngx_int_t
ngx_adm_page_policy(ngx_adm_compile_t *c)
{
    ngx_str_t   scripts, styles, none = ngx_string(" 'none'");
    ngx_str_t  *csp;

    scripts.data = c->scripts.elts;
    scripts.len = c->scripts.nelts;

    if (scripts.len == 0) {
        scripts = none;
    }

    styles.data = c->styles.elts;
    styles.len = c->styles.nelts;

    if (styles.len == 0) {
        styles = none;
    }

    csp = &c->doc->csp;

    csp->data = ngx_pnalloc(c->cf->pool,
                            sizeof(NGX_ADM_CSP) + scripts.len + styles.len);
    if (csp->data == NULL) {
        return NGX_ERROR;
    }

    csp->len = ngx_sprintf(csp->data, NGX_ADM_CSP, &scripts,
                           &styles) - csp->data;

    return NGX_OK;
}


static ngx_int_t
ngx_adm_page_tag(ngx_adm_compile_t *c)
{
    u_char                sum[16];
    ngx_md5_t             md5;
    ngx_uint_t            i;
    ngx_adm_page_part_t  *part;

    ngx_md5_init(&md5);

    part = c->doc->parts.elts;

    for (i = 0; i < c->doc->parts.nelts; i++) {
        ngx_md5_update(&md5, part[i].text.data, part[i].text.len);
        ngx_md5_update(&md5, &part[i].value, sizeof(ngx_uint_t));
    }

    ngx_md5_update(&md5, c->doc->csp.data, c->doc->csp.len);
    ngx_md5_final(sum, &md5);

    c->doc->tag.data = ngx_pnalloc(c->cf->pool, 2 * 8);
    if (c->doc->tag.data == NULL) {
        return NGX_ERROR;
    }

    c->doc->tag.len = ngx_hex_dump(c->doc->tag.data, sum, 8) - c->doc->tag.data;

    return NGX_OK;
}
