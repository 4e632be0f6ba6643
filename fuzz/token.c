
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Tokens: their form, header, payload and claims.  libFuzzer cannot forge a
 * signature, so that most here is signed for it.
 *
 *   H header \n payload   signed as the letter after H says (1: HS256, 2, 3)
 *   P payload             of the kind that the letter after P says
 *   B payload             as it stands between the dots of a token
 *   M claims              signed, verified, and changed somewhere
 *   T token               as it is
 *   K set, E PEM          public keys
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include <jansson.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "host/settings.h"
#include "token/claims.h"
#include "token/jwt.h"
#include "token/keyset.h"
#include "token/object.h"
#include "token/verified.h"
#include "fuzz.h"


#define FUZZ_NOW  1700000000


/* as the configuration makes them, with keys of their own */
static ngx_adm_verifier_t  *fuzz_verifiers;

static ngx_str_t  fuzz_secret =
    ngx_string("user-0123456789abcdef0123456789abcdef");


static void
fuzz_token_init(void)
{
    ngx_adm_loc_conf_t          *lcf;
    ngx_http_core_srv_conf_t   **cscfp;
    ngx_http_core_main_conf_t   *cmcf;

    cmcf = ngx_http_cycle_get_module_main_conf(ngx_cycle,
                                               ngx_http_core_module);
    cscfp = cmcf->servers.elts;
    lcf = cscfp[0]->ctx->loc_conf[ngx_http_admission_module.ctx_index];

    fuzz_verifiers = lcf->verifiers;

    fuzz_check(ngx_adm_verified_init((ngx_cycle_t *) ngx_cycle) == NGX_OK);
}


/* header.payload with a signature by the secret of users */

static ngx_str_t
fuzz_sign(ngx_str_t *header, ngx_str_t *payload, ngx_uint_t raw,
    ngx_uint_t alg, ngx_pool_t *pool)
{
    u_char         mac[EVP_MAX_MD_SIZE];
    ngx_str_t      token, part, src;
    unsigned int   size;
    const EVP_MD  *md[] = { EVP_sha256(), EVP_sha384(), EVP_sha512() };

    token.data = ngx_pnalloc(pool,
                             ngx_base64_encoded_length(header->len)
                             + ngx_base64_encoded_length(payload->len) + 128);
    fuzz_check(token.data != NULL);

    part.data = token.data;
    ngx_encode_base64url(&part, header);
    part.data += part.len;
    *part.data++ = '.';

    if (raw) {
        part.data = ngx_cpymem(part.data, payload->data, payload->len);

    } else {
        ngx_encode_base64url(&part, payload);
        part.data += part.len;
    }

    HMAC(md[alg], fuzz_secret.data, fuzz_secret.len, token.data,
         part.data - token.data, mac, &size);

    *part.data++ = '.';

    src.data = mac;
    src.len = size;
    ngx_encode_base64url(&part, &src);

    token.len = part.data + part.len - token.data;

    return fuzz_copy(&token, pool);
}


/* the same three times: it is remembered from the second on */

static ngx_int_t
fuzz_verify(ngx_adm_token_e kind, ngx_str_t *token, ngx_pool_t *pool,
    ngx_adm_claims_t **claims)
{
    ngx_int_t            rc, again;
    ngx_uint_t           i;
    const char          *why;
    ngx_adm_claims_t    *other;
    ngx_adm_verifier_t  *v;

    v = &fuzz_verifiers[kind];

    *claims = NULL;
    why = NULL;

    rc = ngx_adm_token_verify(v, token, NULL, FUZZ_NOW, pool, claims, &why);

    fuzz_check(rc == NGX_OK || rc == NGX_DECLINED);
    fuzz_check(rc == NGX_OK ? *claims != NULL : why != NULL);

    for (i = 0; i < 2; i++) {
        other = NULL;

        again = ngx_adm_token_verify(v, token, NULL, FUZZ_NOW, pool, &other,
                                     &why);

        fuzz_check(again == rc);

        if (rc == NGX_OK) {
            fuzz_check(fuzz_same(&(*claims)->sub, &other->sub));
            fuzz_check(fuzz_same(&(*claims)->uid, &other->uid));
            fuzz_check(fuzz_same(&(*claims)->vis, &other->vis));
            fuzz_check(fuzz_same(&(*claims)->role, &other->role));
            fuzz_check((*claims)->exp == other->exp);
        }
    }

    if (rc != NGX_OK) {
        return rc;
    }

    /* what is promised of claims that count */

    fuzz_check((*claims)->exp + NGX_ADM_LEEWAY > FUZZ_NOW);
    fuzz_check((*claims)->sub.len <= NGX_ADM_EVENT_MAX);
    fuzz_check((*claims)->uid.len == 0
               || ngx_adm_is_user_id(&(*claims)->uid));
    fuzz_check((*claims)->vis.len == 0
               || ngx_adm_is_user_id(&(*claims)->vis));
    fuzz_check(ngx_adm_is_text(&(*claims)->role));
    fuzz_check(ngx_adm_is_text(&(*claims)->email));
    fuzz_check((*claims)->position >= 0 && (*claims)->at >= 0
               && (*claims)->score >= 0 && (*claims)->epoch >= 0);

    return NGX_OK;
}


