
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Redis's hash of a key: a CRC-16 of it, or of its first pair of braces.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "slots.h"


static ngx_uint_t ngx_adm_redis_crc16(u_char *p, u_char *last);


ngx_uint_t
ngx_adm_redis_slot(ngx_str_t *key)
{
    u_char  *p, *last, *open, *close;

    p = key->data;
    last = p + key->len;

    open = ngx_strlchr(p, last, '{');

    if (open) {
        close = ngx_strlchr(open + 1, last, '}');

        if (close && close > open + 1) {
            p = open + 1;
            last = close;
        }
    }

    return ngx_adm_redis_crc16(p, last) % NGX_ADM_REDIS_SLOTS;
}


/* CRC-16/XMODEM, four bits at a time */

static ngx_uint_t
ngx_adm_redis_crc16(u_char *p, u_char *last)
{
    uint16_t  crc;

    static uint16_t  table[] = {
        0x0000, 0x1021, 0x2042, 0x3063, 0x4084, 0x50a5, 0x60c6, 0x70e7,
        0x8108, 0x9129, 0xa14a, 0xb16b, 0xc18c, 0xd1ad, 0xe1ce, 0xf1ef };

    crc = 0;

    while (p < last) {
        crc = (uint16_t) (crc << 4) ^ table[(crc >> 12) ^ (*p >> 4)];
        crc = (uint16_t) (crc << 4) ^ table[(crc >> 12) ^ (*p & 0xf)];
        p++;
    }

    return crc;
}
