
/*
 * Copyright (C) 2026 the admission module authors
 *
 * A key is what its SubjectPublicKeyInfo says.  JWKs, PEM files and
 * certificates all become one, so that one reader, OpenSSL's, checks points
 * and curves, and one list says what is accepted.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include <openssl/err.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

#include "pubkey.h"


#define NGX_ADM_RSA_EXPONENT  8       /* bytes, as many as OpenSSL allows for
                                         long keys: whoever chose the key
                                         does not choose how long a signature
                                         takes */

#define NGX_ADM_ED25519_POINT 32      /* bytes */

#define NGX_ADM_ECDSA_MAX     48      /* bytes of r and of s */

/* SEQUENCE { INTEGER r, INTEGER s }, short enough for lengths of a byte */
#define NGX_ADM_ECDSA_DER     (2 + 2 * (2 + 1 + NGX_ADM_ECDSA_MAX))


/* AlgorithmIdentifier of a SubjectPublicKeyInfo, and algorithms of such keys */

typedef struct {
    ngx_str_t                   id;
    ngx_uint_t                  algs;
} ngx_adm_pubkey_type_t;


static const char *ngx_adm_pubkey_rsa(EVP_PKEY *pkey, const u_char *p,
    const u_char *last);
static ngx_uint_t ngx_adm_pubkey_roca(const u_char *p, const u_char *last);
static const char *ngx_adm_pubkey_ed25519(const u_char *point);
static const u_char *ngx_adm_der_enter(const u_char **p, const u_char *last,
    int tag);
static ngx_uint_t ngx_adm_pubkey_eddsa(EVP_PKEY *pkey, ngx_str_t *data,
    ngx_str_t *signature);
static ngx_uint_t ngx_adm_pubkey_digest(ngx_uint_t alg, ngx_str_t *data,
    u_char *digest, unsigned int *size);
static EVP_PKEY_CTX *ngx_adm_pubkey_ctx(ngx_adm_pubkey_t *key, ngx_uint_t alg);
static size_t ngx_adm_ecdsa_der(u_char *der, ngx_str_t *signature);


#define ngx_adm_algs_of(a, b, c)                                              \
    (ngx_adm_alg_bit(a) | ngx_adm_alg_bit(b) | ngx_adm_alg_bit(c))

static ngx_adm_pubkey_type_t  ngx_adm_pubkey_types[] = {

    /* rsaEncryption */
    { ngx_string("\x30\x0d\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01\x05\0"),
      ngx_adm_algs_of(NGX_ADM_RS256, NGX_ADM_RS384, NGX_ADM_RS512)
      | ngx_adm_algs_of(NGX_ADM_PS256, NGX_ADM_PS384, NGX_ADM_PS512) },

    /* ecPublicKey, prime256v1 */
    { ngx_string("\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01"
                 "\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07"),
      ngx_adm_alg_bit(NGX_ADM_ES256) },

    /* ecPublicKey, secp384r1 */
    { ngx_string("\x30\x10\x06\x07\x2a\x86\x48\xce\x3d\x02\x01"
                 "\x06\x05\x2b\x81\x04\0\x22"),
      ngx_adm_alg_bit(NGX_ADM_ES384) },

    /* Ed25519 */
    { ngx_string("\x30\x05\x06\x03\x2b\x65\x70"),
      ngx_adm_alg_bit(NGX_ADM_EDDSA) },

    { ngx_null_string, 0 }
};


static const char  ngx_adm_pubkey_small[] =
    "Ed25519 with a point of small order, for which anybody can sign";


/* hashes, by algorithm */

static const EVP_MD  *(*ngx_adm_pubkey_mds[NGX_ADM_ALGS])(void) = {
    [NGX_ADM_RS256] = EVP_sha256,
    [NGX_ADM_RS384] = EVP_sha384,
    [NGX_ADM_RS512] = EVP_sha512,
    [NGX_ADM_PS256] = EVP_sha256,
    [NGX_ADM_PS384] = EVP_sha384,
    [NGX_ADM_PS512] = EVP_sha512,
    [NGX_ADM_ES256] = EVP_sha256,
    [NGX_ADM_ES384] = EVP_sha384
};


/* scratch of this process, made when first needed */

static EVP_MD_CTX  *ngx_adm_pubkey_digests[NGX_ADM_ALGS];


