
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Parsers of the directives that take more than one word; used by
 * ngx_http_admission_conf.c alone.
 */


#ifndef _NGX_HTTP_ADMISSION_CONF_PARSE_H_INCLUDED_
#define _NGX_HTTP_ADMISSION_CONF_PARSE_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_admission_conf.h"


/*
 * Logs that the directive does not take the value, and what is allowed;
 * returns NGX_CONF_ERROR.
 */
char *ngx_http_admission_conf_invalid(ngx_conf_t *cf, ngx_command_t *cmd,
    ngx_str_t *value, const char *allowed);

/* the rest of arg after "name="; NGX_DECLINED: arg is something else */
ngx_int_t ngx_http_admission_conf_param(ngx_str_t *arg, const char *name,
    ngx_str_t *value);

/*
 * Refuses a directive that has a parameter "name=" twice among the arguments
 * after the first one.
 */
char *ngx_http_admission_conf_twice(ngx_conf_t *cf, ngx_command_t *cmd);

/* "on" or "off"; NGX_DECLINED: neither */
ngx_int_t ngx_http_admission_conf_flag(ngx_str_t *value, ngx_uint_t *flag);


/*
 * "Nr/s", "Nr/m" or "Nr/h" with N from 1 to 100000000: N and the seconds of
 * the unit; NGX_DECLINED: neither
 */
#define NGX_HTTP_ADMISSION_RATE_MAX  100000000

ngx_int_t ngx_http_admission_conf_rate(ngx_str_t *value, ngx_int_t *rate,
    ngx_int_t *unit);


/* compiles a value with variables; NGX_CONF_ERROR: failed, and said why */
char *ngx_http_admission_value(ngx_conf_t *cf, ngx_str_t *value,
    ngx_http_complex_value_t *cv);


/* as ngx_conf_set_enum_slot(), and says what is allowed */
char *ngx_http_admission_enum(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);

/* where a denial leads to: a value with variables, or an address, or "" */
char *ngx_http_admission_target(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);

char *ngx_http_admission_user(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);
char *ngx_http_admission_tier1(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);
char *ngx_http_admission_tier2(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);
char *ngx_http_admission_cookie(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
char *ngx_http_admission_cors(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);

char *ngx_http_admission_rate_limit(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);

/* NGX_CONF_ERROR: two kinds of cookies have one name, and it is logged */
char *ngx_http_admission_cookies_differ(ngx_conf_t *cf,
    ngx_http_admission_loc_conf_t *lcf);

/* a content handler, the NGX_HTTP_ADMISSION_CONTENT_* that cmd->offset is */
char *ngx_http_admission_content(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);

/* the same with a handler given; a text: there is one in the location */
char *ngx_http_admission_content_set(ngx_conf_t *cf, ngx_command_t *cmd,
    ngx_http_admission_loc_conf_t *lcf, ngx_uint_t content,
    ngx_http_handler_pt handler);

/*
 * Has "if" and "limit_except" answer as the location around them.
 * NGX_CONF_ERROR, logged: a handler of another module came after ours.
 */
char *ngx_http_admission_content_merge(ngx_conf_t *cf,
    ngx_http_admission_loc_conf_t *prev, ngx_http_admission_loc_conf_t *conf);

/*
 * A location is merged: what ngx_http_admission_routes_check() is to know of.
 * That one warns, once all are, of ways to join the queue past the waiting
 * room, and of calls of the queue that have no location.
 */
ngx_int_t ngx_http_admission_routes_note(ngx_conf_t *cf,
    ngx_http_admission_loc_conf_t *conf);
void ngx_http_admission_routes_check(ngx_conf_t *cf,
    ngx_http_admission_main_conf_t *mcf);

char *ngx_http_admission_vwr_api(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
char *ngx_http_admission_queue_api(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
char *ngx_http_admission_metrics(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
char *ngx_http_admission_health(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);


/* by NGX_HTTP_ADMISSION_SECRET_* */
extern ngx_str_t  ngx_http_admission_secret_names[];

char *ngx_http_admission_secret(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);

/*
 * The secret that value is, or that is in the file of "file=...": then it is
 * in cf->temp_pool, and the caller wipes it.  NGX_ERROR: said why.
 */
ngx_int_t ngx_http_admission_secret_value(ngx_conf_t *cf, ngx_command_t *cmd,
    ngx_str_t *value, ngx_str_t *secret);

char *ngx_http_admission_trusted_edge(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);


/* by token kind */
extern ngx_http_admission_cookie_conf_t  ngx_http_admission_cookie_defaults[];

/* where no level says "admission_tier1" */
extern ngx_http_admission_tier1_conf_t  ngx_http_admission_tier1_default;


/* what holds where the default line says nothing */
void ngx_http_admission_event_builtin(ngx_http_admission_event_conf_t *ecf);

/* what the line leaves out, from the default one; eventInfo */
char *ngx_http_admission_event_finish(ngx_conf_t *cf,
    ngx_http_admission_event_conf_t *ecf,
    ngx_http_admission_event_conf_t *dflt);

char *ngx_http_admission_events(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);


#endif /* _NGX_HTTP_ADMISSION_CONF_PARSE_H_INCLUDED_ */
