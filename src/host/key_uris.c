
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Locations that answer key sets.  Each has an entry in the zone: which worker
 * of the host asks it, since when, and the text that it last answered.  Each
 * worker makes its set from that text, which may be long and so is copied in
 * steps.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/clock.h"
#include "../base/hash.h"
#include "../base/text.h"
#include "keys.h"


#define NGX_ADM_KEYS_STEP    16384   /* bytes that are copied under one lock */

#define NGX_ADM_KEYS_MIN     32      /* locations */
#define NGX_ADM_KEYS_MAX     1024
#define NGX_ADM_KEYS_ZONE    32768   /* bytes of the zone, for each of them */

#define NGX_ADM_KEYS_ONCE    10000   /* ms in which a location is asked once */
#define NGX_ADM_KEYS_OLD     600000  /* ms after which it is asked again */
#define NGX_ADM_KEYS_LAST    86400000    /* ms for which an answer counts */


typedef struct {
    uint64_t        id;              /* 0: the entry is free */
    ngx_uint_t      version;         /* of the text; 0: none */
    ngx_uint_t      generation;      /* of the configuration that asked */
    u_char         *text;
    size_t          len;
    u_char         *coming;          /* the next text; NULL: none */
    ngx_uint_t      next;            /* the version it will have */
    ngx_msec_t      got;             /* when it last answered */
    ngx_msec_t      asked;           /* 0: never, or in vain */
    ngx_pid_t       asking;          /* 0: nobody is */
    ngx_uint_t      handed_on;       /* bool: to another who waited, once */
    ngx_uint_t      failed;          /* bool: no answer the last time */
} ngx_adm_keys_entry_t;


/* followed by its entries */
typedef struct {
    ngx_uint_t            versions;
    ngx_uint_t            n;
} ngx_adm_keys_t;


#define ngx_adm_keys(zone)                                                    \
    ((ngx_adm_keys_t *) ngx_adm_zone_data(zone, &ngx_adm_keys_part))

#define ngx_adm_keys_entries(keys)                                            \
    ((ngx_adm_keys_entry_t *) ((keys) + 1))


static size_t ngx_adm_keys_more(size_t size);
static ngx_uint_t ngx_adm_keys_number(size_t size);
static void ngx_adm_keys_make(ngx_adm_zone_t *zone);
static void ngx_adm_keys_empty(ngx_adm_zone_t *zone);
static void ngx_adm_keys_copy(ngx_adm_zone_t *zone, ngx_adm_zone_t *ozone);
static ngx_int_t ngx_adm_keys_copy_entry(ngx_adm_zone_t *zone,
    ngx_adm_zone_t *ozone, ngx_adm_keys_entry_t *entry,
    ngx_adm_keys_entry_t *from);
static ngx_adm_keys_entry_t *ngx_adm_keys_entry(ngx_adm_key_source_t *source);
static ngx_adm_keys_entry_t *ngx_adm_keys_entry_locked(
    ngx_adm_key_source_t *source);
static ngx_uint_t ngx_adm_keys_recent(ngx_adm_keys_entry_t *entry);
static ngx_int_t ngx_adm_keys_read_text(ngx_adm_zone_t *zone,
    ngx_adm_keys_entry_t *entry, uint64_t id, ngx_uint_t version, u_char *buf,
    size_t len);
static ngx_int_t ngx_adm_keys_put(ngx_adm_key_source_t *source,
    ngx_msec_t asked, ngx_str_t *text);
static ngx_int_t ngx_adm_keys_fill(ngx_adm_key_source_t *source,
    ngx_uint_t version, ngx_str_t *text);
static void ngx_adm_keys_whole_locked(ngx_adm_keys_entry_t *entry, size_t len);
static void ngx_adm_keys_free_locked(ngx_adm_keys_entry_t *entry);


ngx_adm_zone_part_t  ngx_adm_keys_part = {
    .size = sizeof(ngx_adm_keys_t),
    .more = ngx_adm_keys_more,
    .make = ngx_adm_keys_make,
    .empty = ngx_adm_keys_empty,
    .copy = ngx_adm_keys_copy };


