
/*
 * Copyright (C) 2026 the admission module authors
 *
 * What bench/trips preloads to an NGINX whose module was compiled with
 * -finstrument-functions: notes which functions are entered and left.
 *
 * A process writes to a file of its own, $TRIPS/PID, records of two words: 1
 * and a function entered, 0 and one left, 2 and where the module is loaded.
 */


#define _GNU_SOURCE

#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>


static int          fd = -1;
static pid_t        owner;
static const char  *dir;


/* a copy: NGINX writes the title of the process over its environment */

__attribute__((constructor)) static void
trips_begin(void)
{
    dir = getenv("TRIPS");

    if (dir != NULL) {
        dir = strdup(dir);
    }
}


static void
trips_note(uintptr_t what, void *function)
{
    char       path[4096];
    Dl_info    info;
    uintptr_t  record[2];

    if (dir == NULL) {
        return;
    }

    if (owner != getpid()) {
        owner = getpid();
        snprintf(path, sizeof(path), "%s/%d", dir, (int) owner);
        fd = open(path, O_WRONLY|O_CREAT|O_APPEND|O_CLOEXEC, 0600);

        if (dladdr(function, &info)) {
            trips_note(2, info.dli_fbase);
        }
    }

    record[0] = what;
    record[1] = (uintptr_t) function;

    if (write(fd, record, sizeof(record)) != (ssize_t) sizeof(record)) {
        dir = NULL;
    }
}


void
__cyg_profile_func_enter(void *function, void *site)
{
    trips_note(1, function);
}


void
__cyg_profile_func_exit(void *function, void *site)
{
    trips_note(0, function);
}
