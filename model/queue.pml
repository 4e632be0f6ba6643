/*
 * A model of the queue (tier 2) for SPIN: a few users, two hosts, one Redis.
 * Each run of a script of lua/ is one atomic step.  See docs/model.md.
 *
 * N users, threshold T, and what may happen besides joining, polling, leaving
 * and staying away:
 *   TOKENS   entry tokens, the gate, revocations; all but TICKET imply it
 *   TICKET   users 0 and 1 show the same tier 1 position
 *   CLEAR    an operator clears the queue, once
 *   GAP      Redis is away for long, then clean-up and expiry pause
 *   RESTART  a host loses its memory
 *   LOSS     Redis loses its data, once
 *   LIVE     none of these; liveness of user 0, under weak fairness
 *
 * SMALL leaves something out so that the rest can be searched (1), most of
 * what is not about the slots of before a loss (2).
 *
 * What is assumed of the moment of a loss, unless defined:
 *   BLIND    (not) both hosts know of the event
 *   UNHEARD  (not) both hosts know of all revocations of tokens still held
 *
 * Rules broken on purpose, which must be found: NO_DONE, NO_QUEUE_RULE,
 * NO_REVOKE, NO_RESTORE, NO_FLOOR; GREEDY with LIVE.  Rules as they were
 * before the model: OLD_FLOOR, OLD_CAP, OLD_DEPART, OLD_JOIN.
 */

#if defined(CLEAR) || defined(GAP) || defined(RESTART) || defined(LOSS)
#ifndef TOKENS
#define TOKENS
#endif
#endif

#ifndef N
#define N  3                /* users */
#endif
#ifndef T
#define T  1                /* threshold */
#endif
#define H  2                /* hosts */

/*
 * Times of the event's clock and scores are small numbers whose order alone
 * counts: each script uses numbers from NOW on, and settle() then renumbers
 * all that is kept.  A score is compared with scores, a time of a user with
 * other times of that user and of clear.
 */
#define NOW   8
#define LAST  (NOW + 5)
#define AT    1             /* the score of the tier 1 position */
#define NONE  255

#define FOR(x, n)  x = 0; do :: x < (n) ->
#define END(x)     ; x++ :: else -> break od


/* Redis: {E}:queue, seen, active, admitted, done, revoked, used, state */

byte  queue[N];             /* score, 0: not waiting */
bit   stale[N];             /* not seen for seen_ttl */
byte  act[N];               /* 0 no slot, 1 a slot, 2 one that has run out */
byte  adm[N];
byte  done[N];
byte  rev[N];
byte  used = NONE;          /* whose position AT is */
bit   alive;                /* there is an epoch */
bit   young;                /* ... not older than restore_wait */
byte  restore;              /* 0 not begun, 1 under way, 2 over */
byte  floor, gone, back;
bit   floor_on;             /* before floor_until */
byte  clear;
bit   paused;               /* after a gap */
bit   cleared;              /* once is enough */
bit   cap[N];               /* session_max has passed since the admission */

/* a host's memory */

byte  h_life[H];            /* 0 knows nothing, 1 this life, 2 an earlier one */
byte  h_active[H];
byte  h_clear[H];
byte  h_rev0[N], h_rev1[N]; /* revocations */

/* what users hold */

byte  p_score[N], p_at[N];  /* a place; score 0: none */
bit   p_old[N];             /* of an earlier life */
byte  t_adm[N];             /* an entry token that has not expired; 0: none */
bit   t_old[N];
bit   here[N];              /* the user polls */

/* what is true, whatever Redis and hosts know, for the invariants */

byte  g_score[N];           /* where the user was last told to stand */
bit   p_good[N];            /* nothing has ended the place since */
byte  g_rev[N];
bit   shown[N];             /* polled since the loss, with all that is held */
bit   ok[N];                /* polls all the while since g_score was told */
bit   unsaid0[N], unsaid1[N];   /* a host has not stepped since */
bit   lost;
bit   tired[N];             /* LIVE: has lost a claim */

bit   take;                 /* of a step: the user keeps what is answered */

byte  i, j, v, clk, clr, score, place, best, n, m, top;
byte  e_adm;
byte  rank[N];
int   key[N], more[N], k;
byte  b, closed, in_now, counts, same;


/* users are alike: those in the order of what they have stand for all */

#define SWAP(x)  n = x[i]; x[i] = x[i + 1]; x[i + 1] = n