/* what the flat reader and jansson make of the same */

static void
fuzz_object(ngx_str_t *text, ngx_pool_t *pool)
{
    void              *iter;
    json_t            *json, *value;
    ngx_str_t          name;
    const char        *why;
    ngx_uint_t         n;
    json_error_t       error;
    ngx_adm_value_t    read;
    ngx_adm_object_t   object;

    json = json_loadb((char *) text->data, text->len,
                      JSON_REJECT_DUPLICATES|JSON_DECODE_ANY, &error);

    why = ngx_adm_object_read(&object, text->data, text->len);

    fuzz_check((why == NULL) == (json && json_is_object(json)));

    if (why) {
        json_decref(json);
        return;
    }

    n = 0;

    for (iter = json_object_iter(json); iter;
         iter = json_object_iter_next(json, iter))
    {
        name.data = (u_char *) json_object_iter_key(iter);
        name.len = ngx_strlen(name.data);
        name = fuzz_copy_z(&name, pool);

        value = json_object_iter_value(iter);
        n++;

        ngx_adm_object_get(&object, &name, &read);

        switch (read.type) {

        case NGX_ADM_VALUE_STRING:
            fuzz_check(json_is_string(value)
                       && json_string_length(value) == read.string.len
                       && ngx_memcmp(json_string_value(value),
                                     read.string.data, read.string.len) == 0);
            break;

        case NGX_ADM_VALUE_INTEGER:
            fuzz_check(json_is_integer(value)
                       && json_integer_value(value) == read.integer);
            break;

        case NGX_ADM_VALUE_REAL:
            fuzz_check(json_is_real(value));
            break;

        case NGX_ADM_VALUE_NULL:
            fuzz_check(json_is_null(value));
            break;

        case NGX_ADM_VALUE_OTHER:
            fuzz_check(json_is_array(value) || json_is_object(value)
                       || json_is_boolean(value));
            break;

        default:
            fuzz_failed(__FILE__, __LINE__, "a member that is not there");
        }
    }

    fuzz_check(object.json || object.n == n);

    ngx_adm_object_free(&object);
    json_decref(json);
}


/*
 * Whether a header is right, by jansson alone: NGX_AGAIN, if it has more than is
 * looked at here.
 */

static ngx_int_t
fuzz_header(ngx_str_t *text, ngx_uint_t alg)
{
    json_t        *json, *typ;
    const char    *name;
    ngx_int_t      right;
    json_error_t   error;

    static const char  *names[] = { "HS256", "HS384", "HS512" };

    json = json_loadb((char *) text->data, text->len,
                      JSON_REJECT_DUPLICATES, &error);

    name = json_string_value(json_object_get(json, "alg"));
    typ = json_object_get(json, "typ");

    right = json_is_object(json)
            && name && strcmp(name, names[alg]) == 0
            && json_object_get(json, "crit") == NULL
            && (typ == NULL || json_is_string(typ));

    if (right && json_object_size(json) > (typ ? 2 : 1)) {
        right = NGX_AGAIN;
    }

    json_decref(json);

    return right;
}


