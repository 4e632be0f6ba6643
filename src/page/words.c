
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Hours and minutes, the coarser the longer it takes.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "words.h"


#define NGX_ADM_WORDS_DAY  1440          /* minutes */


static u_char *ngx_adm_words_about(u_char *p, int64_t seconds,
    ngx_adm_words_e lang);
static u_char *ngx_adm_words_span(u_char *p, int64_t minutes,
    ngx_adm_words_e lang);
static int64_t ngx_adm_words_up(int64_t n, int64_t step);


u_char *
ngx_adm_words(u_char *p, int64_t low, int64_t high, ngx_adm_words_e lang)
{
    int64_t     from, to, step;
    ngx_uint_t  ko;

    ko = (lang == NGX_ADM_WORDS_KO);

    step = (high > 5400) ? 10 : (high > 1800) ? 5 : 1;

    from = low / 60 / step * step;
    to = ngx_adm_words_up(ngx_adm_words_up(high, 60) / 60, step);

    if (to < 2 || from == to || from >= NGX_ADM_WORDS_DAY) {
        return ngx_adm_words_about(p, high, lang);
    }

    if (to >= NGX_ADM_WORDS_DAY) {

        if (low < 60) {
            return ngx_sprintf(p, "%s", ko ? "아직 알 수 없음"
                                           : "not known yet");
        }

        p = ngx_sprintf(p, "%s", ko ? "" : "more than ");
        p = ngx_adm_words_span(p, ngx_max(from, 1), lang);

        return ngx_sprintf(p, "%s", ko ? " 이상" : "");
    }

    if (from == 0) {
        p = ngx_sprintf(p, "%s", ko ? "" : "up to ");
        p = ngx_adm_words_span(p, to, lang);

        return ngx_sprintf(p, "%s", ko ? " 이내" : "");
    }

    if (to < 60) {
        return ngx_sprintf(p, ko ? "%L~%L분" : "%L to %L minutes", from, to);
    }

    p = ngx_adm_words_span(p, from, lang);
    p = ngx_sprintf(p, "%s", ko ? "~" : " to ");

    return ngx_adm_words_span(p, to, lang);
}


static u_char *
ngx_adm_words_about(u_char *p, int64_t seconds, ngx_adm_words_e lang)
{
    int64_t     minutes;
    ngx_uint_t  ko;

    ko = (lang == NGX_ADM_WORDS_KO);

    if (seconds < 60) {
        return ngx_sprintf(p, "%s", ko ? "1분 이내" : "less than a minute");
    }

    minutes = ngx_adm_words_up(seconds, 60) / 60;

    if (minutes > 10) {
        minutes = ngx_adm_words_up(minutes, 5);
    }

    if (minutes > 90) {
        minutes = ngx_adm_words_up(minutes, 10);
    }

    if (minutes >= NGX_ADM_WORDS_DAY) {
        return ngx_sprintf(p, "%s", ko ? "하루 이상" : "more than a day");
    }

    p = ngx_sprintf(p, "%s", ko ? "약 " : "about ");

    return ngx_adm_words_span(p, minutes, lang);
}


static u_char *
ngx_adm_words_span(u_char *p, int64_t minutes, ngx_adm_words_e lang)
{
    int64_t  hours;

    hours = minutes / 60;
    minutes %= 60;

    if (hours) {
        p = (lang == NGX_ADM_WORDS_KO)
            ? ngx_sprintf(p, "%L시간", hours)
            : ngx_sprintf(p, "%L hour%s", hours, hours > 1 ? "s" : "");
    }

    if (hours && minutes) {
        *p++ = ' ';
    }

    if (minutes) {
        p = (lang == NGX_ADM_WORDS_KO)
            ? ngx_sprintf(p, "%L분", minutes)
            : ngx_sprintf(p, "%L minute%s", minutes, minutes > 1 ? "s" : "");
    }

    return p;
}


/* rounds up to a multiple of step */

static int64_t
ngx_adm_words_up(int64_t n, int64_t step)
{
    return (n + step - 1) / step * step;
}