inline sort_users()
{
#ifndef LIVE
    /* and so are hosts */
    n = h_life[0] << 6 | h_active[0] << 3;
    m = h_life[1] << 6 | h_active[1] << 3;
    FOR(i, N)
        n = n + (h_rev0[i] != 0) + 2 * unsaid0[i];
        m = m + (h_rev1[i] != 0) + 2 * unsaid1[i]
    END(i);
    if
    :: n < m || n == m && h_clear[0] < h_clear[1] ->
        n = h_life[0]; h_life[0] = h_life[1]; h_life[1] = n;
        n = h_active[0]; h_active[0] = h_active[1]; h_active[1] = n;
        n = h_clear[0]; h_clear[0] = h_clear[1]; h_clear[1] = n;
        FOR(i, N)
            n = h_rev0[i]; h_rev0[i] = h_rev1[i]; h_rev1[i] = n;
            n = unsaid0[i]; unsaid0[i] = unsaid1[i]; unsaid1[i] = n
        END(i)
    :: else
    fi;
#endif

#if !defined(TICKET) && !defined(LIVE)
    FOR(i, N)
        key[i] = queue[i] << 27 | act[i] << 25 | p_score[i] << 21 |
                 t_adm[i] << 17 | p_at[i] << 13 | done[i] << 9 |
                 adm[i] << 5 | here[i] << 4 | ok[i] << 3 | stale[i] << 2 |
                 cap[i] << 1 | shown[i];
        more[i] = g_score[i] << 20 | p_good[i] << 16 | g_rev[i] << 12 |
                  rev[i] << 8 | (h_rev0[i] != 0) << 7 |
                  (h_rev1[i] != 0) << 6 | unsaid0[i] << 5 |
                  unsaid1[i] << 4 | p_old[i] << 3 | t_old[i] << 2
    END(i);
    b = 1;
    do
    :: b ->
        b = 0;
        i = 0;
        do
        :: i < N - 1 ->
            if
            :: key[i] < key[i + 1] ||
               key[i] == key[i + 1] && more[i] < more[i + 1] ->
                b = 1;
                k = key[i]; key[i] = key[i + 1]; key[i + 1] = k;
                k = more[i]; more[i] = more[i + 1]; more[i + 1] = k;
                SWAP(queue);
                SWAP(stale);
                SWAP(act);
                SWAP(adm);
                SWAP(done);
                SWAP(rev);
                SWAP(h_rev0);
                SWAP(h_rev1);
                SWAP(p_score);
                SWAP(p_at);
                SWAP(p_old);
                SWAP(t_adm);
                SWAP(t_old);
                SWAP(here);
                SWAP(g_score);
                SWAP(p_good);
                SWAP(g_rev);
                SWAP(shown);
                SWAP(ok);
                SWAP(unsaid0);
                SWAP(unsaid1);
                SWAP(cap)
            :: else
            fi;
            i++
        :: else -> break
        od
    :: else -> break
    od;
    FOR(i, N) key[i] = 0; more[i] = 0 END(i);
    k = 0;
#endif
    n = 0
}


/* what is never read again is forgotten; the rest renumbered */

