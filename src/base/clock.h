
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Time: how long something takes, by the clock of NGINX's event loop, and what
 * time it is for Redis, by which tokens and events go.  Lock-free.
 */


#ifndef _NGX_ADM_BASE_CLOCK_H_INCLUDED_
#define _NGX_ADM_BASE_CLOCK_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>


/* ms by which the clocks of workers may differ */
#define NGX_ADM_MS_AHEAD  60000


/*
 * ms since a time of ngx_current_msec that some worker noted. 0 if that is
 * ahead of this worker, whose clock stands at the last turn of its event loop.
 */
static ngx_inline ngx_msec_t
ngx_adm_since(ngx_msec_t time)
{
    ngx_msec_int_t  ms;

    ms = (ngx_msec_int_t) (ngx_current_msec - time);

    return ngx_max(ms, 0);
}


/* the same for a time in 32 bits, which works for 49 days */
static ngx_inline ngx_msec_t
ngx_adm_ms_since(uint32_t time)
{
    uint32_t  ms;

    ms = (uint32_t) ngx_current_msec - time;

    return (ms > (uint32_t) -NGX_ADM_MS_AHEAD) ? 0 : ms;
}


/* whether a time of ngx_current_msec has come */
#define ngx_adm_is_over(time)                                                 \
    ((ngx_msec_int_t) ((time) - ngx_current_msec) <= 0)

/* ms that are left of a pause that began at that time */
#define ngx_adm_rest(since, pause)                                            \
    ((ngx_msec_t) ngx_max((ngx_msec_int_t) ((since) + (pause)                 \
                                            - ngx_current_msec), 0))

/* ngx_current_msec as a mark, where 0 means never */
#define ngx_adm_mark_now()                                                    \
    (ngx_current_msec ? ngx_current_msec : 1)


/* us, to measure with: NGINX's own time is in ms, and stands during a turn */
static ngx_inline uint64_t
ngx_adm_monotonic_us(void)
{
#if (NGX_HAVE_CLOCK_MONOTONIC)

    struct timespec  ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);

    return (uint64_t) ts.tv_sec * 1000000 + ts.tv_nsec / 1000;

#else

    struct timeval  tv;

    ngx_gettimeofday(&tv);

    return (uint64_t) tv.tv_sec * 1000000 + tv.tv_usec;

#endif
}


/* what time it is by the host's own clock, ms */
#define ngx_adm_wall()                                                        \
    ((int64_t) (ngx_cached_time->sec * 1000 + ngx_cached_time->msec))

/* the same as it is now: the above stands during a turn of the event loop */
static ngx_inline int64_t
ngx_adm_wall_now(void)
{
    struct timeval  tv;

    ngx_gettimeofday(&tv);

    return (int64_t) tv.tv_sec * 1000 + tv.tv_usec / 1000;
}

/*
 * Redis's time, us and s, as this host measures it; the host's own, before
 * Redis first answered, or where the module is not in use.
 */
#define ngx_adm_now_us()                                                      \
    ((ngx_adm_wall() + (ngx_atomic_int_t) *ngx_adm_clock_offset) * 1000)

#define ngx_adm_now()  ((time_t) (ngx_adm_now_us() / 1000000))

/* Redis's time less the host's own, in ms, in the host's memory */
extern ngx_atomic_t  *ngx_adm_clock_offset;

/*
 * Whether a time (us) is so far from the host's own, or so far ahead of it,
 * that it can't be right.
 */
#define NGX_ADM_TIME_FAR  86400000000

#define ngx_adm_is_far_ahead(time)                                            \
    ((time) - ngx_adm_wall() * 1000 > NGX_ADM_TIME_FAR)

#define ngx_adm_is_far(time)                                                  \
    (ngx_adm_is_far_ahead(time)                                               \
     || ngx_adm_wall() * 1000 - (time) > NGX_ADM_TIME_FAR)

/* sets where the host has the offset; NULL: nowhere */
void ngx_adm_clock_use(ngx_atomic_t *offset);


#endif /* _NGX_ADM_BASE_CLOCK_H_INCLUDED_ */
