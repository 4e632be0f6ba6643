
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The Redis client of a worker, on NGINX's event loop.  hiredis is the
 * protocol codec only; the connections are NGINX's.
 *
 * Callers see a client, calls and completions: which node answers, over
 * what, after how many redirects, and whether a breaker lets a call out at
 * all, is the client's business.
 *
 * A call has one owner, one deadline, and exactly one completion, unless it
 * is cancelled: then none.  A call that may have reached Redis is never sent
 * again.
 */


#ifndef _NGX_ADM_REDIS_CLIENT_H_INCLUDED_
#define _NGX_ADM_REDIS_CLIENT_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "call.h"
#include "command.h"
#include "settings.h"


/*
 * Whether all keys are on one node, so that a script may have keys of several
 * events; where they are not, a script has keys of one slot only.
 */
ngx_uint_t ngx_adm_redis_one_node(ngx_adm_redis_t *redis);

/* the worker's client, connected on first use; NULL: no memory */
ngx_adm_redis_t *ngx_adm_redis_create(ngx_cycle_t *cycle,
    ngx_adm_redis_conf_t *conf);

/*
 * Closes every connection; calls still out complete with NGX_ERROR first.
 * For exit_process: no call may be issued after it.
 */
void ngx_adm_redis_close(ngx_adm_redis_t *redis);


/*
 * Issues a command.  argv[key] is the key that decides about the node, key
 * = 0 if there is none.  The arguments are copied.  NULL: it could not be
 * issued at all (no memory, no connection to be had, Redis known to be
 * down): there is no completion then, and the caller treats it as
 * NGX_ERROR.  done NULL: nobody wants to know.
 */
ngx_adm_redis_call_t *ngx_adm_redis_call(ngx_adm_redis_t *redis,
    ngx_uint_t argc, ngx_str_t *argv, ngx_uint_t key,
    ngx_adm_redis_done_pt done, void *data);

/*
 * Runs a script by EVALSHA; if and only if the answer is NOSCRIPT, the same
 * arguments are sent once more by EVAL, within the same deadline.  argv is
 * the keys and arguments, argv[0] a key.  The script has to outlive the call.
 * See script.h, which is what callers use.
 */
ngx_adm_redis_call_t *ngx_adm_redis_eval(ngx_adm_redis_t *redis,
    ngx_adm_redis_script_t *script, ngx_uint_t nkeys, ngx_uint_t argc,
    ngx_str_t *argv, ngx_adm_redis_done_pt done, void *data);

/*
 * The same with keys that are made once for many calls; argv is the arguments
 * alone. script NULL: argv is a command, and keys->first decides about the
 * node.
 */
ngx_adm_redis_call_t *ngx_adm_redis_issue(ngx_adm_redis_t *redis,
    ngx_adm_redis_script_t *script, ngx_adm_redis_keys_t *keys, ngx_uint_t argc,
    ngx_str_t *argv, ngx_adm_redis_done_pt done, void *data);

/*
 * Calls issued while this is on are waited for by nobody: a worker that leaves
 * does not stay for them.  Returns whether it was on.
 */
ngx_uint_t ngx_adm_redis_background(ngx_adm_redis_t *redis, ngx_uint_t on);

/*
 * Calls issued from now on have this deadline (of ngx_current_msec) where it
 * is earlier than their own: whoever waits has spent a part of the time
 * before. 0: each call has its own.
 */
void ngx_adm_redis_until(ngx_adm_redis_t *redis, ngx_msec_t deadline);

/* whether somebody waits for the call, which is completed in any case */
void ngx_adm_redis_want(ngx_adm_redis_call_t *call, ngx_uint_t wanted);

/* the worker has begun to leave; may be called again */
void ngx_adm_redis_leave(ngx_adm_redis_t *redis);

/*
 * Memory of ngx_alloc() that belongs to the call from now on, such as what
 * data points to: freed after the completion, or when the reply of a cancelled
 * call has been dropped.
 */
void ngx_adm_redis_own(ngx_adm_redis_call_t *call, void *memory);

/*
 * The answer matters to others than the owner: the completion is called even
 * after a cancel, and a second time after a deadline, with data that detach
 * has parted from the owner.  So data has to outlive the owner (see _own()).
 */
void ngx_adm_redis_on_detach(ngx_adm_redis_call_t *call,
    ngx_adm_redis_detach_pt detach);

/*
 * The owner of a call goes away: its completion will not be called, the reply
 * is read and dropped.  Not after the completion.
 */
void ngx_adm_redis_cancel(void *call);


#endif /* _NGX_ADM_REDIS_CLIENT_H_INCLUDED_ */