inline settle()
{
    FOR(i, N)
#ifndef RESTART
        if
        :: t_adm[i] != 0 && rev[i] >= t_adm[i] && h_rev0[i] >= t_adm[i] &&
           h_rev1[i] >= t_adm[i] -> t_adm[i] = 0
        :: else
        fi;
#endif
        if
        :: act[i] == 0 -> adm[i] = 0; cap[i] = 0
        :: else
        fi;
        if
        :: queue[i] == 0 -> stale[i] = 0
        :: else
        fi;
        if
        :: t_adm[i] == 0 -> t_old[i] = 0
        :: else
        fi;
        ok[i] = ok[i] && g_score[i] != 0;
        if
        :: !ok[i] -> g_score[i] = 0
        :: else
        fi;

        /* of revocations it matters whether the token that is held ended */
        if :: t_adm[i] == 0 || rev[i] < t_adm[i] -> rev[i] = 0
           :: else -> rev[i] = t_adm[i] fi;
        if :: t_adm[i] == 0 || h_rev0[i] < t_adm[i] -> h_rev0[i] = 0
           :: else -> h_rev0[i] = t_adm[i] fi;
        if :: t_adm[i] == 0 || h_rev1[i] < t_adm[i] -> h_rev1[i] = 0
           :: else -> h_rev1[i] = t_adm[i] fi;
        if :: t_adm[i] == 0 || g_rev[i] < t_adm[i] ->
              g_rev[i] = 0; unsaid0[i] = 0; unsaid1[i] = 0
           :: else -> g_rev[i] = t_adm[i] fi;

        if
        :: p_score[i] == 0 ->
            p_at[i] = 0; p_old[i] = 0; p_good[i] = 0;
#ifndef TICKET
            if
            :: act[i] == 0 -> done[i] = 0
            :: else
            fi
#endif
        :: else
        fi;
#ifndef LOSS
        if
        :: p_score[i] != 0 && !p_good[i] ->
            p_score[i] = AT     /* one that does not count: worth trying */
        :: else
        fi;
#endif
        if
        :: p_score[i] == 0 && t_adm[i] == 0 && queue[i] == 0 && act[i] == 0 ->
            here[i] = 0
        :: else
        fi;
        if
        :: !here[i] || !lost && !paused -> shown[i] = 0
        :: lost && alive && !young && restore != 1 -> shown[i] = 0; p_old[i] = 0
        :: else
        fi;
        if
        :: lost && alive && !young && restore != 1 && !floor_on -> t_old[i] = 0
        :: else
        fi
    END(i);

#ifndef LOSS
    FOR(i, H) h_active[i] = 0 END(i);
#else
    FOR(i, H)
        if
        :: lost && h_life[i] != 2 -> h_active[i] = 0
        :: else
        fi
    END(i);
    if
    :: !floor_on && alive && !young && restore != 1 ->
        floor = 0; gone = 0; back = 0
    :: else
    fi;
#endif

    /* scores */

    n = AT; v = AT + 1;
    do
    :: v <= LAST ->
        b = 0;
        FOR(i, N)
            b = b || queue[i] == v || p_score[i] == v || g_score[i] == v
        END(i);
        if
        :: b ->
            n++;
            if
            :: n != v ->
                FOR(i, N)
                    if :: queue[i] == v -> queue[i] = n :: else fi;
                    if :: p_score[i] == v -> p_score[i] = n :: else fi;
                    if :: g_score[i] == v -> g_score[i] = n :: else fi
                END(i)
            :: else
            fi
        :: else
        fi;
        v++
    :: else -> break
    od;
    assert(n < NOW && clk < LAST);

    /* times */

    FOR(i, N) rank[i] = 0 END(i);
    v = 1;
    do
    :: v <= LAST ->
#ifdef CLEAR
        if
        :: clear == v || h_clear[0] == v || h_clear[1] == v ->
            n = 0;
            FOR(i, N) if :: rank[i] > n -> n = rank[i] :: else fi END(i);
            FOR(i, N) rank[i] = n END(i);
            if :: clear == v -> clear = n + 1 :: else fi;
            FOR(i, H)
                if :: h_clear[i] == v -> h_clear[i] = n + 1 :: else fi
            END(i);
            b = 1
        :: else -> b = 0
        fi;
#else
        b = 0;
#endif
        FOR(i, N)
            if
            :: b || p_at[i] == v || t_adm[i] == v || adm[i] == v ||
               done[i] == v || rev[i] == v || h_rev0[i] == v ||
               h_rev1[i] == v || g_rev[i] == v ->
                rank[i]++;
                n = rank[i];
                if :: p_at[i] == v -> p_at[i] = n :: else fi;
                if :: t_adm[i] == v -> t_adm[i] = n :: else fi;
                if :: adm[i] == v -> adm[i] = n :: else fi;
                if :: done[i] == v -> done[i] = n :: else fi;
                if :: rev[i] == v -> rev[i] = n :: else fi;
                if :: h_rev0[i] == v -> h_rev0[i] = n :: else fi;
                if :: h_rev1[i] == v -> h_rev1[i] = n :: else fi;
                if :: g_rev[i] == v -> g_rev[i] = n :: else fi;
                assert(n < NOW)
            :: else
            fi
        END(i);
        v++
    :: else -> break
    od;

    sort_users()
}


/* of a counterexample: spin -t -T -DLOSS queue.pml */

inline tell()
{
    FOR(i, N)
        printf("  user %d: queue %d stale %d slot %d adm %d done %d", i,
               queue[i], stale[i], act[i], adm[i], done[i]);
        printf(" rev %d/%d/%d here %d place %d at %d token %d", rev[i],
               h_rev0[i], h_rev1[i], here[i], p_score[i], p_at[i], t_adm[i]);
        printf("; told %d, place good %d, no token to %d\n", g_score[i],
               p_good[i], g_rev[i])
    END(i);
    printf("  alive %d young %d restore %d floor %d (%d) back %d\n", alive,
           young, restore, floor, floor_on, back)
}


/* what holds after every step */

inline check()
{
    n = 0; m = 0;
    FOR(i, N)
        assert(queue[i] == 0 || act[i] == 0);               /* twice */
        n = n + (act[i] != 0);
        m = m + (act[i] != 0 || t_adm[i] > g_rev[i])
    END(i);
    assert(n <= T);                                         /* active */
    assert(m <= T)                                          /* inside */
}

inline finish()
{
    tell();
    check();
    settle();
    FOR(i, N) rank[i] = 0 END(i);
    i = 0; j = 0; v = 0; m = 0; b = 0; k = 0;
    clk = 0; clr = 0; score = 0; place = 0; best = 0; top = 0; e_adm = 0;
    closed = 0; in_now = 0; counts = 0; same = 0
}


/* queue_lib.lua */

inline begin(h)
{
    clk = NOW - 1;
    clr = (h_clear[h] > clear -> h_clear[h] : clear)
}

