#!/bin/sh

# Usage: embed.sh a.lua b.lua ... > header
#
# Prints each script as a C string, "queue_check.lua" as
# ngx_http_admission_lua_queue_check.  Comment lines become empty and
# indentation goes; lines keep their numbers, so that an error that Redis
# reports can be looked up in the script.

set -e

LC_ALL=C
export LC_ALL

cat << END

/* made by lua/embed.sh from the scripts next to it: change those */

#ifndef _NGX_HTTP_ADMISSION_LUA_H_INCLUDED_
#define _NGX_HTTP_ADMISSION_LUA_H_INCLUDED_

END

for file in "$@"; do

    # what spans lines would be damaged by dropping indentation and comments

    if grep -n -e '\[\[' -e '\[=' -e '\\$' "$file" >&2; then
        echo "$file: no long strings, block comments or continued lines" >&2
        exit 1
    fi

    name=`basename "$file" .lua | tr -c 'A-Za-z0-9\n' _`

    printf '\nstatic const char  ngx_http_admission_lua_%s[] =\n' "$name"

    # "?" is escaped for the sake of trigraphs

    sed -e 's/^[[:space:]]*//' -e 's/[[:space:]]*$//' -e 's/^--.*//' \
        -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/?/\\?/g' \
        -e 's/.*/    "&\\n"/' "$file"

    echo '    "";'
done

printf '\n\n#endif /* _NGX_HTTP_ADMISSION_LUA_H_INCLUDED_ */\n'
