
/*
 * Copyright (C) 2026 the admission module authors
 *
 * How a user stands, for whoever looks again and again and is told of the turn
 * by it: of any line, also one that is all head.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "event_node.h"
#include "view.h"


ngx_int_t
ngx_adm_view_look(ngx_str_t *event, ngx_adm_view_who_t *who,
    ngx_adm_view_t *view)
{
    ngx_int_t              rc;
    ngx_adm_event_node_t  *en;

    ngx_adm_zone_lock(ngx_adm_zone);

    en = ngx_adm_event_lookup_locked(ngx_adm_zone, event);
    rc = ngx_adm_view_look_locked(ngx_adm_zone, en, who, view);

    ngx_adm_zone_unlock(ngx_adm_zone);

    return rc;
}