inline live()
{
    if
    :: !alive -> alive = 1; young = 1; clk++
    :: else
    fi
}

inline begin_restore()
{
#ifndef NO_RESTORE
    if
    :: restore == 0 -> restore = 1
    :: else
    fi
#else
    skip
#endif
}

inline hear_host(h)
{
    if
    :: h_life[h] == 2 ->
        live();
        begin_restore();
#ifndef NO_FLOOR
        if
        :: restore == 1 && h_active[h] > floor ->
            floor = h_active[h]; floor_on = 1
        :: else
        fi;
#endif
        if
        :: h_clear[h] > clear -> clear = h_clear[h]
        :: else
        fi
    :: else
    fi
}

/* an answer, as ngx_adm_event_note() keeps it */

inline reply(h)
{
    if
    :: alive ->
        h_life[h] = 1;
        n = 0;
        FOR(i, N) n = n + (act[i] != 0) END(i);
        h_active[h] = n;
        h_clear[h] = clr
    :: else
    fi
}

inline counted()                /* n */
{
    n = 0;
    FOR(i, N) n = n + (act[i] != 0) END(i);
#ifdef OLD_FLOOR
    if
    :: floor_on && floor > gone && floor - gone > n -> n = floor - gone
    :: else
    fi
#else
    if
    :: floor_on && floor > back -> n = n + floor - back
    :: else
    fi
#endif
}

inline drop_waiting(u)
{
    if
    :: queue[u] == AT -> used = u
    :: else
    fi;
    queue[u] = 0;
    stale[u] = 0
}

inline drop_active(u)
{
    act[u] = 0; adm[u] = 0; cap[u] = 0
}

/* the user, the score that admits, whether by a call of the user's own */

inline admit(u, s, own)
{
    assert(act[u] == 0 && (lost || t_adm[u] <= g_rev[u]));  /* twice */
    FOR(i, N)                                               /* order */
        assert(i == u || !ok[i] || act[i] != 0 || g_score[i] == 0 ||
               g_score[i] > s)
    END(i);

    clk++;
    act[u] = 1;
    adm[u] = clk;
    cap[u] = 0;
    if
    :: own -> done[u] = clk; p_good[u] = 0
    :: else
    fi
}

inline revoke(u)
{
#ifndef NO_REVOKE
    rev[u] = clk;
#endif
    g_rev[u] = clk; unsaid0[u] = 1; unsaid1[u] = 1
}

inline expire_active(u)
{
    clk++;
    revoke(u);
#ifdef LIVE
    tired[u] = tired[u] || done[u] < adm[u];
#endif
    drop_active(u)
}

inline depart(u)
{
    clk++;
#ifndef OLD_DEPART
    revoke(u);
#endif
    if
    :: queue[u] != 0 ->
        drop_waiting(u)
    :: else ->
        if
        :: floor_on && act[u] != 0 -> gone++
        :: else
        fi;
        drop_active(u);
#ifdef OLD_DEPART
        revoke(u)
#endif
    fi;
    done[u] = clk;

    g_rev[u] = clk; unsaid0[u] = 1; unsaid1[u] = 1;
    p_good[u] = 0; g_score[u] = 0
}


/* queue_check.lua */

#ifdef NO_DONE
#define DONE(u)  0
#else
#define DONE(u)  done[u]
#endif

inline best_place(u, d)
{
    best = 0;
    counts = (place && p_at[u] > clr && p_at[u] > e_adm && p_at[u] > d);
    if
    :: counts ->
        best = p_score[u];
        if
        :: p_old[u] ->
            live();
            if
            :: young -> begin_restore()
            :: else
            fi
        :: else
        fi
    :: else
    fi
}

inline free_score(u)
{
    FOR(i, N)
        if
        :: i != u && queue[i] == score -> score = LAST; assert(lost)
        :: else
        fi
    END(i)
}

inline restore_slot(u)
{
    if
    :: e_adm == 0 || e_adm <= clr || rev[u] >= e_adm
    :: else ->
        live();
        if
        :: t_old[u] && young -> begin_restore()
        :: else
        fi;
        queue[u] = 0; stale[u] = 0;
        act[u] = 1;
        adm[u] = e_adm;
        if
        :: t_old[u] -> back++
        :: else
        fi;
        if
        :: done[u] < e_adm -> done[u] = e_adm
        :: else
        fi
    fi
}

/* in or out: in_now */

inline stay_active(u)
{
    if
    :: cap[u] && !paused ->
#ifndef OLD_CAP
        clk++;
        revoke(u);
#endif
        drop_active(u);
        in_now = 0
    :: else ->
        act[u] = 1;
        if
        :: done[u] < adm[u] -> clk++; done[u] = clk; p_good[u] = 0
        :: else
        fi;
        g_score[u] = 0;
        in_now = 1
    fi
}

