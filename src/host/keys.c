
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Files of keys.  Each worker looks at them by itself, when a token comes:
 * what nobody asks for need not be known.  The log is told by the first of the
 * host.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/clock.h"
#include "../base/text.h"
#include "keys.h"


#define NGX_ADM_KEYS_LOOK    5000    /* ms: a change is seen by then */

#define NGX_ADM_KEYS_TOLD    64      /* files that the log tells apart */

#define NGX_ADM_KEYS_SETTLE  2       /* s in which a file may change again
                                        without another time of change */


/* what the host knows of a file, so that one worker tells the log */
typedef struct {
    uint64_t        id;
    uint64_t        what;
} ngx_adm_keys_told_t;


#define ngx_adm_keys_told(zone)                                               \
    ((ngx_adm_keys_told_t *) ngx_adm_zone_data(zone, &ngx_adm_key_files_part))


static void ngx_adm_key_files_empty(ngx_adm_zone_t *zone);
static ngx_int_t ngx_adm_keys_file(ngx_adm_key_source_t *source, u_char *buf,
    ngx_str_t *text, const char **why, ngx_err_t *err);
static ngx_uint_t ngx_adm_keys_changed(ngx_adm_key_source_t *source,
    ngx_file_info_t *fi);
static void ngx_adm_keys_again(ngx_adm_key_source_t *source, ngx_log_t *log);
static ngx_uint_t ngx_adm_keys_news(ngx_adm_key_source_t *source,
    u_char *text, size_t len);
static ngx_adm_keys_told_t *ngx_adm_keys_told_locked(uint64_t id);


ngx_adm_zone_part_t  ngx_adm_key_files_part = {
    .size = NGX_ADM_KEYS_TOLD * sizeof(ngx_adm_keys_told_t),
    .empty = ngx_adm_key_files_empty };


static void
ngx_adm_key_files_empty(ngx_adm_zone_t *zone)
{
    ngx_memzero(ngx_adm_keys_told(zone), ngx_adm_key_files_part.size);
}


ngx_int_t
ngx_adm_keys_read(ngx_adm_key_source_t *source, ngx_log_t *log,
    const char **why, ngx_err_t *err)
{
    u_char            *buf;
    ngx_int_t          rc;
    ngx_str_t          text;
    ngx_adm_keyset_t  *set;

    *err = 0;
    *why = NULL;

    buf = ngx_alloc(NGX_ADM_KEYSET_MAX + 1, log);
    if (buf == NULL) {
        return NGX_ERROR;
    }

    source->looked = ngx_current_msec;

    rc = ngx_adm_keys_file(source, buf, &text, why, err);

    if (rc == NGX_OK
        && (source->set == NULL
            || !ngx_adm_str_same(&source->set->text, &text)))
    {
        set = ngx_adm_keyset_create(&text, source->pem, log, why);

        if (set) {
            ngx_adm_key_source_set(source, set);

        } else {
            rc = *why ? NGX_DECLINED : NGX_ERROR;
        }
    }

    ngx_free(buf);

    return rc;
}


static ngx_int_t
ngx_adm_keys_file(ngx_adm_key_source_t *source, u_char *buf, ngx_str_t *text,
    const char **why, ngx_err_t *err)
{
    ssize_t          n;
    ngx_fd_t         fd;
    ngx_int_t        rc;
    ngx_file_info_t  fi;

    fd = ngx_open_file(source->name.data, NGX_FILE_RDONLY|NGX_FILE_NONBLOCK,
                       NGX_FILE_OPEN, 0);

    if (fd == NGX_INVALID_FILE) {
        *why = ngx_open_file_n " failed";
        *err = ngx_errno;
        return NGX_DECLINED;
    }

    rc = NGX_DECLINED;
    text->data = buf;
    text->len = 0;

    if (ngx_fd_info(fd, &fi) == NGX_FILE_ERROR) {
        *why = ngx_fd_info_n " failed";
        *err = ngx_errno;
        goto done;
    }

    if (!ngx_is_file(&fi)) {
        *why = "not a file";
        goto done;
    }

    /* even if it is of no use, so that the log is told once */

    (void) ngx_adm_keys_changed(source, &fi);

    do {
        n = ngx_read_fd(fd, buf + text->len,
                        NGX_ADM_KEYSET_MAX + 1 - text->len);
        if (n == -1) {
            *why = ngx_read_fd_n " failed";
            *err = ngx_errno;
            goto done;
        }

        text->len += n;

    } while (n && text->len <= NGX_ADM_KEYSET_MAX);

    if (text->len > NGX_ADM_KEYSET_MAX) {
        *why = "longer than 1048576 bytes";
        goto done;
    }

    rc = NGX_OK;

done:

    (void) ngx_close_file(fd);

    return rc;
}


/* whether it changed since this was last asked; just changed, it may again */

