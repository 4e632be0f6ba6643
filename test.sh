#!/bin/bash

# Usage: ./test.sh [t/some/test.t ...]
#
# Installs what is needed, builds, and runs the tests (all of them by
# default): on the installed NGINX, then on one built with sanitizers.  With
# all of them each fuzz target runs for FUZZ_SECONDS as well, 0 for its first
# inputs alone.

set -euo pipefail
cd "$(dirname "$0")"
PATH=$PATH:/usr/sbin

tests=("$@")

# The longest first, so that none of them is alone at the end; prove runs a
# file once, however often it is named.

test $# -gt 0 || tests=(t/host/model.t t/host/soak.t t/page/demo.t
                        t/page/browser_*.t t/host/loss.t t/papers/package.t
                        t/redis/sentinel.t t/host/reload.t t/conf/config.t
                        -r t/)

.ci/setup test

jobs=$(nproc)

make -j"$jobs" CC=gcc
make -j"$jobs" CC=clang BUILD=build/clang
make -j"$jobs" CC=gcc asan

echo "tests, $(nginx -v 2>&1)"

prove -j"$jobs" "${tests[@]}" < /dev/null

# Leaks are looked for when an NGINX that ran ends, see t/lib/Admission/Nginx.pm.
# The module is in a file of its own and has the arrays that any NGINX module
# has, under the same names as NGINX's: no violation of the one definition.
# Reports go to stderr, which is NGINX's error log.

echo 'tests, with sanitizers'

export ADMISSION_MODULE=$PWD/build/asan/ngx_http_admission_module.so
export TEST_NGINX_BINARY=$PWD/build/asan/nginx
export TEST_SANITIZED=1 TEST_SLOW=${TEST_SLOW:-3}
export ASAN_OPTIONS=detect_odr_violation=0:detect_leaks=0
export LSAN_OPTIONS=suppressions=$PWD/.ci/lsan.supp:print_suppressions=0
export UBSAN_OPTIONS=print_stacktrace=1:suppressions=$PWD/.ci/ubsan.supp

prove -j"$jobs" "${tests[@]}" < /dev/null

if [ $# = 0 ]; then
    echo 'fuzzing'
    make -j"$jobs" fuzz FUZZ_SECONDS="${FUZZ_SECONDS:-60}"
fi