#define SHOWN(u, p)  (p && p_score[u] != 0)

/* the user, how (join: check, else status or heartbeat), what is shown */

inline ask(h, u, join, show_place, show_entry, show_ticket)
{
    printf("user %d asks host %d: join %d, shows place %d entry %d ticket %d\n",
           u, h, join, show_place, show_entry, show_ticket);
    begin(h);
    place = show_place && p_score[u] != 0;
    e_adm = 0;

    /* the host itself refuses a token of which it knows the end */
    if
    :: show_entry && t_adm[u] > h_clear[h] &&
       t_adm[u] > (h == 0 -> h_rev0[u] : h_rev1[u]) -> e_adm = t_adm[u]
    :: else
    fi;

    here[u] = 1;
    if
    :: (lost || paused) && (place || p_score[u] == 0) &&
       (show_entry || t_adm[u] == 0) ->
        shown[u] = 1
    :: else
    fi;

    hear_host(h);
    if
    :: act[u] == 0 -> restore_slot(u)
    :: else
    fi;

    in_now = 0;
    score = 0;
    if
    :: act[u] != 0 -> stay_active(u)
    :: else
    fi;

    if
    :: in_now

    :: !in_now && queue[u] != 0 ->
        score = queue[u];
        place = place && p_score[u] < score;
        best_place(u, DONE(u));
        if
        :: best != 0 ->
            if
            :: score == AT -> used = u
            :: else
            fi;
            score = best;
            free_score(u);
            queue[u] = score
        :: else
        fi;
        stale[u] = 0

    :: else ->
        best_place(u, DONE(u));
        if
        :: best == 0 && join && show_ticket && done[u] == 0 ->
            score = AT;
            if
            :: used != NONE && used != u -> score = NONE
            :: else
            fi;
            FOR(i, N)
                if
                :: i != u && queue[i] == AT -> score = NONE
                :: else
                fi
            END(i)
        :: else
        fi;

        if
        :: score == NONE || (best == 0 && !join)        /* used, not in */
            -> score = 0

        :: else ->
            live();

            /* enter() */
            closed = (restore == 1 || !join);
            n = 0;
            FOR(i, N) n = n + (queue[i] != 0) END(i);
#ifndef NO_QUEUE_RULE
            closed = closed || n > 0;
#endif
            if
            :: !closed && !paused ->
                FOR(j, N)
                    if
                    :: act[j] == 2 -> expire_active(j)
                    :: else
                    fi
                END(j)
            :: else
            fi;
            counted();
            closed = closed || n >= T;
            if
            :: !closed ->
                top = (best != 0 -> best : (score != 0 -> score : NOW));
                admit(u, top, 1);
                if
                :: top == AT -> used = u
                :: else
                fi;
                g_score[u] = 0;
                in_now = 1;
                score = 0
            :: else ->
                if
                :: best != 0 -> score = best; free_score(u)
                :: best == 0 && score != 0 ->
#ifdef OLD_JOIN
                    same = 1        /* no time of its own */
#else
                    clk++
#endif
                :: else -> score = NOW; clk++
                fi;
                queue[u] = score;
                stale[u] = 0
            fi
        fi
    fi;

    /* places count as long as nothing came between, and not beyond */

    if
    :: SHOWN(u, show_place) && p_good[u] && (e_adm == 0 || p_at[u] > e_adm) ->
        assert(act[u] != 0 || (queue[u] != 0 && queue[u] <= p_score[u] ||
                               queue[u] == LAST))
    :: SHOWN(u, show_place) && !lost && !p_good[u] ->
#ifdef TICKET
        /* a position counts again after clear: of a place with its score */
        assert(queue[u] == 0 || cleared || queue[u] > p_score[u])
#else
        assert(queue[u] == 0 || queue[u] > p_score[u])
#endif
    :: else
    fi;
    if
    :: ok[u] && g_score[u] != 0 && queue[u] != 0 &&
       (SHOWN(u, show_place) || !lost) ->
        assert(queue[u] <= g_score[u] || queue[u] == LAST)
    :: else
    fi;

    reply(h);

    /* what the user has afterwards; old ones may be kept instead */

    if
    :: queue[u] != 0 ->
        g_score[u] = queue[u]; ok[u] = 1;
        if
        :: take || p_score[u] == queue[u] ->
            p_score[u] = queue[u];
            p_at[u] = (clk < NOW -> NOW : clk);
            if
            :: same -> p_at[u] = (done[u] > clr -> done[u] : clr)
            :: else
            fi;
            p_old[u] = 0;
            p_good[u] = 1
        :: else
        fi
    :: else ->
#ifdef TOKENS
        if
        :: in_now && (take || t_adm[u] == adm[u]) ->
            t_adm[u] = adm[u]; t_old[u] = 0
        :: else
        fi;
#endif
        if
        :: act[u] == 0 -> g_score[u] = 0
        :: else
        fi
    fi
}

