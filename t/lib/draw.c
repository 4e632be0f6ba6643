
/*
 * Copyright (C) 2026 the admission module authors
 *
 * For t/token/draw*.t: a module of NGINX beside the one that is tested, which
 * has its functions make draws, while the configuration is read.
 *
 *     draw FILE;
 *
 * Each line of the file has a word and what it needs, separated by blanks; "-"
 * is nothing, bytes are in hexadecimal.  What comes of each goes to FILE.out,
 * a line each, "no" where it is refused:
 *
 *     secret KEY[,KEY...] EVENT ACTIVATION COMMITMENT   secret and commitment
 *     seed SECRET SOURCE BEACON EVENT ACTIVATION LOTS   seed
 *     source SOURCE                                     "ok"
 *     beacon TEXT                                       its bytes
 *     position SEED LOTS LOT[,LOT...]                      positions
 *     positions SEED LOTS NAME    "ok", and lines of lot and position in NAME
 *     orders SEED LOTS TIMES      how often each order of few lots came, of so
 *                                 many seeds: the first, its hash, and so on
 *     time SEED LOTS TIMES        ns of a position, and of what prepares it
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "token/draw.h"


#define DRAW_FIELDS  7
#define DRAW_ORDERS  720                 /* of six lots */


static char *draw(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);


static ngx_command_t  draw_commands[] = {

    { ngx_string("draw"),
      NGX_MAIN_CONF|NGX_DIRECT_CONF|NGX_CONF_TAKE1,
      draw,
      0,
      0,
      NULL },

      ngx_null_command
};


static ngx_core_module_t  draw_ctx = {
    ngx_string("draw"),
    NULL,
    NULL
};


ngx_module_t  draw_module = {
    NGX_MODULE_V1,
    &draw_ctx,
    draw_commands,
    NGX_CORE_MODULE,
    NULL, NULL, NULL, NULL, NULL, NULL, NULL,
    NGX_MODULE_V1_PADDING
};


ngx_module_t  *ngx_modules[] = { &draw_module, NULL };
char          *ngx_module_names[] = { "draw_module", NULL };
char          *ngx_module_order[] = { NULL };


/* to memory of exactly its length, so that a byte past it is seen */

static ngx_str_t
draw_bytes(ngx_pool_t *pool, char *hex)
{
    size_t     i;
    ngx_str_t  bytes;

    bytes.len = ngx_strcmp(hex, "-") == 0 ? 0 : ngx_strlen(hex) / 2;
    bytes.data = ngx_palloc(pool, bytes.len ? bytes.len : 1);

    if (bytes.data == NULL) {
        exit(1);
    }

    for (i = 0; i < bytes.len; i++) {
        bytes.data[i] = (u_char) ngx_hextoi((u_char *) hex + 2 * i, 2);
    }

    return bytes;
}


static void
draw_hex(FILE *out, u_char *bytes, size_t len, const char *end)
{
    size_t  i;

    for (i = 0; i < len; i++) {
        fprintf(out, "%02x", bytes[i]);
    }

    fprintf(out, "%s", end);
}


static ngx_int_t
draw_secret(ngx_pool_t *pool, char **field, FILE *out)
{
    char               *p, *end;
    u_char              secret[NGX_ADM_DRAW_SIZE];
    u_char              commitment[NGX_ADM_DRAW_SIZE];
    ngx_int_t           rc;
    ngx_str_t           key, event, known;
    ngx_adm_keyring_t  *ring;

    ring = ngx_adm_keyring_create(pool);

    for (p = strtok_r(field[1], ",", &end); p; p = strtok_r(NULL, ",", &end)) {
        key = draw_bytes(pool, p);

        if (ring == NULL || ngx_adm_keyring_add(pool, ring, &key, 0) != NGX_OK)
        {
            return NGX_ERROR;
        }
    }

    ring = ngx_adm_keyring_derive(pool, ring, NGX_ADM_DRAW_LABEL);
    if (ring == NULL) {
        return NGX_ERROR;
    }

    event = draw_bytes(pool, field[2]);
    known = draw_bytes(pool, field[4]);

    rc = ngx_adm_draw_secret(ring, &event, atoll(field[3]),
                             known.len ? known.data : NULL, secret);

    if (rc == NGX_OK) {
        ngx_adm_draw_commitment(secret, commitment);

        draw_hex(out, secret, NGX_ADM_DRAW_SIZE, " ");
        draw_hex(out, commitment, NGX_ADM_DRAW_SIZE, "\n");
    }

    return rc;
}


static ngx_int_t
draw_seed(ngx_pool_t *pool, char **field, FILE *out)
{
    u_char                seed[NGX_ADM_DRAW_SIZE];
    ngx_int_t             rc;
    ngx_str_t             secret;
    ngx_adm_draw_terms_t  terms;

    secret = draw_bytes(pool, field[1]);

    terms.source = draw_bytes(pool, field[2]);
    terms.beacon = draw_bytes(pool, field[3]);
    terms.event = draw_bytes(pool, field[4]);
    terms.activation = atoll(field[5]);
    terms.lots = atoll(field[6]);

    rc = ngx_adm_draw_seed(&terms, secret.data, seed);

    if (rc == NGX_OK) {
        draw_hex(out, seed, NGX_ADM_DRAW_SIZE, "\n");
    }

    return rc;
}


static ngx_int_t
draw_beacon(ngx_pool_t *pool, char **field, FILE *out)
{
    size_t     len;
    u_char     beacon[NGX_ADM_DRAW_BEACON_MAX];
    ngx_int_t  rc;
    ngx_str_t  text;

    text = draw_bytes(pool, field[1]);

    if (ngx_strcmp(field[0], "source") == 0) {
        if (!ngx_adm_draw_is_source(&text)) {
            return NGX_DECLINED;
        }

        fprintf(out, "ok\n");
        return NGX_OK;
    }

    rc = ngx_adm_draw_beacon(&text, beacon, &len);

    if (rc == NGX_OK) {
        draw_hex(out, beacon, len, "\n");
    }

    return rc;
}


