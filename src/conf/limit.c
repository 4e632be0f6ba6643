
/*
 * Copyright (C) 2026 the admission module authors
 *
 * admission_rate_limit: the windows of a category.
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "../base/address.h"
#include "conf.h"
#include "parse.h"


/*
 * a counter's requests * ms has to stay below 2^53, where Lua's numbers are
 * exact
 */
#define NGX_ADM_QUOTA_MAX     NGX_ADM_RATE_MAX
#define NGX_ADM_WINDOW_MAX    86400          /* s */

#define NGX_ADM_CATEGORY_MAX  64

/* up to so many requests in a window each is remembered, in about 100 bytes */
#define NGX_ADM_LOG_MAX       200


/* parameters, before the limit is made of them */
typedef struct {
    ngx_adm_rate_t                    rate;
    ngx_uint_t                        window;       /* s; 0: not given */
    ngx_http_complex_value_t         *key;
    int64_t                           ipv6_prefix;
    ngx_uint_t                        algorithm;    /* NGX_CONF_UNSET_UINT:
                                                       not given */
    ngx_uint_t                        fail;
    ngx_uint_t                        dry_run;
} ngx_adm_limit_args_t;


static char *ngx_adm_limit_add(ngx_conf_t *cf, ngx_command_t *cmd,
    ngx_adm_loc_conf_t *lcf);
static ngx_int_t ngx_adm_param_key(ngx_conf_t *cf, ngx_adm_param_t *param,
    ngx_str_t *value, void *field);
static char *ngx_adm_limit_finish(ngx_conf_t *cf, ngx_command_t *cmd,
    ngx_adm_limit_conf_t *limit, ngx_adm_limit_args_t *args);
static char *ngx_adm_limit_texts(ngx_conf_t *cf, ngx_adm_limit_conf_t *limit);
static ngx_uint_t ngx_adm_limit_twice(ngx_adm_loc_conf_t *lcf);
static ngx_uint_t ngx_adm_is_category(ngx_str_t *name);
static ngx_adm_category_t *ngx_adm_category(ngx_conf_t *cf, ngx_str_t *name,
    ngx_adm_limit_conf_t *limit);


static ngx_conf_enum_t  ngx_adm_limit_algorithms[] = {
    { ngx_string("log"), NGX_ADM_LIMIT_LOG },
    { ngx_string("counter"), NGX_ADM_LIMIT_COUNTER },
    { ngx_null_string, 0 }
};


static ngx_conf_enum_t  ngx_adm_limit_fails[] = {
    { ngx_string("local"), NGX_ADM_FAIL_LOCAL },
    { ngx_string("open"), NGX_ADM_FAIL_OPEN },
    { ngx_string("closed"), NGX_ADM_FAIL_CLOSED },
    { ngx_null_string, 0 }
};


static ngx_adm_param_t  ngx_adm_limit_params[] = {

    ngx_adm_param(limit_args, rate, rate, rate, 1, 0, NULL,
      "\"rate=Nr/s\", \"rate=Nr/m\" or \"rate=Nr/h\" with a whole number "
      "from 1 to 100000000"),

    ngx_adm_param(limit_args, window, window, seconds,
                  1, NGX_ADM_WINDOW_MAX, NULL,
                  "\"window=\" of whole seconds, from 1s to 24h"),

    ngx_adm_param(limit_args, key, key, key, 0, 0, NULL,
                  "\"key=\" with a value, which may have variables"),

    ngx_adm_param(limit_args, ipv6_prefix, ipv6_prefix, number, 1, 128, NULL,
                  "\"ipv6_prefix=\" of 1 to 128 bits"),

    ngx_adm_param(limit_args, algorithm, algorithm, enum,
                  0, 0, ngx_adm_limit_algorithms,
                  "\"algorithm=log\" or \"algorithm=counter\""),

    ngx_adm_param(limit_args, fail, fail, enum, 0, 0, ngx_adm_limit_fails,
                  "\"fail=local\", \"fail=open\" or \"fail=closed\""),

    ngx_adm_param(limit_args, dry_run, dry_run, switch, 0, NGX_ADM_ON, NULL,
                  "\"dry_run=on\" or \"dry_run=off\""),

    ngx_adm_params_end
};