static void
fuzz_token_header(ngx_str_t *data, ngx_pool_t *pool)
{
    u_char               buf[NGX_ADM_JWT_PART];
    ngx_str_t            header, token;
    ngx_int_t            right;
    ngx_uint_t           alg;
    const char          *why;
    ngx_adm_object_t     payload;
    ngx_adm_verifier_t  *user;

    user = &fuzz_verifiers[NGX_ADM_TOKEN_USER];
    alg = fuzz_byte(data) % 3;
    header = fuzz_until(data, '\n', pool);

    if (header.len == 0 || data->len == 0) {
        return;
    }

    token = fuzz_sign(&header, data, 0, alg, pool);

    if (token.len > NGX_ADM_JWT_MAX) {
        return;
    }

    why = ngx_adm_jwt_verify(user->keys, user->algs, &token, buf, &payload);
    right = fuzz_header(&header, alg);

    if (why == NULL) {
        fuzz_check(right != 0);
        ngx_adm_object_free(&payload);

        /* an algorithm that is not among those */

        fuzz_check(ngx_adm_jwt_verify(user->keys, user->algs & ~(1 << alg),
                                      &token, buf, &payload) != NULL);
        return;
    }

    if (right == 1) {
        /* then it is the payload that is not */

        fuzz_check(ngx_adm_object_read(&payload, data->data, data->len)
                   != NULL);
    }
}


static void
fuzz_token_payload(ngx_str_t *data, ngx_pool_t *pool)
{
    ngx_str_t          token, again;
    ngx_adm_token_e    kind;
    ngx_adm_claims_t  *claims, *same;

    kind = fuzz_byte(data) % NGX_ADM_TOKEN_KINDS;

    fuzz_object(data, pool);

    if (data->len == 0) {
        return;
    }

    token.data = ngx_pnalloc(pool, ngx_adm_jwt_size(data->len));
    fuzz_check(token.data != NULL);
    fuzz_check(ngx_adm_jwt_sign(fuzz_verifiers[kind].keys, data, &token)
               == NGX_OK);

    token = fuzz_copy(&token, pool);

    if (fuzz_verify(kind, &token, pool, &claims) != NGX_OK
        || kind == NGX_ADM_TOKEN_USER)
    {
        return;
    }

    /* nothing of what is signed here is 0, which stands for what is not there */

    if ((kind == NGX_ADM_TOKEN_TICKET
         && (claims->position == 0 || claims->at == 0 || claims->act == 0))
        || (kind == NGX_ADM_TOKEN_PLACE
            && (claims->score == 0 || claims->at == 0)))
    {
        return;
    }

    /* what it says can be signed, and says the same */

    fuzz_check(ngx_adm_token_sign(kind, fuzz_verifiers[kind].keys, claims,
                                  pool, &again)
               == NGX_OK);

    if (again.len > NGX_ADM_JWT_MAX) {
        return;
    }

    again = fuzz_copy(&again, pool);

    fuzz_check(fuzz_verify(kind, &again, pool, &same) == NGX_OK);

    fuzz_check(fuzz_same(&claims->sub, &same->sub));
    fuzz_check(fuzz_same(&claims->uid, &same->uid));
    fuzz_check(fuzz_same(&claims->vis, &same->vis));
    fuzz_check(claims->tier == same->tier);
    fuzz_check(claims->position == same->position);
    fuzz_check(claims->at == same->at && claims->ticket == same->ticket);
    fuzz_check(claims->act == same->act && claims->adm == same->adm);
    fuzz_check(claims->score == same->score && claims->epoch == same->epoch);
    fuzz_check(claims->iat == same->iat && claims->exp == same->exp
               && claims->nbf == same->nbf);
}


/* base64url has one form of each text */

