
/*
 * Copyright (C) 2026 the admission module authors
 *
 * For t/http/crowd.t: a crowd that does what it is told.  Lines of stdin: ms,
 * how many there are from then on, until when; prints for each second how many
 * came in it, and what the last one was told.
 */


#include <stdio.h>

#include "base/crowd.h"


#define PEOPLE  20000
#define RATE    100


static ngx_msec_t       due[PEOPLE];
static ngx_adm_crowd_t  crowds[NGX_ADM_CROWDS];


int
main(void)
{
    long        n, was, from, to, ms, i, came;
    ngx_uint_t  wait;

    was = 0;
    ms = 0;
    wait = 0;

    while (scanf("%ld %ld %ld", &from, &n, &to) == 3 && n <= PEOPLE) {

        ms = from;

        for (i = was; i < n; i++) {
            due[i] = ms + (ngx_msec_t) i * 7919 % 2000;
        }

        was = n;

        for (came = 0; ms < to; ms++) {

            for (i = 0; i < n; i++) {

                if (due[i] == (ngx_msec_t) ms) {
                    came++;
                    wait = ngx_adm_crowd_wait(crowds, 1, ms, RATE);
                    due[i] = ms + wait * 1000;
                }
            }

            if (ms % 1000 == 999) {
                printf("%ld %lu\n", came, (unsigned long) wait);
                came = 0;
            }
        }
    }

    return 0;
}