static size_t
ngx_adm_keys_more(size_t size)
{
    return ngx_adm_keys_number(size) * sizeof(ngx_adm_keys_entry_t);
}


static ngx_uint_t
ngx_adm_keys_number(size_t size)
{
    size /= NGX_ADM_KEYS_ZONE;

    return ngx_min(ngx_max(size, NGX_ADM_KEYS_MIN), NGX_ADM_KEYS_MAX);
}


static void
ngx_adm_keys_make(ngx_adm_zone_t *zone)
{
    ngx_adm_keys(zone)->n = ngx_adm_keys_number(zone->sh->size);
}


/* the slab pool, where texts were, is new */

static void
ngx_adm_keys_empty(ngx_adm_zone_t *zone)
{
    ngx_adm_keys_t  *keys;

    keys = ngx_adm_keys(zone);

    /*
     * versions go on, so that no worker takes another text for the one it has
     */

    ngx_memzero(ngx_adm_keys_entries(keys),
                keys->n * sizeof(ngx_adm_keys_entry_t));
}


/* keys outlive a change of the zone's size, since the service may be away */

static void
ngx_adm_keys_copy(ngx_adm_zone_t *zone, ngx_adm_zone_t *ozone)
{
    ngx_uint_t             i, n;
    ngx_adm_keys_t        *okeys;
    ngx_adm_keys_entry_t  *entry, *from;

    okeys = ngx_adm_keys(ozone);
    entry = ngx_adm_keys_entries(ngx_adm_keys(zone));
    n = ngx_adm_keys(zone)->n;

    ngx_adm_zone_lock(ozone);

    ngx_adm_keys(zone)->versions = okeys->versions;

    ngx_adm_zone_unlock(ozone);

    for (i = 0; i < okeys->n && n; i++) {
        from = &ngx_adm_keys_entries(okeys)[i];

        if (ngx_adm_keys_copy_entry(zone, ozone, entry, from) == NGX_OK) {
            entry++;
            n--;
        }
    }
}


/* NGX_DECLINED: there is nothing to copy, or no room */

static ngx_int_t
ngx_adm_keys_copy_entry(ngx_adm_zone_t *zone, ngx_adm_zone_t *ozone,
    ngx_adm_keys_entry_t *entry, ngx_adm_keys_entry_t *from)
{
    u_char                *text;
    ngx_adm_keys_entry_t   copy;

    ngx_adm_zone_lock(ozone);

    copy = *from;

    ngx_adm_zone_unlock(ozone);

    if (copy.version == 0) {
        return NGX_DECLINED;
    }

    text = ngx_adm_zone_alloc_locked(zone, copy.len);
    if (text == NULL) {
        return NGX_DECLINED;
    }

    if (ngx_adm_keys_read_text(ozone, from, copy.id, copy.version, text,
                               copy.len)
        != NGX_OK)
    {
        ngx_slab_free_locked(zone->shpool, text);
        return NGX_DECLINED;
    }

    entry->id = copy.id;
    entry->version = copy.version;
    entry->text = text;
    entry->len = copy.len;
    entry->got = copy.got;
    entry->asked = copy.asking ? 0 : copy.asked;
    entry->failed = copy.failed;

    return NGX_OK;
}


uint64_t
ngx_adm_keys_id(ngx_str_t *name)
{
    uint64_t                   id;
    static ngx_adm_hash_key_t  key;     /* a fixed key: nobody chooses these
                                           names */

    id = ngx_adm_hash(&key, name->data, name->len);

    return id ? id : 1;
}


/* read without the lock: whoever acts on it looks again */

static ngx_adm_keys_entry_t *
ngx_adm_keys_entry(ngx_adm_key_source_t *source)
{
    ngx_uint_t             i;
    ngx_adm_keys_t        *keys;
    ngx_adm_keys_entry_t  *entries;

    keys = ngx_adm_keys(ngx_adm_zone);
    entries = ngx_adm_keys_entries(keys);

    /* where it was last; elsewhere, if others had to go meanwhile */

    if (entries[source->entry].id == source->id) {
        return &entries[source->entry];
    }

    for (i = 0; i < keys->n; i++) {
        if (entries[i].id == source->id) {
            source->entry = i;
            return &entries[i];
        }
    }

    return NULL;
}


