
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The directive admission_rate_limit.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_admission_address.h"
#include "ngx_http_admission_conf_parse.h"


/* a window of the counter: requests * ms stays below 2^53, which Lua counts
   exactly */
#define NGX_HTTP_ADMISSION_QUOTA_MAX     NGX_HTTP_ADMISSION_RATE_MAX
#define NGX_HTTP_ADMISSION_WINDOW_MAX    86400          /* s */

#define NGX_HTTP_ADMISSION_CATEGORY_MAX  64

/* up to so many requests a window each is remembered, 100 bytes or so */
#define NGX_HTTP_ADMISSION_LOG_MAX       200


typedef struct {
    ngx_int_t                         rate;         /* requests ... */
    ngx_int_t                         unit;         /* ... in so many s */
    ngx_str_t                         rate_text;
    ngx_int_t                         window;       /* s, 0: not said */
    ngx_str_t                         prefix_text;  /* of ipv6_prefix= */
    ngx_uint_t                        algorithm;    /* NGX_CONF_UNSET_UINT:
                                                       not said */
} ngx_http_admission_limit_args_t;


static char *ngx_http_admission_limit_add(ngx_conf_t *cf, ngx_command_t *cmd,
    ngx_http_admission_loc_conf_t *lcf);
static char *ngx_http_admission_limit_param(ngx_conf_t *cf,
    ngx_command_t *cmd, ngx_http_admission_limit_conf_t *limit,
    ngx_http_admission_limit_args_t *args, ngx_str_t *arg);
static char *ngx_http_admission_limit_rate(ngx_conf_t *cf, ngx_command_t *cmd,
    ngx_http_admission_limit_args_t *args, ngx_str_t *arg, ngx_str_t *value);
static char *ngx_http_admission_limit_finish(ngx_conf_t *cf,
    ngx_command_t *cmd, ngx_http_admission_limit_conf_t *limit,
    ngx_http_admission_limit_args_t *args, ngx_str_t *name);
static char *ngx_http_admission_limit_texts(ngx_conf_t *cf,
    ngx_http_admission_limit_conf_t *limit);
static ngx_uint_t ngx_http_admission_limit_twice(
    ngx_http_admission_loc_conf_t *lcf);
static ngx_uint_t ngx_http_admission_is_category(ngx_str_t *name);
static ngx_http_admission_category_t *ngx_http_admission_category(
    ngx_conf_t *cf, ngx_str_t *name, ngx_http_admission_limit_conf_t *limit);
static ngx_int_t ngx_http_admission_word(ngx_str_t *value, const char *names,
    ngx_uint_t *n);


char *
ngx_http_admission_rate_limit(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_admission_loc_conf_t  *lcf = conf;

    ngx_str_t   *value;
    ngx_uint_t   off;

    value = cf->args->elts;

    off = (cf->args->nelts == 2 && ngx_strcmp(value[1].data, "off") == 0);

    if (lcf->limits && (off || lcf->limits->nelts == 0)) {
        return "\"off\" cannot stand beside another one";
    }

    if (lcf->limits == NULL) {
        lcf->limits = ngx_array_create(cf->pool, 1,
                                      sizeof(ngx_http_admission_limit_conf_t));
        if (lcf->limits == NULL) {
            return NGX_CONF_ERROR;
        }
    }

    return off ? NGX_CONF_OK : ngx_http_admission_limit_add(cf, cmd, lcf);
}


