
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What "nginx -t" warns of when it has seen all locations.  Which location a
 * call comes to decides what is asked of somebody who joins the queue, so one
 * location may leave open what others close.  And half a configuration, which
 * lets everybody pass, or nobody.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "parse.h"


/* a location; or a server itself, without a name */
typedef struct {
    ngx_adm_loc_conf_t        *lcf;
    ngx_adm_loc_conf_t        *above;       /* what it inherits from */
    ngx_str_t                  name;
    ngx_http_core_srv_conf_t  *server;
} ngx_adm_routes_loc_t;


static ngx_int_t ngx_adm_routes_add(ngx_conf_t *cf, ngx_array_t **locs,
    ngx_adm_loc_conf_t *above, ngx_adm_loc_conf_t *conf);
static ngx_adm_loc_conf_t *ngx_adm_routes_queue(ngx_adm_main_conf_t *mcf,
    ngx_uint_t admin);
static void ngx_adm_routes_missing(ngx_conf_t *cf, ngx_adm_main_conf_t *mcf);
static void ngx_adm_routes_joins(ngx_conf_t *cf, ngx_adm_main_conf_t *mcf,
    ngx_adm_loc_conf_t *queue);
static void ngx_adm_routes_eventless(ngx_conf_t *cf, ngx_adm_main_conf_t *mcf);
static const char *ngx_adm_routes_open(ngx_adm_loc_conf_t *queue,
    ngx_adm_loc_conf_t *gated, const char **then);
static ngx_uint_t ngx_adm_routes_bypass(ngx_adm_loc_conf_t *conf);
static ngx_uint_t ngx_adm_routes_trusts(ngx_adm_loc_conf_t *gated,
    ngx_adm_loc_conf_t *queue);
static void ngx_adm_routes_warn(ngx_conf_t *cf, ngx_adm_loc_conf_t *queue,
    const char *what, ngx_adm_routes_loc_t *gated, const char *then);


ngx_int_t
ngx_adm_routes_note(ngx_conf_t *cf, ngx_adm_loc_conf_t *above,
    ngx_adm_loc_conf_t *conf)
{
    ngx_http_core_loc_conf_t  *clcf;
    ngx_adm_main_conf_t       *mcf;

    clcf = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);

    if (clcf->noname) {
        /* the same as the location around it */
        return NGX_OK;
    }

    mcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_admission_module);

    if (conf->content == NGX_ADM_CONTENT_QUEUE) {
        mcf->asks = 1;
        return ngx_adm_routes_add(cf, &mcf->queues, above, conf);
    }

    if (conf->content == NGX_ADM_CONTENT_ROOM
        || conf->content == NGX_ADM_CONTENT_ADMIN)
    {
        mcf->asks = 1;
        return NGX_OK;
    }

    if (conf->content == NGX_ADM_CONTENT_NONE
        && (conf->tier1->mode != NGX_ADM_OFF
            || conf->tier2->mode != NGX_ADM_OFF))
    {
        if (conf->tier1->mode != NGX_ADM_OFF) {
            mcf->asks = 1;
        }

        return ngx_adm_routes_add(cf, &mcf->gated, above, conf);
    }

    return NGX_OK;
}


static ngx_int_t
ngx_adm_routes_add(ngx_conf_t *cf, ngx_array_t **locs,
    ngx_adm_loc_conf_t *above, ngx_adm_loc_conf_t *conf)
{
    ngx_http_core_loc_conf_t  *clcf;
    ngx_adm_routes_loc_t      *loc;

    loc = ngx_adm_conf_push(cf, locs, sizeof(ngx_adm_routes_loc_t));
    if (loc == NULL) {
        return NGX_ERROR;
    }

    clcf = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);

    loc->lcf = conf;
    loc->above = above;
    loc->name = clcf->name;
    loc->server = ngx_http_conf_get_module_srv_conf(cf, ngx_http_core_module);

    return NGX_OK;
}


