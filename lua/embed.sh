#!/bin/sh

# Usage: embed.sh a.lua b.lua ... > header
#
# Prints each script as a C string, "queue_check.lua" as
# ngx_http_admission_lua_queue_check.  Comment lines become empty and
# indentation goes; lines keep their numbers, so that an error that Redis
# reports can be looked up in the script.
#
# A line "-- @include queue_lib.lua" stands for that file, and files *_lib.lua
# are for that alone.  With -e FILE the one script is printed as it is sent to
# Redis, for a look or a benchmark.

set -e

LC_ALL=C
export LC_ALL

# what spans lines would be damaged by dropping indentation and comments

script() {
    awk -v dir="`dirname "$1"`" '
        /^-- @include / {
            file = dir "/" $3
            while ((got = (getline line < file)) > 0) { print line }
            if (got < 0) { print file ": not found" > "/dev/stderr"; exit 1 }
            close(file)
            next
        }
        { print }
    ' "$1" | sed -e 's/^[[:space:]]*//' -e 's/[[:space:]]*$//' -e 's/^--.*//'
}

if [ "$1" = -e ]; then
    script "$2"
    exit
fi

cat << END

/* made by lua/embed.sh from the scripts next to it: change those */

#ifndef _NGX_HTTP_ADMISSION_LUA_H_INCLUDED_
#define _NGX_HTTP_ADMISSION_LUA_H_INCLUDED_

END

for file in "$@"; do

    if grep -n -e '\[\[' -e '\[=' -e '\\$' "$file" >&2; then
        echo "$file: no long strings, block comments or continued lines" >&2
        exit 1
    fi

    case "$file" in
        *_lib.lua) continue ;;
    esac

    for lib in `sed -n 's/^-- @include //p' "$file"`; do
        if [ ! -f "`dirname "$file"`/$lib" ]; then
            echo "$file: no $lib" >&2
            exit 1
        fi
    done

    name=`basename "$file" .lua | tr -c 'A-Za-z0-9\n' _`

    printf '\nstatic const char  ngx_http_admission_lua_%s[] =\n' "$name"

    # "?" is escaped for the sake of trigraphs

    script "$file" | sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/?/\\?/g' \
        -e 's/.*/    "&\\n"/'

    echo '    "";'
done

printf '\n\n#endif /* _NGX_HTTP_ADMISSION_LUA_H_INCLUDED_ */\n'