static char *
ngx_http_admission_limit_add(ngx_conf_t *cf, ngx_command_t *cmd,
    ngx_http_admission_loc_conf_t *lcf)
{
    char                             *rv;
    ngx_str_t                        *value;
    ngx_uint_t                        i;
    ngx_http_admission_limit_args_t   args;
    ngx_http_admission_limit_conf_t  *limit;

    value = cf->args->elts;

    if (!ngx_http_admission_is_category(&value[1])) {
        return ngx_http_admission_conf_invalid(cf, cmd, &value[1],
                                               "\"off\" alone, or a category "
                                               "of up to 64 letters, digits, "
                                               "\".\", \"_\" and \"-\" "
                                               "other than \"off\", then "
                                               "\"rate=\"");
    }

    if (ngx_http_admission_conf_twice(cf, cmd) != NGX_CONF_OK) {
        return NGX_CONF_ERROR;
    }

    if (lcf->limits->nelts == NGX_HTTP_ADMISSION_LIMITS_MAX) {
        return "stands more than 8 times at one place";
    }

    limit = ngx_array_push(lcf->limits);
    if (limit == NULL) {
        return NGX_CONF_ERROR;
    }

    ngx_memzero(limit, sizeof(ngx_http_admission_limit_conf_t));
    ngx_memzero(&args, sizeof(ngx_http_admission_limit_args_t));

    limit->ipv6_prefix = NGX_HTTP_ADMISSION_IPV6_PREFIX;
    args.algorithm = NGX_CONF_UNSET_UINT;

    for (i = 2; i < cf->args->nelts; i++) {
        rv = ngx_http_admission_limit_param(cf, cmd, limit, &args, &value[i]);

        if (rv != NGX_CONF_OK) {
            return rv;
        }
    }

    if (args.rate == 0) {
        return ngx_http_admission_conf_invalid(cf, cmd, &value[1],
                                               "a \"rate=\" with it, as "
                                               "\"rate=30r/m\"");
    }

    if (limit->key && args.prefix_text.len) {
        return ngx_http_admission_conf_invalid(cf, cmd, &args.prefix_text,
                                               "\"ipv6_prefix=\" only without "
                                               "\"key=\", which says who the "
                                               "client is");
    }

    rv = ngx_http_admission_limit_finish(cf, cmd, limit, &args, &value[1]);

    if (rv == NGX_CONF_OK && ngx_http_admission_limit_twice(lcf)) {
        return ngx_http_admission_conf_invalid(cf, cmd, &value[1],
                                               "a category once at a place "
                                               "for each \"key=\", another "
                                               "limit of the same client "
                                               "needs a name of its own");
    }

    return rv;
}


static char *
ngx_http_admission_limit_param(ngx_conf_t *cf, ngx_command_t *cmd,
    ngx_http_admission_limit_conf_t *limit,
    ngx_http_admission_limit_args_t *args, ngx_str_t *arg)
{
    ngx_int_t   n;
    ngx_str_t   value;

    if (ngx_http_admission_conf_param(arg, "rate", &value) == NGX_OK) {
        return ngx_http_admission_limit_rate(cf, cmd, args, arg, &value);
    }

    if (ngx_http_admission_conf_param(arg, "window", &value) == NGX_OK) {

        args->window = ngx_parse_time(&value, 1);

        if (args->window == NGX_ERROR || args->window < 1
            || args->window > NGX_HTTP_ADMISSION_WINDOW_MAX)
        {
            return ngx_http_admission_conf_invalid(cf, cmd, arg,
                                                   "\"window=\" of whole "
                                                   "seconds, from 1s to 24h");
        }

        return NGX_CONF_OK;
    }

    if (ngx_http_admission_conf_param(arg, "key", &value) == NGX_OK) {

        if (value.len == 0) {
            return ngx_http_admission_conf_invalid(cf, cmd, arg,
                                                   "\"key=\" with a value, "
                                                   "which may have variables");
        }

        limit->key = ngx_palloc(cf->pool, sizeof(ngx_http_complex_value_t));
        if (limit->key == NULL) {
            return NGX_CONF_ERROR;
        }

        return ngx_http_admission_value(cf, &value, limit->key);
    }

    if (ngx_http_admission_conf_param(arg, "ipv6_prefix", &value) == NGX_OK) {

        n = ngx_atoi(value.data, value.len);

        if (n < 1 || n > 128) {
            return ngx_http_admission_conf_invalid(cf, cmd, arg,
                                                   "\"ipv6_prefix=\" of 1 to "
                                                   "128 bits");
        }

        limit->ipv6_prefix = n;
        args->prefix_text = *arg;

        return NGX_CONF_OK;
    }

    if (ngx_http_admission_conf_param(arg, "algorithm", &value) == NGX_OK) {

        if (ngx_http_admission_word(&value, "log counter", &args->algorithm)
            == NGX_OK)
        {
            return NGX_CONF_OK;
        }

        return ngx_http_admission_conf_invalid(cf, cmd, arg,
                                               "\"algorithm=log\" or "
                                               "\"algorithm=counter\"");
    }

    if (ngx_http_admission_conf_param(arg, "fail", &value) == NGX_OK) {

        if (ngx_http_admission_word(&value, "local open closed", &limit->fail)
            == NGX_OK)
        {
            return NGX_CONF_OK;
        }

        return ngx_http_admission_conf_invalid(cf, cmd, arg,
                                               "\"fail=local\", "
                                               "\"fail=open\" or "
                                               "\"fail=closed\"");
    }

    if (ngx_http_admission_conf_param(arg, "dry_run", &value) == NGX_OK) {

        if (ngx_http_admission_conf_flag(&value, &limit->dry_run) == NGX_OK) {
            return NGX_CONF_OK;
        }

        return ngx_http_admission_conf_invalid(cf, cmd, arg,
                                               "\"dry_run=on\" or "
                                               "\"dry_run=off\"");
    }

    return ngx_http_admission_conf_invalid(cf, cmd, arg,
                                           "\"rate=Nr/s|Nr/m|Nr/h\", "
                                           "\"window=\", \"key=\", "
                                           "\"algorithm=log|counter\", "
                                           "\"fail=local|open|closed\", "
                                           "\"dry_run=on|off\" and "
                                           "\"ipv6_prefix=\"");
}


