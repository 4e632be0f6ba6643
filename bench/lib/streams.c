
/*
 * Copyright (C) 2026 the admission module authors
 *
 * Many streams of the waiting room from one process, each as EventSource has it:
 * what ends is opened again after the time that "retry:" named last.
 *
 *     streams PORT ADDRESS PACE < requests
 *
 * ADDRESS and the seven after it are where the connections come from, since an
 * address has no more ports than some 28,000 to another one; PACE so many are opened a second at first.
 * Standard input has a line a stream, "PATH COOKIES".  A line of output is what
 * happened:
 *
 *     open MS I     stream I (its line, from 0) was told something, at MS of the
 *                   clock; the first thing on this connection
 *     turn MS I     it was told for the first time that it is admitted
 *     end MS I      the connection ended; "failed" instead: it never answered
 *
 * It ends with the process that began it.
 */


#define _GNU_SOURCE

#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>


/* the end of what was read: a "retry:" or an "admitted" cut in two is found */
#define TAIL  64

/* without a "retry:", ms: what browsers take */
#define RETRY  3000

#define ADDRESSES  8

/* so many are being opened at the same time */
#define AT_ONCE  2000


typedef struct {
    char     *request;
    size_t    length;
    int       fd;
    int       retry;            /* ms */
    int64_t   due;              /* ms of the clock; open: 0 */
    unsigned  sent:1;
    unsigned  before:1;         /* it was open before */
    unsigned  told:1;           /* on this connection */
    unsigned  turn:1;           /* ever */
    size_t    kept;
    char      tail[TAIL];
} stream_t;


static stream_t            *streams;
static int                  number, pending;
static int                  ep;
static struct sockaddr_in   from, to;


static int64_t
now(void)
{
    struct timespec  ts;

    clock_gettime(CLOCK_REALTIME, &ts);

    return (int64_t) ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}


static void
note(const char *what, stream_t *s)
{
    if (printf("%s %lld %d\n", what, (long long) now(), (int) (s - streams))
        < 0)
    {
        exit(1);
    }
}


static void
ended(stream_t *s)
{
    note(s->told ? "end" : "failed", s);

    if (!s->told) {
        pending--;
    }

    close(s->fd);
    s->fd = -1;
    s->due = now() + s->retry;
}


static void
begin(stream_t *s)
{
    int                  one = 1;
    struct sockaddr_in   address[1] = { from };
    struct epoll_event   event;

    /* finding a free port takes the longer the more of them are in use */

    address->sin_addr.s_addr += htonl((s - streams) % ADDRESSES);

    s->fd = socket(AF_INET, SOCK_STREAM|SOCK_NONBLOCK|SOCK_CLOEXEC, 0);

    if (s->fd == -1
        || setsockopt(s->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one,
                      sizeof(one))
        || bind(s->fd, (struct sockaddr *) address, sizeof(*address)))
    {
        perror("socket");
        exit(1);
    }

    s->due = 0;
    s->sent = 0;
    s->told = 0;
    s->kept = 0;
    pending++;

    event.events = EPOLLIN|EPOLLOUT|EPOLLET;
    event.data.ptr = s;

    if (epoll_ctl(ep, EPOLL_CTL_ADD, s->fd, &event)) {
        perror("epoll_ctl");
        exit(1);
    }

    if (connect(s->fd, (struct sockaddr *) &to, sizeof(to))
        && errno != EINPROGRESS)
    {
        ended(s);
    }
}


static void
heard(stream_t *s, char *text)
{
    char  *retry, *last;

    if (!s->told && strstr(text, "data: ") != NULL) {
        s->told = 1;
        s->before = 1;
        pending--;
        note("open", s);
    }

    if (!s->turn && strstr(text, "\"admitted\":true") != NULL) {
        s->turn = 1;
        note("turn", s);
    }

    last = NULL;

    for (retry = text; (retry = strstr(retry, "retry: ")) != NULL; retry++) {
        if (strchr(retry, '\n') != NULL) {
            last = retry;
        }
    }

    if (last != NULL) {
        s->retry = atoi(last + sizeof("retry: ") - 1);
    }
}


static void
attend(stream_t *s, unsigned events)
{
    char     text[TAIL + 4096 + 1];
    size_t   length;
    ssize_t  n;

    if ((events & EPOLLOUT) && !s->sent) {

        /* a request fits into what an empty socket takes */

        n = write(s->fd, s->request, s->length);

        if (n != (ssize_t) s->length) {
            ended(s);
            return;
        }

        s->sent = 1;
    }

    for ( ;; ) {
        memcpy(text, s->tail, s->kept);
        n = read(s->fd, text + s->kept, 4096);

        if (n == -1 && (errno == EAGAIN || errno == EINTR)) {
            return;
        }

        if (n <= 0) {
            ended(s);
            return;
        }

        length = s->kept + n;
        text[length] = '\0';
        heard(s, text);

        s->kept = length < TAIL ? length : TAIL;
        memcpy(s->tail, text + length - s->kept, s->kept);
    }
}


static void
read_requests(const char *port)
{
    char     *line = NULL, *cookies, *end;
    size_t    size = 0;
    stream_t *s;

    while (getline(&line, &size, stdin) > 0) {
        cookies = strchr(line, ' ');
        end = strchr(line, '\n');

        if (cookies == NULL || end == NULL) {
            fprintf(stderr, "streams: a line is \"PATH COOKIES\"\n");
            exit(2);
        }

        *cookies++ = '\0';
        *end = '\0';

        streams = realloc(streams, (number + 1) * sizeof(stream_t));
        if (streams == NULL) {
            abort();
        }

        s = &streams[number++];
        memset(s, 0, sizeof(stream_t));

        s->fd = -1;
        s->retry = RETRY;
        s->due = 1;

        s->length = asprintf(&s->request,
                             "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%s\r\n"
                             "Accept: text/event-stream\r\n"
                             "Cookie: %s\r\n\r\n", line, port, cookies);
    }

    free(line);
}


int
main(int argc, char **argv)
{
    int                  i, n, opened, pace;
    int64_t              time, last;
    stream_t            *s;
    struct epoll_event   events[512];

    if (argc != 4) {
        fprintf(stderr, "usage: streams PORT ADDRESS PACE < requests\n");
        return 2;
    }

    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGTERM);

    from.sin_family = to.sin_family = AF_INET;
    to.sin_port = htons(atoi(argv[1]));
    pace = atoi(argv[3]);

    if (inet_pton(AF_INET, "127.0.0.1", &to.sin_addr) != 1
        || inet_pton(AF_INET, argv[2], &from.sin_addr) != 1)
    {
        fprintf(stderr, "streams: \"%s\" is no address\n", argv[2]);
        return 2;
    }

    read_requests(argv[1]);

    ep = epoll_create1(EPOLL_CLOEXEC);
    setvbuf(stdout, NULL, _IOFBF, 65536);
    last = now();

    for ( ;; ) {
        n = epoll_wait(ep, events, 512, 20);

        for (i = 0; i < n; i++) {
            attend(events[i].data.ptr, events[i].events);
        }

        /* which are due is looked for each 20 ms */

        time = now();

        if (time - last < 20) {
            continue;
        }

        opened = 0;

        for (i = 0; i < number && pending < AT_ONCE; i++) {
            s = &streams[i];

            if (s->due == 0 || s->due > time) {
                continue;
            }

            if (!s->before) {
                if (opened > pace * (time - last) / 1000) {
                    continue;
                }

                opened++;
            }

            begin(s);
        }

        last = time;
        fflush(stdout);
    }
}
