
/*
 * Copyright (C) 2026 the admission module authors
 *
 * There is one filter for all events, made for the first that needs it.  A
 * user sets a few of its bits; who has all of them set may be there, and is
 * asked about.  Nobody can be taken out again, but which bits are a user's
 * depends on a salt of the event, which changes now and then.  When too many
 * bits are set the filter begins anew, and until steps have told who is there
 * everybody is asked about; so it is where there is no room for a filter.
 *
 * A step tells who came since the last one, by scores.  Those who came with a
 * ticket, or by a place, have earlier ones: so all are told again now and
 * then.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/clock.h"
#include "../token/claims.h"
#include "event_state.h"
#include "few.h"
#include "line.h"
#include "room_state.h"
#include "tally.h"


#define NGX_ADM_LINE_SHARE    64         /* one such part of the zone is the
                                            filter, */
#define NGX_ADM_LINE_MOST     1048576    /* bytes at most, as it is cleared
                                            under the lock */
#define NGX_ADM_LINE_BITS     6          /* of a user */
#define NGX_ADM_LINE_FILL     3          /* one such part may be set: 15 bits
                                            a user, and 1 of 700 others is
                                            asked about */
#define NGX_ADM_LINE_CLEAR    60000      /* ms between new beginnings */

#define NGX_ADM_LINE_FRESH    1000       /* ms for which an answer counts:
                                            steps come twice as often */
#define NGX_ADM_LINE_THROUGH  128        /* 1 of so many is asked about in
                                            any case */

/* ms in which all are told again, or longer, at 1000 in 300 ms */
#define NGX_ADM_LINE_SCAN     10000
#define ngx_adm_line_scan_ms(users)  ((ngx_msec_t) (users) * 3 / 10)

#define NGX_ADM_LINE_SALT     300000     /* ms in which somebody who has gone
                                            may still be asked about */

#define NGX_ADM_LINE_USER     256        /* bytes */


/* what there is of an event */
typedef struct {
    ngx_rbtree_node_t           node;           /* of the event */
    int64_t                     waiting;        /* scores, as far as told */
    int64_t                     inside;
    ngx_uint_t                  generation;     /* of the filter */
    ngx_msec_t                  began;          /* when telling all began */
    ngx_msec_t                  salted;         /* when the salt was set */
    int64_t                     clear;          /* us: last clear of the
                                                   queue before that */
    uint64_t                    salt;
    uint64_t                    next;           /* salt while all are told;
                                                   0: the same */
    ngx_uint_t                  round;          /* number of that */
    unsigned                    known:1;        /* all have been told once */
} ngx_adm_line_t;


typedef struct {
    ngx_uint_t                  generation;
    ngx_msec_t                  cleared;
    ngx_uint_t                  bits;           /* in the filter */
    ngx_uint_t                  set;
    uint64_t                    salts;          /* salts given out so far */
    ngx_uint_t                  rounds;
    ngx_uint_t                  through;        /* users of all events who
                                                   would have been refused */
    u_char                     *filter;         /* NULL: none yet */
    ngx_adm_few_t               few;
} ngx_adm_lines_t;


#define ngx_adm_lines(zone)                                                   \
    ((ngx_adm_lines_t *)                                                      \
        ngx_adm_zone_data(zone, &ngx_adm_line_part))


static void ngx_adm_lines_empty(ngx_adm_zone_t *zone);
static void ngx_adm_lines_clear_locked(ngx_adm_lines_t *lines);
static ngx_int_t ngx_adm_lines_make_locked(ngx_adm_zone_t *zone);
static void ngx_adm_line_free_locked(ngx_adm_zone_t *zone,
    ngx_adm_event_node_t *en);
static uint64_t ngx_adm_line_hash(ngx_str_t *event, ngx_str_t *user);
static ngx_uint_t ngx_adm_line_has_locked(ngx_adm_lines_t *lines,
    uint64_t hash, uint64_t salt, ngx_uint_t add);
static void ngx_adm_line_begin_locked(ngx_adm_lines_t *lines,
    ngx_adm_line_t *line, ngx_adm_event_node_t *en);
static ngx_uint_t ngx_adm_line_through_locked(ngx_adm_zone_t *zone);
static ngx_uint_t ngx_adm_line_unknown_locked(ngx_adm_zone_t *zone,
    ngx_adm_event_node_t *en, uint64_t hash);