static ngx_adm_params_t  ngx_adm_limit_set = {
    ngx_adm_limit_params,
    "\"rate=Nr/s|Nr/m|Nr/h\", \"window=\", \"key=\", "
    "\"algorithm=log|counter\", \"fail=local|open|closed\", "
    "\"dry_run=on|off\" and \"ipv6_prefix=\"",
    0 };


char *
ngx_adm_set_rate_limit(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_adm_loc_conf_t  *lcf = conf;

    ngx_str_t   *value;
    ngx_uint_t   off;

    value = cf->args->elts;

    off = (cf->args->nelts == 2 && ngx_strcmp(value[1].data, "off") == 0);

    if (lcf->limits && (off || lcf->limits->nelts == 0)) {
        return "\"off\" cannot stand beside another one";
    }

    if (lcf->limits == NULL) {
        lcf->limits = ngx_array_create(cf->pool, 1,
                                       sizeof(ngx_adm_limit_conf_t));
        if (lcf->limits == NULL) {
            return NGX_CONF_ERROR;
        }
    }

    return off ? NGX_CONF_OK : ngx_adm_limit_add(cf, cmd, lcf);
}


static char *
ngx_adm_limit_add(ngx_conf_t *cf, ngx_command_t *cmd, ngx_adm_loc_conf_t *lcf)
{
    char                  *rv;
    ngx_str_t             *value, *prefix;
    ngx_adm_limit_args_t   args;
    ngx_adm_limit_conf_t  *limit;

    value = cf->args->elts;

    if (!ngx_adm_is_category(&value[1])) {
        return ngx_adm_conf_invalid(cf, cmd, &value[1], "\"off\" alone, or a "
                                    "category of up to 64 letters, digits, "
                                    "\".\", \"_\" and \"-\" other than "
                                    "\"off\", then \"rate=\"");
    }

    if (lcf->limits->nelts == NGX_ADM_LIMITS_MAX) {
        return "stands more than 8 times at one place";
    }

    ngx_memzero(&args, sizeof(ngx_adm_limit_args_t));

    args.ipv6_prefix = NGX_ADM_IPV6_PREFIX;
    args.algorithm = NGX_CONF_UNSET_UINT;

    if (ngx_adm_conf_params(cf, cmd, 2, &ngx_adm_limit_set,
                            &args) != NGX_CONF_OK)
    {
        return NGX_CONF_ERROR;
    }

    if (args.rate.n == 0) {
        return ngx_adm_conf_invalid(cf, cmd, &value[1], "a \"rate=\" with "
                                    "it, as \"rate=30r/m\"");
    }

    prefix = ngx_adm_conf_arg(cf, "ipv6_prefix");

    if (args.key && prefix) {
        return ngx_adm_conf_invalid(cf, cmd, prefix, "\"ipv6_prefix=\" only "
                                    "without \"key=\", which says who the "
                                    "client is");
    }

    limit = ngx_array_push(lcf->limits);
    if (limit == NULL) {
        return NGX_CONF_ERROR;
    }

    ngx_memzero(limit, sizeof(ngx_adm_limit_conf_t));

    limit->key = args.key;
    limit->fail = args.fail;
    limit->ipv6_prefix = args.ipv6_prefix;
    limit->dry_run = args.dry_run;

    rv = ngx_adm_limit_finish(cf, cmd, limit, &args);

    if (rv == NGX_CONF_OK && ngx_adm_limit_twice(lcf)) {
        return ngx_adm_conf_invalid(cf, cmd, &value[1],
                   "a category once at a place for each \"key=\", another "
                   "limit of the same client needs a name of its own");
    }

    return rv;
}


static ngx_int_t
ngx_adm_param_key(ngx_conf_t *cf, ngx_adm_param_t *param, ngx_str_t *value,
    void *field)
{
    ngx_http_complex_value_t  **key = field;

    if (value->len == 0) {
        return NGX_DECLINED;
    }

    *key = ngx_palloc(cf->pool, sizeof(ngx_http_complex_value_t));

    if (*key == NULL || ngx_adm_value(cf, value, *key) != NGX_CONF_OK) {
        return NGX_ERROR;
    }

    return NGX_OK;
}


/* the window is the rate's unit, several of these, or a part of one */

