/*
 * Forecasts of all sorts of lines: prints those that are none, which are not in
 * order, below zero or without end.  Built with UndefinedBehaviorSanitizer, so
 * that numbers that do not fit end it.
 */

#include <ngx_config.h>
#include <ngx_core.h>

#include <stdio.h>
#include <stdlib.h>

#include "base/forecast.h"


static long  wrong, asked;


static void
look(ngx_adm_pace_t *pace, const char *what, long step)
{
    size_t           i, j;
    ngx_adm_range_t  range;

    static int64_t  rates[] = { 0, 1, 20, 1000, 50000, 5000000000 };
    static int64_t  people[] = { 0, 1, 2, 700, 100000, 1000000000 };

    for (i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
        for (j = 0; j < sizeof(people) / sizeof(people[0]); j++) {
            ngx_adm_forecast(pace, rates[i], people[j], &range);
            asked++;

            if (range.low >= 0 && range.low <= range.wait
                && range.wait <= range.high
                && range.high <= 14 * range.wait + 1)
            {
                continue;
            }

            if (wrong++ < 20) {
                printf("%s, %ld: %ld people at %ld: %ld [%ld, %ld]\n", what,
                       step, (long) people[j], (long) rates[i],
                       (long) range.wait, (long) range.low,
                       (long) range.high);
            }
        }
    }
}


/* n intervals in each of which so many pass and leave a second */

static void
go(ngx_adm_pace_t *pace, const char *what, long n, int64_t passed,
    int64_t left, int64_t stood)
{
    long  i;

    for (i = 0; i < n; i++) {
        ngx_adm_pace_note(pace, 10000000, passed * 10000, left * 10, stood);

        if (i < 100 || i % 97 == 0) {
            look(pace, what, i);
        }
    }
}


int
main(void)
{
    long            i, j;
    ngx_adm_pace_t  pace;

    ngx_memzero(&pace, sizeof(ngx_adm_pace_t));

    look(&pace, "nothing", 0);
    go(&pace, "nobody ever", 30000, 0, 0, 700);
    go(&pace, "and all at once", 100, 1000000, 0, 700);
    go(&pace, "it stands", 30000, 0, 0, 700);
    go(&pace, "it stands, and all leave", 30000, 0, 700, 1);
    go(&pace, "and goes on", 1000, 1, 0, 700);

    srandom(1);

    for (i = 0; i < 300; i++) {
        ngx_memzero(&pace, sizeof(ngx_adm_pace_t));

        for (j = random() % 60; j >= 0; j--) {
            ngx_adm_pace_note(&pace, random() % 30000000 + 1,
                              random() >> random() % 31,
                              (random() >> random() % 31)
                                  - (random() >> random() % 31),
                              random() >> random() % 31);
        }

        look(&pace, "at random", i);
    }

    printf("%ld asked, %ld wrong\n", asked, wrong);

    return wrong != 0;
}
