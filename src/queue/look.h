
/*
 * Copyright (C) 2026 the admission module authors
 *
 * How somebody stands in a queue who opens a page of it without a call of the
 * API: as status tells, but only of users who show a place or an entry token.
 */


#ifndef _NGX_ADM_QUEUE_LOOK_H_INCLUDED_
#define _NGX_ADM_QUEUE_LOOK_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "api.h"


typedef struct ngx_adm_queue_look_s  ngx_adm_queue_look_t;

/*
 * answer NULL: Redis did not answer; otherwise its state is NOT_IN, WAITING or
 * ACTIVE.  Returns what a content handler returns.
 */
typedef ngx_int_t (*ngx_adm_queue_look_pt)(ngx_adm_queue_look_t *look,
    ngx_adm_queue_answer_t *answer);

struct ngx_adm_queue_look_s {
    ngx_adm_api_call_t      *call;       /* request, ctx, lcf, event and conf;
                                            who is set */
    ngx_adm_queue_look_pt    done;
    void                    *data;       /* for done */
};


/*
 * NGX_DECLINED: nothing is shown, and Redis was not asked.  Otherwise runs
 * done, before it returns or later, unless the client goes, and returns what a
 * content handler returns. look is in the request's pool.
 */
ngx_int_t ngx_adm_queue_look(ngx_adm_queue_look_t *look);

/*
 * Sets the cookie that goes with an answer: the place of a user who waits, the
 * entry token of one who is in.  NGX_ERROR: no memory.
 */
ngx_int_t ngx_adm_queue_look_cookie(ngx_adm_queue_look_t *look,
    ngx_adm_queue_answer_t *answer);


#endif /* _NGX_ADM_QUEUE_LOOK_H_INCLUDED_ */
