
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Pages of a waiting room, as browsers have them open: each takes a ticket at
 * its own moment and then polls when nextPoll of the last answer says so.  One
 * process, so light that it is not what is measured.
 *
 *     pages EVENT PAGES TAKING END CONNECTIONS PORT...
 *
 * PAGES pages take their tickets one after the other over TAKING seconds, and
 * poll until the time END (s).  Page n is of the host n mod PORTs; a host has
 * up to CONNECTIONS connections that are kept, as a proxy before it has.  What
 * an answer takes is counted from when the page was due, so that neither a
 * connection that is not free nor this program being late is left out.  Prints
 *
 *     SECOND requests P50 P95 worst       of the requests due in it, ms
 *     end PAGES tickets positions twice failed last
 *
 * where twice are those whose position another one has, failed has what was
 * not answered within 10 s, and last is when the last page heard of its
 * position (s).
 */


#define _GNU_SOURCE

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>


#define HOSTS_MAX  16
#define ANSWER     16384
#define TIMEOUT    10.0                  /* s, from when the request was due */
#define AGAIN      2.0                   /* s, after one that failed */


typedef struct page_s  page_t;
typedef struct conn_s  conn_t;

struct page_s {
    char        *ticket;                 /* NULL: it has none yet */
    char        *visitor;
    page_t      *next;                   /* that waits for a connection */
    double       due;
    long long    position;
    int          host;
    int          asked;                  /* it is, and has no answer yet */
};

struct conn_s {
    page_t      *page;                   /* whose request it has, or NULL */
    conn_t      *next;                   /* that is free */
    int          fd;
    int          host;
    int          used;
    int          opening;
    size_t       out, sent, in;
    char         request[2048];
    char         answer[ANSWER];
};

typedef struct {
    struct sockaddr_in   addr;
    conn_t              *free;
    page_t              *first, **last;  /* that wait */
    int                  open;
} host_t;

typedef struct {
    float       *ms;
    size_t       n, max;
} second_t;


static int         epoll, hosts, connections;
static long        pages, tickets, positions, failed;
static double      began, last_heard;
static const char *event;
static host_t      host[HOSTS_MAX];
static page_t     *page, **heap;
static long        timers;
static second_t   *second;
static long        seconds, first_second;


static void ask(page_t *p);


static void *
alloc(void *old, size_t size)
{
    void  *new;

    new = realloc(old, size);

    if (new == NULL) {
        perror("pages");
        exit(2);
    }

    return new;
}


static double
now(void)
{
    struct timespec  ts;

    clock_gettime(CLOCK_REALTIME, &ts);

    return ts.tv_sec + ts.tv_nsec / 1e9;
}


/* ---- when pages are due: a heap, the first at 0 */

static void
timer(page_t *p, double at)
{
    long  i, up;

    p->due = at;

    for (i = timers++; i > 0; i = up) {
        up = (i - 1) / 2;

        if (heap[up]->due <= at) {
            break;
        }

        heap[i] = heap[up];
    }

    heap[i] = p;
}


static page_t *
timer_next(void)
{
    long     i, down;
    page_t  *p, *moved;

    p = heap[0];
    moved = heap[--timers];

    for (i = 0; (down = 2 * i + 1) < timers; i = down) {

        if (down + 1 < timers && heap[down + 1]->due < heap[down]->due) {
            down++;
        }

        if (moved->due <= heap[down]->due) {
            break;
        }

        heap[i] = heap[down];
    }

    heap[i] = moved;

    return p;
}


/* ---- what is told of the requests */

static void
note(page_t *p, double at)
{
    long       n;
    second_t  *s;

    n = (long) p->due - first_second;

    if (n < 0 || n >= seconds) {
        return;
    }

    s = &second[n];

    if (s->n == s->max) {
        s->max = s->max ? 2 * s->max : 1024;
        s->ms = alloc(s->ms, s->max * sizeof(float));
    }

    s->ms[s->n++] = (at - p->due) * 1000;
}


static int
by_ms(const void *one, const void *two)
{
    float  a = *(const float *) one, b = *(const float *) two;

    return (a > b) - (a < b);
}


static int
by_position(const void *one, const void *two)
{
    long long  a = ((const page_t *) one)->position;
    long long  b = ((const page_t *) two)->position;

    return (a > b) - (a < b);
}


static void
report(void)
{
    long       n, twice;
    second_t  *s;

    for (n = 0; n < seconds; n++) {
        s = &second[n];

        if (s->n) {
            qsort(s->ms, s->n, sizeof(float), by_ms);
            printf("%ld %zu %.1f %.1f %.1f\n", first_second + n, s->n,
                   s->ms[(s->n - 1) / 2], s->ms[(s->n - 1) * 95 / 100],
                   s->ms[s->n - 1]);
        }
    }

    for (n = 0; n < pages; n++) {
        failed += page[n].asked && page[n].due < now() - TIMEOUT;
    }

    twice = 0;
    qsort(page, pages, sizeof(page_t), by_position);

    for (n = 1; n < pages; n++) {
        twice += page[n].position && page[n].position == page[n - 1].position;
    }

    printf("end %ld %ld %ld %ld %ld %.1f\n", pages, tickets, positions, twice,
           failed, last_heard);
}


