
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The memory, of an eighth of the zone at most, is taken when it is first
 * needed, and given back when events need it: they go on without Redis only
 * by what the host knows, while the windows just begin anew.
 *
 * It is cut into cells of one size.  A window takes one, and one more
 * for each NGX_ADM_WINDOW_TIMES requests in it if all of them are
 * remembered; the counter counts them in two buckets, as lua/limit.lua does.
 *
 * A window is known by 64 bits of a hash of its key, which is keyed itself:
 * clients that choose theirs can not choose one that is taken for another's.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "local.h"


#define NGX_ADM_WINDOW_SHARE  8          /* one such part of the zone */

/* times that fill a cell; a window needs 64 bytes of one */
#define NGX_ADM_WINDOW_TIMES  14

#define NGX_ADM_WINDOW_CELL   sizeof(ngx_adm_cell_t)

/*
 * With more requests than that it counts in buckets, algorithm=log or not.
 * Requests without room are not counted; a page, the least there is, has room
 * for so many, wherever in a cell the first of them is.
 */
#define NGX_ADM_WINDOW_LOG    800

/* times of requests of a window, the earliest first; ms of the clock */
typedef struct ngx_adm_times_s  ngx_adm_times_t;

struct ngx_adm_times_s {
    ngx_adm_times_t     *next;
    uint32_t             at[NGX_ADM_WINDOW_TIMES];
};


typedef struct ngx_adm_window_s  ngx_adm_window_t;

struct ngx_adm_window_s {
    ngx_adm_window_t    *next;                  /* in the list */
    ngx_queue_t          lru;
    uint64_t             hash;
    ngx_msec_t           used;                  /* when last asked */

    /* of a log: from times->at[skip] on; of a counter: NULL */
    ngx_adm_times_t     *times;

    union {
        ngx_adm_times_t *last;
        ngx_msec_t                  start;      /* ms, of the current bucket */
    } u;

    uint32_t                        n;          /* in the log or bucket */
    uint32_t                        skip;       /* or n of the last bucket */
};


typedef union ngx_adm_cell_u  ngx_adm_cell_t;

union ngx_adm_cell_u {
    ngx_adm_cell_t      *next;       /* of free cells */
    ngx_adm_window_t     window;
    ngx_adm_times_t      times;
};


typedef struct {
    ngx_adm_cell_t      *free;
    ngx_adm_cell_t      *unused;     /* no cell from here on was used yet */
    ngx_adm_cell_t      *end;
    ngx_queue_t          lru;        /* latest first */
    ngx_uint_t           mask;       /* the number of lists, less 1 */
    ngx_adm_window_t   **lists;
} ngx_adm_windows_t;


/* NULL: not made yet */
#define ngx_adm_windows(zone)                                                 \
    (*(ngx_adm_windows_t **) ngx_adm_zone_data(zone, &ngx_adm_windows_part))


static void ngx_adm_windows_empty(ngx_adm_zone_t *zone);
static ngx_uint_t ngx_adm_windows_yield(ngx_adm_zone_t *zone);
static ngx_uint_t ngx_adm_window_logs(ngx_adm_limit_conf_t *conf);
static ngx_adm_windows_t *ngx_adm_windows_locked(ngx_adm_zone_t *zone);
static uint64_t ngx_adm_window_hash(ngx_adm_limit_t *limit);
static ngx_adm_window_t *ngx_adm_window_get_locked(ngx_adm_windows_t *windows,
    uint64_t hash, ngx_uint_t make);
static void ngx_adm_window_look_locked(ngx_adm_windows_t *windows,
    ngx_adm_window_t *window, ngx_adm_limit_t *limit);
static void ngx_adm_window_look_log_locked(ngx_adm_windows_t *windows,
    ngx_adm_window_t *window, ngx_adm_limit_t *limit);
static void ngx_adm_window_look_counter_locked(ngx_adm_window_t *window,
    ngx_adm_limit_t *limit);
static void ngx_adm_window_charge_locked(ngx_adm_windows_t *windows,
    ngx_adm_window_t *window, ngx_adm_limit_t *limit);
static void ngx_adm_window_back_locked(ngx_adm_windows_t *windows,
    ngx_adm_window_t *window, ngx_adm_limit_conf_t *conf);
static void ngx_adm_window_clear_locked(ngx_adm_windows_t *windows,
    ngx_adm_window_t *window);