void
ngx_adm_routes_check(ngx_conf_t *cf, ngx_adm_main_conf_t *mcf)
{
    ngx_uint_t             i;
    ngx_adm_routes_loc_t  *queue;

    if (mcf->redis == NULL && mcf->asks) {
        ngx_log_error(NGX_LOG_WARN, cf->log, 0, "there is no "
                      "\"admission_redis\": as long as there is none, calls of "
                      "the queue and of the waiting room get 503, and "
                      "\"admission_tier1 auto\" lets all requests pass");
    }

    if (mcf->gated) {
        ngx_adm_routes_eventless(cf, mcf);
    }

    if (mcf->queues == NULL) {
        return;
    }

    ngx_adm_routes_missing(cf, mcf);

    queue = mcf->queues->elts;

    for (i = 0; i < mcf->queues->nelts; i++) {

        if (!queue[i].lcf->admin) {
            ngx_adm_routes_joins(cf, mcf, queue[i].lcf);
        }
    }
}


/*
 * Without admission_event no request names an event.  Where one is required
 * all are denied; else tier 1 lets them pass.  Where the tier is inherited, and
 * other locations have an event, that is meant, or nobody is judged there: by
 * "return", by "rewrite", or in a subrequest.  What a server says its locations
 * may say otherwise, and most requests come to one.
 */

static void
ngx_adm_routes_eventless(ngx_conf_t *cf, ngx_adm_main_conf_t *mcf)
{
    ngx_uint_t             i, named, own, tier2;
    const char            *tier;
    ngx_adm_loc_conf_t    *lcf;
    ngx_adm_routes_loc_t  *gated, *open, *shut;

    own = 0;
    tier = NULL;
    named = 0;
    open = NULL;
    shut = NULL;

    gated = mcf->gated->elts;

    for (i = 0; i < mcf->gated->nelts; i++) {
        lcf = gated[i].lcf;

        if (lcf->event) {
            named = 1;
            continue;
        }

        if (gated[i].name.len == 0) {
            continue;
        }

        tier2 = (lcf->tier2->mode == NGX_ADM_ON && lcf->tier2->event_required);

        if (tier2) {
            own = (lcf->tier2 != gated[i].above->tier2);

        } else if (lcf->tier1->mode != NGX_ADM_OFF
                   && lcf->tier1->mode != NGX_ADM_VARIABLE
                   && lcf->tier1->event_required)
        {
            own = (lcf->tier1 != gated[i].above->tier1);

        } else {
            open = lcf->tier1->mode != NGX_ADM_OFF && open == NULL ? &gated[i]
                                                                   : open;
            continue;
        }

        if (shut == NULL || own) {
            shut = &gated[i];
            tier = tier2 ? "admission_tier2" : "admission_tier1";
        }

        if (own) {
            break;
        }
    }

    if (named && !own) {
        return;
    }

    if (shut) {
        ngx_log_error(NGX_LOG_WARN, cf->log, 0, "\"%s\" of location \"%V\" of "
                      "the server in %s:%ui has no \"admission_event\" here or "
                      "above: it denies all requests; say which event they "
                      "are about, or \"event=any\"", tier, &shut->name,
                      shut->server->file_name, shut->server->line);

    } else if (open) {
        ngx_log_error(NGX_LOG_WARN, cf->log, 0, "\"admission_tier1\" of "
                      "location \"%V\" of the server in %s:%ui has no "
                      "\"admission_event\" here or above: it lets all requests "
                      "pass; say which event they are about", &open->name,
                      open->server->file_name, open->server->line);
    }
}


/* the first location of admission_queue_api with that "admin="; NULL: none */

static ngx_adm_loc_conf_t *
ngx_adm_routes_queue(ngx_adm_main_conf_t *mcf, ngx_uint_t admin)
{
    ngx_uint_t        i;
    ngx_adm_routes_loc_t  *queue;

    queue = mcf->queues->elts;

    for (i = 0; i < mcf->queues->nelts; i++) {

        if ((ngx_uint_t) queue[i].lcf->admin == admin) {
            return queue[i].lcf;
        }
    }

    return NULL;
}


/*
 * Warns only, as another host may have the missing location: of operators, if
 * there is a way to be one here, or of users.
 */

static void
ngx_adm_routes_missing(ngx_conf_t *cf, ngx_adm_main_conf_t *mcf)
{
    ngx_adm_loc_conf_t  *admin, *users;

    admin = ngx_adm_routes_queue(mcf, 1);
    users = ngx_adm_routes_queue(mcf, 0);

    if (users == NULL) {
        ngx_log_error(NGX_LOG_WARN, cf->log, 0, "users' calls of the queue "
                      "have no location: \"admission_queue_api admin=on\" in "
                      "%V:%ui answers operators' alone, add a location with "
                      "\"admission_queue_api\"", &admin->content_file,
                      admin->content_line);
        return;
    }

    if (admin == NULL
        && (users->secrets[NGX_ADM_SECRET_ADMIN]
            || users->user->source == NGX_ADM_USER_JWT))
    {
        ngx_log_error(NGX_LOG_WARN, cf->log, 0, "operators' calls of the "
                      "queue have no location: \"admission_queue_api\" in "
                      "%V:%ui answers users' alone, add a location with "
                      "\"admission_queue_api admin=on\"", &users->content_file,
                      users->content_line);
    }
}