static char *
ngx_http_admission_limit_rate(ngx_conf_t *cf, ngx_command_t *cmd,
    ngx_http_admission_limit_args_t *args, ngx_str_t *arg, ngx_str_t *value)
{
    args->rate_text = *arg;

    if (ngx_http_admission_conf_rate(value, &args->rate, &args->unit)
        != NGX_OK)
    {
        return ngx_http_admission_conf_invalid(cf, cmd, arg,
                                               "\"rate=Nr/s\", "
                                               "\"rate=Nr/m\" or "
                                               "\"rate=Nr/h\" with a whole "
                                               "number from 1 to 100000000");
    }

    return NGX_CONF_OK;
}


/* the window is the unit of the rate, or so many of it, or a part */

static char *
ngx_http_admission_limit_finish(ngx_conf_t *cf, ngx_command_t *cmd,
    ngx_http_admission_limit_conf_t *limit,
    ngx_http_admission_limit_args_t *args, ngx_str_t *name)
{
    int64_t  n;

    limit->window = args->window ? args->window : args->unit;

    n = (int64_t) args->rate * limit->window;

    limit->quota = n / args->unit;

    if (n % args->unit || limit->quota < 1
        || n / args->unit > NGX_HTTP_ADMISSION_QUOTA_MAX)
    {
        return ngx_http_admission_conf_invalid(cf, cmd, &args->rate_text,
                                               "with this \"window=\" a rate "
                                               "that makes a whole number of "
                                               "requests a window, from 1 to "
                                               "100000000");
    }

    if (args->algorithm != NGX_CONF_UNSET_UINT) {
        limit->algorithm = args->algorithm;

    } else {
        limit->algorithm = (limit->quota <= NGX_HTTP_ADMISSION_LOG_MAX)
                           ? NGX_HTTP_ADMISSION_LIMIT_LOG
                           : NGX_HTTP_ADMISSION_LIMIT_COUNTER;
    }

    limit->category = ngx_http_admission_category(cf, name, limit);
    if (limit->category == NULL) {
        return NGX_CONF_ERROR;
    }

    return ngx_http_admission_limit_texts(cf, limit);
}


/* what does not change from one request to the next */

static char *
ngx_http_admission_limit_texts(ngx_conf_t *cf,
    ngx_http_admission_limit_conf_t *limit)
{
    u_char     *p;
    ngx_str_t  *name;

    name = &limit->category->name;

    p = ngx_pnalloc(cf->pool, sizeof("\"\";q=;w=\"\";r=") + 2 * name->len
                              + 4 * NGX_INT_T_LEN);
    if (p == NULL) {
        return NGX_CONF_ERROR;
    }

    limit->quota_text.data = p;
    p = ngx_sprintf(p, "%ui", limit->quota);
    limit->quota_text.len = p - limit->quota_text.data;

    limit->window_text.data = p;
    p = ngx_sprintf(p, "%ui", limit->window * 1000);
    limit->window_text.len = p - limit->window_text.data;

    limit->policy.data = p;
    p = ngx_sprintf(p, "\"%V\";q=%ui;w=%ui", name, limit->quota,
                    limit->window);
    limit->policy.len = p - limit->policy.data;

    limit->left_text.data = p;
    p = ngx_sprintf(p, "\"%V\";r=", name);
    limit->left_text.len = p - limit->left_text.data;

    return NGX_CONF_OK;
}