static void *ngx_adm_window_cell_locked(ngx_adm_windows_t *windows,
    ngx_adm_window_t *keep);
static void ngx_adm_window_free_locked(ngx_adm_windows_t *windows, void *cell);
static void ngx_adm_window_delete_locked(ngx_adm_windows_t *windows,
    ngx_adm_window_t *window);


ngx_adm_zone_part_t  ngx_adm_windows_part = {
    .size = sizeof(ngx_adm_windows_t *),
    .empty = ngx_adm_windows_empty,
    .yield = ngx_adm_windows_yield };


void
ngx_adm_limit_local(ngx_adm_limit_t **limits, ngx_uint_t n)
{
    uint64_t            hash[NGX_ADM_LIMITS_MAX];
    ngx_uint_t          i, refused;
    ngx_adm_zone_t     *zone;
    ngx_adm_window_t   *window;
    ngx_adm_windows_t  *windows;

    for (i = 0; i < n; i++) {
        hash[i] = ngx_adm_window_hash(limits[i]);
    }

    zone = ngx_adm_zone;
    refused = 0;

    ngx_adm_zone_lock(zone);

    windows = ngx_adm_windows_locked(zone);

    for (i = 0; i < n; i++) {
        window = ngx_adm_window_get_locked(windows, hash[i], 0);

        ngx_adm_window_look_locked(windows, window, limits[i]);

        if (limits[i]->left < 0 && !limits[i]->conf->dry_run) {
            refused = 1;
        }
    }

    for (i = 0; i < n && !refused; i++) {

        if (limits[i]->left < 0) {
            continue;
        }

        /* a window that is made may take the place of one looked at before */

        window = ngx_adm_window_get_locked(windows, hash[i], 1);

        if (window) {
            ngx_adm_window_charge_locked(windows, window, limits[i]);
        }

        limits[i]->left--;
        limits[i]->charged = 1;
    }

    ngx_adm_zone_unlock(zone);
}


void
ngx_adm_limit_local_back(ngx_adm_limit_t *limit)
{
    uint64_t            hash;
    ngx_adm_zone_t     *zone;
    ngx_adm_window_t   *window;
    ngx_adm_windows_t  *windows;

    hash = ngx_adm_window_hash(limit);
    zone = ngx_adm_zone;

    ngx_adm_zone_lock(zone);

    windows = ngx_adm_windows(zone);
    window = ngx_adm_window_get_locked(windows, hash, 0);

    if (window) {
        ngx_adm_window_back_locked(windows, window, limit->conf);
    }

    ngx_adm_zone_unlock(zone);
}


static void
ngx_adm_windows_empty(ngx_adm_zone_t *zone)
{
    ngx_adm_windows(zone) = NULL;
}


static ngx_uint_t
ngx_adm_windows_yield(ngx_adm_zone_t *zone)
{
    ngx_adm_windows_t  *windows;

    windows = ngx_adm_windows(zone);

    if (windows == NULL) {
        return 0;
    }

    ngx_slab_free_locked(zone->shpool, windows);
    ngx_adm_windows_empty(zone);

    return 1;
}


/* takes as much memory as there is, within the share; NULL: not even a page */

static ngx_adm_windows_t *
ngx_adm_windows_locked(ngx_adm_zone_t *zone)
{
    size_t              size;
    ngx_uint_t          i, n;
    ngx_adm_windows_t  *windows;

    if (ngx_adm_windows(zone)) {
        return ngx_adm_windows(zone);
    }

    size = (zone->shpool->end - (u_char *) zone->shpool) / NGX_ADM_WINDOW_SHARE;
    size = ngx_max(size, ngx_pagesize);

    for ( ;; ) {
        windows = ngx_slab_alloc_locked(zone->shpool, size);

        if (windows) {
            break;
        }

        size /= 2;

        if (size < ngx_pagesize) {
            return NULL;
        }
    }

    /* a list for every four cells, of which half at most are windows */

    n = size / NGX_ADM_WINDOW_CELL;

    for (i = 1; i * 2 <= n / 4; i *= 2) { /* void */ }

    windows->free = NULL;
    windows->mask = i - 1;
    windows->lists = (ngx_adm_window_t **) (windows + 1);
    ngx_memzero(windows->lists, i * sizeof(ngx_adm_window_t *));

    ngx_queue_init(&windows->lru);

    windows->end = (ngx_adm_cell_t *) windows + n;
    windows->unused = (ngx_adm_cell_t *) windows
                      + ((u_char *) (windows->lists + i) - (u_char *) windows
                         + NGX_ADM_WINDOW_CELL - 1)
                        / NGX_ADM_WINDOW_CELL;

    ngx_adm_windows(zone) = windows;

    return windows;
}


