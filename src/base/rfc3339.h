
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Dates with times and an offset, as RFC 3339 has them.
 */


#ifndef _NGX_ADM_BASE_RFC3339_H_INCLUDED_
#define _NGX_ADM_BASE_RFC3339_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>


/* "1970-01-01T00:00:00.000000Z" */
#define NGX_ADM_RFC3339_LEN  (sizeof("1970-01-01T00:00:00.000000Z") - 1)


/*
 * Reads a text such as "2026-12-24T20:00:00+09:00" or
 * "2026-12-24T11:00:00.5Z", up to the year 2199, into us since 1970; parts of
 * a us are dropped.  NGX_DECLINED: it is no such text.
 */
ngx_int_t ngx_adm_rfc3339_read(ngx_str_t *text, int64_t *us);

/* puts such a time, in UTC, with a fraction if it has one; returns its end */
u_char *ngx_adm_rfc3339_put(u_char *p, int64_t us);


#endif /* _NGX_ADM_BASE_RFC3339_H_INCLUDED_ */