static ngx_adm_line_t *ngx_adm_line_of_locked(ngx_adm_zone_t *zone,
    ngx_str_t *event, ngx_adm_event_node_t **en);


ngx_adm_zone_part_t  ngx_adm_line_part = {
    .size = sizeof(ngx_adm_lines_t),
    .empty = ngx_adm_lines_empty,
    .event_free = ngx_adm_line_free_locked };


static void
ngx_adm_lines_empty(ngx_adm_zone_t *zone)
{
    ngx_adm_lines_t  *lines;

    lines = ngx_adm_lines(zone);

    lines->filter = NULL;
    lines->generation++;

    ngx_adm_few_empty(&lines->few);
}


static void
ngx_adm_lines_clear_locked(ngx_adm_lines_t *lines)
{
    lines->generation++;
    lines->cleared = ngx_current_msec;
    lines->set = 0;

    ngx_memzero(lines->filter, lines->bits / 8);
}


static ngx_int_t
ngx_adm_lines_make_locked(ngx_adm_zone_t *zone)
{
    size_t            size;
    ngx_adm_lines_t  *lines;

    lines = ngx_adm_lines(zone);

    if (lines->filter) {
        return NGX_OK;
    }

    size = ngx_min(zone->sh->size / NGX_ADM_LINE_SHARE, NGX_ADM_LINE_MOST);

    lines->filter = ngx_adm_zone_alloc_locked(zone, size);
    if (lines->filter == NULL) {
        return NGX_DECLINED;
    }

    lines->bits = 8 * size;

    ngx_adm_lines_clear_locked(lines);

    return NGX_OK;
}


static void
ngx_adm_line_free_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en)
{
    ngx_adm_few_t   *few;
    ngx_adm_line_t  *line;

    few = &ngx_adm_lines(zone)->few;
    line = ngx_adm_few_of_locked(few, en);

    if (line) {
        ngx_adm_few_free_locked(zone, few, line);
    }
}


ngx_uint_t
ngx_adm_line_refuses(ngx_str_t *event, ngx_str_t *user)
{
    uint64_t               hash;
    ngx_uint_t             full;
    ngx_adm_zone_t        *zone;
    ngx_adm_tally_t        tally;
    ngx_adm_event_node_t  *en;

    hash = ngx_adm_line_hash(event, user);

    full = NGX_ADM_LINE_OPEN;
    zone = ngx_adm_zone;

    ngx_adm_zone_lock(zone);

    en = ngx_adm_event_lookup_locked(zone, event);

    if (en
        && en->full != NGX_ADM_LINE_OPEN
        && ngx_adm_ms_since(en->synced) < NGX_ADM_LINE_FRESH
        && ngx_adm_line_unknown_locked(zone, en, hash)
        && !ngx_adm_line_through_locked(zone))
    {
        full = en->full;

        ngx_memzero(&tally, sizeof(ngx_adm_tally_t));

        tally.n[full == NGX_ADM_LINE_FULL ? NGX_ADM_TALLY_FULL
                                          : NGX_ADM_TALLY_LONG] = 1;

        ngx_adm_tally_locked(zone, en, &tally);
    }

    ngx_adm_zone_unlock(zone);

    return full;
}


/* an event in which nobody is has no steps that tell who is */

ngx_uint_t
ngx_adm_line_sold_refuses(ngx_str_t *event, ngx_adm_event_conf_t *conf,
    ngx_str_t *user)
{
    uint64_t               hash;
    ngx_uint_t             refuses;
    ngx_adm_zone_t        *zone;
    ngx_adm_event_node_t  *en;

    hash = ngx_adm_line_hash(event, user);

    refuses = 0;
    zone = ngx_adm_zone;

    ngx_adm_zone_lock(zone);

    en = ngx_adm_event_lookup_locked(zone, event);

    if (en
        && en->state.epoch
        && ngx_adm_seats(conf, en->state.slots, en->state.sold,
                         en->state.active) == NGX_ADM_SEATS_SOLD
        && (en->state.size + en->state.active == 0
            || ngx_adm_line_unknown_locked(zone, en, hash))
        && !ngx_adm_line_through_locked(zone))
    {
        refuses = 1;
    }

    ngx_adm_zone_unlock(zone);

    return refuses;
}


