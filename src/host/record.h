
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Records: what was set of an event as a whole, such as that it is held.
 * Redis keeps a record by a script of its own, and so does each host that
 * heard of it, in the zone.  Every call brings what the host knows, and of two
 * the later stands, by a version, which is Redis's time.  So a record outlives
 * a loss of data: where answers of other scripts tell an earlier version than
 * the host knows, it gives its own back.
 *
 * This file has what records have in common; each kind says what is its own.
 */


#ifndef _NGX_ADM_HOST_RECORD_H_INCLUDED_
#define _NGX_ADM_HOST_RECORD_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "args.h"
#include "settings.h"
#include "zone.h"


#define NGX_ADM_RECORDS  4               /* kinds, at most */


typedef enum {
    NGX_ADM_RECORD_LOOK = 0,
    NGX_ADM_RECORD_SET,
    NGX_ADM_RECORD_UNSET
} ngx_adm_record_what_e;


/* what a host remembers of a record that no longer stands */
typedef enum {
    NGX_ADM_RECORD_FORGOTTEN = 0,        /* nothing */
    NGX_ADM_RECORD_ENDED,                /* that it ended, if it was known */
    NGX_ADM_RECORD_ALWAYS                /* that it ended, in any case */
} ngx_adm_record_end_e;


/* what is given to a call of a record's script */
typedef struct {
    ngx_adm_record_what_e   what;
    ngx_str_t              *event;
    ngx_adm_event_conf_t   *conf;
    void                   *to;          /* the value that is set, or NULL */
} ngx_adm_record_ask_t;


/*
 * A kind of record.  Its value is a struct that begins with the version,
 * int64_t: us, when it was set, or ended; 0: never. (A kind that is merged has
 * none.) What a kind does not have is 0 or NULL; fields of the process's own
 * come last.
 */
typedef struct {
    ngx_uint_t              script;      /* NGX_ADM_CALL_* */
    size_t                  size;        /* of a value, bytes */
    size_t                  more;        /* bytes that the zone keeps behind
                                            each, at first zeros */
    ngx_uint_t              share;       /* all records take one such part of
                                            the zone at most; 0: no bound,
                                            and events are forgotten for them */
    ngx_adm_record_end_e    end;

    /* how many bytes of a value the zone keeps, from its beginning on */
    size_t                (*kept)(void *value);

    /* whether something is set by the value */
    ngx_uint_t            (*stands)(void *value);

    /*
     * takes what Redis says into what is known; NULL: the later value stands
     * as a whole, as far as clocks allow
     */
    void                  (*merge)(void *known, void *value);

    /* the host has another value; NULL: none any more */
    void                  (*noted_locked)(ngx_adm_zone_t *zone,
                                          ngx_adm_event_node_t *en,
                                          void *value);

    /*
     * sets arguments of the script; known is all 0 if the host knows nothing,
     * and stays until the call is answered
     */
    void                  (*args)(ngx_adm_args_t *args,
                                  ngx_adm_record_ask_t *ask, void *known);

    /*
     * reads its answer; value is what the host knew.  NGX_DECLINED: nothing to
     * note, NGX_ERROR: no answer of ours
     */
    ngx_int_t             (*read)(redisReply *reply, void *value, int64_t *us);

    const char             *not_ours;    /* log lines, about the event */
    const char             *no_room;

    ngx_uint_t              index;
    ngx_uint_t              out;         /* the host's own calls */
    ngx_msec_t              full;        /* no room since; 0: there is */
    time_t                  logged;
} ngx_adm_record_t;


extern ngx_adm_zone_part_t  ngx_adm_record_part;


/* sets which kinds there are, NULL being the last; before any zone is added */
void ngx_adm_record_list(ngx_adm_record_t **records);


/* All of these take the lock, unless no event has such a record. */

/* NGX_DECLINED: the host knows none, and value is left alone */
ngx_int_t ngx_adm_record_get(ngx_adm_record_t *record, ngx_str_t *event,
    void *value);

/* version of what the host knows; 0: nothing */
int64_t ngx_adm_record_version(ngx_adm_record_t *record, ngx_str_t *event);

/* takes what Redis said; NGX_DECLINED: the host knows later than that */
ngx_int_t ngx_adm_record_note(ngx_adm_record_t *record, ngx_str_t *event,
    void *value);

/*
 * Pushes events in which a record stands to ids (ngx_str_t, in pool).  Looks
 * at up to max records, after the one of key (0: from the first on), which
 * moves on.  Returns how many it looked at.
 */
ngx_uint_t ngx_adm_record_next(ngx_adm_record_t *record, ngx_pool_t *pool,
    ngx_array_t *ids, ngx_uint_t max, ngx_rbtree_key_t *key);

/* whether any event has one, or had; lock-free */
ngx_uint_t ngx_adm_record_any(ngx_adm_record_t *record);

/* the value in the zone, with "more" behind it; NULL: none. en may be NULL */
void *ngx_adm_record_of_locked(ngx_adm_record_t *record, ngx_adm_zone_t *zone,
    ngx_adm_event_node_t *en);


/*
 * Calls of the script.  They return, complete and cancel as those of
 * queue/queue.h do; rc NGX_OK: value is what stands as of us, Redis's time,
 * which the host has taken. done NULL: nobody has to be told.
 */
typedef void (*ngx_adm_record_done_pt)(void *data, ngx_int_t rc, void *value,
    int64_t us);

ngx_adm_redis_call_t *ngx_adm_record_call(ngx_adm_record_t *record,
    ngx_adm_record_what_e what, void *to, ngx_str_t *event,
    ngx_adm_event_conf_t *conf, ngx_adm_record_done_pt done, void *data);

/*
 * What an answer of another script says of a record.  _heard(): its value; if
 * Redis lost a later one it gets that back.  _heard_of(): only its version, 0:
 * none; if that is news the record is fetched, and 1 is returned: as that may
 * fail, another such answer has to follow.
 */
void ngx_adm_record_heard(ngx_adm_record_t *record, ngx_str_t *event,
    ngx_adm_event_conf_t *conf, void *value);
ngx_uint_t ngx_adm_record_heard_of(ngx_adm_record_t *record, ngx_str_t *event,
    int64_t version);

/* argument "what" of these scripts */
extern ngx_str_t  ngx_adm_record_what[];


#endif /* _NGX_ADM_HOST_RECORD_H_INCLUDED_ */
