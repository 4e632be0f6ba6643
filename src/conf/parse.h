
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Reading what directives say: parameters by tables, a reader for each kind of
 * value, and files.  And what parsers share.  For conf/ only.
 */


#ifndef _NGX_ADM_CONF_PARSE_H_INCLUDED_
#define _NGX_ADM_CONF_PARSE_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../base/text.h"
#include "../host/settings.h"


#define NGX_ADM_RATE_MAX  100000000


typedef struct ngx_adm_param_s  ngx_adm_param_t;

/*
 * Reads a value into the field of its parameter.  NGX_DECLINED: the parameter
 * does not take it.  NGX_ERROR: failed, with a line in the log.
 */
typedef ngx_int_t (*ngx_adm_read_pt)(ngx_conf_t *cf, ngx_adm_param_t *param,
    ngx_str_t *value, void *field);

/* a parameter "name=value"; a table of them ends with an empty name */
struct ngx_adm_param_s {
    ngx_str_t           name;
    ngx_adm_read_pt     read;
    size_t              offset;      /* of the field */
    size_t              size;
    int64_t             min;
    int64_t             max;
    void               *post;        /* for the reader */
    const char         *allowed;     /* what it takes; NULL: see set */
};

/*
 * a row of such a table, for a member of ngx_adm_..._t; and the end of the
 * table
 */
