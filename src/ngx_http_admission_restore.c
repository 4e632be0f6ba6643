
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What was reported is remembered in a table of fixed size by a hash of user,
 * event and epoch: a slot taken by another user costs a second report, which
 * does no harm.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_admission_conf.h"
#include "ngx_http_admission_queue.h"
#include "ngx_http_admission_restore.h"
#include "ngx_http_admission_zone.h"


#define NGX_HTTP_ADMISSION_REPORTED  4096


static uint32_t *ngx_http_admission_restore_slot(
    ngx_http_admission_claims_t *entry, int64_t epoch);
static void ngx_http_admission_restore_done(void *data, ngx_int_t rc,
    ngx_http_admission_queue_answer_t *answer);


static uint32_t  ngx_http_admission_reported[NGX_HTTP_ADMISSION_REPORTED];


void
ngx_http_admission_restore_report(ngx_http_request_t *r,
    ngx_http_admission_claims_t *entry)
{
    int64_t                            age;
    uint32_t                          *slot;
    ngx_http_admission_queue_ask_t     ask;
    ngx_http_admission_main_conf_t    *mcf;
    ngx_http_admission_event_conf_t   *conf;
    ngx_http_admission_event_now_t     now;
    ngx_http_admission_event_state_t   state;

    ngx_http_admission_event_get(&entry->sub, &state, &now);

    if (entry->adm == 0 || entry->adm >= state.epoch) {
        return;
    }

    mcf = ngx_http_get_module_main_conf(r, ngx_http_admission_module);

    conf = ngx_http_admission_event_conf(mcf, &entry->sub);
    if (conf == NULL) {
        return;
    }

    /* the token itself may be the first to know of an earlier life */

    age = (ngx_http_admission_now_us() - state.epoch) / 1000;

    if (now.restore == 0 && age >= (int64_t) conf->restore_wait) {
        return;
    }

    slot = ngx_http_admission_restore_slot(entry, state.epoch);
    if (slot == NULL) {
        return;
    }

    ngx_memzero(&ask, sizeof(ngx_http_admission_queue_ask_t));

    ask.event = entry->sub;
    ask.conf = conf;
    ask.user = entry->uid;
    ask.mode = NGX_HTTP_ADMISSION_QUEUE_RESTORE;
    ask.entry = entry;

    if (ngx_http_admission_queue_ask(&ask, ngx_http_admission_restore_done,
                                     slot)
        == NULL)
    {
        *slot = 0;
    }
}


/* NULL: reported already */

static uint32_t *
ngx_http_admission_restore_slot(ngx_http_admission_claims_t *entry,
    int64_t epoch)
{
    uint32_t  hash, *slot;

    ngx_crc32_init(hash);
    ngx_crc32_update(&hash, entry->sub.data, entry->sub.len);
    ngx_crc32_update(&hash, entry->uid.data, entry->uid.len);
    ngx_crc32_update(&hash, (u_char *) &epoch, sizeof(int64_t));
    ngx_crc32_final(hash);

    slot = &ngx_http_admission_reported[hash % NGX_HTTP_ADMISSION_REPORTED];

    if (*slot == hash) {
        return NULL;
    }

    *slot = hash;

    return slot;
}


static void
ngx_http_admission_restore_done(void *data, ngx_int_t rc,
    ngx_http_admission_queue_answer_t *answer)
{
    uint32_t  *slot = data;

    if (rc != NGX_OK) {
        /* the next request tells again */
        *slot = 0;
    }
}
