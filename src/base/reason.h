
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The verdicts on requests, and why a request is denied or let pass unasked,
 * or a token refused: all texts for that, but for the categories of rate
 * limits.  A reason is handed on as its text, and counted by its number.
 */


#ifndef _NGX_ADM_BASE_REASON_H_INCLUDED_
#define _NGX_ADM_BASE_REASON_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>


typedef enum {
    NGX_ADM_VERDICT_NONE = 0,            /* "-" */
    NGX_ADM_VERDICT_PASS,
    NGX_ADM_VERDICT_BYPASS,
    NGX_ADM_VERDICT_TIER1,
    NGX_ADM_VERDICT_TIER2,
    NGX_ADM_VERDICT_USER,
    NGX_ADM_VERDICT_LIMITED,
    NGX_ADM_VERDICT_ERROR,
    NGX_ADM_VERDICTS } ngx_adm_verdict_e;


#define NGX_ADM_REASON_LEN  48   /* more than the longest has, with its null */


#define NGX_ADM_REASON_LIST(reason)                                           \
    reason(NONE, "")                                                          \
    reason(NO_TOKEN, "no token")                                              \
    reason(NO_SECRET, "no secret to verify it")                               \
    reason(TOO_LONG, "token too long")                                        \
    reason(PARTS, "not three parts")                                          \
    reason(EMPTY_PART, "empty part")                                          \
    reason(HEADER, "bad header")                                              \
    reason(CRIT, "header with \"crit\"")                                      \
    reason(NO_ALG, "header without \"alg\"")                                  \
    reason(ALG, "algorithm not allowed")                                      \
    reason(OWN_KEY, "header with a key of its own")                           \
    reason(NO_KEY, "no key that fits it")                                     \
    reason(SIGNATURE, "bad signature")                                        \
    reason(BASE64URL, "bad base64url")                                        \
    reason(JSON, "bad JSON")                                                  \
    reason(OBJECT, "not an object")                                           \
    reason(CLAIM_sub, "claim \"sub\" missing or wrong")                       \
    reason(CLAIM_uid, "claim \"uid\" missing or wrong")                       \
    reason(CLAIM_vis, "claim \"vis\" missing or wrong")                       \
    reason(CLAIM_tier, "claim \"tier\" missing or wrong")                     \
    reason(CLAIM_position, "claim \"position\" missing or wrong")             \
    reason(CLAIM_score, "claim \"score\" missing or wrong")                   \
    reason(CLAIM_at, "claim \"at\" missing or wrong")                         \
    reason(CLAIM_ticket, "claim \"ticket\" missing or wrong")                 \
    reason(CLAIM_act, "claim \"act\" missing or wrong")                       \
    reason(CLAIM_adm, "claim \"adm\" missing or wrong")                       \
    reason(CLAIM_lots, "claim \"lots\" missing or wrong")                     \
    reason(CLAIM_drawn, "claim \"drawn\" missing or wrong")                   \
    reason(CLAIM_beacon, "claim \"beacon\" missing or wrong")                 \
    reason(CLAIM_epoch, "claim \"epoch\" missing or wrong")                   \
    reason(CLAIM_cookie, "claim \"cookie\" missing or wrong")                 \
    reason(CLAIM_iat, "claim \"iat\" missing or wrong")                       \
    reason(CLAIM_nbf, "claim \"nbf\" missing or wrong")                       \
    reason(CLAIM_exp, "claim \"exp\" missing or wrong")                       \
    reason(CLAIM_e, "claim \"e\" missing or wrong")                           \
    reason(CLAIM_u, "claim \"u\" missing or wrong")                           \
    reason(CLAIM_v, "claim \"v\" missing or wrong")                           \
    reason(CLAIM_p, "claim \"p\" missing or wrong")                           \
    reason(CLAIM_t, "claim \"t\" missing or wrong")                           \
    reason(CLAIM_a, "claim \"a\" missing or wrong")                           \
    reason(CLAIM_TYPE, "claim \"type\" says otherwise")                       \
    reason(CLAIM_ISS, "of another issuer")                                    \
    reason(CLAIM_AUD, "for another audience")                                 \
    reason(CLAIM_USER, "claim of the user's id missing or wrong")             \
    reason(NOT_TIER1, "not a token of tier 1")                                \
    reason(NOT_TIER2, "not a token of tier 2")                                \
    reason(EXPIRED, "expired")                                                \
    reason(NOT_YET, "not valid yet")                                          \
    reason(EVENT, "token of another event")                                   \
    reason(ANOTHER_USER, "token of another user")                             \
    reason(REVOKED, "token was revoked")                                      \
    reason(ACTIVATION, "token of another activation")                         \
    reason(VISITOR, "token of another visitor")                               \
    reason(NOT_OPEN, "not open yet")                                          \
    reason(CLOSED, "closed")                                                  \
    reason(HELD, "held")                                                      \
    reason(ROOM, "waiting room not known")                                    \
    reason(NO_USER, "no user")                                                \
    reason(NO_VISITOR, "no visitor")                                          \
    reason(NO_EVENT, "no event")                                              \
    reason(BAD_EVENT, "bad event")                                            \
    reason(UNKNOWN_EVENT, "unknown event")                                    \
    reason(NOT_NAMED, "token of an event without a line")                     \
    reason(NOT_ACTIVE, "not active")                                          \
    reason(REDIS, "redis")                                                    \
    reason(KEYS, "keys of users")                                             \
    reason(FLOOD, "too many bad signatures")                                  \
    reason(EDGE, "trusted edge")


typedef enum {
#define reason(id, text)  NGX_ADM_REASON_##id,
    NGX_ADM_REASON_LIST(reason)
#undef reason
    NGX_ADM_REASONS } ngx_adm_reason_e;


/* by ngx_adm_verdict_e */
extern ngx_str_t  ngx_adm_verdicts[];


extern const char  ngx_adm_reasons[NGX_ADM_REASONS] [NGX_ADM_REASON_LEN];


/* the text of a reason */
#define ngx_adm_reason(name)                                                  \
    ngx_adm_reasons[NGX_ADM_REASON_##name]


/*
 * Requests are counted in rows: one for each verdict, and for each reason of
 * the two tiers, all of it twice, since in a dry run requests go on.  Row 0,
 * which no verdict has, is for requests that a trusted edge let pass.  Rows of
 * tier 1 for the reasons KEYS and FLOOD, which it never has, are for errors.
 */
#define NGX_ADM_VERDICT_ROWS  (2 * NGX_ADM_ROWS)
#define NGX_ADM_ROWS                                                          \
    (NGX_ADM_VERDICTS + 2 * NGX_ADM_REASONS)

/* the row of a request; reason: one of these texts, another, or NULL */
ngx_uint_t ngx_adm_verdict_row(ngx_adm_verdict_e verdict, const char *reason,
    ngx_uint_t dry_run);

/* the verdict and reason (its number) of a row */
void ngx_adm_row_verdict(ngx_uint_t row, ngx_adm_verdict_e *verdict,
    ngx_adm_reason_e *reason);


#endif /* _NGX_ADM_BASE_REASON_H_INCLUDED_ */
