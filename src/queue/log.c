
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What the log is told of queues.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/clock.h"
#include "../host/event_state.h"
#include "../redis/reply.h"
#include "log.h"


void
ngx_adm_queue_log(ngx_str_t *event, ngx_uint_t news, ngx_msec_t restore)
{
    if (news & NGX_ADM_NEWS_LOST) {
        ngx_log_error(NGX_LOG_WARN, ngx_cycle->log, 0, "admission: redis had "
                      "lost data of the queue of event \"%V\"", event);
    }

    if (news & NGX_ADM_NEWS_RESTORE) {
        ngx_log_error(NGX_LOG_WARN, ngx_cycle->log, 0,
                      "admission: the queue of event \"%V\" is being restored, "
                      "nobody is let in for %M ms", event, restore);
    }

    if (news & NGX_ADM_NEWS_UNSOLD) {
        ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                      "admission: how many seats of event \"%V\" are sold is "
                      "lost, and no host knows: nobody is let in until an "
                      "operator sets its slots", event);
    }

    if (news & NGX_ADM_NEWS_RESTORED) {
        ngx_log_error(NGX_LOG_NOTICE, ngx_cycle->log, 0,
                      "admission: the queue of event \"%V\" has been restored, "
                      "admission goes on", event);
    }
}


/* a line a second at most, since it may be about all events of the host */

void
ngx_adm_queue_log_settle(ngx_str_t *event)
{
    static ngx_msec_t  told;
    static ngx_uint_t  untold;

    if (told && ngx_adm_since(told) < 1000) {
        untold++;
        return;
    }

    ngx_log_error(NGX_LOG_NOTICE, ngx_cycle->log, 0,
                  "admission: event \"%V\" was without steps of the schedule "
                  "for a while: nobody is let in for 1.5 s, until all hosts "
                  "are heard (and %ui other events since the last line)", event,
                  untold);

    told = ngx_adm_mark_now();
    untold = 0;
}


/*
 * tells of what was refused although the call did its work; a line a second at
 * most
 */

void
ngx_adm_queue_log_refused(redisReply *refused)
{
    char  text[256];

    static ngx_msec_t  told;
    static ngx_uint_t  untold;

    if (told && ngx_adm_since(told) < 1000) {
        untold++;
        return;
    }

    ngx_adm_redis_text(text, sizeof(text), refused);

    ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                  "admission: redis refuses what is done besides, %s (and %ui "
                  "more since the last line)", text, untold);

    told = ngx_adm_mark_now();
    untold = 0;
}
