
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The worker with the lease has lua/needs.lua try what the module needs.  The
 * log is told what is refused, and by the zone all workers are.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/clock.h"
#include "../redis/reply.h"
#include "args.h"
#include "needs.h"
#include "ngx_http_admission_names.h"
#include "settings.h"
#include "touch.h"


#define NGX_ADM_NEEDS_RETRY   1000       /* ms between two tries */
#define NGX_ADM_NEEDS_REMIND  60000      /* ms between lines about the same */

/* refused, it only costs the admissions stream; all else works */
#define NGX_ADM_NEEDS_XADD    "XADD"


#define ngx_adm_needs(zone)                                                   \
    ((ngx_adm_needs_t *)                                                      \
        ngx_adm_zone_data(zone, &ngx_adm_needs_part))


typedef struct {
    size_t      len;                 /* 0: nothing is */
    u_char      name[NGX_ADM_NEEDS_LEN];
    ngx_msec_t  told;                /* when the log was told of this; 0: not
                                        yet */
} ngx_adm_needs_t;


static ngx_int_t ngx_adm_needs_start(ngx_cycle_t *cycle,
    ngx_adm_main_conf_t *mcf);
static void ngx_adm_needs_begin(void);
static void ngx_adm_needs_turn(ngx_log_t *log);
static ngx_msec_t ngx_adm_needs_next(void);
static void ngx_adm_needs_tried(void *data, ngx_int_t rc, redisReply *reply);
static void ngx_adm_needs_note(const char *refused, const char *why);
static void ngx_adm_needs_copy(ngx_adm_zone_t *zone, ngx_adm_zone_t *ozone);


ngx_adm_zone_part_t  ngx_adm_needs_part = {
    .size = sizeof(ngx_adm_needs_t),
    .copy = ngx_adm_needs_copy };

ngx_adm_schedule_part_t  ngx_adm_needs_schedule_part = {
    .start = ngx_adm_needs_start,
    .begin = ngx_adm_needs_begin,
    .turn = ngx_adm_needs_turn,
    .next = ngx_adm_needs_next };


static struct {
    ngx_msec_t                          last;
    ngx_msec_t                          since;      /* when touch with Redis
                                                       began, as of the last
                                                       try */
    unsigned                            out:1;
    unsigned                            due:1;
    unsigned                            stream:1;   /* some event has an
                                                       admissions stream */
} ngx_adm_needs_trial;


static ngx_int_t
ngx_adm_needs_start(ngx_cycle_t *cycle, ngx_adm_main_conf_t *mcf)
{
    ngx_rbtree_node_t  *node;

    ngx_adm_needs_trial.stream = mcf->event_default.admissions_stream;

    if (mcf->events.root == mcf->events.sentinel) {
        return NGX_OK;
    }

    for (node = ngx_rbtree_min(mcf->events.root, mcf->events.sentinel);
         node;
         node = ngx_rbtree_next(&mcf->events, node))
    {
        if (((ngx_adm_event_conf_t *) node)->admissions_stream) {
            ngx_adm_needs_trial.stream = 1;
        }
    }

    return NGX_OK;
}


static void
ngx_adm_needs_begin(void)
{
    ngx_adm_needs_trial.due = 1;
    ngx_adm_needs_trial.last = ngx_current_msec - NGX_ADM_NEEDS_RETRY;
}


static void
ngx_adm_needs_turn(ngx_log_t *log)
{
    ngx_msec_t      since;
    ngx_adm_args_t  args;

    static ngx_str_t  none = ngx_string("");

    since = ngx_adm_touch_shared()->since;

    if (since && since != ngx_adm_needs_trial.since) {
        ngx_adm_needs_trial.since = since;
        ngx_adm_needs_trial.due = 1;
    }

    if (ngx_adm_touch_shared()->refused || ngx_adm_needs(ngx_adm_zone)->len) {
        ngx_adm_needs_trial.due = 1;
    }

    if (ngx_adm_redis == NULL
        || !ngx_adm_needs_trial.due
        || ngx_adm_needs_trial.out
        || ngx_current_msec - ngx_adm_needs_trial.last < NGX_ADM_NEEDS_RETRY)
    {
        return;
    }

    ngx_adm_needs_trial.due = 0;
    ngx_adm_needs_trial.last = ngx_current_msec;
    ngx_adm_touch_shared()->refused = 0;

    ngx_adm_args_begin(&args, NGX_ADM_CALL_NEEDS, &none);
    args.number[NGX_ADM_ARG_NEEDS_STREAM] = ngx_adm_needs_trial.stream;
    args.number[NGX_ADM_ARG_NEEDS_WALL] = ngx_adm_wall();

    if (ngx_adm_args_run(&args, ngx_adm_needs_tried,
                         ngx_alloc(sizeof(ngx_uint_t), log))
        != NULL)
    {
        ngx_adm_needs_trial.out = 1;

    } else {
        ngx_adm_needs_trial.due = 1;
    }
}