/* ---- answers */

static void
done(page_t *p, int good, double next)
{
    double  at;

    at = now();

    note(p, at);

    p->asked = 0;
    failed += !good;
    timer(p, at + (good ? next : AGAIN));
}


/* a text or a number, NULL: there is none */

static char *
member(char *json, const char *name, char **end)
{
    char  *value;

    value = strstr(json, name);

    if (value == NULL) {
        return NULL;
    }

    value += strlen(name);

    if (*value == '"') {
        *end = strchr(++value, '"');

    } else {
        *end = value + strcspn(value, ",}");
    }

    return *end ? value : NULL;
}


static char *
copy(char *json, const char *name)
{
    char  *value, *end, *text;

    value = member(json, name, &end);

    if (value == NULL) {
        return NULL;
    }

    text = alloc(NULL, end - value + 1);
    memcpy(text, value, end - value);
    text[end - value] = '\0';

    return text;
}


static double
answered(page_t *p, char *json)
{
    char  *value, *end;

    if (p->ticket == NULL) {
        p->ticket = copy(json, "\"requestId\":");
        p->visitor = copy(json, "\"visitor\":");

        if (p->ticket) {
            tickets++;
        }
    }

    if (p->position == 0 && member(json, "\"lot\":", &end)) {
        value = member(json, "\"position\":", &end);
        p->position = value ? atoll(value) : 0;

        if (p->position) {
            positions++;
            last_heard = now();
        }
    }

    value = member(json, "\"nextPoll\":", &end);

    return value && atof(value) > 0 ? atof(value) : AGAIN;
}


/* ---- connections */

static void
drop(conn_t *c)
{
    conn_t  **free_one;

    for (free_one = &host[c->host].free; *free_one;
         free_one = &(*free_one)->next)
    {
        if (*free_one == c) {
            *free_one = c->next;
            break;
        }
    }

    host[c->host].open--;
    close(c->fd);
    c->fd = -1;
}


static void
send_request(conn_t *c)
{
    ssize_t  n;

    while (c->sent < c->out) {
        n = send(c->fd, c->request + c->sent, c->out - c->sent, MSG_NOSIGNAL);

        if (n == -1) {
            return;
        }

        c->sent += n;
    }
}


static void
begin(conn_t *c, page_t *p)
{
    c->page = p;
    c->sent = c->in = 0;

    c->out = p->ticket
        ? snprintf(c->request, sizeof(c->request),
                   "GET /vwr-api/check/%s/%s HTTP/1.1\r\nHost: localhost\r\n"
                   "X-Admission-Visitor: %s\r\n\r\n",
                   event, p->ticket, p->visitor ? p->visitor : "")
        : snprintf(c->request, sizeof(c->request),
                   "POST /vwr-api/assign/%s HTTP/1.1\r\nHost: localhost\r\n"
                   "Content-Length: 0\r\n\r\n", event);

    if (c->out >= sizeof(c->request)) {
        fprintf(stderr, "pages: a long ticket\n");
        exit(2);
    }

    if (!c->opening) {
        send_request(c);
    }
}


static conn_t *
open_one(int n)
{
    int                  on;
    conn_t              *c;
    struct epoll_event   ee;

    on = 1;
    c = alloc(NULL, sizeof(conn_t));
    memset(c, 0, offsetof(conn_t, request));

    c->host = n;
    c->opening = 1;
    c->fd = socket(AF_INET, SOCK_STREAM|SOCK_NONBLOCK, 0);

    ee.events = EPOLLIN|EPOLLOUT|EPOLLET;
    ee.data.ptr = c;

    if (c->fd == -1
        || setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) == -1
        || (connect(c->fd, (struct sockaddr *) &host[n].addr,
                    sizeof(host[n].addr)) == -1 && errno != EINPROGRESS)
        || epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd, &ee) == -1)
    {
        perror("pages");
        exit(2);
    }

    host[n].open++;

    return c;
}


static void
ask(page_t *p)
{
    conn_t  *c;
    host_t  *h;

    p->asked = 1;

    h = &host[p->host];
    c = h->free;

    if (c) {
        h->free = c->next;

    } else if (h->open < connections) {
        c = open_one(p->host);

    } else {
        p->next = NULL;
        *h->last = p;
        h->last = &p->next;
        return;
    }

    begin(c, p);
}


/* the first that waits for a connection, NULL: nobody does */

static page_t *
waiting(host_t *h)
{
    page_t  *p;

    p = h->first;

    if (p && (h->first = p->next) == NULL) {
        h->last = &h->first;
    }

    return p;
}


