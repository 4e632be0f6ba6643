
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Nothing is guessed: a time without offset, a 30th of February or a 61st
 * second is refused.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "rfc3339.h"


#define NGX_ADM_YEAR_MIN  1970
#define NGX_ADM_YEAR_MAX  2199


static ngx_int_t ngx_adm_rfc3339_number(u_char **p, u_char *last, size_t n,
    u_char end);
static ngx_int_t ngx_adm_rfc3339_offset(u_char *p, u_char *last,
    ngx_int_t *minutes);
static int64_t ngx_adm_rfc3339_days(ngx_int_t year, ngx_int_t month,
    ngx_int_t day);


ngx_int_t
ngx_adm_rfc3339_read(ngx_str_t *text, int64_t *us)
{
    u_char     *p, *last;
    int64_t     fraction, unit;
    ngx_int_t   year, month, day, hour, minute, second, offset, leap;

    static ngx_int_t  days[] = {
        31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };

    p = text->data;
    last = p + text->len;

    year = ngx_adm_rfc3339_number(&p, last, 4, '-');
    month = ngx_adm_rfc3339_number(&p, last, 2, '-');
    day = ngx_adm_rfc3339_number(&p, last, 2, 'T');
    hour = ngx_adm_rfc3339_number(&p, last, 2, ':');
    minute = ngx_adm_rfc3339_number(&p, last, 2, ':');
    second = ngx_adm_rfc3339_number(&p, last, 2, 0);

    leap = (year % 4 == 0 && (year % 100 != 0 || year % 400 == 0));

    if (year < NGX_ADM_YEAR_MIN || year > NGX_ADM_YEAR_MAX
        || month < 1 || month > 12
        || day < 1 || day > days[month - 1] + (month == 2 ? leap : 0)
        || hour < 0 || hour > 23
        || minute < 0 || minute > 59
        || second < 0 || second > 59)
    {
        return NGX_DECLINED;
    }

    fraction = 0;

    if (p < last && *p == '.') {
        p++;

        if (p == last || *p < '0' || *p > '9') {
            return NGX_DECLINED;
        }

        for (unit = 100000; p < last && *p >= '0' && *p <= '9'; unit /= 10) {
            fraction += (*p++ - '0') * unit;
        }
    }

    if (ngx_adm_rfc3339_offset(p, last, &offset) != NGX_OK) {
        return NGX_DECLINED;
    }

    *us = ((ngx_adm_rfc3339_days(year, month, day) * 24 + hour) * 60 + minute
           - offset) * 60000000 + (int64_t) second * 1000000 + fraction;

    return *us > 0 ? NGX_OK : NGX_DECLINED;
}


/*
 * reads n digits and what follows them, in either case; NGX_ERROR: it is not
 * there
 */

static ngx_int_t
ngx_adm_rfc3339_number(u_char **p, u_char *last, size_t n, u_char end)
{
    ngx_int_t  value;

    if ((size_t) (last - *p) < n + (end ? 1 : 0)) {
        return NGX_ERROR;
    }

    value = ngx_atoi(*p, n);

    *p += n;

    if (end) {

        if (ngx_toupper(**p) != end) {
            return NGX_ERROR;
        }

        (*p)++;
    }

    return value;
}


/* less than a day, either way; NGX_DECLINED: there is none */

static ngx_int_t
ngx_adm_rfc3339_offset(u_char *p, u_char *last, ngx_int_t *minutes)
{
    u_char     sign;
    ngx_int_t  hour, minute;

    if (last - p == 1) {
        *minutes = 0;
        return (*p == 'Z' || *p == 'z') ? NGX_OK : NGX_DECLINED;
    }

    if (last - p != sizeof("+00:00") - 1) {
        return NGX_DECLINED;
    }

    sign = *p++;

    hour = ngx_adm_rfc3339_number(&p, last, 2, ':');
    minute = ngx_adm_rfc3339_number(&p, last, 2, 0);

    if ((sign != '+' && sign != '-')
        || hour < 0 || hour > 23 || minute < 0 || minute > 59)
    {
        return NGX_DECLINED;
    }

    *minutes = (hour * 60 + minute) * (sign == '+' ? 1 : -1);

    return NGX_OK;
}


/* days since 1970-01-01, in the Gregorian calendar */

static int64_t
ngx_adm_rfc3339_days(ngx_int_t year, ngx_int_t month, ngx_int_t day)
{
    /* years begin in March here, so that a leap day is their last */

    if (month <= 2) {
        month += 12;
        year--;
    }

    return 365 * (int64_t) year + year / 4 - year / 100 + year / 400
           + (153 * (month - 3) + 2) / 5 + day - 1 - 719468;
}


u_char *
ngx_adm_rfc3339_put(u_char *p, int64_t us)
{
    ngx_tm_t  tm;

    ngx_gmtime((time_t) (us / 1000000), &tm);

    p = ngx_sprintf(p, "%4d-%02d-%02dT%02d:%02d:%02d",
                    tm.ngx_tm_year, tm.ngx_tm_mon, tm.ngx_tm_mday,
                    tm.ngx_tm_hour, tm.ngx_tm_min, tm.ngx_tm_sec);

    if (us % 1000000) {
        p = ngx_sprintf(p, ".%06L", us % 1000000);
    }

    *p++ = 'Z';

    return p;
}
