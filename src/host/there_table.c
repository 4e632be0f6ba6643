
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The table of who is there: how many of the numbers from its first one up to
 * each of its points.  Near the counter points are 8 numbers apart, and bits
 * say which of those are there.  Further back their distance is a fraction of
 * how many are there ahead, and between two points numbers count in
 * proportion.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "there_node.h"


#define NGX_ADM_THERE_BYTE  8            /* numbers */


static ngx_uint_t ngx_adm_there_bits(ngx_uint_t byte, ngx_uint_t n);


int64_t
ngx_adm_there_sum(ngx_adm_there_table_t *table, int64_t number)
{
    int64_t                 x, len, before;
    ngx_uint_t              low, high, middle;
    ngx_adm_there_point_t  *point;

    /*
     * from the first one to this one; numbers before the table all count as
     * there
     */

    x = number - table->first + 1;

    if (x <= 0 || table->n == 0) {
        return x;
    }

    low = 0;
    high = table->n;

    while (low < high) {
        middle = (low + high) / 2;

        if (table->points[middle].end < x) {
            low = middle + 1;

        } else {
            high = middle;
        }
    }

    if (low == table->n) {

        /* issued since the table was made, or beyond what it has */

        point = &table->points[low - 1];

        return point->sum + x - point->end;
    }

    point = &table->points[low];

    before = low ? point[-1].sum : 0;
    x -= low ? point[-1].end : 0;
    len = point->end - (low ? point[-1].end : 0);

    if (len == NGX_ADM_THERE_BYTE) {
        return before + ngx_adm_there_bits(table->bits[low], x);
    }

    return before + ((int64_t) point->sum - before) * x / len;
}


/* how many of the first n numbers of a byte are there */

static ngx_uint_t
ngx_adm_there_bits(ngx_uint_t byte, ngx_uint_t n)
{
    ngx_uint_t  sum;

    sum = 0;

    for (byte >>= NGX_ADM_THERE_BYTE - n; byte; byte >>= 1) {
        sum += byte & 1;
    }

    return sum;
}


/*
 * The text has pairs of bytes: how many bytes follow, and how many bits in
 * them are set; or 0, and the one byte itself.
 */

ngx_int_t
ngx_adm_there_read(ngx_str_t *text, ngx_adm_there_point_t *points, u_char *bits,
    ngx_uint_t *n)
{
    u_char      *p, *last;
    int64_t      end, sum, value, len;
    ngx_uint_t   i, second;

    p = text->data;
    last = p + text->len;
    end = 0;
    sum = 0;
    len = 0;
    second = 0;
    i = 0;

    while (p < last) {

        value = 0;

        if (*p < '0' || *p > '9') {
            return NGX_DECLINED;
        }

        do {
            value = value * 10 + *p++ - '0';

            if (value > NGX_MAX_UINT32_VALUE) {
                return NGX_DECLINED;
            }

        } while (p < last && *p >= '0' && *p <= '9');

        if (p < last && *p++ != ' ') {
            return NGX_DECLINED;
        }

        second = !second;

        if (second) {
            len = value * NGX_ADM_THERE_BYTE;
            continue;
        }

        if (i == NGX_ADM_THERE_POINTS) {
            return NGX_DECLINED;
        }

        bits[i] = 0;

        if (len == 0) {

            if (value > 255) {
                return NGX_DECLINED;
            }

            len = NGX_ADM_THERE_BYTE;
            bits[i] = (u_char) value;
            value = ngx_adm_there_bits(value, NGX_ADM_THERE_BYTE);

        } else if (len == NGX_ADM_THERE_BYTE) {
            return NGX_DECLINED;
        }

        end += len;
        sum += value;

        if (value > len || end > NGX_MAX_UINT32_VALUE) {
            return NGX_DECLINED;
        }

        points[i].end = (uint32_t) end;
        points[i].sum = (uint32_t) sum;
        i++;
    }

    if (second) {
        return NGX_DECLINED;
    }

    *n = i;

    return NGX_OK;
}


