
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The words of operators in the zone, with the events: bounded all together,
 * each in memory of its own.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "event_node.h"
#include "notice.h"
#include "unlisted.h"


#define NGX_ADM_NOTICE_SHARE  32         /* of the zone, one part, at most */


typedef struct {
    ngx_rbtree_node_t           node;           /* of the event */
    int64_t                     version;
    int64_t                     at;
    uint16_t                    ko;             /* bytes */
    uint16_t                    en;
    u_char                      text[1];        /* of both */
} ngx_adm_notice_node_t;


typedef struct {
    size_t                      bytes;          /* that they take */
    ngx_uint_t                  n;
    ngx_rbtree_t                tree;
    ngx_rbtree_node_t           sentinel;
} ngx_adm_notices_t;


#define ngx_adm_notices(zone)                                                 \
    ((ngx_adm_notices_t *)                                                    \
        ngx_adm_zone_data(zone, &ngx_adm_notice_part))

#define ngx_adm_notice_size(ko, en)                                           \
    (offsetof(ngx_adm_notice_node_t, text) + (ko) + (en))


static void ngx_adm_notices_empty(ngx_adm_zone_t *zone);
static void ngx_adm_notice_free_locked(ngx_adm_zone_t *zone,
    ngx_adm_event_node_t *en);
static ngx_adm_notice_node_t *ngx_adm_notice_of_locked(ngx_adm_zone_t *zone,
    ngx_adm_event_node_t *en);
static void ngx_adm_notice_copy(ngx_adm_zone_t *zone, ngx_adm_zone_t *ozone);
static ngx_int_t ngx_adm_notice_new_locked(ngx_adm_zone_t *zone,
    ngx_adm_event_node_t *en, int64_t version, int64_t at, size_t ko_len,
    size_t en_len, u_char *ko_text, u_char *en_text);


ngx_adm_zone_part_t  ngx_adm_notice_part = {
    .size = sizeof(ngx_adm_notices_t),
    .empty = ngx_adm_notices_empty,
    .copy = ngx_adm_notice_copy,
    .event_free = ngx_adm_notice_free_locked };


static void
ngx_adm_notices_empty(ngx_adm_zone_t *zone)
{
    ngx_adm_notices_t  *notices;

    notices = ngx_adm_notices(zone);

    notices->bytes = 0;
    notices->n = 0;

    ngx_rbtree_init(&notices->tree, &notices->sentinel,
                    ngx_rbtree_insert_value);
}


static ngx_adm_notice_node_t *
ngx_adm_notice_of_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en)
{
    return en
           ? (ngx_adm_notice_node_t *)
                 ngx_adm_event_find_locked(&ngx_adm_notices(zone)->tree, en)
           : NULL;
}


static void
ngx_adm_notice_free_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en)
{
    ngx_adm_notice_node_t  *nn;

    nn = ngx_adm_notice_of_locked(zone, en);

    if (nn) {
        ngx_adm_notices(zone)->bytes -= ngx_adm_notice_size(nn->ko, nn->en);
        ngx_adm_notices(zone)->n--;

        ngx_rbtree_delete(&ngx_adm_notices(zone)->tree, &nn->node);
        ngx_slab_free_locked(zone->shpool, nn);

        en->noticed = 0;
    }
}


/*
 * Those of events that the new zone has.  While others have the lock any of
 * them may go or come: the next one is the first by a later key.
 */

static void
ngx_adm_notice_copy(ngx_adm_zone_t *zone, ngx_adm_zone_t *ozone)
{
    ngx_str_t               id;
    ngx_uint_t              step;
    ngx_rbtree_key_t        last;
    ngx_rbtree_node_t      *node;
    ngx_adm_event_node_t   *en, *oen;
    ngx_adm_notice_node_t  *nn;

    step = 0;
    last = 0;

    ngx_adm_zone_lock(ozone);

    for ( ;; ) {
        node = ngx_adm_event_after_key_locked(&ngx_adm_notices(ozone)->tree,
                                              last);
        if (node == NULL) {
            break;
        }

        last = node->key;

        nn = (ngx_adm_notice_node_t *) node;
        oen = (ngx_adm_event_node_t *) (uintptr_t) node->key;

        id.len = oen->len;
        id.data = oen->id;

        en = ngx_adm_event_lookup_locked(zone, &id);

        if (en) {
            (void) ngx_adm_notice_new_locked(zone, en, nn->version, nn->at,
                                             nn->ko, nn->en, nn->text,
                                             nn->text + nn->ko);
        }

        (void) ngx_adm_zone_step_locked(ozone, &step);
    }

    ngx_adm_zone_unlock(ozone);
}