static void
fuzz_token_base64url(ngx_str_t *data, ngx_pool_t *pool)
{
    u_char             buf[NGX_ADM_JWT_PART];
    ngx_str_t          token, decoded, encoded;
    const char        *why;
    ngx_uint_t         right;
    ngx_adm_object_t   payload, other;

    static ngx_str_t  header = ngx_string("{\"typ\":\"JWT\",\"alg\":\"HS256\"}");

    if (data->len == 0 || memchr(data->data, '.', data->len)) {
        return;
    }

    token = fuzz_sign(&header, data, 1, 0, pool);

    if (token.len > NGX_ADM_JWT_MAX) {
        return;
    }

    decoded.data = ngx_pnalloc(pool, ngx_base64_decoded_length(data->len) + 3);
    encoded.data = ngx_pnalloc(pool, data->len + 8);
    fuzz_check(decoded.data && encoded.data);

    right = 0;

    if (ngx_decode_base64url(&decoded, data) == NGX_OK) {
        ngx_encode_base64url(&encoded, &decoded);
        right = fuzz_same(&encoded, data);
    }

    why = ngx_adm_jwt_verify(fuzz_verifiers[NGX_ADM_TOKEN_USER].keys,
                             1 << NGX_ADM_HS256, &token, buf, &payload);

    if (right) {
        decoded = fuzz_copy(&decoded, pool);
        right = (ngx_adm_object_read(&other, decoded.data, decoded.len)
                 == NULL);
        if (right) {
            ngx_adm_object_free(&other);
        }
    }

    fuzz_check((why == NULL) == right);

    if (why == NULL) {
        ngx_adm_object_free(&payload);
    }
}


/* text that a claim takes, of any bytes */

static ngx_str_t
fuzz_name(ngx_str_t *data, size_t max, ngx_pool_t *pool)
{
    u_char     *p;
    ngx_str_t   name;

    name = fuzz_until(data, '\n', pool);
    name.len = ngx_min(name.len, max);

    for (p = name.data; p < name.data + name.len; p++) {
        *p = 0x20 + *p % 0x5f;
    }

    return name;
}


static void
fuzz_token_change(ngx_str_t *data, ngx_pool_t *pool)
{
    size_t             at;
    u_char             how, *p;
    ngx_int_t          rc;
    ngx_str_t          token, changed, event;
    ngx_uint_t         i;
    ngx_adm_token_e    kind;
    ngx_adm_claims_t   claims, *said;

    static u_char  id[NGX_ADM_EVENT_MAX];

    ngx_memzero(&claims, sizeof(ngx_adm_claims_t));

    kind = fuzz_byte(data) % NGX_ADM_TOKEN_KINDS;
    how = fuzz_byte(data);
    at = fuzz_number(data, 2);

    if (kind == NGX_ADM_TOKEN_USER) {
        return;
    }

    event = fuzz_until(data, '\n', pool);

    if (ngx_adm_event_id(&event, id) != NGX_OK) {
        ngx_str_set(&event, "e1");
        ngx_memcpy(id, "e1", 2);
    }

    claims.sub.data = id;
    claims.sub.len = event.len;
    claims.uid = fuzz_name(data, NGX_ADM_USER_MAX, pool);
    claims.vis = fuzz_name(data, NGX_ADM_USER_MAX, pool);

    if (claims.uid.len == 0 || claims.vis.len == 0) {
        return;
    }

    claims.tier = kind == NGX_ADM_TOKEN_TIER1 ? 1 : 2;
    claims.position = 1 + fuzz_number(data, 5);
    claims.score = 1 + fuzz_number(data, 6);
    claims.at = 1 + fuzz_number(data, 6);
    claims.act = 1 + fuzz_number(data, 6);
    claims.epoch = fuzz_number(data, 6);
    claims.exp = FUZZ_NOW + fuzz_number(data, 4);

    rc = ngx_adm_token_sign(kind, fuzz_verifiers[kind].keys, &claims, pool,
                            &token);
    fuzz_check(rc == NGX_OK);

    token = fuzz_copy(&token, pool);

    fuzz_check(fuzz_verify(kind, &token, pool, &said) == NGX_OK);
    fuzz_check(said->exp == claims.exp);

    if (kind != NGX_ADM_TOKEN_VISITOR) {
        fuzz_check(fuzz_same(&said->sub, &claims.sub));
        fuzz_check(fuzz_same(&said->uid, &claims.uid));
    }

    /* no other kind */

    for (i = 0; i < NGX_ADM_TOKEN_KINDS; i++) {
        fuzz_check(i == (ngx_uint_t) kind
                   || fuzz_verify(i, &token, pool, &said) == NGX_DECLINED);
    }

    /* a change of any byte, one less, one more */

    at %= token.len;

    changed.len = token.len + 1;
    changed.data = ngx_pnalloc(pool, changed.len);
    fuzz_check(changed.data != NULL);

    p = ngx_cpymem(changed.data, token.data, at);

    switch (how % 3) {

    case 0:
        *p++ = token.data[at] ^ (how / 3 % 255 + 1);
        at++;
        break;

    case 1:
        at++;
        break;

    default:
        *p++ = how;
        break;
    }

    p = ngx_cpymem(p, token.data + at, token.len - at);
    changed.len = p - changed.data;
    changed = fuzz_copy(&changed, pool);

    fuzz_check(fuzz_verify(kind, &changed, pool, &said) == NGX_DECLINED);
}