/* the gate: a token that passes, and, after a loss, is told of */

inline gate(h, u)
{
    printf("user %d at the gate of host %d\n", u, h);
    begin(h);
    assert(t_adm[u] > g_rev[u] || (h == 0 -> unsaid0[u] : unsaid1[u]));
    if
    :: restore == 1 && h_life[h] == 1 && t_old[u] ->
        e_adm = t_adm[u];
        if
        :: act[u] == 0 -> restore_slot(u)
        :: else
        fi;
        reply(h)
    :: else
    fi
}

/* queue_leave.lua; a beacon leaves later, by a step, and so no host's */

inline leave(h, u, beacon)
{
    printf("user %d leaves at host %d, beacon %d\n", u, h, beacon);
    begin(h);
    hear_host(h);
    live();
    depart(u);
    reply(h);
    if
    :: !beacon && h == 0 -> h_rev0[u] = clk; unsaid0[u] = 0
    :: !beacon && h == 1 -> h_rev1[u] = clk; unsaid1[u] = 0
    :: else
    fi
}

/* queue_admin.lua, clear */

inline clear_all(h)
{
    printf("clear at host %d\n", h);
    begin(h);
    hear_host(h);
    live();
    clk++;
    FOR(i, N)
        if
        :: queue[i] == AT -> used = i
        :: else
        fi;
        queue[i] = 0; stale[i] = 0; act[i] = 0; adm[i] = 0; cap[i] = 0;
        g_score[i] = 0; p_good[i] = 0; g_rev[i] = clk;
        unsaid0[i] = (h != 0); unsaid1[i] = (h != 1)
    END(i);
    clear = clk; clr = clk; cleared = 1;
    floor_on = 0;
    reply(h)
}

/* queue_step.lua; what is due: clean-up, letting in */

inline let_in()
{
    do
    :: 1 ->
        counted();
        if
        :: n >= T -> break
        :: else
        fi;
        score = NONE;
        FOR(i, N)
            if
            :: queue[i] != 0 && queue[i] < score -> score = queue[i]; j = i
            :: else
            fi
        END(i);
        if
        :: score == NONE -> break
        :: else
        fi;
        b = stale[j];
        drop_waiting(j);
        if
        :: paused || !b -> admit(j, score, 0)
        :: else
        fi
    od
}

inline step(h, clean, due)
{
    printf("step of host %d: clean-up %d, lets in %d\n", h, clean, due);
    begin(h);
    hear_host(h);
    n = 0;
    FOR(i, N) n = n + (queue[i] != 0 || act[i] != 0) END(i);
    if
    :: n == 0 && restore != 1
    :: else ->
        live();
        if
        :: !paused ->
            FOR(j, N)
                if
                :: act[j] == 2 -> expire_active(j)
                :: else
                fi
            END(j);
            if
            :: clean ->
                FOR(j, N)
                    if
                    :: queue[j] != 0 && stale[j] -> drop_waiting(j)
                    :: else
                    fi
                END(j)
            :: else
            fi
        :: else
        fi;
        if
        :: due && restore != 1 -> let_in()
        :: else
        fi
    fi;

    /* told() */
    FOR(i, N)
        if
        :: h == 0 && rev[i] > h_rev0[i] -> h_rev0[i] = rev[i]
        :: h == 1 && rev[i] > h_rev1[i] -> h_rev1[i] = rev[i]
        :: else
        fi;
        if
        :: h == 0 -> unsaid0[i] = 0
        :: else -> unsaid1[i] = 0
        fi
    END(i);
    reply(h)
}


/* time */

#define RESTORED(i)  (!here[i] || shown[i])

inline slot_end(u)
{
    printf("the slot of user %d runs out\n", u);
    if
    :: t_adm[u] == adm[u] -> t_adm[u] = 0
    :: else
    fi;
    act[u] = 2
}

inline floor_end()
{
    printf("floor_until\n");
    /* by then, tokens of the earlier life have expired */
    FOR(i, N)
        if
        :: t_adm[i] != 0 && t_old[i] && act[i] == 0 -> t_adm[i] = 0
        :: else
        fi
    END(i);
    floor_on = 0
}

inline lose()
{
    printf("Redis loses its data\n");
    FOR(i, N)
        queue[i] = 0; stale[i] = 0; act[i] = 0; adm[i] = 0; done[i] = 0;
        rev[i] = 0; cap[i] = 0; shown[i] = 0;
        p_old[i] = 1; t_old[i] = 1
    END(i);
    FOR(i, H)
        if
        :: h_life[i] == 1 -> h_life[i] = 2
        :: else
        fi
    END(i);
    used = NONE; alive = 0; young = 0; restore = 0;
    floor = 0; gone = 0; back = 0; floor_on = 0; clear = 0; paused = 0;
    lost = 1
}

