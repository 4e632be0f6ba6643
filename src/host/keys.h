
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Sources of public keys: files, which each worker reads again when they
 * change, and locations, whose answers are in the zone for all workers.
 */


#ifndef _NGX_ADM_HOST_KEYS_H_INCLUDED_
#define _NGX_ADM_HOST_KEYS_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "../token/key.h"
#include "zone.h"


/*
 * Reads the file of a source, and replaces its set if there is another one in
 * it.  NGX_DECLINED: no set; *why says so in a constant text, and the old set
 * stays; *err is set if a system call failed.  NGX_ERROR: no memory.
 */
ngx_int_t ngx_adm_keys_read(ngx_adm_key_source_t *source, ngx_log_t *log,
    const char **why, ngx_err_t *err);

/* tells the log of keys in a set, just read, that can't be used */
void ngx_adm_keys_warn(ngx_adm_key_source_t *source, ngx_log_t *log);

/*
 * To be called before tokens are verified: brings the sets up to date, and
 * logs what has changed.  Files are looked at now and then.
 */
void ngx_adm_keys_look(ngx_adm_keyring_t *ring, ngx_log_t *log);

/* makes the set of a location from the text that is in the zone now */
void ngx_adm_keys_take(ngx_adm_key_source_t *source, ngx_log_t *log);

/* a number for a name, the same whatever the configuration; never 0 */
uint64_t ngx_adm_keys_id(ngx_str_t *name);

/* whether some worker of this host is asking a location of the ring */
ngx_uint_t ngx_adm_keys_asking(ngx_adm_keyring_t *ring);

/*
 * A location may have to be asked: a token names a key that is not at hand;
 * or, with again, only because of the time.  NGX_OK: the caller asks, and has
 * to call _answer() or _abandon(); NGX_AGAIN: somebody else is asking;
 * NGX_BUSY: somebody has just asked, and got an answer, or, NGX_ERROR, none;
 * NGX_DECLINED: not yet. *asked, set with NGX_OK, is for those two: an answer
 * to a later question is told from it.
 */
ngx_int_t ngx_adm_keys_ask(ngx_adm_key_source_t *source, ngx_uint_t again,
    ngx_msec_t *asked);

/* the location's answer; NULL: nothing of use */
void ngx_adm_keys_answer(ngx_adm_key_source_t *source, ngx_msec_t asked,
    ngx_str_t *text, const char *why, ngx_log_t *log);

/*
 * The caller goes before there is an answer: another that waits takes over;
 * but only once, so that nobody can have a location asked more often by going.
 */
void ngx_adm_keys_abandon(ngx_adm_key_source_t *source, ngx_msec_t asked);


extern ngx_adm_zone_part_t  ngx_adm_keys_part;
extern ngx_adm_zone_part_t  ngx_adm_key_files_part;


#endif /* _NGX_ADM_HOST_KEYS_H_INCLUDED_ */
