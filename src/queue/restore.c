
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What a worker reported is in a table of fixed size, by a hash of user, event
 * and epoch.  If an entry is taken by another user there is a second report,
 * which does no harm.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../base/clock.h"
#include "../host/event_state.h"
#include "../host/settings.h"
#include "queue.h"
#include "restore.h"


#define NGX_ADM_REPORTED  4096


static uint32_t *ngx_adm_restore_mark(ngx_adm_claims_t *entry, int64_t epoch);
static void ngx_adm_restore_done(void *data, ngx_int_t rc,
    ngx_adm_queue_answer_t *answer);


static uint32_t  ngx_adm_reported[NGX_ADM_REPORTED];


void
ngx_adm_restore_report(ngx_http_request_t *r, ngx_adm_claims_t *entry)
{
    int64_t                 age;
    uint32_t               *mark;
    ngx_adm_queue_ask_t     ask;
    ngx_adm_main_conf_t    *mcf;
    ngx_adm_event_conf_t   *conf;
    ngx_adm_event_now_t     now;
    ngx_adm_event_state_t   state;

    ngx_adm_event_get(&entry->sub, &state, &now);

    if (entry->adm == 0 || entry->adm >= state.epoch || entry->uid.len == 0) {
        return;
    }

    mcf = ngx_http_get_module_main_conf(r, ngx_http_admission_module);

    conf = ngx_adm_event_conf(mcf, &entry->sub);
    if (conf == NULL) {
        return;
    }

    /* this token may be the first that shows an earlier epoch */

    age = (ngx_adm_now_us() - state.epoch) / 1000;

    if (now.restore == 0 && age >= (int64_t) conf->restore_wait) {
        return;
    }

    mark = ngx_adm_restore_mark(entry, state.epoch);
    if (mark == NULL) {
        return;
    }

    ngx_log_debug1(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "admission: reports an entry token of an earlier epoch of "
                   "event \"%V\"", &entry->sub);

    ngx_memzero(&ask, sizeof(ngx_adm_queue_ask_t));

    ask.event = entry->sub;
    ask.conf = conf;
    ask.user = entry->uid;
    ask.mode = NGX_ADM_QUEUE_RESTORE;
    ask.entry = entry;

    if (ngx_adm_queue_ask(&ask, ngx_adm_restore_done, mark) == NULL) {
        *mark = 0;
    }
}


/* NULL: the worker has reported it */

static uint32_t *
ngx_adm_restore_mark(ngx_adm_claims_t *entry, int64_t epoch)
{
    uint32_t  hash, *mark;

    ngx_crc32_init(hash);
    ngx_crc32_update(&hash, entry->sub.data, entry->sub.len);
    ngx_crc32_update(&hash, entry->uid.data, entry->uid.len);
    ngx_crc32_update(&hash, (u_char *) &epoch, sizeof(int64_t));
    ngx_crc32_final(hash);

    mark = &ngx_adm_reported[hash % NGX_ADM_REPORTED];

    if (*mark == hash) {
        return NULL;
    }

    *mark = hash;

    return mark;
}


static void
ngx_adm_restore_done(void *data, ngx_int_t rc, ngx_adm_queue_answer_t *answer)
{
    uint32_t  *mark = data;

    if (rc != NGX_OK) {
        /* to be reported by the next request */
        *mark = 0;
    }
}