const char *
ngx_adm_pubkey_read(ngx_adm_pubkey_t *key, const u_char *spki, size_t len)
{
    const char             *why;
    const u_char           *p, *last;
    ngx_adm_pubkey_type_t  *type;

    ngx_memzero(key, sizeof(ngx_adm_pubkey_t));

    p = spki;
    last = spki + len;

    if (ngx_adm_der_enter(&p, last, V_ASN1_SEQUENCE) != last) {
        return "not a public key";
    }

    for (type = ngx_adm_pubkey_types; type->id.len; type++) {
        if ((size_t) (last - p) > type->id.len
            && ngx_memcmp(p, type->id.data, type->id.len) == 0)
        {
            break;
        }
    }

    if (type->id.len == 0) {
        return "neither RSA, nor EC of P-256 or P-384, nor Ed25519";
    }

    key->algs = type->algs;
    p += type->id.len;

    /* OpenSSL takes no point that is not on the curve */

    key->pkey = d2i_PUBKEY(NULL, &spki, (long) len);

    if (key->pkey == NULL) {
        ERR_clear_error();
        return "not a key of its kind";
    }

    why = NULL;

    if (type == ngx_adm_pubkey_types) {
        why = ngx_adm_pubkey_rsa(key->pkey, p, last);

    } else if (type->algs == ngx_adm_alg_bit(NGX_ADM_EDDSA)) {
        why = ngx_adm_pubkey_ed25519(last - NGX_ADM_ED25519_POINT);
    }

    if (why) {
        ngx_adm_pubkey_free(key);
    }

    return why;
}


void
ngx_adm_pubkey_free(ngx_adm_pubkey_t *key)
{
    ngx_uint_t  i;

    for (i = 0; i < NGX_ADM_ALGS; i++) {
        EVP_PKEY_CTX_free(key->ctx[i]);
    }

    EVP_PKEY_free(key->pkey);
}


/* p: at the BIT STRING, which has SEQUENCE { INTEGER n, INTEGER e } */

static const char *
ngx_adm_pubkey_rsa(EVP_PKEY *pkey, const u_char *p, const u_char *last)
{
    const u_char  *end;

    if (EVP_PKEY_bits(pkey) < NGX_ADM_RSA_MIN) {
        return "RSA of less than 2048 bits";
    }

    if (EVP_PKEY_bits(pkey) > NGX_ADM_RSA_MAX) {
        return "RSA of more than 8192 bits";
    }

    if (ngx_adm_der_enter(&p, last, V_ASN1_BIT_STRING) == NULL
        || p++ == last
        || ngx_adm_der_enter(&p, last, V_ASN1_SEQUENCE) == NULL)
    {
        return "not a key of its kind";
    }

    end = ngx_adm_der_enter(&p, last, V_ASN1_INTEGER);
    if (end == NULL) {
        return "not a key of its kind";
    }

    if (ngx_adm_pubkey_roca(p, end)) {
        return "RSA that can be factored: ROCA (CVE-2017-15361)";
    }

    p = end;

    end = ngx_adm_der_enter(&p, last, V_ASN1_INTEGER);
    if (end == NULL || end == p) {
        return "not a key of its kind";
    }

    /* an even exponent is no key, and with 1 every text would be a signature */

    if (end - p > NGX_ADM_RSA_EXPONENT
        || (end[-1] & 1) == 0
        || (end - p == 1 && *p == 1))
    {
        return "RSA with an exponent that is 1, even, or over 63 bits";
    }

    return NULL;
}


/*
 * Whether a modulus is such as some chips made: its rest by each small prime
 * is a power of 65537.  Of other moduli one in 2^27 looks like that.
 */

static ngx_uint_t
ngx_adm_pubkey_roca(const u_char *p, const u_char *last)
{
    u_char         c;
    ngx_uint_t     i, rest, power;
    const u_char  *b;

    static const u_char  primes[] = {
        3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71,
        73, 79, 83, 89, 97, 101, 103, 107, 109, 113, 127, 131, 137, 139, 149,
        151, 157, 163, 167 };

    for (i = 0; i < sizeof(primes); i++) {
        c = primes[i];
        rest = 0;

        for (b = p; b < last; b++) {
            rest = (rest << 8 | *b) % c;
        }

        power = 1;

        while (power != rest) {
            power = power * 65537 % c;

            if (power == 1) {
                return 0;
            }
        }
    }

    return 1;
}


