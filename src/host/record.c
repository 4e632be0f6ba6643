
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Records in the zone, by the nodes of events, as few events have any.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/clock.h"
#include "few.h"
#include "record.h"
#include "unlisted.h"


typedef struct {
    ngx_rbtree_node_t    node;           /* of the event */
    int64_t              value[1];       /* version first, as much as is kept
                                            of it, then "more" */
} ngx_adm_record_node_t;


typedef struct {
    ngx_adm_few_t        few;
    size_t               bytes;          /* of all records */
} ngx_adm_records_t;


/* all records of a kind */
#define ngx_adm_records_of(zone, record)                                      \
    ((ngx_adm_records_t *) ngx_adm_zone_data(zone, &ngx_adm_record_part)      \
     + (record)->index)

#define ngx_adm_record_kept(record, value)                                    \
    ((record)->kept ? (record)->kept(value) : (record)->size)

#define ngx_adm_record_stands(record, value)                                  \
    ((record)->stands == NULL || (record)->stands(value))

/* whether a host that knew of none remembers this one */
#define ngx_adm_record_makes(record, value)                                   \
    (ngx_adm_record_stands(record, value)                                     \
     || ((record)->end == NGX_ADM_RECORD_ALWAYS && *(int64_t *) (value)))


static void ngx_adm_records_empty(ngx_adm_zone_t *zone);
static void ngx_adm_records_free_locked(ngx_adm_zone_t *zone,
    ngx_adm_event_node_t *en);
static void ngx_adm_records_copy(ngx_adm_zone_t *zone, ngx_adm_zone_t *ozone);
static void ngx_adm_record_copy(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en,
    void *node, void *data);
static size_t ngx_adm_record_size(ngx_adm_record_t *record, void *value);
static void ngx_adm_record_free_locked(ngx_adm_record_t *record,
    ngx_adm_zone_t *zone, ngx_adm_event_node_t *en);
static ngx_adm_record_node_t *ngx_adm_record_new_locked(
    ngx_adm_record_t *record, ngx_adm_zone_t *zone, ngx_adm_event_node_t *en,
    void *value);
static ngx_int_t ngx_adm_record_take_locked(ngx_adm_record_t *record,
    ngx_adm_zone_t *zone, ngx_adm_event_node_t *en, void *value);
static void ngx_adm_record_full(ngx_adm_record_t *record, ngx_str_t *event);


ngx_adm_zone_part_t  ngx_adm_record_part = {
    .size = NGX_ADM_RECORDS * sizeof(ngx_adm_records_t),
    .empty = ngx_adm_records_empty,
    .copy = ngx_adm_records_copy,
    .event_free = ngx_adm_records_free_locked };


static ngx_adm_record_t  **ngx_adm_records;


void
ngx_adm_record_list(ngx_adm_record_t **records)
{
    ngx_uint_t  i;

    ngx_adm_records = records;

    for (i = 0; records[i]; i++) {
        records[i]->index = i;
    }
}


static void
ngx_adm_records_empty(ngx_adm_zone_t *zone)
{
    ngx_adm_record_t   **record;
    ngx_adm_records_t   *records;

    for (record = ngx_adm_records; *record; record++) {
        records = ngx_adm_records_of(zone, *record);

        records->bytes = 0;

        ngx_adm_few_empty(&records->few);
    }
}


static void
ngx_adm_records_free_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en)
{
    ngx_adm_record_t  **record;

    for (record = ngx_adm_records; *record; record++) {
        ngx_adm_record_free_locked(*record, zone, en);
    }
}


static void
ngx_adm_records_copy(ngx_adm_zone_t *zone, ngx_adm_zone_t *ozone)
{
    ngx_adm_record_t  **record;

    for (record = ngx_adm_records; *record; record++) {
        ngx_adm_few_copy(zone, ozone, &ngx_adm_records_of(ozone, *record)->few,
                         ngx_adm_record_copy, *record);
    }
}


