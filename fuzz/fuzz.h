
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What targets have of the file that they are linked into: NGINX and the
 * module as they are, an event loop without system calls, and bytes from
 * libFuzzer.  See README.md.
 */


#ifndef _FUZZ_H_INCLUDED_
#define _FUZZ_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>


/*
 * A target is known by the name of the file that is run.  Its run() has the
 * bytes in memory of exactly their length, and a pool that lives as long.
 */
typedef struct {
    const char   *name;
    const char   *conf;     /* of NGINX; NULL: nothing of the module is on */
    void        (*init)(void);
    void        (*run)(ngx_str_t *data, ngx_pool_t *pool);
} fuzz_target_t;


extern fuzz_target_t  fuzz_token;
extern fuzz_target_t  fuzz_text;
extern fuzz_target_t  fuzz_conf;
extern fuzz_target_t  fuzz_reply;
extern fuzz_target_t  fuzz_client;
extern fuzz_target_t  fuzz_http;
extern fuzz_target_t  fuzz_site;


/* ends the process: what was promised does not hold */
#define fuzz_check(holds)                                                     \
    do {                                                                      \
        if (!(holds)) {                                                       \
            fuzz_failed(__FILE__, __LINE__, #holds);                          \
        }                                                                     \
    } while (0)

void fuzz_failed(const char *file, int line, const char *what);


/* bytes taken off the beginning, in memory of their own; all that is left, if
   there are not so many */
ngx_str_t fuzz_take(ngx_str_t *data, size_t len, ngx_pool_t *pool);

/* up to the next such byte, which is dropped, or to the end */
ngx_str_t fuzz_until(ngx_str_t *data, u_char ch, ngx_pool_t *pool);

/* a copy of exactly that length; with a null byte after it */
ngx_str_t fuzz_copy(ngx_str_t *s, ngx_pool_t *pool);
ngx_str_t fuzz_copy_z(ngx_str_t *s, ngx_pool_t *pool);

/* a byte; 0 at the end */
u_char fuzz_byte(ngx_str_t *data);

/* a number of so many bytes */
uint64_t fuzz_number(ngx_str_t *data, ngx_uint_t bytes);

/* what was logged by this run at this level and above, and the last of it */
ngx_uint_t fuzz_logged(ngx_uint_t level);
const char *fuzz_last_log(void);

/* whether two are the same */
ngx_uint_t fuzz_same(ngx_str_t *a, ngx_str_t *b);


/*
 * fake.c: sockets.  What is connected to is one of these, in the order in
 * which it was; what is written there is kept, what is fed comes when the
 * loop turns.
 */

typedef struct {
    ngx_connection_t   *connection;   /* NULL: closed */
    u_char             *in;           /* of ngx_alloc(), to be read */
    size_t              nin;
    u_char             *out;          /* written */
    size_t              nout;
    ngx_uint_t          eof;
    ngx_uint_t          client;       /* the target's own: it has accepted it */
} fuzz_peer_t;

#define FUZZ_PEERS  64

extern fuzz_peer_t  fuzz_peers[FUZZ_PEERS];
extern ngx_uint_t   fuzz_npeers;
extern ngx_uint_t   fuzz_refuse;      /* the next connections: 1 refused, 2 on
                                         their way */

void fuzz_loop_init(ngx_cycle_t *cycle);

/* a peer that has connected to us; NULL: too many */
fuzz_peer_t *fuzz_accept(ngx_pool_t *pool);

/* more to be read from a peer, or its end */
void fuzz_feed(fuzz_peer_t *peer, u_char *data, size_t len);
void fuzz_eof(fuzz_peer_t *peer);

/* events, and timers after so many ms */
void fuzz_turn(ngx_msec_t ms);

/* closes and frees all; no event or timer of a peer may be left */
void fuzz_peers_reset(void);


#endif /* _FUZZ_H_INCLUDED_ */