inline restart(h)
{
    printf("host %d restarts\n", h);
    h_life[h] = 0; h_active[h] = 0; h_clear[h] = 0;
    FOR(i, N)
        if
        :: h == 0 -> h_rev0[i] = 0; unsaid0[i] = 1
        :: else -> h_rev1[i] = 0; unsaid1[i] = 1
        fi
    END(i);
    n = 0
}

/* nothing was heard of anybody for long */

inline gap()
{
    printf("a gap\n");
    paused = 1;
    FOR(i, N)
        stale[i] = (queue[i] != 0);
        if
        :: act[i] != 0 -> act[i] = 2
        :: else
        fi;
        t_adm[i] = 0;
        shown[i] = 0
    END(i);
    n = 0
}

#ifdef BLIND
#define KNOWN      1
#else
#define KNOWN      (h_life[0] == 1 && h_life[1] == 1)
#endif

#ifdef UNHEARD
#define TOLD(i)    1
#else
#define TOLD(i)    (!(t_adm[i] != 0 && t_adm[i] <= g_rev[i] && \
                      (unsaid0[i] || unsaid1[i])))
#endif
/* no token is held that has ended: after a loss hosts alone know of that */
#define HELD(i)    (t_adm[i] != 0 && t_adm[i] <= g_rev[i])
#define NONE_HELD  (!HELD(0) && !HELD(1) && !HELD(N - 2) && !HELD(N - 1))

#define TOLD_ALL   (TOLD(0) && TOLD(1) && TOLD(N - 2) && TOLD(N - 1))
#define NOT_TOLD   (h_life[0] == 2 || h_life[1] == 2)
#define BACK_ALL   (RESTORED(0) && RESTORED(1) && RESTORED(N - 2) && \
                    RESTORED(N - 1))

#if N < 2 || N > 4
#error 2, 3 or 4 users
#endif

#define PASSES(h, u)  (t_adm[u] > h_clear[h] && \
                       t_adm[u] > (h == 0 -> h_rev0[u] : h_rev1[u]))


/* who may go on with an old place or token instead of the new one */

#if defined(LOSS) || defined(CLEAR)
#define KEEPS(u)  0
#else
#define KEEPS(u)  (p_score[u] != 0 && p_score[u] != queue[u] || \
                   t_adm[u] != 0 && t_adm[u] != adm[u])
#endif

#define UNLIKE(i)  (h_rev0[i] != h_rev1[i] || unsaid0[i] != unsaid1[i])
#define DIFFER     (h_life[0] != h_life[1] || h_active[0] != h_active[1] || \
                    h_clear[0] != h_clear[1] || UNLIKE(0) || UNLIKE(1) || \
                    UNLIKE(N - 2) || UNLIKE(N - 1))

/* what the biggest configuration does without: see docs/model.md */

#ifndef SMALL
#define SMALL  0
#endif

#define STALE_ANY  (stale[0] || stale[1] || stale[N - 2] || stale[N - 1])

#ifndef LIVE

