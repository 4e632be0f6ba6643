#!/bin/bash

# Usage: ./test.sh [t/some/test.t ...]
#
# Installs what is needed, builds, and runs the tests (all of them by
# default): on the installed NGINX, then on one built with sanitizers.  With
# all of them each fuzz target runs for FUZZ_SECONDS as well, 0 for its first
# inputs alone.  How all of it goes side by side is in .ci/all.

set -euo pipefail
cd "$(dirname "$0")"

# compilers that remember, where they are

PATH=/usr/lib/ccache:$PATH:/usr/sbin

.ci/setup test

test $# -gt 0 || exec .ci/all

make -j"$(nproc)" CC=gcc
make -j"$(nproc)" CC=clang BUILD=build/clang
make -j"$(nproc)" CC=gcc asan

echo "tests, $(nginx -v 2>&1)"
.ci/suite "$@"

echo 'tests, with sanitizers'
.ci/suite -s "$@"