/* whether the last limit has the window of another one: it would not count */

static ngx_uint_t
ngx_http_admission_limit_twice(ngx_http_admission_loc_conf_t *lcf)
{
    ngx_str_t                         none, *key, *other;
    ngx_uint_t                        i;
    ngx_http_admission_limit_conf_t  *limit, *last;

    ngx_str_set(&none, "");

    limit = lcf->limits->elts;
    last = &limit[lcf->limits->nelts - 1];
    key = last->key ? &last->key->value : &none;

    for (i = 0; &limit[i] != last; i++) {

        if (limit[i].category != last->category) {
            continue;
        }

        other = limit[i].key ? &limit[i].key->value : &none;

        if (other->len == key->len
            && ngx_strncmp(other->data, key->data, key->len) == 0)
        {
            return 1;
        }
    }

    return 0;
}


static ngx_uint_t
ngx_http_admission_is_category(ngx_str_t *name)
{
    u_char      ch;
    ngx_uint_t  i;

    if (name->len == 0 || name->len > NGX_HTTP_ADMISSION_CATEGORY_MAX
        || ngx_strcmp(name->data, "off") == 0)
    {
        return 0;
    }

    for (i = 0; i < name->len; i++) {
        ch = name->data[i];

        if (!((ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z')
              || (ch >= '0' && ch <= '9')
              || ch == '.' || ch == '_' || ch == '-'))
        {
            return 0;
        }
    }

    return 1;
}


/*
 * A category may stand in several places: its clients have one budget for
 * all of them.  That makes sense if they agree on the window: of two that do
 * not, each forgets what the other one counted.
 */

static ngx_http_admission_category_t *
ngx_http_admission_category(ngx_conf_t *cf, ngx_str_t *name,
    ngx_http_admission_limit_conf_t *limit)
{
    ngx_uint_t                        i;
    ngx_http_admission_category_t    *category, **known, **added;
    ngx_http_admission_main_conf_t   *mcf;

    mcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_admission_module);

    if (mcf->categories == NULL) {
        mcf->categories = ngx_array_create(cf->pool, 4,
                                     sizeof(ngx_http_admission_category_t *));
        if (mcf->categories == NULL) {
            return NULL;
        }
    }

    known = mcf->categories->elts;

    for (i = 0; i < mcf->categories->nelts; i++) {
        category = known[i];

        if (category->name.len != name->len
            || ngx_strncmp(category->name.data, name->data, name->len) != 0)
        {
            continue;
        }

        if (category->window != limit->window
            || category->algorithm != limit->algorithm)
        {
            ngx_conf_log_error(NGX_LOG_WARN, cf, 0,
                               "\"admission_rate_limit %V\" has another "
                               "window or algorithm here than at another "
                               "place: they do not count together", name);
        }

        return category;
    }

    category = ngx_pcalloc(cf->pool, sizeof(ngx_http_admission_category_t));
    if (category == NULL) {
        return NULL;
    }

    category->name = *name;
    category->window = limit->window;
    category->algorithm = limit->algorithm;

    added = ngx_array_push(mcf->categories);
    if (added == NULL) {
        return NULL;
    }

    *added = category;

    return category;
}


/* the number of a word in a list separated by spaces; NGX_DECLINED: none */

static ngx_int_t
ngx_http_admission_word(ngx_str_t *value, const char *names, ngx_uint_t *n)
{
    size_t       len;
    ngx_uint_t   i;

    for (i = 0; *names; i++) {

        len = strcspn(names, " ");

        if (len == value->len && ngx_strncmp(names, value->data, len) == 0) {
            *n = i;
            return NGX_OK;
        }

        names += len;

        if (*names) {
            names++;
        }
    }

    return NGX_DECLINED;
}