ngx_uint_t
ngx_adm_line_room_refuses(ngx_str_t *event, ngx_adm_event_conf_t *conf)
{
    int64_t                wait;
    ngx_uint_t             full;
    ngx_adm_room_t        *room;
    ngx_adm_zone_t        *zone;
    ngx_adm_tally_t        tally;
    ngx_adm_event_node_t  *en;

    full = NGX_ADM_LINE_OPEN;
    zone = ngx_adm_zone;

    ngx_adm_zone_lock(zone);

    en = ngx_adm_room_node_locked(zone, event);

    if (en
        && en->active
        && ngx_adm_since(en->room->synced) < NGX_ADM_LINE_FRESH)
    {
        room = &en->room->room;

        wait = ngx_adm_room_estimate(room, conf,
                                     ngx_max(room->next + 1 - room->serving,
                                             0));

        if (conf->vwr_max_queue >= 0
            && room->next - room->serving >= conf->vwr_max_queue)
        {
            full = NGX_ADM_LINE_FULL;

        } else if (conf->vwr_max_wait
                   && wait > (int64_t) conf->vwr_max_wait / 1000)
        {
            full = NGX_ADM_LINE_LONG;
        }
    }

    if (full && ngx_adm_line_through_locked(zone)) {
        full = NGX_ADM_LINE_OPEN;
    }

    if (full) {
        ngx_memzero(&tally, sizeof(ngx_adm_tally_t));

        tally.n[full == NGX_ADM_LINE_FULL ? NGX_ADM_TALLY_ROOM_FULL
                                          : NGX_ADM_TALLY_ROOM_LONG] = 1;

        ngx_adm_tally_locked(zone, en, &tally);
    }

    ngx_adm_zone_unlock(zone);

    return full;
}


void
ngx_adm_line_add(ngx_str_t *event, ngx_str_t *user)
{
    uint64_t               hash;
    ngx_adm_line_t        *line;
    ngx_adm_lines_t       *lines;
    ngx_adm_event_node_t  *en;

    hash = ngx_adm_line_hash(event, user);

    lines = ngx_adm_lines(ngx_adm_zone);

    ngx_adm_zone_lock(ngx_adm_zone);

    line = ngx_adm_line_of_locked(ngx_adm_zone, event, &en);

    if (line) {
        (void) ngx_adm_line_has_locked(lines, hash, line->salt, 1);

        if (line->next) {
            (void) ngx_adm_line_has_locked(lines, hash, line->next, 1);
        }
    }

    if (line
        && lines->set > lines->bits / NGX_ADM_LINE_FILL
        && ngx_adm_since(lines->cleared) >= NGX_ADM_LINE_CLEAR)
    {
        ngx_adm_lines_clear_locked(lines);
    }

    ngx_adm_zone_unlock(ngx_adm_zone);
}


void
ngx_adm_line_from(ngx_str_t *event, ngx_adm_line_scan_t *scan)
{
    ngx_msec_t             pause;
    ngx_adm_zone_t        *zone;
    ngx_adm_line_t        *line;
    ngx_adm_lines_t       *lines;
    ngx_adm_event_node_t  *en;

    scan->waiting = -1;
    scan->inside = -1;

    zone = ngx_adm_zone;
    lines = ngx_adm_lines(zone);

    ngx_adm_zone_lock(zone);

    line = ngx_adm_line_of_locked(zone, event, &en);

    if (en && line == NULL && ngx_adm_lines_make_locked(zone) == NGX_OK) {

        /*
         * no event is forgotten for it: without a node everybody is asked
         * about
         */

        line = ngx_adm_zone_alloc_locked(zone, sizeof(ngx_adm_line_t));

        if (line) {
            ngx_adm_few_add_locked(&lines->few, line, en);
        }
    }

    if (line == NULL) {
        ngx_adm_zone_unlock(zone);
        return;
    }

    pause = ngx_adm_line_scan_ms(en->state.size + en->state.active);
    pause = ngx_max(pause, NGX_ADM_LINE_SCAN);

    if (line->generation != lines->generation
        || (line->known && ngx_adm_since(line->began) >= pause))
    {
        ngx_adm_line_begin_locked(lines, line, en);
    }

    scan->waiting = line->waiting;
    scan->inside = line->inside;
    scan->round = line->round;

    ngx_adm_zone_unlock(zone);
}


