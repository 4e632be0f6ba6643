
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Placeholders of a page, for what comes with the request.
 */


#ifndef _NGX_ADM_PAGE_VALUES_H_INCLUDED_
#define _NGX_ADM_PAGE_VALUES_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>


/* placeholders that get their value with the request */
typedef enum {
    NGX_ADM_PAGE_EVENT = 0,
    NGX_ADM_PAGE_TITLE,
    NGX_ADM_PAGE_ARTIST,
    NGX_ADM_PAGE_NOJS_URI,       /* address of this page without JavaScript,
                                    with its return */
    NGX_ADM_PAGE_PAGE_URI,       /* of the page without JavaScript that of the
                                    one with it */
    NGX_ADM_PAGE_RETURN,         /* empty unless the page is in place of what
                                    was denied */
    NGX_ADM_PAGE_LOGIN,          /* of the operators' page */
    NGX_ADM_PAGE_STATE,          /* from here on of the page without
                                    JavaScript; the state is a class */
    NGX_ADM_PAGE_AHEAD,
    NGX_ADM_PAGE_POSITION,
    NGX_ADM_PAGE_NUMBER,         /* of a lot, once it is drawn of how many */
    NGX_ADM_PAGE_COMMITMENT,     /* of the draw that it is one of */
    NGX_ADM_PAGE_SERVING,
    NGX_ADM_PAGE_BEHIND,
    NGX_ADM_PAGE_WAIT_EN,        /* from when to when, in words */
    NGX_ADM_PAGE_WAIT_KO,
    NGX_ADM_PAGE_LEFT,           /* time until the sale opens, or starts */
    NGX_ADM_PAGE_LEAVE,          /* address that asks whether to leave, of */
    NGX_ADM_PAGE_STAY,           /* "no", and of */
    NGX_ADM_PAGE_LEAVES,         /* "yes", which is a call of the API */
    NGX_ADM_PAGE_NOTICE,         /* "hidden" or empty: a notice */
    NGX_ADM_PAGE_NOTICE_KO,
    NGX_ADM_PAGE_NOTICE_EN,
    NGX_ADM_PAGE_NOTICE_AT,
    NGX_ADM_PAGE_WAITING,        /* "hidden" or empty, for parts of one
                                    state: a style might not be allowed */
    NGX_ADM_PAGE_GOING,
    NGX_ADM_PAGE_FIRST,          /* nobody is ahead */
    NGX_ADM_PAGE_PAUSED,
    NGX_ADM_PAGE_LAST,           /* all seats that are left are being booked */
    NGX_ADM_PAGE_GATHERING,
    NGX_ADM_PAGE_LOT,
    NGX_ADM_PAGE_DRAWING,
    NGX_ADM_PAGE_DRAW,           /* a lot, of a draw to be checked */
    NGX_ADM_PAGE_HELD,           /* a number, or a place, that can be given
                                    up */
    NGX_ADM_PAGE_LEAVING,
    NGX_ADM_PAGE_GONE,
    NGX_ADM_PAGE_SCRIPT,         /* needs JavaScript */
    NGX_ADM_PAGE_BEFORE,
    NGX_ADM_PAGE_CLOSED,
    NGX_ADM_PAGE_SOLD,
    NGX_ADM_PAGE_COOKIES,
    NGX_ADM_PAGE_BUSY,
    NGX_ADM_PAGE_CROWDED,
    NGX_ADM_PAGE_FULL,
    NGX_ADM_PAGE_UNKNOWN,
    NGX_ADM_PAGE_VALUES } ngx_adm_page_value_e;


#endif /* _NGX_ADM_PAGE_VALUES_H_INCLUDED_ */
