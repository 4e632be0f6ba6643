
/*
 * Copyright (C) 2026 the admission module authors
 *
 * admission_events { ... }: a line for each event, and what is made of it when
 * all lines are known.  The keys of a line are in event_keys.c.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "conf.h"
#include "parse.h"
#include "ngx_http_admission_names.h"
#include "../base/text.h"
#include "../host/draw.h"
#include "../host/follow.h"
#include "../queue/queue.h"


static char *ngx_adm_events_line(ngx_conf_t *cf, ngx_command_t *dummy,
    void *conf);
static char *ngx_adm_event_sale(ngx_conf_t *cf, ngx_adm_main_conf_t *mcf,
    ngx_adm_event_conf_t *ecf);
static char *ngx_adm_event_standby(ngx_conf_t *cf, ngx_adm_event_conf_t *ecf,
    ngx_str_t *id);
static char *ngx_adm_event_terms(ngx_conf_t *cf, ngx_adm_event_conf_t *ecf);
static char *ngx_adm_event_info(ngx_conf_t *cf, ngx_adm_event_conf_t *ecf);


char *
ngx_adm_event_finish(ngx_conf_t *cf, ngx_adm_event_conf_t *ecf,
    ngx_adm_event_conf_t *dflt)
{
    ngx_adm_main_conf_t  *mcf;

    if (ecf != dflt) {
        ngx_adm_event_inherit(ecf, dflt);
    }

    mcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_admission_module);

    if (ngx_adm_event_sale(cf, mcf, ecf) != NGX_CONF_OK
        || ngx_adm_event_terms(cf, ecf) != NGX_CONF_OK)
    {
        return NGX_CONF_ERROR;
    }

    mcf->token_ttl = ngx_max(mcf->token_ttl, ecf->token_ttl);
    mcf->follows |= ngx_adm_is_followed(ecf) ? 1 : 0;

    return ngx_adm_event_info(cf, ecf);
}


char *
ngx_adm_set_events(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_adm_main_conf_t  *mcf = conf;

    char               *rv;
    ngx_conf_t          save;
    ngx_rbtree_node_t  *node;

    if (mcf->events_seen) {
        return "is duplicate";
    }

    mcf->events_seen = 1;
    mcf->events_listed_only = 1;        /* until there is a default line */

    save = *cf;
    cf->handler = ngx_adm_events_line;
    cf->handler_conf = conf;

    rv = ngx_conf_parse(cf, NULL);

    *cf = save;

    if (rv != NGX_CONF_OK) {
        return rv;
    }

    if (ngx_adm_event_finish(cf, &mcf->event_default,
                             &mcf->event_default) != NGX_CONF_OK)
    {
        return NGX_CONF_ERROR;
    }

    node = NULL;

    if (mcf->events.root != &mcf->sentinel) {
        node = ngx_rbtree_min(mcf->events.root, &mcf->sentinel);
    }

    while (node) {

        if (ngx_adm_event_finish(cf, (ngx_adm_event_conf_t *) node,
                                 &mcf->event_default) != NGX_CONF_OK)
        {
            return NGX_CONF_ERROR;
        }

        node = ngx_rbtree_next(&mcf->events, node);
    }

    return NGX_CONF_OK;
}


