
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What the directives mean, for whoever acts on it; read-only after the merge,
 * which is conf.c's.  And what a worker has by it: an event's terms, its Redis
 * client, the prefix of its keys.
 */


#ifndef _NGX_ADM_HOST_SETTINGS_H_INCLUDED_
#define _NGX_ADM_HOST_SETTINGS_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../redis/client.h"
#include "../redis/settings.h"
#include "../token/claims.h"


/* kinds of admission_secret */
#define NGX_ADM_SECRET_TIER1   0
#define NGX_ADM_SECRET_TIER2   1
#define NGX_ADM_SECRET_USER    2
#define NGX_ADM_SECRET_ADMIN   3
#define NGX_ADM_SECRETS        4

/* admission_user */
#define NGX_ADM_USER_OFF       0
#define NGX_ADM_USER_JWT       1
#define NGX_ADM_USER_VISITOR   2
#define NGX_ADM_USER_VARIABLE  3

/*
 * "off", "on" or "auto"; for admission_tier1 and admission_tier2 also a
 * variable that says one of them
 */
#define NGX_ADM_OFF            0
#define NGX_ADM_ON             1
#define NGX_ADM_AUTO           2
#define NGX_ADM_VARIABLE       3

/* vwr= of an event may be this, too */
#define NGX_ADM_STANDBY        3

/* admission_deny */
#define NGX_ADM_DENY_AUTO      0
#define NGX_ADM_DENY_REDIRECT  1
#define NGX_ADM_DENY_JSON      2
#define NGX_ADM_DENY_STATUS    3

/* content handlers */
#define NGX_ADM_CONTENT_NONE   0
#define NGX_ADM_CONTENT_QUEUE  1
#define NGX_ADM_CONTENT_ROOM    2
#define NGX_ADM_CONTENT_ADMIN  3
#define NGX_ADM_CONTENT_PAGE   4
#define NGX_ADM_CONTENT_METRICS  5
#define NGX_ADM_CONTENT_HEALTH   6

/* algorithm= and fail= of admission_rate_limit */
#define NGX_ADM_LIMIT_LOG      0
#define NGX_ADM_LIMIT_COUNTER  1

#define NGX_ADM_FAIL_LOCAL     0
#define NGX_ADM_FAIL_OPEN      1
#define NGX_ADM_FAIL_CLOSED    2

#define NGX_ADM_LIMITS_MAX     8         /* of a location */

/* vwr_rate=, vwr_burst= and vwr_noshow= of an event */
#define NGX_ADM_ROOM_RATE_MAX   1000000
#define NGX_ADM_ROOM_BURST_MAX  10000000
#define NGX_ADM_ROOM_NOSHOW_MAX  20

/* max_queue= and vwr_max_queue= */
#define NGX_ADM_LINE_MAX        1000000000

#define NGX_ADM_SLOTS_MAX      10000000  /* slots= of an event */
/*
 * lots= of an event: one a browser, or one a user; _AUTO: a user where there
 * are accounts
 */
#define NGX_ADM_LOTS_AUTO      0
#define NGX_ADM_LOTS_VISITOR   1
#define NGX_ADM_LOTS_USER      2

/* backend_follow= of an event; _DRY: only shows what _ON would do */
#define NGX_ADM_BACKEND_OFF    NGX_ADM_OFF
#define NGX_ADM_BACKEND_ON     NGX_ADM_ON
#define NGX_ADM_BACKEND_DRY    2

#define NGX_ADM_SEATS_MAX      10000     /* of a purchase */

#define NGX_ADM_QUEUE_TERMS    13        /* of an event */


typedef struct ngx_adm_page_conf_s  ngx_adm_page_conf_t;
typedef struct ngx_adm_counts_s     ngx_adm_counts_t;
typedef struct ngx_adm_route_s      ngx_adm_route_t;