static ngx_int_t
draw_positions(ngx_adm_draw_t *made, char *name, FILE *out)
{
    FILE     *list;
    int64_t   lot;

    list = fopen(name, "w");
    if (list == NULL) {
        return NGX_ERROR;
    }

    for (lot = 1; lot <= made->lots; lot++) {
        fprintf(list, "%lld %lld\n", (long long) lot,
                (long long) ngx_adm_draw_position(made, lot));
    }

    fprintf(out, "ok\n");

    return fclose(list) == 0 ? NGX_OK : NGX_ERROR;
}


/* an order as a number: of each position, how many smaller ones come later */

static ngx_int_t
draw_orders(u_char *seed, int64_t lots, long times, FILE *out)
{
    long            order, n;
    int64_t         lot, later, position[7];
    ngx_adm_draw_t  made;

    static long  count[DRAW_ORDERS];

    ngx_memzero(count, sizeof(count));

    for (n = 0; n < times; n++) {

        if (lots > 6 || ngx_adm_draw_init(&made, seed, lots) != NGX_OK) {
            return NGX_DECLINED;
        }

        for (lot = 1; lot <= lots; lot++) {
            position[lot] = ngx_adm_draw_position(&made, lot);
        }

        order = 0;

        for (lot = 1; lot <= lots; lot++) {
            order *= lots - lot + 1;

            for (later = lot + 1; later <= lots; later++) {
                order += position[later] < position[lot];
            }
        }

        count[order]++;

        (void) SHA256(seed, NGX_ADM_DRAW_SIZE, seed);
    }

    for (order = 1, lot = 1; lot <= lots; lot++) {
        order *= lot;
    }

    for (n = 0; n < order; n++) {
        fprintf(out, "%ld%s", count[n], n == order - 1 ? "\n" : " ");
    }

    return NGX_OK;
}


static double
draw_spent(void)
{
    struct timespec  ts;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);

    return (double) ts.tv_sec * 1e9 + (double) ts.tv_nsec;
}


static ngx_int_t
draw_time(u_char *seed, int64_t lots, long times, FILE *out)
{
    long             n;
    double           begin, middle, end;
    int64_t          sum;
    ngx_adm_draw_t   made;

    begin = draw_spent();

    for (n = 0; n < times; n++) {
        (void) ngx_adm_draw_init(&made, seed, lots);
    }

    middle = draw_spent();
    sum = 0;

    for (n = 0; n < times; n++) {
        sum += ngx_adm_draw_position(&made, 1 + n % lots);
    }

    end = draw_spent();

    fprintf(out, "%.0f %.0f %lld\n", (end - middle) / (double) times,
            (middle - begin) / (double) times, (long long) sum);

    return NGX_OK;
}


static ngx_int_t
draw_made(ngx_pool_t *pool, char **field, FILE *out)
{
    char            *p, *end;
    ngx_str_t        seed;
    const char      *before;
    ngx_adm_draw_t   made;

    seed = draw_bytes(pool, field[1]);

    if (ngx_adm_draw_init(&made, seed.data, atoll(field[2])) != NGX_OK) {
        return NGX_DECLINED;
    }

    if (ngx_strcmp(field[0], "positions") == 0) {
        return draw_positions(&made, field[3], out);
    }

    if (ngx_strcmp(field[0], "orders") == 0) {
        return draw_orders(seed.data, made.lots, atol(field[3]), out);
    }

    if (ngx_strcmp(field[0], "time") == 0) {
        return draw_time(seed.data, made.lots, atol(field[3]), out);
    }

    before = "";

    for (p = strtok_r(field[3], ",", &end); p; p = strtok_r(NULL, ",", &end)) {
        fprintf(out, "%s%lld", before,
                (long long) ngx_adm_draw_position(&made, atoll(p)));
        before = " ";
    }

    fprintf(out, "\n");

    return NGX_OK;
}


static char *
draw(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    FILE        *in, *out;
    char        *line, *p, name[NGX_MAX_PATH], *field[DRAW_FIELDS];
    size_t       size;
    ngx_int_t    rc;
    ngx_str_t   *value;
    ngx_uint_t   n;

    value = cf->args->elts;

    (void) ngx_snprintf((u_char *) name, sizeof(name), "%V.out%Z", &value[1]);

    in = fopen((char *) value[1].data, "r");
    out = fopen(name, "w");

    if (in == NULL || out == NULL) {
        return "has no such file";
    }

    line = NULL;
    size = 0;

    while (getline(&line, &size, in) != -1) {

        ngx_memzero(field, sizeof(field));

        for (n = 0, p = strtok(line, " \n"); p && n < DRAW_FIELDS;
             p = strtok(NULL, " \n"))
        {
            field[n++] = p;
        }

        switch (n) {
        case 2:
            rc = draw_beacon(cf->pool, field, out);
            break;
        case 4:
            rc = draw_made(cf->pool, field, out);
            break;
        case 5:
            rc = draw_secret(cf->pool, field, out);
            break;
        case DRAW_FIELDS:
            rc = draw_seed(cf->pool, field, out);
            break;
        default:
            return "has a line that says nothing";
        }

        if (rc == NGX_ERROR) {
            return "failed";
        }

        if (rc == NGX_DECLINED) {
            fprintf(out, "no\n");
        }
    }

    free(line);
    fclose(in);

    return fclose(out) == 0 ? NGX_CONF_OK : "can not write";
}