/*
 * A new entry takes the place of the one asked longest ago.  NULL: all were
 * asked just now; if they were forgotten they would be asked again.
 */

static ngx_adm_keys_entry_t *
ngx_adm_keys_entry_locked(ngx_adm_key_source_t *source)
{
    ngx_uint_t             i;
    ngx_adm_keys_t        *keys;
    ngx_adm_keys_entry_t  *entry, *oldest;

    entry = ngx_adm_keys_entry(source);

    if (entry) {
        return entry;
    }

    keys = ngx_adm_keys(ngx_adm_zone);
    entry = ngx_adm_keys_entries(keys);
    oldest = entry;

    for (i = 0; i < keys->n; i++, entry++) {

        if (entry->id == 0) {
            oldest = entry;
            break;
        }

        if (ngx_adm_since(entry->asked) > ngx_adm_since(oldest->asked)) {
            oldest = entry;
        }
    }

    if (oldest->id && oldest->asked
        && ngx_adm_since(oldest->asked) < NGX_ADM_KEYS_ONCE)
    {
        return NULL;
    }

    ngx_adm_keys_free_locked(oldest);

    ngx_memzero(oldest, sizeof(ngx_adm_keys_entry_t));

    oldest->id = source->id;

    return oldest;
}


void
ngx_adm_keys_take(ngx_adm_key_source_t *source, ngx_log_t *log)
{
    ngx_str_t              text;
    ngx_uint_t             version;
    const char            *why;
    ngx_adm_keyset_t      *set;
    ngx_adm_keys_entry_t  *entry;

    entry = ngx_adm_keys_entry(source);
    version = entry ? entry->version : 0;

    if (version == source->version && version) {
        source->got = entry->got;
    }

    /* even if the zone has forgotten it, or nobody can be asked again */

    if (source->set && ngx_adm_since(source->got) > NGX_ADM_KEYS_LAST) {
        ngx_adm_key_source_set(source, NULL);
        source->version = 0;
    }

    if (version == 0 || version == source->version
        || ngx_adm_since(entry->got) > NGX_ADM_KEYS_LAST)
    {
        return;
    }

    ngx_adm_zone_lock(ngx_adm_zone);

    version = entry->id == source->id ? entry->version : 0;
    text.len = entry->len;

    ngx_adm_zone_unlock(ngx_adm_zone);

    text.data = version ? ngx_alloc(text.len, log) : NULL;
    if (text.data == NULL) {
        return;
    }

    if (ngx_adm_keys_read_text(ngx_adm_zone, entry, source->id, version,
                               text.data, text.len)
        == NGX_OK)
    {
        set = ngx_adm_keyset_create(&text, 0, ngx_cycle->log, &why);

        if (set) {
            ngx_adm_key_source_set(source, set);
            source->version = version;
            source->got = entry->got;
        }
    }

    ngx_free(text.data);
}


/* NGX_DECLINED: there is another text by now */

static ngx_int_t
ngx_adm_keys_read_text(ngx_adm_zone_t *zone, ngx_adm_keys_entry_t *entry,
    uint64_t id, ngx_uint_t version, u_char *buf, size_t len)
{
    size_t      n, size;
    ngx_uint_t  same;

    for (n = 0; n < len; n += size) {
        size = ngx_min(len - n, NGX_ADM_KEYS_STEP);

        ngx_adm_zone_lock(zone);

        same = entry->id == id && entry->version == version;

        if (same) {
            ngx_memcpy(buf + n, entry->text + n, size);
        }

        ngx_adm_zone_unlock(zone);

        if (!same) {
            return NGX_DECLINED;
        }
    }

    return NGX_OK;
}