/* one line of admission_events; times in ms */
typedef struct {
    ngx_str_node_t              sn;             /* str: the id */
    uint64_t                    given;          /* which keys the line has,
                                                   bits */

    int64_t                     threshold;
    ngx_msec_t                  active_ttl;
    ngx_msec_t                  session_max;
    ngx_msec_t                  claim_ttl;
    ngx_msec_t                  seen_ttl;
    ngx_msec_t                  restore_wait;
    ngx_msec_t                  admit_interval;
    int64_t                     admit_batch;
    ngx_msec_t                  token_ttl;
    ngx_uint_t                  admissions_stream;  /* bool */
    ngx_uint_t                  leave_on_close;     /* bool: who closes a
                                                       stream leaves */
    int64_t                     max_queue;      /* users waiting; -1: any */
    ngx_msec_t                  max_wait;       /* 0: any */
    int64_t                     slots;          /* seats in all; -1: no end
                                                   of them */

    /*
     * texts of the above and of what is below, for all scripts of the queue,
     * in the order of their arguments (conf/events.c)
     */
    ngx_str_t                   terms[NGX_ADM_QUEUE_TERMS];

    ngx_uint_t                  complete;       /* _ON: users may tell of a
                                                   purchase; _OFF */

    ngx_uint_t                  vwr;            /* _OFF, _ON, _AUTO, _STANDBY
                                                   */
    int64_t                     vwr_rate;       /* a second; 0: paused */
    int64_t                     vwr_burst;      /* -1: a second's worth */
    int64_t                     vwr_noshow;     /* how many times the rate
                                                   numbers may be called at;
                                                   1: who comes is not looked
                                                   at */
    int64_t                     vwr_max_queue;  /* waiting; -1: any */
    ngx_msec_t                  vwr_max_wait;
    ngx_msec_t                  ticket_ttl;

    int64_t                     opens;          /* us; 0: no such time */
    int64_t                     starts;
    int64_t                     closes;
    ngx_uint_t                  order;          /* NGX_ADM_ORDER_ARRIVAL or
                                                   _DRAW */
    ngx_str_t                   draw_beacon;    /* source; empty: no beacon */
    ngx_uint_t                  lots;           /* NGX_ADM_LOTS_* */

    ngx_msec_t                  backend_latency;    /* 0: none */
    int64_t                     backend_errors; /* in hundredths of a percent;
                                                   0: none */
    ngx_uint_t                  backend_5xx;    /* bool: all 5xx are failures */
    ngx_uint_t                  backend_follow; /* NGX_ADM_BACKEND_* */
    int64_t                     vwr_rate_min;   /* 0: a twentieth of vwr_rate */
    int64_t                     threshold_min;

    int64_t                     unlisted;       /* in the default line only:
                                                   how many events without a
                                                   line may have users */

    ngx_str_t                   title;
    ngx_str_t                   artist;
    ngx_str_t                   info;           /* JSON: eventInfo */
} ngx_adm_event_conf_t;


/*
 * ms for which a user who waits stays noted, so that hosts need not note it
 * again; in return silent users are taken out that much later.
 */
#define NGX_ADM_SEEN_LATE   30000

#define ngx_adm_seen_late(conf)                                               \
    ngx_min((conf)->seen_ttl / 20, NGX_ADM_SEEN_LATE)


/* a category of admission_rate_limit; name is null-terminated, too */
typedef struct {
    ngx_str_t          name;
    ngx_uint_t         window;       /* s, of the first limit */
    ngx_uint_t         algorithm;    /* of the first limit */

    ngx_adm_counts_t  *counts;       /* in the zone, set before workers
                                        start; NULL: no room */
} ngx_adm_category_t;


/* one admission_rate_limit */
typedef struct {
    ngx_adm_category_t        *category;
    ngx_uint_t                 quota;      /* requests a window */
    ngx_uint_t                 window;     /* s */
    ngx_http_complex_value_t  *key;        /* NULL: the client */
    ngx_uint_t                 algorithm;  /* NGX_ADM_LIMIT_* */
    ngx_uint_t                 fail;       /* NGX_ADM_FAIL_* */
    ngx_uint_t                 ipv6_prefix;
    ngx_uint_t                 dry_run;

    ngx_str_t                  quota_text;
    ngx_str_t                  window_text;    /* ms */
    ngx_str_t                  policy;     /* as RateLimit-Policy says */
    ngx_str_t                  left_text;  /* as RateLimit begins */
} ngx_adm_limit_conf_t;