static char *
ngx_adm_events_line(ngx_conf_t *cf, ngx_command_t *dummy, void *conf)
{
    ngx_adm_main_conf_t  *mcf = conf;

    uint32_t               hash;
    ngx_str_t             *value, id;
    ngx_uint_t             i;
    ngx_adm_event_conf_t  *ecf;

    value = cf->args->elts;

    /* with key=value it is an event of that name */

    if (cf->args->nelts == 2
        && ngx_strcmp(value[0].data, "include") == 0
        && ngx_strchr(value[1].data, '=') == NULL)
    {
        return ngx_conf_include(cf, dummy, conf);
    }

    if (ngx_strcmp(value[0].data, "default") == 0) {

        if (!mcf->events_listed_only) {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "duplicate \"default\" "
                               "in \"admission_events\"");
            return NGX_CONF_ERROR;
        }

        mcf->events_listed_only = 0;
        ecf = &mcf->event_default;

    } else {

        id = value[0];

        if (ngx_adm_event_id(&id, id.data) != NGX_OK) {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "invalid event id \"%V\" "
                               "in \"admission_events\", it has 1 to %d of "
                               "letters, digits, \".\", \"_\" and \"-\"",
                               &value[0], NGX_ADM_EVENT_MAX);
            return NGX_CONF_ERROR;
        }

        hash = ngx_murmur_hash2(id.data, id.len);

        if (ngx_str_rbtree_lookup(&mcf->events, &id, hash)) {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "duplicate event \"%V\" "
                               "in \"admission_events\"", &id);
            return NGX_CONF_ERROR;
        }

        ecf = ngx_pcalloc(cf->pool, sizeof(ngx_adm_event_conf_t));
        if (ecf == NULL) {
            return NGX_CONF_ERROR;
        }

        ecf->sn.node.key = hash;
        ecf->sn.str = id;

        ngx_rbtree_insert(&mcf->events, &ecf->sn.node);
    }

    for (i = 1; i < cf->args->nelts; i++) {
        if (ngx_adm_event_set_key(cf, ecf, &value[i]) != NGX_CONF_OK) {
            return NGX_CONF_ERROR;
        }
    }

    return NGX_CONF_OK;
}


/* the order of its times, whichever line they are of */

static char *
ngx_adm_event_sale(ngx_conf_t *cf, ngx_adm_main_conf_t *mcf,
    ngx_adm_event_conf_t *ecf)
{
    ngx_str_t             *id;
    ngx_adm_event_conf_t  **sale;

    static ngx_str_t  dflt = ngx_string("default");

    id = ecf->sn.str.len ? &ecf->sn.str : &dflt;

    if ((ecf->starts && ecf->starts < ecf->opens)
        || (ecf->closes && ecf->closes < ngx_max(ecf->opens, ecf->starts)))
    {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "invalid times of \"%V\" in "
                           "\"admission_events\", \"opens=\" can not be after "
                           "\"starts=\", nor either of them after "
                           "\"closes=\"", id);
        return NGX_CONF_ERROR;
    }

    if (ecf->order == NGX_ADM_ORDER_DRAW && ecf->vwr == NGX_ADM_OFF) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "\"order=draw\" of \"%V\" in "
                           "\"admission_events\" needs a waiting room, without "
                           "\"vwr=off\"", id);
        return NGX_CONF_ERROR;
    }

    if (ecf->order == NGX_ADM_ORDER_DRAW && ecf->vwr == NGX_ADM_ON
        && ecf->starts && !ecf->opens)
    {
        ngx_conf_log_error(NGX_LOG_WARN, cf, 0, "\"order=draw\" of \"%V\" in "
                           "\"admission_events\" with \"vwr=on\" and without "
                           "\"opens=\": if the waiting room has let people in "
                           "before it is told of this sale, it goes on by "
                           "arrival", id);
    }

    if (ecf->vwr == NGX_ADM_STANDBY
        && ngx_adm_event_standby(cf, ecf, id) != NGX_CONF_OK)
    {
        return NGX_CONF_ERROR;
    }

    if (ecf->sn.str.len && ecf->opens + ecf->starts) {

        sale = ngx_adm_conf_push(cf, &mcf->sales,
                                 sizeof(ngx_adm_event_conf_t *));
        if (sale == NULL) {
            return NGX_CONF_ERROR;
        }

        *sale = ecf;
    }

    return NGX_CONF_OK;
}


/*
 * A room on standby goes by its rate; what begins with a crowd, as a sale does,
 * has no use for one.
 */

