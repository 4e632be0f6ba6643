
/*
 * Copyright (C) 2026 the admission module authors
 *
 * For t/page/range.t: a module of NGINX beside the one that is tested, which
 * has it say how long it takes, while the configuration is read.
 *
 *     words FILE;
 *
 * Each line of the file is "low high"; FILE.out gets two for each, what is
 * said in English and in Korean.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "page/words.h"


static char *words(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);


static ngx_command_t  words_commands[] = {

    { ngx_string("words"),
      NGX_MAIN_CONF|NGX_DIRECT_CONF|NGX_CONF_TAKE1,
      words,
      0,
      0,
      NULL },

      ngx_null_command
};


static ngx_core_module_t  words_ctx = {
    ngx_string("words"),
    NULL,
    NULL
};


ngx_module_t  words_module = {
    NGX_MODULE_V1,
    &words_ctx,
    words_commands,
    NGX_CORE_MODULE,
    NULL, NULL, NULL, NULL, NULL, NULL, NULL,
    NGX_MODULE_V1_PADDING
};


ngx_module_t  *ngx_modules[] = { &words_module, NULL };
char          *ngx_module_names[] = { "words_module", NULL };
char          *ngx_module_order[] = { NULL };


static char *
words(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    FILE        *in, *out;
    char         name[1024];
    u_char       text[NGX_ADM_WORDS_MAX + 1];
    long long    low, high;
    ngx_str_t   *value;
    ngx_uint_t   i;

    value = cf->args->elts;

    snprintf(name, sizeof(name), "%s.out", (char *) value[1].data);

    in = fopen((char *) value[1].data, "r");
    out = fopen(name, "w");

    if (in == NULL || out == NULL) {
        return NGX_CONF_ERROR;
    }

    while (fscanf(in, "%lld %lld", &low, &high) == 2) {

        for (i = NGX_ADM_WORDS_EN; i <= NGX_ADM_WORDS_KO; i++) {
            text[NGX_ADM_WORDS_MAX] = '#';
            *ngx_adm_words(text, low, high, i) = '\0';

            if (text[NGX_ADM_WORDS_MAX] == '#') {
                fprintf(out, "%s\n", (char *) text);
            }
        }
    }

    fclose(in);
    fclose(out);

    return NGX_CONF_OK;
}