ngx_uint_t
ngx_adm_keys_asking(ngx_adm_keyring_t *ring)
{
    ngx_uint_t             i;
    ngx_adm_key_source_t  *sources;
    ngx_adm_keys_entry_t  *entry;

    sources = ring->sources.elts;

    for (i = 0; i < ring->sources.nelts; i++) {

        if (!sources[i].uri) {
            continue;
        }

        entry = ngx_adm_keys_entry(&sources[i]);

        if (entry && entry->asking && ngx_adm_keys_recent(entry)) {
            return 1;
        }
    }

    return 0;
}


/* whether it was asked just now; one whose asker died meanwhile was not */

static ngx_uint_t
ngx_adm_keys_recent(ngx_adm_keys_entry_t *entry)
{
    ngx_pid_t  pid;

    static ngx_pid_t   alive;
    static ngx_msec_t  seen;

    if (entry->asked == 0
        || ngx_adm_since(entry->asked) >= NGX_ADM_KEYS_ONCE)
    {
        return 0;
    }

    pid = entry->asking;

    if (pid == 0 || pid == ngx_pid) {
        return 1;
    }

    /* all who wait ask about the same worker, at the same moment */

    if (pid != alive || seen != ngx_current_msec) {

        if (kill(pid, 0) == -1 && ngx_errno == NGX_ESRCH) {
            return 0;
        }

        alive = pid;
        seen = ngx_current_msec;
    }

    return 1;
}


ngx_int_t
ngx_adm_keys_ask(ngx_adm_key_source_t *source, ngx_uint_t again,
    ngx_msec_t *asked)
{
    ngx_int_t              rc;
    ngx_adm_keys_entry_t  *entry;

    if (again) {
        entry = ngx_adm_keys_entry(source);

        if (entry && entry->generation == ngx_adm_zone->generation
            && ngx_adm_since(entry->got) < NGX_ADM_KEYS_OLD)
        {
            return NGX_DECLINED;
        }
    }

    ngx_adm_zone_lock(ngx_adm_zone);

    entry = ngx_adm_keys_entry_locked(source);

    if (entry == NULL) {
        rc = NGX_ERROR;

    } else if (ngx_adm_keys_recent(entry)) {
        rc = entry->asking ? NGX_AGAIN : entry->failed ? NGX_ERROR : NGX_BUSY;

    } else {
        entry->handed_on = (entry->asked == 0 && entry->handed_on);
        entry->asked = ngx_adm_mark_now();
        entry->asking = ngx_pid;
        *asked = entry->asked;
        rc = NGX_OK;
    }

    ngx_adm_zone_unlock(ngx_adm_zone);

    return rc;
}


void
ngx_adm_keys_answer(ngx_adm_key_source_t *source, ngx_msec_t asked,
    ngx_str_t *text, const char *why, ngx_log_t *log)
{
    ngx_int_t              rc;
    ngx_uint_t             n;
    ngx_adm_keyset_t      *set;
    ngx_adm_keys_entry_t  *entry;

    n = 0;
    set = NULL;

    if (text && source->set && ngx_adm_str_same(&source->set->text, text)) {
        /* as nearly always */
        n = source->set->keys.nelts;

    } else if (text) {
        set = ngx_adm_keyset_create(text, 0, log, &why);
    }

    if (set) {
        n = set->keys.nelts;
        ngx_adm_keyset_destroy(set);
    }

    rc = n ? ngx_adm_keys_put(source, asked, text) : NGX_DECLINED;

    ngx_adm_zone_lock(ngx_adm_zone);

    entry = ngx_adm_keys_entry(source);

    if (entry && entry->asked == asked) {
        entry->asking = 0;
        entry->failed = (rc == NGX_ERROR || n == 0);
    }

    ngx_adm_zone_unlock(ngx_adm_zone);

    if (rc == NGX_ERROR) {
        why = "no room in \"admission_zone\"";
    }

    if (n == 0 || rc == NGX_ERROR) {
        ngx_log_error(NGX_LOG_ERR, log, 0,
                      "admission: no keys from \"%V\", those that were there "
                      "stay: %s", &source->name, why ? why : "no memory");

    } else if (rc == NGX_OK) {
        ngx_log_error(NGX_LOG_NOTICE, log, 0,
                      "admission: the keys of \"%V\" have changed, there are "
                      "%ui", &source->name, n);
    }
}