#define NGX_ADM_NS  1000000000           /* of a second */


/* assign_rate= or visitor_rate=, with burst= */
typedef struct {
    int64_t                       step;         /* ns until there is room for
                                                   one more; 0: off */
    int64_t                       depth;        /* ns: the burst times step */
    unsigned                      given:1;      /* not the default */
} ngx_adm_intake_conf_t;


typedef struct {
    ngx_shm_zone_t         *zone;
    ngx_adm_redis_conf_t   *redis;       /* NULL: as if down */

    ngx_array_t            *categories;  /* pointers to ngx_adm_category_t;
                                            NULL: there are no limits */

    ngx_int_t               streams;     /* of a worker at most; UNSET: half of
                                            its connections */

    ngx_uint_t              names;       /* most events with names in
                                            metrics; 0: no metrics */

    ngx_msec_t              token_ttl;   /* the longest of all events */
    ngx_rbtree_t            events;      /* by id */
    ngx_rbtree_node_t       sentinel;
    ngx_adm_event_conf_t    event_default;
    ngx_array_t            *sales;       /* ngx_adm_event_conf_t *: lines that
                                            open or start; NULL: none */
    ngx_array_t            *queues;      /* of conf/routes.c: locations of
                                            admission_queue_api; NULL: none */
    ngx_array_t            *gated;       /* likewise, those gated by a tier */
    unsigned                asks:1;      /* some location is of no use without
                                            Redis */
    unsigned                follows:1;   /* some event's backend is measured */
    unsigned                events_seen:1;
    unsigned                events_listed_only:1;
    unsigned                in_use:1;    /* some directive, or a variable,
                                            needs the zone */
} ngx_adm_main_conf_t;


/* of admission_trusted_edge */
typedef struct {
    ngx_str_t           name;        /* of the header, in lower
                                        case; empty: off */
    ngx_adm_keyring_t  *keys;        /* any of them will do */
} ngx_adm_edge_conf_t;


typedef struct {
    ngx_flag_t                  users;          /* some location of the server
                                                   uses admission_user */
    ngx_flag_t                  gated;          /* some location has a tier */
    ngx_array_t                *edges;          /* ngx_str_t, headers of
                                                   trusted edges; NULL: none */

    /*
     * what pages that give tickets go by: that of the first admission_vwr_api
     * that sets any, else of the first one; NULL: there is none
     */
    ngx_adm_intake_conf_t  *assign;
} ngx_adm_srv_conf_t;


typedef struct {
    ngx_uint_t                      source;     /* NGX_ADM_USER_* */
    ngx_http_complex_value_t        value;      /* of _VARIABLE */
    ngx_uint_t                      algs;       /* 0: those that the keys
                                                   have */
    time_t                          leeway;     /* s */
    ngx_str_t                       id;
    ngx_str_t                       email;
    ngx_str_t                       role;
    ngx_str_t                       type;
    ngx_str_t                       iss;
    ngx_str_t                       aud;
} ngx_adm_user_conf_t;


typedef struct {
    ngx_uint_t                      mode;       /* _OFF, _ON, _AUTO,
                                                   _VARIABLE */
    ngx_http_complex_value_t        value;      /* of _VARIABLE */
    ngx_uint_t                      event_required;     /* bool */
    ngx_uint_t                      bind;               /* bool */
} ngx_adm_tier1_conf_t;


typedef struct {
    ngx_uint_t                      mode;       /* _OFF, _ON, _VARIABLE */
    ngx_http_complex_value_t        value;      /* of _VARIABLE */
    ngx_uint_t                      methods;    /* mask of NGX_HTTP_*; 0: all */
    ngx_uint_t                      event_required;     /* bool */
    ngx_uint_t                      bind;               /* bool */
    ngx_uint_t                      strict;             /* bool */
} ngx_adm_tier2_conf_t;


typedef struct {
    ngx_str_t                   name;
    ngx_str_t                   path;
    ngx_str_t                   domain;         /* empty: none */
    ngx_str_t                   samesite;       /* Lax, Strict, None; empty:
                                                   none */
    ngx_uint_t                  secure;         /* _OFF, _ON, _AUTO */
    ngx_uint_t                  httponly;       /* bool */
    ngx_uint_t                  per_event;      /* bool */
} ngx_adm_cookie_conf_t;