active proctype world()
{
    byte  u, h;
    bit   x, y, z, w;

    do
    :: atomic {
        if :: u = 0 :: u = 1
#if N > 2
           :: u = 2
#endif
#if N > 3
           :: u = 3
#endif
        fi;
        if :: h = 0 :: h = 1 fi;

        if
        :: h == 0 || DIFFER ->
           if
           :: act[u] != 0 -> y = 1; z = 1
           :: else ->
              if :: !SMALL || queue[u] != 0 -> x = 0
                 :: queue[u] == 0 -> x = 1 fi;
              if :: y = 1 :: !SMALL && p_score[u] != 0 -> y = 0 fi;
              if :: z = 1 :: !SMALL && t_adm[u] != 0 -> z = 0 fi
           fi;
           if :: take = 1 :: KEEPS(u) -> take = 0 fi;
#ifdef TICKET
           if :: w = 0 :: x && u < 2 -> w = 1 fi;
#endif
           d_step { ask(h, u, x, y, z, w) }

        :: (SMALL < 2 || restore == 1) &&
           t_adm[u] != 0 && PASSES(h, u) && (h == 0 || DIFFER) ->
           d_step { gate(h, u) }

        :: (lost || SMALL < 2) &&
           (queue[u] != 0 || act[u] != 0 || t_adm[u] != 0) &&
           (h == 0 || DIFFER) ->
           if :: x = 0 :: !SMALL -> x = 1 fi;
           d_step { leave(h, u, x) }

        :: u == 0 && (h == 0 || DIFFER) ->
           if :: !SMALL && STALE_ANY -> x = 1 :: x = 0 fi;
           if :: y = 1 :: !SMALL -> y = 0 fi;
           d_step { step(h, x, y) }

        :: h == 0 && here[u] ->                 /* vanishes */
           d_step {
               printf("user %d vanishes\n", u);
               here[u] = 0; ok[u] = 0
           }

        :: !SMALL && h == 0 && !here[u] && queue[u] != 0 && !stale[u] ->
           d_step {
               printf("user %d was not seen for long\n", u);
               stale[u] = 1
           }

        :: SMALL < 2 && h == 0 && !here[u] && act[u] == 1 &&
           !paused ->
           d_step { slot_end(u) }

        :: !SMALL && h == 0 && act[u] == 1 && done[u] >= adm[u] &&
           !cap[u] && !paused ->
           d_step {
               printf("session_max for user %d\n", u);
               cap[u] = 1; slot_end(u)
           }

        :: SMALL < 2 && h == 0 && t_adm[u] != 0 &&
           (!here[u] || t_adm[u] <= g_rev[u] || t_adm[u] < adm[u]) ->
           d_step {
               printf("the token of user %d expires\n", u);
               t_adm[u] = 0
           }

        :: h == 0 && u == 0 && young && (!lost || !NOT_TOLD && BACK_ALL) ->
           d_step {
               printf("restore_wait since the epoch\n");
               young = 0
           }

        :: h == 0 && u == 0 && restore == 1 && !young && !NOT_TOLD &&
           BACK_ALL ->
           d_step {
               printf("the restore is over\n");
               restore = 2
           }
#ifdef CLEAR
        :: u == 0 && !cleared && (h == 0 || DIFFER) ->
           d_step { clear_all(h) }
#endif
#ifdef GAP
        :: u == 0 && h == 0 && !paused ->
           d_step { gap() }

        :: u == 0 && h == 0 && paused && BACK_ALL ->
           d_step {
               printf("the pause is over\n");
               paused = 0
           }
#endif
#ifdef RESTART
        :: u == 0 && h_life[h] == 1 && !NOT_TOLD && (!lost || NONE_HELD) ->
           d_step { restart(h) }
#endif
#ifdef LOSS
        :: u == 0 && h == 0 && !lost && alive && KNOWN && TOLD_ALL ->
           d_step { lose() }

        :: u == 0 && h == 0 && floor_on && restore == 2 ->
           d_step { floor_end() }
#endif
        :: else -> goto nothing
        fi;

        d_step { finish() }
nothing:
        u = 0; h = 0; x = 0; y = 0; z = 0; w = 0; take = 0
       }
    od
}

#endif


/*
 * Liveness: user 0 polls all the while; the others do what they like, but
 * their sessions end.  Who has lost a claim does not come back with the same
 * place unless GREEDY: see docs/model.md.
 */

#ifdef LIVE

ltl served {
    [] (queue[0] != 0 -> <> (act[0] != 0 && done[0] >= adm[0]))
}

#ifdef GREEDY
#define WITH(u)  1
#else
#define WITH(u)  !tired[u]
#endif

active [H] proctype host()
{
    do
    :: atomic {
        if
        :: d_step { step(_pid, 1, 1) }
        fi;
        d_step { finish() }
       }
    od
}

active proctype waiter()
{
    do
    :: atomic {
        if
        :: d_step { take = 1; ask(0, 0, 1, 1, 0, 0) }
        :: act[0] != 0 && done[0] >= adm[0] -> d_step { leave(0, 0, 0) }
        fi;
        d_step { finish() };
        take = 0
       }
    od
}

active proctype others()
{
    byte  u;

    do
    :: atomic {
        u = 1;
#if N > 2
        if :: u = 1 :: u = 2 fi;
#endif
        if
        :: d_step { take = 1; ask(1, u, 1, WITH(u), 0, 0) };
           tired[u] = tired[u] && p_score[u] != queue[u]
        :: queue[u] != 0 || act[u] != 0 -> d_step { leave(1, u, 0) }
        :: here[u] -> d_step { here[u] = 0; ok[u] = 0 }
        :: queue[u] != 0 && !here[u] -> d_step { stale[u] = 1 }
        :: act[u] == 1 && !here[u] -> d_step { slot_end(u) }
        :: else
        fi;
        d_step { finish() };
        take = 0;
        u = 0
       }
    od
}

/* a claim that is not made, a session that comes to its end */

#define RUNS(u)  (act[u] != 0 && !cap[u])

inline end_of(u)
{
    if
    :: act[u] != 0 && done[u] < adm[u] ->
        expire_active(u); here[u] = 0; ok[u] = 0
    :: RUNS(u) && done[u] >= adm[u] ->
        cap[u] = 1; act[u] = 2; here[u] = 0; ok[u] = 0
    :: else
    fi
}

active proctype sessions()
{
    do
    :: atomic {
        RUNS(1) || RUNS(N - 1) ->
        d_step {
            begin(0);
            end_of(1);
            end_of(N - 1);
            n = 0
        };
        d_step { finish() }
       }
    od
}

#endif
