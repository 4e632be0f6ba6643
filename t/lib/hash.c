
/*
 * Copyright (C) 2026 the admission module authors
 *
 * For t/token/hash.t: the hashes, as numbers in hex, of the beginnings of what
 * stands on stdin, shortest first; the first 16 bytes of it are the key.  With
 * an argument, of each line of what follows the key the quick one.
 */


#include <stdio.h>

#include "base/hash.h"


int
main(int argc, char **argv)
{
    u_char                         text[256];
    size_t                         len, n;
    ngx_adm_hash_key_t  key;

    if (fread(&key, sizeof(key), 1, stdin) != 1) {
        return 1;
    }

    if (argc > 1) {
        while (fgets((char *) text, sizeof(text), stdin)) {
            len = strlen((char *) text) - 1;
            printf("%lu\n", (unsigned long)
                            ngx_adm_hash_quick(&key, text, len));
        }

        return 0;
    }

    n = fread(text, 1, sizeof(text), stdin);

    for (len = 0; len <= n; len++) {
        printf("%016llx\n", (unsigned long long)
                            ngx_adm_hash(&key, text, len));
    }

    return 0;
}