/* NGX_DECLINED: the text is the same as before, or older; NGX_ERROR: no room */

static ngx_int_t
ngx_adm_keys_put(ngx_adm_key_source_t *source, ngx_msec_t asked,
    ngx_str_t *text)
{
    ngx_int_t              rc;
    ngx_uint_t             same, version;
    ngx_adm_keys_entry_t  *entry;

    same = source->set && ngx_adm_str_same(&source->set->text, text);

    ngx_adm_zone_lock(ngx_adm_zone);

    entry = ngx_adm_keys_entry_locked(source);

    if (entry == NULL
        || (entry->version && (ngx_msec_int_t) (entry->got - asked) > 0
            && entry->asked != asked))
    {
        /*
         * The entry was forgotten for others; or the location was asked once
         * more, and said something newer.
         */
        version = 0;
        rc = NGX_DECLINED;

    } else if (same && entry->version && entry->version == source->version) {
        entry->got = ngx_current_msec;
        entry->generation = ngx_adm_zone->generation;

        version = 0;
        rc = NGX_DECLINED;

    } else {

        if (entry->coming) {
            /* of a worker that died, or is too late */
            ngx_slab_free_locked(ngx_adm_zone->shpool, entry->coming);
        }

        entry->coming = ngx_adm_zone_alloc_locked(ngx_adm_zone, text->len);

        version = ++ngx_adm_keys(ngx_adm_zone)->versions;
        entry->next = version;

        rc = entry->coming ? NGX_OK : NGX_ERROR;
    }

    ngx_adm_zone_unlock(ngx_adm_zone);

    return rc == NGX_OK ? ngx_adm_keys_fill(source, version, text) : rc;
}


/* the text counts once it is whole; NGX_DECLINED: another one came meanwhile */

static ngx_int_t
ngx_adm_keys_fill(ngx_adm_key_source_t *source, ngx_uint_t version,
    ngx_str_t *text)
{
    size_t                 n, size;
    ngx_int_t              rc;
    ngx_adm_keys_entry_t  *entry;

    n = 0;

    do {
        size = ngx_min(text->len - n, NGX_ADM_KEYS_STEP);

        ngx_adm_zone_lock(ngx_adm_zone);

        entry = ngx_adm_keys_entry(source);

        rc = NGX_DECLINED;

        if (entry && entry->coming && entry->next == version) {
            rc = NGX_OK;

            ngx_memcpy(entry->coming + n, text->data + n, size);
            n += size;

            if (n == text->len) {
                ngx_adm_keys_whole_locked(entry, n);
            }
        }

        ngx_adm_zone_unlock(ngx_adm_zone);

    } while (rc == NGX_OK && n < text->len);

    return rc;
}


static void
ngx_adm_keys_whole_locked(ngx_adm_keys_entry_t *entry, size_t len)
{
    if (entry->text) {
        ngx_slab_free_locked(ngx_adm_zone->shpool, entry->text);
    }

    entry->text = entry->coming;
    entry->len = len;
    entry->version = entry->next;
    entry->coming = NULL;

    entry->got = ngx_current_msec;
    entry->generation = ngx_adm_zone->generation;
}


static void
ngx_adm_keys_free_locked(ngx_adm_keys_entry_t *entry)
{
    if (entry->text) {
        ngx_slab_free_locked(ngx_adm_zone->shpool, entry->text);
    }

    if (entry->coming) {
        ngx_slab_free_locked(ngx_adm_zone->shpool, entry->coming);
    }
}


void
ngx_adm_keys_abandon(ngx_adm_key_source_t *source, ngx_msec_t asked)
{
    ngx_adm_keys_entry_t  *entry;

    ngx_adm_zone_lock(ngx_adm_zone);

    entry = ngx_adm_keys_entry(source);

    if (entry && entry->asked == asked) {
        entry->asking = 0;

        if (entry->handed_on) {
            entry->failed = 1;

        } else {
            entry->handed_on = 1;
            entry->asked = 0;
        }
    }

    ngx_adm_zone_unlock(ngx_adm_zone);
}