static ngx_msec_t
ngx_adm_needs_next(void)
{
    return ngx_adm_redis
           && (ngx_adm_needs_trial.due || ngx_adm_needs(ngx_adm_zone)->len)
           ? NGX_ADM_NEEDS_RETRY : NGX_MAX_INT32_VALUE;
}


static void
ngx_adm_needs_tried(void *data, ngx_int_t rc, redisReply *reply)
{
    char         text[256];
    redisReply  *refused, *why;

    ngx_adm_needs_trial.out = 0;

    if (rc == NGX_ERROR) {
        ngx_adm_needs_trial.due = 1;
        return;
    }

    if (rc == NGX_DECLINED) {
        ngx_adm_needs_note(ngx_strstr(reply->str, "'eval'") ? "EVAL"
                                                            : "EVALSHA",
                           ngx_adm_redis_text(text, sizeof(text), reply));
        return;
    }

    if (reply->type != REDIS_REPLY_ARRAY
        || reply->elements != NGX_ADM_REPLY_NEEDS_COUNT)
    {
        return;
    }

    refused = reply->element[NGX_ADM_REPLY_NEEDS_REFUSED];
    why = reply->element[NGX_ADM_REPLY_NEEDS_WHY];

    if (refused->type == REDIS_REPLY_STRING && why->type == REDIS_REPLY_STRING)
    {
        ngx_adm_needs_note(refused->str,
                           ngx_adm_redis_text(text, sizeof(text), why));
    }
}


static void
ngx_adm_needs_note(const char *refused, const char *why)
{
    size_t            len;
    ngx_uint_t        same, was;
    ngx_adm_needs_t  *needs;

    needs = ngx_adm_needs(ngx_adm_zone);
    len = ngx_min(ngx_strlen(refused), NGX_ADM_NEEDS_LEN);

    ngx_adm_zone_lock(ngx_adm_zone);

    was = (needs->len != 0);
    same = (needs->len == len && ngx_memcmp(needs->name, refused, len) == 0);

    needs->len = len;
    ngx_memcpy(needs->name, refused, len);

    if (!same) {
        needs->told = 0;
    }

    ngx_adm_zone_unlock(ngx_adm_zone);

    if (len == 0) {

        if (was) {
            ngx_log_error(NGX_LOG_NOTICE, ngx_cycle->log, 0, "admission: redis "
                          "runs all commands that the module needs again");
        }

        return;
    }

    if (needs->told && ngx_adm_since(needs->told) < NGX_ADM_NEEDS_REMIND) {
        return;
    }

    needs->told = ngx_adm_mark_now();

    ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0, "admission: redis refuses "
                  "\"%s\", which the module needs: %s", refused, why);
}


void
ngx_adm_needs_refused(ngx_str_t *name, u_char *buf)
{
    ngx_adm_needs_t  *needs;

    needs = ngx_adm_needs(ngx_adm_zone);

    ngx_adm_zone_lock(ngx_adm_zone);

    name->len = needs->len;
    name->data = buf;
    ngx_memcpy(buf, needs->name, needs->len);

    ngx_adm_zone_unlock(ngx_adm_zone);

    if (name->len == sizeof(NGX_ADM_NEEDS_XADD) - 1
        && ngx_strncmp(buf, NGX_ADM_NEEDS_XADD, name->len) == 0)
    {
        name->len = 0;
    }
}


static void
ngx_adm_needs_copy(ngx_adm_zone_t *zone, ngx_adm_zone_t *ozone)
{
    ngx_adm_zone_lock(ozone);

    *ngx_adm_needs(zone) = *ngx_adm_needs(ozone);

    ngx_adm_zone_unlock(ozone);
}