static char *
ngx_adm_limit_finish(ngx_conf_t *cf, ngx_command_t *cmd,
    ngx_adm_limit_conf_t *limit, ngx_adm_limit_args_t *args)
{
    int64_t     n;
    ngx_str_t  *value;

    limit->window = args->window ? args->window : (ngx_uint_t) args->rate.unit;

    n = (int64_t) args->rate.n * limit->window;

    limit->quota = n / args->rate.unit;

    if (n % args->rate.unit || limit->quota < 1
        || n / args->rate.unit > NGX_ADM_QUOTA_MAX)
    {
        return ngx_adm_conf_invalid(cf, cmd,
                   ngx_adm_conf_arg(cf, "rate"),
                   "with this \"window=\" a rate that makes a whole number of "
                   "requests a window, from 1 to 100000000");
    }

    limit->algorithm = args->algorithm;

    if (args->algorithm == NGX_CONF_UNSET_UINT) {
        limit->algorithm = (limit->quota <= NGX_ADM_LOG_MAX)
                           ? NGX_ADM_LIMIT_LOG
                           : NGX_ADM_LIMIT_COUNTER;
    }

    value = cf->args->elts;

    limit->category = ngx_adm_category(cf, &value[1], limit);
    if (limit->category == NULL) {
        return NGX_CONF_ERROR;
    }

    return ngx_adm_limit_texts(cf, limit);
}


/* texts that are the same for all requests */

static char *
ngx_adm_limit_texts(ngx_conf_t *cf, ngx_adm_limit_conf_t *limit)
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
    p = ngx_sprintf(p, "\"%V\";q=%ui;w=%ui", name, limit->quota, limit->window);
    limit->policy.len = p - limit->policy.data;

    limit->left_text.data = p;
    p = ngx_sprintf(p, "\"%V\";r=", name);
    limit->left_text.len = p - limit->left_text.data;

    return NGX_CONF_OK;
}


/*
 * whether a limit has the same window as an earlier one, and so would not
 * count
 */

static ngx_uint_t
ngx_adm_limit_twice(ngx_adm_loc_conf_t *lcf)
{
    ngx_str_t              none, *key, *other;
    ngx_uint_t             i;
    ngx_adm_limit_conf_t  *limit, *last;

    ngx_str_set(&none, "");

    limit = lcf->limits->elts;
    last = &limit[lcf->limits->nelts - 1];
    key = last->key ? &last->key->value : &none;

    for (i = 0; &limit[i] != last; i++) {

        if (limit[i].category != last->category) {
            continue;
        }

        other = limit[i].key ? &limit[i].key->value : &none;

        if (ngx_adm_str_same(other, key)) {
            return 1;
        }
    }

    return 0;
}


static ngx_uint_t
ngx_adm_is_category(ngx_str_t *name)
{
    return name->len > 0
           && name->len <= NGX_ADM_CATEGORY_MAX
           && !ngx_adm_str_is(name, "off")
           && strspn((char *) name->data, "abcdefghijklmnopqrstuvwxyz"
                     "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == name->len;
}


/*
 * A category may stand in several places, and has one budget for a client in
 * all of them.  So they have to agree on the window: of two that do not, each
 * would forget what the other has counted.
 */

static ngx_adm_category_t *
ngx_adm_category(ngx_conf_t *cf, ngx_str_t *name, ngx_adm_limit_conf_t *limit)
{
    ngx_uint_t             i;
    ngx_adm_category_t    *category, **known;
    ngx_adm_main_conf_t   *mcf;

    mcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_admission_module);

    for (i = 0; mcf->categories && i < mcf->categories->nelts; i++) {
        known = mcf->categories->elts;
        category = known[i];

        if (!ngx_adm_str_same(&category->name, name)) {
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

    category = ngx_pcalloc(cf->pool, sizeof(ngx_adm_category_t));
    if (category == NULL) {
        return NULL;
    }

    category->name = *name;
    category->window = limit->window;
    category->algorithm = limit->algorithm;

    known = ngx_adm_conf_push(cf, &mcf->categories,
                              sizeof(ngx_adm_category_t *));
    if (known == NULL) {
        return NULL;
    }

    *known = category;

    return category;
}
