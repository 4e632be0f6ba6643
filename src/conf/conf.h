
/*
 * Copyright (C) 2026 the admission module authors
 *
 * How configuration comes about: directives set it, it is merged, and it is
 * completed when all of it is known.  For the module's table of directives and
 * its context; settings.h says what configuration means.
 */


#ifndef _NGX_ADM_CONF_CONF_H_INCLUDED_
#define _NGX_ADM_CONF_CONF_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../host/settings.h"


void *ngx_adm_create_main_conf(ngx_conf_t *cf);
char *ngx_adm_init_main_conf(ngx_conf_t *cf, void *conf);

/* when all is merged, if the module is in use: sets what no directive said */
char *ngx_adm_complete_main_conf(ngx_conf_t *cf, ngx_adm_main_conf_t *mcf);

void *ngx_adm_create_srv_conf(ngx_conf_t *cf);
void *ngx_adm_create_loc_conf(ngx_conf_t *cf);
char *ngx_adm_merge_loc_conf(ngx_conf_t *cf, void *parent, void *child);


/* directives whose settings are of no type that NGINX has */
char *ngx_adm_set_zone(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);
char *ngx_adm_set_redis(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);
char *ngx_adm_set_events(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);
char *ngx_adm_set_secret(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);
char *ngx_adm_set_user(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);
char *ngx_adm_set_tier1(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);
char *ngx_adm_set_tier2(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);
char *ngx_adm_set_deny(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);
char *ngx_adm_set_trusted_edge(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);
char *ngx_adm_set_rate_limit(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);
char *ngx_adm_set_cookie(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);
char *ngx_adm_set_page(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);
char *ngx_adm_set_cors(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);
char *ngx_adm_set_room_api(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);
char *ngx_adm_set_queue_api(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);
char *ngx_adm_set_metrics(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);
char *ngx_adm_set_streams(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);
char *ngx_adm_set_health(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);

/* an address for denials: a value with variables, a constant, or "" */
char *ngx_adm_set_target(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);

/* a content handler; cmd->offset is its NGX_ADM_CONTENT_* */
char *ngx_adm_set_content(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);


#endif /* _NGX_ADM_CONF_CONF_H_INCLUDED_ */