int64_t
ngx_adm_there_ahead(ngx_str_t *event, ngx_adm_room_t *room, int64_t number)
{
    int64_t                ahead;
    ngx_adm_zone_t        *zone;
    ngx_adm_event_node_t  *en;
    ngx_adm_there_node_t  *tn;

    zone = ngx_adm_zone;
    ahead = number - room->serving;

    if (ahead <= 1) {
        return ngx_max(ahead, 0);
    }

    ngx_adm_zone_lock(zone);

    en = ngx_adm_room_node_locked(zone, event);

    tn = en ? en->room->there : NULL;

    if (tn) {
        ahead = ngx_adm_there_table_ahead(&tn->table, room, number);

        if (tn->of == ngx_adm_there_of(room)) {
            ahead -= ngx_adm_there_gone_locked(tn, room->serving, number - 1);
        }
    }

    ngx_adm_zone_unlock(zone);

    return ahead;
}


int64_t
ngx_adm_there_table_ahead(ngx_adm_there_table_t *table, ngx_adm_room_t *room,
    int64_t number)
{
    int64_t  ahead;

    ahead = number - room->serving;

    if (ahead <= 1) {
        return ngx_max(ahead, 0);
    }

    if (table->at == 0 || table->of != ngx_adm_there_of(room)) {
        return ahead;
    }

    return ngx_adm_there_sum(table, number - 1)
           - ngx_adm_there_sum(table, room->serving) + 1;
}


int64_t
ngx_adm_there_waiting(ngx_str_t *event, ngx_adm_room_t *room)
{
    if (room->next <= room->serving) {
        return 0;
    }

    return ngx_adm_there_ahead(event, room, room->next + 1) - 1;
}


int64_t
ngx_adm_there_waiting_locked(ngx_adm_room_node_t *rn)
{
    ngx_adm_room_t  *room;

    room = &rn->room;

    if (room->next <= room->serving) {
        return 0;
    }

    return rn->there
           ? ngx_adm_there_table_ahead(&rn->there->table, room, room->next + 1)
             - 1
           : room->next - room->serving;
}


int64_t
ngx_adm_there_passing_locked(ngx_adm_room_node_t *rn, int64_t serving)
{
    int64_t  n;

    n = ngx_min(serving, rn->room.next) - rn->room.serving;

    if (n <= 0 || rn->there == NULL) {
        return ngx_max(n, 0);
    }

    return ngx_adm_there_table_ahead(&rn->there->table, &rn->room,
                                     rn->room.serving + n + 1) - 1;
}


void
ngx_adm_there_copy(ngx_str_t *event, ngx_adm_there_table_t *table)
{
    u_char                 *p;
    ngx_uint_t              n;
    ngx_adm_zone_t         *zone;
    ngx_adm_event_node_t   *en;
    ngx_adm_there_node_t   *tn;
    ngx_adm_there_table_t   old;

    zone = ngx_adm_zone;
    old = *table;
    p = NULL;
    n = 0;

    for ( ;; ) {

        ngx_adm_zone_lock(zone);

        en = ngx_adm_room_node_locked(zone, event);
        tn = en ? en->room->there : NULL;

        if (tn == NULL || tn->table.at == 0 || tn->table.at == old.at) {

            /* without memory the old one will do, if it is of these numbers */

            ngx_adm_zone_unlock(zone);

            if (p) {
                ngx_free(p);
            }

            return;
        }

        if (p && n >= tn->table.n) {
            break;
        }

        n = tn->table.n;

        ngx_adm_zone_unlock(zone);

        if (p) {
            ngx_free(p);
        }

        p = ngx_alloc((n + 1) * (sizeof(ngx_adm_there_point_t) + 1),
                      ngx_cycle->log);
        if (p == NULL) {
            return;
        }
    }

    *table = tn->table;
    n = table->n;

    table->points = (ngx_adm_there_point_t *) p;
    table->bits = (u_char *) &table->points[n];

    if (n) {
        ngx_memcpy(p, tn->table.points,
                   n * (sizeof(ngx_adm_there_point_t) + 1));
    }

    ngx_adm_zone_unlock(zone);

    ngx_adm_there_free(&old);
}


void
ngx_adm_there_free(ngx_adm_there_table_t *table)
{
    if (table->points) {
        ngx_free(table->points);
        table->points = NULL;
    }
}