/*
 * Eight points have few multiples, so that anybody can make up a signature by
 * them for any text.  They are known by y, which may also be written larger
 * than the field; the top bit is the sign of x.
 */

static const char *
ngx_adm_pubkey_ed25519(const u_char *point)
{
    u_char      y[NGX_ADM_ED25519_POINT];
    ngx_uint_t  i;

    static const u_char  small[][NGX_ADM_ED25519_POINT] = {
        { 0 },
        { 1 },
        { 0x26, 0xe8, 0x95, 0x8f, 0xc2, 0xb2, 0x27, 0xb0,
          0x45, 0xc3, 0xf4, 0x89, 0xf2, 0xef, 0x98, 0xf0,
          0xd5, 0xdf, 0xac, 0x05, 0xd3, 0xc6, 0x33, 0x39,
          0xb1, 0x38, 0x02, 0x88, 0x6d, 0x53, 0xfc, 0x05 },
        { 0xc7, 0x17, 0x6a, 0x70, 0x3d, 0x4d, 0xd8, 0x4f,
          0xba, 0x3c, 0x0b, 0x76, 0x0d, 0x10, 0x67, 0x0f,
          0x2a, 0x20, 0x53, 0xfa, 0x2c, 0x39, 0xcc, 0xc6,
          0x4e, 0xc7, 0xfd, 0x77, 0x92, 0xac, 0x03, 0x7a }
    };

    ngx_memcpy(y, point, sizeof(y));

    y[sizeof(y) - 1] &= 0x7f;

    for (i = 0; i < sizeof(small) / sizeof(small[0]); i++) {
        if (ngx_memcmp(y, small[i], sizeof(y)) == 0) {
            return ngx_adm_pubkey_small;
        }
    }

    /* -1, 0 and 1, written larger than the field */

    for (i = 1; i < sizeof(y) - 1 && y[i] == 0xff; i++) { /* void */ }

    if (y[0] >= 0xec && y[0] <= 0xee && i == sizeof(y) - 1 && y[i] == 0x7f) {
        return ngx_adm_pubkey_small;
    }

    return NULL;
}


/*
 * goes to the content of the element at *p; returns its end; NULL: it is
 * another
 */

static const u_char *
ngx_adm_der_enter(const u_char **p, const u_char *last, int tag)
{
    int   type, class;
    long  len;

    if (*p >= last
        || (ASN1_get_object(p, &len, &type, &class, (long) (last - *p)) & 0x81)
        || type != tag || class != V_ASN1_UNIVERSAL)
    {
        ERR_clear_error();
        return NULL;
    }

    return *p + len;
}


ngx_uint_t
ngx_adm_pubkey_verify(ngx_adm_pubkey_t *key, ngx_uint_t alg, ngx_str_t *data,
    ngx_str_t *signature)
{
    size_t         len;
    u_char         digest[EVP_MAX_MD_SIZE];
    u_char         der[NGX_ADM_ECDSA_DER];
    ngx_str_t      s;
    ngx_uint_t     ok;
    unsigned int   size;
    EVP_PKEY_CTX  *ctx;

    static const size_t  raw[NGX_ADM_ALGS] = {
        [NGX_ADM_ES256] = 64,
        [NGX_ADM_ES384] = 96,
        [NGX_ADM_EDDSA] = 64 };

    /* a signature has the length that the key says */

    len = raw[alg] ? raw[alg] : (size_t) EVP_PKEY_size(key->pkey);

    if (signature->len != len) {
        return 0;
    }

    if (alg == NGX_ADM_EDDSA) {
        return ngx_adm_pubkey_eddsa(key->pkey, data, signature);
    }

    s = *signature;

    if (raw[alg]) {
        s.data = der;
        s.len = ngx_adm_ecdsa_der(der, signature);
    }

    ctx = ngx_adm_pubkey_ctx(key, alg);

    ok = ctx
         && ngx_adm_pubkey_digest(alg, data, digest, &size)
         && EVP_PKEY_verify(ctx, s.data, s.len, digest, size) == 1;

    /* errors left in the queue would be taken for some TLS connection's */

    if (!ok) {
        ERR_clear_error();
    }

    return ok;
}