#define ngx_adm_param(type, name, member, read, min, max, post, allowed)      \
    { ngx_string(#name), ngx_adm_param_##read,                                \
      offsetof(ngx_adm_##type##_t, member),                                   \
      sizeof(((ngx_adm_##type##_t *) NULL)->member), min, max, post, allowed }

#define ngx_adm_params_end  { ngx_null_string, NULL, 0, 0, 0, 0, NULL, NULL }

/* the parameters of a directive */
typedef struct {
    ngx_adm_param_t    *params;
    const char         *allowed;     /* what the directive takes */
    ngx_uint_t          once;        /* bool: "allowed" says that each may be
                                        given once */
} ngx_adm_params_t;

typedef struct {
    ngx_int_t                      n;           /* 0: off */
    ngx_int_t                      unit;        /* of so many seconds */
} ngx_adm_rate_t;


/*
 * Logs that the directive does not take the value, and what it takes; returns
 * NGX_CONF_ERROR.
 */
char *ngx_adm_conf_invalid(ngx_conf_t *cf, ngx_command_t *cmd, ngx_str_t *value,
    const char *allowed);

/*
 * Reads the directive's arguments, from number "from" on, into fields.
 * NGX_CONF_ERROR, logged: an argument is no parameter, stands twice, or has a
 * wrong value.
 */
char *ngx_adm_conf_params(ngx_conf_t *cf, ngx_command_t *cmd, ngx_uint_t from,
    ngx_adm_params_t *set, void *fields);

/*
 * the parameter that an argument gives, and its value; NULL: it is none of
 * these
 */
ngx_adm_param_t *ngx_adm_conf_find(ngx_adm_param_t *params, ngx_str_t *arg,
    ngx_str_t *value);

/* the rest of arg after "name="; NGX_DECLINED: arg is something else */
ngx_int_t ngx_adm_conf_param(ngx_str_t *arg, const char *name,
    ngx_str_t *value);

/* the argument "name=..." of the directive; NULL: there is none */
ngx_str_t *ngx_adm_conf_arg(ngx_conf_t *cf, const char *name);


/* readers, by the type of the field */

/* ngx_uint_t: NGX_ADM_OFF, _ON, _AUTO from min to max */
ngx_int_t ngx_adm_param_switch(ngx_conf_t *cf, ngx_adm_param_t *param,
    ngx_str_t *value, void *field);

/* ngx_uint_t: a name of the ngx_conf_enum_t that post is */
ngx_int_t ngx_adm_param_enum(ngx_conf_t *cf, ngx_adm_param_t *param,
    ngx_str_t *value, void *field);

/* int64_t from min to max */
ngx_int_t ngx_adm_param_number(ngx_conf_t *cf, ngx_adm_param_t *param,
    ngx_str_t *value, void *field);

/* ngx_msec_t from min to max, in ms */
ngx_int_t ngx_adm_param_time(ngx_conf_t *cf, ngx_adm_param_t *param,
    ngx_str_t *value, void *field);

/* ngx_uint_t from min to max, in whole seconds */
ngx_int_t ngx_adm_param_seconds(ngx_conf_t *cf, ngx_adm_param_t *param,
    ngx_str_t *value, void *field);

/*
 * ngx_adm_rate_t: "Nr/s", "Nr/m" or "Nr/h" with N from 1 to
 * NGX_ADM_RATE_MAX; where min is 0, "off" too
 */
ngx_int_t ngx_adm_param_rate(ngx_conf_t *cf, ngx_adm_param_t *param,
    ngx_str_t *value, void *field);

/* ngx_str_t of min bytes to max; max 0: any */
ngx_int_t ngx_adm_param_string(ngx_conf_t *cf, ngx_adm_param_t *param,
    ngx_str_t *value, void *field);


/* for events; int64_t from min to max: hundredths of a percent; "off" is 0 */
ngx_int_t ngx_adm_param_percent(ngx_conf_t *cf, ngx_adm_param_t *param,
    ngx_str_t *value, void *field);


/* what a name stands for; NGX_DECLINED: it is not among these */
ngx_int_t ngx_adm_conf_enum(ngx_conf_enum_t *names, ngx_str_t *name,
    ngx_uint_t *value);

/*
 * Reads the first argument: a name, or a value with variables, which is
 * compiled and for which the end of names has the number.  NGX_CONF_ERROR:
 * logged.
 */
char *ngx_adm_conf_mode(ngx_conf_t *cf, ngx_command_t *cmd,
    ngx_conf_enum_t *names, const char *allowed, ngx_uint_t *mode,
    ngx_http_complex_value_t *cv);

/* adds an element to an array, made for the first; NULL: no memory */
void *ngx_adm_conf_push(ngx_conf_t *cf, ngx_array_t **array, size_t size);

/*
 * compiles a value with variables; NGX_CONF_ERROR: failed, with a line in the
 * log
 */
char *ngx_adm_value(ngx_conf_t *cf, ngx_str_t *value,
    ngx_http_complex_value_t *cv);

/*
 * takes the next item off a list separated by commas; at its end sets it to
 * NULL
 */
ngx_int_t ngx_adm_conf_next(ngx_str_t *list, ngx_str_t *item);

/*
 * Reads a file, up to max bytes and one more, into text, in pool; *name
 * becomes its full name.  NGX_ERROR: logged, with the directive and "what"
 * ("\"file=\" of ", or "") names the file.
 */
ngx_int_t ngx_adm_conf_file(ngx_conf_t *cf, ngx_command_t *cmd,
    const char *what, ngx_str_t *name, size_t max, ngx_pool_t *pool,
    ngx_str_t *text);


/* what parsers and the merge need of each other */

/* gives the location a content handler; other than NULL: it has one already */
char *ngx_adm_content_take(ngx_conf_t *cf, ngx_command_t *cmd,
    ngx_adm_loc_conf_t *lcf, ngx_uint_t content, ngx_http_handler_pt handler);

/*
 * Has "if" and "limit_except" answer as the location around them does.
 * NGX_CONF_ERROR, logged: another module has set a handler after this one.
 */
char *ngx_adm_content_merge(ngx_conf_t *cf, ngx_adm_loc_conf_t *prev,
    ngx_adm_loc_conf_t *conf);

/*
 * _note(): a location is merged with what is above it, which _check() has to
 * know.  _check() warns, when all are merged, of ways to join the queue past
 * the waiting room, of calls of the queue without a location, and of gates that
 * are told of no event or have no Redis.
 */
ngx_int_t ngx_adm_routes_note(ngx_conf_t *cf, ngx_adm_loc_conf_t *above,
    ngx_adm_loc_conf_t *conf);
void ngx_adm_routes_check(ngx_conf_t *cf, ngx_adm_main_conf_t *mcf);


/* by NGX_ADM_SECRET_* */
extern ngx_conf_enum_t  ngx_adm_secret_kinds[];

/*
 * A secret: value itself, or what is in the file of "file=...", which then is
 * in cf->temp_pool, for the caller to wipe.  NGX_ERROR: logged.
 */
ngx_int_t ngx_adm_secret_value(ngx_conf_t *cf, ngx_command_t *cmd,
    ngx_str_t *value, ngx_str_t *secret);

/*
 * A server's keyring, from outside of the server: the same one or, if it has
 * locations, a copy with those of this server.  NULL: no memory, or logged.
 */
ngx_adm_keyring_t *ngx_adm_secret_inherit(ngx_conf_t *cf,
    ngx_adm_keyring_t *ring);

/* sets the ids of locations in a server's own keyring */
void ngx_adm_secret_locate(ngx_conf_t *cf, ngx_adm_keyring_t *ring);

/*
 * Merges admission_trusted_edge, after the secrets, and notes its header for
 * the server.
 */
char *ngx_adm_edge_merge(ngx_conf_t *cf, ngx_adm_loc_conf_t *prev,
    ngx_adm_loc_conf_t *conf);


/* cookies without admission_cookie, by kind of token */
extern ngx_adm_cookie_conf_t  ngx_adm_cookie_defaults[];

/* NGX_CONF_ERROR, logged: two kinds of cookies have the same name */
char *ngx_adm_cookies_differ(ngx_conf_t *cf, ngx_adm_loc_conf_t *lcf);

/* where no level has "admission_user", "admission_tier1", "admission_tier2" */
extern ngx_adm_user_conf_t   ngx_adm_user_default;
extern ngx_adm_tier1_conf_t  ngx_adm_tier1_default;
extern ngx_adm_tier2_conf_t  ngx_adm_tier2_default;


/*
 * Completes admission_redis when all of the http block is known: NGX_CONF_OK,
 * or logs what is wrong.
 */
char *ngx_adm_redis_init(ngx_conf_t *cf, ngx_adm_redis_conf_t *redis);


/* the default line before any is read: what holds where none says anything */
void ngx_adm_event_builtin(ngx_adm_event_conf_t *ecf);

/* one "key=value" of a line; NGX_CONF_ERROR, logged: wrong, or a second one */
char *ngx_adm_event_set_key(ngx_conf_t *cf, ngx_adm_event_conf_t *ecf,
    ngx_str_t *arg);

/* the keys that a line leaves out, from the default line */
void ngx_adm_event_inherit(ngx_adm_event_conf_t *ecf,
    ngx_adm_event_conf_t *dflt);

/*
 * Completes an event when all lines are known: what its line leaves out,
 * whether its keys go together, and the texts that its calls and answers have.
 * ecf may be dflt.
 */
char *ngx_adm_event_finish(ngx_conf_t *cf, ngx_adm_event_conf_t *ecf,
    ngx_adm_event_conf_t *dflt);


#endif /* _NGX_ADM_CONF_PARSE_H_INCLUDED_ */