static char *
ngx_adm_event_standby(ngx_conf_t *cf, ngx_adm_event_conf_t *ecf, ngx_str_t *id)
{
    const char  *why;

    if (ecf->order == NGX_ADM_ORDER_DRAW) {
        why = "takes no \"order=draw\"";

    } else if (ecf->opens || ecf->starts) {
        why = "takes no \"opens=\" and no \"starts=\", which gather people";

    } else if (ecf->vwr_rate == 0) {
        why = "needs a \"vwr_rate=\" of 1 at least, over which it shows";

    } else if (ecf->vwr_burst >= 0
               && ecf->vwr_burst < (ecf->vwr_rate + 3) / 4)
    {
        why = "needs a \"vwr_burst=\" of a quarter of \"vwr_rate=\" at least";

    } else {
        return NGX_CONF_OK;
    }

    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "\"vwr=standby\" of \"%V\" in "
                       "\"admission_events\" %s", id, why);

    return NGX_CONF_ERROR;
}


static char *
ngx_adm_event_terms(ngx_conf_t *cf, ngx_adm_event_conf_t *ecf)
{
    u_char      *p;
    ngx_uint_t   i;

    int64_t  terms[] = {
        [NGX_ADM_ARG_QUEUE_THRESHOLD] = ecf->threshold,
        [NGX_ADM_ARG_QUEUE_ACTIVE_TTL] = ecf->active_ttl,
        [NGX_ADM_ARG_QUEUE_SESSION_MAX] = ecf->session_max,
        [NGX_ADM_ARG_QUEUE_CLAIM_TTL] = ecf->claim_ttl,
        [NGX_ADM_ARG_QUEUE_SEEN_TTL] = ecf->seen_ttl
                                        + ngx_adm_seen_late(ecf),
        [NGX_ADM_ARG_QUEUE_RESTORE_WAIT] = ecf->restore_wait,
        [NGX_ADM_ARG_QUEUE_ADMIT_INTERVAL] = ecf->admit_interval,
        [NGX_ADM_ARG_QUEUE_ADMIT_BATCH] = ecf->admit_batch,
        [NGX_ADM_ARG_QUEUE_TOKEN_TTL] = ecf->token_ttl,
        [NGX_ADM_ARG_QUEUE_STREAM] = ecf->admissions_stream,
        [NGX_ADM_ARG_QUEUE_SLOTS] = ecf->slots,
        [NGX_ADM_ARG_QUEUE_STARTS] = ngx_max(ecf->starts, ecf->opens),
        [NGX_ADM_ARG_QUEUE_ORDER] = ecf->order };

    p = ngx_pnalloc(cf->pool, NGX_ADM_QUEUE_TERMS * NGX_INT64_LEN);
    if (p == NULL) {
        return NGX_CONF_ERROR;
    }

    for (i = 0; i < NGX_ADM_QUEUE_TERMS; i++) {
        ecf->terms[i].data = p;
        p = ngx_sprintf(p, "%L", terms[NGX_ADM_ARG_QUEUE_THRESHOLD + i]);
        ecf->terms[i].len = p - ecf->terms[i].data;
    }

    return NGX_CONF_OK;
}


/* eventInfo, as every answer says it */

static char *
ngx_adm_event_info(ngx_conf_t *cf, ngx_adm_event_conf_t *ecf)
{
    u_char     *p;
    ngx_str_t   title, artist;

    if (ngx_adm_json_string(cf->pool, &ecf->title, &title) != NGX_OK
        || ngx_adm_json_string(cf->pool, &ecf->artist, &artist)
           != NGX_OK)
    {
        return NGX_CONF_ERROR;
    }

    p = ngx_pnalloc(cf->pool, sizeof("{\"title\":,\"artist\":}") - 1
                              + title.len + artist.len);
    if (p == NULL) {
        return NGX_CONF_ERROR;
    }

    ecf->info.data = p;

    *p++ = '{';

    if (ecf->title.len) {
        p = ngx_sprintf(p, "\"title\":%V", &title);
    }

    if (ecf->artist.len) {
        p = ngx_sprintf(p, ecf->title.len ? ",\"artist\":%V"
                                          : "\"artist\":%V", &artist);
    }

    *p++ = '}';

    ecf->info.len = p - ecf->info.data;

    return NGX_CONF_OK;
}