/*
 * A location of the queue can be asked about any event, so it lets join all
 * events whose entry tokens it signs; and with an entry token one passes tier
 * 1, too.
 */

static void
ngx_adm_routes_joins(ngx_conf_t *cf, ngx_adm_main_conf_t *mcf,
    ngx_adm_loc_conf_t *queue)
{
    ngx_uint_t        i;
    const char       *what, *then;
    ngx_adm_routes_loc_t  *gated;

    if (mcf->gated == NULL) {
        return;
    }

    gated = mcf->gated->elts;

    for (i = 0; i < mcf->gated->nelts; i++) {

        if (gated[i].lcf->event == NULL
            || !ngx_adm_routes_trusts(gated[i].lcf, queue))
        {
            continue;
        }

        what = ngx_adm_routes_open(queue, gated[i].lcf, &then);

        if (what) {
            ngx_adm_routes_warn(cf, queue, what, &gated[i], then);
            return;
        }
    }
}


/*
 * Why one may join here without what the other location asks for, and what to
 * do about that; NULL: one may not, or "admission_tier1 off" says that it is
 * meant.
 */

static const char *
ngx_adm_routes_open(ngx_adm_loc_conf_t *queue, ngx_adm_loc_conf_t *gated,
    const char **then)
{
    if (queue->tier1 == &ngx_adm_tier1_default) {

        if (gated->tier1->mode == NGX_ADM_OFF) {
            return NULL;
        }

        *then = "say \"admission_tier1\" as there, or \"admission_tier1 off\" "
                "if that is meant";
        return "has no \"admission_tier1\" here or above";
    }

    if (queue->tier1->mode == NGX_ADM_OFF || gated->dry_run) {
        return NULL;
    }

    if (queue->dry_run) {
        *then = "say \"admission_dry_run off\" here, or \"on\" there as well";
        return "is in a dry run by \"admission_dry_run on\"";
    }

    if (queue->edge->name.len && gated->edge->name.len == 0) {
        *then = "say \"admission_trusted_edge off\" here as well";
        return "trusts an edge by \"admission_trusted_edge\"";
    }

    if (ngx_adm_routes_bypass(queue) && !ngx_adm_routes_bypass(gated)) {
        *then = "say \"admission_bypass \"\"\" here as well";
        return "has \"admission_bypass\"";
    }

    return NULL;
}


static ngx_uint_t
ngx_adm_routes_bypass(ngx_adm_loc_conf_t *conf)
{
    return conf->bypass && (conf->bypass->lengths || conf->bypass->value.len);
}


/* whether entry tokens that the queue's location signs pass at the gated one */

static ngx_uint_t
ngx_adm_routes_trusts(ngx_adm_loc_conf_t *gated, ngx_adm_loc_conf_t *queue)
{
    ngx_adm_keyring_t  *here, *there;

    here = gated->secrets[NGX_ADM_SECRET_TIER2];
    there = queue->secrets[NGX_ADM_SECRET_TIER2];

    return here == there
           || (here && there && ngx_adm_keyring_overlap(here, there));
}


static void
ngx_adm_routes_warn(ngx_conf_t *cf, ngx_adm_loc_conf_t *queue, const char *what,
    ngx_adm_routes_loc_t *gated, const char *then)
{
    const char  *where;

    where = gated->name.len ? "location \"" : "what is in no location";

    ngx_log_error(NGX_LOG_WARN, cf->log, 0,
                  "\"admission_queue_api\" in %V:%ui %s, while %s%V%s of the "
                  "server in %s:%ui is gated: who joins here gets an entry "
                  "token for there without one of the waiting room; %s",
                  &queue->content_file, queue->content_line, what,
                  where, &gated->name, gated->name.len ? "\"" : "",
                  gated->server->file_name, gated->server->line, then);
}