/* what is read as a set has keys, and verifies nothing that is none of theirs */

static void
fuzz_token_keys(ngx_str_t *data, ngx_uint_t pem)
{
    size_t              i;
    u_char              byte[NGX_ADM_SIGNATURE_MAX];
    ngx_str_t           text, signature, kid;
    ngx_int_t           rc;
    ngx_uint_t          n, alg, tries;
    const char         *why;
    ngx_adm_pubkey_t   *key;
    ngx_adm_keyset_t   *set;

    why = NULL;

    set = ngx_adm_keyset_create(data, pem, ngx_cycle->log, &why);

    if (set == NULL) {
        fuzz_check(why != NULL);
        return;
    }

    fuzz_check(set->keys.nelts > 0);
    fuzz_check(set->skipped == 0 || set->why != NULL);

    key = set->keys.elts;

    for (i = 0; i < sizeof(byte); i++) {
        byte[i] = i < data->len ? data->data[i] : 0;
    }

    ngx_str_set(&text, "text");
    signature.data = byte;

    for (n = 0; n < ngx_min(set->keys.nelts, 4); n++) {

        fuzz_check(key[n].algs
                   && (key[n].algs & ~(ngx_uint_t) NGX_ADM_KEY_ALGS) == 0);

        kid = key[n].kid;

        for (alg = 0; alg < NGX_ADM_ALGS; alg++) {

            for (signature.len = 0; signature.len <= sizeof(byte);
                 signature.len += 64)
            {
                tries = NGX_ADM_KEYSET_TRIES;

                rc = ngx_adm_keyset_verify(set, alg, &kid, 0, &text,
                                           &signature, &tries);

                fuzz_check(rc == NGX_DECLINED || rc == NGX_ABORT);
                fuzz_check(tries <= NGX_ADM_KEYSET_TRIES);
            }
        }
    }

    ngx_adm_keyset_destroy(set);
}


static void
fuzz_token_run(ngx_str_t *data, ngx_pool_t *pool)
{
    u_char             what;
    ngx_uint_t         kind;
    ngx_adm_claims_t  *claims;

    what = fuzz_byte(data);

    switch (what) {

    case 'K':
    case 'E':
        *data = fuzz_copy(data, pool);
        fuzz_token_keys(data, what == 'E');
        break;

    case 'H':
        fuzz_token_header(data, pool);
        break;

    case 'P':
        fuzz_token_payload(data, pool);
        break;

    case 'B':
        fuzz_token_base64url(data, pool);
        break;

    case 'M':
        fuzz_token_change(data, pool);
        break;

    default:
        *data = fuzz_copy(data, pool);

        /* none was signed by these keys */

        for (kind = 0; kind < NGX_ADM_TOKEN_KINDS; kind++) {
            fuzz_check(fuzz_verify(kind, data, pool, &claims)
                       == NGX_DECLINED);
        }
    }
}


fuzz_target_t  fuzz_token = { "token",
    "    admission_secret tier1 tier1-0123456789abcdef0123456789abcdef;\n"
    "    admission_secret tier2 tier2-0123456789abcdef0123456789abcdef;\n"
    "    admission_secret tier2 older-0123456789abcdef0123456789abcdef;\n"
    "    admission_secret user user-0123456789abcdef0123456789abcdef;\n"
    "    server { admission_user jwt alg=HS256,HS384,HS512;\n"
    "        location / { admission_queue_api; } }\n",
    fuzz_token_init, fuzz_token_run };
