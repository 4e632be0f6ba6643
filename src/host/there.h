
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Who is there of those with numbers in a waiting room: was heard of within
 * twice the time after which it had to ask again, and has not left.  Workers
 * mark numbers here, one bit each.  The room's step takes the marks to Redis,
 * which merges those of all hosts (lua/there_lib.lua), and brings back how
 * many are there, in a table by stretches of numbers.  Where nobody knows, all
 * count as there.
 *
 * Functions without _locked in their names take and release the zone's lock
 * themselves, briefly.
 */


#ifndef _NGX_ADM_HOST_THERE_H_INCLUDED_
#define _NGX_ADM_HOST_THERE_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "event_node.h"


extern ngx_adm_zone_part_t  ngx_adm_there_part;


/*
 * numbers of a page, which begins at a multiple of it; as in lua/there_lib.lua
 */
#define NGX_ADM_THERE_PAGE  3712

/* at most: points of a table, bytes of its text */
#define NGX_ADM_THERE_POINTS  2000
#define NGX_ADM_THERE_TEXT    65536


typedef struct {
    uint32_t                 end;        /* numbers from the first up to here */
    uint32_t                 sum;        /* how many of these are there */
} ngx_adm_there_point_t;


/*
 * bits say which are there between points 8 apart, the first as the highest
 * bit
 */
typedef struct {
    int64_t                  of;         /* see ngx_adm_there_of() */
    int64_t                  at;         /* us of Redis: its version; 0: no
                                            table, and all count */
    int64_t                  first;      /* number */
    ngx_uint_t               n;
    ngx_adm_there_point_t   *points;
    u_char                  *bits;       /* of such stretches, one each */
} ngx_adm_there_table_t;


/* marks on their way to Redis, as texts of arguments, in groups; ngx_alloc() */
typedef struct {
    int64_t                  of;
    int64_t                  seen;       /* table that the host has */
    int64_t                  host;       /* this host */
    unsigned                 blind:1;    /* marks were lost */
    ngx_uint_t               n;          /* groups */
    ngx_str_t               *groups;     /* of NGX_ADM_EACH_VWR_STEP_COUNT */
    ngx_uint_t               npages;
    ngx_uint_t              *kinds;      /* of pages */
    int64_t                 *pages;      /* first number of each */
    u_char                  *bits;
} ngx_adm_there_batch_t;


/*
 * What numbers are at the moment: positions of an activation or, once a draw
 * is ready, of that draw.
 */
int64_t ngx_adm_there_of(ngx_adm_room_t *room);

/*
 * _heard(): the holder of the number was heard of, and has to ask again in so
 * many s; _left(): it left. of: what the number is of; ignored if the room's
 * are of something else by now.
 */
void ngx_adm_there_heard(ngx_str_t *event, int64_t of, int64_t number,
    ngx_uint_t next_poll);
void ngx_adm_there_left(ngx_str_t *event, int64_t of, int64_t number);

/*
 * How many of the numbers from serving + 1 to number, both included, are
 * there; _ahead() counts the last one in any case, _waiting() does not.
 */
int64_t ngx_adm_there_ahead(ngx_str_t *event, ngx_adm_room_t *room,
    int64_t number);
int64_t ngx_adm_there_waiting(ngx_str_t *event, ngx_adm_room_t *room);
int64_t ngx_adm_there_waiting_locked(ngx_adm_room_node_t *rn);

/* how many who wait the counter passes if it goes on to that number */
int64_t ngx_adm_there_passing_locked(ngx_adm_room_node_t *rn, int64_t serving);

/*
 * A copy of the table, for whoever asks often, in memory of ngx_alloc() at
 * *table, which is zeroed at first and renewed if the host has another one;
 * and the same questions to the copy.
 */
void ngx_adm_there_copy(ngx_str_t *event, ngx_adm_there_table_t *table);
void ngx_adm_there_free(ngx_adm_there_table_t *table);
int64_t ngx_adm_there_table_ahead(ngx_adm_there_table_t *table,
    ngx_adm_room_t *room, int64_t number);

/*
 * What a room's step has to tell of who is there, and to ask.  NULL: nothing
 * is due, or no memory.  Ends with _told(); failed: the marks go back to where
 * they were.
 */
ngx_adm_there_batch_t *ngx_adm_there_take(ngx_str_t *event);
void ngx_adm_there_told(ngx_str_t *event, ngx_adm_there_batch_t *batch,
    ngx_uint_t failed);

/*
 * A table from Redis, of numbers from first on.  NGX_DECLINED: the text is
 * none.
 */
ngx_int_t ngx_adm_there_note(ngx_str_t *event, int64_t of, int64_t at,
    int64_t first, ngx_str_t *text);

/* forgets all, since the room is inactive, or goes */
void ngx_adm_there_free_locked(ngx_adm_zone_t *zone, ngx_adm_room_node_t *rn);


/* how many numbers are there from the table's first one up to this one */
int64_t ngx_adm_there_sum(ngx_adm_there_table_t *table, int64_t number);

/*
 * Reads a text into points and bits, NGX_ADM_THERE_POINTS at most;
 * NGX_DECLINED: it is no table.
 */
ngx_int_t ngx_adm_there_read(ngx_str_t *text, ngx_adm_there_point_t *points,
    u_char *bits, ngx_uint_t *n);


#endif /* _NGX_ADM_HOST_THERE_H_INCLUDED_ */
