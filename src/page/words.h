
/*
 * Copyright (C) 2026 the admission module authors
 *
 * How long one waits, in the words of the pages' scripts (pages/words.js):
 * never a narrower range than is told.
 */


#ifndef _NGX_ADM_PAGE_WORDS_H_INCLUDED_
#define _NGX_ADM_PAGE_WORDS_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>


typedef enum {
    NGX_ADM_WORDS_EN = 0,
    NGX_ADM_WORDS_KO
} ngx_adm_words_e;


/* bytes of them, in either language */
#define NGX_ADM_WORDS_MAX  96

/* from low to high (s, 0 <= low <= high); returns where they end */
u_char *ngx_adm_words(u_char *p, int64_t low, int64_t high,
    ngx_adm_words_e lang);


#endif /* _NGX_ADM_PAGE_WORDS_H_INCLUDED_ */