/*
 * by a context, which keeps what OpenSSL looks up for a hash, as EVP_Digest()
 * does not
 */

static ngx_uint_t
ngx_adm_pubkey_digest(ngx_uint_t alg, ngx_str_t *data, u_char *digest,
    unsigned int *size)
{
    EVP_MD_CTX  *ctx;

    ctx = ngx_adm_pubkey_digests[alg];

    if (ctx == NULL) {
        ctx = EVP_MD_CTX_new();

        if (ctx == NULL
            || EVP_DigestInit_ex(ctx, ngx_adm_pubkey_mds[alg](), NULL) != 1)
        {
            EVP_MD_CTX_free(ctx);
            return 0;
        }

        ngx_adm_pubkey_digests[alg] = ctx;
    }

    return EVP_DigestInit_ex(ctx, NULL, NULL) == 1
           && EVP_DigestUpdate(ctx, data->data, data->len) == 1
           && EVP_DigestFinal_ex(ctx, digest, size) == 1;
}


static ngx_uint_t
ngx_adm_pubkey_eddsa(EVP_PKEY *pkey, ngx_str_t *data, ngx_str_t *signature)
{
    ngx_uint_t   ok;
    EVP_MD_CTX  *md;

    md = EVP_MD_CTX_new();

    ok = md
         && EVP_DigestVerifyInit(md, NULL, NULL, NULL, pkey) == 1
         && EVP_DigestVerify(md, signature->data, signature->len, data->data,
                             data->len) == 1;

    EVP_MD_CTX_free(md);

    if (!ok) {
        ERR_clear_error();
    }

    return ok;
}


/* made and checked once; NULL: OpenSSL refused */

static EVP_PKEY_CTX *
ngx_adm_pubkey_ctx(ngx_adm_pubkey_t *key, ngx_uint_t alg)
{
    ngx_uint_t     pss;
    const EVP_MD  *md;
    EVP_PKEY_CTX  *ctx;

    if (key->ctx[alg]) {
        return key->ctx[alg];
    }

    ctx = EVP_PKEY_CTX_new(key->pkey, NULL);

    if (ctx == NULL || EVP_PKEY_verify_init(ctx) != 1) {
        goto failed;
    }

    md = ngx_adm_pubkey_mds[alg]();

    if (EVP_PKEY_CTX_set_signature_md(ctx, md) != 1) {
        goto failed;
    }

    if (alg < NGX_ADM_ES256) {
        pss = (alg >= NGX_ADM_PS256);

        if (EVP_PKEY_CTX_set_rsa_padding(ctx, pss ? RSA_PKCS1_PSS_PADDING
                                                  : RSA_PKCS1_PADDING) != 1)
        {
            goto failed;
        }

        /*
         * the salt is as long as the hash, and MGF1 uses the same hash (RFC
         * 7518, 3.5)
         */

        if (pss
            && (EVP_PKEY_CTX_set_rsa_pss_saltlen(ctx,
                                                 RSA_PSS_SALTLEN_DIGEST) != 1
                || EVP_PKEY_CTX_set_rsa_mgf1_md(ctx, md) != 1))
        {
            goto failed;
        }
    }

    key->ctx[alg] = ctx;

    return ctx;

failed:

    EVP_PKEY_CTX_free(ctx);
    ERR_clear_error();

    return NULL;
}


/* r and s, a half of the signature each, in the form that OpenSSL wants */

static size_t
ngx_adm_ecdsa_der(u_char *der, ngx_str_t *signature)
{
    size_t   half, n, len;
    u_char  *p, *s, *next;

    half = signature->len / 2;
    s = signature->data;
    p = der + 2;

    for (next = s + half; next <= signature->data + signature->len;
         next += half)
    {
        while (s < next - 1 && *s == 0) {
            s++;
        }

        n = next - s;
        len = n + (*s >> 7);

        *p++ = V_ASN1_INTEGER;
        *p++ = (u_char) len;

        if (len > n) {
            *p++ = 0;
        }

        p = ngx_cpymem(p, s, n);
        s = next;
    }

    der[0] = V_ASN1_SEQUENCE|V_ASN1_CONSTRUCTED;
    der[1] = (u_char) (p - der - 2);

    return p - der;
}
