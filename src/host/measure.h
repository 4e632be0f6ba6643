
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What this host sees of the backend of an event: how long answers take and
 * which fail, since it was last asked, and who waits for an answer.
 *
 * Users have a place each in a table of fixed size, by a hash: those with the
 * same place count as one.
 */


#ifndef _NGX_ADM_HOST_MEASURE_H_INCLUDED_
#define _NGX_ADM_HOST_MEASURE_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>


/*
 * Bin i has times over 2^(i/8) up to 2^((i+1)/8) ms; the first also all below,
 * the last all above.  A time that is read as the middle of its bin is off by
 * 4.4 % at most.
 */
#define NGX_ADM_MEASURE_BINS  128

#define NGX_ADM_RETRY_MAX     60         /* s that a backend may ask for */


/* an answer, or that there was none */
typedef struct {
    ngx_msec_t   time;                   /* ms to the header, or until given
                                            up */
    ngx_uint_t   retry;                  /* s, of a 503; 0: it did not say */
    uint32_t     user;                   /* a hash of who asked */
    unsigned     failed:1;
    unsigned     timed:1;                /* the time says something, and */
    unsigned     slow:1;                 /* is longer than backend_latency= */
} ngx_adm_sample_t;


/*
 * Sums since they were last taken, if that is not too long ago.  Of a user, c
 * requests count while c * 20 is no more than all others made in a window of
 * 5 s, of whom each counts for 100 at most: the first always does.  users: seen
 * first in the window; failed_users: first failed in it.
 */
typedef struct {
    ngx_uint_t   requests;               /* all, counted or not */
    ngx_uint_t   counted;
    ngx_uint_t   failed;                 /* of those counted, as all below */
    ngx_uint_t   failed_top;             /* of the user who has most */
    ngx_uint_t   slow_top;               /* slower than backend_latency=, of
                                            the user who has most */
    ngx_uint_t   users;
    ngx_uint_t   failed_users;
    ngx_uint_t   retry;                  /* 503 with Retry-After */
    ngx_uint_t   retry_users;
    ngx_uint_t   retry_seconds;          /* the sum */
    ngx_uint_t   retry_top;              /* of the user who has most */

    /*
     * requests that wait for a header now, and have for as long as it takes to
     * be told of here: of one user no more than 1 and a 20th of how many users
     * do; users who wait for longer than twice backend_latency= and 1 s; for
     * longer than 5 s
     */
    ngx_uint_t   waiting;
    ngx_uint_t   late;
    ngx_uint_t   hung;

    uint32_t     bins[NGX_ADM_MEASURE_BINS];    /* times of those counted */
} ngx_adm_measured_t;


#define NGX_ADM_MEASURE_USERS  512


typedef struct {
    uint32_t                since;       /* ms, a request is under way */
    uint16_t                open;        /* how many are */
    uint16_t                requests;    /* in the window, 100 at most */
    uint16_t                counted;
    uint16_t                failed;
    uint16_t                slow;
    uint16_t                retry;
} ngx_adm_measure_user_t;


/* what the user with most of something has in the window */
typedef struct {
    uint16_t                most;
    uint16_t                taken;       /* of it */
    uint32_t                grown;       /* in windows before */
} ngx_adm_measure_top_t;


typedef struct {
    ngx_msec_t              window;      /* when it began */
    ngx_msec_t              taken;       /* when the sums last were taken */
    uint32_t                requests;    /* in the window, those of users */
    uint32_t                open;        /* under way, of all users */
    ngx_uint_t              deaths;      /* of workers, when last looked */
    ngx_adm_measured_t      sums;
    ngx_adm_measure_top_t   failed;
    ngx_adm_measure_top_t   slow;
    ngx_adm_measure_top_t   retry;
    ngx_adm_measure_user_t  users[NGX_ADM_MEASURE_USERS];
} ngx_adm_measure_t;


/*
 * a request of the user with this hash has been under way since then; is no
 * more
 */
void ngx_adm_measure_begin_locked(ngx_adm_measure_t *m, uint32_t user,
    ngx_msec_t since);
void ngx_adm_measure_end_locked(ngx_adm_measure_t *m, uint32_t user,
    ngx_msec_t since);

/* adds answers */
void ngx_adm_measure_add_locked(ngx_adm_measure_t *m,
    ngx_adm_sample_t *samples, ngx_uint_t n);

/* how many workers were killed: their requests are not known to be under way */
void ngx_adm_measure_deaths_locked(ngx_adm_measure_t *m, ngx_uint_t deaths);

/* Takes the sums, which begin anew. latency: backend_latency=, ms; 0: none. */
void ngx_adm_measure_take_locked(ngx_adm_measure_t *m, ngx_msec_t latency,
    ngx_adm_measured_t *measured);


#endif /* _NGX_ADM_HOST_MEASURE_H_INCLUDED_ */
