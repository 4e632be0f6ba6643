
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Comparing texts, and writing what each request has to write.  NGINX's own
 * ngx_sprintf() reads its format byte by byte, which was much of what an
 * answer of the queue cost.
 */


#ifndef _NGX_ADM_BASE_TEXT_H_INCLUDED_
#define _NGX_ADM_BASE_TEXT_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>


u_char *ngx_adm_put_digits(u_char *p, int64_t n);


/* whether two texts are the same, byte by byte */
static ngx_inline ngx_uint_t
ngx_adm_str_same(ngx_str_t *a, ngx_str_t *b)
{
    return a->len == b->len
           && (a->len == 0 || ngx_memcmp(a->data, b->data, a->len) == 0);
}


/* the same, with upper and lower case alike */
static ngx_inline ngx_uint_t
ngx_adm_str_same_case(ngx_str_t *a, ngx_str_t *b)
{
    return a->len == b->len
           && ngx_strncasecmp(a->data, b->data, a->len) == 0;
}


/* whether a text is the same as a literal */
#define ngx_adm_str_is(s, literal)                                            \
    ((s)->len == sizeof(literal) - 1                                          \
     && ngx_memcmp((s)->data, literal, sizeof(literal) - 1) == 0)


/* how many digits a number has */
static ngx_inline ngx_uint_t
ngx_adm_digits(uint64_t n)
{
    ngx_uint_t  digits;

    if (n < 10) {
        return 1;
    }

    for (digits = 1; n >= 10000; digits += 4) {
        n /= 10000;
    }

    return digits + (n >= 10) + (n >= 100) + (n >= 1000);
}


/* these return where the text ends */

/* at most NGX_INT64_LEN bytes; most numbers have one digit or two */
static ngx_inline u_char *
ngx_adm_put_number(u_char *p, int64_t n)
{
    if ((uint64_t) n >= 100) {
        return ngx_adm_put_digits(p, n);
    }

    if (n >= 10) {
        *p++ = (u_char) (n / 10 + '0');
        n %= 10;
    }

    *p++ = (u_char) (n + '0');

    return p;
}

/* marks a number that there is not, in an array */
#define NGX_ADM_NO_NUMBER_BYTE  0x80
#define NGX_ADM_NO_NUMBER       ((int64_t) 0x8080808080808080)

/* puts those of n numbers that there are, each in NGX_INT64_LEN bytes */
void ngx_adm_put_numbers(u_char *p, int64_t *number, ngx_uint_t n,
    ngx_str_t *text);

/*
 * As ngx_slprintf(), with only %V, %L, %ui and %s (t/papers/source.t), and %N:
 * a number as %L, or null if below 0.  What does not fit before last is left
 * out.
 */
u_char *ngx_adm_put(u_char *p, u_char *last, const char *format, ...);
u_char *ngx_adm_vput(u_char *p, u_char *last, const char *format, va_list args);

/*
 * base64url without padding, in its one canonical form: NGINX's own decoder
 * also takes padding and stray bits, by which a token would have several
 * spellings. dst has room for 3 bytes for every 4 characters begun.
 * NGX_DECLINED: it is none.
 */
ngx_int_t ngx_adm_base64url(u_char *dst, ngx_str_t *src, size_t *len);

/* likewise hexadecimal; dst has room for a byte for every 2 characters */
ngx_int_t ngx_adm_hex(u_char *dst, ngx_str_t *src, size_t *len);

/* s as a JSON string with its quotes, from pool; NGX_ERROR: no memory */
ngx_int_t ngx_adm_json_string(ngx_pool_t *pool, ngx_str_t *s, ngx_str_t *json);


#endif /* _NGX_ADM_BASE_TEXT_H_INCLUDED_ */
