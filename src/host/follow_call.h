
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Calls of the script that steers admission by the backend: each brings what
 * the host measured since its last one, and what is in force comes back.  What
 * is decided, and how, is in lua/follow.lua and docs/follow.md.
 */


#ifndef _NGX_ADM_HOST_FOLLOW_CALL_H_INCLUDED_
#define _NGX_ADM_HOST_FOLLOW_CALL_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "../redis/script.h"


#define NGX_ADM_FOLLOW_STEP  500         /* ms between calls of a host */


/* what limits */
typedef enum {
    NGX_ADM_FOLLOW_NOTHING = 0,
    NGX_ADM_FOLLOW_LATENCY,
    NGX_ADM_FOLLOW_ERRORS,
    NGX_ADM_FOLLOW_PAUSED
} ngx_adm_follow_why_e;


typedef enum {
    NGX_ADM_FOLLOW_ON = 0,
    NGX_ADM_FOLLOW_DRY,                  /* nothing is applied */
    NGX_ADM_FOLLOW_OFF                   /* what was limited is so no more */
} ngx_adm_follow_what_e;


/* what is decided; rate and threshold -1: no limit, latency -1: not known */
typedef struct {
    int64_t                us;           /* Redis's time */
    int64_t                at;           /* us: of the decision; the later one
                                            stands; 0: none yet */
    int64_t                rate;         /* 1/1000 a second; 0: it is stopped,
                                            but for trials */
    int64_t                threshold;    /* likewise */
    int64_t                why;          /* ngx_adm_follow_why_e */
    int64_t                pause;        /* ms that a backend asked for, yet */
    int64_t                latency;      /* us: the 95th percentile */
    int64_t                requests;     /* of the last 5 s, as are counted and
                                            failed */
    int64_t                counted;
    int64_t                failed;
    int64_t                busy;         /* bool: another call is to follow
                                            though nothing is measured */
} ngx_adm_follow_t;


/*
 * Sums since the last call, of 5 s at most; of users who are one in 20 at most
 * all but "requests".  waiting, late and hung are how many there are now.
 */
typedef struct {
    ngx_adm_follow_what_e  what;

    int64_t                latency;      /* ms; 0: none */
    int64_t                errors;       /* 1/10000; -1: none */
    int64_t                rate;         /* a second */
    int64_t                rate_min;     /* 1/1000 a second */
    int64_t                threshold;
    int64_t                threshold_min;

    int64_t                requests;
    int64_t                counted;
    int64_t                failed;
    int64_t                failed_top;   /* of the one user who has most */
    int64_t                slow_top;     /* likewise, slower than latency */
    int64_t                failed_users; /* who had none before, of a window of
                                            5 s, as have users, retry_users */
    int64_t                users;
    int64_t                retry;        /* 503 with Retry-After */
    int64_t                retry_users;
    int64_t                retry_seconds;  /* in all */
    int64_t                retry_top;    /* of the one user who has most */
    int64_t                waiting;      /* requests for a header, now */
    int64_t                late;         /* users who wait for a header for
                                            twice latency, and a second */
    int64_t                hung;         /* and for over 5 s */
    ngx_str_t              bins;         /* "bin count bin count ...": of those
                                            counted and not failed, and of
                                            time-outs */

    ngx_adm_follow_t       known;        /* the last answer; zeroed, with rate
                                            and threshold -1: there is none */
} ngx_adm_follow_report_t;


typedef void (*ngx_adm_follow_done_pt)(void *data, ngx_int_t rc,
    ngx_adm_follow_t *follow);


/* returns, completes and cancels as ngx_adm_record_call() does */
ngx_adm_redis_call_t *ngx_adm_follow_call(ngx_str_t *event,
    ngx_adm_follow_report_t *report, ngx_adm_follow_done_pt done, void *data);


#endif /* _NGX_ADM_HOST_FOLLOW_CALL_H_INCLUDED_ */