static void
ngx_adm_record_copy(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en, void *node,
    void *data)
{
    ngx_adm_record_t       *record = data;
    ngx_adm_record_node_t  *orn = node;

    if (ngx_adm_record_new_locked(record, zone, en, orn->value)
        && record->noted_locked)
    {
        record->noted_locked(zone, en, orn->value);
    }
}


/* of its node */

static size_t
ngx_adm_record_size(ngx_adm_record_t *record, void *value)
{
    return offsetof(ngx_adm_record_node_t, value)
           + ngx_adm_record_kept(record, value) + record->more;
}


void *
ngx_adm_record_of_locked(ngx_adm_record_t *record, ngx_adm_zone_t *zone,
    ngx_adm_event_node_t *en)
{
    ngx_adm_record_node_t  *rn;

    rn = ngx_adm_few_of_locked(&ngx_adm_records_of(zone, record)->few, en);

    return rn ? rn->value : NULL;
}


static void
ngx_adm_record_free_locked(ngx_adm_record_t *record, ngx_adm_zone_t *zone,
    ngx_adm_event_node_t *en)
{
    ngx_adm_records_t      *records;
    ngx_adm_record_node_t  *rn;

    rn = ngx_adm_few_of_locked(&ngx_adm_records_of(zone, record)->few, en);

    if (rn == NULL) {
        return;
    }

    records = ngx_adm_records_of(zone, record);

    records->bytes -= ngx_adm_record_size(record, rn->value);

    ngx_adm_few_free_locked(zone, &records->few, rn);

    if (record->noted_locked) {
        record->noted_locked(zone, en, NULL);
    }
}


static ngx_adm_record_node_t *
ngx_adm_record_new_locked(ngx_adm_record_t *record, ngx_adm_zone_t *zone,
    ngx_adm_event_node_t *en, void *value)
{
    size_t                  size;
    ngx_adm_records_t      *records;
    ngx_adm_record_node_t  *rn;

    records = ngx_adm_records_of(zone, record);
    size = ngx_adm_record_size(record, value);

    if (record->share == 0) {
        rn = ngx_adm_event_alloc_locked(zone, size, en);

    } else if (records->bytes + size <= zone->sh->size / record->share) {
        rn = ngx_adm_zone_alloc_locked(zone, size);

    } else {
        rn = NULL;
    }

    if (rn) {
        records->bytes += size;

        ngx_memcpy(rn->value, value, ngx_adm_record_kept(record, value));

        ngx_adm_few_add_locked(&records->few, rn, en);
    }

    return rn;
}


ngx_int_t
ngx_adm_record_get(ngx_adm_record_t *record, ngx_str_t *event, void *value)
{
    void            *known;
    ngx_adm_zone_t  *zone;

    zone = ngx_adm_zone;

    if (ngx_adm_records_of(zone, record)->few.n == 0) {
        return NGX_DECLINED;
    }

    ngx_adm_zone_lock(zone);

    known = ngx_adm_record_of_locked(record, zone,
                                     ngx_adm_event_lookup_locked(zone, event));
    if (known) {
        ngx_memcpy(value, known, ngx_adm_record_kept(record, known));
    }

    ngx_adm_zone_unlock(zone);

    return known ? NGX_OK : NGX_DECLINED;
}


int64_t
ngx_adm_record_version(ngx_adm_record_t *record, ngx_str_t *event)
{
    int64_t         *known, version;
    ngx_adm_zone_t  *zone;

    zone = ngx_adm_zone;

    if (ngx_adm_records_of(zone, record)->few.n == 0) {
        return 0;
    }

    ngx_adm_zone_lock(zone);

    known = ngx_adm_record_of_locked(record, zone,
                                     ngx_adm_event_lookup_locked(zone, event));
    version = known ? *known : 0;

    ngx_adm_zone_unlock(zone);

    return version;
}


ngx_uint_t
ngx_adm_record_any(ngx_adm_record_t *record)
{
    return ngx_adm_records_of(ngx_adm_zone, record)->few.n != 0;
}