static ngx_uint_t
ngx_adm_window_logs(ngx_adm_limit_conf_t *conf)
{
    return conf->algorithm == NGX_ADM_LIMIT_LOG
           && conf->quota <= NGX_ADM_WINDOW_LOG;
}


static uint64_t
ngx_adm_window_hash(ngx_adm_limit_t *limit)
{
    uint64_t  hash;

    hash = ngx_adm_hash(&ngx_adm_zone->sh->hash_key,
                        limit->key.data, limit->key.len);

    /* with another algorithm it is another window */

    return ngx_adm_window_logs(limit->conf) ? hash : ~hash;
}


/* the window, now the latest used; NULL: none, or no room */

static ngx_adm_window_t *
ngx_adm_window_get_locked(ngx_adm_windows_t *windows, uint64_t hash,
    ngx_uint_t make)
{
    ngx_adm_window_t  *window, **list;

    if (windows == NULL) {
        return NULL;
    }

    list = &windows->lists[hash & windows->mask];

    for (window = *list; window; window = window->next) {

        if (window->hash == hash) {
            ngx_queue_remove(&window->lru);
            ngx_queue_insert_head(&windows->lru, &window->lru);

            return window;
        }
    }

    if (!make) {
        return NULL;
    }

    window = ngx_adm_window_cell_locked(windows, NULL);

    if (window == NULL) {
        return NULL;
    }

    ngx_memzero(window, sizeof(ngx_adm_window_t));

    window->hash = hash;
    window->used = ngx_current_msec;

    window->next = *list;
    *list = window;
    ngx_queue_insert_head(&windows->lru, &window->lru);

    return window;
}


/* drops what has left the window; window NULL: it is empty */

static void
ngx_adm_window_look_locked(ngx_adm_windows_t *windows, ngx_adm_window_t *window,
    ngx_adm_limit_t *limit)
{
    limit->left = limit->conf->quota;
    limit->wait = limit->conf->window * 1000;

    if (window) {

        if (ngx_adm_window_logs(limit->conf)) {
            ngx_adm_window_look_log_locked(windows, window, limit);

        } else {
            ngx_adm_window_look_counter_locked(window, limit);
        }

        window->used = ngx_current_msec;
    }

    if (limit->left < 1) {
        limit->left = -1;
    }
}


static void
ngx_adm_window_look_log_locked(ngx_adm_windows_t *windows,
    ngx_adm_window_t *window, ngx_adm_limit_t *limit)
{
    int32_t           age, length;
    ngx_uint_t        i;
    ngx_adm_times_t  *times;

    length = limit->conf->window * 1000;

    if ((ngx_msec_int_t) (ngx_current_msec - window->used) >= length) {
        /* after so long a pause times would look as if they were yet to come */
        ngx_adm_window_clear_locked(windows, window);
    }

    while (window->n) {

        times = window->times;
        age = (int32_t) ((uint32_t) ngx_current_msec - times->at[window->skip]);

        if (age < length) {
            break;
        }

        window->n--;
        window->skip++;

        if (window->n == 0 || window->skip == NGX_ADM_WINDOW_TIMES)
        {
            window->times = times->next;
            window->skip = 0;
            ngx_adm_window_free_locked(windows, times);
        }
    }

    if (window->n == 0) {
        return;
    }

    limit->left -= window->n;

    /* the limit was higher before: of more than there is room for some go */

    i = window->skip + (limit->left < 0 ? -limit->left : 0);

    for (times = window->times;
         i >= NGX_ADM_WINDOW_TIMES;
         i -= NGX_ADM_WINDOW_TIMES)
    {
        times = times->next;
    }

    age = (int32_t) ((uint32_t) ngx_current_msec - times->at[i]);
    limit->wait -= ngx_max(age, 0);
}


