
/*
 * A clock that a test can set: preloaded into redis-server or NGINX, it adds to
 * the real time the seconds in the file that CLOCK_FILE names, an int64_t that is
 * mapped and so may change at any time; with CLOCK_ALL to that of the clock which
 * nobody can set as well.  A second one there, if not 0, is the time of day at
 * which it stands, to which the seconds are added.  A third one is by how many ms
 * the processor's time of a thread jumps whenever it is looked at, as it may on a
 * virtual machine.  (libfaketime and jemalloc, which redis-server is built with,
 * lock each other out.)
 */


#define _GNU_SOURCE

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>


static volatile int64_t  *offset;
static int                all;
static __thread int64_t   jumped;    /* ms */


__attribute__((constructor)) static void
clock_map(void)
{
    int    fd;
    void  *p;
    char  *name;

    all = getenv("CLOCK_ALL") != NULL;

    name = getenv("CLOCK_FILE");
    if (name == NULL) {
        return;
    }

    fd = open(name, O_RDONLY);
    if (fd == -1) {
        return;
    }

    p = mmap(NULL, 3 * sizeof(int64_t), PROT_READ, MAP_SHARED, fd, 0);
    if (p != MAP_FAILED) {
        offset = p;
    }

    close(fd);
}


int
clock_gettime(clockid_t clock, struct timespec *ts)
{
    int  rc;

    rc = syscall(SYS_clock_gettime, clock, ts);

    if (rc == 0 && offset && offset[1]
        && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
    {
        ts->tv_sec = offset[1];
        ts->tv_nsec = 0;
    }

    if (rc == 0 && offset
        && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE
            || (all && (clock == CLOCK_MONOTONIC
                        || clock == CLOCK_MONOTONIC_COARSE))))
    {
        ts->tv_sec += offset[0];
    }

    if (rc == 0 && offset && clock == CLOCK_THREAD_CPUTIME_ID) {
        jumped += offset[2];
        ts->tv_sec += jumped / 1000;
        ts->tv_nsec += jumped % 1000 * 1000000;

        if (ts->tv_nsec >= 1000000000) {
            ts->tv_sec++;
            ts->tv_nsec -= 1000000000;
        }
    }

    return rc;
}


int
gettimeofday(struct timeval *restrict tv, void *restrict tz)
{
    struct timespec  ts;

    (void) tz;

    if (clock_gettime(CLOCK_REALTIME, &ts) != 0) {
        return -1;
    }

    tv->tv_sec = ts.tv_sec;
    tv->tv_usec = ts.tv_nsec / 1000;

    return 0;
}


time_t
time(time_t *t)
{
    struct timespec  ts;

    if (clock_gettime(CLOCK_REALTIME, &ts) != 0) {
        return (time_t) -1;
    }

    if (t) {
        *t = ts.tv_sec;
    }

    return ts.tv_sec;
}