static ngx_int_t
ngx_adm_notice_new_locked(ngx_adm_zone_t *zone, ngx_adm_event_node_t *en,
    int64_t version, int64_t at, size_t ko_len, size_t en_len, u_char *ko_text,
    u_char *en_text)
{
    size_t                  size;
    ngx_adm_notices_t      *notices;
    ngx_adm_notice_node_t  *nn;

    notices = ngx_adm_notices(zone);
    size = ngx_adm_notice_size(ko_len, en_len);

    if (notices->bytes + size > zone->sh->size / NGX_ADM_NOTICE_SHARE) {
        return NGX_DECLINED;
    }

    nn = ngx_adm_zone_alloc_locked(zone, size);
    if (nn == NULL) {
        return NGX_DECLINED;
    }

    notices->bytes += size;
    notices->n++;

    nn->version = version;
    nn->at = at;
    nn->ko = (uint16_t) ko_len;
    nn->en = (uint16_t) en_len;

    ngx_memcpy(ngx_cpymem(nn->text, ko_text, ko_len), en_text, en_len);

    ngx_adm_event_keep_locked(&notices->tree, &nn->node, en);
    en->noticed = (at != 0);

    return NGX_OK;
}


ngx_int_t
ngx_adm_notice_get(ngx_str_t *event, ngx_adm_notice_t *notice)
{
    ngx_adm_event_node_t   *en;
    ngx_adm_notice_node_t  *nn;

    if (ngx_adm_notices(ngx_adm_zone)->n == 0) {
        return NGX_DECLINED;
    }

    ngx_adm_zone_lock(ngx_adm_zone);

    en = ngx_adm_event_lookup_locked(ngx_adm_zone, event);

    nn = ngx_adm_notice_of_locked(ngx_adm_zone, en);

    if (nn) {
        notice->version = nn->version;
        notice->at = nn->at;

        notice->ko.len = nn->ko;
        notice->ko.data = notice->text;
        notice->en.len = nn->en;
        notice->en.data = notice->text + nn->ko;

        ngx_memcpy(notice->text, nn->text, nn->ko + nn->en);
    }

    ngx_adm_zone_unlock(ngx_adm_zone);

    return nn ? NGX_OK : NGX_DECLINED;
}


int64_t
ngx_adm_notice_version(ngx_str_t *event)
{
    int64_t                 version;
    ngx_adm_event_node_t   *en;
    ngx_adm_notice_node_t  *nn;

    if (ngx_adm_notices(ngx_adm_zone)->n == 0) {
        return 0;
    }

    ngx_adm_zone_lock(ngx_adm_zone);

    en = ngx_adm_event_lookup_locked(ngx_adm_zone, event);

    nn = ngx_adm_notice_of_locked(ngx_adm_zone, en);

    version = nn ? nn->version : 0;

    ngx_adm_zone_unlock(ngx_adm_zone);

    return version;
}


/* answers may come out of order: the latest stands */

ngx_int_t
ngx_adm_notice_note(ngx_str_t *event, ngx_adm_notice_t *notice)
{
    ngx_int_t               rc;
    ngx_adm_zone_t         *zone;
    ngx_adm_event_node_t   *en;
    ngx_adm_notice_node_t  *nn;

    rc = NGX_OK;
    zone = ngx_adm_zone;

    ngx_adm_zone_lock(zone);

    en = notice->at ? ngx_adm_event_make_locked(zone, event)
                    : ngx_adm_event_lookup_locked(zone, event);

    if (en == NULL) {
        rc = notice->at ? NGX_DECLINED : NGX_OK;
        goto unlock;
    }

    nn = ngx_adm_notice_of_locked(zone, en);

    if (nn && nn->version >= notice->version) {
        goto unlock;
    }

    ngx_adm_notice_free_locked(zone, en);

    if (notice->at) {
        rc = ngx_adm_notice_new_locked(zone, en, notice->version, notice->at,
                                       notice->ko.len, notice->en.len,
                                       notice->ko.data, notice->en.data);
    }

    ngx_adm_unlisted_locked(zone, en);

unlock:

    ngx_adm_zone_unlock(zone);

    return rc;
}