ngx_int_t
ngx_adm_record_note(ngx_adm_record_t *record, ngx_str_t *event, void *value)
{
    ngx_int_t              rc;
    ngx_uint_t             makes;
    ngx_adm_zone_t        *zone;
    ngx_adm_event_node_t  *en;

    zone = ngx_adm_zone;
    makes = ngx_adm_record_makes(record, value);

    if (!makes && ngx_adm_records_of(zone, record)->few.n == 0) {
        return NGX_OK;
    }

    ngx_adm_zone_lock(zone);

    en = makes ? ngx_adm_event_make_locked(zone, event)
               : ngx_adm_event_lookup_locked(zone, event);

    if (en) {
        rc = ngx_adm_record_take_locked(record, zone, en, value);

    } else {
        rc = makes ? NGX_ERROR : NGX_OK;
    }

    ngx_adm_zone_unlock(zone);

    if (rc != NGX_ERROR) {
        return rc;
    }

    if (record->no_room && ngx_adm_record_stands(record, value)) {
        ngx_adm_record_full(record, event);
    }

    return NGX_OK;
}


/*
 * Takes a value; answers may come out of order, and Redis may have lost what
 * it had.  NGX_DECLINED: the host knows a later one; NGX_ERROR: there is no
 * room.
 */

static ngx_int_t
ngx_adm_record_take_locked(ngx_adm_record_t *record, ngx_adm_zone_t *zone,
    ngx_adm_event_node_t *en, void *value)
{
    ngx_int_t               rc;
    ngx_uint_t              makes, keeps;
    ngx_adm_record_node_t  *rn;

    rn = ngx_adm_few_of_locked(&ngx_adm_records_of(zone, record)->few, en);

    if (rn && record->merge) {
        record->merge(rn->value, value);
        return NGX_OK;
    }

    /* a version from when a clock was far ahead does not count */

    if (rn && *(int64_t *) value < rn->value[0]
        && !ngx_adm_is_far_ahead(rn->value[0]))
    {
        return NGX_DECLINED;
    }

    rc = NGX_OK;
    makes = ngx_adm_record_makes(record, value);
    keeps = makes || (rn && record->end == NGX_ADM_RECORD_ENDED);

    if (rn
        && (!keeps || ngx_adm_record_size(record, rn->value)
                      != ngx_adm_record_size(record, value)))
    {
        ngx_adm_record_free_locked(record, zone, en);
        rn = NULL;
    }

    if (rn) {
        ngx_memcpy(rn->value, value, ngx_adm_record_kept(record, value));

    } else if (makes) {
        rn = ngx_adm_record_new_locked(record, zone, en, value);
        rc = rn ? NGX_OK : NGX_ERROR;
    }

    if (rn && record->noted_locked) {
        record->noted_locked(zone, en, value);
    }

    ngx_adm_unlisted_locked(zone, en);

    return rc;
}


static void
ngx_adm_record_full(ngx_adm_record_t *record, ngx_str_t *event)
{
    record->full = ngx_adm_mark_now();

    if (record->logged != ngx_time()) {
        record->logged = ngx_time();

        ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0, record->no_room, event);
    }
}


ngx_uint_t
ngx_adm_record_next(ngx_adm_record_t *record, ngx_pool_t *pool,
    ngx_array_t *ids, ngx_uint_t max, ngx_rbtree_key_t *key)
{
    ngx_uint_t              n;
    ngx_adm_few_t          *few;
    ngx_adm_record_node_t  *rn;

    few = &ngx_adm_records_of(ngx_adm_zone, record)->few;

    if (few->n == 0) {
        return 0;
    }

    ngx_adm_zone_lock(ngx_adm_zone);

    for (n = 0; n < max; n++) {
        rn = ngx_adm_few_next_locked(few, key);

        if (rn == NULL) {
            break;
        }

        if (ngx_adm_record_stands(record, rn->value)
            && ngx_adm_event_push_locked(pool, ids, ngx_adm_few_event(rn))
               != NGX_OK)
        {
            break;
        }
    }

    ngx_adm_zone_unlock(ngx_adm_zone);

    return n;
}