void
ngx_adm_line_told(ngx_str_t *event, ngx_adm_line_scan_t *scan,
    ngx_uint_t more)
{
    ngx_adm_line_t        *line;
    ngx_adm_event_node_t  *en;

    ngx_adm_zone_lock(ngx_adm_zone);

    line = ngx_adm_line_of_locked(ngx_adm_zone, event, &en);

    /* an answer to an earlier question says nothing of this round, or filter */

    if (line
        && line->round == scan->round
        && line->generation == ngx_adm_lines(ngx_adm_zone)->generation)
    {
        line->waiting = scan->waiting;
        line->inside = scan->inside;

        if (!more) {
            line->known = 1;
            line->salt = line->next ? line->next : line->salt;
            line->next = 0;
        }
    }

    ngx_adm_zone_unlock(ngx_adm_zone);
}


/* with a key that nobody knows no user finds others with the same bits */

static uint64_t
ngx_adm_line_hash(ngx_str_t *event, ngx_str_t *user)
{
    size_t  len;
    u_char  text[NGX_ADM_EVENT_MAX + 1 + NGX_ADM_LINE_USER];

    len = ngx_min(user->len, NGX_ADM_LINE_USER);

    ngx_memcpy(ngx_sprintf(text, "%V%Z", event), user->data, len);

    return ngx_adm_hash(&ngx_adm_zone->sh->hash_key, text,
                        event->len + 1 + len);
}


/*
 * tells all again from here on; those who are gone are left out, now and then
 */

static void
ngx_adm_line_begin_locked(ngx_adm_lines_t *lines, ngx_adm_line_t *line,
    ngx_adm_event_node_t *en)
{
    if (line->generation != lines->generation) {
        line->generation = lines->generation;
        line->known = 0;
        line->next = 0;
        line->salt = ++lines->salts;
        line->salted = ngx_current_msec;
        line->clear = en->state.clear;

    } else if (ngx_adm_since(line->salted) >= NGX_ADM_LINE_SALT
               || line->clear != en->state.clear)
    {
        line->next = ++lines->salts;
        line->salted = ngx_current_msec;
        line->clear = en->state.clear;
    }

    line->round = ++lines->rounds;
    line->began = ngx_current_msec;
    line->waiting = 0;
    line->inside = 0;
}


/* whether all bits of a user were set; add: sets them */

static ngx_uint_t
ngx_adm_line_has_locked(ngx_adm_lines_t *lines, uint64_t hash, uint64_t salt,
    ngx_uint_t add)
{
    u_char      *p, mask;
    uint64_t     bit, step;
    ngx_uint_t   i, has;

    /* the last steps of MurmurHash3 */

    hash ^= salt * 0x9e3779b97f4a7c15;
    hash = (hash ^ (hash >> 33)) * 0xff51afd7ed558ccd;
    hash = (hash ^ (hash >> 33)) * 0xc4ceb9fe1a85ec53;
    hash ^= hash >> 33;

    has = 1;
    bit = hash >> 32;
    step = (hash & 0xffffffff) | 1;

    for (i = 0; i < NGX_ADM_LINE_BITS; i++) {
        p = &lines->filter[bit % lines->bits / 8];
        mask = (u_char) (1 << (bit % lines->bits % 8));
        bit += step;

        if (*p & mask) {
            continue;
        }

        has = 0;

        if (!add) {
            break;
        }

        *p |= mask;
        lines->set++;
    }

    return has;
}


static ngx_uint_t
ngx_adm_line_through_locked(ngx_adm_zone_t *zone)
{
    return ++ngx_adm_lines(zone)->through % NGX_ADM_LINE_THROUGH == 0;
}


/* whether the user is known not to be there */

static ngx_uint_t
ngx_adm_line_unknown_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en,
    uint64_t hash)
{
    ngx_adm_line_t   *line;
    ngx_adm_lines_t  *lines;

    lines = ngx_adm_lines(zone);

    line = ngx_adm_few_of_locked(&lines->few, en);

    return line
           && line->known
           && line->generation == lines->generation
           && !ngx_adm_line_has_locked(lines, hash, line->salt, 0);
}


static ngx_adm_line_t *
ngx_adm_line_of_locked(ngx_adm_zone_t *zone, ngx_str_t *event,
    ngx_adm_event_node_t **en)
{
    *en = ngx_adm_event_lookup_locked(zone, event);

    return ngx_adm_few_of_locked(&ngx_adm_lines(zone)->few, *en);
}
