
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The line of an event as a host knows it, by which it tells users who wait
 * how they stand without asking Redis: points of the line, by rank, and who
 * came in or left of late.  Steps of the schedule bring it, twice a second,
 * for events that somebody asks about here.
 *
 * It lets nobody in, and takes nobody out: it says that a user waits, or that
 * Redis has to be asked.
 *
 * Functions without _locked in their names take and release the zone's lock
 * themselves, briefly.
 */


#ifndef _NGX_ADM_HOST_VIEW_H_INCLUDED_
#define _NGX_ADM_HOST_VIEW_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "settings.h"
#include "zone.h"


extern ngx_adm_zone_part_t  ngx_adm_view_part;


#define NGX_ADM_VIEW_LIFE      2000      /* ms after which a view is no
                                            answer */
#define NGX_ADM_VIEW_EXACT     1000      /* users of the head who are known
                                            one by one, at most */
#define NGX_ADM_VIEW_SHARES    1700      /* points for the rest, at most, as
                                            lua/queue_view_lib.lua has it */
#define NGX_ADM_VIEW_POINTS    (NGX_ADM_VIEW_EXACT + NGX_ADM_VIEW_SHARES)


/* a user of an event, who shows a place */
typedef struct {
    uint64_t                    key;        /* ngx_adm_view_key() */
    int64_t                     score;      /* of the place, see
                                               token/claims.h */
    int64_t                     at;
    int64_t                     epoch;
} ngx_adm_view_who_t;


/* how a user stands, and the event, by the latest that the host knows */
typedef struct {
    int64_t                     position;   /* from 1 */
    int64_t                     size;       /* at least the position */
    int64_t                     active;
    int64_t                     threshold;  /* in force */
    int64_t                     slots;      /* by the API; -1: none */
    int64_t                     sold;       /* -1: nobody knows */
    int64_t                     rate;       /* measured, in 1/1000 a second;
                                               -1: none yet */
    int64_t                     clock;      /* us, the event's clock, of the
                                               view */
    ngx_msec_t                  age;        /* ms since it was asked for */
    unsigned                    head:1;     /* may be let in before the view
                                               is renewed: polls ask Redis
                                               for turn and position */
} ngx_adm_view_t;


/* a hash, the same in all workers of a host and over reloads; lock-free */
uint64_t ngx_adm_view_key(ngx_str_t *event, ngx_str_t *user);

/*
 * NGX_OK: the user waits, as *view says, which is set only then.
 * NGX_DECLINED: ask Redis, since the host knows something later than the place
 * (the user was let in, or left, the line was cleared) or may have forgotten
 * such a thing, or since the place is of another epoch.  NGX_AGAIN: ask Redis,
 * since there is no view, it is older than NGX_ADM_VIEW_LIFE, or it ends
 * before that score; the next step brings another, as somebody asks.
 *
 * en may be NULL.  _poll() takes the lock, and asks for no view of a line that
 * is all head.
 */
ngx_int_t ngx_adm_view_poll(ngx_str_t *event, ngx_adm_view_who_t *who,
    ngx_adm_view_t *view);
ngx_int_t ngx_adm_view_look(ngx_str_t *event, ngx_adm_view_who_t *who,
    ngx_adm_view_t *view);
ngx_int_t ngx_adm_view_look_locked(ngx_adm_zone_t *zone,
    ngx_adm_event_node_t *en, ngx_adm_view_who_t *who, ngx_adm_view_t *view);

/*
 * By what Redis said, or refused of a place, places of the user up to that
 * time (us, the event's clock) have to be asked about.
 */
void ngx_adm_view_gone(ngx_str_t *event, ngx_str_t *user, int64_t time);


/* what a step has to bring */
typedef struct {
    ngx_uint_t                  exact;      /* users of the head, one by one;
                                               0: no view */
    ngx_uint_t                  reach;      /* users who count as the head */
    int64_t                     since;      /* us, the event's clock: tell
                                               who came in or left since; -1:
                                               nobody */
    ngx_uint_t                  life;       /* of the zone */
    ngx_msec_t                  asked;
    unsigned                    gathers:1;  /* nobody is let in before the
                                               sale starts */
} ngx_adm_view_scan_t;

/* what a step brought; who is gone was told by ngx_adm_view_gone() before */
typedef struct {
    int64_t                     told;       /* us: who is gone, up to */
    int64_t                     clock;
    int64_t                     epoch;
    int64_t                     admitted;   /* as in event.h */
    int64_t                     size;
    int64_t                     threshold;
    int64_t                     rate;
    ngx_uint_t                  exact;      /* points one by one, */
    ngx_uint_t                  npoints;    /* and all of them: scores in
                                               order, of the ranks 0, 1, ..
                                               exact - 1, then of "ranks", the
                                               last that of size - 1 */
    int64_t                    *points;
    uint32_t                   *ranks;
} ngx_adm_view_news_t;

/* whose position that score is, or would be; 0: later than all of the line */
int64_t ngx_adm_view_position(ngx_adm_view_news_t *news, int64_t score);

/* notes how the line went from one view to the next */
void ngx_adm_view_pace_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en,
    ngx_adm_view_news_t *was, ngx_adm_view_news_t *is);

/* _from(): sets what a step has to bring; and what it brought */
void ngx_adm_view_from(ngx_str_t *event, ngx_adm_event_conf_t *conf,
    ngx_adm_view_scan_t *scan);
void ngx_adm_view_take(ngx_str_t *event, ngx_adm_view_scan_t *scan,
    ngx_adm_view_news_t *news);


/*
 * How many events have a view that is an answer, and the age in ms of the
 * oldest one; ms since an event's view was asked for, -1: there is none.
 */
ngx_uint_t ngx_adm_views(ngx_msec_t *oldest);
ngx_int_t ngx_adm_view_age(ngx_str_t *event);


#endif /* _NGX_ADM_HOST_VIEW_H_INCLUDED_ */
