
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Reading what directives say: their parameters by tables, one reader for
 * each kind of value, and files.  And what parsers have of each other.  For
 * conf/ alone.
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
 * Reads a value into the field of its parameter.  NGX_DECLINED: it takes
 * something else.  NGX_ERROR: failed, and said why.
 */
typedef ngx_int_t (*ngx_adm_read_pt)(ngx_conf_t *cf, ngx_adm_param_t *param,
    ngx_str_t *value, void *field);

/* "name=value"; a table of them ends with an empty name */
struct ngx_adm_param_s {
    ngx_str_t           name;
    ngx_adm_read_pt     read;
    size_t              offset;      /* of the field */
    size_t              size;
    int64_t             min;
    int64_t             max;
    void               *post;        /* the reader's */
    const char         *allowed;     /* NULL: as the directive */
};

/* a parameter, whose field is a member of ngx_adm_..._t; and a table's end */
#define ngx_adm_param(type, name, member, read, min, max, post, allowed)      \
    { ngx_string(#name), ngx_adm_param_##read,                                \
      offsetof(ngx_adm_##type##_t, member),                                   \
      sizeof(((ngx_adm_##type##_t *) NULL)->member), min, max, post, allowed }

#define ngx_adm_params_end  { ngx_null_string, NULL, 0, 0, 0, 0, NULL, NULL }

/* those of a directive */
typedef struct {
    ngx_adm_param_t    *params;
    const char         *allowed;     /* by the directive as such */
    ngx_uint_t          once;        /* bool: the texts say that each may stand
                                        once */
} ngx_adm_params_t;

typedef struct {
    ngx_int_t                      n;           /* 0: off */
    ngx_int_t                      unit;        /* of so many seconds */
} ngx_adm_rate_t;


/*
 * Logs that the directive does not take the value, and what is allowed;
 * returns NGX_CONF_ERROR.
 */
char *ngx_adm_conf_invalid(ngx_conf_t *cf, ngx_command_t *cmd, ngx_str_t *value,
    const char *allowed);

/*
 * Reads the arguments of the directive, from the one of that number on, into
 * fields.  NGX_CONF_ERROR, logged: one is none of the parameters, stands
 * twice, or has a wrong value.
 */
char *ngx_adm_conf_params(ngx_conf_t *cf, ngx_command_t *cmd, ngx_uint_t from,
    ngx_adm_params_t *set, void *fields);

/* the parameter that the argument is, and its value; NULL: none of them */
ngx_adm_param_t *ngx_adm_conf_find(ngx_adm_param_t *params, ngx_str_t *arg,
    ngx_str_t *value);

/* the rest of arg after "name="; NGX_DECLINED: arg is something else */
ngx_int_t ngx_adm_conf_param(ngx_str_t *arg, const char *name,
    ngx_str_t *value);

/* the argument "name=..." of the directive; NULL: there is none */
ngx_str_t *ngx_adm_conf_arg(ngx_conf_t *cf, const char *name);


/* what parameters have, by type of the field */

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


/* of events, int64_t from min to max: hundredths of a percent, or "off", 0 */
ngx_int_t ngx_adm_param_percent(ngx_conf_t *cf, ngx_adm_param_t *param,
    ngx_str_t *value, void *field);


/* what a name stands for; NGX_DECLINED: it is none of them */
ngx_int_t ngx_adm_conf_enum(ngx_conf_enum_t *names, ngx_str_t *name,
    ngx_uint_t *value);

/*
 * The first argument: a name, or a value with variables, which is compiled;
 * the end of the names has what stands for that.  NGX_CONF_ERROR: logged.
 */
char *ngx_adm_conf_mode(ngx_conf_t *cf, ngx_command_t *cmd,
    ngx_conf_enum_t *names, const char *allowed, ngx_uint_t *mode,
    ngx_http_complex_value_t *cv);

/* one more of an array, which is made for the first; NULL: no memory */
void *ngx_adm_conf_push(ngx_conf_t *cf, ngx_array_t **array, size_t size);

/* compiles a value with variables; NGX_CONF_ERROR: failed, and said why */
char *ngx_adm_value(ngx_conf_t *cf, ngx_str_t *value,
    ngx_http_complex_value_t *cv);

/* takes the next item off a list separated by commas, at its end to NULL */
ngx_int_t ngx_adm_conf_next(ngx_str_t *list, ngx_str_t *item);

/*
 * Reads a file, max bytes of it and one more if it has them, into text, which
 * is of pool; *name becomes its full name.  NGX_ERROR: logged, with the
 * directive and what of it ("\"file=\" of ", or "") names the file.
 */
ngx_int_t ngx_adm_conf_file(ngx_conf_t *cf, ngx_command_t *cmd,
    const char *what, ngx_str_t *name, size_t max, ngx_pool_t *pool,
    ngx_str_t *text);


/* what parsers, and the merge, have of each other */

/* gives the location a content handler; a text: there is one */
char *ngx_adm_content_take(ngx_conf_t *cf, ngx_command_t *cmd,
    ngx_adm_loc_conf_t *lcf, ngx_uint_t content, ngx_http_handler_pt handler);

/*
 * Has "if" and "limit_except" answer as the location around them.
 * NGX_CONF_ERROR, logged: a handler of another module came after ours.
 */
char *ngx_adm_content_merge(ngx_conf_t *cf, ngx_adm_loc_conf_t *prev,
    ngx_adm_loc_conf_t *conf);

/*
 * A location is merged: what ngx_adm_routes_check() is to know of.
 * That one warns, once all are, of ways to join the queue past the waiting
 * room, of calls of the queue that have no location, and of gates that are told
 * of no event or have no Redis.
 */
ngx_int_t ngx_adm_routes_note(ngx_conf_t *cf, ngx_adm_loc_conf_t *conf);
void ngx_adm_routes_check(ngx_conf_t *cf, ngx_adm_main_conf_t *mcf);


/* by NGX_ADM_SECRET_* */
extern ngx_conf_enum_t  ngx_adm_secret_kinds[];

/*
 * The secret that value is, or that is in the file of "file=...": then it is
 * in cf->temp_pool, and the caller wipes it.  NGX_ERROR: said why.
 */
ngx_int_t ngx_adm_secret_value(ngx_conf_t *cf, ngx_command_t *cmd,
    ngx_str_t *value, ngx_str_t *secret);

/*
 * What a server has of a keyring outside of it: that one, or, where it names
 * locations, a copy with locations of this server.  NULL: no memory, or told.
 */
ngx_adm_keyring_t *ngx_adm_secret_inherit(ngx_conf_t *cf,
    ngx_adm_keyring_t *ring);

/* gives the locations of a server's own keyring their ids */
void ngx_adm_secret_locate(ngx_conf_t *cf, ngx_adm_keyring_t *ring);

/*
 * Merges admission_trusted_edge, after the secrets, and notes its header for
 * the server.
 */
char *ngx_adm_edge_merge(ngx_conf_t *cf, ngx_adm_loc_conf_t *prev,
    ngx_adm_loc_conf_t *conf);


/* as cookies are without admission_cookie, by token kind */
extern ngx_adm_cookie_conf_t  ngx_adm_cookie_defaults[];

/* NGX_CONF_ERROR: two kinds of cookies have one name, and it is logged */
char *ngx_adm_cookies_differ(ngx_conf_t *cf, ngx_adm_loc_conf_t *lcf);

/* where no level says "admission_user", "admission_tier1", "admission_tier2" */
extern ngx_adm_user_conf_t   ngx_adm_user_default;
extern ngx_adm_tier1_conf_t  ngx_adm_tier1_default;
extern ngx_adm_tier2_conf_t  ngx_adm_tier2_default;


/*
 * admission_redis, when all of the http block is known: NGX_CONF_OK, or logs
 * what is wrong
 */
char *ngx_adm_redis_init(ngx_conf_t *cf, ngx_adm_redis_conf_t *redis);


/* what holds where the default line says nothing */
void ngx_adm_event_builtin(ngx_adm_event_conf_t *ecf);

/* what the line leaves out, from the default one; eventInfo */
char *ngx_adm_event_finish(ngx_conf_t *cf, ngx_adm_event_conf_t *ecf,
    ngx_adm_event_conf_t *dflt);


#endif /* _NGX_ADM_CONF_PARSE_H_INCLUDED_ */
