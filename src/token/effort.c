
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Time is what the processor spent, so that a busy machine makes nobody's
 * share smaller.  A share is kept as the time at which it will be even again.
 * Addresses with the same entry share it; nobody can choose with whom.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/hash.h"
#include "effort.h"


#define NGX_ADM_EFFORT_ENTRIES  8192     /* a power of two */
#define NGX_ADM_EFFORT_ADDRESS  50       /* an address gets one in so many, */
#define NGX_ADM_EFFORT_ALL      4        /* all together one in so many */
#define NGX_ADM_EFFORT_AHEAD    1000     /* ms ahead of a share */

/*
 * ns that one look counts at most: what by itself uses up what an address may
 * be ahead.  On a virtual machine the processor's time may jump, by what the
 * hypervisor took: a jump is nobody's effort, and times an address's share it
 * would shut the address out for seconds, for one token.
 */
#define NGX_ADM_EFFORT_LOOK                                                   \
    ((int64_t) NGX_ADM_EFFORT_AHEAD * 1000000 / NGX_ADM_EFFORT_ADDRESS)

#define NGX_ADM_EFFORT_PREFIX   8        /* bytes of an IPv6 address */


static ngx_uint_t ngx_adm_effort_entry(struct sockaddr *sockaddr);
static uint64_t ngx_adm_effort_spent(void);
static void ngx_adm_effort_add(int64_t *even, int64_t ns);


static ngx_adm_hash_key_t  ngx_adm_effort_key;
static struct sockaddr    *ngx_adm_effort_sockaddr;
static uint64_t            ngx_adm_effort_began;    /* 0: not begun */

/* ns, of ngx_current_msec, when the share of all is even */
static int64_t             ngx_adm_effort_all;
static int64_t             ngx_adm_effort_of[NGX_ADM_EFFORT_ENTRIES];


#define ngx_adm_effort_now()  ((int64_t) ngx_current_msec * 1000000)


ngx_int_t
ngx_adm_effort_init(void)
{
    return ngx_adm_hash_key(&ngx_adm_effort_key);
}


void
ngx_adm_effort_client(struct sockaddr *sockaddr)
{
    ngx_adm_effort_sockaddr = sockaddr;
    ngx_adm_effort_began = 0;
}


ngx_uint_t
ngx_adm_effort_begin(void)
{
    int64_t  even, ahead;

    if (ngx_adm_effort_sockaddr == NULL) {
        return 1;
    }

    even = ngx_adm_effort_of[ngx_adm_effort_entry(ngx_adm_effort_sockaddr)]
           - ngx_adm_effort_now();

    ahead = (int64_t) NGX_ADM_EFFORT_AHEAD * 1000000;

    if (even > ahead
        || (even > 0 && ngx_adm_effort_all - ngx_adm_effort_now() > ahead))
    {
        return 0;
    }

    ngx_adm_effort_began = ngx_adm_effort_spent();

    return 1;
}


void
ngx_adm_effort_wasted(void)
{
    int64_t     ns;
    ngx_uint_t  n;

    if (ngx_adm_effort_sockaddr == NULL || ngx_adm_effort_began == 0) {
        return;
    }

    ns = (int64_t) (ngx_adm_effort_spent() - ngx_adm_effort_began);
    ns = ngx_min(ns, NGX_ADM_EFFORT_LOOK);
    n = ngx_adm_effort_entry(ngx_adm_effort_sockaddr);

    ngx_adm_effort_add(&ngx_adm_effort_all, ns * NGX_ADM_EFFORT_ALL);
    ngx_adm_effort_add(&ngx_adm_effort_of[n], ns * NGX_ADM_EFFORT_ADDRESS);

    ngx_adm_effort_began = 0;
}


static void
ngx_adm_effort_add(int64_t *even, int64_t ns)
{
    int64_t  now;

    now = ngx_adm_effort_now();

    *even = ngx_max(*even, now) + ns;
}


/*
 * an IPv6 client has a whole network; clients without an address have one
 * entry
 */

static ngx_uint_t
ngx_adm_effort_entry(struct sockaddr *sockaddr)
{
    size_t                len;
    u_char               *address;
    struct sockaddr_in   *sin;
#if (NGX_HAVE_INET6)
    struct sockaddr_in6  *sin6;
#endif

    switch (sockaddr->sa_family) {

    case AF_INET:
        sin = (struct sockaddr_in *) sockaddr;
        address = (u_char *) &sin->sin_addr;
        len = sizeof(sin->sin_addr);
        break;

#if (NGX_HAVE_INET6)
    case AF_INET6:
        sin6 = (struct sockaddr_in6 *) sockaddr;
        address = sin6->sin6_addr.s6_addr;
        len = NGX_ADM_EFFORT_PREFIX;

        if (IN6_IS_ADDR_V4MAPPED(&sin6->sin6_addr)) {
            address += sizeof(sin6->sin6_addr) - sizeof(struct in_addr);
            len = sizeof(struct in_addr);
        }

        break;
#endif

    default:
        return 0;
    }

    return ngx_adm_hash(&ngx_adm_effort_key, address, len)
           & (NGX_ADM_EFFORT_ENTRIES - 1);
}


static uint64_t
ngx_adm_effort_spent(void)
{
    struct timespec  ts;

    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts) != 0) {
        return 0;
    }

    return (uint64_t) ts.tv_sec * 1000000000 + ts.tv_nsec;
}