static void
release(conn_t *c)
{
    host_t  *h;
    page_t  *p;

    h = &host[c->host];

    c->used = 1;
    c->page = NULL;

    p = waiting(h);

    if (p) {
        begin(c, p);

    } else {
        c->next = h->free;
        h->free = c;
    }
}


/* it was closed, with or without a request under way */

static int
closed(conn_t *c)
{
    page_t  *p;

    drop(c);

    p = c->page;

    if (p && c->used && c->in == 0) {
        ask(p);                          /* as browsers do */

    } else if (p) {
        done(p, 0, 0);
    }

    if (host[c->host].open < connections) {
        p = waiting(&host[c->host]);

        if (p) {
            begin(open_one(c->host), p);
        }
    }

    return 0;
}


/* 1: there was a whole answer; 0: not yet, or the connection is gone */

static int
receive(conn_t *c)
{
    int       status, keep;
    char     *body, *length;
    page_t   *p;
    double    next;
    ssize_t   n;
    size_t    size;

    n = recv(c->fd, c->answer + c->in, ANSWER - 1 - c->in, 0);

    if (n <= 0) {
        return (n == -1 && errno == EAGAIN) ? 0 : closed(c);
    }

    if (c->page == NULL) {
        return closed(c);
    }

    c->in += n;
    c->answer[c->in] = '\0';

    body = strstr(c->answer, "\r\n\r\n");

    if (body == NULL) {
        return (c->in == ANSWER - 1) ? closed(c) : 1;
    }

    *body = '\0';
    body += 4;

    length = strcasestr(c->answer, "\r\nContent-Length: ");
    size = length ? strtoul(length + 18, NULL, 10) : 0;

    if ((size_t) (c->answer + c->in - body) < size) {
        body[-4] = '\r';
        return (c->in == ANSWER - 1) ? closed(c) : 1;
    }

    body[size] = '\0';
    status = atoi(c->answer + 9);
    keep = length && strcasestr(c->answer, "\r\nConnection: close") == NULL;

    p = c->page;
    next = (status == 200) ? answered(p, body) : 0;

    done(p, status == 200 && p->ticket, next);

    c->page = NULL;

    if (!keep) {
        return closed(c);
    }

    release(c);

    return 1;
}


static void
event_of(conn_t *c, uint32_t events)
{
    if (c->fd == -1) {
        return;
    }

    if (c->opening && (events & (EPOLLOUT|EPOLLERR|EPOLLHUP))) {
        c->opening = 0;

        if (!(events & (EPOLLERR|EPOLLHUP))) {
            send_request(c);
        }

    } else if (events & EPOLLOUT) {
        send_request(c);
    }

    if (events & (EPOLLIN|EPOLLERR|EPOLLHUP)) {
        while (receive(c) == 1) { /* void */ }
    }
}


static void
run(double end)
{
    int                  i, n, wait;
    double               at;
    struct epoll_event   ee[256];

    for ( ;; ) {
        at = now();

        if (at >= end) {
            return;
        }

        while (timers && heap[0]->due <= at) {
            ask(timer_next());
        }

        wait = timers ? (heap[0]->due - at) * 1000 + 1 : 100;
        n = epoll_wait(epoll, ee, 256, wait > 100 ? 100 : wait);

        for (i = 0; i < n; i++) {
            event_of(ee[i].data.ptr, ee[i].events);
        }
    }
}


int
main(int argc, char **argv)
{
    int     i;
    long    n;
    double  taking, end;

    if (argc < 7 || argc - 6 > HOSTS_MAX) {
        fprintf(stderr, "usage: pages EVENT PAGES TAKING END CONNECTIONS "
                "PORT...\n");
        return 2;
    }

    signal(SIGPIPE, SIG_IGN);

    event = argv[1];
    pages = atol(argv[2]);
    taking = atof(argv[3]);
    end = atof(argv[4]);
    connections = atoi(argv[5]);
    hosts = argc - 6;

    for (i = 0; i < hosts; i++) {
        host[i].addr.sin_family = AF_INET;
        host[i].addr.sin_port = htons(atoi(argv[6 + i]));
        host[i].addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        host[i].last = &host[i].first;
    }

    epoll = epoll_create1(0);
    began = now();
    first_second = (long) began;
    seconds = (long) end - first_second + 1;

    if (pages < 1 || connections < 1 || seconds < 1 || epoll == -1) {
        fprintf(stderr, "pages: no such run\n");
        return 2;
    }

    page = calloc(pages, sizeof(page_t));
    heap = calloc(pages, sizeof(page_t *));
    second = calloc(seconds, sizeof(second_t));

    if (page == NULL || heap == NULL || second == NULL) {
        perror("pages");
        return 2;
    }

    for (n = 0; n < pages; n++) {
        page[n].host = n % hosts;
        timer(&page[n], began + taking * n / pages);
    }

    run(end);
    report();

    return 0;
}