static ngx_uint_t
ngx_adm_keys_changed(ngx_adm_key_source_t *source, ngx_file_info_t *fi)
{
    time_t      mtime;
    ngx_uint_t  changed;

    mtime = ngx_file_mtime(fi);

    changed = source->mtime != mtime
              || source->size != ngx_file_size(fi)
              || source->uniq != ngx_file_uniq(fi);

    source->mtime = ngx_time() - mtime < NGX_ADM_KEYS_SETTLE ? 0 : mtime;
    source->size = ngx_file_size(fi);
    source->uniq = ngx_file_uniq(fi);

    return changed;
}


void
ngx_adm_keys_warn(ngx_adm_key_source_t *source, ngx_log_t *log)
{
    ngx_adm_keyset_t  *set;

    set = source->set;

    if (set->skipped) {
        ngx_log_error(NGX_LOG_WARN, log, 0,
                      "admission: of the keys of \"%V\" %ui can not be used, "
                      "the first, \"%V\": %s",
                      &source->name, set->skipped, &set->kid, set->why);
    }
}


void
ngx_adm_keys_look(ngx_adm_keyring_t *ring, ngx_log_t *log)
{
    ngx_uint_t             i;
    ngx_file_info_t        fi;
    ngx_adm_key_source_t  *sources;

    sources = ring->sources.elts;

    for (i = 0; i < ring->sources.nelts; i++) {

        if (sources[i].uri) {
            ngx_adm_keys_take(&sources[i], log);
            continue;
        }

        if (ngx_adm_since(sources[i].looked) < NGX_ADM_KEYS_LOOK) {
            continue;
        }

        sources[i].looked = ngx_current_msec;

        /* a file that is gone for a moment is about to come back */

        if (ngx_file_info(sources[i].name.data, &fi) == NGX_FILE_ERROR) {
            ngx_memzero(&fi, sizeof(ngx_file_info_t));
        }

        if (ngx_adm_keys_changed(&sources[i], &fi)) {
            ngx_adm_keys_again(&sources[i], log);
        }
    }
}


static void
ngx_adm_keys_again(ngx_adm_key_source_t *source, ngx_log_t *log)
{
    uint64_t           id;
    ngx_int_t          rc;
    ngx_err_t          err;
    const char        *why;
    ngx_adm_keyset_t  *set;

    id = source->set ? source->set->id : 0;

    rc = ngx_adm_keys_read(source, ngx_cycle->log, &why, &err);

    if (rc == NGX_DECLINED) {

        source->refused = 1;

        if (ngx_adm_keys_news(source, (u_char *) why, ngx_strlen(why))) {
            ngx_log_error(NGX_LOG_ERR, log, err,
                          "admission: the keys of \"%V\" stay as they were, of "
                          "what is there now none can be had: %s",
                          &source->name, why);
        }

        return;
    }

    if (rc != NGX_OK) {
        return;
    }

    set = source->set;

    /* a worker that was slow to look has seen less than others have told */

    if (set->id == id && !source->refused) {
        return;
    }

    source->refused = 0;

    if (ngx_adm_keys_news(source, set->text.data, set->text.len)
        && set->id != id)
    {
        ngx_log_error(NGX_LOG_NOTICE, log, 0,
                      "admission: the keys of \"%V\" have changed, there are "
                      "%ui", &source->name, set->keys.nelts);

        ngx_adm_keys_warn(source, log);
    }
}


/* whether no other worker of the host has just seen the same of the file */

static ngx_uint_t
ngx_adm_keys_news(ngx_adm_key_source_t *source, u_char *text, size_t len)
{
    uint64_t              id, what;
    ngx_uint_t            news;
    ngx_adm_keys_told_t  *told;

    id = ngx_adm_keys_id(&source->name);
    what = (uint64_t) ngx_crc32_long(text, len) << 32
           | (uint32_t) (source->size ^ source->uniq);

    ngx_adm_zone_lock(ngx_adm_zone);

    told = ngx_adm_keys_told_locked(id);

    news = told->id != id || told->what != what;

    told->id = id;
    told->what = what;

    ngx_adm_zone_unlock(ngx_adm_zone);

    return news;
}


/* the file's entry, a free one or, of too many files, another's */

static ngx_adm_keys_told_t *
ngx_adm_keys_told_locked(uint64_t id)
{
    ngx_uint_t            i, n;
    ngx_adm_keys_told_t  *told;

    told = ngx_adm_keys_told(ngx_adm_zone);

    for (i = 0; i < NGX_ADM_KEYS_TOLD; i++) {
        n = ((id >> 32) + i) % NGX_ADM_KEYS_TOLD;

        if (told[n].id == id || told[n].id == 0) {
            return &told[n];
        }
    }

    return &told[(id >> 32) % NGX_ADM_KEYS_TOLD];
}