static void
ngx_adm_window_look_counter_locked(ngx_adm_window_t *window,
    ngx_adm_limit_t *limit)
{
    int64_t  age, quota, length, rest;

    quota = limit->conf->quota;
    length = limit->conf->window * 1000;

    /* another worker's time may be a moment later */

    age = (ngx_msec_int_t) (ngx_current_msec - window->u.start);
    age = ngx_max(age, 0);

    if (age >= 2 * length) {
        window->n = 0;
        window->skip = 0;
        window->u.start = ngx_current_msec;
        age = 0;

    } else if (age >= length) {
        window->skip = window->n;
        window->n = 0;
        window->u.start += length;
        age -= length;
    }

    rest = length - age;

    limit->left = quota - window->n
                  - (window->skip * rest + length - 1) / length;
    limit->wait = rest;

    if (limit->left >= 1) {
        return;
    }

    if (window->n < quota) {
        limit->wait -= (quota - 1 - window->n) * length / window->skip;

    } else {
        limit->wait += length - (quota - 1) * length / window->n;
    }
}


static void
ngx_adm_window_charge_locked(ngx_adm_windows_t *windows,
    ngx_adm_window_t *window, ngx_adm_limit_t *limit)
{
    ngx_uint_t        i;
    ngx_adm_times_t  *times;

    if (!ngx_adm_window_logs(limit->conf)) {

        if (window->n == 0 && window->skip == 0) {
            window->u.start = ngx_current_msec;
        }

        window->n++;
        return;
    }

    i = (window->skip + window->n) % NGX_ADM_WINDOW_TIMES;

    if (window->n == 0 || i == 0) {

        times = ngx_adm_window_cell_locked(windows, window);

        if (times == NULL) {
            return;
        }

        times->next = NULL;

        if (window->n) {
            window->u.last->next = times;

        } else {
            window->times = times;
        }

        window->u.last = times;
    }

    window->u.last->at[i] = (uint32_t) ngx_current_msec;
    window->n++;
}


/* takes out the latest, maybe another request's, but as old to within ms */

static void
ngx_adm_window_back_locked(ngx_adm_windows_t *windows, ngx_adm_window_t *window,
    ngx_adm_limit_conf_t *conf)
{
    ngx_adm_times_t  *times;

    if (!ngx_adm_window_logs(conf)) {

        if (window->n) {
            window->n--;

        } else if (window->skip) {
            window->skip--;
        }

        return;
    }

    if (window->n == 0) {
        return;
    }

    window->n--;

    if (window->n == 0) {
        ngx_adm_window_clear_locked(windows, window);

    } else if ((window->skip + window->n) % NGX_ADM_WINDOW_TIMES
               == 0)
    {
        /* was it the only one in its cell? */

        for (times = window->times;
             times->next != window->u.last;
             times = times->next)
        {
            /* void */
        }

        ngx_adm_window_free_locked(windows, window->u.last);

        times->next = NULL;
        window->u.last = times;
    }
}


static void
ngx_adm_window_clear_locked(ngx_adm_windows_t *windows,
    ngx_adm_window_t *window)
{
    ngx_adm_times_t  *times, *next;

    for (times = window->times; times; times = next) {
        next = times->next;
        ngx_adm_window_free_locked(windows, times);
    }

    window->times = NULL;
    window->n = 0;
    window->skip = 0;
}


/* NULL: all memory is the window that has to stay */

static void *
ngx_adm_window_cell_locked(ngx_adm_windows_t *windows, ngx_adm_window_t *keep)
{
    ngx_queue_t       *q;
    ngx_adm_cell_t    *cell;
    ngx_adm_window_t  *window;

    if (windows->free == NULL && windows->unused < windows->end) {
        return windows->unused++;
    }

    while (windows->free == NULL) {

        q = ngx_queue_last(&windows->lru);
        window = ngx_queue_data(q, ngx_adm_window_t, lru);

        if (q == ngx_queue_sentinel(&windows->lru) || window == keep) {
            return NULL;
        }

        ngx_adm_window_delete_locked(windows, window);
    }

    cell = windows->free;
    windows->free = cell->next;

    return cell;
}


static void
ngx_adm_window_free_locked(ngx_adm_windows_t *windows, void *cell)
{
    ngx_adm_cell_t *c = cell;

    c->next = windows->free;
    windows->free = c;
}


static void
ngx_adm_window_delete_locked(ngx_adm_windows_t *windows,
    ngx_adm_window_t *window)
{
    ngx_adm_window_t  **p;

    ngx_adm_window_clear_locked(windows, window);

    for (p = &windows->lists[window->hash & windows->mask];
         *p != window;
         p = &(*p)->next)
    {
        /* void */
    }

    *p = window->next;

    ngx_queue_remove(&window->lru);
    ngx_adm_window_free_locked(windows, window);
}