typedef struct {
    ngx_http_complex_value_t  *event;        /* NULL: none */
    ngx_adm_user_conf_t       *user;         /* not NULL after the merge */
    ngx_adm_tier1_conf_t      *tier1;        /* not NULL after the merge */
    ngx_adm_tier2_conf_t      *tier2;        /* not NULL after the merge */
    ngx_uint_t                 deny;
    ngx_http_complex_value_t  *waiting_uri;  /* NULL: the default */
    ngx_http_complex_value_t  *queue_uri;    /* NULL: the default */
    ngx_http_complex_value_t  *login_uri;    /* NULL: none */
    ngx_http_complex_value_t  *bypass;       /* NULL: none */
    ngx_adm_edge_conf_t       *edge;         /* not NULL after the merge */
    ngx_array_t               *cors;         /* ngx_str_t origins in lower case,
                                                or NULL */

    ngx_array_t               *limits;       /* limit_conf_t; NULL: none */
    ngx_flag_t                 dry_run;

    /* by ngx_adm_token_e */
    ngx_adm_cookie_conf_t     *cookies[NGX_ADM_TOKEN_KINDS];

    /* by NGX_ADM_SECRET_*; NULL: none */
    ngx_adm_keyring_t         *secrets[NGX_ADM_SECRETS];

    /* made by the merge: what verifies each kind of token, and signs it */
    ngx_adm_verifier_t     verifiers[NGX_ADM_TOKEN_KINDS];
    ngx_adm_keyring_t     *draw;             /* makes secrets of draws; NULL:
                                                no tier1 */

    ngx_uint_t              content;         /* NGX_ADM_CONTENT */
    ngx_str_t              *content_name;    /* of the directive */
    ngx_str_t               content_file;    /* where it is configured, of
                                                admission_queue_api */
    ngx_uint_t              content_line;
    ngx_http_handler_pt     handler;
    const ngx_adm_route_t  *routes;          /* of an API */
    ngx_adm_page_conf_t    *page;            /* of admission_page */
    ngx_flag_t              admin;           /* of admission_queue_api */
    ngx_adm_intake_conf_t  *intake;          /* of that, or of
                                                admission_vwr_api; NULL: of
                                                neither */
} ngx_adm_loc_conf_t;


/* the module, by which its configuration is found */
extern ngx_module_t  ngx_http_admission_module;

/* what holds where the directive does not say */
extern ngx_adm_intake_conf_t  ngx_adm_intake_default;

/* the same for lots of browsers, while they are gathered */
extern ngx_adm_intake_conf_t  ngx_adm_intake_lots;


/* whether the room of an event is always on, by its line */
#define ngx_adm_room_is_kept(conf)                                            \
    ((conf)->vwr == NGX_ADM_ON || (conf)->vwr == NGX_ADM_STANDBY)


/* NGX_ADM_OFF, _ON or _AUTO; NGX_DECLINED: the text is none of these. */
ngx_int_t ngx_adm_switch(ngx_str_t *text);

/*
 * What is configured for an event, by its id in lower case; NULL: it is
 * not an event here (docs/directives.md: admission_events).
 */
ngx_adm_event_conf_t *ngx_adm_event_conf(ngx_adm_main_conf_t *mcf,
    ngx_str_t *id);

/*
 * the same, but only for an event that has a line of its own; NULL: it has
 * none
 */
ngx_adm_event_conf_t *ngx_adm_event_line(ngx_adm_main_conf_t *mcf,
    ngx_str_t *id);

/* the worker's Redis client; NULL: no Redis is configured */
extern ngx_adm_redis_t  *ngx_adm_redis;

/* prefix= of admission_redis; set where there is a client */
extern ngx_str_t  ngx_adm_key_prefix;

/* makes the Redis client of a worker that starts; NGX_ERROR: no memory */
ngx_int_t ngx_adm_redis_start(ngx_cycle_t *cycle, ngx_adm_main_conf_t *mcf);


#endif /* _NGX_ADM_HOST_SETTINGS_H_INCLUDED_ */
